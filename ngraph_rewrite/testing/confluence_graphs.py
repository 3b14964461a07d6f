# SPDX-License-Identifier: Apache-2.0
"""Two rules meet in a graph, if one of them looks at it: it has several roots, or asks that a term has no other user.

What they meet in is the smallest graph that both match. An outcome is that graph after one of them has fired, and its
form what the whole pass leaves of that: the rules that look at terms first, and those that look at the graph on what
these leave. Two of the latter meet only where the former have nothing to do: they never see another graph. (So is
`normalised rewriting`_ defined.) Of larger graphs this says nothing where a step elsewhere lets a rule fire, or keeps
it from firing: steps are not closed under contexts then, and what joins alone need not join there (`conditions`_).

.. _normalised rewriting: Marche, *Normalized rewriting: an alternative to rewriting modulo a set of equations* (1996)
.. _conditions: Lambers, Ehrig and Orejas, *Conflict detection for graph transformation with negative application
    conditions* (2006)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ngraph_rewrite.lowering.driver import normalise, replace
from ngraph_rewrite.lowering.graph_rules import Redex, apply_graph_rules, left_sides, matches_at, redex_of
from ngraph_rewrite.lowering.stage import Forward
from ngraph_rewrite.lowering.table import ReplacementTable
from ngraph_rewrite.rewriting.asked_target import Target
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.overlaps import Position
from ngraph_rewrite.rewriting.pattern import App, subpatterns
from ngraph_rewrite.rewriting.rule import CLASSES, Rule
from ngraph_rewrite.rewriting.trial_bank import TrialBank
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.testing.confluence_pairs import Partners
from ngraph_rewrite.testing.confluence_terms import Meeting

Roots = tuple[Op, ...]


def meeting_on_graph(
    matcher: Matcher,
    partners: Partners,
    position: Position,
    term: Op,
    wanted: Iterable[Target],
    bank: TrialBank,
) -> Meeting | None:
    """Where both rules fire in a graph; None if there is no target for which they do.

    Args:
        term: An instance of an overlap; where there are several left sides, the tuple of all roots.
    """
    outer, inner = (left_sides(rule) for rule in (partners.outer, partners.inner))
    roots = term.args if len(outer) + len(inner) > 2 else (term,)
    places = roots[: len(outer)], _others(inner, partners.inside, _at(term, position), roots[len(outer) :])
    return _Meets(matcher, partners, roots, bank).meeting(*places, wanted)


def _at(term: Op, position: Position) -> Op:
    for place in position:
        term = term.args[place]
    return term


def _others(lefts: Sequence[App], number: int, at: Op, others: Roots) -> Roots:
    """The terms for left sides in their order: one stands inside, the others are roots."""
    assert len(others) == len(lefts) - 1
    return (*others[:number], at, *others[number:])


class _Meets:
    """Two rules in one graph."""

    def __init__(self, matcher: Matcher, partners: Partners, graph: Roots, bank: TrialBank) -> None:
        self.matcher, self.partners, self.graph, self.bank = matcher, partners, graph, bank
        self.grades = {partners.outer.grade, partners.inner.grade}

    def meeting(self, first: Roots, second: Roots, wanted: Iterable[Target]) -> Meeting | None:
        """What becomes of the graph if either rule fires on these terms; None if for no target both do."""
        outer, inner = self.partners.outer, self.partners.inner
        own = list(self.ways(outer, first))
        others = list(self.ways(inner, second)) if own else []
        for target in wanted if others else ():
            redexes = self.redexes(outer, first, own, target)
            more = self.redexes(inner, second, others, target) if redexes else []
            outcomes = tuple(dict.fromkeys(map(self.after, [*redexes, *more]))) if more else ()
            one = outer is inner and set(first) == set(second) and len(outcomes) == 1  # it meets itself in no two ways
            if outcomes and not one and self.is_met(target):
                return self.joined(outcomes, target)
        return None

    def ways(self, rule: Rule, at: Roots) -> Iterator[Mapping[str, Any]]:
        """The ways in which a rule matches terms of the graph."""
        if rule.graph:
            return matches_at(rule, at, self.graph, self.bank)
        return (found for one, found in self.matcher.matches(at[0]) if one is rule)

    def redexes(self, rule: Rule, at: Roots, ways: Iterable[Mapping[str, Any]], target: Target) -> list[Redex]:
        """The ways in which a rule fires on terms of the graph."""
        each = (redex_of(rule, at, bound, self.bank, target) for bound in ways)
        return [redex for redex in each if redex is not None]

    def after(self, redex: Redex) -> Roots:
        """The graph after a rule has fired."""
        each = zip(redex.roots, redex.made, strict=True)
        steps = {old: Forward(new, redex.rule) for old, new in each if new is not old}
        return tuple(replace(self.graph, steps, ReplacementTable(), self.bank, "meeting"))

    def is_met(self, target: Target) -> bool:
        """Whether a pass may come to the graph: two rules that look at graphs see none in which another one fires."""
        if not (self.partners.outer.graph and self.partners.inner.graph):
            return True
        table = ReplacementTable()
        return normalise(self.graph, self.matcher, table, self.bank, target, "terms") == list(self.graph)

    def joined(self, outcomes: tuple[Roots, ...], target: Target) -> Meeting:
        """The meeting with these outcomes, and what the pass leaves of each."""
        forms = tuple([self.whole(self.form(outcome, target)) for outcome in outcomes])
        grade = max(self.grades, key=CLASSES.index)
        return Meeting(self.partners, self.whole(self.graph), target, tuple(map(self.whole, outcomes)), forms, grade)

    def form(self, roots: Roots, target: Target) -> list[Op]:
        """What the pass leaves of a graph."""
        table, name = ReplacementTable(), self.partners.stage
        settled = normalise(roots, self.matcher, table, self.bank, target, name)
        found = apply_graph_rules(settled, self.matcher, table, self.bank, target, name)
        self.grades.update(step.why.grade for step in table.redexes() if isinstance(step.why, Rule))
        return found

    def whole(self, roots: Sequence[Op]) -> Op:
        """The graph as one term."""
        return roots[0] if len(roots) == 1 else self.bank.make(lookup("core.make_tuple"), tuple(roots), ())


def unjudged(rule: Rule) -> str:
    """What no meeting says of a rule that looks at the graph; nothing of another one."""
    if not rule.graph:
        return ""
    lonely = (part for part in subpatterns(rule.left) if isinstance(part, App) and part.once)
    alone = dict.fromkeys(part.definition.short for part in lonely)
    depends = [f"who else uses its {' and '.join(alone)}"] if alone else []
    depends += ["how its roots depend on each other"] if len(left_sides(rule)) > 1 else []
    return f"larger graphs: whether it fires there depends on {' and '.join(depends)}"
