# SPDX-License-Identifier: Apache-2.0
"""Axes of other lengths, such as larger and smaller images: each place of the new axis lies somewhere on the old one.

What is there is a sum of a few elements near it, each with a weight. Axes are resized one after the other, the last one
first; which elements they are and what they weigh is known where the graph is built, if lengths are, or computed by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ngraph_rewrite.errors import ArgumentError, AttributeValueError, DTypeError, LengthError
from ngraph_rewrite.frontend.building import Operand, apply, checked
from ngraph_rewrite.frontend.numpy.creation import asarray
from ngraph_rewrite.frontend.numpy.data_types import astype
from ngraph_rewrite.frontend.numpy.ranges import arange
from ngraph_rewrite.frontend.places import plain
from ngraph_rewrite.frontend.storage import as_op, constant
from ngraph_rewrite.ops.alignment import axis_of
from ngraph_rewrite.ops.checks import position
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import Axes, Axis
from ngraph_rewrite.types.dtypes import is_float, wide
from ngraph_rewrite.types.lengths import Extent, Length

# The elements that are added up, and what each of them weighs: None if it is the only one.
Taps = list[tuple[Any, Any]]
_HOW, _PLACES = ("nearest", "linear", "cubic"), ("centers", "corners", "starts")
_SHARP = -0.75  # the slope of cubic weights at distance 1, as in PyTorch and ONNX


def resize(x: Operand, lengths: Mapping[Any, Extent], how: str = "nearest", places: str = "centers") -> Op:
    """`x` with other lengths along some axes, and between its elements what they suggest.

    Elements that are left out by smaller axes have no influence: average them with `pooling`.

    Args:
        lengths: The new length by the name of an axis, or by its position where axes have no names. Old and new ones
            may be lengths that are not known yet, as in ``{"H": 2 * x.axes["H"].length}``.
        how: The ``"nearest"`` element, or a ``"linear"`` or ``"cubic"`` function of the nearest two or four. Before the
            first element and after the last one these go on.
        places: Where elements of the new axis lie on the old one. ``"centers"``: elements are pixels, and the outer
            edges of both axes fall together (half_pixel in ONNX); ``"corners"``: the first elements fall together, and
            the last ones (align_corners); ``"starts"``: place i lies at ``i * old / new`` (asymmetric; what PyTorch's
            ``interpolate`` does with the nearest).

    Raises:
        ArgumentError: if `lengths` is no mapping.
        AttributeValueError: for another `how` or `places`, a length that is no integer or below 1, or an axis twice.
        UnmatchedAxesError, OutOfRangeError: for an axis that `x` does not have.
        LengthError: for an axis of length 0.
        DTypeError: for what is not float, unless the nearest is taken.

    >>> import ngraph_rewrite as ng
    >>> image = ng.constant([0.0, 4.0], {"W": 2})
    >>> with ng.make_transformer("cpu") as transformer:
    ...     transformer.computation([ng.resize(image, {"W": 4}), ng.resize(image, {"W": 4}, "linear")])()
    [array([0., 0., 4., 4.], dtype=float32), array([0., 1., 3., 4.], dtype=float32)]
    """
    term = as_op(x)
    _check(term, lengths, how, places)
    new, axes = plain(term), list(term.axes)
    wanted = [(_place(term, axis), axis, length) for axis, length in lengths.items()]
    if len({at for at, _, _ in wanted}) < len(wanted):
        raise AttributeValueError(f"resize: {lengths!r} has an axis twice", where=user_line(), do="give one length")
    for at, axis, length in sorted(wanted, key=lambda one: -one[0]):  # the axis along memory while there is less of it
        old = axes[at].length
        if isinstance(old, int) and not old:
            what = f"resize: the axis {axis!r} of {term.type!r} has the length {old!r}"
            raise LengthError(what, where=user_line(), do="give it a length of at least 1")
        wide = length if isinstance(length, Length) else int(length)
        axes[at] = axes[at].with_length(wide)
        new = _resized(new, at, taps(old, wide, how, places))
    return new if new.axes == Axes(axes) else apply("core.label", new, axes=Axes(axes))


def _check(x: Op, lengths: Any, how: str, places: str) -> None:
    if not isinstance(lengths, Mapping):
        raise ArgumentError(f"resize: the lengths are {lengths!r}", where=user_line(), do='write {"H": 64, "W": 64}')
    for name, given, known in (("how", how, _HOW), ("places", places, _PLACES)):
        if given not in known:
            do = f"use one of {', '.join(known)}"
            raise AttributeValueError(f"resize: {name} is {given!r}", where=user_line(), do=do)
    for length in lengths.values():
        if isinstance(length, Length):
            continue
        if isinstance(length, bool | Op) or not hasattr(length, "__index__") or int(length) < 1:
            do = "give integers of at least 1"
            raise AttributeValueError(f"resize: a length is {length!r}", where=user_line(), do=do)
    if how != "nearest" and not is_float(x.dtype):
        what = f"resize: there is nothing between elements of {x.dtype}"
        raise DTypeError(what, where=user_line(), do="cast it to a float dtype, or take the nearest")


def _place(x: Op, axis: Any) -> int:
    if isinstance(axis, str | Axis):
        return x.axes.index(checked("resize", axis_of, x.axes, axis))
    return checked("resize", position, axis, x.rank)


# -- places and weights -------------------------------------------------------------------------------


def taps(n: Extent, m: Extent, how: str, places: str) -> Taps:
    """For `m` places along an axis of `n` elements, those that are added up there, and their weights.

    They are arrays if both lengths are known, else terms.

    >>> taps(2, 4, "nearest", "centers")[0][0]
    array([0, 0, 1, 1])
    """
    i = np.arange(m) if isinstance(m, int) and isinstance(n, int) else arange(m)
    if how == "nearest":
        return [(_nearest(i, n, m, places), None)]
    f = _cast(i, np.float64)
    at = {"centers": (f + 0.5) * n / m - 0.5, "corners": f * (n - 1) / _least_one(m - 1), "starts": f * n / m}[places]
    low, last = np.floor(at), asarray(n - 1) if isinstance(n, Length) else n - 1
    weigh, reach = (_linear, (0, 1)) if how == "linear" else (_cubic, (-1, 0, 1, 2))
    return [(_cast(np.clip(low + k, 0, last), np.int64), weigh(np.abs(at - low - k))) for k in reach]


def _nearest(i: Any, n: Extent, m: Extent, places: str) -> Any:
    if places == "centers":
        return (2 * i + 1) * n // (2 * m)
    return i * n // m if places == "starts" else (2 * i * (n - 1) + m - 1) // _least_one(2 * (m - 1))


def _least_one(n: Extent) -> Any:
    return np.maximum(asarray(n), 1) if isinstance(n, Length) else max(n, 1)


def _cast(x: Any, dtype: Any) -> Any:
    return astype(x, dtype) if isinstance(x, Op) else x.astype(dtype)


def _linear(distance: Any) -> Any:
    return 1 - distance


def _cubic(distance: Any) -> Any:
    return np.where(distance <= 1, near_cubic(distance), far_cubic(distance))


def near_cubic(d: Any) -> Any:
    """The weight of an element at a distance up to 1, of numbers or of a term.

    >>> near_cubic(0.5), far_cubic(1.5)
    (0.59375, -0.09375)
    """
    return ((_SHARP + 2) * d - (_SHARP + 3)) * d * d + 1


def far_cubic(d: Any) -> Any:
    """The weight of an element at a distance from 1 to 2."""
    return ((_SHARP * d - 5 * _SHARP) * d + 8 * _SHARP) * d - 4 * _SHARP


# -- terms --------------------------------------------------------------------------------------------


def _resized(x: Op, axis: int, every: Taps) -> Op:
    """The sum of elements along an axis, in single precision for those of 16 bits."""
    if every[0][1] is None:
        return _taken(x, axis, every[0][0])
    own = wide(x.dtype)
    wider = x if own == x.dtype else apply("semi.cast", x, dtype=own)
    total: Op | None = None
    for places, weights in every:
        if isinstance(weights, np.ndarray) and not weights.any():
            continue
        part = _taken(wider, axis, places)
        alone = isinstance(weights, np.ndarray) and (weights == 1).all()
        weighed = part if alone else apply("semi.multiply", part, _along(weights, part, axis))
        total = weighed if total is None else apply("semi.add", total, weighed)
    assert total is not None
    return total if own == x.dtype else apply("semi.cast", total, dtype=x.dtype)


def _along(weights: Any, x: Op, axis: int) -> Op:
    """Weights spread over all other axes."""
    return apply("semi.broadcast", asarray(weights, dtype=x.dtype), shape=x.shape, dims=(axis,))


def _taken(x: Op, axis: int, places: Any) -> Op:
    """`x` at places along an axis: a view of it where they are evenly apart, or each stands there as often."""
    if isinstance(places, Op):
        return apply("semi.gather", x, places, axis=axis)
    n, m = int(x.shape[axis]), len(places)  # type: ignore[arg-type]
    steps = np.unique(np.diff(places))
    if m == 1 or (len(steps) == 1 and steps[0] > 0):
        step = int(steps[0]) if m > 1 else 1
        cut = [(0, length, 1) for length in x.shape]
        cut[axis] = (int(places[0]), int(places[-1]) + 1, step)
        starts, stops, by = zip(*cut, strict=True)
        return apply("semi.slice", x, starts=starts, stops=stops, steps=by)
    if m % n == 0 and (places == np.arange(m) // (m // n)).all():
        before, after = x.shape[: axis + 1], x.shape[axis + 1 :]
        dims = (*range(axis + 1), *range(axis + 2, x.rank + 1))
        many = apply("semi.broadcast", x, shape=(*before, m // n, *after), dims=dims)
        return apply("semi.reshape", many, shape=(*before[:-1], m, *after))
    return apply("semi.gather", x, constant(places), axis=axis)
