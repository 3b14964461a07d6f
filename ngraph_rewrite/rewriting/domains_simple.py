# SPDX-License-Identifier: Apache-2.0
"""Instances of the ops of the simple family: types with N and R here and there, and attributes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ngraph_rewrite.ops.simple_marks import Key, Marker, N, R, features, keys, marked
from ngraph_rewrite.rewriting.domain import Domain, Types, marked_axes, marks
from ngraph_rewrite.rewriting.domains_semi import Proposal as Attributes
from ngraph_rewrite.rewriting.domains_semi import Values
from ngraph_rewrite.terms.catalogue import OpDef
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.types.axes import Axes, Axis
from ngraph_rewrite.types.dtypes import BOOL, INT64, DType, is_float
from ngraph_rewrite.types.lengths import Extent
from ngraph_rewrite.types.tensor import TensorType

Known = Mapping[int, TensorType]
# Position, known types, the wish, the domain; the last is the pool of types.
Arguments = Callable[[int, Known, "TensorType | None", "Domain"], "Types | None"]


def _variants(like: TensorType, domain: Domain) -> Types:
    """Types that combine with another: N and R elsewhere, more or less of them, no features, another dtype."""
    shape, (n, r) = features(like.axes), marks(domain)
    sets = [like.axes, marked((*shape, n)), marked(shape), marked((r, *shape, n)), Axes(), marked((n, r, *shape))]
    sets += [marked((n,)), marked((n, *shape)), marked((*shape, r)), marked((*shape[:1], n, *shape[1:]))]
    return [TensorType(d, s) for s in sets for d in (like.dtype, *domain.dtypes[:2])]


def arguments(definition: OpDef, known: Known, wish: TensorType | None, domain: Domain) -> Types | None:
    """Types to try for an argument of an op that has no proposal of its own; a result or another is known."""
    if known:
        return _variants(known[min(known)], domain)
    assert wish is not None
    if "reduction" in definition.traits:
        (n, r), own = marks(domain), keys(wish.axes)
        more = [a for a, m in ((n, N), (r, R)) if m not in own] + [Axis(None, 3)]
        return [wish.with_axes([*wish.axes[:i], m, *wish.axes[i:]]) for m in more for i in (wish.rank, 0)] + [wish]
    changes = "comparison" in definition.traits or definition.short in ("isnan", "isinf", "isfinite", "cast")
    return [wish.with_dtype(d) for d in domain.dtypes] if changes else domain.retyped(wish)


def _select(position: int, known: Known, wish: TensorType | None, domain: Domain) -> Types | None:
    near = next(iter(known.values()), wish)
    if near is None:
        return [t.with_dtype(BOOL) for t in domain.pool("simple")] if position == 0 else None
    return [t.with_dtype(BOOL) if position == 0 else t for t in _variants(near, domain)]


def _dot(position: int, known: Known, wish: TensorType | None, domain: Domain) -> Types | None:
    """Pairs that share a feature: the last of the first, the first of the second."""
    other = known.get(1 - position)
    if other is None:
        numbers = [d for d in domain.dtypes if d != BOOL]
        return [TensorType(d, s) for s in marked_axes(domain) if features(s) for d in numbers]
    shape, (n, r), (a, b, _) = features(other.axes), marks(domain), domain.lengths
    if not shape:
        return None
    inner = shape[0] if position == 0 else shape[-1]
    sets: list[tuple[Any, ...]] = [(inner,), (inner, b), (b, inner, n), (n, inner), (r, inner, b, n), (inner, a, n, r)]
    axes = [marked(s if position == 1 else s[::-1]) for s in sets]
    return [TensorType(d, s) for s in axes for d in (other.dtype, *domain.dtypes[:2])]


def _tensordot(position: int, known: Known, wish: TensorType | None, domain: Domain) -> Types | None:
    """Pairs with some features alike, or all, or none."""
    other = known.get(1 - position)
    if other is None:
        numbers = [d for d in domain.dtypes if d != BOOL]
        return [TensorType(d, s) for s in marked_axes(domain) for d in numbers]
    shape, (n, r), (a, b, _) = features(other.axes), marks(domain), domain.lengths
    sets: list[tuple[Any, ...]] = [(*shape, n), (n, *shape[::-1]), (b, *shape, r), (r, *shape, n), (a, n), (n, r)]
    sets.append((*shape, a))
    return [TensorType(d, marked(s)) for s in sets for d in (other.dtype, *domain.dtypes[:2])]


def _concat(position: int, known: Known, wish: TensorType | None, domain: Domain) -> Types | None:
    like = next(iter(known.values()), wish)
    if like is None:
        return [t for t in domain.pool("simple") if t.rank]
    longer = [like.with_axes([*like.axes[:i], a.with_length(2), *like.axes[i + 1 :]]) for i, a in enumerate(like.axes)]
    turned = like.with_axes([*like.axes[1:], *like.axes[:1]])
    return [like, *longer, turned, *domain.retyped(like)[1:3], *_variants(like, domain)[3:9]]


def _stack(position: int, known: Known, wish: TensorType | None, domain: Domain) -> Types | None:
    return _variants(known[min(known)], domain) if known else domain.pool("simple")


def _whole(domain: Domain) -> list[DType]:
    return [d for d in domain.dtypes if d.kind in "iu"] or [INT64]


def _one_hot(position: int, known: Known, wish: TensorType | None, domain: Domain) -> Types | None:
    return [TensorType(d, s) for s in marked_axes(domain) for d in _whole(domain)]


def _take(position: int, known: Known, wish: TensorType | None, domain: Domain) -> Types | None:
    if position == 1:
        return _one_hot(position, known, wish, domain)
    return [TensorType(d, s) for s in marked_axes(domain) if s and len(features(s)) == len(s) for d in domain.dtypes]


ARGUMENTS: dict[str, Arguments] = {
    "simple.select": _select,
    "simple.dot": _dot,
    "simple.tensordot": _tensordot,
    "simple.concat": _concat,
    "simple.stack": _stack,
    "simple.one_hot": _one_hot,
    "simple.take": _take,
}


# -- attributes ---------------------------------------------------------------------------------------


def _subsets(several: Sequence[Key]) -> Iterator[tuple[Key, ...]]:
    """All subsets: one key, then several, then all, and none last."""
    for n in (*range(1, len(several) + 1), 0):
        yield from itertools.combinations(several, n)


def _canonical(axes: Axes) -> list[Key]:
    """The keys of axes as attributes store them: features, then R and N."""
    own = keys(axes)
    return [*range(len(features(axes))), *(m for m in (R, N) if m in own)]


def reduced(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    """Every set of keys."""
    return ((s,) for s in _subsets(_canonical(types[0].axes)))


def _cast(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    return ((d,) for d in _dtypes(wish, domain))


def _dtypes(wish: TensorType | None, domain: Domain) -> list[DType]:
    return [*([wish.dtype] if wish is not None else []), *domain.dtypes]


def _size(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    return ((n, d) for d in _dtypes(wish, domain) for n in (*domain.lengths, 1))


def _tensor_size(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    return ((s, d) for d in _dtypes(wish, domain) for s in _subsets(_canonical(types[0].axes)))


def _draw(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    if wish is not None and is_float(wish.dtype):
        yield wish.axes, wish.dtype, Literal(-1, wish.dtype), Literal(2, wish.dtype), Uid()


def _broadcast(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    if wish is not None:
        yield wish.axes, ()
    own, (n, r), (a, b, _) = types[0].axes, marks(domain), domain.lengths
    shape = features(own) or (a, b)
    new = () if features(own) else (0, 1)
    sets: list[tuple[Any, ...]] = [(*shape, n), (n, *shape), (r, *shape, n), (n, r, *shape), shape, (*shape, n, r)]
    yield from ((marked(s), new) for s in sets)
    yield marked((a, *features(own), n, r)), (0,)
    yield marked((r, *features(own), n, 2)), (len(features(own)),)
    yield own, ()


def _transpose(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    orders = list(itertools.permutations(_canonical(types[0].axes)))
    return ((o,) for o in [*orders[1:], *orders[:1]])


def _reshape(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    shape = features(types[0].axes)
    size: Extent = 1
    for n in shape:
        size = size * n
    yield ((size,),)
    yield (shape[::-1],)
    yield ((1, *shape),)
    yield (tuple(n for n in shape if n != 1),)
    yield (shape,)
    yield ((size, 1),)


def _slices(n: Extent) -> list[Any]:
    if n == 0:
        return [(0, 0, 1)]
    found: list[Any] = [0, (1, n, 1), (0, n, 1), (n - 1, -1, -1), (0, n - 1, 1)]
    return [*found, (0, n, 2), (0, 0, 1)] if isinstance(n, int) else found


def _items(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    everything = list(itertools.product(*map(_slices, features(types[0].axes))))
    return ((i,) for i in everything[:: max(1, len(everything) // 24) | 1])


def _slice_axis(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    return ((k, i) for k, n in zip(keys(types[0].axes), types[0].shape, strict=True) for i in _slices(n))


def _parts(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    """Larger axes that hold the argument, with an index that takes it out again."""
    axes, (n, r) = types[0].axes, marks(domain)
    yield tuple((1, a.length + 1, 1) for a in axes), Axes(a.with_length(a.length + 1) for a in axes)
    yield tuple((a.length - 1, -1, -1) for a in axes), axes
    new = next((m for m, k in ((n, N), (r, R)) if k not in keys(axes)), Axis(None, 3))
    bigger = Axes([*axes, new.with_length(3)])
    yield (*((0, a.length, 1) for a in axes), 2), bigger
    if domain.known:
        yield tuple((0, 2 * a.length, 2) for a in axes), Axes(a.with_length(2 * a.length) for a in axes)


def _pad(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    count = len(features(types[0].axes))
    yield (1,) * count, (0, 2)[:count], 0
    yield (0,) * count, (0, 1)[:count], 1
    yield (0,) * count, (0,) * count, 1


def _key(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    return ((k,) for k in _canonical(types[0].axes))


def _pos(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    return ((i,) for i in range(len(features(types[0].axes)) + 1))


def _classes(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    return ((n, d) for d in domain.dtypes for n in (3, domain.lengths[0]))


def _pairings(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    """Features of equal lengths paired, one or two or none, with N and R summed over or not."""
    one, other = (features(t.axes) for t in types)
    found = {k for t in types for k in keys(t.axes) if isinstance(k, Marker)}
    overs = list(_subsets([m for m in (R, N) if m in found]))
    pairs = [(i, j) for i, n in enumerate(one) for j, m in enumerate(other) if n == m]
    sets: list[tuple[Any, Any]] = [((i,), (j,)) for i, j in pairs]
    sets += [((i, k), (j, m)) for (i, j), (k, m) in itertools.permutations(pairs, 2) if i != k and j != m]
    return ((left, right, o) for left, right in [*sets, ((), ())] for o in overs)


def _norm(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    return ((s, e) for s in _subsets(_canonical(types[0].axes)) for e in (0.0, 0.5))


def _limit(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    return ((e,) for e in (-50.0, -2.0))


def _both(types: Sequence[TensorType]) -> list[Key]:
    found = {k for t in types for k in _canonical(t.axes)}
    return [*sorted(k for k in found if isinstance(k, int)), *(m for m in (R, N) if m in found)]


def _entropy(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    return ((s, bits) for s in _subsets(_both(types)) for bits in (False, True))


def _softmax_entropy(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    own = list(_subsets(_canonical(types[0].axes)))
    return ((n, *rest) for rest in _entropy(types, wish, domain) for n in own)


_REDUCTIONS = "sum prod max min any all argmax argmin mean variance squared_L2 L1_norm softmax logsumexp".split()
ATTRIBUTES: dict[str, Attributes] = {
    **{f"simple.{short}": reduced for short in _REDUCTIONS},
    "simple.cast": _cast,
    "simple.size": _size,
    "simple.tensor_size": _tensor_size,
    "simple.uniform": _draw,
    "simple.normal": _draw,
    "simple.broadcast": _broadcast,
    "simple.transpose": _transpose,
    "simple.reshape": _reshape,
    "simple.tensor_slice": _items,
    "simple.slice_axis": _slice_axis,
    "simple.unslice": _parts,
    "simple.pad": _pad,
    "simple.concat": _key,
    "simple.stack": _pos,
    "simple.one_hot": _classes,
    "simple.tensordot": _pairings,
    "simple.L2_norm": _norm,
    "simple.safelog": _limit,
    "simple.cross_entropy_multi": _entropy,
    "simple.cross_entropy_binary": _entropy,
    "simple.cross_entropy_sigmoid": _entropy,
    "simple.cross_entropy_softmax": _softmax_entropy,
}
