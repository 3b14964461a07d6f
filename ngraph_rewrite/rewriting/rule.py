# SPDX-License-Identifier: Apache-2.0
"""A rule is an equation with a guard; a rule set is rules in order, indexed by the op at their root."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ngraph_rewrite.rewriting.expression import Expression
from ngraph_rewrite.rewriting.pattern import App, Template
from ngraph_rewrite.rewriting.waivers import Waiver, covers_name

EXACT, REAL, REFINES, FAST = "exact", "real", "refines", "fast"
CLASSES = (EXACT, REAL, REFINES, FAST)
DEFAULT_CLASS = {"simplify": EXACT, "select": EXACT, "lower": REAL, "recognize": REAL, "derive": REAL}


@dataclass(frozen=True)
class Let:
    """A shared term of the right side."""

    name: str
    template: Template


@dataclass(frozen=True)
class Where:
    """A computed attribute; `sequence` if it is zipped along with sequence variables."""

    name: str
    expression: Expression
    sequence: bool = False


Clause = Let | Where


@dataclass(frozen=True)
class Rule:
    """One equation of a rule file.

    Attributes:
        name: ``file.rule``, with ``.alternative`` for a rule written with ``for``.
        kind: The header's word: simplify, lower, recognize, select or derive.
        right: One template; for derive one per argument (None: no derivative passes).
        grade: The class: exact, real, refines or fast.
        text: The equation as it is written.
        waivers: The checks it need not pass, with the reasons.
    """

    name: str
    kind: str
    left: App
    right: tuple[Template | None, ...]
    clauses: tuple[Clause, ...]
    guard: Expression | None
    grade: str
    text: str
    file: str
    line: int
    waivers: tuple[Waiver, ...] = field(default=(), compare=False)

    @property
    def place(self) -> str:
        """``file:line`` of the rule."""
        return f"{self.file}:{self.line}"

    def __str__(self) -> str:
        return f"{self.name} ({self.place})"


class RuleSet:
    """Rules in file order; ``+`` joins two sets."""

    def __init__(self, rules: Iterable[Rule] = ()) -> None:
        self.rules = tuple(rules)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __len__(self) -> int:
        return len(self.rules)

    def __add__(self, other: RuleSet) -> RuleSet:
        return RuleSet(self.rules + other.rules)

    def without(self, names: Iterable[str]) -> RuleSet:
        """The rules whose names are not among `names` (``rule`` also stands for all its alternatives)."""
        off = set(names)
        return RuleSet(r for r in self.rules if not any(covers_name(n, r.name) for n in off))

    def of_kind(self, *kinds: str) -> RuleSet:
        """The rules of files with these headers."""
        return RuleSet(r for r in self.rules if r.kind in kinds)

    def of_class(self, classes: Iterable[str]) -> RuleSet:
        """The rules of these classes."""
        wanted = set(classes)
        return RuleSet(r for r in self.rules if r.grade in wanted)

    def find(self, name: str) -> Rule | None:
        """The rule called `name`, or None."""
        return next((r for r in self.rules if r.name == name), None)

    def __repr__(self) -> str:
        """A line per rule: its place, its name, its class and its equation."""
        return "\n".join(f"{r.place}: {r.name} @{r.grade}:  {' '.join(r.text.split())}" for r in self.rules)
