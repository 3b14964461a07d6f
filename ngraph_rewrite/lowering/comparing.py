# SPDX-License-Identifier: Apache-2.0
"""The conditions of a rule of a signature with their values: what is compared or matched, in normal form."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from ngraph_rewrite.errors import NGraphRewriteError
from ngraph_rewrite.lowering.asked import Asked
from ngraph_rewrite.lowering.attempts import best_attempt
from ngraph_rewrite.lowering.drawing import bound_values, guard_values, indented
from ngraph_rewrite.lowering.layout import shown, wrapped
from ngraph_rewrite.lowering.rule_lines import written
from ngraph_rewrite.rewriting.conditional import condition_names, needed, pattern_names
from ngraph_rewrite.rewriting.interpret import Application
from ngraph_rewrite.rewriting.pattern import App, Template
from ngraph_rewrite.rewriting.rule import Asking, Condition, Let, Matching, Rule
from ngraph_rewrite.terms.op import Op

# So many ways in which a condition matches are followed.
MOST = 50


class Compared(NamedTuple):
    """What conditions say of a match.

    Attributes:
        lines: What is to be shown.
        held: How many of them hold, of the ways in which conditions match in that which comes furthest.
        names: The match with all that they bind, if all hold.
    """

    lines: list[str]
    held: int
    names: Application | None


def condition_values(rule: Rule, names: Application, asked: Asked, first: bool = True) -> Compared:
    """Each `let` that conditions read with its normal form, and each condition that is asked with those of its sides.

    Args:
        names: A match; the names of clauses are bound to normal forms here, as a step binds them.
        asked: What works out normal forms.
        first: Whether no part of the guard stands before.
    """
    return _Conditions(rule, asked, first).values(names, 0)


class _Conditions:
    def __init__(self, rule: Rule, asked: Asked, first: bool) -> None:
        self.rule, self.asked, self.first = rule, asked, first

    def values(self, names: Application, at: int) -> Compared:
        """What the conditions from number `at` on say."""
        if at == len(self.rule.conditions):
            return Compared([], 0, names)
        condition = self.rule.conditions[at]
        lines = list(self.lets(names, at))
        if isinstance(condition, Matching):
            return self.matched(condition, names, at, lines)
        if isinstance(condition, Asking):
            more, holds = guard_values(condition.expression, names, self.first and not at)
        else:
            more, holds = self.compared(condition, names, at)
        return self.then(names, at, [*lines, *more]) if holds else Compared([*lines, *more], 0, None)

    def then(self, names: Application, at: int, lines: list[str]) -> Compared:
        """A condition holds: these lines, and what the others say."""
        rest = self.values(names, at + 1)
        return Compared([*lines, *rest.lines], rest.held + 1, rest.names)

    def lets(self, names: Application, at: int) -> Iterator[str]:
        """The `let`s that a condition is the first to read, each bound to its normal form."""
        before = {name for condition in self.rule.conditions[:at] for name in condition_names(condition)}
        done = {clause.name for clause in needed(self.rule.clauses, before)}
        for let in needed(self.rule.clauses, condition_names(self.rule.conditions[at])):
            if isinstance(let, Let) and let.name not in done:
                value, failed = self.normal(let.template, names)
                yield from wrapped("     ", f"let {let.name} = {let.template}   {failed or f'is {shown(value)}'}")
                names.update({} if failed else {let.name: value})

    def compared(self, condition: Condition, names: Application, at: int) -> tuple[list[str], bool]:
        """Two sides with their normal forms, and whether they are as is asked."""
        sides = [(side, *self.normal(side, names)) for side in (condition.left, condition.right)]
        wrong = any(failed for _, _, failed in sides)
        holds = not wrong and (sides[0][1] is sides[1][1]) is condition.equal
        says = "cannot be compared" if wrong else "holds" if holds else "does not hold"
        more = [line for side, value, failed in sides for line in _side(side, value, failed)]
        return [*self.line(written(condition), says, at), *more], holds

    def matched(self, condition: Matching, names: Application, at: int, lines: list[str]) -> Compared:
        """A pattern and the normal form of a term: of the ways in which it matches that which comes furthest."""
        text = written(condition)
        value, failed = self.normal(condition.term, names)
        side = list(_side(condition.term, value, failed))
        ways = [] if failed else islice(self.asked.answers(self.rule, condition, names), MOST)
        best: Compared | None = None
        for way in ways:
            own = {name: way[name] for name in pattern_names(condition.pattern) if name not in names}
            here = [*lines, *self.line(text, "matches", at), *side, *indented(indented(bound_values(own)))]
            found = self.then(way, at, here)
            best = found if best is None or found.held > best.held else best
            if found.names is not None:
                return found
        if best is not None:
            return best
        says = [] if failed else self.unlike(condition, names, value)
        verdict = "cannot be matched" if failed else "does not match"
        return Compared([*lines, *self.line(text, verdict, at), *side, *says], 0, None)

    def unlike(self, condition: Matching, names: Application, value: Op) -> list[str]:
        """The part of a pattern that does not match a normal form."""
        if not isinstance(condition.pattern, App):
            return []
        bound = {name: names[name] for name in pattern_names(condition.pattern) if name in names}
        nearest = best_attempt(condition.pattern, value, bound, root=False)
        return wrapped(" " * 10, f"at {nearest.part}: {nearest.says}")

    def line(self, text: str, says: str, at: int) -> list[str]:
        begins = "if " if self.first and not at else "and "
        return wrapped(f"    {begins.rjust(4)}", f"{text}   {says}")

    def normal(self, template: Template, names: Application) -> tuple[Op, str]:
        """The normal form of what a template stands for in a match, or why it has none."""
        try:
            return self.asked.ready(names.term(template)), ""
        except NGraphRewriteError as error:
            return names["self"], f"fails: {error.what}"


def _side(side: Template, value: Op, failed: str) -> Iterator[str]:
    """The normal form of a side, unless that is what is written."""
    text = failed or shown(value)
    if str(side) != text:
        yield from wrapped(" " * 10, f"{side} = {text}")
