# SPDX-License-Identifier: Apache-2.0
"""Graphs that are attributes of nodes, such as the branches of a condition and what a loop repeats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import onnx

import ngraph_rewrite as ng
from onnx_reader.table import Value, is_term


@dataclass(frozen=True)
class Body:
    """A graph that is an attribute: a function of its inputs that sees the values around it."""

    walk: Any  # that reads its nodes
    graph: onnx.GraphProto
    scope: Mapping[str, Value]

    @property
    def results(self) -> int:
        """How many outputs there are."""
        return len(self.graph.output)

    def __call__(self, *arguments: Value) -> tuple[Value, ...]:
        named = dict(zip([i.name for i in self.graph.input], arguments, strict=True))
        return tuple(self.walk.graph(self.graph, {**self.scope, **named}).values())

    def uses(self) -> dict[str, ng.Op]:
        """The terms around it that it uses, but for variables, by their names."""
        names = names_in(self.graph)
        return {n: v for n, v in self.scope.items() if n in names and is_term(v) and v not in self.walk.arrays}

    def seeing(self, values: Mapping[str, Value]) -> Body:
        """The same, with other values around it."""
        return replace(self, scope={**self.scope, **values})


def names_in(graph: onnx.GraphProto) -> set[str]:
    """All names of values that nodes and outputs of a graph have, and of graphs in it."""
    inner = [a.g for node in graph.node for a in node.attribute if a.type == onnx.AttributeProto.GRAPH]
    own = {name for node in graph.node for name in node.input} | {o.name for o in graph.output}
    return own.union(*map(names_in, inner))
