# SPDX-License-Identifier: Apache-2.0
"""Convolution and its transposed form by position: images are (N, C, spatial...), filters (K, C, window...).

What stands before the channels may be any number of axes: each of their places is an image.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ngraph_rewrite.errors import AttributeValueError, AxesError
from ngraph_rewrite.frontend.building import apply as build_term
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.data_types import astype
from ngraph_rewrite.frontend.numpy.manipulation import flip, moveaxis, reshape
from ngraph_rewrite.frontend.numpy.operands import Array, as_terms, positional
from ngraph_rewrite.frontend.numpy.slides import columns, slides_of
from ngraph_rewrite.frontend.sliding import PLACE, ByAxis
from ngraph_rewrite.ops.checks import as_int, extents
from ngraph_rewrite.ops.sliding import Slide, back, each, fitting, slid, spread_length
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import promote
from ngraph_rewrite.types.lengths import Extent, product


def convolution(
    inputs: Array,
    filters: Array,
    /,
    *,
    stride: ByAxis = 1,
    padding: ByAxis = 0,
    dilation: ByAxis = 1,
    groups: int = 1,
) -> Op:
    """The cross-correlation of images (N, C, spatial...) with filters (K, C / groups, window...): (N, K, spatial...).

    Images may have no axis N, or several. What has its channels last is turned by `moveaxis`.

    Args:
        stride: How far windows are apart: one number, one for each spatial axis, or numbers by axis: ``{-1: 2}``.
        padding: Zeros on either side, or pairs (before, after), given likewise.
        dilation: How far the elements of a window are apart, likewise.
        groups: Into how many parts channels are split; each has its own part of the filters.

    Raises:
        AxesError: if channels, filters or groups do not fit together, or windows are longer than an axis with its
            padding.
        AttributeValueError: for a wrong number of strides and the like, or a stride below 1.
        OutOfRangeError: for an axis that is not there.
        LengthError: for a negative padding.
        DTypeError: if both are bool.

    >>> import ngraph_rewrite as ng
    >>> x, w = ng.placeholder((None, 3, 32, 32)), ng.variable((16, 3, 5, 5))
    >>> ng.numpy.convolution(x, w, stride=2, padding=[2, (2, 1)]).type
    float32[n0, 16, 16, 16]
    """
    x, w, lead = _images("convolution", inputs, filters)
    over, count = tuple(range(lead + 1, x.rank)), _groups("convolution", w, groups)
    if x.shape[lead] != w.shape[1] * count:
        _channels("convolution", x, lead, w, w.shape[1] * count, count)
    slides = slides_of("convolution", x, over, stride, padding, dilation)
    for axis, size, slide in zip(over, w.shape[2:], slides, strict=True):
        checked("convolution", fitting, x.shape[axis], size, slide, f"{PLACE}{axis}")
    return _slid(x, w, lead, slides, count)


def deconvolution(
    inputs: Array,
    filters: Array,
    /,
    lengths: Sequence[Extent] | None = None,
    *,
    stride: ByAxis = 1,
    padding: ByAxis = 0,
    dilation: ByAxis = 1,
    groups: int = 1,
) -> Op:
    """The transposed convolution: what goes from the results of a convolution with these filters to its inputs.

    Args:
        filters: Those of that convolution, (K, C / groups, window...): K are the channels of `inputs`, and C those of
            the result.
        lengths: The spatial lengths of the result, where the stride leaves several possible; by default the least.
        stride, padding, dilation, groups: As in `convolution`, whose errors are these too.

    Raises:
        AxesError: if windows over axes of these lengths have other numbers of places.

    >>> import ngraph_rewrite as ng
    >>> y, w = ng.placeholder((None, 16, 16)), ng.variable((16, 3, 5))
    >>> ng.numpy.deconvolution(y, w, stride=2, padding=2).type
    float32[n0, 3, 31]
    >>> ng.numpy.deconvolution(y, w, [32], stride=2, padding=2).type
    float32[n0, 3, 32]
    """
    x, w, lead = _images("deconvolution", inputs, filters)
    over, count = tuple(range(lead + 1, x.rank)), _groups("deconvolution", w, groups)
    if x.shape[lead] != w.shape[0]:
        _channels("deconvolution", x, lead, w, w.shape[0], count)
    slides = slides_of("deconvolution", x, over, stride, padding, dilation)
    whole = _lengths(x, over, w.shape[2:], slides, lengths)
    undone = [back(n, size, slide) for n, size, slide in zip(whole, w.shape[2:], slides, strict=True)]
    return _slid(x, _turned(w, count), lead, undone, count)


# -- images and filters -------------------------------------------------------------------------------


def _images(call: str, inputs: Array, filters: Array) -> tuple[Op, Op, int]:
    """Both in one dtype, and at which axis of the first one its channels are."""
    x, w = (positional(call, t) for t in as_terms(call, inputs, filters))
    if w.rank < 2 or x.rank < w.rank - 1:
        what = (
            f"{call}: expected images (N, C, spatial...) and filters (K, C, window...), got {x.type!r} and {w.type!r}"
        )
        raise AxesError(what, where=user_line(), do="give filters two axes, and one for each spatial axis")
    dtype = promote(x.dtype, w.dtype)
    return astype(x, dtype), astype(w, dtype), x.rank - w.rank + 1


def _groups(call: str, w: Op, groups: Any) -> int:
    count = checked(call, as_int, groups, "groups")
    if count < 1:
        raise AttributeValueError(f"{call}: groups is {count}", where=user_line(), do="give at least 1")
    if w.shape[0] // count * count != w.shape[0]:
        raise AxesError(f"{call}: the {w.shape[0]!r} filters of {w.type!r} are not {count} groups", where=user_line())
    return count


def _channels(call: str, x: Op, lead: int, w: Op, wanted: Extent, groups: int) -> None:
    inside = f" in {groups} groups" if groups > 1 else ""
    what = f"{call}: {x.type!r} has {x.shape[lead]!r} channels (axis {lead}), and {w.type!r} takes {wanted!r}{inside}"
    do = "images are (N, C, spatial...), filters (K, C / groups, window...): ng.numpy.moveaxis puts channels there"
    raise AxesError(what, where=user_line(), do=do)


def _slid(x: Op, w: Op, lead: int, slides: Sequence[Slide], groups: int) -> Op:
    """The convolution, with what stands before the channels as one axis meanwhile."""
    images = x if lead == 1 else reshape(x, (product(x.shape[:lead]), *x.shape[lead:]))
    names = ("strides", "before", "after", "interior", "dilations")
    how = dict(zip(names, columns(slides), strict=True))
    found = build_term("semi.convolution", images, w, groups=groups, **how)
    return found if lead == 1 else reshape(found, (*x.shape[:lead], *found.shape[1:]))


def _turned(w: Op, groups: int) -> Op:
    """Windows turned around, with results and channels exchanged inside each group."""
    results, channels, window = w.shape[0], w.shape[1], w.shape[2:]
    turned = flip(w, axis=tuple(range(2, w.rank))) if window else w
    grouped = moveaxis(reshape(turned, (groups, results // groups, channels, *window)), 1, 2)
    return reshape(grouped, (groups * channels, results // groups, *window))


def _lengths(x: Op, over: Sequence[int], window: Sequence[Extent], slides: Sequence[Slide], given: Any) -> Any:
    """How long the spatial axes of what was convolved are."""
    every = list(zip(over, window, slides, strict=True))
    least = [checked("deconvolution", spread_length, x.shape[k], n, slide, f"{PLACE}{k}") for k, n, slide in every]
    if given is not None:
        given = checked("deconvolution", extents, checked("deconvolution", each, given, "lengths", len(over)))
    for length, (axis, n, slide) in zip(least if given is None else given, every, strict=True):
        # A padding may be longer than all that windows slide over; a least length that is not known is right.
        if (given or isinstance(length, int)) and slid(length, n, slide) != x.shape[axis]:
            what = f"deconvolution: a length {length!r} has {slid(length, n, slide)!r} windows, and axis {axis} of "
            do = "use less padding" if given is None else f"such as {least}"
            raise AxesError(f"{what}{x.type!r} has {x.shape[axis]!r}", where=user_line(), do=do)
    return least if given is None else given
