# SPDX-License-Identifier: Apache-2.0
"""What a term is to a planner: in memory before anything runs, no work at all, a part of a map, or work of its own."""

from __future__ import annotations

from ngraph_rewrite.codegen.opkernels import has_kernel
from ngraph_rewrite.plan.views import VIEWS
from ngraph_rewrite.terms.catalogue import OpDef

LEAF, VIEW, MAP, OTHER = "leaf", "view", "map", "other"
# Maps of no operand.
SOURCES = ("semi.iota", "semi.size")
# What reads a variable, or is one.
STORAGE = ("core.variable", "core.after", "core.assign")
LEAVES = frozenset({*STORAGE, "core.placeholder", "core.constant"})


class Kinds(dict[OpDef, str]):
    """The kinds of ops, each worked out once."""

    def __missing__(self, definition: OpDef) -> str:
        if definition.name in LEAVES:
            kind = LEAF
        elif definition.name in VIEWS:
            kind = VIEW
        elif "elementwise" in definition.traits:
            kind = MAP if definition.family == "semi" and not has_kernel(definition) else OTHER
        else:
            kind = MAP if definition.name in SOURCES else OTHER
        self[definition] = kind
        return kind
