# SPDX-License-Identifier: Apache-2.0
"""ngraph_rewrite: typed terms of a term bank, the compiled rule set, and the driver that lowering uses."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.equations import KEPT
from benchmarks.graphs import Graph, Node, Shape, checksum
from benchmarks.rulesets import RuleChoice
from ngraph_rewrite.cache import Cache
from ngraph_rewrite.garbage import no_garbage_collection
from ngraph_rewrite.lowering.driver import normalise
from ngraph_rewrite.lowering.table import ReplacementTable
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.targets.cpu import CPU
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.catalogue import OpDef, find, lookup
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.types.axes import anonymous

FLOAT32 = np.dtype("float32")
FAMILIES = ("semi", "benchmark", "core")
Built = tuple[TermBank, list[Op]]


class Peer:
    """The terms have types, and steps are recorded: as in any lowering."""

    exact = True
    checked = 2_000_000

    def __init__(self, rules: RuleChoice) -> None:
        self.matcher = Matcher(rules.ours(), Cache())
        self.uids: dict[Any, Uid] = {}

    def build(self, graph: Graph) -> Built:
        """Terms of a new bank."""
        bank, terms = TermBank(), list[Op]()
        attributes: dict[Any, tuple[OpDef, tuple[Any, ...]]] = {}
        for node, shape in zip(graph.nodes, graph.shapes, strict=True):
            key = node.op, node.attribute, shape
            known = attributes.get(key)
            if known is None:
                known = attributes[key] = self._attributes(node, shape)
            terms.append(bank.make(known[0], tuple([terms[a] for a in node.args]), known[1]))
        return bank, [terms[r] for r in graph.roots]

    def _attributes(self, node: Node, shape: Shape) -> tuple[OpDef, tuple[Any, ...]]:
        definition = next(lookup(f"{f}.{node.op}") for f in FAMILIES if find(f"{f}.{node.op}"))
        if node.op == "constant":
            return definition, (Literal(float(node.attribute), FLOAT32), anonymous(shape))
        if node.op == "placeholder":
            uid = self.uids.setdefault(node.attribute, Uid())
            return definition, (uid, anonymous(shape), FLOAT32)
        if node.op == "broadcast":
            return definition, (shape, node.attribute)
        return definition, () if node.attribute is None else (node.attribute,)

    def run(self, built: Built) -> list[Op]:
        """As a lowering does, the garbage collector at rest."""
        bank, roots = built
        with no_garbage_collection():
            return self.normalise(roots, bank, ReplacementTable())

    def normalise(self, roots: list[Op], bank: TermBank, table: ReplacementTable) -> list[Op]:
        """The normal forms; every step is recorded in `table`."""
        return normalise(roots, self.matcher, table, bank, CPU, "benchmark")

    def checksum(self, result: list[Op]) -> tuple[int, int]:
        """Of the nodes under the roots."""
        names = {uid: name for name, uid in self.uids.items()}
        order = topological(result)
        numbers = {term: i for i, term in enumerate(order)}
        nodes = [(t.definition.short, _kept(t, names), [numbers[a] for a in t.args]) for t in order]
        return checksum(nodes, [numbers[r] for r in result])


def _kept(term: Op, names: dict[Uid, Any]) -> Any:
    """The one attribute that graphs have."""
    short = term.definition.short
    if short == "placeholder":
        return names[term.attribute("uid")]
    if short == "constant":
        return int(term.attribute("value").scalar)
    return term.attribute(KEPT[short]) if short in KEPT else next(iter(term.attrs), None)
