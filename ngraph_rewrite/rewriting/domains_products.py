# SPDX-License-Identifier: Apache-2.0
"""Instances of the numpy ops that search, sort, run along an axis or multiply: shapes that fit, and subscripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_lowercase as LETTERS

from ngraph_rewrite.ops.checks import tensor
from ngraph_rewrite.rewriting.domain import Domain, Proposal, Types, each_axis, each_axis_and_flag, each_flag
from ngraph_rewrite.rewriting.domains_indexed import whole
from ngraph_rewrite.rewriting.domains_semi import Proposal as Attributes
from ngraph_rewrite.rewriting.domains_semi import Values
from ngraph_rewrite.types.dtypes import BOOL
from ngraph_rewrite.types.lengths import Extent
from ngraph_rewrite.types.tensor import TensorType

Known = Mapping[int, TensorType]


def _like(known: Known, shapes: Sequence[Sequence[Extent]], domain: Domain) -> Types:
    """These shapes in the dtype of what is known, and in another."""
    near = known[min(known)].dtype
    return [tensor(d, s) for s in shapes for d in (near, domain.dtypes[0])]


def _some(domain: Domain) -> Types:
    return [t for t in domain.pool("numpy") if t.rank]


def _matmul(position: int, known: Known, wish: TensorType | None, domain: Domain) -> Types | None:
    other = known.get(1 - position)
    if other is None or not other.rank:
        return _some(domain)
    n, m, _ = domain.lengths
    k = other.shape[-1 if position == 1 or other.rank == 1 else -2]
    tall = [(k,), (k, m), (n, k, m), (1, k, m)] if position == 1 else [(k,), (m, k), (n, m, k), (1, m, k)]
    return _like(known, [*tall, (*other.shape[:-2], *tall[1])], domain)


def _last(position: int, known: Known, wish: TensorType | None, domain: Domain) -> Types | None:
    """Operands whose last axes are equal, or which begin where the other ends."""
    other = known.get(1 - position)
    if other is None or not other.rank:
        return domain.pool("numpy")
    n, k = domain.lengths[0], other.shape[-1]
    return _like(known, [other.shape, (k,), (n, k), other.shape[::-1], (k, n), (1, k)], domain)


def _einsum(position: int, known: Known, wish: TensorType | None, domain: Domain) -> Types | None:
    if not known:  # bool has rules of its own
        return [t for t in domain.pool("numpy") if t.dtype in (domain.dtypes[0], BOOL)]
    a, b, _ = domain.lengths
    near = known[min(known)].shape
    return _like(known, [near[::-1], (a, b), near[-1:], (b, a, b), (1, *near[:1]), (), (b,)], domain)


def _along(position: int, known: Known, wish: TensorType | None, domain: Domain) -> Types | None:
    if 1 - position not in known:
        return [t if position == 0 else t.with_dtype(whole(domain)[0]) for t in _some(domain)]
    shape = known[1 - position].shape
    near = [shape, (1,) * len(shape), *((*shape[:k], 2, *shape[k + 1 :]) for k in range(len(shape)))]
    return [tensor(d, s) for s in near for d in (whole(domain)[:3] if position == 1 else domain.dtypes)]


def _matrix(position: int, known: Known, wish: TensorType | None, domain: Domain) -> Types | None:
    return [t for t in domain.pool("numpy") if t.rank > 1]


def _searchsorted(position: int, known: Known, wish: TensorType | None, domain: Domain) -> Types | None:
    return [t for t in domain.pool("numpy") if position or t.rank == 1]


ARGUMENTS: dict[str, Proposal] = {
    "numpy.matmul": _matmul,
    "numpy.vecdot": _last,
    "numpy.tensordot": _last,
    "numpy.inner": _last,
    "numpy.dot": _matmul,
    "numpy.einsum": _einsum,
    "numpy.contract": _einsum,
    "numpy.take_along_axis": _along,
    "numpy.diagonal": _matrix,
    "numpy.searchsorted": _searchsorted,
}


def _subscripts(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    """Equal lengths are one letter, or each axis of an operand has its own; some, all or no letters are kept."""
    lengths = list(dict.fromkeys(n for t in types for n in t.shape))
    shared = ["".join(LETTERS[lengths.index(n)] for n in t.shape) for t in types]
    distinct = [_distinct(t.shape, lengths) for t in types]
    for inputs in (distinct, shared):
        every = "".join(dict.fromkeys("".join(inputs)))
        first, last = inputs[0], inputs[-1]
        alone = "".join(c for c in every if not all(c in s for s in inputs))
        for result in dict.fromkeys([alone, every, "", every[::-1], every[1:], first[:1] + last[-1:]]):
            yield (f"{','.join(inputs)}->{''.join(dict.fromkeys(result))}",)


def _distinct(shape: Sequence[Extent], lengths: Sequence[Extent]) -> str:
    """A letter for the first axis of a length, others for those that repeat it."""
    used: list[str] = []
    for n in shape:
        options = (LETTERS[lengths.index(n) + len(lengths) * turn] for turn in range(8))
        used.append(next(c for c in options if c not in used))
    return "".join(used)


def _vecdot_axis(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    return [(k,) for k in range(-1, -min(t.rank for t in types) - 1, -1)]


def _tensordot_axes(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    x, y = types
    pairs = [(i, j) for i in range(x.rank) for j in range(y.rank) if x.shape[i] == y.shape[j]]
    for i, j in pairs:
        yield (((i,), (j,)),)
        yield from ((((i, k), (j, m)),) for k, m in pairs if k != i and m != j)
    yield (((), ()),)


def _diagonals(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    n = types[0].rank
    return [(k, i, j) for k in (0, 1, -1, 9, -9) for i in range(n) for j in range(n) if i != j]


def _kept(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    n = types[0].rank
    each = [*((k,) for k in range(n)), tuple(range(n))]
    return [(axis, kept) for kept in (False, True) for axis in each]


def _cumulative(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    own = [types[0].dtype] if types[0].dtype.kind != "b" else []
    dtypes = [*own, *(d for d in domain.dtypes if d.kind != "b")][:3]
    return [(k, d, i) for i in (True, False) for d in dtypes for k in range(types[0].rank)]


ATTRIBUTES: dict[str, Attributes] = {
    "numpy.einsum": _subscripts,
    "numpy.contract": _subscripts,
    "numpy.vecdot": _vecdot_axis,
    "numpy.tensordot": _tensordot_axes,
    "numpy.diagonal": _diagonals,
    "numpy.argmax": _kept,
    "numpy.argmin": _kept,
    "numpy.sort": each_axis_and_flag,
    "numpy.argsort": each_axis_and_flag,
    "numpy.take_along_axis": each_axis,
    "numpy.searchsorted": each_flag,
    "numpy.cumulative_sum": _cumulative,
    "numpy.cumulative_prod": _cumulative,
}
