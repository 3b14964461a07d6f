# SPDX-License-Identifier: Apache-2.0
"""Arguments and attributes to try for the axes ops of networks: convolution, pooling, normalisation, lookup."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ngraph_rewrite.ops.axes_lookup import found_axes
from ngraph_rewrite.ops.sliding import KINDS
from ngraph_rewrite.rewriting.domain import Domain
from ngraph_rewrite.rewriting.domains_convolution import SLIDES, Types, Values, Wish, numbers, paddings, window_turns
from ngraph_rewrite.types.axes import Axes, Axis
from ngraph_rewrite.types.dtypes import INT64
from ngraph_rewrite.types.tensor import TensorType

_Y, _X, _Z, _C = Axis("Y", 4), Axis("X", 3), Axis("Z", 2), Axis("C", 4)


def _images(position: int, known: Mapping[int, TensorType], wish: Wish, domain: Domain) -> Types:
    """Images of one to three spatial axes, the channel axis in any place, and filters that fit them."""
    n, more = domain.axes[2], domain.axes[0]
    other = known.get(1 - position)
    dtypes = [other.dtype, *numbers(domain)[:2]] if other is not None else numbers(domain)
    if position == 0:
        orders = [[_C, _Y, _X, n], [n, _C, _Y], [_Y, n, _C, _X], [_C, _X], [more, _Z, _Y, _C, n, _X]]
        return [TensorType(d, Axes(o)) for o in orders for d in dtypes]
    windows = [Axis("R", 2), Axis("S", 3), Axis("T", 1)]
    sets = [[Axis("C", c), *windows[:r], Axis("K", k)] for r in (1, 2, 3) for c in (4, 2, 1) for k in (2, 4)]
    if other is not None:
        spatial = sum(a in (_Y, _X, _Z) for a in other.axes)
        sets = [s for s in sets if len(s) - 2 == spatial]
    return [TensorType(d, Axes(s)) for s in sets for d in dtypes]


def _sliding(inward: int) -> Callable[..., Values]:
    def values(types: Sequence[TensorType], wish: Wish, domain: Domain) -> Values:
        x, w = types
        spatial = tuple(a.name for a in x.axes if a in (_Y, _X, _Z))
        groups = 4 // w.shape[0] if inward == 0 else 2
        for i in range(len(SLIDES)):
            chosen = [SLIDES[(i * (k + 1)) % len(SLIDES)] for k in range(len(spatial))]
            plain = [(s, max(b, 0), max(a, 0), e) for s, b, a, _, e in chosen]
            for g in {groups, 1}:
                yield ("C", spatial, *(tuple(zip(*plain, strict=True)) or ((),) * 4), g, None)

    return values


def _pooling(types: Sequence[TensorType], wish: Wish, domain: Domain) -> Values:
    names = types[0].axes.names
    for i, (axes, sizes, strides, dilations) in enumerate(window_turns(types[0])):
        over = tuple(names[k] for k in axes)
        before, after = paddings(i, len(axes))
        yield over, sizes, strides, before, after, dilations, KINDS[i % 4], i % 3 == 0


def _scaled(position: int, known: Mapping[int, TensorType], wish: Wish, domain: Domain) -> Types:
    """A tensor, and tensors with some of its axes."""
    whole = known.get(0, wish)
    if position == 0 and not known:
        return [t for t in domain.pool("axes") if t.dtype in numbers(domain)] if wish is None else [wish]
    like = known[min(known)] if whole is None else whole
    parts = [like.axes[:1], like.axes[1:], like.axes[::-1], Axes()] if position else [like.axes]
    return [TensorType(d, axes) for axes in parts for d in (like.dtype, *numbers(domain)[:1])]


def _normalized(types: Sequence[TensorType], wish: Wish, domain: Domain) -> Values:
    axes = types[0].axes
    return ((chosen, e) for chosen in (axes[:1], axes[1:], axes, Axes()) for e in (0.001, 0.0, 1.0))


def _eps(types: Sequence[TensorType], wish: Wish, domain: Domain) -> Values:
    return ((e,) for e in (0.001, 0.5, 0.0))


def _table(position: int, known: Mapping[int, TensorType], wish: Wish, domain: Domain) -> Types:
    h, w, n = domain.axes[:3]
    if position == 1:
        whole = [INT64, *(d for d in domain.dtypes if d.kind in "iu")]
        return [TensorType(d, Axes(s)) for s in ([n], [n, Axis("REC", 2)], []) for d in whole]
    return [
        TensorType(d, Axes(s)) for s in ([Axis("V", 4), w], [w, Axis("V", 3), h], [Axis("V", 2)]) for d in domain.dtypes
    ]


def _lookup(types: Sequence[TensorType], wish: Wish, domain: Domain) -> Values:
    found = found_axes(types[0].axes, "V", types[1].axes)
    return (("V", axes) for axes in (None, found[::-1], Axes([*found[1:], *found[:1]])))


def _delta(position: int, known: Mapping[int, TensorType], wish: Wish, domain: Domain) -> Types:
    """What a lookup gives, in some order."""
    if position == 1:
        return _table(1, known, wish, domain)
    w, n = domain.axes[1:3]
    indices = [known[1].axes] if 1 in known else [Axes([n]), Axes([n, Axis("REC", 2)]), Axes()]
    orders = [order for i in indices for order in ([*i, w], [w, *i], [*i])]
    return [TensorType(d, Axes(o)) for o in orders for d in numbers(domain)]


def _lookup_update(types: Sequence[TensorType], wish: Wish, domain: Domain) -> Values:
    rest = Axes(a for a in types[0].axes if a not in types[1].axes)
    table = Axis("V", 3)
    return (("V", Axes(axes)) for axes in ([table, *rest], [*rest, table]))


NETWORK_TYPES = {
    "axes.convolution": _images,
    "axes.deconvolution": _images,
    "axes.batch_norm": _scaled,
    "axes.layer_norm": _scaled,
    "axes.batch_norm_inference": _scaled,
    "axes.lookuptable": _table,
    "axes.lookuptable_update": _delta,
}
NETWORK = {
    "axes.convolution": _sliding(0),
    "axes.deconvolution": _sliding(-1),
    "axes.pooling": _pooling,
    "axes.standardize": _normalized,
    "axes.batch_norm": _normalized,
    "axes.layer_norm": _normalized,
    "axes.batch_norm_inference": _eps,
    "axes.lookuptable": _lookup,
    "axes.lookuptable_update": _lookup_update,
}
