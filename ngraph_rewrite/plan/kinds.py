# SPDX-License-Identifier: Apache-2.0
"""What a term is to a planner: in memory before anything runs, no work at all, a part of a map, or work of its own."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter

from ngraph_rewrite.codegen.opkernels import has_kernel
from ngraph_rewrite.plan.views import VIEWS
from ngraph_rewrite.terms.catalogue import OpDef
from ngraph_rewrite.terms.op import Op

LEAF, VIEW, MAP, OTHER = "leaf", "view", "map", "other"
# Maps of no operand.
SOURCES = ("semi.iota", "semi.size")
# What reads a variable, or is one.
STORAGE = ("core.variable", "core.after", "core.assign")
LEAVES = frozenset({*STORAGE, "core.placeholder", "core.constant"})


# The kinds of the ops of a graph.
Kinds = dict[OpDef, str]


def kinds_of(order: Iterable[Op]) -> Kinds:
    """The kinds of the ops of terms, each worked out once."""
    return {definition: _kind(definition) for definition in set(map(attrgetter("definition"), order))}


def _kind(definition: OpDef) -> str:
    if definition.name in LEAVES:
        return LEAF
    if definition.name in VIEWS:
        return VIEW
    if "elementwise" in definition.traits:
        return MAP if definition.family == "semi" and not has_kernel(definition) else OTHER
    return MAP if definition.name in SOURCES else OTHER
