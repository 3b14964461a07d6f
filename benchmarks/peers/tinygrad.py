# SPDX-License-Identifier: Apache-2.0
"""tinygrad: `UOp` terms and `graph_rewrite` with compiled `UPat` patterns.

Its set of ops is closed, so ours are given names of its own; every node is made with its dtype, which spares
it inference, and has no shape. Commutative operands are written as it writes them: in a list.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tinygrad.dtype import dtypes
from tinygrad.uop.ops import Ops, PatternMatcher, UOp, UPat, graph_rewrite

from benchmarks.equations import App, Equation, Term, compiled, functions, right_source
from benchmarks.graphs import COMMUTATIVE, Graph, checksum
from benchmarks.rulesets import RuleChoice

NATURAL = {
    "add": "ADD",
    "multiply": "MUL",
    "subtract": "SUB",
    "divide": "FDIV",
    "maximum": "MAX",
    "negative": "NEG",
    "exp": "EXP2",
    "log": "LOG2",
    "sqrt": "SQRT",
    "reciprocal": "RECIPROCAL",
    "transpose": "PERMUTE",
    "reshape": "RESHAPE",
    "broadcast": "EXPAND",
    "sum": "REDUCE",
    "constant": "CONST",
    "placeholder": "CUSTOM",
    "dot": "WMMA",
}
# What has no op of tinygrad is called by one that stands for nothing here.
SPARE = (
    "SIN TRUNC SHL SHR CDIV CMOD CMPLT CMPNE CMPEQ XOR OR AND THREEFRY POW FLOORDIV FLOORMOD WHERE MULACC PAD SHRINK "
    "FLIP ALLREDUCE CONTIGUOUS CONTIGUOUS_BACKWARD DETACH COPY STAGE CAST BITCAST LOAD STORE INDEX GROUP BARRIER"
).split()


class Peer:
    """Patterns by root op, each a compiled function, tried in order."""

    exact = True
    checked = 2_000_000

    def __init__(self, rules: RuleChoice) -> None:
        self.ops, self.absent, self.spare = (
            {name: Ops[op] for name, op in NATURAL.items()},
            dict[str, int](),
            iter(SPARE),
        )
        # its own way to exchange operands takes the place of ours
        first = {}
        for one in rules.equations():
            first.setdefault(one.name, one)
        self.matcher = PatternMatcher([self._rule(one) for one in first.values()])

    def op(self, name: str) -> Ops:
        """Its op for one of ours."""
        if name not in self.ops:
            self.ops[name] = Ops[next(self.spare)]
        return self.ops[name]

    def build(self, graph: Graph) -> UOp:
        """The roots under one sink."""
        terms: list[UOp] = []
        for op, attribute, args in graph.nodes:
            terms.append(UOp(self.op(op), dtypes.float32, tuple([terms[a] for a in args]), attribute))
        return UOp(Ops.SINK, dtypes.void, tuple([terms[r] for r in graph.roots]))

    def run(self, built: UOp) -> UOp:
        """Innermost first, to the normal form."""
        return graph_rewrite(built, self.matcher)

    def checksum(self, result: UOp) -> tuple[int, int]:
        """Of the nodes under the roots."""
        names = {op: name for name, op in self.ops.items()}
        order = [u for u in result.toposort() if u is not result]
        numbers = {u: i for i, u in enumerate(order)}
        nodes = [(names[u.op], u.arg, [numbers[s] for s in u.src]) for u in order]
        return checksum(nodes, [numbers[s] for s in result.src])

    # -- rules --------------------------------------------------------------------------------------

    def _rule(self, equation: Equation) -> tuple[UPat, Any]:
        attributes: list[tuple[str, str]] = []
        nodes = (f"n{i}" for i in range(100))
        pattern = self._pattern(equation.left, nodes, attributes)
        lines, seen = [], set[str]()
        for attribute, node in attributes:
            if attribute in seen:
                lines += [f"if {attribute} != {node}.arg:", "    return None"]
            else:
                lines.append(f"{attribute} = {node}.arg")
            seen.add(attribute)
        names = {**functions(), "UOp": UOp, "Ops": Ops, "float32": dtypes.float32}
        variables = dict.fromkeys([*_variables(equation.left), *(node for _, node in attributes)])
        lines += right_source(equation, self._made)
        return pattern, compiled("rewrite", ", ".join(variables), lines, names)

    def _made(self, op: str, attribute: str | None, args: list[str]) -> str:
        return f"UOp(Ops.{self.op(op).name}, float32, ({''.join(a + ', ' for a in args)}), {attribute})"

    def _pattern(self, term: Term, nodes: Iterator[str], attributes: list[tuple[str, str]]) -> UPat:
        if not isinstance(term, App):
            return UPat.var(term.name)
        name = arg = None
        if term.attribute is not None and term.attribute.isidentifier():
            name = next(nodes)
            attributes.append((term.attribute, name))
        elif term.attribute is not None:
            arg = eval(term.attribute)  # noqa: S307  (of our own rule files: a number or a tuple)
        src = [self._pattern(a, nodes, attributes) for a in term.args]
        if term.op.startswith("absent"):  # more than it has ops: told apart by what they carry
            arg, self.ops[term.op] = self.absent.setdefault(term.op, len(self.absent)), Ops.INS
            return UPat(Ops.INS, src=tuple(src), arg=arg)
        return UPat(self.op(term.op), None, src if term.op in COMMUTATIVE else tuple(src), arg, name)


def _variables(term: Term) -> Iterator[str]:
    if isinstance(term, App):
        for arg in term.args:
            yield from _variables(arg)
    else:
        yield term.name
