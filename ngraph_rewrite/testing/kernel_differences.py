# SPDX-License-Identifier: Apache-2.0
"""One kernel on one instance of its op: how what it stores differs from what the op means, if it does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.codegen.opkernels import OpKernel
from ngraph_rewrite.errors import NGraphRewriteError
from ngraph_rewrite.rewriting.instances import signature
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.testing.compare import as_rounded, same_bits
from ngraph_rewrite.testing.evaluate import Values, evaluate
from ngraph_rewrite.testing.kernel_runs import RUNS, SHOWN, UnequalRuns, raised_on_cpu, told_place
from ngraph_rewrite.testing.strategies import lengths
from ngraph_rewrite.testing.workers import say


def place_of(kernel: OpKernel, target: str) -> str:
    """How messages begin: the file, the line and the name of a kernel, and the target if it is not the usual one."""
    on = "" if target == "cpu" else f" on {target}"
    return f"{kernel.template.place}: kernel {kernel.template.name}{on}"


@np.printoptions(threshold=SHOWN)
def kernel_difference(kernel: OpKernel, term: Op, values: Values, cache: Cache, target: str) -> Sequence[str]:
    """What shows that a kernel does not compute a term of its op; nothing if it does.

    Raises:
        Undefined: if the op's meaning is nothing for these values.
    """
    place, on = place_of(kernel, target), signature(term)
    say(f"the meaning of {on}")
    known = evaluate(term, values)[term]
    say(on)
    inputs = [t for t in topological([term]) if t in values]
    does, at = "does not compute", ""
    try:
        found = _computed(RUNS[target], kernel, term, values, cache, target)
    except UnequalRuns as error:
        found, does = error.what, "fails on"
    except NGraphRewriteError as error:
        return [f"{place} fails on {on}: {error}"]
    else:
        right = same_bits(known, found)
        right = right if right.all() else right | as_rounded(term, values, known, found)
        if right.all():
            return []
        at = told_place(known, found, right)
    raised = _computed(raised_on_cpu, kernel, term, values, cache, target) if target == "cpu" else None
    if raised is not None:  # nobody hears it but here
        does = f"ends by {type(raised).__name__}: {raised}, on"
    shown = [f"  {t!r}: {t.type!r} = {values[t]!r}" for t in inputs]
    return ["\n".join([f"{place} {does} {on}", *shown, f"  the op gives      {known!r}",
                       f"  the kernel gives  {found if isinstance(found, str) else repr(found)}{at}"])]  # fmt: skip


def _computed(run: Callable[..., Any], kernel: OpKernel, term: Op, values: Values, cache: Cache, target: str) -> Any:
    """What comes of running the kernel on values."""
    bound = kernel.match(term)
    assert bound is not None, "the guard holds for what is drawn"
    source, sizes = kernel.render(term, bound, target)
    arrays = [np.ascontiguousarray(values[a]) for a in term.args]
    return run(source, sizes, arrays, np.full(lengths(term), 77, term.dtype), cache)
