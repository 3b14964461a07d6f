# SPDX-License-Identifier: Apache-2.0
"""Convolution and its transposed form, over named axes; with ngraph-python's dictionaries of parameters too.

Their derivatives are convolutions again, of any order: ngraph-python's `update_conv` and `bprop_conv` are not needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ngraph_rewrite.errors import ArgumentError, AxesError
from ngraph_rewrite.frontend.building import Operand, apply, checked
from ngraph_rewrite.frontend.sliding import ByAxis, by_axis, five_axes, paddings, parameters
from ngraph_rewrite.frontend.storage import as_op
from ngraph_rewrite.ops.alignment import axis_of
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import Axes, AxesLike, Axis

_PARAMETERS = tuple(f"{kind}_{axis}" for kind in ("str", "pad", "dil") for axis in "dhw")


def convolution(
    conv_params: Mapping[str, int] | Operand | None = None,
    inputs: Operand | None = None,
    filters: Operand | None = None,
    axes: AxesLike = None,
    *,
    stride: ByAxis = 1,
    padding: ByAxis = 0,
    dilation: ByAxis = 1,
    groups: int = 1,
    channel: Axis | str | None = None,
    spatial: Iterable[Axis | str] | None = None,
) -> Op:
    """The cross-correlation of `inputs` with `filters`, written ``convolution(inputs, filters, stride=2, ...)``.

    The axes of `inputs` stand in any order: one of channels, spatial ones, and others (N, REC) for each of which there
    is a convolution of its own. The axes of `filters` stand in this order: channels, one for each spatial axis,
    results. The result has the axes of `inputs` in their order, with the last of `filters` in the channels' place and
    new lengths along the spatial ones.

    ngraph-python's form is ``convolution(conv_params, inputs, filters, axes)``, of inputs (C, D, H, W, N) and filters
    (C, T, R, S, K), where `conv_params` has the keys pad_d, pad_h, pad_w, str_d, str_h, str_w, dil_d, dil_h, dil_w.

    Args:
        axes: Names for the axes of the result, in the order of `inputs`; their lengths must be right.
        stride: How far windows are apart: one number, one for each spatial axis, or numbers by name.
        padding: Zeros on either side, or pairs (before, after), given likewise.
        dilation: How far the elements of a window are apart, likewise.
        groups: Into how many parts channels are split; each sees its own part of the filters.
        channel: The axis of channels; by default the one of that role, or of the name that the filters begin with.
        spatial: The axes that windows slide over; by default all but channel, N and REC.

    Raises:
        AttributeValueError: for a missing parameter, five axes that are not five, a stride below 1 and the like.
        AxesError: if channels, filters, groups or `axes` do not fit together, or windows are longer than an axis with
            its padding.
        UnmatchedAxesError: for the name of an axis that is not there.
        LengthError: for a negative padding.
        DTypeError: if both are bool.

    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder({"C": 3, "H": 32, "W": 32, "N": None})
    >>> w = ng.variable({"C": 3, "R": 5, "S": 5, "K": 16})
    >>> ng.convolution(x, w, stride=2, padding={"H": 2, "W": (2, 1)}).type
    float32[K:16, H:16, W:16, N:N]
    """
    options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    return _convolution("convolution", 0, (conv_params, inputs, filters), axes, channel, spatial, **options)


def deconvolution(
    conv_params: Mapping[str, int] | Operand | None = None,
    inputs: Operand | None = None,
    filters: Operand | None = None,
    axes: AxesLike = None,
    *,
    stride: ByAxis = 1,
    padding: ByAxis = 0,
    dilation: ByAxis = 1,
    groups: int = 1,
    channel: Axis | str | None = None,
    spatial: Iterable[Axis | str] | None = None,
) -> Op:
    """The transposed convolution: what goes from the results of a convolution with these filters to its inputs.

    `filters` have the axes of that convolution: its channels, which this one makes, one for each spatial axis, and
    last its results, which are the channels of `inputs`. Both forms and all arguments and errors are those of
    `convolution`. Where the stride leaves several lengths possible, `axes` chooses; by default it is the least.

    >>> import ngraph_rewrite as ng
    >>> y = ng.placeholder({"K": 16, "H": 16, "N": None})
    >>> w = ng.variable({"C": 3, "R": 5, "K": 16})
    >>> ng.deconvolution(y, w, stride=2, padding=2, channel="K").type
    float32[C:3, H:31, N:N]
    >>> ng.deconvolution(y, w, {"C": 3, "H": 32, "N": None}, stride=2, padding=2, channel="K").type
    float32[C:3, H:32, N:N]
    """
    options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    return _convolution("deconvolution", -1, (conv_params, inputs, filters), axes, channel, spatial, **options)


def _convolution(
    call: str,
    inward: int,
    operands: Sequence[Any],
    axes: AxesLike,
    channel: Axis | str | None,
    spatial: Iterable[Axis | str] | None,
    **options: Any,
) -> Op:
    """Either op; the channels of the inputs are axis `inward` of the filters."""
    given, *pair = operands
    if given is not None and not isinstance(given, Mapping):
        given, pair, axes = None, list(operands[:2]), operands[2] if operands[2] is not None else axes
    if any(p is None for p in pair):
        raise ArgumentError(f"{call}: there are no {'filters' if pair[0] is not None else 'inputs'}", where=user_line())
    x, w = map(as_op, pair)
    if given is not None:
        channel, spatial = _positional(call, x, w, inward)
        options |= _dictionary(call, given, options)
    name = _channel(call, x, w, inward) if channel is None else checked(call, axis_of, x.axes, channel).name
    over = _spatial(call, x, w, str(name), spatial)
    before, after = paddings(call, options["padding"], over)
    return apply(
        f"axes.{call}",
        x,
        w,
        channel=name,
        spatial=over,
        strides=by_axis(call, "stride", options["stride"], over, 1),
        before=before,
        after=after,
        dilations=by_axis(call, "dilation", options["dilation"], over, 1),
        groups=options["groups"],
        axes=None if axes is None else checked(call, Axes, axes),
    )


def _positional(call: str, x: Op, w: Op, inward: int) -> tuple[Axis, Axes]:
    """The channel axis and the spatial ones of ngraph-python's form, where they have their places."""
    five_axes(call, "input", x)
    five_axes(call, "filter", w)
    if inward == 0 and x.axes[0] != w.axes[0]:
        raise AxesError(
            f"{call}: the first axis in input {x.axes[0]!r} and filter {w.axes[0]!r} are not the same",
            where=user_line(),
        )
    return x.axes[0], x.axes[1:4]


def _dictionary(call: str, given: Mapping[str, int], options: Mapping[str, Any]) -> dict[str, Any]:
    if options["stride"] != 1 or options["padding"] != 0 or options["dilation"] != 1:
        raise ArgumentError(f"{call}: stride, padding and dilation stand in the parameters", where=user_line())
    values = parameters(call, given, _PARAMETERS)
    return {"stride": values[:3], "padding": values[3:6], "dilation": values[6:]}


def _channel(call: str, x: Op, w: Op, inward: int) -> str:
    """The axis of channels: that of the role, or of the filters' name."""
    shared = x.axes.find(w.axes[inward].name) if w.rank else None
    found = shared or x.axes.channel_axis()
    if found is None:
        raise AxesError(
            f"{call}: which axis of {x.type!r} is that of channels?", where=user_line(), do="say channel=, such as 'C'"
        )
    return str(found.name)


def _spatial(call: str, x: Op, w: Op, channel: str, spatial: Iterable[Axis | str] | None) -> tuple[str, ...]:
    """The names of the axes that windows slide over."""
    if spatial is not None:
        listed = [spatial] if isinstance(spatial, str | Axis) else spatial
        return tuple(str(checked(call, axis_of, x.axes, a).name) for a in listed)
    found = tuple(str(a.name) for a in x.axes.feature_axes() if a.name != channel)
    if len(found) != w.rank - 2:
        raise AxesError(
            f"{call}: windows of {w.type!r} have {max(w.rank - 2, 0)} axes, and {x.type!r} has {len(found)} for them",
            where=user_line(),
            do="say spatial=, such as ['H', 'W']",
        )
    return found
