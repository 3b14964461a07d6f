# SPDX-License-Identifier: Apache-2.0
"""Terms, and graphs, in which two rules meet are drawn: instances of the overlaps of their left sides."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from ngraph_rewrite.rewriting.domain import SYMBOLIC, Domain
from ngraph_rewrite.rewriting.instances import targets, terms_of
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.overlaps import Overlap
from ngraph_rewrite.rewriting.trial_bank import TrialBank
from ngraph_rewrite.testing.confluence_graphs import meeting_on_graph
from ngraph_rewrite.testing.confluence_pairs import Partners, System
from ngraph_rewrite.testing.confluence_terms import Meeting, meeting_of
from ngraph_rewrite.testing.strategies import begin, random_domain
from ngraph_rewrite.types.axes import Axis

# How many terms are tried to find an instance of an overlap.
TRIES = 60


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
    meet = meeting_on_graph if partners.on_graph else meeting_of
    for turn in range(count):
        where = f"{partners.outer.name} {partners.inner.name} {overlap.pattern} {overlap.position}"
        random = Random(f"{seed} {where} {turn}")
        domain = _domain(random, turn)
        choices = begin(random)
        wanted = list(dict.fromkeys([*targets(partners.outer, choices), *targets(partners.inner, choices)]))
        for term in terms_of(overlap.pattern, domain, choices, bank, TRIES):
            found = None if term in seen else meet(matcher, partners, overlap.position, term, wanted, bank)
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
