# SPDX-License-Identifier: Apache-2.0
"""Convolution, its transposed form, and pooling: images are features (channels, spatial...), with N and R anywhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ngraph_rewrite.errors import ArgumentError, AttributeValueError
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.simple.operands import Array, apply, as_term
from ngraph_rewrite.frontend.sliding import FEATURE, ByAxis, by_axis, paddings
from ngraph_rewrite.ops.checks import position, several
from ngraph_rewrite.ops.simple_marks import features
from ngraph_rewrite.ops.sliding import KINDS
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op

__all__ = ["convolution", "deconvolution", "fold", "pooling", "windows"]


def convolution(
    inputs: Array,
    filters: Array,
    *,
    stride: ByAxis = 1,
    padding: ByAxis = 0,
    dilation: ByAxis = 1,
    groups: int = 1,
) -> Op:
    """The cross-correlation of `inputs` with `filters`, for each sample and step by itself.

    The features of `inputs` are (channels, spatial...), those of `filters` (channels, one for each spatial axis,
    results), as in `ng.convolution`. Those of the result are (results, spatial...); N and R stand as in `inputs`.

    Args:
        stride: How far windows are apart: one number, one for each spatial axis, or numbers by feature: ``{1: 2}``.
        padding: Zeros on either side, or pairs (before, after), given likewise.
        dilation: How far the elements of a window are apart, likewise.
        groups: Into how many parts channels are split; each sees its own part of the filters.

    Raises:
        AxesError: if channels, filters or groups do not fit together, or windows are longer than a feature with its
            padding.
        FamilyError: if `filters` have N or R.
        AttributeValueError: for a wrong number of strides and the like, or a stride below 1.
        OutOfRangeError: for a feature that is not there.
        LengthError: for a negative padding.
        DTypeError: if both are bool.

    >>> import ngraph_rewrite as ng
    >>> x = ng.simple.placeholder((3, 32, 32, ng.simple.N))
    >>> w = ng.simple.variable((3, 5, 5, 16))
    >>> ng.simple.convolution(x, w, stride=2, padding=[2, (2, 1)]).type
    float32[16, 16, 16, sample:N]
    """
    x, w = as_term(inputs), as_term(filters)
    return apply("convolution", x, w, **_slides("convolution", x, stride, padding, dilation), groups=groups)


def deconvolution(
    inputs: Array,
    filters: Array,
    lengths: Sequence[int] | None = None,
    *,
    stride: ByAxis = 1,
    padding: ByAxis = 0,
    dilation: ByAxis = 1,
    groups: int = 1,
) -> Op:
    """The transposed convolution: what goes from the results of a convolution with these filters to its inputs.

    Args:
        filters: Those of that convolution: last its results, which are the channels of `inputs`; first its channels,
            which this one makes.
        lengths: The spatial lengths of the result, where the stride leaves several possible; by default the least.
        stride, padding, dilation, groups: As in `convolution`, whose errors are these too.

    Raises:
        AxesError: if windows over axes of these lengths have other numbers of places.

    >>> import ngraph_rewrite as ng
    >>> y, w = ng.simple.placeholder((16, 16, ng.simple.N)), ng.simple.variable((3, 5, 16))
    >>> ng.simple.deconvolution(y, w, stride=2, padding=2).type
    float32[3, 31, sample:N]
    >>> ng.simple.deconvolution(y, w, [32], stride=2, padding=2).type
    float32[3, 32, sample:N]
    """
    x, w = as_term(inputs), as_term(filters)
    how = _slides("deconvolution", x, stride, padding, dilation)
    return apply("deconvolution", x, w, lengths=None if lengths is None else tuple(lengths), **how, groups=groups)


def pooling(
    inputs: Array,
    op: str,
    *,
    size: ByAxis = None,
    stride: ByAxis = None,
    padding: ByAxis = 0,
    dilation: ByAxis = 1,
    spatial: Iterable[int] | int | None = None,
    counted: bool = False,
) -> Op:
    """The greatest, least or average element of each window, or the sum of its elements.

    The result has the axes of `inputs`, with new lengths along the features that windows slide over. Padding is
    never the greatest or least element. Equal greatest elements share the derivative evenly.

    Args:
        op: "max", "min", "avg" or "sum".
        size: The elements of a window: one number, one for each spatial axis, or numbers by feature, which choose the
            axes too: channels, feature 0, may be among them.
        stride: How far windows are apart, given likewise; by default as far as they are large.
        padding: What is added on either side, or pairs (before, after), likewise.
        dilation: How far the elements of a window are apart, likewise.
        spatial: The features that windows slide over; by default those of `size`, or all but the first.
        counted: Whether an average counts padding, as zeros.

    Raises:
        ArgumentError: if there is no size.
        AxesError: if windows are longer than a feature with its padding.
        AttributeValueError: for another `op`, or a size or stride below 1.
        OutOfRangeError: for a feature that is not there.
        LengthError: for a negative padding.
        DTypeError: if `inputs` is bool.

    >>> import ngraph_rewrite as ng
    >>> x = ng.simple.placeholder((16, 32, 32, ng.simple.N))
    >>> ng.simple.pooling(x, "max", size=3, stride=2, padding=1).type
    float32[16, 16, 16, sample:N]
    >>> ng.simple.pooling(x, "avg", size={0: 4}).type
    float32[4, 32, 32, sample:N]
    """
    if op not in KINDS:
        raise AttributeValueError(f"pooling: op is {op!r}", where=user_line(), do=f"use one of {', '.join(KINDS)}")
    if size is None:
        raise ArgumentError("pooling: windows have no size", where=user_line(), do="say size=2, or by feature {1: 2}")
    x = as_term(inputs)
    over = _over(x, size, spatial)
    sizes = _by_feature("pooling", "size", x, size, over, 1)
    strides = sizes if stride is None else _by_feature("pooling", "stride", x, stride, over, 1)
    before, after = paddings_by_feature("pooling", x, padding, over)
    dilations = _by_feature("pooling", "dilation", x, dilation, over, 1)
    how = {"over": over, "sizes": sizes, "strides": strides, "before": before, "after": after, "dilations": dilations}
    return apply("pooling", x, **how, kind=op, counted=counted)


def windows(x: Array, over: Iterable[int], sizes: ByAxis, strides: ByAxis = 1, dilations: ByAxis = 1) -> Op:
    """All windows over some features, as a view: their numbers in the place of these, their elements as last features.

    Args:
        over: The features that windows slide over.
        sizes: The elements of a window along each; as the next two, one number serves all.
        strides: How far the next window begins.
        dilations: How far apart the elements of a window are.

    Raises:
        AxesError: if windows are longer than a feature.
        AttributeValueError: for a feature that stands twice, or a stride or dilation below 1.
        OutOfRangeError: for a feature that is not there.

    >>> import ngraph_rewrite as ng
    >>> ng.simple.windows(ng.simple.placeholder((2, 7, ng.simple.N)), [1], 3, strides=2).type
    float32[2, 3, 3, sample:N]
    """
    term = as_term(x)
    features_ = tuple(_feature("windows", term, k) for k in checked("windows", several, over, "over"))
    values = (
        _by_feature("windows", what, term, v, features_, 1)
        for what, v in (("sizes", sizes), ("strides", strides), ("dilations", dilations))
    )
    return apply("windows", term, over=features_, **dict(zip(("sizes", "strides", "dilations"), values, strict=True)))


def fold(x: Array, over: Sequence[int], lengths: ByAxis, strides: ByAxis = 1, dilations: ByAxis = 1) -> Op:
    """Windows put back where `windows` took them and added up: its adjoint.

    Args:
        over: The features of the result that windows slid over, in order; the last of `x` are the elements of windows.
        lengths: How long they are in the result.

    Raises:
        AxesError: if so many windows do not fit into features of these lengths.
        AttributeValueError: for features out of order, or a stride or dilation below 1.

    >>> import ngraph_rewrite as ng
    >>> ng.simple.fold(ng.simple.placeholder((2, 3, 3, ng.simple.N)), [1], 7, strides=2).type
    float32[2, 7, sample:N]
    """
    term, features_ = as_term(x), checked("fold", several, over, "over")
    values = (
        _by_feature("fold", what, term, v, features_, 1)
        for what, v in (("lengths", lengths), ("strides", strides), ("dilations", dilations))
    )
    return apply("fold", term, over=features_, **dict(zip(("lengths", "strides", "dilations"), values, strict=True)))


# -- what windows do along each feature -----------------------------------------------------------------


def _slides(call: str, x: Op, stride: ByAxis, padding: ByAxis, dilation: ByAxis) -> dict[str, Any]:
    """Strides, paddings and dilations along all features but the first."""
    over = tuple(range(1, len(features(x.axes))))
    before, after = paddings_by_feature(call, x, padding, over)
    return {
        "strides": _by_feature(call, "stride", x, stride, over, 1),
        "before": before,
        "after": after,
        "dilations": _by_feature(call, "dilation", x, dilation, over, 1),
    }


def _by_feature(call: str, what: str, x: Op, value: ByAxis, over: Sequence[int], default: Any) -> tuple[Any, ...]:
    return by_axis(call, what, _named(call, x, value), _names(over), default)


def paddings_by_feature(call: str, x: Op, value: ByAxis, over: Sequence[int]) -> tuple[tuple[Any, ...], ...]:
    """What is before and after some features of `x`: a number for either side, or a pair, given as by `by_axis`.

    Raises:
        AttributeValueError: for what is neither.
        OutOfRangeError: for a feature that is not there.
        UnmatchedAxesError: for one that is not among those.
    """
    return paddings(call, _named(call, x, value), _names(over))


def _names(over: Iterable[int]) -> tuple[str, ...]:
    return tuple(f"{FEATURE}{k}" for k in over)


def _named(call: str, x: Op, value: ByAxis) -> ByAxis:
    """A mapping by feature as one by the names that messages show."""
    if not isinstance(value, Mapping):
        return value
    return {f"{FEATURE}{_feature(call, x, k)}": v for k, v in value.items()}


def _feature(call: str, x: Op, number: int) -> int:
    return int(checked(call, position, number, len(features(x.axes)), "feature axis"))


def _over(x: Op, size: ByAxis, spatial: Iterable[int] | int | None) -> tuple[int, ...]:
    """The features that windows slide over."""
    if spatial is None and not isinstance(size, Mapping):
        return tuple(range(1, len(features(x.axes))))
    listed: Any = list(size) if spatial is None else (spatial,) if isinstance(spatial, int) else spatial
    return tuple(_feature("pooling", x, k) for k in checked("pooling", several, listed, "spatial"))
