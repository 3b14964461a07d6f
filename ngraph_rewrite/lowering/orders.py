# SPDX-License-Identifier: Apache-2.0
"""The pass that lets what is computed of a convolution lie as the convolution leaves it, whatever order types say.

Kernels of convolutions want the batch first, then the channels, then the places. Types may say otherwise: before such a
kernel and behind it stand transposes. What comes between, from a bias to pooling and the adjoints of both, is computed
in any order; in the kernel's, the transposes meet and are gone, and a convolution stores what its epilogue makes of it.

The *order* of a term is the permutation that brings what lies as a convolution left it to the term's own axes. Where
operands lie in several orders, the order of most of them is taken. An operand that a convolution has no part in is
brought there: bias and other broadcasts cost nothing, an array is read across.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ngraph_rewrite.lowering.graph_passes import GraphPass
from ngraph_rewrite.rewriting.attributes_positions import (
    compose,
    identity,
    inverse,
    is_identity,
    others,
    pick,
    ranks,
)
from ngraph_rewrite.terms.making import make_op
from ngraph_rewrite.terms.op import Op, topological

Order = tuple[int, ...]
_CONVOLUTION, _TRANSPOSE = "cpu.convolution", "semi.transpose"
_REDUCTIONS = frozenset(f"semi.{name}" for name in ("sum", "prod", "max", "min", "any", "all"))


class Orders(GraphPass):
    """Computes what follows a convolution in the order in which its kernel stores, before `select` looks at it."""

    name = "orders"

    def __init__(self) -> None:
        super().__init__(before="select")

    def run(self, roots: Sequence[Op]) -> None:
        """As `GraphPass.run`."""
        terms = topological(roots)
        if not any(term.definition.name == _CONVOLUTION for term in terms):
            return
        orders: dict[Op, Order] = {}
        for term in terms:
            order = _order(term, orders)
            if order is not None:
                orders[term] = order
                if term.definition.name in _ATTRIBUTES or _is_map(term):
                    self._turn(term, order)

    def _turn(self, term: Op, order: Order) -> None:
        if not is_identity(order):
            self.replace_op(term, make_op(_TRANSPOSE, _computed(term, order), perm=order))


# -- in which order a term lies ----------------------------------------------------------------------------------------


def _order(term: Op, orders: Mapping[Op, Order]) -> Order | None:
    """The order of a term whose arguments have these, if a convolution has a part in it."""
    name = term.definition.name
    if name == _CONVOLUTION:
        return identity(term.rank)
    found = _common(term.args, orders)
    if found is None:
        return None
    if name == _TRANSPOSE:
        return compose(found, term.attribute("perm"))
    if name in _REDUCTIONS:
        return ranks(pick(found, others(term.attribute("axes"), len(found))))
    if _is_map(term) or name in ("semi.pad", "semi.slice", "semi.concat"):
        return found
    if name == "semi.windows" or (name == "semi.broadcast" and term.attribute("dims") == identity(len(found))):
        return (*found, *range(len(found), term.rank))
    if name == "semi.fold" and found[term.rank :] == tuple(range(term.rank, len(found))):
        return found[: term.rank]
    return None


def _common(args: Iterable[Op], orders: Mapping[Op, Order]) -> Order | None:
    """The order that most arguments have, of those that have one."""
    counts = Counter(orders[a] for a in args if a in orders)
    return max(counts, key=counts.__getitem__) if counts else None


def _is_map(term: Op) -> bool:
    definition = term.definition
    return definition.family == "semi" and "elementwise" in definition.traits and term.rank > 0


# -- the same in another order -----------------------------------------------------------------------------------------


def _computed(term: Op, order: Order) -> Op:
    """What `term` is a transpose of, of operands in that order; what they lie in already cancels out."""
    attributes = dict(zip(term.definition.attributes, term.attrs, strict=True))
    attributes.update(_ATTRIBUTES.get(term.definition.name, _unchanged)(term, order))
    return make_op(term.definition.name, *(_brought(a, order) for a in term.args), **attributes)


def _brought(x: Op, order: Order) -> Op:
    """An operand, which may have fewer axes than the result, or more."""
    own = (*order[: x.rank], *range(len(order), x.rank))
    return make_op(_TRANSPOSE, x, perm=inverse(own))


def _unchanged(term: Op, order: Order) -> dict[str, Any]:
    return {}


def _moved_axes(term: Op, order: Order) -> dict[str, Any]:
    return {"axes": pick(order, term.attribute("axes"))}


def _moved_axis(term: Op, order: Order) -> dict[str, Any]:
    return {"axis": order[term.attribute("axis")]}


def _shape(term: Op, order: Order) -> dict[str, Any]:
    return {"shape": pick(term.shape, inverse(order))}


def _for_each_axis(*names: str) -> Callable[[Op, Order], dict[str, Any]]:
    return lambda term, order: {name: pick(term.attribute(name), inverse(order)) for name in names}


_ATTRIBUTES: Mapping[str, Callable[[Op, Order], dict[str, Any]]] = {
    "semi.pad": _for_each_axis("before", "after", "interior"),
    "semi.slice": _for_each_axis("starts", "stops", "steps"),
    "semi.concat": _moved_axis,
    "semi.windows": _moved_axes,
    "semi.fold": _moved_axes,
    "semi.broadcast": _shape,
}
