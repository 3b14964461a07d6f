# SPDX-License-Identifier: Apache-2.0
"""Instances of the semi ops that sort, search, run along an axis, multiply matrices or use indices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ngraph_rewrite.ops.checks import tensor
from ngraph_rewrite.ops.semi_scatter import HOW
from ngraph_rewrite.rewriting.domain import (
    Domain,
    Proposal,
    Types,
    each_axis,
    each_axis_and_flag,
    each_flag,
    each_two_flags,
)
from ngraph_rewrite.rewriting.domains_semi import Proposal as Attributes
from ngraph_rewrite.rewriting.domains_semi import Values
from ngraph_rewrite.types.dtypes import BOOL, FLOAT32, FLOAT64, INT64, DType
from ngraph_rewrite.types.lengths import Extent
from ngraph_rewrite.types.tensor import TensorType

Known = Mapping[int, TensorType]


def whole(domain: Domain) -> list[DType]:
    """Dtypes of indices, int64 first."""
    return [INT64, *(d for d in domain.dtypes if d.kind in "iu")]


def _batch_dot(position: int, known: Known, wish: TensorType | None, domain: Domain) -> Types | None:
    other = known.get(1 - position)
    a, b, c = domain.lengths
    if other is not None:
        if other.rank != 3:
            return []
        n, inner = other.shape[0], other.shape[1 + position]
        far = [a, b, c] if wish is None or wish.rank != 3 else [wish.shape[1 + position]]
        return [tensor(other.dtype, (n, m, inner) if position == 0 else (n, inner, m)) for m in far]
    if wish is not None:
        if wish.rank != 3:
            return []
        n, m = wish.shape[0], wish.shape[1 + position]
        return [tensor(wish.dtype, (n, m, k) if position == 0 else (n, k, m)) for k in domain.lengths]
    shapes = [(a, b, c), (b, a, c), (1, a, b), (c, b, b), (a, c, 0), (a, 0, b)]
    return [tensor(d, s) for s in shapes for d in domain.dtypes]


def _some(wish: TensorType | None, domain: Domain) -> Types:
    """A tensor with axes, of the wished type if it has some."""
    return [wish] if wish is not None and wish.rank else [t for t in domain.pool("semi") if t.rank]


def _scatter(position: int, known: Known, wish: TensorType | None, domain: Domain) -> Types | None:
    x, i, u = (known.get(k) for k in range(3))
    if position == 0:
        return _some(wish, domain) if wish is not None or i is None or u is None else _scattered_into(i, u, domain)
    if position == 1:
        shapes = domain.shapes()[1:4] if x is None or u is None else _scattered_at(x, u)
        return [tensor(d, s) for s in shapes for d in whole(domain)]
    if i is None:
        return [t for t in domain.pool("semi") if t.rank]
    if x is None:  # of one axis, or the first of two
        return [tensor(d, (*i.shape, *rest)) for rest in ((), domain.lengths[:1]) for d in domain.dtypes]
    return [tensor(x.dtype, (*x.shape[:k], *i.shape, *x.shape[k + 1 :])) for k in range(x.rank)]


def _scattered_into(i: TensorType, u: TensorType, domain: Domain) -> Types:
    """What has an axis where the updates `u` have those of an index."""
    places = [k for k in range(u.rank - i.rank + 1) if u.shape[k : k + i.rank] == i.shape]
    lengths = (*domain.lengths, 0)
    return [tensor(u.dtype, (*u.shape[:k], n, *u.shape[k + i.rank :])) for k in places for n in lengths]


def _scattered_at(x: TensorType, u: TensorType) -> list[tuple[Extent, ...]]:
    """The shapes of indices for which `x` may have the updates `u`."""
    rank = u.rank - x.rank + 1
    return [
        u.shape[k : k + rank]
        for k in range(x.rank if rank >= 0 else 0)
        if (*x.shape[:k], *x.shape[k + 1 :]) == (*u.shape[:k], *u.shape[k + rank :])
    ]


def _rows_of_truths(position: int, known: Known, wish: TensorType | None, domain: Domain) -> Types | None:
    """Rows of int64, and of truths, as many."""
    other = known.get(1 - position, wish)
    rows = [s for s in domain.shapes() if s] if other is None else [(*other.shape[:-1], n) for n in domain.lengths]
    return [tensor(INT64 if position == 0 else BOOL, s) for s in rows]


def _along(position: int, known: Known, wish: TensorType | None, domain: Domain) -> Types | None:
    if position == 0:
        near = known.get(1)
        return _some(wish, domain) if near is None else [near.with_dtype(d) for d in domain.dtypes]
    if position == 2 and 0 in known and 1 in known:
        return [known[1].with_dtype(known[0].dtype)]
    if position == 2:
        return [t for t in domain.pool("semi") if t.rank]
    x = known.get(0, wish)
    if x is None:
        return [t.with_dtype(INT64) for t in domain.pool("semi") if t.rank]
    lengths = [*domain.lengths, 0]
    shapes = [x.shape, *((*x.shape[:k], n, *x.shape[k + 1 :]) for k in range(x.rank) for n in lengths)]
    return [tensor(d, s) for s in shapes for d in whole(domain)[:3]]


def _searchsorted(position: int, known: Known, wish: TensorType | None, domain: Domain) -> Types | None:
    other = known.get(1 - position)
    dtypes = domain.dtypes if other is None else (other.dtype,)
    shapes = [(n,) for n in (*domain.lengths, 0)] if position == 0 else domain.shapes()
    if position == 1 and wish is not None:
        shapes = [wish.shape]
    return [tensor(d, s) for s in shapes for d in dtypes]


def _diagonal(position: int, known: Known, wish: TensorType | None, domain: Domain) -> Types | None:
    a, b, _ = domain.lengths
    shapes = [(a, a), (a, b, a), (b, b, b), (a,), (a, b, b, a), (a, b), (0, 0)]
    if wish is not None:
        shapes = [(*wish.shape, *wish.shape[:1]), (*wish.shape, *wish.shape), wish.shape]
    return [tensor(d, s) for s in shapes for d in ([wish.dtype] if wish is not None else domain.dtypes)]


def _squares(position: int, known: Known, wish: TensorType | None, domain: Domain) -> Types | None:
    """Square matrices, and right sides for them."""
    other = known.get(1 - position)
    if position == 0 and other is not None:
        return [tensor(other.dtype, (*other.shape[:2], *other.shape[1:2]))] if other.rank == 3 else []
    if position == 1 and other is not None:
        return [tensor(other.dtype, (*other.shape[:2], m)) for m in (*domain.lengths, 0)]
    if wish is not None:
        return (
            [tensor(wish.dtype, (*wish.shape[:2], wish.shape[-1]))]
            if wish.rank == 3
            else [tensor(wish.dtype, (*wish.shape[:1], n, n)) for n in domain.lengths if wish.rank == 1]
        )
    a, b, c = domain.lengths
    shapes = [(a, b, b), (b, a, a), (1, c, c), (a, 1, 1), (a, 0, 0)]
    return [tensor(d, s) for s in shapes for d in (FLOAT32, FLOAT64)]


def _tall(position: int, known: Known, wish: TensorType | None, domain: Domain) -> Types | None:
    """Matrices with as many rows as columns or more."""
    a, b, _ = domain.lengths
    shapes = [(a, b, b), (b, a, 1), (1, a, a), (a, b, 0), (2, 3, 2)]
    return [tensor(d, s) for s in shapes for d in (FLOAT32, FLOAT64)]


def _matrices(position: int, known: Known, wish: TensorType | None, domain: Domain) -> Types | None:
    """Matrices of any shape, and a number for each."""
    if position == 1:
        return [tensor(known[0].dtype, known[0].shape[:1])]
    a, b, c = domain.lengths
    shapes = [(a, b, c), (b, a, 1), (1, a, a), (1, c, b), (a, 0, b), (2, 2, 3), (2, 3, 2)]
    return [tensor(d, s) for s in shapes for d in (FLOAT32, FLOAT64)]


ARGUMENTS: dict[str, Proposal] = {
    "semi.batch_dot": _batch_dot,
    **{
        f"semi.{short}": _squares
        for short in "cholesky lu triangular_solve solve logdet det_sign eigh eigvalsh".split()
    },
    "semi.scatter_add": _scatter,
    "semi.scatter": _scatter,
    "cpu.chosen_places": _rows_of_truths,
    "semi.take_along": _along,
    "semi.add_along": _along,
    "semi.put_along": _along,
    **{f"semi.{short}": _tall for short in "qr svd svdvals".split()},
    "semi.pinv": _matrices,
    "semi.searchsorted": _searchsorted,
    "semi.diagonal": _diagonal,
}


def _axis_and_how(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    return [(k, how) for how in HOW for k in range(types[0].rank)]


def _few_places(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    flags = [(False, False), (True, True), (True, False), (False, True)]
    return [(k, n, *both) for both in flags for n in (1, 2) for k in range(types[0].rank)]


def _middle_places(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    lengths = types[0].shape[-1:]
    ends = [(0, 1), (1, 2)] + [(n // 2, n // 2 + 1) for n in lengths if isinstance(n, int)]
    return [(*both, flag) for flag in (False, True) for both in ends]


def _places(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    """Axes of one length joined, all or two of them; then none, in another order."""
    shape = types[0].shape
    firsts = [shape.index(n) for n in shape]
    order = sorted(set(firsts))
    yield (tuple(order.index(f) for f in firsts),)
    yield (tuple(order[::-1].index(f) for f in firsts),)
    yield (tuple(range(len(shape)))[::-1],)
    yield (tuple(range(len(shape))),)


def _repeated_places(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    every = tuple(range(types[0].rank))
    return [((*every, *every[:1]),), ((*every[::-1], *every),), (every,), ((0, 0, *every),)]


_FLAGGED = "argsort sort recurrence cumsum cumprod cummax cummin".split()
ATTRIBUTES: dict[str, Attributes] = {
    **{f"semi.{short}": each_axis for short in ("scatter_add", "take_along", "add_along")},
    **{f"semi.{short}": each_axis_and_flag for short in _FLAGGED},
    **{f"semi.{short}": _axis_and_how for short in ("scatter", "put_along")},
    "cpu.first_places": _few_places,
    "cpu.middle_elements": _middle_places,
    "semi.searchsorted": each_flag,
    "semi.triangular_solve": each_two_flags,
    "semi.solve": each_flag,
    "semi.diagonal": _places,
    "semi.on_diagonal": _repeated_places,
}
