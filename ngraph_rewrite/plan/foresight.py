# SPDX-License-Identifier: Apache-2.0
"""Which copies are needed, most of them for the operands of library kernels, is known before anything is grouped."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import NamedTuple

from ngraph_rewrite.plan.convolution_operands import CONVOLUTIONS, convolved
from ngraph_rewrite.plan.factors import factors
from ngraph_rewrite.plan.fusion import Effects, Groups
from ngraph_rewrite.plan.kinds import MAP, VIEW, Kinds, terms_of
from ngraph_rewrite.plan.nests import CopyFirst, Load, located
from ngraph_rewrite.plan.operands import is_seen
from ngraph_rewrite.plan.products import PRODUCTS, is_product
from ngraph_rewrite.plan.renderer import Renderer
from ngraph_rewrite.terms.op import Op

# The view that most often needs a copy of what it sees, as no strides can say it.
_RESHAPE = "semi.reshape"
_READERS = (*PRODUCTS, *CONVOLUTIONS)


class Foreseen(NamedTuple):
    """What is known before anything is grouped: copies that are needed, and layouts of what does not see them."""

    copies: set[Op]
    layouts: dict[Op, Load]


def foreseen(order: Sequence[Op], renderer: Renderer, kinds: Kinds) -> Foreseen:
    """The copies that products, convolutions and maps in a graph need: those that are found here save an attempt."""
    groups, needs = Groups(Effects(), kinds, renderer), set[Op]()
    for term in terms_of(order, _READERS, kinds):
        try:
            _read(term, groups)
        except CopyFirst as need:
            needs.update(need.terms)
    needs.update(one for one in _hidden_from_maps(order, groups) if not is_seen(one, needs))
    hidden = set(needs)
    for term in groups.layouts:  # what a view sees stands before it
        if not hidden.isdisjoint(term.args):
            hidden.add(term)
    return Foreseen(needs, {term: load for term, load in groups.layouts.items() if term not in hidden})


def _read(term: Op, groups: Groups) -> None:
    """Look at its operands as its kernel does.

    Raises:
        CopyFirst: if one has to be in memory in another way.
    """
    if term.definition.name in CONVOLUTIONS:
        convolved(term, groups)
    elif is_product(term) and any(arg.definition.name == _RESHAPE for arg in term.args):
        factors(term, groups)


def _hidden_from_maps(order: Sequence[Op], groups: Groups) -> list[Op]:
    """What maps read reshaped in a way that no strides can say, of what is in memory whatever the groups are."""
    kinds = groups.kinds
    reshapes = [t for t in terms_of(order, (_RESHAPE,), kinds) if kinds[_viewed(t, kinds).definition] != MAP]
    needs = {term: need for term in reshapes if not isinstance(need := located(term, groups), Load)}
    found = dict[Op, None]()
    for term in order if needs else ():
        for arg in term.args if kinds[term.definition] == MAP else ():
            if (seen := _viewed(arg, kinds, needs)) in needs and not is_seen(needs[seen], found):
                found[needs[seen]] = None
    return [*found]


def _viewed(term: Op, kinds: Kinds, until: Container[Op] = ()) -> Op:
    """What a term is a view of, or the first on the way that is one of some."""
    while kinds[term.definition] == VIEW and term not in until:
        term = term.args[0]
    return term
