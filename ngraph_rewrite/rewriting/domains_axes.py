# SPDX-License-Identifier: Apache-2.0
"""Attributes to try for the ops of the axes family."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from ngraph_rewrite.rewriting.domain import Domain
from ngraph_rewrite.rewriting.domains_semi import Proposal, Values, cast, draw, dtypes, items, size, subsets
from ngraph_rewrite.types.axes import Axes, Axis
from ngraph_rewrite.types.tensor import TensorType


def reduced_axes(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    """Every set of axes."""
    return ((Axes(s),) for s in subsets(types[0].axes))


def _all_axes(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    axes = types[0].axes
    more = [a for a in domain.axes if axes.find(a.name) is None]
    if wish is not None:
        yield (wish.axes,)
    yield from ((Axes(s),) for s in ([*axes, *more[:1]], [*more[:1], *axes[::-1]], axes, axes[::-1]))
    yield from ((Axes(s),) for s in ([*axes[1:], *axes[:1]], [*axes[1:], *more[:1], *axes[:1]]))


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
    yield (0, 1, 2)[:rank], (1, 0, 0)[:rank]
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
    return ((Axes(s), d) for d in dtypes(wish, domain) for s in subsets(types[0].axes))


def _named_draw(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    return ((wish.axes, *values[1:]) for values in draw(types, wish, domain)) if wish is not None else ()


# The proposals by op; reductions have `reduced_axes`.
AXES: dict[str, Proposal] = {
    "axes.broadcast": _all_axes,
    "axes.axes_with_order": lambda types, wish, domain: ((Axes(p),) for p in itertools.permutations(types[0].axes)),
    "axes.cast_axes": _renamed_axes,
    "axes.map_roles": _names,
    "axes.flatten": _runs,
    "axes.unflatten": _flattened,
    "axes.expand_dims": _new_axis,
    "axes.tensor_slice": items,
    "axes.unslice": _place,
    "axes.pad": _named_pad,
    "axes.concat": _axis_name,
    "axes.stack": _stack,
    "axes.one_hot": _one_hot,
    "axes.cast": cast,
    "axes.size": size,
    "axes.tensor_size": _tensor_size,
    "axes.batch_size": cast,
    "axes.uniform": _named_draw,
    "axes.normal": _named_draw,
    "axes.L2_norm": _norm,
    "axes.safelog": _limit,
    "axes.cross_entropy_multi": _entropy,
    "axes.cross_entropy_binary": _entropy,
    "axes.cross_entropy_sigmoid": _entropy,
    "axes.cross_entropy_softmax": _softmax_entropy,
}
