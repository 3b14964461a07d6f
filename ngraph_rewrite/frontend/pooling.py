# SPDX-License-Identifier: Apache-2.0
"""Pooling: the greatest or the average element of windows that slide over named axes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ngraph_rewrite.errors import ArgumentError, AttributeValueError
from ngraph_rewrite.frontend.arrangement import cast_axes
from ngraph_rewrite.frontend.building import Operand, apply, checked
from ngraph_rewrite.frontend.sliding import ByAxis, by_axis, five_axes, name_of, paddings, parameters
from ngraph_rewrite.frontend.storage import as_op
from ngraph_rewrite.ops.alignment import axis_of
from ngraph_rewrite.ops.checks import several
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import AxesLike, Axis

_PARAMETERS = ("op", *"JTRS", *(f"str_{a}" for a in "cdhw"), *(f"pad_{a}" for a in "cdhw"))
KINDS = ("max", "avg")


def pooling(
    poolparams: Mapping[str, Any] | Operand,
    inputs: Operand | str | None = None,
    axes: AxesLike = None,
    *,
    op: str | None = None,
    size: ByAxis = None,
    stride: ByAxis = None,
    padding: ByAxis = 0,
    dilation: ByAxis = 1,
    spatial: Iterable[Axis | str] | None = None,
    counted: bool = False,
) -> Op:
    """The greatest or the average element of each window, written ``pooling(inputs, "max", size=2)``.

    The result has the axes of `inputs`, with new lengths along those that windows slide over. Padding is never the
    greatest element. Equal greatest elements share the derivative evenly.

    ngraph-python's form is ``pooling(poolparams, inputs)``, of inputs (C, D, H, W, N), where `poolparams` has the keys
    op, J, T, R, S (the sizes along C, D, H, W), str_c, str_d, str_h, str_w, pad_c, pad_d, pad_h, pad_w.

    Args:
        axes: Names for the axes of the result, position by position.
        op: "max" or "avg"; it may stand second.
        size: The elements of a window: one number, one for each spatial axis, or numbers by name, which choose the
            axes too: channels may be among them.
        stride: How far windows are apart, given likewise; by default as far as they are large.
        padding: What is added on either side, or pairs (before, after), likewise.
        dilation: How far the elements of a window are apart, likewise.
        spatial: The axes that windows slide over; by default those of `size`, or all but channels, N and REC.
        counted: Whether an average counts padding, as zeros. It does not in ngraph-python.

    Raises:
        AttributeValueError: for another `op`, a missing parameter, five axes that are not five, or a size below 1.
        AxesError: if `axes` have other lengths than the result, or windows are longer than an axis with its padding.
        UnmatchedAxesError: for the name of an axis that is not there.
        LengthError: for a negative padding.
        DTypeError: if `inputs` is bool.

    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder({"C": 16, "H": 32, "W": 32, "N": None})
    >>> ng.pooling(x, "max", size=3, stride=2, padding=1).type
    float32[C:16, H:16, W:16, N:N]
    >>> ng.pooling(x, "avg", size={"C": 4}).type
    float32[C:4, H:32, W:32, N:N]
    """
    if isinstance(poolparams, Mapping):
        return _from_dictionary(poolparams, inputs, axes, op, size)
    x = as_op(poolparams)
    kind = _kind(op if inputs is None else inputs)
    if size is None:
        raise ArgumentError("pooling: windows have no size", where=user_line(), do="say size=2, or by name {'H': 2}")
    over = _over(x, size, spatial)
    sizes = by_axis("pooling", "size", size, over, 1)
    strides = sizes if stride is None else by_axis("pooling", "stride", stride, over, 1)
    before, after = paddings("pooling", padding, over)
    dilations = by_axis("pooling", "dilation", dilation, over, 1)
    slides = {
        "over": over,
        "sizes": sizes,
        "strides": strides,
        "before": before,
        "after": after,
        "dilations": dilations,
    }
    return _named(apply("axes.pooling", x, **slides, kind=kind, counted=counted), axes)


def _from_dictionary(given: Mapping[str, Any], inputs: Any, axes: AxesLike, op: str | None, size: ByAxis) -> Op:
    if inputs is None or op is not None or size is not None:
        what = "pooling: there are no inputs" if inputs is None else "pooling: op and size stand in the parameters"
        raise ArgumentError(what, where=user_line())
    kind, *numbers = parameters("pooling", given, _PARAMETERS)
    _kind(kind)
    x = as_op(inputs)
    five_axes("pooling", "input", x)
    pads, ones = tuple(numbers[8:]), (1,) * 4
    slides = {"over": x.axes.names[:4], "sizes": numbers[:4], "strides": numbers[4:8], "before": pads, "after": pads}
    return _named(apply("axes.pooling", x, **slides, dilations=ones, kind=kind, counted=False), axes)


def _kind(op: Any) -> str:
    if op not in KINDS:
        raise AttributeValueError(
            f"pooling: unsupported pooling type {op!r}", where=user_line(), do="only max and avg are supported"
        )
    return str(op)


def _over(x: Op, size: ByAxis, spatial: Iterable[Axis | str] | None) -> tuple[str, ...]:
    """The names of the axes that windows slide over."""
    if spatial is None and not isinstance(size, Mapping):
        return tuple(str(a.name) for a in x.axes.spatial_axes())
    listed: Any = list(size) if spatial is None else (spatial,) if isinstance(spatial, str | Axis) else spatial
    names = checked("pooling", several, listed, "spatial")
    return tuple(name_of(checked("pooling", axis_of, x.axes, a)) for a in names)


def _named(term: Op, axes: AxesLike) -> Op:
    return term if axes is None else cast_axes(term, axes)
