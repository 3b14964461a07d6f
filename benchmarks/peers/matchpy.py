# SPDX-License-Identifier: Apache-2.0
"""matchpy: its many-to-one matcher on terms that are registered with it, below a driver that visits a term once.

Its own replacers start again at the root after each step, and its own terms compare by structure: neither
comes to an end on shared graphs. The driver is innermost first and keeps what it found, as ours does.
Commutative operands are written out, which is faster here than its commutative matching.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matchpy

from benchmarks.equations import App, Equation, Term, compiled, functions, right_source
from benchmarks.graphs import Graph, checksum
from benchmarks.rulesets import RuleChoice


class Attribute(matchpy.Symbol):  # type: ignore[misc]
    """An attribute: equal if its value is."""

    def __init__(self, value: Any, variable_name: str | None = None) -> None:
        super().__init__(value, variable_name)


class Node:
    """A hash-consed term; each op has a class."""

    __slots__ = ("args", "attribute", "normal", "operands")
    arity, associative, commutative, one_identity, infix = matchpy.Arity.variadic, False, False, False, False
    name = ""

    def __init__(self, attribute: Any, args: tuple[Node, ...]) -> None:
        self.attribute, self.args, self.normal = attribute, args, None
        self.operands = args if attribute is None else (Attribute(attribute), *args)


def _with_operands(old: Node, operands: Sequence[Any], variable_name: Any = True) -> Node:
    """A pattern with other operands: matchpy renames its variables."""
    made = type(old)(None, ())
    made.operands = tuple(operands)
    return made


def _class(name: str, arity: int) -> type:
    made = type(name, (Node,), {"__slots__": (), "name": name, "arity": matchpy.Arity(arity, True)})
    matchpy.Operation.register(made)
    matchpy.op_iter.register(made, lambda term: iter(term.operands))
    matchpy.op_len.register(made, lambda term: len(term.operands))
    matchpy.create_operation_expression.register(made, _with_operands)
    return made


class Peer:
    """All rules in one discrimination net; of those that match, the first whose guard holds is applied."""

    exact = True
    checked = 2_000_000

    def __init__(self, rules: RuleChoice) -> None:
        self.classes: dict[str, type] = {}
        self.terms: dict[Any, Node] = {}
        self.matchers: dict[type, matchpy.ManyToOneMatcher] = {}
        self.rights: list[Any] = []
        for one in rules.equations():
            self._add(one)

    def _class(self, op: str, operands: int) -> type:
        if op not in self.classes:
            self.classes[op] = _class(op, operands)
        return self.classes[op]

    def _add(self, equation: Equation) -> None:
        names: dict[str, bool] = {}
        pattern = self._pattern(equation.left, names)
        lines = [f"{name} = {name}.name" for name, is_attribute in names.items() if is_attribute]
        lines += right_source(equation, _made)
        right = compiled("rewrite", ", ".join(names), lines, {**functions(), "make": self.make})
        matcher = self.matchers.setdefault(type(pattern), matchpy.ManyToOneMatcher())
        matcher.add(matchpy.Pattern(pattern), len(self.rights))
        self.rights.append(right)

    def _pattern(self, term: Term, names: dict[str, bool]) -> Any:
        if not isinstance(term, App):
            names[term.name] = False
            return matchpy.Wildcard.dot(term.name)
        args = tuple(self._pattern(a, names) for a in term.args)
        own = self._class(term.op, len(args) + (term.attribute is not None))
        made = own(None, args)
        if term.attribute is not None and term.attribute.isidentifier():
            names[term.attribute] = True
            made.operands = (matchpy.Wildcard.symbol(term.attribute, Attribute), *args)
        elif term.attribute is not None:
            made.operands = (Attribute(eval(term.attribute)), *args)  # noqa: S307  (a number or a tuple)
        return made

    # -- terms --------------------------------------------------------------------------------------

    def make(self, op: str, attribute: Any, args: tuple[Node, ...]) -> Node:
        """The one term that is this."""
        key = op, attribute, args
        found = self.terms.get(key)
        if found is None:
            own = self._class(op, len(args) + (attribute is not None))
            found = self.terms[key] = own(attribute, args)
        return found

    def build(self, graph: Graph) -> list[Node]:
        """Terms of a new table."""
        self.terms.clear()
        terms: list[Node] = []
        for op, attribute, args in graph.nodes:
            terms.append(self.make(op, attribute, tuple([terms[a] for a in args])))
        return [terms[r] for r in graph.roots]

    def run(self, built: list[Node]) -> list[Node]:
        """Innermost first, every term once."""
        stack = built[::-1]
        while stack:
            term = stack[-1]
            missing = [a for a in term.args if a.normal is None]
            if term.normal is not None:
                stack.pop()
            elif missing:
                stack.extend(missing)
            elif (after := self._step(term)) is term:
                term.normal = term
            elif after.normal is None:
                stack.append(after)
            else:
                term.normal = after.normal
        return [root.normal for root in built if root.normal is not None]

    def _step(self, term: Node) -> Node:
        """The term with its arguments in normal form, or what the first rule makes of it."""
        args = tuple([a.normal for a in term.args])
        if args != term.args:
            return self.make(term.name, term.attribute, args)  # type: ignore[arg-type]
        matcher = self.matchers.get(type(term))
        for label, substitution in sorted(matcher.match(term), key=lambda m: m[0]) if matcher else ():
            made = self.rights[label](**substitution)
            if made is not None:
                return made
        return term

    def checksum(self, result: list[Node]) -> tuple[int, int]:
        """Of the nodes under the roots."""
        numbers: dict[Node, int] = {}
        stack = result[::-1]
        while stack:
            term = stack[-1]
            missing = [a for a in term.args if a not in numbers]
            stack.extend(missing)
            if not missing:
                numbers.setdefault(stack.pop(), len(numbers))
        nodes = [(t.name, t.attribute, [numbers[a] for a in t.args]) for t in numbers]
        return checksum(nodes, [numbers[r] for r in result])


def _made(op: str, attribute: str | None, args: list[str]) -> str:
    return f"make({op!r}, {attribute}, ({''.join(a + ', ' for a in args)}))"
