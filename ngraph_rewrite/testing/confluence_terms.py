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
from typing import Any

import numpy as np

from ngraph_rewrite.lowering.driver import normalise
from ngraph_rewrite.lowering.table import ReplacementTable
from ngraph_rewrite.rewriting.asked_target import Target
from ngraph_rewrite.rewriting.instances import failure
from ngraph_rewrite.rewriting.interpret import Application
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.overlaps import Position
from ngraph_rewrite.rewriting.rule import CLASSES, Rule
from ngraph_rewrite.rewriting.rule_errors import GUARD, RIGHT
from ngraph_rewrite.rewriting.trial_bank import TrialBank
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.testing.compare import Difference, difference
from ngraph_rewrite.testing.confluence_pairs import Partners
from ngraph_rewrite.testing.evaluate import Undefined, Values
from ngraph_rewrite.testing.limits import too_large
from ngraph_rewrite.testing.strategies import PLAIN, WILD, random_values, valued_leaves
from ngraph_rewrite.types.dtypes import is_float
from ngraph_rewrite.types.tuples import TupleType


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


def meeting_of(
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
    """What a rule makes of a term, once for each way in which it matches and its guard holds.

    Raises:
        RuleFileError: if the rule fails on the term.
    """
    for found, substitution in matcher.matches(term):
        if found is rule:
            application, part = Application(rule, term, substitution, bank.make, target), GUARD
            try:
                holds, part = application.guard_holds(), RIGHT
                made = application.right()[0] if holds else None
            except Exception as error:
                raise failure(rule, term, error, part) from error
            if made is not None:
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
