# SPDX-License-Identifier: Apache-2.0
"""Arguments and attributes to try for the simple ops of images: convolution, pooling, windows, normalisation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ngraph_rewrite.ops.simple_marks import MARKERS, Key, N, R, features, keys, marked
from ngraph_rewrite.ops.sliding import KINDS, places, reach, slid, slides
from ngraph_rewrite.rewriting.domain import Domain
from ngraph_rewrite.rewriting.domains_convolution import SLIDES, Types, Values, Wish, numbers, paddings, window_turns
from ngraph_rewrite.types.axes import Axes, anonymous
from ngraph_rewrite.types.lengths import Extent
from ngraph_rewrite.types.tensor import TensorType

Known = Mapping[int, TensorType]


def _standing(domain: Domain, *shape: Extent) -> list[Axes]:
    """Features of this shape, with N and R before, behind and between them."""
    n, r = N(domain.axes[2].length), R(domain.axes[0].length)
    sets: list[tuple[Any, ...]] = [(*shape, n), (n, *shape), shape, (r, *shape, n), (*shape[:1], n, *shape[1:])]
    sets += [(n, r, *shape), (*shape, r, n), (r, *shape[:1], n, *shape[1:])]
    return [marked(s) for s in sets]


def _images(position: int, known: Known, wish: Wish, domain: Domain) -> Types:
    """Images of one to three spatial axes, N and R anywhere, and filters that fit them."""
    other = known.get(1 - position)
    dtypes = [other.dtype, *numbers(domain)[:2]] if other is not None else numbers(domain)
    if position == 0:
        shapes: list[tuple[Extent, ...]] = [(4, 4, 3), (4, 3), (4, 2, 4, 3)]
        fitting = [s for s in shapes if other is None or len(s) + 1 == other.rank]
        return [TensorType(d, s) for shape in fitting for s in _standing(domain, *shape) for d in dtypes]
    rank = 2 if other is None else len(features(other.axes)) - 1
    sizes = (2, 3, 1)[:rank]
    return [TensorType(d, anonymous((c, *sizes, k))) for c in (4, 2, 1) for k in (4, 2) for d in dtypes]


def _slides(count: int) -> Iterator[tuple[tuple[Any, ...], ...]]:
    """Strides, paddings and dilations along some axes."""
    for i in range(len(SLIDES)):
        chosen = [SLIDES[(i * (k + 1)) % len(SLIDES)] for k in range(count)]
        yield tuple(zip(*((s, max(b, 0), max(a, 0), e) for s, b, a, _, e in chosen), strict=True)) or ((),) * 4


def _convolution(types: Sequence[TensorType], wish: Wish, domain: Domain) -> Values:
    x, w = types
    groups = 4 // int(w.shape[0])  # type: ignore[arg-type]
    return ((*how, g) for how in _slides(len(features(x.axes)) - 1) for g in sorted({groups, 1}, reverse=True))


def _deconvolution(types: Sequence[TensorType], wish: Wish, domain: Domain) -> Values:
    return ((None, *how, g) for how in _slides(len(features(types[0].axes)) - 1) for g in (2, 1))


def _update(position: int, known: Known, wish: Wish, domain: Domain) -> Types:
    """Pairs of images; the second is what windows over the first may have made."""
    other = known.get(1 - position)
    if other is None:
        standing = [*_standing(domain, 4, 2), *_standing(domain, 4, 2, 3)[2:5]]
        return [TensorType(d, s) for s in standing for d in numbers(domain)]
    n = features(other.axes)[1:]
    own = [a for m in MARKERS for a, k in zip(other.axes, keys(other.axes), strict=True) if k == m]
    shapes = [(2, *(k - 1 for k in n)), (4, *n), (2, *(k + 1 for k in n))]
    sets = [axes for s in shapes for axes in (marked((*s, *own)), marked((*own[::-1], *s)))]
    return [TensorType(d, s) for s in sets for d in (other.dtype, *numbers(domain)[:1])]


def _update_attributes(types: Sequence[TensorType], wish: Wish, domain: Domain) -> Values:
    """The sizes of windows that have as many places as the second argument has."""
    one, other = (features(t.axes)[1:] for t in types)
    for how in _slides(len(one)):
        strides, before, after, dilations = how
        every = slides(strides, before, after, (0,) * len(one), dilations)
        fitting = [[r for r in (2, 3, 1) if slid(n, r, e) == m] for n, m, e in zip(one, other, every, strict=True)]
        if all(fitting):
            yield from ((tuple(f[0] for f in fitting), *how, g) for g in (2, 1))


# -- windows --------------------------------------------------------------------------------------------


def _plain(x: TensorType) -> TensorType:
    return TensorType(x.dtype, anonymous(features(x.axes)))


def _pooling(types: Sequence[TensorType], wish: Wish, domain: Domain) -> Values:
    for i, (over, sizes, strides, dilations) in enumerate(window_turns(_plain(types[0]))):
        before, after = paddings(i, len(over))
        yield over, sizes, strides, before, after, dilations, KINDS[(i + len(over)) % 4], i % 2 == 0
        yield over, sizes, strides, before, after, dilations, KINDS[(i + 3) % 4], i % 3 == 0


def _windows(types: Sequence[TensorType], wish: Wish, domain: Domain) -> Values:
    return window_turns(_plain(types[0]))


def _fold(types: Sequence[TensorType], wish: Wish, domain: Domain) -> Values:
    """Windows of the last features over the first ones, with some elements beyond the last window."""
    shape = features(types[0].axes)
    for count in range(1, len(shape) // 2 + 1):
        for stride, dilation, rest in ((1, 1, 0), (2, 1, 1), (3, 2, 0), (1, 2, 0)):
            sizes = shape[len(shape) - count :]
            lengths = tuple(
                (n - 1) * stride + reach(r, dilation) + min(rest, stride - 1) if n != 0 else 0
                for n, r in zip(shape, sizes, strict=False)
            )
            if all(places(m, r, stride, dilation) == n for m, r, n in zip(lengths, sizes, shape, strict=False)):
                yield tuple(range(count)), lengths, (stride,) * count, (dilation,) * count


# -- normalisation --------------------------------------------------------------------------------------


def _scaled(position: int, known: Known, wish: Wish, domain: Domain) -> Types:
    """A tensor, and scales that have its first feature, its others, all of them or none."""
    if position == 0 and not known:
        return [t for t in domain.pool("simple") if t.dtype in numbers(domain)] if wish is None else [wish]
    like = known[min(known)]
    shape = features(like.axes)
    parts = [shape[:1], shape, shape[1:], ()] if position else [shape]
    return [TensorType(d, anonymous(s)) for s in parts for d in (like.dtype, *numbers(domain)[:1])]


def _normalized(types: Sequence[TensorType], wish: Wish, domain: Domain) -> Values:
    own = keys(types[0].axes)
    count = len(features(types[0].axes))
    sets: list[tuple[Key, ...]] = [tuple(k for k in own if k != 0), tuple(range(count)), own, (0,)[:count], ()]
    return ((s, e) for s in sets for e in (0.001, 0.0, 1.0))


ARGUMENTS = {
    "simple.convolution": _images,
    "simple.deconvolution": _images,
    "simple.convolution_update": _update,
    "simple.batch_norm": _scaled,
    "simple.layer_norm": _scaled,
    "simple.batch_norm_inference": _scaled,
}
ATTRIBUTES = {
    "simple.convolution": _convolution,
    "simple.deconvolution": _deconvolution,
    "simple.convolution_update": _update_attributes,
    "simple.pooling": _pooling,
    "simple.windows": _windows,
    "simple.fold": _fold,
    "simple.standardize": _normalized,
    "simple.batch_norm": _normalized,
    "simple.layer_norm": _normalized,
    "simple.batch_norm_inference": _normalized,
}
