# SPDX-License-Identifier: Apache-2.0
"""Two rules meet in a term that each of them rewrites in its own way; both ways must lead to one normal form.

The term is an instance of an overlap of their left sides, such that both guards hold. Its outcomes are what is made of
it by either rule where it fires; they join if the rules of the whole pass bring them to one normal form. Operands of
commutative ops may stand in any order in it, as they may in patterns, any NaN is one NaN, and there is one array
without elements of each type.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

import numpy as np

from ngraph_rewrite.lowering.driver import normalise
from ngraph_rewrite.lowering.table import ReplacementTable
from ngraph_rewrite.rewriting.domain import SYMBOLIC, Domain
from ngraph_rewrite.rewriting.instances import Target, TrialBank, targets, terms_of
from ngraph_rewrite.rewriting.interpret import Application
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.overlaps import Overlap, Position
from ngraph_rewrite.rewriting.rule import CLASSES, Rule
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op, topological
from ngraph_rewrite.testing.compare import Difference, difference
from ngraph_rewrite.testing.confluence_pairs import Partners, System
from ngraph_rewrite.testing.evaluate import Undefined, Values
from ngraph_rewrite.testing.limits import too_large
from ngraph_rewrite.testing.strategies import PLAIN, WILD, begin, random_domain, random_values, valued_leaves
from ngraph_rewrite.types.axes import Axis
from ngraph_rewrite.types.dtypes import is_float
from ngraph_rewrite.types.tuples import TupleType

# How many terms are tried to find an instance of an overlap.
TRIES = 60


@dataclass(frozen=True)
class Meeting:
    """A term in which two rules meet, and what becomes of it.

    Attributes:
        target: One for which both guards hold.
        outcomes: What is made of the term: first by the outer rule, then by the inner one.
        forms: The normal form of each outcome.
        grade: The boldest class of all rules that took part.
    """

    partners: Partners
    term: Op
    target: Target
    outcomes: tuple[Op, ...]
    forms: tuple[Op, ...]
    grade: str

    @property
    def joins(self) -> bool:
        """Whether there is one normal form."""
        return len(set(numbered(self.forms))) == 1

    @property
    def has_ones(self) -> bool:
        """Whether some axis has one element: then what moves, repeats or reduces it may be written in many ways."""
        terms = topological([self.term])
        return any(1 in t.shape for t in terms if not isinstance(t.type, TupleType))

    @property
    def parted(self) -> tuple[Op, Op]:
        """Two normal forms that are not the same."""
        numbers = numbered(self.forms)
        other = next(form for form, n in zip(self.forms, numbers, strict=True) if n != numbers[0])
        return self.forms[0], other

    @property
    def size(self) -> int:
        """How much there is to read."""
        return len(topological([self.term, *self.parted]))


class Met(NamedTuple):
    """What was found out about two rules at one place: where they meet, and how many overlaps have no such term."""

    meetings: list[Meeting]
    vacuous: int

    @property
    def apart(self) -> list[Meeting]:
        """The meetings that do not join, the smallest first.

        Two rules that join wherever no axis has one element join.
        """
        apart = sorted((m for m in self.meetings if not m.joins), key=lambda m: m.size)
        plain = [m for m in self.meetings if not m.has_ones]
        return apart if not plain or any(not m.joins for m in plain) else []


def met(system: System, partners: Partners, count: int, seed: int) -> Met:
    """Meetings of two rules, up to `count` for each overlap of their left sides."""
    meetings: list[Meeting] = []
    vacuous = 0
    for overlap in partners.overlaps:
        found = list(_meetings(system.matcher(partners), partners, overlap, count, seed))
        meetings += found
        vacuous += not found
    return Met(meetings, vacuous)


def _meetings(matcher: Matcher, partners: Partners, overlap: Overlap, count: int, seed: int) -> Iterator[Meeting]:
    bank, seen = TrialBank(), set()
    for turn in range(count):
        where = f"{partners.outer.name} {partners.inner.name} {overlap.pattern} {overlap.position}"
        random = Random(f"{seed} {where} {turn}")
        domain = _domain(random, turn)
        choices = begin(random)
        wanted = list(dict.fromkeys([*targets(partners.outer, choices), *targets(partners.inner, choices)]))
        for term in terms_of(overlap.pattern, domain, choices, bank, TRIES):
            found = None if term in seen else _meeting(matcher, partners, overlap.position, term, wanted, bank)
            if found is not None:
                seen.add(term)
                yield found
                break


def _domain(random: Random, turn: int) -> Domain:
    """By turns unknown lengths, lengths above 1, which say most, and lengths from 0."""
    if turn % 3 == 0:
        return SYMBOLIC
    domain = random_domain(random)
    if turn % 3 == 2:
        return domain
    first, second, third, *rest = random.sample((2, 3, 4), 3) + [2, 3, 4, 2]
    axes = tuple(Axis(a.name, n) for a, n in zip(domain.axes, rest, strict=True))
    return Domain((first, second, third), axes, domain.dtypes)


def _meeting(
    matcher: Matcher, partners: Partners, position: Position, term: Op, wanted: Iterable[Target], bank: TrialBank
) -> Meeting | None:
    """Where both rules fire on a term; None if there is no target for which they do."""
    for target in wanted:
        first = list(results(matcher, partners.outer, term, bank, target))
        second = list(_inside(matcher, partners.inner, term, position, bank, target)) if first else []
        if first and second:
            outcomes = tuple(dict.fromkeys([*first, *second]))
            table = ReplacementTable()
            forms = normalise(outcomes, matcher, table, bank, target, partners.stage)
            took = [f.why for stage in table.stages for f in stage.forward.values() if isinstance(f.why, Rule)]
            grade = max((r.grade for r in (partners.outer, partners.inner, *took)), key=CLASSES.index)
            return Meeting(partners, term, target, outcomes, tuple(forms), grade)
    return None


def results(matcher: Matcher, rule: Rule, term: Op, bank: TrialBank, target: Target) -> Iterator[Op]:
    """What a rule makes of a term, once for each way in which it matches and its guard holds."""
    for found, substitution in matcher.matches(term):
        if found is rule:
            application = Application(rule, term, substitution, bank.make, target)
            if application.guard_holds():
                made = application.right()[0]
                assert isinstance(made, Op)
                yield made


def _inside(
    matcher: Matcher, rule: Rule, term: Op, position: Position, bank: TrialBank, target: Target
) -> Iterator[Op]:
    """What becomes of a term when a rule fires at a position in it."""
    if not position:
        yield from results(matcher, rule, term, bank, target)
        return
    at, rest = position[0], position[1:]
    for made in _inside(matcher, rule, term.args[at], rest, bank, target):
        yield bank.make(term.definition, (*term.args[:at], made, *term.args[at + 1 :]), term.attrs)


def numbered(terms: Iterable[Op]) -> list[int]:
    """A number for each term: the same for two that differ in the order of commutative operands, in NaNs, or in how
    they make an array without elements.

    >>> import ngraph_rewrite as ng
    >>> x, y = ng.placeholder([], name="x"), ng.placeholder([], name="y")
    >>> numbered([x + y, y + x, x - y, y - x])
    [2, 2, 3, 4]
    """
    numbers: dict[Any, int] = {}
    known: dict[Op, int] = {}
    terms = list(terms)
    for term in topological(terms):
        args = [known[a] for a in term.args]
        if term.definition.commutative:
            args.sort()
        key: Any = term.definition, tuple(args), tuple(map(_attribute, term.attrs)), term.type
        if not isinstance(term.type, TupleType) and 0 in term.shape:
            key = term.type
        known[term] = numbers.setdefault(key, len(numbers))
    return [known[term] for term in terms]


def _attribute(value: Any) -> Any:
    if isinstance(value, Literal) and is_float(value.dtype) and value.scalar is not None and np.isnan(value.scalar):
        return "NaN"
    return value


# -- values ---------------------------------------------------------------------------------------------


def wrong_form(meeting: Meeting, seed: int) -> tuple[Op, Values, Difference] | None:
    """A normal form that has not the value of the term, beyond what the classes of the rules explain."""
    leaves = valued_leaves(meeting.term)
    tensors = [t for t in topological([meeting.term]) if not isinstance(t.type, TupleType)]
    if any(not isinstance(n, int) for t in tensors for n in t.shape):
        return None
    if any(too_large(t) for t in (meeting.term, *meeting.forms)):
        return None
    for kind in (PLAIN, WILD):
        values = random_values(Random(f"{seed} {kind}"), leaves, kind)
        for form in dict.fromkeys(meeting.forms):
            with suppress(Undefined):
                found = difference(meeting.term, form, values, meeting.grade)
                if found is not None:
                    return form, values, found
    return None
