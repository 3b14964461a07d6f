# SPDX-License-Identifier: Apache-2.0
"""Axes ops of convolution: windows slide over axes that are named, in tensors whose axes stand in any order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ngraph_rewrite.errors import AttributeValueError, AxesError
from ngraph_rewrite.ops.alignment import axis_of
from ngraph_rewrite.ops.checks import as_int, extents, known_shape, named, numeric, several
from ngraph_rewrite.ops.sliding import Slide, each, each_slide, fitting, slid, spread_length, steps
from ngraph_rewrite.ops.window_functions import correlated, spread_out
from ngraph_rewrite.terms.catalogue import Attributes, Meaning, op
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import Axes, Axis
from ngraph_rewrite.types.dtypes import promote
from ngraph_rewrite.types.lengths import Extent
from ngraph_rewrite.types.tensor import TensorType

# From the length of an axis and of its window, and the axis's name, to that of the result.
Length = Callable[[Extent, Extent, Slide, str], Extent]


def image_order(have: Axes, channel: str, spatial: Sequence[str]) -> tuple[int, ...]:
    """Where in `have` the other axes stand, then the channel axis, then the spatial ones.

    >>> image_order(Axes({"C": 3, "H": 5, "N": 2}), "C", ["H"])
    (2, 0, 1)
    """
    last = [have.index(name) for name in (channel, *spatial)]
    return (*(k for k in range(len(have)) if k not in last), *last)


def _checked(x: TensorType, w: TensorType, spatial: Sequence[str]) -> None:
    named(x, w)
    numeric(TensorType(promote(x.dtype, w.dtype)))
    if w.rank != len(spatial) + 2:
        raise AxesError(
            f"the filters {w!r} have {w.rank} axes, and windows slide over {', '.join(spatial) or 'no axes'}",
            do=f"give filters of {len(spatial) + 2} axes: channels, one for each of these, results",
        )


def _attributes(longer: Length, inward: int) -> Callable[..., Attributes]:
    """The attributes of a convolution whose channels are axis `inward` of the filters."""

    def attributes(x: TensorType, w: TensorType, **given: Any) -> Attributes:
        over = tuple(_name(axis_of(x.axes, a)) for a in several(given["spatial"], "spatial"))
        channel = _name(axis_of(x.axes, given["channel"]))
        if len({channel, *over}) != len(over) + 1:
            raise AttributeValueError(
                f"the channel axis {channel} and the spatial axes {', '.join(over)} are not distinct"
            )
        _checked(x, w, over)
        count, groups = len(over), as_int(given["groups"], "groups")
        if groups < 1:
            raise AttributeValueError(f"groups is {groups}", do="give at least 1")
        stored = {
            "channel": channel,
            "spatial": over,
            "strides": steps(given["strides"], "strides", count),
            "before": extents(each(given["before"], "before", count), "padding"),
            "after": extents(each(given["after"], "after", count), "padding"),
            "dilations": steps(given["dilations"], "dilations", count),
            "groups": groups,
        }
        derived = _result(x, w, longer, inward, **stored)
        return {**stored, "axes": derived if given["axes"] is None else Axes(given["axes"])}

    return attributes


def _name(axis: Axis) -> str:
    return str(axis.name)


def _result(x: TensorType, w: TensorType, longer: Length, inward: int, **own: Any) -> Axes:
    """The axes of `x` with the filters' other axis in the channel's place, and the spatial ones of new lengths."""
    _channels(x, w, inward, own["channel"], own["groups"])
    outward = w.axes[-1 - inward]
    windows = zip(own["spatial"], w.shape[1:-1], each_slide(own), strict=True)
    every = {name: (size, slide, name) for name, size, slide in windows}
    if inward == -1:
        outward = outward.with_length(outward.length * own["groups"])
    axes = (outward if a.name == own["channel"] else a for a in x.axes)
    return Axes(a.with_length(longer(a.length, *every[a.name])) if a.name in every else a for a in axes)


def _channels(x: TensorType, w: TensorType, inward: int, channel: str, groups: int) -> None:
    own, filters = axis_of(x.axes, channel), w.axes[inward]
    wanted = filters.length * (groups if inward == 0 else 1)
    if own.length != wanted:
        raise AxesError(
            f"{x!r} has {own.length!r} channels along {channel}, the filters {w!r} in {groups} groups take {wanted!r}",
            do="the axis of channels comes first in the filters of a convolution, and last in those of a deconvolution",
        )
    if w.shape[-1] // groups * groups != w.shape[-1]:
        raise AxesError(f"the {w.shape[-1]!r} along {w.axes[-1].name} of {w!r} cannot be split into {groups} groups")


def _images(term: Op, x: Any) -> Any:
    """`x` as (N, C, spatial...)."""
    order = image_order(term.args[0].axes, term.attribute("channel"), term.attribute("spatial"))
    cut = len(order) - 1 - len(term.attribute("spatial"))
    moved = np.transpose(x, order).astype(term.dtype)
    return moved.reshape((int(np.prod(moved.shape[:cut])), *moved.shape[cut:]))


def _meaning(function: Callable[..., Any]) -> Meaning:
    def meaning(term: Op, x: Any, w: Any) -> Any:
        order = image_order(term.args[0].axes, term.attribute("channel"), term.attribute("spatial"))
        shape = tuple(known_shape(term.axes)[k] for k in order)
        cut = len(shape) - 1 - len(term.attribute("spatial"))
        filters = np.moveaxis(w, -1, 0).astype(term.dtype)
        whole = (int(np.prod(shape[:cut])), *shape[cut:])
        with np.errstate(all="ignore"):
            result = function(_images(term, x), filters, each_slide(term.attributes), term.attribute("groups"), whole)
        return np.transpose(result.reshape(shape), np.argsort(order))

    return meaning


def _typed(x: TensorType, w: TensorType, axes: Axes, derived: Axes, free: Sequence[int]) -> TensorType:
    """The type with these axes, whose lengths are those derived, but for the positions that are free."""
    lengths = [axes[k].length if k in free else n for k, n in enumerate(derived.lengths)]
    if list(axes.lengths) != lengths:
        raise AxesError(f"the axes {axes!r} do not have the lengths of the result, {derived!r}", do="leave them out")
    return TensorType(promote(x.dtype, w.dtype), axes)


@op("axes.convolution", meaning=_meaning(correlated), normalise=_attributes(fitting, 0))
def convolution(
    x: TensorType,
    w: TensorType,
    *,
    channel: str,
    spatial: tuple[str, ...],
    strides: tuple[int, ...],
    before: tuple[Extent, ...],
    after: tuple[Extent, ...],
    dilations: tuple[int, ...],
    groups: int,
    axes: Axes,
) -> TensorType:
    """The cross-correlation of `x` with filters `w` of axes (channels/groups, one for each of `spatial`, results).

    The result has the axes of `x` in their order, with the filters' last in the place of `channel`; `axes` names them.
    """
    own = {"channel": channel, "spatial": spatial, "groups": groups}
    own |= {"strides": strides, "before": before, "after": after, "dilations": dilations}
    return _typed(x, w, axes, _result(x, w, fitting, 0, **own), ())


@op("axes.deconvolution", meaning=_meaning(spread_out), normalise=_attributes(spread_length, -1))
def deconvolution(
    x: TensorType,
    w: TensorType,
    *,
    channel: str,
    spatial: tuple[str, ...],
    strides: tuple[int, ...],
    before: tuple[Extent, ...],
    after: tuple[Extent, ...],
    dilations: tuple[int, ...],
    groups: int,
    axes: Axes,
) -> TensorType:
    """The transposed convolution: what `convolution` with the same `w` has as its adjoint, for an adjoint `x`.

    The filters' last axis meets `channel`, and their first, times `groups`, takes its place. Where windows leave
    elements over, several lengths have as many windows: `axes` chooses one, and by default it is the least.
    """
    own = {"channel": channel, "spatial": spatial, "groups": groups}
    own |= {"strides": strides, "before": before, "after": after, "dilations": dilations}
    derived = _result(x, w, spread_length, -1, **own)
    free = []
    if len(axes) == x.rank:
        places = (x.axes.index(name) for name in spatial)
        every = zip(places, w.shape[1:-1], each_slide(own), strict=True)
        free = [k for k, size, slide in every if slid(axes[k].length, size, slide) == x.shape[k]]
    return _typed(x, w, axes, derived, free)
