# SPDX-License-Identifier: Apache-2.0
"""What a convolution is for its kernels: three axes, some of length 1, and where images and filters lie."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

from ngraph_rewrite.plan.blocking import product_time
from ngraph_rewrite.plan.fusion import Groups
from ngraph_rewrite.plan.nests import Load
from ngraph_rewrite.plan.operands import placed, together
from ngraph_rewrite.plan.shapes import DTYPE_NAMES, DTYPE_SIZES, known
from ngraph_rewrite.plan.views import reshaped
from ngraph_rewrite.terms.op import Op

_OF_QUADS = "cpu.convolution_of_quads"
CONVOLUTIONS = ("cpu.convolution", _OF_QUADS)
Three = tuple[int, ...]


class Convolution(NamedTuple):
    """A convolution along three axes, some of length 1: the images, the filters and how windows slide.

    Attributes:
        sizes: The number of images, of filters, of places, and of elements of a window.
        x: Images, channels, three axes; `w` has results, channels and the axes.
        packed: Of which integers numbers are made, one of `PACKED`, or nothing.
        lengths, window, places: Of the images, a window and the result along the axes.
    """

    sizes: tuple[int, int, int, int]
    x: Load
    w: Load
    dtype: str
    packed: str
    groups: int
    lengths: Three
    window: Three
    places: Three
    strides: Three
    before: Three
    interior: Three
    dilations: Three

    @property
    def factors(self) -> tuple[Load, Load]:
        """What is multiplied."""
        return self.x, self.w

    @property
    def tiles(self) -> str:
        """What its tiles multiply."""
        return self.packed or self.dtype

    @property
    def itemsize(self) -> int:
        """The bytes of a number."""
        return DTYPE_SIZES[self.dtype]

    @property
    def time(self) -> int:
        """About how many nanoseconds it takes with a multiplication for each element of each window."""
        return product_time(*self.sizes, self.itemsize)

    @property
    def is_across(self) -> bool:
        """Whether the result has few places, and windows are large."""
        return not self.packed and is_across(prod(self.places), prod(self.window))


def is_across(places: int, window: int) -> bool:
    """Whether a result of so many places, of windows of so many elements, is computed as a sum over windows."""
    return window > 2 * places


def convolved(term: Op, groups: Groups, as_matrix: bool = False) -> Convolution:
    """The convolution that a term is, its filters as rows of a matrix whatever the windows, if they have to be.

    Raises:
        CopyFirst: if its images are not in memory, or its filters not the one after the other.
    """
    images, filters = term.args
    sizes, count, axes = _sliding(known(images), known(filters), known(term), term.attrs)
    packed = "signed_quads" if term.definition.name == _OF_QUADS else ""
    across = not as_matrix and not packed and is_across(sizes[2], prod(axes[1]))
    read = _in_lines if across else _as_matrix
    x, w = together([placed(images, groups), read(filters, groups)])
    return Convolution(sizes, x, w, DTYPE_NAMES[term.type.dtype], packed, count, *axes)


@lru_cache(maxsize=1 << 12)
def _sliding(
    images: tuple[int, ...], filters: tuple[int, ...], result: tuple[int, ...], attrs: tuple[Any, ...]
) -> tuple[tuple[int, int, int, int], int, tuple[Three, ...]]:
    """The sizes of a convolution of these shapes, its groups, and what it has for each of three axes."""
    strides, before, _, interior, dilations, count = attrs
    axes = [images[2:], filters[2:], result[2:], strides, before, interior, dilations]
    sizes = (result[0], result[1], prod(result[2:]), prod(filters[1:]))
    return sizes, count, tuple([three(v, f) for v, f in zip(axes, (1, 1, 1, 1, 0, 0, 1), strict=True)])


def three(values: tuple[int, ...], filler: int) -> Three:
    """As many values for each of three axes, the first ones filled."""
    return (filler,) * (3 - len(values)) + tuple(values)


def _as_matrix(term: Op, groups: Groups) -> Load | Op:
    """Filters as rows of a matrix; or what has to be copied first."""
    load = placed(term, groups)
    if not isinstance(load, Load):
        return load
    shape = load.layout.shape
    seen = reshaped(load.layout, (shape[0], prod(shape[1:])))
    return term if seen is None else Load(load.base, seen)


def _in_lines(term: Op, groups: Groups) -> Load | Op:
    """Filters of which each channel is one stretch; or what has to be copied first."""
    load = placed(term, groups)
    if not isinstance(load, Load):
        return load
    shape = load.layout.shape
    seen = reshaped(load.layout, (*shape[:2], prod(shape[2:])))
    return term if seen is None or (seen.shape[2] > 1 and seen.strides[2] != 1) else Load(load.base, seen)
