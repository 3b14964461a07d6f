# SPDX-License-Identifier: Apache-2.0
"""Which copies the operands of library kernels need is known before anything is grouped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ngraph_rewrite.plan.convolution_operands import CONVOLUTION, convolved
from ngraph_rewrite.plan.factors import factors
from ngraph_rewrite.plan.fusion import Effects, Groups
from ngraph_rewrite.plan.kinds import Kinds, terms_of
from ngraph_rewrite.plan.nests import CopyFirst, Load
from ngraph_rewrite.plan.products import PRODUCTS, is_product
from ngraph_rewrite.plan.renderer import Renderer
from ngraph_rewrite.terms.op import Op

# The view that most often needs a copy of what it sees, as no strides can say it.
_RESHAPE = "semi.reshape"
_READERS = (*PRODUCTS, CONVOLUTION)


class Foreseen(NamedTuple):
    """What is known before anything is grouped: copies that are needed, and layouts of what does not see them."""

    copies: set[Op]
    layouts: dict[Op, Load]


def foreseen(order: Sequence[Op], renderer: Renderer, kinds: Kinds) -> Foreseen:
    """The copies that products and convolutions in a graph need: each that is found here saves an attempt."""
    groups, needs = Groups({}, [], Effects(), kinds, renderer), set[Op]()
    for term in terms_of(order, _READERS, kinds):
        try:
            _read(term, groups)
        except CopyFirst as need:
            needs.update(need.terms)
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
    if term.definition.name == CONVOLUTION:
        convolved(term, groups)
    elif is_product(term) and any(arg.definition.name == _RESHAPE for arg in term.args):
        factors(term, groups)
