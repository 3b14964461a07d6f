# SPDX-License-Identifier: Apache-2.0
"""What windows do along each axis they slide over, as a call says it: one value for all, one for each, or by axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.sliding import PLACE, ByAxis, by_axis, paddings
from ngraph_rewrite.ops.checks import extents, position
from ngraph_rewrite.ops.sliding import Slide, steps
from ngraph_rewrite.terms.op import Op


def slides_of(call: str, x: Op, over: Sequence[int], stride: ByAxis, padding: ByAxis, dilation: ByAxis) -> list[Slide]:
    """How windows slide along some axes.

    Raises:
        AttributeValueError: for a wrong number of strides and the like, or one below 1.
        UnmatchedAxesError, OutOfRangeError: for another axis.
        LengthError: for a negative padding.
    """
    strides = checked(call, steps, by_place(call, "stride", x, stride, over, 1), "stride", len(over))
    dilations = checked(call, steps, by_place(call, "dilation", x, dilation, over, 1), "dilation", len(over))
    sides = paddings(call, _named(call, x, padding), _names(over))
    before, after = (checked(call, extents, side, "padding") for side in sides)
    return [Slide(s, b, a, 0, d) for s, b, a, d in zip(strides, before, after, dilations, strict=True)]


def columns(slides: Sequence[Slide]) -> tuple[tuple[Any, ...], ...]:
    """Strides, before, after, interior and dilations."""
    return tuple(zip(*slides, strict=True)) if slides else ((),) * len(Slide._fields)


def by_place(call: str, what: str, x: Op, value: ByAxis, over: Sequence[int], default: Any) -> tuple[Any, ...]:
    """One value for each of some axes. Errors are those of `slides_of`."""
    return by_axis(call, what, _named(call, x, value), _names(over), default)


def _names(over: Sequence[int]) -> list[str]:
    return [f"{PLACE}{k}" for k in over]


def _named(call: str, x: Op, value: ByAxis) -> ByAxis:
    """A mapping by axis as one by the names that messages show."""
    if not isinstance(value, Mapping):
        return value
    return {f"{PLACE}{checked(call, position, k, x.rank)}": v for k, v in value.items()}
