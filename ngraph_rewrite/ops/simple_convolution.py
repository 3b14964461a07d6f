# SPDX-License-Identifier: Apache-2.0
"""Simple ops of convolution: images are features (channels, spatial...), and N and R stand where they like.

The three ops are bilinear, and each is the adjoint of the others: they are closed under derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Sized
from typing import Any

import numpy as np

from ngraph_rewrite.errors import AttributeValueError, AxesError, FamilyError, UnmatchedAxesError
from ngraph_rewrite.ops.checks import as_int, extents, known_shape, numeric
from ngraph_rewrite.ops.simple_marks import MARKERS, common, features, keys, placed, simple
from ngraph_rewrite.ops.sliding import across, each, each_slide, fitting, slid, slides, spread_length, steps
from ngraph_rewrite.ops.window_functions import correlated, spread_out
from ngraph_rewrite.terms.catalogue import Attributes, Meaning, op
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import Axes, anonymous
from ngraph_rewrite.types.dtypes import promote
from ngraph_rewrite.types.lengths import Extent
from ngraph_rewrite.types.tensor import TensorType

Shape = tuple[Extent, ...]


def _check(x: TensorType, w: TensorType) -> None:
    simple(x, w)
    numeric(TensorType(promote(x.dtype, w.dtype)))
    if common(w.axes):
        raise FamilyError(f"filters have neither N nor R, got {w!r}", do="give one set of filters for all samples")
    if not features(x.axes) or w.rank != len(features(x.axes)) + 1:
        raise AxesError(
            f"expected features (channels, spatial...) and filters (channels, window..., results), got {x!r} and {w!r}",
            do="give filters one axis more than there are features",
        )


def _sliding(count: int, strides: Any, before: Any, after: Any, dilations: Any, groups: Any) -> Attributes:
    """What windows do along each of `count` spatial axes."""
    if as_int(groups, "groups") < 1:
        raise AttributeValueError(f"groups is {groups}", do="give at least 1")
    return {
        "strides": steps(strides, "strides", count),
        "before": extents(each(before, "before", count), "padding"),
        "after": extents(each(after, "after", count), "padding"),
        "dilations": steps(dilations, "dilations", count),
        "groups": as_int(groups, "groups"),
    }


def _names(spatial: Sized) -> list[str]:
    """What messages call the spatial axes."""
    return [f"feature {k + 1}" for k in range(len(spatial))]


def _channels(x: TensorType, w: TensorType, wanted: Extent, groups: int) -> None:
    own = features(x.axes)[0]
    if own != wanted:
        raise AxesError(
            f"{x!r} has {own!r} channels, the filters {w!r} in {groups} groups take {wanted!r}",
            do="the axis of channels comes first in the filters of a convolution, and last in those of a deconvolution",
        )
    if w.shape[-1] // groups * groups != w.shape[-1]:
        raise AxesError(f"the {w.shape[-1]!r} results of {w!r} cannot be split into {groups} groups")


# -- arrays, for meanings -----------------------------------------------------------------------------


def _order(axes: Axes) -> list[int]:
    """The positions of R and N, then those of the features."""
    own = keys(axes)
    return [own.index(k) for k in (*(m for m in MARKERS if m in own), *range(len(features(axes))))]


def _images(array: Any, axes: Axes) -> Any:
    """An array as (N, C, spatial...)."""
    moved = np.transpose(array, _order(axes))
    cut = moved.ndim - len(features(axes))
    return moved.reshape((int(np.prod(moved.shape[:cut])), *moved.shape[cut:]))


def _meaning(function: Callable[..., Any]) -> Meaning:
    def meaning(term: Op, x: Any, w: Any) -> Any:
        order = _order(term.axes)
        shape = tuple(known_shape(term.axes)[k] for k in order)
        cut = len(shape) - len(features(term.axes))
        filters = np.ascontiguousarray(np.moveaxis(w, -1, 0), term.dtype)  # as a lowered one: sums of one order
        whole = (int(np.prod(shape[:cut])), *shape[cut:])
        images = np.ascontiguousarray(_images(x, term.args[0].axes), term.dtype)
        with np.errstate(all="ignore"):
            result = function(images, filters, each_slide(term.attributes), term.attribute("groups"), whole)
        return np.transpose(result.reshape(shape), np.argsort(order))

    return meaning


# -- the ops ------------------------------------------------------------------------------------------


def _attributes(
    x: TensorType, w: TensorType, *, strides: Any, before: Any, after: Any, dilations: Any, groups: Any
) -> Attributes:
    _check(x, w)
    return _sliding(w.rank - 2, strides, before, after, dilations, groups)


@op("simple.convolution", meaning=_meaning(correlated), normalise=_attributes)
def convolution(
    x: TensorType,
    w: TensorType,
    *,
    strides: tuple[int, ...],
    before: Shape,
    after: Shape,
    dilations: tuple[int, ...],
    groups: int,
) -> TensorType:
    """The cross-correlation of `x` with filters `w` of axes (channels/groups, window..., results).

    The features of the result are (results, spatial...); N and R stand as in `x`.
    """
    _check(x, w)
    _channels(x, w, w.shape[0] * groups, groups)
    how = slides(strides, before, after, (0,) * len(strides), dilations)
    every = zip(features(x.axes)[1:], w.shape[1:-1], how, _names(how), strict=True)
    return TensorType(promote(x.dtype, w.dtype), placed((w.shape[-1], *(fitting(*one) for one in every)), x.axes))


def _back_attributes(x: TensorType, w: TensorType, *, lengths: Any, **given: Any) -> Attributes:
    stored = _attributes(x, w, **given)
    how = each_slide(stored)
    every = zip(features(x.axes)[1:], w.shape[1:-1], how, _names(how), strict=True)
    least = tuple(spread_length(*one) for one in every)
    return {"lengths": least if lengths is None else extents(each(lengths, "lengths", len(least))), **stored}


@op("simple.deconvolution", meaning=_meaning(spread_out), normalise=_back_attributes)
def deconvolution(
    x: TensorType,
    w: TensorType,
    *,
    lengths: Shape,
    strides: tuple[int, ...],
    before: Shape,
    after: Shape,
    dilations: tuple[int, ...],
    groups: int,
) -> TensorType:
    """The transposed convolution: what `convolution` with the same `w` has as its adjoint, for an adjoint `x`.

    Its spatial axes have these `lengths`; where windows leave elements over, several have as many windows.
    """
    _check(x, w)
    _channels(x, w, w.shape[-1], groups)
    every = slides(strides, before, after, (0,) * len(strides), dilations)
    for n, length, size, slide in zip(features(x.axes)[1:], lengths, w.shape[1:-1], every, strict=True):
        if slid(length, size, slide) != n:
            raise AxesError(f"a length {length!r} has {slid(length, size, slide)!r} windows, and {x!r} has {n!r}")
    return TensorType(promote(x.dtype, w.dtype), placed((w.shape[0] * groups, *lengths), x.axes))


def _update_attributes(x: TensorType, y: TensorType, *, sizes: Any, **given: Any) -> Attributes:
    _check_pair(x, y)
    count = len(features(x.axes)) - 1
    return {"sizes": extents(each(sizes, "sizes", count), "a window's length"), **_sliding(count, **given)}


def _check_pair(x: TensorType, y: TensorType) -> None:
    simple(x, y)
    numeric(TensorType(promote(x.dtype, y.dtype)))
    if not features(x.axes) or len(features(x.axes)) != len(features(y.axes)):
        raise AxesError(f"expected features (channels, spatial...) of both {x!r} and {y!r}")
    common(x.axes, y.axes)
    missing = [m for m in MARKERS if (m in keys(x.axes)) != (m in keys(y.axes))]
    if missing:
        raise UnmatchedAxesError(f"only one of {x!r} and {y!r} has {missing[0]}", do="broadcast the other along it")


def _update(term: Op, x: Any, y: Any) -> Any:
    (one, other), groups = (a.axes for a in term.args), term.attribute("groups")
    image, window = (np.ascontiguousarray(_images(a, axes), term.dtype) for a, axes in ((x, one), (y, other)))
    every = zip(image.shape[2:], term.attribute("sizes"), each_slide(term.attributes), strict=True)
    count, inner, places = len(image), image.shape[1] // groups, image.shape[2:]
    swapped = image.reshape(count, groups, inner, *places).swapaxes(0, 2).reshape(inner, groups * count, *places)
    filters, shape = np.ascontiguousarray(window.swapaxes(0, 1)), known_shape(term.axes)
    with np.errstate(all="ignore"):
        found = correlated(swapped, filters, [across(*e) for e in every], groups, (shape[0], shape[-1], *shape[1:-1]))
    return np.moveaxis(found, 1, -1)


@op("simple.convolution_update", meaning=_update, normalise=_update_attributes)
def convolution_update(
    x: TensorType,
    y: TensorType,
    *,
    sizes: Shape,
    strides: tuple[int, ...],
    before: Shape,
    after: Shape,
    dilations: tuple[int, ...],
    groups: int,
) -> TensorType:
    """The adjoint of the filters of a convolution of `x`, for an adjoint `y`: summed over N and R.

    The windows have these `sizes`; the result is (channels/groups, window..., results).
    """
    _check_pair(x, y)
    own, other = features(x.axes), features(y.axes)
    if own[0] // groups * groups != own[0] or other[0] // groups * groups != other[0]:
        raise AxesError(f"the channels of {x!r} and {y!r} cannot be split into {groups} groups")
    how = slides(strides, before, after, (0,) * len(strides), dilations)
    found = tuple(fitting(*one) for one in zip(own[1:], sizes, how, _names(how), strict=True))
    if found != other[1:]:
        raise AxesError(f"windows of {sizes} over {x!r} have {found} places, and {y!r} has {other[1:]}")
    return TensorType(promote(x.dtype, y.dtype), anonymous((own[0] // groups, *sizes, other[0])))
