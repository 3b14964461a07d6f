# SPDX-License-Identifier: Apache-2.0
"""Attributes to try for the ops of the numpy family."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from ngraph_rewrite.rewriting.domain import Domain, each_axis
from ngraph_rewrite.rewriting.domains_semi import SEMI, Proposal, Values, cast, dtypes, items, subsets
from ngraph_rewrite.types.dtypes import kind_of
from ngraph_rewrite.types.tensor import TensorType


def _reduced(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    """Every set of positions, dropped and kept."""
    return ((s, keepdims) for s in subsets(range(types[0].rank)) for keepdims in (False, True))


def _totalled(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    chosen = [d for d in dtypes(wish, domain) if d.kind != "b"]
    own = [types[0].dtype] if types[0].dtype.kind != "b" else []
    return ((*values, d) for values in _reduced(types, wish, domain) for d in dict.fromkeys([*own, *chosen[:3]]))


def _spread(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    return ((*values, c) for values in _reduced(types, wish, domain) for c in (0.0, 1.0, 0.5, 9.0))


def _new_places(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    rank = types[0].rank
    yield from (((i,),) for i in range(rank + 1))
    yield ((0, rank + 1),)
    yield ((),)


def _ones(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    return ((s,) for s in subsets(k for k, n in enumerate(types[0].shape) if n == 1))


def _places(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    return ((s,) for s in subsets(range(types[0].rank)))


def _bigger(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    shape = types[0].shape
    if wish is not None:
        yield (wish.shape,)
    yield ((domain.lengths[1], *shape),)
    yield (tuple(domain.lengths[0] if n == 1 else n for n in shape),)
    yield ((0, *shape),)
    yield (shape,)


def _shifts(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    return ((s, i) for i in range(types[0].rank) for s in (1, -1, 0, 7))


def _diagonal(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    return ((k,) for k in (0, 1, -1, 2, -2, 9, -9))


def _reps(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    rank = types[0].rank
    yield from (((2,) * (rank + 1),), ((1,) * rank,), ((3, 1, 2, 1)[:rank],), ((0,) * rank,))


def _repeats(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    return ((r, i) for i in range(types[0].rank) for r in (2, 1, 0))


def _arange(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    whole = [d for d in dtypes(wish, domain) if d.kind != "b"]
    # the last ends in what 16 bits hold, though twice its step is more than that
    steps = {d: ((0, 1), (3, 2), *(((-60000, 40000),) if kind_of(d) == "f" else ())) for d in whole}
    return ((start, step, n, d) for d in whole for start, step in steps[d] for n in domain.lengths)


def _linspace(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    ends = ((0.0, 1.0), (-2.5, 3.0), (4.0, 4.0), (5.0, -1.0))
    whole = [d for d in dtypes(wish, domain) if kind_of(d) in "if"]
    return ((a, b, n, e, d) for (a, b), n, e in itertools.product(ends, (5, 1, 2, 0), (True, False)) for d in whole)


def _eye(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    n, m, _ = domain.lengths
    places = itertools.product(((n, n), (n, m)), (0, 1, -1))
    return ((rows, columns, k, d) for (rows, columns), k in places for d in dtypes(wish, domain))


# The proposals by op.
NUMPY: dict[str, Proposal] = {
    "numpy.cast": cast,
    **{f"numpy.{name}": _totalled for name in ("sum", "prod")},
    **{f"numpy.{name}": _reduced for name in ("max", "min", "any", "all", "count_nonzero", "mean", "logsumexp")},
    **{f"numpy.{name}": _spread for name in ("variance", "deviation")},
    **{f"numpy.{name}": _places for name in ("softmax", "log_softmax")},
    "numpy.reshape": SEMI["semi.reshape"],
    "numpy.transpose": SEMI["semi.transpose"],
    "numpy.expand_dims": _new_places,
    "numpy.squeeze": _ones,
    "numpy.broadcast_to": _bigger,
    "numpy.flip": _places,
    "numpy.roll": _shifts,
    "numpy.tensor_slice": items,
    "numpy.gather": each_axis,
    "numpy.concat": each_axis,
    "numpy.stack": lambda types, wish, domain: ((i,) for i in range(types[0].rank + 1)),
    "numpy.tril": _diagonal,
    "numpy.triu": _diagonal,
    "numpy.tile": _reps,
    "numpy.repeat": _repeats,
    "numpy.arange": _arange,
    "numpy.linspace": _linspace,
    "numpy.eye": _eye,
}
