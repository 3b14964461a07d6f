# SPDX-License-Identifier: Apache-2.0
"""A search for the rules that make a result wrong: it is made again and again with some of the rules switched off.

Rules are switched on in the order in which they first fire, what builds a term before what rewrites it. So the rule
that makes the result wrong comes after those without which it would find nothing to rewrite.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ngraph_rewrite.lowering.stage import Step
from ngraph_rewrite.rewriting.rule import Rule


@dataclass(frozen=True)
class Bisection:
    """What was found; `str` gives it in words.

    Attributes:
        verdict: ``rule``: switching one off mends the result; ``rules``: several have to be off together; ``code``: the
            fault is in a kernel or the plan; ``graph``: the ops themselves give it; ``passes``: a pass in Python
            does; ``right``: the result is right as it is.
        rules: The rules, in the order in which they first fired.
        step: The first step of the first of them.
        runs: How many times the graph was lowered and evaluated.
        text: The answer.
    """

    verdict: str
    rules: tuple[Rule, ...]
    step: Step | None
    runs: int
    text: str

    @property
    def rule(self) -> Rule | None:
        """The rule that was found, if one was."""
        return self.rules[0] if self.rules else None

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__


class Search:
    """What has been tried: which rules were off, and whether the result was right.

    Args:
        judge: Says of a result whether it is right.

    Attributes:
        known: Whether the result was right, by the names of the rules that were off.
        order: The names of the rules that fired, in the order of their first steps, which are in `first`.
    """

    def __init__(self, judge: Callable[[Any], bool]) -> None:
        self.judge, self.runs = judge, 0
        self.known: dict[frozenset[str], bool] = {}
        self.first: dict[str, Step] = {}
        self.order: list[str] = []

    def run(self, off: frozenset[str]) -> Any:
        """Make the result once without some rules; note whether it is right, and which rules fired first."""
        raise NotImplementedError

    def changes(self, name: str) -> bool:
        """Whether a step of a rule, with all rules on, gives a term of another value."""
        raise NotImplementedError

    def told(self, step: Step) -> str:
        """A step as it stands in a derivation, with what its rule says if that is known."""
        raise NotImplementedError

    def no_rule(self) -> str:
        """What is said if the result is wrong without all rules that fire."""
        raise NotImplementedError

    def found(self) -> Bisection:
        """The verdict on a graph that is wrong as the rules leave it."""
        while not self.mended(self.order):
            before = len(self.order)
            self.run(frozenset(self.order))
            if len(self.order) == before:
                return Bisection("passes", (), None, self.runs, self.no_rule())
        rules = [self.first[name].why for name in self.culprits()]
        return self.answer([rule for rule in rules if isinstance(rule, Rule)])

    def culprits(self) -> list[str]:
        """One rule that mends the result alone if there is any, else several that do together."""
        first = self.breaking([])
        if self.mended([first]):
            return [self.to_blame(first)]
        for name in self.order:
            if self.mended([name]):
                return [self.to_blame(name)]
        found = [first]
        while not self.mended(found):
            found.append(self.breaking(found))
        needed = list(found)
        for name in found:
            others = [n for n in needed if n != name]
            needed = others if others and self.mended(others) else needed
        return sorted(needed, key=self.order.index)

    def to_blame(self, found: str) -> str:
        """Of the rules that mend the result alone the one that changes a value: the others only led to it."""
        for name in (found, *reversed(self.order[: self.order.index(found)])):
            if self.changes(name) and self.mended([name]):
                return name
        return found

    def breaking(self, off: Sequence[str]) -> str:
        """The rule that, switched on after those that fired before it, makes the result wrong."""
        order = [name for name in self.order if name not in off]
        right, wrong = 0, len(order)  # with so many of them on the result is right, or wrong
        while wrong - right > 1:
            middle = (right + wrong) // 2
            if self.mended([*off, *order[middle:]]):
                right = middle
            else:
                wrong = middle
        return order[wrong - 1]

    def mended(self, off: Sequence[str]) -> bool:
        """Whether the result is right without these rules."""
        key = frozenset(off)
        if key not in self.known:
            self.run(key)
        return self.known[key]

    def answer(self, rules: list[Rule]) -> Bisection:
        step = self.first[rules[0].name]
        names = [f"{rule.name} @{rule.grade}  ({rule.place})" for rule in rules]
        verdict, says = ("rule", "without it") if len(rules) == 1 else ("rules", "without all of them")
        lines = [*names, f"{says} the result is right; it first fired here:", self.told(step)]
        lines += [f"    on what was built at {step.before.info.place}"] if step.before.info.lineno else []
        lines.append(f"found in {self.runs} runs, among {len(self.order)} rules that fired")
        return Bisection(verdict, tuple(rules), step, self.runs, "\n".join(lines))
