# SPDX-License-Identifier: Apache-2.0
"""Which attributes an op might have with given arguments: the other half of the instances' column.

Each entry proposes tuples in the order of the op's attributes, the plainest first; values at the edges
(nothing reduced, everything reduced, the identity, a reversal, an empty slice) are among them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ngraph_rewrite.rewriting.domains import Domain
from ngraph_rewrite.terms.catalogue import OpDef
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Uid
from ngraph_rewrite.types.axes import Axes, Axis, anonymous
from ngraph_rewrite.types.dtypes import BOOL, DType
from ngraph_rewrite.types.lengths import Extent
from ngraph_rewrite.types.tensor import TensorType

Values = Iterable[tuple[Any, ...]]
# Types of the arguments, the type the result should have (if that is known), the domain.
Proposal = Callable[[Sequence[TensorType], "TensorType | None", Domain], Values]


@lru_cache(4096)
def attribute_values(
    definition: OpDef, types: tuple[TensorType, ...], wish: TensorType | None, domain: Domain
) -> list[tuple[Any, ...]]:
    """Tuples of attributes to try, in the order of `definition.attributes`; some may not be valid.

    For an op without arguments `wish` says what it must make. An op without an entry gets what its
    attributes' names suggest, and nothing if they suggest nothing.
    """
    if not definition.attributes:
        return [()]
    proposal = _PROPOSALS.get(definition.name)
    if proposal is None and definition.attributes == ("axes",) and types:
        proposal = _reduced_axes if definition.family == "axes" else _reduced
    return list(proposal(types, wish, domain)) if proposal is not None else []


def subsets(items: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    """All subsets, smallest last of all but none: one, several, all, none."""
    several = list(items)
    for n in (*range(1, len(several) + 1), 0):
        yield from itertools.combinations(several, n)


# -- semi -------------------------------------------------------------------------------------------


def _reduced(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    return ((s,) for s in subsets(range(types[0].rank)))


def _broadcast(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    shape = types[0].shape
    if wish is not None:
        for dims in itertools.combinations(range(wish.rank), len(shape)):
            yield wish.shape, dims
    n, m, _ = domain.lengths
    for i in range(len(shape) + 1):
        yield (*shape[:i], n, *shape[i:]), tuple(k + (k >= i) for k in range(len(shape)))
    yield shape, tuple(range(len(shape)))
    yield (m, *shape, 1), tuple(k + 1 for k in range(len(shape)))


def _reshape(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    x = types[0]
    shape = x.shape
    if wish is not None and wish.size == x.size:
        yield (wish.shape,)
    yield ((x.size,),)
    yield ((*shape[:-2], shape[-2] * shape[-1]) if len(shape) > 2 else (1, *shape),)
    yield (shape[::-1],)
    yield ((*shape, 1),)
    yield (shape,)
    yield (tuple(n for n in shape if n != 1),)


def _permutations(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    perms = [(p,) for p in itertools.permutations(range(types[0].rank))]
    return [*perms[1:], *perms[:1]]


def _slices_of(n: Extent) -> list[tuple[Extent, Extent, int]]:
    """Triples of an axis: part, whole, one end cut, reversed, every second, none, one element."""
    if n == 0:
        return [(0, 0, 1)]
    triples: list[tuple[Extent, Extent, int]] = [(1, n, 1), (0, n, 1), (0, n - 1, 1), (n - 1, -1, -1)]
    if isinstance(n, int):
        triples += [(0, n, 2), (0, 0, 1), (n - 1, -1, -2), (0, 1, 1)]
        return triples[1:] if n == 1 else triples
    return triples


def _slice(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    for triples in _few(itertools.product(*map(_slices_of, types[0].shape))):
        yield tuple(tuple(t[k] for t in triples) for k in range(3))


def _items(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    return ((items,) for items in _few(_index(types[0].shape)))


def _index(shape: Sequence[Extent]) -> Iterator[tuple[Any, ...]]:
    return itertools.product(*([0, *_slices_of(n)] if n != 0 else _slices_of(n) for n in shape))


def _few(values: Iterator[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """A few of a long enumeration, spread over all of it."""
    everything = list(values)
    step = max(1, len(everything) // 24) | 1
    return (everything[i] for i in range(0, len(everything), step))


def _pad(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    x = types[0]
    zeros, ones = (0,) * x.rank, (1,) * x.rank
    first = (2, *zeros[1:]) if x.rank else ()
    for value in _numbers(x.dtype)[:3]:
        yield from (
            (before, after, inside, Literal(value, x.dtype))
            for before, after, inside in ((ones, first, zeros), (zeros, zeros, zeros), (zeros, ones, first))
        )


def _axis(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    return ((i,) for i in range(types[0].rank))


def _iota(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    return ((wish.shape, i, wish.dtype) for i in range(wish.rank)) if wish is not None else ()


def _size(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    return ((n, d) for d in _dtypes(wish, domain) for n in (*domain.lengths, 1))


def _cast(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    return ((d,) for d in _dtypes(wish, domain))


def _draw(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    if wish is not None and wish.dtype.kind == "f":
        yield wish.shape, wish.dtype, Literal(-1, wish.dtype), Literal(2, wish.dtype), Uid()


def _named_draw(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    return ((wish.axes, *values[1:]) for values in _draw(types, wish, domain)) if wish is not None else ()


def _dtypes(wish: TensorType | None, domain: Domain) -> list[DType]:
    return [*([wish.dtype] if wish is not None else []), *domain.dtypes]


# -- axes -------------------------------------------------------------------------------------------


def _reduced_axes(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    return ((Axes(s),) for s in subsets(types[0].axes))


def _all_axes(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    axes = types[0].axes
    more = [a for a in domain.axes if axes.find(a.name) is None]
    if wish is not None:
        yield (wish.axes,)
    yield from ((Axes(s),) for s in ([*axes, *more[:1]], [*more[:1], *axes[::-1]], axes, axes[::-1]))


def _renamed_axes(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    axes = types[0].axes
    yield (Axes(a.renamed(f"{a.name}_new") for a in axes),)
    yield (axes,)
    yield (Axes([axes[0].renamed("new"), *axes[1:]]) if axes else axes,)


def _names(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    names = types[0].axes.names
    yield (tuple((n, f"{n}_new") for n in names),)
    yield (tuple(zip(names, names[1:] + names[:1], strict=True)),)
    yield ((),)


def _runs(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    axes = types[0].axes
    yield (axes,)
    yield from ((axes[i:j],) for i in range(len(axes)) for j in range(i + 1, len(axes) + 1))


def _flattened(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    return ((a,) for a in types[0].axes if a.components is not None)


def _new_axis(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    axes = types[0].axes
    more = [a for a in (*domain.axes, Axis("new", 1)) if axes.find(a.name) is None]
    return ((a, i) for a in more for i in range(len(axes) + 1))


def _place(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    """Larger axes that hold the argument, with an index that takes it out again."""
    x = types[0]
    bigger = Axes(a.with_length(a.length + 1) for a in x.axes)
    yield tuple((1, a.length, 1) for a in bigger), bigger
    yield tuple((a.length - 1, -1, -1) for a in x.axes), x.axes
    new = Axis("new", 3)
    yield (2, *((0, a.length, 1) for a in x.axes)), Axes([new, *x.axes])
    if domain.known:
        doubled = Axes(a.with_length(a.length * 2) for a in x.axes)
        yield tuple((0, a.length, 2) for a in doubled), doubled


def _named_pad(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    rank = types[0].rank
    yield (1,) * rank, (0, 2, 0)[:rank]
    yield (0,) * rank, (0,) * rank


def _axis_name(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    return ((name,) for name in types[0].axes.names)


def _stack(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    return ((Axis("new", len(types)), i) for i in range(types[0].rank + 1))


def _one_hot(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    return ((Axis("class", n), d) for d in domain.dtypes for n in (3, domain.axes[0].length))


def _norm(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    return ((Axes(s), e) for s in subsets(types[0].axes) for e in (0.0, 0.5))


def _limit(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    return ((e,) for e in (-50.0, -2.0))


def _entropy(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    both = max(types, key=lambda t: t.rank).axes
    return ((Axes(s), bits) for s in subsets(both) for bits in (False, True))


def _softmax_entropy(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    own = [Axes(s) for s in subsets(types[0].axes)]
    return ((n, *rest) for rest in _entropy(types, wish, domain) for n in own)


def _tensor_size(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    return ((Axes(s), d) for d in _dtypes(wish, domain) for s in subsets(types[0].axes))


# -- core -------------------------------------------------------------------------------------------


def _numbers(dtype: DType) -> list[Any]:
    if dtype == BOOL:
        return [False, True]
    whole: list[Any] = [0, 1, 2, int(np.iinfo(dtype).max)] if dtype.kind in "iu" else [0.0, 1.0, 2.0]
    if dtype.kind == "i":
        whole.append(-1)
    return whole if dtype.kind in "iu" else [*whole, -1.0, 0.5, -0.0, math.inf, -math.inf, math.nan]


def _constant(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    if wish is None:
        return
    yield from ((Literal(v, wish.dtype), wish.axes) for v in _numbers(wish.dtype))
    shape = [n for n in wish.shape if isinstance(n, int)]
    if shape and len(shape) == wish.rank:
        yield Literal(np.arange(math.prod(shape)).reshape(shape).astype(wish.dtype)), wish.axes


def _label(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    x = types[0]
    if wish is not None and wish.shape == x.shape:
        yield (wish.axes,)
    yield (domain.labels(x.shape),)
    yield (Axes(Axis(f"Y{i}", n, "sample" if i == 0 else ()) for i, n in enumerate(x.shape)),)
    yield (anonymous(x.shape),)


def _leaf(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    return [(Uid(), wish.axes, wish.dtype)] if wish is not None else []


def _variable(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    return ((*values, True, False) for values in _leaf(types, wish, domain))


def _uid(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    return [(Uid(),)]


_PROPOSALS: dict[str, Proposal] = {
    "cpu.gemm": lambda types, wish, domain: itertools.product((False, True), repeat=2),
    "core.constant": _constant,
    "core.label": _label,
    "core.placeholder": _leaf,
    "core.variable": _variable,
    "core.assign": _uid,
    "semi.broadcast": _broadcast,
    "semi.reshape": _reshape,
    "semi.transpose": _permutations,
    "semi.slice": _slice,
    "semi.tensor_slice": _items,
    "semi.pad": _pad,
    "semi.concat": _axis,
    "semi.gather": _axis,
    "semi.iota": _iota,
    "semi.size": _size,
    "semi.cast": _cast,
    "semi.uniform": _draw,
    "semi.normal": _draw,
    "axes.broadcast": _all_axes,
    "axes.axes_with_order": lambda types, wish, domain: ((Axes(p),) for p in itertools.permutations(types[0].axes)),
    "axes.cast_axes": _renamed_axes,
    "axes.map_roles": _names,
    "axes.flatten": _runs,
    "axes.unflatten": _flattened,
    "axes.expand_dims": _new_axis,
    "axes.tensor_slice": _items,
    "axes.unslice": _place,
    "axes.pad": _named_pad,
    "axes.concat": _axis_name,
    "axes.stack": _stack,
    "axes.one_hot": _one_hot,
    "axes.cast": _cast,
    "axes.size": _size,
    "axes.tensor_size": _tensor_size,
    "axes.batch_size": _cast,
    "axes.uniform": _named_draw,
    "axes.normal": _named_draw,
    "axes.L2_norm": _norm,
    "axes.safelog": _limit,
    "axes.cross_entropy_multi": _entropy,
    "axes.cross_entropy_binary": _entropy,
    "axes.cross_entropy_sigmoid": _entropy,
    "axes.cross_entropy_softmax": _softmax_entropy,
}
