# SPDX-License-Identifier: Apache-2.0
"""The pass that lets what is computed of a convolution lie as the convolution leaves it, whatever order types say.

Kernels of convolutions want the batch first, then the channels, then the places. Types may say otherwise: before such a
kernel and behind it stand transposes. What comes between, from a bias to pooling and the adjoints of both, is computed
in any order; in the kernel's, the transposes meet and are gone, and a convolution stores what its epilogue makes of it.

The *order* of a term is the permutation that brings what lies as a convolution left it to the term's own axes. Where
operands lie in several orders, the order of most of them is taken. An operand that a convolution has no part in is
brought there: bias and other broadcasts cost nothing, an array is read across. What no other convolution, no window
and no reduction is made of is left as it is: it has to be brought into its own order anyway.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import lru_cache
from typing import Any

from ngraph_rewrite.lowering.driver import replace_in_order
from ngraph_rewrite.lowering.graph_passes import GraphPass
from ngraph_rewrite.lowering.stage import Forward, Replaced
from ngraph_rewrite.lowering.table import ReplacementTable
from ngraph_rewrite.rewriting.attributes_positions import (
    compose,
    identity,
    inverse,
    is_identity,
    others,
    pick,
    ranks,
)
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.types.tensor import TensorType

Order = tuple[int, ...]
_CONVOLUTION, _TRANSPOSE, _BROADCAST = "cpu.convolution", "semi.transpose", "semi.broadcast"
_REDUCTIONS = frozenset(f"semi.{name}" for name in ("sum", "prod", "max", "min", "any", "all"))


class Orders(GraphPass):
    """Computes what follows a convolution in the order in which its kernel stores, before `select` looks at it.

    Reductions and transposes are left to rules: a transpose behind them is what these bring it to.
    """

    name = "orders"

    def __init__(self) -> None:
        super().__init__(before="select")

    def applied(self, roots: Sequence[Op], table: ReplacementTable, bank: TermBank, target: Any) -> list[Op]:
        """As `GraphPass.applied`; there is no stage if nothing lies otherwise."""
        if not bank.tables.get(lookup(_CONVOLUTION)):
            return list(roots)
        order = topological(roots)
        return replace_in_order(order, roots, _Turning(_wanted(order), bank), table, bank, self.name)


class _Turning:
    """What is computed in another order than that of its type goes to a transpose of that, arguments first."""

    def __init__(self, wanted: Set[Op], bank: TermBank) -> None:
        self._wanted, self._bank = wanted, bank
        self._orders: dict[Op, Order] = {}
        self._turned: dict[Op, Op] = {}  # of these the terms go to transposes

    def __call__(self, term: Op, forms: Mapping[Op, Op]) -> Forward | None:
        """Where a term goes, given where its arguments went."""
        name, orders = term.definition.name, self._orders
        if not (term in self._wanted or name == _CONVOLUTION) or (order := _order(term, orders)) is None:
            return None
        orders[term] = order
        if is_identity(order) or not (name in _ATTRIBUTES or _is_map(term)):
            return None
        turned = self._turned[term] = self._computed(term, order, forms)
        return Forward(_transposed(turned, order, self._bank), _why(order, term.type))

    def _computed(self, term: Op, order: Order, forms: Mapping[Op, Op]) -> Op:
        """What `term` is a transpose of."""
        definition = term.definition
        attributes = dict(zip(definition.attributes, term.attrs, strict=True))
        attributes.update(_ATTRIBUTES.get(definition.name, _unchanged)(term, order))
        args = [self._operand(a, _own(term, a, order), forms) for a in term.args]
        return self._bank.make(definition, tuple(args), tuple(attributes.values()))

    def _operand(self, x: Op, order: Order, forms: Mapping[Op, Op]) -> Op:
        """An operand that is brought into an order, if it does not lie so."""
        if x in self._turned and self._orders[x] == order:
            return self._turned[x]
        return forms[x] if is_identity(order) else _transposed(forms[x], inverse(order), self._bank)


@lru_cache(maxsize=256)
def _why(order: Order, type_: TensorType) -> Replaced:
    return Replaced("computed as a convolution lies", f"axes {inverse(order)} of {type_!r}")


def _wanted(terms: Sequence[Op]) -> set[Op]:
    """What something reads as a convolution lies: another one, a reduction, or what that is wanted of."""
    orders: dict[Op, Order] = {}
    for term in terms:
        order = _order(term, orders)
        if order is not None:
            orders[term] = order
    found = set[Op]()
    for term in reversed(terms):
        if term in orders and (
            term in found or term.definition.name == _CONVOLUTION or term.definition.name in _REDUCTIONS
        ):
            found.update(term.args)
    return found


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
    if name == "semi.windows":
        return found + _within(term, found)
    if name == _BROADCAST and term.attribute("dims") == identity(len(found)):
        return (*found, *range(len(found), term.rank))
    if name == "semi.fold" and max(found[: term.rank]) < term.rank:
        return found[: term.rank]
    return None


def _within(term: Op, order: Order) -> Order:
    """Where the axes of a window's elements lie: in the order of those that windows slide along, behind all others."""
    return tuple(len(order) + place for place in ranks(pick(order, term.attribute("axes"))))


def _common(args: Iterable[Op], orders: Mapping[Op, Order]) -> Order | None:
    """The order that most arguments have, of those that have one; broadcasts, which any order suits, do not count."""
    known = [a for a in args if a in orders]
    if not known:
        return None
    first = orders[known[0]]
    if all(orders[a] == first for a in known):  # so it is nearly always
        return first
    counts = Counter(orders[a] for a in known if a.definition.name != _BROADCAST) or Counter(orders[a] for a in known)
    return max(counts, key=counts.__getitem__)


def _is_map(term: Op) -> bool:
    definition = term.definition
    return definition.family == "semi" and "elementwise" in definition.traits and term.rank > 0


# -- the same in another order -----------------------------------------------------------------------------------------


def _own(term: Op, x: Op, order: Order) -> Order:
    """The order of an operand, which may have fewer axes than the result, or those of windows more."""
    return order + _within(term, order) if x.rank > len(order) else order[: x.rank]


def _transposed(x: Op, perm: Order, bank: TermBank) -> Op:
    return bank.make(lookup(_TRANSPOSE), (x,), (perm,))


def _unchanged(term: Op, order: Order) -> dict[str, Any]:
    return {}


def _sliding(*names: str) -> Callable[[Op, Order], dict[str, Any]]:
    """The axes that windows slide along, in their order, and what belongs to each of them."""

    def attributes(term: Op, order: Order) -> dict[str, Any]:
        axes = pick(order, term.attribute("axes"))
        turn = inverse(ranks(axes))
        return {"axes": pick(axes, turn)} | {name: pick(term.attribute(name), turn) for name in names}

    return attributes


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
    "semi.windows": _sliding("sizes", "strides", "dilations"),
    "semi.fold": _sliding("lengths", "strides", "dilations"),
    _BROADCAST: _shape,
}
