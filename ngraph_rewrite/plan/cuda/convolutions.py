# SPDX-License-Identifier: Apache-2.0
"""Convolutions on a GPU: for each image and group a product of filters with windows, by the tiles of products."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from ngraph_rewrite.codegen.cuda.convolutions import WORDS, render_convolution, render_offsets
from ngraph_rewrite.codegen.cuda.products import render_sums, stored
from ngraph_rewrite.codegen.loops import MapNest
from ngraph_rewrite.codegen.source import Source
from ngraph_rewrite.plan.convolution_operands import Convolution, convolved
from ngraph_rewrite.plan.cuda.cuts import Cut, cut_for
from ngraph_rewrite.plan.cuda.grids import grid_for
from ngraph_rewrite.plan.fusion import Groups
from ngraph_rewrite.plan.jobs import Job
from ngraph_rewrite.plan.operands import OUTPUT, Call, Scratch
from ngraph_rewrite.plan.shapes import DTYPE_SIZES
from ngraph_rewrite.terms.op import Op

CONVOLUTION = "cuda.convolution"
_AXES = "zyx"
_FEW, _LONG = 32, 256  # places of an image that are few for a tile; elements of a window that are many


class Form(NamedTuple):
    """What decides the text of a kernel of convolutions: see `render_convolution`."""

    cut: Cut
    moved: str
    spread: str
    merged: bool

    @property
    def is_apart(self) -> bool:
        """Whether another kernel adds up what products give."""
        return self.merged or self.cut.parts > 1


def convolution_job(term: Op, groups: Groups) -> Job:
    """The work of a convolution.

    Raises:
        CopyFirst: if its images are not in memory, or its filters not as rows of a matrix.
    """
    given = convolved(term, groups, as_matrix=True)
    return Job(term, calls=convolution_calls(given))


def _sizes(given: Convolution, merged: bool) -> tuple[int, int, int, int]:
    """How many products there are, and m, n and k."""
    images, filters, n, k = given.sizes
    if merged:
        return 1, filters, images * n, k
    return images * given.groups, filters // given.groups, n, k


def _is_merged(given: Convolution) -> bool:
    """Whether images have so few places that the windows of all of them are columns of one matrix, of long ones."""
    images, _, n, k = given.sizes
    return given.groups == 1 and images > 1 and n <= _FEW and k >= _LONG


def form(given: Convolution) -> Hashable:
    """What `render` has to know of a convolution."""
    sizes = zip(given.lengths, given.window, given.places, given.before, strict=True)
    moved = [axis for axis, found in zip(_AXES, sizes, strict=True) if found != (1, 1, 1, 0)]
    spread = [axis for axis, apart in zip(_AXES, given.interior, strict=True) if apart > 0]
    merged = _is_merged(given)
    cut = cut_for(_sizes(given, merged), given.dtype, (given.w.layout.strides[1] == 1, True))
    return Form(cut, "".join(moved), "".join(spread), merged)


def render(how: Form, nest: MapNest, literals: tuple[object, ...] = ()) -> Source:
    """The kernel that ends a convolution with a map, after one that sums parts if there are some."""
    if how.is_apart:
        return render_sums(how.cut.dtype, nest, literals, how.merged)
    return _product(how, nest, literals)


def _product(how: Form, nest: MapNest, literals: tuple[object, ...] = ()) -> Source:
    """The kernel of the product."""
    parts = how.cut.along[0], how.moved, how.spread, how.merged
    return render_convolution(how.cut.dtype, how.cut.tile, parts, nest, literals)


def convolution_calls(given: Convolution, mapped: bool = False) -> tuple[Call, ...]:
    """The calls that compute a convolution; one whose result a map takes has the arguments of this map at its end.

    A map sees images and filters: with several groups, which are apart for the product, it is none of the call's.
    """
    how = form(given)
    assert isinstance(how, Form)
    cut, (count, m, n, k), dtype = how.cut, _sizes(given, how.merged), given.dtype
    x, w = given.x.layout, given.w.layout
    offsets = Scratch(8 * WORDS * k)
    first = Call(render_offsets(), (offsets, k, x.strides[1], *given.window, *given.dilations), grid_for(k), (offsets,))
    along = (0,) * (5 - len(x.shape)) + x.strides[2:]
    arguments: tuple[object, ...] = (count, m, n, k, given.w, m * w.strides[0], *w.strides, given.groups)
    arguments += (given.x, x.strides[0], x.shape[1] // given.groups * x.strides[1], offsets, given.sizes[2])
    arguments += (
        *given.lengths,
        *along,
        *given.places[1:],
        *given.strides,
        *given.before,
        *(i + 1 for i in given.interior),
    )
    arguments += (cut.parts, cut.stretch)
    told = given if given.groups == 1 else None
    plain = () if mapped else (OUTPUT, m * n, n)
    if not how.is_apart:
        return first, Call(render(how, stored(dtype)), (*arguments, *plain), cut.grid, given=told)
    sums = Scratch(cut.parts * count * m * n * DTYPE_SIZES[dtype])
    second = Call(_product(how, stored(dtype)), (*arguments, sums, m * n, n), cut.grid, (sums,))
    count, m, n, _ = _sizes(given, merged=False)
    plain = () if mapped else (OUTPUT, m * n, n)
    ends = (count, m, n, cut.parts, sums, *plain)
    return first, second, Call(render(how, stored(dtype)), ends, grid_for(count * m * n), given=told)
