# SPDX-License-Identifier: Apache-2.0
"""Each kernel file checked on drawn instances of its op: what its code stores, on a target, is what the op means."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import assume, given
from hypothesis.errors import Unsatisfiable

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.codegen.opkernels import OpKernel, kernel_text, read_kernel
from ngraph_rewrite.errors import KernelError, NGraphRewriteError
from ngraph_rewrite.plugins import load_plugin_ops
from ngraph_rewrite.rewriting.instances import signature
from ngraph_rewrite.runtime.cuda.device import find_device
from ngraph_rewrite.terms.op import Op, topological
from ngraph_rewrite.testing.compare import as_rounded, same_bits
from ngraph_rewrite.testing.evaluate import Undefined, Values, evaluate
from ngraph_rewrite.testing.kernel_runs import RUNS, UnequalRuns, raised_on_cpu
from ngraph_rewrite.testing.rules import quietly
from ngraph_rewrite.testing.strategies import Example, lengths, seeded_instances
from ngraph_rewrite.testing.values import ENOUGH


class WrongKernel(AssertionError):
    """A kernel that does not compute its op, with a counterexample."""


def check_kernel(
    source: str | Path | OpKernel, examples: int = 30, cache: Cache | None = None, target: str = "cpu"
) -> int:
    """Check a kernel file on drawn instances of its op: its body for a target.

    Lengths, dtypes and attributes are drawn for which the guard holds; the same ones every time. Each result must be
    the op's meaning, but for rounding, and the same however the work is shared out. A body for ``cuda`` runs on a GPU,
    or in Numba's simulator, or on an emulated GPU, where that is on, which also finds accesses outside of the arrays.

    Args:
        source: The path of a kernel file, or its text.
        examples: How many instances are drawn.
        cache: Where compiled kernels are kept; by default the user's cache folder.
        target: ``cpu`` or ``cuda``.

    Returns:
        On how many instances the kernel was compared.

    Raises:
        WrongKernel: with the term, the values and both results; or if too few instances were found.
        KernelError, RuleFileError: if the file is not right, or has no body for the target.
        DeviceError: if there is no GPU, and the simulator is off.
    """
    kernel = source if isinstance(source, OpKernel) else _read(source)
    if target not in kernel.template.bodies or target not in RUNS:
        raise KernelError(f"kernel {kernel.template.name} has no body for {target!r}", where=kernel.template.place,
                          do=f"check one that it has: {', '.join(kernel.template.bodies)}")  # fmt: skip
    if target == "cuda":
        find_device()
    compared = 0
    wrong: list[str] = []

    def one(example: Example) -> None:
        nonlocal compared
        defined = False
        for values in example.choices:
            with suppress(Undefined):
                wrong.extend(_difference(kernel, example.instance.term, values, cache or Cache(), target))
                defined = True
        assume(defined)
        compared += 1

    with suppress(Unsatisfiable):  # no instance at all: said below
        quietly(examples)(given(seeded_instances(kernel.rule))(one))()
    if wrong:
        raise WrongKernel(min(wrong, key=len))
    if compared < ENOUGH * examples:
        raise WrongKernel(
            f"{kernel.template.place}: kernel {kernel.template.name} was tried on {compared} of {examples} drawn "
            f"instances of {kernel.definition}: say what can be drawn with ng.argument_domain and ng.attribute_domain"
        )
    return compared


def _read(source: str | Path) -> OpKernel:
    load_plugin_ops()
    if isinstance(source, str) and "\n" in source:
        return read_kernel(source)
    return read_kernel(kernel_text(source), str(source))


def _difference(kernel: OpKernel, term: Op, values: Values, cache: Cache, target: str) -> Sequence[str]:
    place = f"{kernel.template.place}: kernel {kernel.template.name}{'' if target == 'cpu' else f' on {target}'}"
    known = evaluate(term, values)[term]
    inputs = [t for t in topological([term]) if t in values]
    does = "does not compute"
    try:
        found = _computed(RUNS[target], kernel, term, values, cache, target)
    except UnequalRuns as error:
        found, does = error.what, "fails on"
    except NGraphRewriteError as error:
        return [f"{place} fails on {signature(term)}: {error}"]
    else:
        right = same_bits(known, found)
        if right.all() or (right | as_rounded(term, values, known, found)).all():
            return []
    raised = _computed(raised_on_cpu, kernel, term, values, cache, target) if target == "cpu" else None
    if raised is not None:  # nobody hears it but here
        does = f"ends by {type(raised).__name__}: {raised}, on"
    shown = [f"  {t!r}: {t.type!r} = {values[t]!r}" for t in inputs]
    return ["\n".join([f"{place} {does} {signature(term)}", *shown, f"  the op gives      {known!r}",
                       f"  the kernel gives  {found if isinstance(found, str) else repr(found)}"])]  # fmt: skip


def _computed(run: Callable[..., Any], kernel: OpKernel, term: Op, values: Values, cache: Cache, target: str) -> Any:
    """What comes of running the kernel on values."""
    bound = kernel.match(term)
    assert bound is not None, "the guard holds for what is drawn"
    source, sizes = kernel.render(term, bound, target)
    arrays = [np.ascontiguousarray(values[a]) for a in term.args]
    return run(source, sizes, arrays, np.full(lengths(term), 77, term.dtype), cache)
