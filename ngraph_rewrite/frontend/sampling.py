# SPDX-License-Identifier: Apache-2.0
"""Images at places that values say: between pixels, what is near a place counts as much as it is near."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product as combinations
from typing import Any

from ngraph_rewrite.errors import AttributeValueError, AxesError, DTypeError
from ngraph_rewrite.frontend.building import Operand
from ngraph_rewrite.frontend.numpy.creation import asarray
from ngraph_rewrite.frontend.numpy.data_types import astype
from ngraph_rewrite.frontend.numpy.elementwise import abs as absolute
from ngraph_rewrite.frontend.numpy.elementwise import clip, floor, logical_and, remainder, round, where
from ngraph_rewrite.frontend.numpy.manipulation import moveaxis, reshape
from ngraph_rewrite.frontend.numpy.ranges import arange
from ngraph_rewrite.frontend.numpy.searching import take
from ngraph_rewrite.frontend.places import plain
from ngraph_rewrite.frontend.resizing import far_cubic, near_cubic
from ngraph_rewrite.frontend.storage import as_op
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import is_float, wide
from ngraph_rewrite.types.lengths import Extent, product

_HOW, _BEYOND, _PLACES = ("nearest", "linear", "cubic"), ("zeros", "edge", "reflect"), ("centers", "corners")


def grid_sample(x: Operand, grid: Operand, how: str = "linear", beyond: str = "zeros", places: str = "centers") -> Op:
    """Images at the places of a grid, as PyTorch's ``grid_sample`` and ONNX's ``GridSample``. Names are forgotten.

    Args:
        x: Images (N, C, height, width), or volumes with more axes.
        grid: Places (N, ..., 2), from -1 to 1 across the image: the last axis first, so that a pair is (x, y).
        how: The ``"nearest"`` pixel, or a ``"linear"`` or ``"cubic"`` function of those around along each axis.
        beyond: What is outside of the image: ``"zeros"``, its ``"edge"``, or its mirror image (``"reflect"``).
        places: Whether -1 and 1 are the outer edges of pixels (``"centers"``), or the ``"corners"``: the centers of the
            first and the last (align_corners).

    Returns:
        (N, C, ...), of the dtype of `x`.

    Raises:
        AttributeValueError: for another `how`, `beyond` or `places`.
        AxesError: for axes that do not fit.
        DTypeError: for what is not float.

    >>> import ngraph_rewrite as ng
    >>> x, grid = ng.placeholder((2, 3, 5, 7)), ng.placeholder((2, 4, 4, 2))
    >>> ng.grid_sample(x, grid).type
    float32[2, 3, 4, 4]
    """
    image, at = plain(as_op(x)), plain(as_op(grid))
    _check(image, at, how, beyond, places)
    own = wide(at.dtype)
    sides = image.shape[2:]
    spots = [_spot(astype(at[..., -1 - k], own), side, places) for k, side in enumerate(sides)]
    found: Op | None = None
    near_each = [_near(spot, side, how, beyond, places) for spot, side in zip(spots, sides, strict=True)]
    for near in combinations(*near_each):
        part = _weighed(image, near, beyond == "zeros")
        found = part if found is None else found + part
    assert found is not None
    return astype(moveaxis(found, -1, 1), image.dtype)


def _check(x: Op, grid: Op, how: str, beyond: str, places: str) -> None:
    for name, given, known in (("how", how, _HOW), ("beyond", beyond, _BEYOND), ("places", places, _PLACES)):
        if given not in known:
            do = f"use one of {', '.join(known)}"
            raise AttributeValueError(f"grid_sample: {name} is {given!r}", where=user_line(), do=do)
    if x.rank < 3 or grid.rank < 2 or grid.shape[-1] != x.rank - 2 or grid.shape[0] != x.shape[0]:
        what = f"grid_sample: images {x.type!r} and a grid {grid.type!r}"
        raise AxesError(what, where=user_line(), do="give (N, C, height, width) and (N, ..., 2)")
    for term in (x, grid):
        if not is_float(term.dtype):
            raise DTypeError(f"grid_sample: expected floats, got {term.type!r}", where=user_line(), do="cast it")


def _spot(at: Op, side: Extent, places: str) -> Op:
    """Coordinates from -1 to 1 as places among the pixels of an axis."""
    count = astype(asarray(side), at.dtype)
    return (at + 1) * ((count - 1) * 0.5) if places == "corners" else ((at + 1) * count - 1) * 0.5


def _inside(spot: Op, side: Extent, beyond: str, places: str) -> Op:
    """Places brought inside of the axis, unless zeros are beyond."""
    if beyond == "zeros":
        return spot
    count = astype(asarray(side), spot.dtype)
    low, span = (0.0, count - 1) if places == "corners" else (-0.5, count)
    if beyond == "reflect":
        whole = where(span > 0, span, 1.0)
        beside = remainder(spot - low, whole * 2)
        spot = where(span > 0, whole - absolute(beside - whole) + low, 0.0)
    return clip(spot, 0, count - 1)


def _near(spot: Op, side: Extent, how: str, beyond: str, places: str) -> list[tuple[Op, Any, Extent]]:
    """The pixels near a place, each with its weight, and the length of the axis.

    A place is brought inside before that, but if it is cubic each pixel by itself, as in PyTorch and ONNX.
    """
    if how == "cubic":
        below = floor(spot)
        share = spot - below
        weights = (far_cubic(share + 1), near_cubic(share), near_cubic(1 - share), far_cubic(2 - share))
        return [
            (_inside(below + k, side, beyond, places), w, side) for k, w in zip((-1, 0, 1, 2), weights, strict=True)
        ]
    spot = _inside(spot, side, beyond, places)
    if how == "nearest":
        return [(round(spot), None, side)]
    below = floor(spot)
    share = spot - below
    return [(below, 1 - share, side), (below + 1, share, side)]


def _weighed(x: Op, near: Sequence[tuple[Op, Any, Extent]], zeros: bool) -> Op:
    """One pixel for each place of the grid, with its channels last, times its weights, and zero if it is outside."""
    weight: Any = None
    inside: Any = None
    index = reshape(arange(x.shape[0]), (x.shape[0], *(1,) * (near[0][0].rank - 1)))
    for spot, share, side in near:
        last = asarray(side) - 1
        fits = logical_and(spot >= 0, spot <= astype(last, spot.dtype))
        inside = fits if inside is None else logical_and(inside, fits)
        index = index * (last + 1) + astype(clip(spot, 0, astype(last, spot.dtype)), "int64")
        if share is not None:
            weight = share if weight is None else weight * share
    rows = reshape(moveaxis(x, 1, -1), (x.shape[0] * product(x.shape[2:]), x.shape[1]))
    found = take(rows, index, axis=0)
    if weight is not None:
        found = astype(found, wide(x.dtype)) * weight[..., None]
    return where(inside[..., None], found, 0.0) if zeros else found
