# SPDX-License-Identifier: Apache-2.0
"""What stands before and after a tensor along its axes: a number, or elements of the tensor itself.

Elements are those of an endless line, of which the tensor is a part: one that repeats it, or its first and last
element, or its mirror image. Where an axis is long enough the sides are slices; else they are taken by index.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ngraph_rewrite.errors import ArgumentError, AttributeValueError, LengthError
from ngraph_rewrite.frontend.building import apply as build_term
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy import elementwise
from ngraph_rewrite.frontend.numpy.creation import asarray
from ngraph_rewrite.frontend.numpy.operands import Array, apply, as_term
from ngraph_rewrite.frontend.numpy.picking import place_along
from ngraph_rewrite.frontend.numpy.ranges import arange
from ngraph_rewrite.ops.checks import one_of, position
from ngraph_rewrite.ops.stretching import known_length
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.lengths import Extent, Length

# The modes that continue an axis, and how many more elements than are wanted it must have for slices; of edges, one.
_MORE = {"edge": None, "wrap": 0, "symmetric": 0, "reflect": 1}


def pad(array: Array, pad_width: Any, mode: str = "constant", *, constant_values: Any = 0) -> Op:
    """`array` with elements before and after it along each axis, as NumPy pads.

    Args:
        pad_width: How many: a number, a pair (before, after), or a pair for each axis; or such for some axes, by place.
            Beside numbers it may be a length that is not known yet, such as ``512 - n``.
        mode: ``"constant"``, or what goes on beside the array: its ``"edge"``; the array again (``"wrap"``); its mirror
            image, with the edge twice (``"symmetric"``) or once (``"reflect"``).
        constant_values: The numbers that are put there, as `pad_width` is given, if the mode is ``"constant"``.

    Raises:
        AttributeValueError: for another mode, or a width that is no integer or negative.
        ArgumentError: for widths that are not those of the axes, or values that are terms.
        LengthError: for an axis without elements, unless it is padded with numbers. A call in which it turns out to
            have none is refused.

    >>> import ngraph_rewrite as ng
    >>> with ng.make_transformer("cpu") as transformer:
    ...     transformer.computation(ng.numpy.pad([1.0, 2.0, 3.0], (2, 1), mode="reflect"))()
    array([3., 2., 1., 2., 3., 2.], dtype=float32)
    """
    term = as_term(array)
    widths = _pairs("pad_width", pad_width, term.rank)
    if any(not isinstance(n, int | Length) or (isinstance(n, int) and n < 0) for pair in widths for n in pair):
        what = f"pad: pad_width is {pad_width!r}"
        raise AttributeValueError(what, where=user_line(), do="give integers of at least 0")
    if isinstance(mode, str) and mode == "constant":
        return _filled(term, widths, _pairs("constant_values", constant_values, term.rank))
    checked("pad", one_of, mode, ("constant", *_MORE), "mode")
    for axis, (before, after) in enumerate(widths):
        for n in (before, after):
            checked("pad", known_length, n, f"what stands beside axis {axis}")
        if before or after:
            term = _continued(term, axis, before, after, mode)
    return term


def _pairs(name: str, given: Any, rank: int) -> list[tuple[Any, Any]]:
    """A pair for each axis; axes that a mapping leaves out have (0, 0)."""
    if isinstance(given, Mapping):
        pairs: list[tuple[Any, Any]] = [(0, 0)] * rank
        for axis, pair in given.items():
            pairs[checked("pad", position, axis, rank)] = _pairs(name, pair, 1)[0]
        return pairs
    if isinstance(given, Op):
        raise ArgumentError(f"pad: {name} is a term", where=user_line(), do="give numbers")
    try:
        found = np.broadcast_to(np.asarray(given), (rank, 2)).tolist()
    except ValueError:
        what = f"pad: {name} is {given!r} for {rank} axes"
        raise ArgumentError(what, where=user_line(), do="give a number, or a pair for each axis") from None
    return [(before, after) for before, after in found]


def _filled(x: Op, widths: list[tuple[Extent, Extent]], values: list[tuple[Any, Any]]) -> Op:
    """One value, or for each side its own: axis by axis, so that corners have that of the last one."""
    if len({value for pair in values for value in pair}) <= 1:
        return _extended(x, [n for n, _ in widths], [n for _, n in widths], values[0][0]) if widths else x
    nothing: tuple[Extent, ...] = (0,) * x.rank
    for axis, (pair, (first, last)) in enumerate(zip(widths, values, strict=True)):
        before, after = (nothing[:axis] + (n,) + nothing[axis + 1 :] for n in pair)
        x = _extended(_extended(x, before, nothing, first), nothing, after, last)
    return x


def _extended(x: Op, before: Sequence[Extent], after: Sequence[Extent], value: Any) -> Op:
    if all(n == 0 for n in (*before, *after)):
        return x
    return build_term("semi.pad", x, before=before, after=after, interior=(0,) * x.rank, value=value)


def _continued(x: Op, axis: int, before: int, after: int, mode: str) -> Op:
    length, more = x.shape[axis], _MORE[mode]
    if length == 0:
        what = f"pad: there is nothing along axis {axis} of {x.type!r} that could go on"
        raise LengthError(what, where=user_line(), do="use mode='constant'")
    needed = 1 if more is None else max(before, after) + more
    if not isinstance(length, int) or length < needed:
        return apply("gather", x, _places(length, before, after, mode), axis=axis)
    sides = [_side(x, axis, length, n, mode, first) for n, first in ((before, True), (after, False))]
    parts = [sides[0]] * (before > 0) + [x] + [sides[1]] * (after > 0)
    return apply("concat", *parts, axis=axis)


def _side(x: Op, axis: int, length: int, count: int, mode: str, first: bool) -> Op:
    """What stands before an axis that is long enough, or after it."""
    start = 0 if first else length - count  # of the elements at this end
    if mode == "edge":
        part = _slice(x, axis, slice(0, 1) if first else slice(length - 1, length))
        return apply("broadcast_to", part, shape=(*x.shape[:axis], count, *x.shape[axis + 1 :]))
    if mode == "wrap":
        start = length - count if first else 0
        return _slice(x, axis, slice(start, start + count))
    start += (mode == "reflect") * (1 if first else -1)
    return apply("flip", _slice(x, axis, slice(start, start + count)), axis=(axis,))


def _slice(x: Op, axis: int, part: slice) -> Op:
    return apply("tensor_slice", x, items=(slice(None),) * axis + (part,))


def _places(length: Any, before: int, after: int, mode: str) -> Op:
    """The places along an axis from which the elements of the padded one come; it has a last one, or calls refuse."""
    i = arange(-before, length + after)
    n = asarray(length) if isinstance(length, int) else place_along(length, -1) + 1
    if mode == "edge":
        return elementwise.clip(i, 0, n - 1)
    if mode == "wrap":
        return i % n
    period = 2 * n if mode == "symmetric" else 2 * n - 2
    i = i % period
    return elementwise.minimum(i, (period - 1 if mode == "symmetric" else period) - i)
