# SPDX-License-Identifier: Apache-2.0
"""Attributes to try for the ops of the semi family, and what every family's proposals are made of."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ngraph_rewrite.errors import NGraphRewriteError
from ngraph_rewrite.rewriting.domain import Domain, each_axis
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.types.dtypes import BOOL, DTYPES, DType, is_float
from ngraph_rewrite.types.tensor import TensorType

Values = Iterable[tuple[Any, ...]]
# Types of the arguments, the type the result should have (if that is known), the domain.
Proposal = Callable[[Sequence[TensorType], "TensorType | None", Domain], Values]


def subsets(items: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    """All subsets: one item, then several, then all, and none last."""
    several = list(items)
    for n in (*range(1, len(several) + 1), 0):
        yield from itertools.combinations(several, n)


def numbers(dtype: DType) -> list[Any]:
    """Numbers that constants of a dtype are filled with: neutral ones first, edges last."""
    if dtype == BOOL:
        return [False, True]
    whole: list[Any] = [0, 1, 2, int(np.iinfo(dtype).max)] if dtype.kind in "iu" else [0.0, 1.0, 2.0]
    if dtype.kind == "i":
        whole.append(-1)
    return whole if dtype.kind in "iu" else [*whole, -1.0, 0.5, -0.0, math.inf, -math.inf, math.nan]


def filled(values: Iterable[float], dtype: DType) -> Iterator[Literal]:
    """The numbers that a dtype has."""
    for value in values:
        try:
            found = Literal(value, dtype)
        except NGraphRewriteError:
            continue
        if found.is_number(value):
            yield found


def reduced(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    """Every set of positions."""
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


def _slice(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    for triples in domain.few(itertools.product(*map(domain.slices, types[0].shape))):
        yield tuple(tuple(t[k] for t in triples) for k in range(3))


def items(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    """A few indices of the argument: integers and slices."""
    each = ([*domain.places(n), *domain.slices(n)] for n in types[0].shape)
    return ((items,) for items in domain.few(itertools.product(*each)))


def _pad(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    x = types[0]
    zeros, ones = (0,) * x.rank, (1,) * x.rank
    first, begin, end = ((2, *zeros[1:]), (1, *zeros[1:]), (0, *ones[1:])) if x.rank else ((), (), ())
    for value in (*numbers(x.dtype)[:3], *((-0.0, math.nan) if is_float(x.dtype) else ())):
        yield from (
            (before, after, inside, Literal(value, x.dtype))
            for before, after, inside in (
                (ones, first, zeros),
                (zeros, zeros, zeros),
                (zeros, ones, first),
                (begin, end, zeros),  # every axis grows by one, not at the same end
            )
        )


def _iota(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    return ((wish.shape, i, wish.dtype) for i in range(wish.rank)) if wish is not None else ()


def size(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    """Lengths, known and unknown, in some dtypes."""
    return ((n, d) for d in dtypes(wish, domain) for n in (*domain.lengths, 1))


def cast(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    """Every dtype, the wished one first."""
    return ((d,) for d in dtypes(wish, domain))


def _bitcast(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    """Every dtype of the width of the argument's, the wished one first."""
    own = types[0].dtype
    return ((d,) for d in [*dtypes(wish, domain), *DTYPES] if BOOL not in (own, d) and d.itemsize == own.itemsize)


def draw(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    """A distribution of the wished type, with an identity of its own."""
    if wish is not None and is_float(wish.dtype):
        yield wish.shape, wish.dtype, Literal(-1, wish.dtype), Literal(2, wish.dtype), Uid()


def dtypes(wish: TensorType | None, domain: Domain) -> list[DType]:
    """Every dtype, the wished one first."""
    return [*([wish.dtype] if wish is not None else []), *domain.dtypes]


# The proposals by op; reductions have `reduced`.
SEMI: dict[str, Proposal] = {
    "semi.broadcast": _broadcast,
    "semi.reshape": _reshape,
    "semi.transpose": _permutations,
    "semi.slice": _slice,
    "semi.tensor_slice": items,
    "semi.pad": _pad,
    "semi.concat": each_axis,
    "semi.gather": each_axis,
    "semi.iota": _iota,
    "semi.allocate": lambda types, wish, domain: [(wish.shape, wish.dtype)] if wish is not None else [],
    "semi.transfer": lambda types, wish, domain: [("host",), ("device",)],
    "semi.size": size,
    "semi.cast": cast,
    "semi.bitcast": _bitcast,
    "semi.uniform": draw,
    "semi.normal": draw,
}
