# SPDX-License-Identifier: Apache-2.0
"""Each kernel file checked on drawn instances of its op: what the compiled code stores is what the op means."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
from hypothesis import assume, given
from hypothesis.errors import Unsatisfiable

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.codegen.opkernels import OpKernel, read_kernel
from ngraph_rewrite.errors import KernelError, NGraphRewriteError
from ngraph_rewrite.plugins import load_plugin_ops
from ngraph_rewrite.rewriting.instances import signature
from ngraph_rewrite.runtime.compiler import compile_kernel
from ngraph_rewrite.runtime.machine import Launch, LaunchTable
from ngraph_rewrite.terms.op import Op, topological
from ngraph_rewrite.testing.compare import as_rounded, same_bits
from ngraph_rewrite.testing.evaluate import Array, Undefined, Values, evaluate
from ngraph_rewrite.testing.rules import quietly
from ngraph_rewrite.testing.strategies import Example, lengths, seeded_instances
from ngraph_rewrite.testing.values import ENOUGH

CHUNKS = 3


class WrongKernel(AssertionError):
    """A kernel that does not compute its op, with a counterexample."""


def check_kernel(source: str | Path | OpKernel, examples: int = 30, cache: Cache | None = None) -> int:
    """Check a kernel file on drawn instances of its op, compiled for ``cpu``.

    Lengths, dtypes and attributes are drawn for which the guard holds; the same ones every time. Each result must be
    the op's meaning, but for rounding.

    Args:
        source: The path of a kernel file, or its text.
        examples: How many instances are drawn.
        cache: Where compiled kernels are kept; by default the user's cache folder.

    Returns:
        On how many instances the kernel was compared.

    Raises:
        WrongKernel: with the term, the values and both results; or if too few instances were found.
        KernelError, RuleFileError: if the file is not right.
    """
    kernel = source if isinstance(source, OpKernel) else _read(source)
    compared = 0
    wrong: list[str] = []

    def one(example: Example) -> None:
        nonlocal compared
        defined = False
        for values in example.choices:
            with suppress(Undefined):
                wrong.extend(_difference(kernel, example.instance.term, values, cache or Cache()))
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
    return read_kernel(Path(source).read_text(encoding="utf-8"), str(source))


def _difference(kernel: OpKernel, term: Op, values: Values, cache: Cache) -> Sequence[str]:
    place = f"{kernel.template.place}: kernel {kernel.template.name}"
    known = evaluate(term, values)[term]
    inputs = [t for t in topological([term]) if t in values]
    try:
        found = _computed(kernel, term, values, cache)
    except NGraphRewriteError as error:
        return [f"{place} fails on {signature(term)}: {error}"]
    right = same_bits(known, found)
    if right.all() or (right | as_rounded(term, values, known, found)).all():
        return []
    shown = [f"  {t!r}: {t.type!r} = {values[t]!r}" for t in inputs]
    return ["\n".join([f"{place} does not compute {signature(term)}", *shown, f"  the op gives      {known!r}",
                       f"  the kernel gives  {found!r}"])]  # fmt: skip


def _computed(kernel: OpKernel, term: Op, values: Values, cache: Cache) -> Array:
    """What the kernel stores, in one chunk and in several."""
    bound = kernel.match(term)
    assert bound is not None, "the guard holds for what is drawn"
    source, sizes = kernel.render(term, bound)
    compiled = compile_kernel(source.text, source.name, cache)
    arrays = [np.ascontiguousarray(values[a]) for a in term.args]
    result = np.full(lengths(term), 77, term.dtype)  # what is not written shows
    addresses = [a.__array_interface__["data"][0] for a in (*arrays, result)]
    LaunchTable([Launch(compiled, [*sizes, *addresses])]).run()
    whole, result[...] = result.copy(), 78
    LaunchTable([Launch(compiled, [*sizes, *addresses], CHUNKS)]).run()
    if not same_bits(whole, result).all():
        raise KernelError(f"in {CHUNKS} chunks it stores {result!r}, in one {whole!r}")
    return whole
