# SPDX-License-Identifier: Apache-2.0
"""xDSL: operations in one block, and rewrite patterns applied greedily until nothing changes.

It shares no equal terms: a rule that asks whether two terms are the same compares values, so some do not fire.
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import ModuleOp, StringAttr, f32
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def, var_operand_def, var_result_def
from xdsl.pattern_rewriter import GreedyRewritePatternApplier, PatternRewriter, PatternRewriteWalker, RewritePattern

from benchmarks.equations import Equation, Reading, compiled, functions, left_source, right_source
from benchmarks.graphs import Graph, checksum
from benchmarks.rulesets import RuleChoice

READING = Reading("is_kind({0}, {1!r})", "{0}.owner.operands[{1}]", "value_of({0}.owner)")


def _class(kind: str) -> type[IRDLOperation]:
    space = {
        "name": f"benchmark.{kind}",
        "inputs": var_operand_def(),
        "outputs": var_result_def(),
        "attribute": prop_def(StringAttr),
        "__annotations__": {},
        "__module__": __name__,
    }
    made: type[IRDLOperation] = irdl_op_definition(type(kind.title().replace("_", ""), (IRDLOperation,), space))
    return made


class _Pattern(RewritePattern):  # type: ignore[misc]
    def __init__(self, kind: type[Operation], function: Any) -> None:
        self.kind, self.function = kind, function

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if isinstance(op, self.kind):
            made: list[Operation] = []
            found = self.function(op.results[0], made)
            if found is not None:
                rewriter.replace_op(op, made, [found])


class Peer:
    """Every pattern is shown every operation, as xDSL does it."""

    exact = False
    checked = 2_000_000

    def __init__(self, rules: RuleChoice) -> None:
        self.classes: dict[str, type[IRDLOperation]] = {}
        self.values: dict[str, Any] = {}
        patterns: list[RewritePattern] = [self._pattern(one) for one in rules.equations()]
        self.rewriter = PatternRewriteWalker(GreedyRewritePatternApplier(patterns, dce_enabled=True))

    def _pattern(self, one: Equation) -> _Pattern:
        names = {**functions(), "make": self.make, "is_kind": self._is_kind, "value_of": self._value_of}
        lines = [*left_source(one, READING), *right_source(one, _made)]
        return _Pattern(self._class(one.left.op), compiled("rewrite", "root, made", lines, names))

    def _class(self, kind: str) -> type[IRDLOperation]:
        if kind not in self.classes:
            self.classes[kind] = _class(kind)
        return self.classes[kind]

    def _is_kind(self, value: SSAValue, kind: str) -> bool:
        return isinstance(value.owner, self._class(kind))

    def _value_of(self, op: Any) -> Any:
        return self.values[op.attribute.data]

    def make(self, made: list[Operation], kind: str, attribute: Any, args: tuple[SSAValue, ...]) -> SSAValue:
        """The value of a new operation, which is put after all in `made`."""
        text = repr(attribute)
        self.values.setdefault(text, attribute)
        properties = {"attribute": StringAttr(text)}
        op = self._class(kind).create(operands=args, result_types=[f32], properties=properties)
        made.append(op)
        return op.results[0]

    def build(self, graph: Graph) -> ModuleOp:
        """A module with a last operation that uses the roots."""
        made: list[Operation] = []
        terms: list[SSAValue] = []
        for kind, attribute, args in graph.nodes:
            terms.append(self.make(made, kind, attribute, tuple([terms[a] for a in args])))
        made.append(
            self._class("roots").create(
                operands=[terms[r] for r in graph.roots], properties={"attribute": StringAttr("")}
            )
        )
        return ModuleOp(made)

    def run(self, built: ModuleOp) -> ModuleOp:
        """To the normal form, in place."""
        self.rewriter.rewrite_module(built)
        return built

    def checksum(self, result: ModuleOp) -> tuple[int, int]:
        """Of the operations above the last."""
        *ops, last = result.body.block.ops
        numbers = {op.results[0]: i for i, op in enumerate(ops)}
        nodes = [(op.name.split(".")[1], self._value_of(op), [numbers[a] for a in op.operands]) for op in ops]
        return checksum(nodes, [numbers[r] for r in last.operands])


def _made(op: str, attribute: str | None, args: list[str]) -> str:
    return f"make(made, {op!r}, {attribute}, ({''.join(a + ', ' for a in args)}))"
