# SPDX-License-Identifier: Apache-2.0
"""Calls that compute sums of Fourier transforms: lines are shared out, and roots of one are looked up in a table."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import log2, prod

import numpy as np
from numpy.typing import NDArray

from ngraph_rewrite.codegen.library_fourier import LINE, render_fourier, render_fourier_across
from ngraph_rewrite.ops.fourier_lengths import split, steps_of
from ngraph_rewrite.plan.fusion import Groups
from ngraph_rewrite.plan.operands import OUTPUT, Call, Ref, Scratch, all_plain
from ngraph_rewrite.plan.shares import loop_share
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.making import make_op
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import anonymous
from ngraph_rewrite.types.dtypes import DType

_EACH, _LINE_TIME = 0.1, 50  # nanoseconds of a number in a step of two, and what a line takes beside them
_SHORT, _MANY = 256, 12  # shorter lines are transformed side by side, if there is one for so many of their numbers
_TABLES = 32  # so many tables stay though no program has them
_COMPLEX, _REAL, _HALVES = range(3)  # what lines are: complex, real, or one side of the spectrum of what is real


def fourier_call(term: Op, groups: Groups) -> Call:
    """The call of sums of Fourier transforms."""
    loads = all_plain(term.args, groups)
    outer, own, inner = loads[0].layout.shape
    n, sign, wanted, real = term.attrs
    kind = _kind(n, own, len(loads) > 1, real)
    size, swapped = n if kind == _COMPLEX else n // 2, kind == _HALVES or (kind == _COMPLEX and sign > 0)
    how = (kind, int(swapped), -sign if kind == _REAL else sign, int(not real), *(*loads, 0)[:2], OUTPUT)
    if inner != 1 or (size < _SHORT and outer * _MANY >= size):
        return _across(term, (outer, own, inner, wanted), size, how)
    return _along(term, (outer, own, wanted), size, how)


def _along(term: Op, sizes: tuple[int, ...], size: int, how: tuple[object, ...]) -> Call:
    """Of lines that are split in two, one after the other, or some at once."""
    way, itemsize = split(size), term.dtype.itemsize
    share = loop_share(-(-sizes[0] // way.together), way.together * (_LINE_TIME + size * log2(size) * _EACH))
    line = LINE // itemsize
    wide = (rows * -(-way.together * columns // line) for rows, columns in (way[:2], way[1::-1]))
    space = Scratch(4 * LINE * (max(wide) + 1), share.chunks)
    steps = [_digits(steps_of(length)) for length in way[:2]]
    roots, turns = _table(term.attribute("n"), way[:2], term.dtype)
    arguments = (*sizes, *way[:2], *steps, way.together, *how, roots, turns, turns + 2 * size, space, space.bytes)
    return Call(render_fourier(term.dtype.name), arguments, share, (space,))


def _across(term: Op, sizes: tuple[int, ...], size: int, how: tuple[object, ...]) -> Call:
    """Of lines that lie side by side, or are brought there, a strip at a time."""
    outer, own, inner, wanted = sizes
    strip = _strip(size, outer if inner == 1 else inner, term.dtype.itemsize)
    units = -(-outer // strip) if inner == 1 else outer * -(-inner // strip)
    share = loop_share(units, strip * (_LINE_TIME + size * log2(size) * _EACH) / 2)
    rows = size if inner != 1 else max(size, own, wanted)
    row = strip * term.dtype.itemsize
    space = Scratch(row + 4 * (rows * row + LINE), share.chunks)
    roots, turns = _table(term.attribute("n"), (size,), term.dtype)
    arguments = (*sizes, size, _digits(steps_of(size)), strip, *how, roots, turns, space, space.bytes)
    return Call(render_fourier_across(term.dtype.name), arguments, share, (space,))


def _strip(size: int, beside: int, itemsize: int) -> int:
    """How many lines are transformed at once: whole vectors, no more than there are, and fewer of long ones."""
    line = LINE // itemsize
    most = 4 if size <= _SHORT else 2 if size <= 4 * _SHORT else 1
    return line * max(1, min(most, -(-beside // line)))  # of no lines, too


def _kind(n: int, own: int, is_complex: bool, real: bool) -> int:
    """What is best done with lines: half as many complex numbers are transformed, if something is real."""
    if n % 2:
        return _COMPLEX
    if real and own <= n // 2 + 1:
        return _HALVES
    return _COMPLEX if real or is_complex else _REAL


def _digits(steps: tuple[int, ...]) -> int:
    """Steps as digits of a number, the first one last."""
    return sum(step << 4 * place for place, step in enumerate(steps))


@lru_cache(maxsize=_TABLES)
def _table(n: int, factors: tuple[int, ...], dtype: DType) -> tuple[Ref, int]:
    """Roots for the steps of factors, for even and odd places, and between two factors; where the second ones begin."""
    parts = [part for length in factors for part in _step_roots(length)]
    turns = 2 * sum(part.size for part in parts)
    size = prod(factors)
    planes = [_planes(_roots(np.arange(size), n))]
    if len(factors) > 1:
        planes += [_planes(_roots(np.outer(*(np.arange(length) for length in factors)), size))]
    array = np.concatenate([*(np.stack([part.real, part.imag], -1).ravel() for part in parts), *planes]).astype(dtype)
    roots = make_op("core.constant", value=Literal(array), axes=anonymous(array.shape))
    return Ref("constant", roots), turns


def _step_roots(length: int) -> Iterator[NDArray[np.complex128]]:
    """For each step but the last, what the sums of a row are multiplied by, but for the first of them."""
    for step in steps_of(length)[:-1]:
        yield _roots(np.outer(np.arange(length // step), np.arange(1, step)), length)
        length //= step


def _planes(numbers: NDArray[np.complex128]) -> NDArray[np.float64]:
    return np.concatenate([numbers.real.ravel(), numbers.imag.ravel()])


def _roots(powers: NDArray[np.integer], n: int) -> NDArray[np.complex128]:
    angles = -2 * np.pi * (powers % n) / n
    return np.asarray(np.cos(angles) + 1j * np.sin(angles))
