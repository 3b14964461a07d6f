# SPDX-License-Identifier: Apache-2.0
"""Maude: a functional module of the equations, reduced by its own engine (C++).

Attributes are numbers: a whole number stands for itself, anything else for its place in a table, and the
functions of attributes are equations of their values. Building terms through its Python interface is not part of
what is measured as rewriting.
"""

from __future__ import annotations

import itertools
import re
from itertools import permutations
from typing import Any

import maude

from benchmarks.equations import App, Equation, Term, functions
from benchmarks.graphs import LEAVES, SHAPES, Graph, arities, checksum
from benchmarks.rulesets import RuleChoice

PLACES = [(), (0,), (1,), (0, 1)]
PERMS = [p for rank in (2, 3) for p in permutations(range(rank))]
# Codes of attributes that are no numbers begin beyond all numbers.
FIRST_CODE, NOTHING = 1_000_000, 999_999
# What is computed of numbers of any size.
WHOLE = {
    "whole_sum(v, w)": "(v + w)",
    "whole_product(v, w)": "(v * w)",
    "whole_larger(v, w)": "max(v, w)",
    "whole_negative(v)": "(- v)",
}


def _codes() -> dict[Any, int]:
    vectors = [(i, s) for i in range(LEAVES) for s in graph_shapes()]
    return {v: FIRST_CODE + i for i, v in enumerate(dict.fromkeys([*PLACES, *PERMS, *graph_shapes(), *vectors]))}


def graph_shapes() -> list[tuple[int, ...]]:
    """Every shape that a tensor of a graph has."""
    return list(dict.fromkeys([(8,), *(p for s in SHAPES for p in permutations(s))]))


class Peer:
    """The whole graph is one term: its roots are joined by a free op."""

    exact = True
    checked = 20_000

    def __init__(self, rules: RuleChoice) -> None:
        self.codes = _codes()
        self.values = {code: value for value, code in self.codes.items()}
        self.tables: dict[str, str] = {}
        self.arities = arities()
        equations = [self._equation(e) for e in rules.equations()]
        maude.init(advise=False)
        maude.input(self._module(equations))
        self.module = maude.getModule("BENCHMARK")
        kind = self.module.findSort("T").kind()
        number = self.module.findSort("Int").kind()
        self.symbols = {}
        for name, (count, has_attribute) in self.arities.items():
            self.symbols[name] = self.module.findSymbol(_op(name), [number] * has_attribute + [kind] * count, kind)
        self.symbols["both"] = self.module.findSymbol("both", [kind, kind], kind)
        self.numbers: dict[int, Any] = {}
        self.names = {_op(name): name for name in self.arities}

    # -- the module ---------------------------------------------------------------------------------

    def _module(self, equations: list[str]) -> str:
        ops = [f"  op {_op(n)} : {'Int ' * a}{'T ' * c}-> T [ctor] ." for n, (c, a) in self.arities.items()]
        return "\n".join(
            [
                "fmod BENCHMARK is",
                "  protecting INT .",
                "  sort T .",
                "  op both : T T -> T [ctor] .",
                *ops,
                *self.tables.values(),
                *equations,
                "endfm",
                "",
            ]
        )

    def _equation(self, one: Equation) -> str:
        attributes = _bound(one.left)
        computed = {}
        for name, source in one.wheres:
            computed[name] = _capitals(WHOLE[source]) if source in WHOLE else self._table(source, attributes)
        lets = dict(one.lets)
        left = self._written(one.left, {}, {})
        right = self._written(one.right, computed, lets)
        test = self._guard(one, computed, attributes)
        return f"  {'ceq' if test else 'eq'} {left} = {right}{f' if {test}' if test else ''} ."

    def _guard(self, one: Equation, computed: dict[str, str], attributes: list[str]) -> str:
        if one.guard is None:
            return ""
        if one.guard.endswith("is not None"):
            return f"abs({computed[one.guard.split()[0]]}) <= 1000"
        wheres = dict(one.wheres)
        source = re.sub(r"\b([a-z])\b", lambda m: wheres.get(m[1], m[1]), one.guard)
        return f"{self._table(source, attributes)} == 1"

    def _written(self, term: Term, computed: dict[str, str], lets: dict[str, Term]) -> str:
        if not isinstance(term, App):
            if term.name in lets:
                return self._written(lets[term.name], computed, lets)
            return f"{term.name.upper()}:T"
        self.arities.setdefault(term.op, (len(term.args), term.attribute is not None))
        parts = [self._written(a, computed, lets) for a in term.args]
        if term.attribute is not None:
            parts.insert(0, self._value(term.attribute, computed))
        return f"{_op(term.op)}({', '.join(parts)})"

    def _value(self, source: str, computed: dict[str, str]) -> str:
        if source.isidentifier():
            return computed.get(source) or f"{source.upper()}A:Int"
        return str(self._code(eval(source)))  # noqa: S307  (of our own rule files: a number or a tuple)

    def _code(self, value: Any) -> int:
        if value is None:
            return NOTHING
        return int(value) if isinstance(value, bool | int) else self.codes[value]

    def _table(self, source: str, attributes: list[str]) -> str:
        """A call of the function that `source` is, which becomes an equation for each of its values."""
        names = [a for a in attributes if re.search(rf"\b{a}\b", source)]
        name = f"f{len(self.tables)}"
        if source not in self.tables:
            lines = [f"  op {name} : {'Int ' * len(names)}-> Int ."]
            for values in itertools.product([*PLACES, *PERMS], repeat=len(names)):
                try:
                    result = self._code(eval(source, {**functions(), **dict(zip(names, values, strict=True))}))  # noqa: S307
                except (IndexError, KeyError, TypeError):
                    continue  # not what it is asked of
                lines.append(f"  eq {name}({', '.join(str(self._code(v)) for v in values)}) = {result} .")
            self.tables[source] = "\n".join(lines)
        name = self.tables[source].split()[1]
        return f"{name}({', '.join(f'{a.upper()}A:Int' for a in names)})"

    # -- terms --------------------------------------------------------------------------------------

    def _number(self, code: int) -> Any:
        if code not in self.numbers:
            self.numbers[code] = self.module.parseTerm(str(code))
        return self.numbers[code]

    def build(self, graph: Graph) -> Any:
        """One term that shares what the graph shares."""
        terms: list[Any] = []
        for op, attribute, args in graph.nodes:
            given = [] if attribute is None else [self._number(self._code(attribute))]
            terms.append(self.symbols[op].makeTerm([*given, *(terms[a] for a in args)]))
        self.count = len(graph.roots)
        layer = [terms[r] for r in graph.roots]
        while len(layer) > 1:
            pairs = [self.symbols["both"].makeTerm(layer[i : i + 2]) for i in range(0, len(layer) - 1, 2)]
            layer = pairs + layer[len(layer) - len(layer) % 2 :]
        return layer[0]

    def run(self, built: Any) -> Any:
        """Innermost, as Maude reduces."""
        built.reduce()
        return built

    def checksum(self, result: Any) -> tuple[int, int]:
        """Terms whose hashes agree three levels deep are taken for the same: to compare them would unfold the graph."""
        roots, stack = [], [result]
        while stack:
            term = stack.pop()
            if str(term.symbol()) == "both":
                stack.extend(term.arguments(False))
            else:
                roots.append(term)
        nodes: list[tuple[str, Any, list[int]]] = []
        numbers: dict[Any, int] = {}
        known: dict[Any, Any] = {}
        stack = [(root, _key(root)) for root in roots[::-1]]
        tops = [key for _, key in stack]
        while stack:
            term, key = stack[-1]
            if key not in known:
                known[key] = self._parts(term)
            name, attribute, args = known[key]
            missing = [(a, k) for a, k in args if k not in numbers]
            stack += missing
            if not missing:
                stack.pop()
                if key not in numbers:
                    numbers[key] = len(nodes)
                    nodes.append((name, attribute, [numbers[k] for _, k in args]))
        return checksum(nodes, [numbers[key] for key in tops])

    def _parts(self, term: Any) -> tuple[str, Any, list[tuple[Any, Any]]]:
        name, args = self.names[str(term.symbol())], list(term.arguments(False))
        if not self.arities[name][1]:
            return name, None, [(a, _key(a)) for a in args]
        number = args[0].toInt()
        return name, self.values.get(number, number), [(a, _key(a)) for a in args[1:]]


def _key(term: Any, depth: int = 3) -> Any:
    if depth == 0:
        return term.hash()
    return (term.hash(), str(term.symbol()), *(_key(a, depth - 1) for a in term.arguments(False)))


def _op(name: str) -> str:
    return name.replace("_", "")


def _bound(term: Term) -> list[str]:
    if not isinstance(term, App):
        return []
    own = [term.attribute] if term.attribute is not None and term.attribute.isidentifier() else []
    return list(dict.fromkeys([*own, *(a for arg in term.args for a in _bound(arg))]))


def _capitals(source: str) -> str:
    return re.sub(r"\b([a-z])\b", lambda m: f"{m[1].upper()}A:Int", source)
