# SPDX-License-Identifier: Apache-2.0
"""Arguments and attributes to try for the ops of sliding windows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ngraph_rewrite.ops.checks import tensor
from ngraph_rewrite.ops.sliding import KINDS, Slide, reach, slid
from ngraph_rewrite.rewriting.domain import Domain
from ngraph_rewrite.types.dtypes import BOOL, DType
from ngraph_rewrite.types.lengths import Extent
from ngraph_rewrite.types.tensor import TensorType

Types = list[TensorType]
Values = Iterable[tuple[Any, ...]]
Wish = TensorType | None
# Size, stride and dilation of a window along one axis, the plainest first.
WINDOWS = ((2, 1, 1), (2, 2, 1), (1, 1, 1), (3, 2, 1), (1, 2, 1), (2, 1, 2), (2, 3, 1), (0, 1, 1))
# Such windows of an axis whose length may turn out to be 1.
SHORT = ((2, 1, 1), (1, 1, 1), (1, 2, 1), (0, 1, 1))
# Stride, before, after, interior and dilation along one axis.
SLIDES = (
    (1, 0, 0, 0, 1),
    (1, 1, 1, 0, 1),
    (2, 1, 0, 0, 1),
    (1, 0, 1, 0, 2),
    (3, 0, 2, 0, 1),
    (1, 1, 0, 1, 1),
    (2, -1, 2, 1, 1),
    (1, 2, -1, 0, 1),
    (2, 0, 0, 0, 1),
    (1, 0, 0, 0, 2),
    (1, 0, 0, 1, 1),
    (1, 1, -1, 0, 1),
    (1, -1, 1, 0, 1),
    (1, 1, 1, 1, 1),
)
# What windows are padded with before and after.
PADS = ((0, 0), (1, 0), (1, 2), (0, 1))


def numbers(domain: Domain) -> list[DType]:
    """The dtypes that are no truth values."""
    return [d for d in domain.dtypes if d != BOOL]


def convolved(position: int, known: Mapping[int, TensorType], wish: Wish, domain: Domain) -> Types:
    """Images with one to three spatial axes, and filters that fit them."""
    other = known.get(1 - position)
    n = domain.lengths[0]
    spatial: list[tuple[int, ...]] = [(4,), (4, 3), (3, 2, 3), (1,), (9, 1)]
    windows: list[tuple[int, ...]] = [(2,), (2, 3), (2, 1, 2), (1,), (3,), (1, 1), (4,), (4, 3), (2, 1)]
    if position == 0:
        count = [2, 4, 3, 0] if other is None else [c * g for c in other.shape[1:2] for g in (1, 2)]
        shapes = [(b, c, *s) for c in count for s in spatial for b in (n, 1)]
    else:
        count = [2, 0] if other is None else [c // g for c in other.shape[1:2] for g in (1, 2)]
        shapes = [(k, c, *w) for c in count for w in windows for k in (2, 4, 3)]
    shapes = [s for s in shapes if other is None or len(s) == other.rank]
    return [tensor(d, s) for s in shapes for d in ([other.dtype] if other is not None else numbers(domain))]


def _convolution(types: Sequence[TensorType], wish: Wish, domain: Domain) -> Values:
    x, w = types
    groups = x.shape[1] // w.shape[1] if x.rank > 1 and w.rank > 1 and isinstance(w.shape[1], int) and w.shape[1] else 1
    for i in range(len(SLIDES)):
        chosen = [SLIDES[(i * (k + 1)) % len(SLIDES)] for k in range(max(x.rank - 2, 0))]
        yield (*(tuple(zip(*chosen, strict=True)) or ((),) * 5), groups)


def _some_axes(x: TensorType) -> list[tuple[int, ...]]:
    places = tuple(range(x.rank))
    return [places[-1:], places[:1], places[-2:], places, places[::-1], ()]


def _over(x: TensorType, axes: Sequence[int], options: Callable[[Extent], Sequence[Any]]) -> Iterator[list[Any]]:
    """For each of a few turns, one of the options of each axis."""
    for turn in range(8):
        every = [options(x.shape[k]) for k in axes]
        yield [o[(turn * (k + 1)) % len(o)] for k, o in enumerate(every)]


def _fitting(n: Extent) -> Sequence[tuple[int, int, int]]:
    return WINDOWS if isinstance(n, int) else SHORT


def _columns(rows: Sequence[Sequence[Any]], count: int) -> tuple[tuple[Any, ...], ...]:
    return tuple(zip(*rows, strict=True)) or ((),) * count


def window_turns(x: TensorType) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Positions of axes, and sizes (not 0), strides and dilations of windows over them."""
    for axes in _some_axes(x):
        for chosen in _over(x, axes, lambda n: [w for w in _fitting(n) if w[0]]):
            yield (axes, *_columns(chosen, 3))


def paddings(turn: int, rank: int) -> tuple[tuple[int, ...], ...]:
    """What is padded before and after each axis: the same for all in every other turn, else not."""
    return _columns([PADS[(turn + (k if turn % 2 else 0)) % len(PADS)] for k in range(rank)], 2)


def _windows(types: Sequence[TensorType], wish: Wish, domain: Domain) -> Values:
    for axes in _some_axes(types[0]):
        yield from ((axes, *_columns(chosen, 3)) for chosen in _over(types[0], axes, _fitting))


def _fold(types: Sequence[TensorType], wish: Wish, domain: Domain) -> Values:
    """Windows of the last axes over the first ones, with some elements beyond the last window."""
    x = types[0]
    for count in range(1, x.rank // 2 + 1):
        sizes = x.shape[x.rank - count :]
        for stride, dilation, rest in itertools.product((1, 2, 3), (1, 2), (0, 1)):
            lengths = [
                (n - 1) * stride + reach(size, dilation) + min(rest, stride - 1) if n != 0 else 0
                for n, size in zip(x.shape, sizes, strict=False)
            ]
            yield tuple(range(count)), tuple(lengths), (stride,) * count, (dilation,) * count


def _cropped(types: Sequence[TensorType], wish: Wish, domain: Domain) -> Values:
    """A part of what such windows add up to."""
    for turn, (axes, lengths, strides, dilations) in enumerate(_fold(types, wish, domain)):
        shape = [*lengths, *types[0].shape[len(lengths) : types[0].rank - len(lengths)]]
        starts = [(turn + k) % 2 if n else 0 for k, n in enumerate(shape)]
        yield axes, tuple(starts), tuple([n - b for n, b in zip(shape, starts, strict=True)]), strides, dilations


def _pooling(types: Sequence[TensorType], wish: Wish, domain: Domain) -> Values:
    for i, (axes, sizes, strides, dilations) in enumerate(window_turns(types[0])):
        before, after = paddings(i, len(axes))
        kinds = [(k, c) for k in KINDS for c in (False, True)]
        yield axes, sizes, strides, before, after, dilations, *kinds[(i * 3 + len(axes)) % len(kinds)]
        yield axes, sizes, strides, before, after, dilations, "avg", i % 2 == 0


def _direct(position: int, known: Mapping[int, TensorType], wish: Wish, domain: Domain) -> Types:
    return [t for t in convolved(position, known, wish, domain) if t.dtype.name in _FLOATS]


def _of_quads(position: int, known: Mapping[int, TensorType], wish: Wish, domain: Domain) -> Types:
    return [t for t in convolved(position, known, wish, domain) if t.dtype.name == "int32"]


def _unpooled(position: int, known: Mapping[int, TensorType], wish: Wish, domain: Domain) -> Types:
    """What windows went over, and what belongs to them."""
    x = known.get(0)
    if position == 0 or x is None:
        return [tensor(d, s) for s in ((5,), (2, 4), (4, 4)) for d in domain.dtypes if d.name in _FLOATS]
    shapes = [
        (*x.shape[:-count], *lengths)
        for count in range(1, min(x.rank, 3) + 1)
        for lengths in ([n - 1 if n != 0 else n for n in x.shape[-count:]], [n // 2 for n in x.shape[-count:]])
    ]
    return [tensor(x.dtype, s) for s in shapes]


def _unpooling(types: Sequence[TensorType], wish: Wish, domain: Domain) -> Values:
    x, given = types
    for count, (before, after), kind in itertools.product(range(1, min(x.rank, 3) + 1), PADS, ("max", "min")):
        for size, stride, dilation in WINDOWS:
            window = Slide(stride, before, after, 0, dilation)
            if size and [slid(n, size, window) for n in x.shape[-count:]] == list(given.shape[-count:]):
                every = [(v,) * count for v in (size, stride, before, after, dilation)]
                yield tuple(range(x.rank - count, x.rank)), *every, kind


def _spread(types: Sequence[TensorType], wish: Wish, domain: Domain) -> Values:
    """Windows that lie in what they were taken from, or are cut off on either side."""
    d = types[0]
    for axes in [a for a in _some_axes(d) if a and list(a) == sorted(a)]:
        for window, before in itertools.product([w for w in WINDOWS if w[0]], (0, 1)):
            size, stride, dilation = window
            lengths = [
                reach(size, dilation) + (n - 1) * stride - before if n != 0 else 0 for n in (d.shape[k] for k in axes)
            ]
            every = [(v,) * len(axes) for v in (size, stride, before, dilation)]
            for less, (kind, counted) in itertools.product((0, 1), (("sum", False), ("avg", True), ("avg", False))):
                if all(not isinstance(n, int) or n > less for n in lengths):
                    yield axes, tuple([n - less for n in lengths]), *every, kind, counted


_FLOATS = ("float32", "float64")
CONVOLUTION_TYPES = {
    "semi.convolution": convolved,
    "cpu.convolution": _direct,
    "cpu.convolution_of_quads": _of_quads,
    "cuda.convolution": _direct,
    "cpu.unpooling": _unpooled,
    "cuda.unpooling": _unpooled,
}
CONVOLUTION = {
    "semi.windows": _windows,
    "semi.fold": _fold,
    "semi.convolution": _convolution,
    "cpu.convolution": _convolution,
    "cpu.convolution_of_quads": _convolution,
    "cuda.convolution": _convolution,
    "cpu.unpooling": _unpooling,
    "cuda.unpooling": _unpooling,
    "cuda.pooling": _pooling,
    "cuda.fold": _cropped,
    "fused.spread": _spread,
    "semi.pooling": _pooling,
}
