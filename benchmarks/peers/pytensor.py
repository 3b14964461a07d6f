# SPDX-License-Identifier: Apache-2.0
"""PyTensor: a `FunctionGraph` that is merged, and node rewriters run to equilibrium.

The rewriters are functions, as most of its own are: its declarative patterns are ten times slower. Each looks at one
op. Ops have no type rules: everything is one type of tensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytensor.graph.basic import Apply, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.op import Op
from pytensor.graph.rewriting.basic import EquilibriumGraphRewriter, MergeOptimizer, node_rewriter
from pytensor.tensor.type import TensorType

from benchmarks.equations import Reading, compiled, functions, left_source, right_source
from benchmarks.graphs import Graph, checksum
from benchmarks.rulesets import RuleChoice

TYPE = TensorType("float32", shape=(None, None))
READING = Reading(
    "(op := has({0})) is not None and op.kind == {1!r}", "{0}.owner.inputs[{1}]", "{0}.owner.op.attribute"
)


class BenchmarkOp(Op):  # type: ignore[misc]
    """An op of the benchmark; each kind has a subclass, which rewriters are found by."""

    __props__ = ("kind", "attribute")
    kind = ""

    def __init__(self, kind: str, attribute: Any) -> None:
        self.kind, self.attribute = kind, attribute

    def make_node(self, *inputs: Variable) -> Apply:
        """An application to terms."""
        return Apply(self, list(inputs), [TYPE()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        """Nothing is run here."""
        raise NotImplementedError


class Peer:
    """Not all rules that ask whether two terms are the same fire: equal terms are merged between sweeps only."""

    exact = False
    checked = 2_000_000

    def __init__(self, rules: RuleChoice) -> None:
        self.classes: dict[str, type[BenchmarkOp]] = {}
        self.ops: dict[Any, BenchmarkOp] = {}
        names = {**functions(), "make": self.make, "has": _op}
        rewriters = []
        for one in rules.equations():
            *lines, last = ["root = node.outputs[0]", *left_source(one, READING), *right_source(one, _made)]
            lines.append(f"return [{last.removeprefix('return ')}]")
            function = compiled("rewrite", "fgraph, node", lines, names)
            rewriters.append(node_rewriter([self._class(one.left.op)])(function))
        self.rewriter = EquilibriumGraphRewriter(rewriters, ignore_newtrees=False, max_use_ratio=1e9)

    def _class(self, kind: str) -> type[BenchmarkOp]:
        if kind not in self.classes:
            self.classes[kind] = type(kind, (BenchmarkOp,), {})
        return self.classes[kind]

    def make(self, kind: str, attribute: Any, args: Sequence[Variable]) -> Variable:
        """An op applied to terms."""
        key = kind, attribute
        if key not in self.ops:
            self.ops[key] = self._class(kind)(kind, attribute)
        return self.ops[key].make_node(*args).outputs[0]

    def build(self, graph: Graph) -> FunctionGraph:
        """A graph with all roots as outputs."""
        terms: list[Variable] = []
        for kind, attribute, args in graph.nodes:
            terms.append(self.make(kind, attribute, [terms[a] for a in args]))
        return FunctionGraph([], [terms[r] for r in graph.roots], clone=False)

    def run(self, built: FunctionGraph) -> FunctionGraph:
        """Merged, and rewritten until nothing changes."""
        MergeOptimizer().rewrite(built)
        self.rewriter.rewrite(built)
        return built

    def checksum(self, result: FunctionGraph) -> tuple[int, int]:
        """Of the nodes under the outputs."""
        order = result.toposort()
        numbers = {node.outputs[0]: i for i, node in enumerate(order)}
        nodes = [(n.op.kind, n.op.attribute, [numbers[a] for a in n.inputs]) for n in order]
        return checksum(nodes, [numbers[r] for r in result.outputs])


def _op(variable: Variable) -> Any:
    return None if variable.owner is None else variable.owner.op


def _made(op: str, attribute: str | None, args: list[str]) -> str:
    return f"make({op!r}, {attribute}, ({''.join(a + ', ' for a in args)}))"
