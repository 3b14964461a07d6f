# SPDX-License-Identifier: Apache-2.0
"""A rule is an equation with a guard; a rule set is rules in order, indexed by the op at their root."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.rewriting.expression import Expression
from ngraph_rewrite.rewriting.pattern import App, Pattern, Template, computed, variables
from ngraph_rewrite.rewriting.waivers import Waiver, covers_name
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.protocols import ask

EXACT, REAL, REFINES, FAST = "exact", "real", "refines", "fast"
# How like each other two names are that may be mistaken, as difflib measures it.
ALIKE = 0.88
# So many rules, most often of one's own, are named where none is like the one that is asked for.
SHOWN = 8
CLASSES = (EXACT, REAL, REFINES, FAST)
DEFAULT_CLASS = {"simplify": EXACT, "select": EXACT, "lower": REAL, "recognize": REAL, "derive": REAL}
DEFAULT_CLASS |= {"rewrite": EXACT, "explore": REAL}


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
class Condition:
    """Two terms that must have one normal form, or two different ones: a rule of a signature fires only then."""

    left: Template
    right: Template
    equal: bool = True


@dataclass(frozen=True)
class Matching:
    """A term whose normal form a pattern matches; what that binds is known to all that comes after."""

    pattern: Pattern
    term: Template


@dataclass(frozen=True)
class Asking:
    """A part of the guard that reads what a condition before it binds."""

    expression: Expression


@dataclass(frozen=True)
class Rule:
    """One equation of a rule file. What a stored one says is decoded when it is first asked for.

    Attributes:
        name: ``file.rule``, with ``.alternative`` for a rule written with ``for``.
        kind: The header's word: simplify, lower, recognize, select, explore or derive; rewrite for those of a
            signature.
        right: One template; for derive one per argument (None: no derivative passes).
        grade: The class: exact, real, refines or fast.
        text: The equation as it is written.
        waivers: The checks it need not pass, with the reasons.
        conditions: What must hold beside the guard, in the order in which it is asked: of rules of a signature.
        ordered: Whether it has to go down in some order.
        graph: Whether it looks at a whole graph: it has several roots, or asks that a term has no other user.
        source: The text of its file, or the path: messages show lines of it. Without it, that is looked for at `file`.
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
    conditions: tuple[Condition | Matching | Asking, ...] = ()
    ordered: bool = True
    graph: bool = False
    source: str | Path | None = field(default=None, compare=False, repr=False)

    @property
    def root(self) -> str:
        """The name of the op at the root of its left side."""
        known: str | None = self.__dict__.get("_root")
        return self.left.definition.name if known is None else known

    @property
    def place(self) -> str:
        """``file:line`` of the rule."""
        return f"{self.file}:{self.line}"

    @cached_property
    def clause_of(self) -> Mapping[str, Clause]:
        """The clauses by the names that they give."""
        return {c.name: c for c in self.clauses}

    @cached_property
    def sequences(self) -> frozenset[str]:
        """The names that stand for several terms: in the left side, of clauses, and in conditions that match."""
        patterns = [self.left, *(c.pattern for c in self.conditions if isinstance(c, Matching))]
        found = {name for pattern in patterns for name, several in variables(pattern).items() if several}
        return frozenset(found | {c.name for c in self.clauses if isinstance(c, Where) and c.sequence})

    @cached_property
    def asks_target(self) -> bool:
        """Whether it may depend on who executes a term if the rule fires there: its guard, or a clause, reads that."""
        read = [] if self.guard is None else [self.guard]
        for clause in self.clauses:
            read += [clause.expression] if isinstance(clause, Where) else computed(clause.template)
        return any("target" in expression.names for expression in read)

    def __hash__(self) -> int:  # of where it stands: all that it says is a large tree
        return hash((self.name, self.file, self.line))

    def __str__(self) -> str:
        return f"{self.name} ({self.place})"

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if "_later" in self.__dict__ and not name.startswith("_"):
                self.__dict__.update(self.__dict__["_later"]())
            if name not in self.__dict__:
                raise AttributeError(f"a Rule has no attribute {name!r}")
            return self.__dict__[name]


class RuleSet:
    """Rules in file order; ``+`` joins two sets.

    Raises:
        ArgumentError: for something else than rules.
    """

    def __init__(self, rules: Iterable[Rule] = ()) -> None:
        self.rules = tuple(rules) if isinstance(rules, Iterable) else (rules,)
        wrong = [rule for rule in self.rules if not isinstance(rule, Rule)]
        if wrong:
            do = "write ng.rule(...), or ng.checked_rules(path) for a file"
            if isinstance(wrong[0], RuleSet):
                raise ArgumentError("a set of rules is not a rule", where=user_line(), do="give each of the set")
            raise ArgumentError(f"{wrong[0]!r} is not a rule", where=user_line(), do=do)
        self._parts: dict[tuple[str, frozenset[str]], RuleSet] = {}  # that were asked for: each transformer asks

    def _part(self, attribute: str, values: frozenset[str]) -> RuleSet:
        """The rules whose attribute is one of some values."""
        found = self._parts.get((attribute, values))
        if found is None:
            found = RuleSet([r for r in self.rules if getattr(r, attribute) in values])
            self._parts[attribute, values] = found
        return found

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __len__(self) -> int:
        return len(self.rules)

    def __add__(self, other: RuleSet) -> RuleSet:
        if not isinstance(other, RuleSet):
            return NotImplemented
        if not self.rules or not other.rules:
            return self if self.rules else other
        return RuleSet(self.rules + other.rules)

    def with_sources(self, sources: Mapping[str, str | Path]) -> RuleSet:
        """Itself; each rule knows the text of its file from now on, or its path."""
        for rule in self.rules:
            rule.__dict__["source"] = sources[rule.file]
        return self

    def without(self, names: Iterable[str] | str) -> RuleSet:
        """The rules whose names are not among `names` (``rule`` also stands for all its alternatives), or that one.

        Raises:
            ArgumentError: for what is no name, and no list.
        """
        if not isinstance(names, str | Iterable):
            raise ArgumentError(f"{names!r} is not the name of a rule", where=user_line(), do="give names in a list")
        off = {names} if isinstance(names, str) else set(names)
        if not off:
            return self
        part = "but for", frozenset(off)
        if part not in self._parts:
            self._parts[part] = RuleSet(r for r in self.rules if not any(covers_name(n, r.name) for n in off))
        return self._parts[part]

    def of_kind(self, *kinds: str) -> RuleSet:
        """The rules of files with these headers.

        Raises:
            ArgumentError: for a word that begins no header.
        """
        unknown = [kind for kind in kinds if kind not in DEFAULT_CLASS]
        if unknown:
            raise ArgumentError(f"no rules are of the kind {unknown[0]!r}", do=f"any of {', '.join(DEFAULT_CLASS)}")
        return self._part("kind", frozenset(kinds))

    def of_class(self, classes: Iterable[str] | str) -> RuleSet:
        """The rules of these classes, or of one."""
        return self._part("grade", frozenset({classes} if isinstance(classes, str) else classes))

    def find(self, name: str) -> Rule | None:
        """The rule called `name`, or None."""
        return next((r for r in self.rules if r.name == name), None)

    def named(self, name: str) -> RuleSet:
        """The rule of that name; a name written with ``for`` stands for all its alternatives.

        Raises:
            ArgumentError: if there is none, with the names that are nearest, or for something else than a name.

        >>> from ngraph_rewrite.rewriting.inline import rule
        >>> rule("x * 1 => x", name="times_one").named("times_on")
        Traceback (most recent call last):
        ngraph_rewrite.errors.ArgumentError: no rule is called times_on
          did you mean times_one.times_one?
        """
        if isinstance(name, Rule):
            what = f"the rule {name.name} stands where the name of a rule is wanted"
            raise ArgumentError(what, do="give its name: rule.name")
        if not isinstance(name, str):
            raise ArgumentError(f"{name!r} is not the name of a rule", do="give one name, as a string")
        found = RuleSet(r for r in self.rules if covers_name(name, r.name))
        if not len(found):
            raise ArgumentError(f"no rule is called {name}", do=self._advice(name))
        return found

    def _advice(self, name: str) -> str:
        near = self.nearest(name)
        if near:
            return f"did you mean {', '.join(near)}?"
        return f"there are {', '.join(r.name for r in self)}" if 0 < len(self) <= SHOWN else "ng.rules() lists them"

    def nearest(self, name: str, most: int = 3) -> list[str]:
        """The names most like `name`, that of a rule or its last part."""
        ends = [r.name for r in self.rules if r.name.endswith("." + name)]
        last = {r.name.rpartition(".")[2]: r.name for r in reversed(self.rules)}
        close = difflib.get_close_matches(name, [r.name for r in self.rules], most, ALIKE)
        close += [last[n] for n in difflib.get_close_matches(name.rpartition(".")[2], list(last), most, ALIKE)]
        return ends[:most] or list(dict.fromkeys(close))[:most]

    def stats(self, roots: Any = None, target: Any = "cpu") -> Any:
        """How often each of these rules is tried and fires when a graph is lowered with them, and the time it takes.

        Args:
            roots: An op, or a tuple, list or dict of ops. Without them it is a block, as `ng.stats` with these rules,
                that counts what they do in whatever is rewritten inside.
            target: The name of a target, or a target.

        Returns:
            A table: its text says it all, and ``by_rule`` has the attempts, matches and seconds of each rule.

        Raises:
            ArgumentError: for an unknown target.

        >>> import ngraph_rewrite as ng
        >>> x = ng.placeholder([ng.Axis("H", 3)], name="x")
        >>> ng.rules().stats(ng.log(ng.exp(x))).by_rule["semi.log_exp"].matches
        1
        """
        return ask("stats", self, roots, target)

    def __repr__(self) -> str:
        """A line per rule: its place, its name, its class and its equation."""
        return "\n".join(f"{r.place}: {r.name} @{r.grade}:  {' '.join(r.text.split())}" for r in self.rules)
