# SPDX-License-Identifier: Apache-2.0
"""Instances of ops whose arguments differ from one another, or from the result."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from ngraph_rewrite.ops.checks import tensor
from ngraph_rewrite.rewriting import domains_indexed, domains_packed
from ngraph_rewrite.rewriting.domain import Domain, Proposal, Types
from ngraph_rewrite.rewriting.domains_scan import flagged
from ngraph_rewrite.types.dtypes import BOOL, INT64
from ngraph_rewrite.types.lengths import Extent
from ngraph_rewrite.types.tensor import TensorType
from ngraph_rewrite.types.tuples import TupleType


def same_shape(wish: TensorType, domain: Domain) -> Types:
    """The type in every dtype."""
    return [wish.with_dtype(d) for d in domain.dtypes]


def _select(position: int, known: Mapping[int, TensorType], wish: TensorType | None, domain: Domain) -> Types | None:
    shape = next(iter(known.values()), wish)
    if shape is None:
        return [t.with_dtype(BOOL) for t in domain.pool("semi")] if position == 0 else None
    if position == 0:
        return [shape.with_dtype(BOOL)]
    branch = known.get(3 - position)
    return [branch] if branch is not None else [wish] if wish is not None else same_shape(shape, domain)


def _named_select(
    position: int, known: Mapping[int, TensorType], wish: TensorType | None, domain: Domain
) -> Types | None:
    near = next(iter(known.values()), wish)
    if near is None:
        return [t.with_dtype(BOOL) for t in domain.pool("axes")] if position == 0 else None
    return [t.with_dtype(BOOL) if position == 0 else t for t in domain.variants(near)]


def _dot(position: int, known: Mapping[int, TensorType], wish: TensorType | None, domain: Domain) -> Types | None:
    other = known.get(1 - position)
    if other is not None and other.rank == 2:
        inner = other.shape[position]
        far = [wish.shape[position]] if wish is not None and wish.rank == 2 else list(domain.lengths)
        return [tensor(other.dtype, (n, inner) if position == 0 else (inner, n)) for n in far]
    if wish is not None and wish.rank == 2:
        outer = wish.shape[position]
        return [tensor(wish.dtype, (outer, n) if position == 0 else (n, outer)) for n in domain.lengths]
    return [t for t in domain.pool("semi") if t.rank == 2]


def _gemm(position: int, known: Mapping[int, TensorType], wish: TensorType | None, domain: Domain) -> Types | None:
    """As `_dot`, with either operand transposed too."""
    plain = _dot(position, known, wish, domain) or []
    return [t for p in plain if p.rank == 2 for t in (p, tensor(p.dtype, p.shape[::-1]))]


_of_many = domains_indexed.ARGUMENTS["semi.batch_dot"]


def _products(position: int, known: Mapping[int, TensorType], wish: TensorType | None, domain: Domain) -> Types | None:
    """As `_dot`, or as products of many matrices."""
    near = [*known.values(), *([] if wish is None else [wish])]
    many = [] if any(t.rank == 2 for t in near) else _of_many(position, known, wish, domain) or []
    return [*many, *([] if any(t.rank == 3 for t in near) else _dot(position, known, wish, domain) or [])]


def _gather(position: int, known: Mapping[int, TensorType], wish: TensorType | None, domain: Domain) -> Types | None:
    if position == 1:
        whole = [INT64, *(d for d in domain.dtypes if d.kind in "iu")]
        return [tensor(d, s) for s in [*domain.shapes()[1:4], (1,)] for d in whole]
    if 1 in known and known[1].rank == 1 and wish is None:
        (n,), m = known[1].shape, domain.lengths[1]
        return [t for s in ((n,), (n, m), (m, n)) for t in domain.retyped(tensor(domain.dtypes[0], s))]
    return [wish] if wish is not None and wish.rank else [t for t in domain.pool("semi") if t.rank]


def _concat(position: int, known: Mapping[int, TensorType], wish: TensorType | None, domain: Domain) -> Types | None:
    like = next(iter(known.values()), wish)
    if like is None:
        return [t for t in domain.pool("semi") if t.rank]
    longer = [(*like.shape[:i], n, *like.shape[i + 1 :]) for i in range(like.rank) for n in domain.lengths]
    return [like, *(tensor(like.dtype, s) for s in longer)]


def _named_concat(
    position: int, known: Mapping[int, TensorType], wish: TensorType | None, domain: Domain
) -> Types | None:
    like = next(iter(known.values()), wish)
    if like is None:
        return [t for t in domain.pool("axes") if t.rank]
    longer = [like.with_axes([*like.axes[:i], a.with_length(2), *like.axes[i + 1 :]]) for i, a in enumerate(like.axes)]
    return [like, like.with_axes(like.axes[::-1]), *longer, *domain.retyped(like)[1:3]]


def _reduction(position: int, known: Mapping[int, TensorType], wish: TensorType | None, domain: Domain) -> Types | None:
    if wish is None:
        return None
    n = domain.lengths[0]
    more = [tensor(wish.dtype, (*wish.shape[:i], n, *wish.shape[i:])) for i in range(wish.rank + 1)]
    return [t for m in [*more, wish] for t in (domain.retyped(m) if wish.dtype == INT64 else [m])]


def _transpose(position: int, known: Mapping[int, TensorType], wish: TensorType | None, domain: Domain) -> Types | None:
    return None if wish is None else [tensor(wish.dtype, s) for s in itertools.permutations(wish.shape)]


def _reshape(position: int, known: Mapping[int, TensorType], wish: TensorType | None, domain: Domain) -> Types | None:
    if wish is None:
        return None
    return [tensor(wish.dtype, s) for s in (wish.shape, (wish.size,), (1, *wish.shape), (*wish.shape, 1))]


def _broadcast(position: int, known: Mapping[int, TensorType], wish: TensorType | None, domain: Domain) -> Types | None:
    if wish is None:
        return None
    fewer = [(*wish.shape[:i], *wish.shape[i + 1 :]) for i in range(wish.rank)]
    return [tensor(wish.dtype, s) for s in [*fewer, (), wish.shape]]


def _strip(position: int, known: Mapping[int, TensorType], wish: TensorType | None, domain: Domain) -> Types | None:
    return None if wish is None else [wish.with_axes(domain.labels(wish.shape)), wish]


def _label(position: int, known: Mapping[int, TensorType], wish: TensorType | None, domain: Domain) -> Types | None:
    if wish is None:
        return [*domain.pool("semi"), *domain.pool("axes")]
    return [wish.stripped(), wish.with_axes(domain.labels(wish.shape))]


def _effects(position: int, known: Mapping[int, TensorType], wish: TensorType | None, domain: Domain) -> Types | None:
    return [wish] if wish is not None and position == 0 else None


def _one_hot(position: int, known: Mapping[int, TensorType], wish: TensorType | None, domain: Domain) -> Types | None:
    whole = [d for d in domain.dtypes if d.kind in "iu"] or [INT64]
    sets = domain.named() if wish is None else [wish.axes[1:]]
    return [TensorType(d, axes) for d in whole for axes in sets]


def _updated(position: int, known: Mapping[int, TensorType], wish: TensorType | None, domain: Domain) -> Types | None:
    """A tensor, and slices of it."""
    whole = known.get(0, wish)
    if whole is None or (position == 0 and 1 in known):
        return [t for t in domain.pool("semi") if 1 not in known or t.dtype == known[1].dtype]
    each = [_part_lengths(n) for n in whole.shape]
    return [whole] if position == 0 else [tensor(whole.dtype, s) for s in itertools.product(*each)]


def _set_slice(position: int, known: Mapping[int, TensorType], wish: TensorType | None, domain: Domain) -> Types | None:
    """A named tensor, and parts of it."""
    whole = known.get(0, wish)
    if whole is None or (position == 0 and 1 in known):
        return [t for t in domain.pool("axes") if 1 not in known or t.dtype == known[1].dtype]
    each = [[*(a.with_length(n) for n in _part_lengths(a.length)), None] for a in whole.axes]
    parts = (filter(None, axes) for axes in itertools.product(*each))
    return [whole] if position == 0 else [TensorType(whole.dtype, axes) for axes in parts]


def _part_lengths(n: Extent) -> list[Extent]:
    return [0] if n == 0 else [n - 1, n, 1]


def _stretched_select(
    position: int, known: Mapping[int, TensorType], wish: TensorType | None, domain: Domain
) -> Types | None:
    near = next(iter(known.values()), wish)
    if near is None:
        return [t.with_dtype(BOOL) for t in domain.pool("numpy")] if position == 0 else None
    return [t.with_dtype(BOOL) if position == 0 else t for t in domain.stretching(near)]


def _promoted_concat(
    position: int, known: Mapping[int, TensorType], wish: TensorType | None, domain: Domain
) -> Types | None:
    like = _concat(position, known, wish, domain)
    return like and [t for one in like for t in (one, one.with_dtype(domain.dtypes[:2][-1]), one.with_dtype(BOOL))]


def _tuples(position: int, known: Mapping[int, TensorType], wish: TensorType | None, domain: Domain) -> Types | None:
    """Tuples that hold the wished type, alone, before and after others."""
    own = domain.pool("core")[:3] if wish is None else [wish]
    other = domain.pool("core")[-1]
    return [TupleType(e) for t in own for e in ((t, other), (t,), (other, t, t))]


def _elements(position: int, known: Mapping[int, TensorType], wish: TensorType | None, domain: Domain) -> Types | None:
    return list(wish.elements) if isinstance(wish, TupleType) else None


def _anything(position: int, known: Mapping[int, TensorType], wish: TensorType | None, domain: Domain) -> Types | None:
    return None


ARGUMENTS: dict[str, Proposal] = {
    "semi.select": _select,
    "semi.dot": _dot,
    "cpu.gemm": _gemm,
    **domains_packed.ARGUMENTS,
    "cpu.batch_gemm": _of_many,
    "cuda.gemm": _products,
    "semi.gather": _gather,
    "semi.concat": _concat,
    "semi.transpose": _transpose,
    "semi.reshape": _reshape,
    "semi.broadcast": _broadcast,
    "numpy.select": _stretched_select,
    "numpy.gather": _gather,
    "numpy.concat": _promoted_concat,
    "numpy.stack": lambda position, known, wish, domain: domain.retyped(known[0]) if 0 in known else None,
    "axes.select": _named_select,
    "axes.concat": _named_concat,
    "axes.one_hot": _one_hot,
    "semi.update": _updated,
    "axes.set_slice": _set_slice,
    "core.strip": _strip,
    "core.label": _label,
    "core.after": _effects,
    "core.annotated": _effects,
    "core.call": _effects,
    "core.item": _tuples,
    "core.make_tuple": _elements,
    "core.while_loop": flagged,
    "semi.scan": _anything,
    "axes.scan": _anything,
    "core.sequential": _effects,
    **{f"semi.{name}": _reduction for name in "sum prod max min any all argmax argmin".split()},
}
