# SPDX-License-Identifier: Apache-2.0
"""A view is an offset and strides: it moves no element, and views of views compose."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

from ngraph_rewrite.plan.shapes import known
from ngraph_rewrite.terms.op import Op

IDENTITIES = frozenset({"core.strip", "core.label", "core.stop_gradient", "core.value_of", "semi.transfer"})
VIEWS = IDENTITIES | {"semi.broadcast", "semi.transpose", "semi.reshape", "semi.slice", "semi.diagonal", "semi.windows"}


class Layout(NamedTuple):
    """Where the elements of a shape lie in a buffer, in elements."""

    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def is_plain(self) -> bool:
        """Whether it is the row-major layout of its shape, from the start of the buffer."""
        return self.offset == 0 and self.is_contiguous

    @property
    def is_contiguous(self) -> bool:
        """Whether its elements lie one after the other in row-major order."""
        wanted = row_major(self.shape).strides
        if self.strides == wanted:
            return True
        return all(n <= 1 or s == w for n, s, w in zip(self.shape, self.strides, wanted, strict=True))


class Load(NamedTuple):
    """An operand: the term whose memory it is, and where its elements lie for the loops."""

    base: Op
    layout: Layout


@lru_cache(maxsize=1 << 12)
def row_major(shape: tuple[int, ...]) -> Layout:
    """The layout of a buffer of its own.

    >>> row_major((2, 3)).strides
    (3, 1)
    """
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return Layout(0, shape, tuple(reversed(strides)))


def is_view(term: Op) -> bool:
    """Whether the term moves no element."""
    return term.definition.name in VIEWS


def view(term: Op, layout: Layout) -> Layout | None:
    """The layout of the view `term`, given that of its argument; None if it has to be copied first."""
    name = term.definition.name
    if name in IDENTITIES:
        return layout
    return _view(name, term.attrs, known(term), layout)


@lru_cache(maxsize=1 << 13)
def _view(name: str, attrs: tuple[Any, ...], shape: tuple[int, ...], layout: Layout) -> Layout | None:
    """As `view`, for a view of some shape; they are few in a graph, though many terms are such views."""
    offset, _, strides = layout
    if name == "semi.reshape":
        return reshaped(layout, shape)
    if name == "semi.transpose":
        return Layout(offset, shape, tuple([strides[p] for p in attrs[0]]))
    if name == "semi.broadcast":
        dims = attrs[1]
        return Layout(offset, shape, tuple([strides[dims.index(k)] if k in dims else 0 for k in range(len(shape))]))
    if name == "semi.diagonal":
        return _diagonal(layout, attrs[0])
    if name == "semi.slice":
        starts, _, steps = attrs
        offset += sum(a * s for a, s, n in zip(starts, strides, shape, strict=True) if n)
        return Layout(offset, shape, tuple(k * s for k, s in zip(steps, strides, strict=True)))
    assert name == "semi.windows", name
    return Layout(offset, shape, _windows(attrs, strides))


def _windows(attrs: tuple[Any, ...], strides: tuple[int, ...]) -> tuple[int, ...]:
    axes, _, steps, dilations = attrs
    step = dict(zip(axes, steps, strict=True))
    along = [s * step.get(k, 1) for k, s in enumerate(strides)]
    within = [strides[k] * d for k, d in zip(axes, dilations, strict=True)]
    return (*along, *within)


def _diagonal(layout: Layout, places: tuple[int, ...]) -> Layout:
    """Axes that lie on one are walked together: their strides add up."""
    rank = max(places, default=-1) + 1
    axes = [[k for k, p in enumerate(places) if p == place] for place in range(rank)]
    strides = tuple(sum(layout.strides[k] for k in own) for own in axes)
    return Layout(layout.offset, tuple(layout.shape[own[0]] for own in axes), strides)


def reshaped(layout: Layout, shape: tuple[int, ...]) -> Layout | None:
    """The row-major elements of `layout` in another shape, if strides can say it.

    >>> reshaped(Layout(0, (2, 3), (3, 1)), (6,)).strides
    (1,)
    >>> reshaped(Layout(0, (2, 3), (1, 2)), (6,)) is None
    True
    """
    if prod(shape) == 0:
        return Layout(layout.offset, shape, row_major(shape).strides)
    old = merged(list(zip(layout.shape, layout.strides, strict=True)))
    strides: list[int] = []
    for n in reversed(shape):
        if n == 1:
            strides.append(0)
            continue
        if not old:
            return None
        length, stride = old.pop()
        if length % n:
            return None
        strides.append(stride)
        if length != n:
            old.append((length // n, stride * n))
    return Layout(layout.offset, shape, tuple(reversed(strides)))


def merged(dims: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Neighbouring dimensions of (length, stride) that are one stretch become one; lengths of 1 vanish."""
    result: list[tuple[int, int]] = []
    for length, stride in dims:
        if length == 1:
            continue
        if result and result[-1][1] == stride * length:
            result[-1] = (result[-1][0] * length, stride)
        else:
            result.append((length, stride))
    return result
