# SPDX-License-Identifier: Apache-2.0
"""How windows slide along an axis: how many fit, what padding makes of a length, and which padding undoes it.

Lengths may be unknown wherever the arithmetic has one result for all values that they can take.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ngraph_rewrite.errors import AttributeValueError, AxesError
from ngraph_rewrite.ops.checks import as_int, extents, position, several
from ngraph_rewrite.types.lengths import Extent, Length, natural

# What pooling makes of a window.
KINDS = ("max", "min", "sum", "avg")


class Slide(NamedTuple):
    """How the windows of a convolution slide along one axis; `before` and `after` may be negative, which crops."""

    stride: int
    before: Extent
    after: Extent
    interior: int
    dilation: int


def reach(size: Extent, dilation: int) -> Extent:
    """How many positions a window of `size` elements covers, when `dilation` lies between neighbours.

    >>> reach(3, 1), reach(3, 2), reach(0, 2), reach(Length.symbol("N"), 3)
    (3, 5, 0, N + 2*max(N - 1, 0))
    """
    return size if dilation == 1 else size + natural(size - 1) * (dilation - 1)


def places(length: Extent, size: Extent, stride: int, dilation: int) -> Extent:
    """How many windows fit into an axis.

    >>> places(7, 3, 2, 1), places(2, 3, 1, 1)
    (3, 0)
    """
    number = (length - reach(size, dilation)) // stride + 1
    return max(number, 0) if isinstance(number, int) else number


def spaced(length: Extent, interior: int) -> Extent:
    """The length of an axis with `interior` new elements between neighbours.

    >>> spaced(3, 1), spaced(0, 1)
    (5, 0)
    """
    return reach(length, interior + 1)


def padded(length: Extent, slide: Slide) -> Extent:
    """The length of an axis after padding (or cropping) it.

    >>> padded(3, Slide(1, 2, -1, 1, 1))
    6
    """
    return slide.before + spaced(length, slide.interior) + slide.after


def slid(length: Extent, size: Extent, slide: Slide) -> Extent:
    """The length of the result of a convolution along one axis."""
    return places(padded(length, slide), size, slide.stride, slide.dilation)


def fitting(length: Extent, size: Extent, slide: Slide, axis: str) -> Extent:
    """The number of windows along one axis, where at least one has to fit: a length that is not known yet may do.

    Args:
        axis: What the axis is called.

    Raises:
        AxesError: if windows are longer than the axis with its padding.

    >>> fitting(7, 3, Slide(2, 0, 0, 0, 1), "H")
    3
    """
    number = slid(length, size, slide)
    if number == 0:
        padding = f" with {slide.before} before and {slide.after} behind it"
        whole = f"{axis}, which has length {length!r}{padding if (slide.before, slide.after) != (0, 0) else ''}"
        raise AxesError(
            f"a window of {reach(size, slide.dilation)} places is longer than {whole}",
            do="use a smaller window, or pad more",
        )
    return number


def spread_length(length: Extent, size: Extent, slide: Slide, axis: str) -> Extent:
    """The length that a window slides over to have `length` places; the least of them, if there are more.

    Raises:
        AxesError: if there are no places: a convolution has at least one.

    >>> spread_length(3, 3, Slide(2, 1, 1, 0, 1), "H")
    5
    """
    if length == 0:
        raise AxesError(f"{axis} has no elements to put windows in the place of", do="give it at least one")
    least = (length - 1) * slide.stride + reach(size, slide.dilation) - slide.before - slide.after
    return max(least, 0) if isinstance(least, int) else least


def slides(
    strides: Sequence[int],
    before: Sequence[Extent],
    after: Sequence[Extent],
    interior: Sequence[int],
    dilations: Sequence[int],
) -> list[Slide]:
    """One `Slide` for each axis."""
    return [Slide(*each) for each in zip(strides, before, after, interior, dilations, strict=True)]


def each_slide(attributes: Mapping[str, Any]) -> list[Slide]:
    """How windows slide along each of the spatial axes, by attributes of an op that has no `interior`."""
    s, b, a, d = (attributes[k] for k in ("strides", "before", "after", "dilations"))
    return slides(s, b, a, (0,) * len(s), d)


def back(length: Extent, size: Extent, slide: Slide) -> Slide:
    """The slide over the adjoint, with the window turned around, that gives the adjoint of the argument.

    Args:
        length: The length of the argument, which is the length of the result.
        size: The length of the window.

    >>> back(5, 3, Slide(2, 1, 1, 0, 1))
    Slide(stride=1, before=1, after=1, interior=1, dilation=1)
    """
    given = spaced(slid(length, size, slide), slide.stride - 1)
    before = reach(size, slide.dilation) - 1 - slide.before
    after = (length - 1) * (slide.interior + 1) + 1 + slide.before - given
    return Slide(slide.interior + 1, before, after, slide.stride - 1, slide.dilation)


def across(length: Extent, size: Extent, slide: Slide) -> Slide:
    """The slide of the adjoint, as a window, over the argument, that gives the adjoint of the window.

    >>> across(5, 3, Slide(2, 1, 1, 0, 1))
    Slide(stride=1, before=1, after=1, interior=0, dilation=2)
    """
    given = reach(slid(length, size, slide), slide.stride)
    after = (size - 1) * slide.dilation + given - slide.before - spaced(length, slide.interior)
    return Slide(slide.dilation, slide.before, after, slide.interior, slide.stride)


# -- attributes ---------------------------------------------------------------------------------------


def distinct(axes: Iterable[Any], rank: int) -> tuple[int, ...]:
    """Positions of axes, each at most once, in the order given."""
    found = tuple(position(a, rank) for a in several(axes, "axes"))
    if len(set(found)) != len(found):
        raise AttributeValueError(f"axes {found} name one axis twice")
    return found


def steps(values: Iterable[Any], what: str, count: int) -> tuple[int, ...]:
    """`count` integers of at least 1: strides or dilations."""
    found = tuple(as_int(v, what) for v in several(values, what))
    if len(found) != count or any(v < 1 for v in found):
        raise AttributeValueError(f"{what} {found}", do=f"give {count}, each at least 1")
    return found


def each(values: Sequence[Any], what: str, count: int) -> Sequence[Any]:
    """The values, of which there must be `count`."""
    found = several(values, what)
    if len(found) != count:
        raise AttributeValueError(f"{what} {found}", do=f"give {count}, one for each axis")
    return found


def paddings(values: Iterable[Any], what: str, count: int) -> tuple[Extent, ...]:
    """`count` paddings: integers, negative ones crop, or unknown lengths."""
    found = tuple(v if isinstance(v, Length) else as_int(v, what) for v in several(values, what))
    each(found, what, count)
    return found


def in_order(places: Sequence[int], said: Mapping[str, tuple[Any, ...]]) -> dict[str, tuple[Any, ...]]:
    """What is said of each of some axes, in the order of their places.

    >>> in_order((2, 0), {"axes": (2, 0), "sizes": (3, 4)})
    {'axes': (0, 2), 'sizes': (4, 3)}
    """
    order = sorted(range(len(places)), key=places.__getitem__)
    return {name: tuple(values[i] for i in order) for name, values in said.items()}


def pooling_kind(kind: Any) -> str:
    """One of `KINDS`."""
    if not isinstance(kind, str) or kind not in KINDS:
        raise AttributeValueError(f"the kind of pooling is {kind!r}", do=f"use one of {', '.join(KINDS)}")
    return kind


def pooling_windows(
    count: int, sizes: Any, strides: Any, before: Any, after: Any, dilations: Any
) -> dict[str, tuple[Any, ...]]:
    """What windows of pooling do along each of `count` axes, by attribute."""
    return {
        "sizes": steps(sizes, "sizes", count),
        "strides": steps(strides, "strides", count),
        "before": extents(each(before, "before", count), "padding"),
        "after": extents(each(after, "after", count), "padding"),
        "dilations": steps(dilations, "dilations", count),
    }
