# SPDX-License-Identifier: Apache-2.0
"""What a term is to a planner: in memory before anything runs, no work at all, a part of a map, or work of its own."""

from __future__ import annotations

from collections.abc import Container, Iterable

from ngraph_rewrite.codegen.added_kernels import has_kernel
from ngraph_rewrite.ops.rejection import DRAWS
from ngraph_rewrite.plan.views import VIEWS
from ngraph_rewrite.terms.catalogue import OpDef
from ngraph_rewrite.terms.op import Op

LEAF, VIEW, MAP, OTHER = "leaf", "view", "map", "other"
# Maps of no operand.
SOURCES = ("semi.iota", "semi.size")
# Maps that take so long for an element that each is computed once, in a kernel without what reads it.
LONG = frozenset(f"semi.{name}" for name in DRAWS)
# What reads a variable, or is one.
STORAGE = ("core.variable", "core.after", "core.assign")
LEAVES = frozenset({*STORAGE, "core.placeholder", "core.constant"})


# The kinds of the ops of a graph.
Kinds = dict[OpDef, str]


def kinds_of(order: Iterable[Op]) -> Kinds:
    """The kinds of the ops of terms, each worked out once."""
    found: Kinds = {}
    for term in order:
        definition = term.definition
        if definition not in found:
            found[definition] = _kind(definition)
    return found


def terms_of(order: Iterable[Op], names: Container[str], kinds: Kinds) -> list[Op]:
    """The terms whose ops have one of some names, in order.

    Args:
        kinds: Those of the ops of all terms.
    """
    wanted, found = {definition for definition in kinds if definition.name in names}, list[Op]()
    for term in order if wanted else ():
        if term.definition in wanted:
            found.append(term)
    return found


def _kind(definition: OpDef) -> str:
    if definition.name in LEAVES:
        return LEAF
    if definition.name in VIEWS:
        return VIEW
    if "elementwise" in definition.traits:
        return MAP if definition.family == "semi" and not has_kernel(definition) else OTHER
    return MAP if definition.name in SOURCES else OTHER
