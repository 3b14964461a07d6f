# SPDX-License-Identifier: Apache-2.0
"""How far a rule that looks at the graph came at a term: which left side matches it, and what the graph lacks then.

Such a rule has its turn when the other rules of its pass have come to an end. So it is tried on the graph that they
left: whether its inner terms have other users there, whether there are terms for its other left sides, what its guard
says of all of them together, and whether one of them stands below another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from ngraph_rewrite.errors import NGraphRewriteError
from ngraph_rewrite.lowering.attempts import best_attempt
from ngraph_rewrite.lowering.drawing import bound_values, drawn, guard_values, indented
from ngraph_rewrite.lowering.graph_rules import left_sides
from ngraph_rewrite.lowering.layout import shown, wrapped
from ngraph_rewrite.lowering.verdicts import FAILS, GRAPH, GUARD, MATCHES, REFUSED, UNTRIED, Finding
from ngraph_rewrite.rewriting.interpret import Application
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.rewriting.search import ALONE, matches
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological

# So many ways to match all left sides together are tried.
MOST = 500


class Together(NamedTuple):
    """Terms for left sides, by their numbers, and what all of them bind."""

    terms: Mapping[int, Op]
    bound: Mapping[str, Any]


def beside(rule: Rule, term: Op, other: Op) -> bool:
    """Whether a rule of several left sides may take two terms together, as roots that share what it says."""
    lefts = left_sides(rule)
    pairs = ((one, two) for one in lefts for two in lefts if one is not two) if term is not other else ()
    return any(
        next(matches(two, other, bound), None) is not None for one, two in pairs for bound in matches(one, term, {})
    )


class GraphAttempt:
    """A rule on the graph under some roots.

    Args:
        roots: The roots of the graph when the rule has its turn, those of writes too.
    """

    def __init__(self, rule: Rule, roots: Sequence[Op], bank: TermBank, target: Any) -> None:
        self.rule, self.lefts, self.bank, self.target = rule, left_sides(rule), bank, target
        self.roots, self.order = frozenset(roots), topological(roots)
        self.live = frozenset(self.order)
        self.users: dict[Op, list[Op]] = {}
        for term in self.order:
            for arg in dict.fromkeys(term.args):
                self.users.setdefault(arg, []).append(term)

    def tried(self, term: Op, now: Op, by: str, where: str) -> Finding | None:
        """What comes of the rule with a term as one of its roots; None if no left side matches it.

        Args:
            now: What the term is when the rule has its turn.
            by: By which rule, if one took it before.
        """
        alike = [i for i, left in enumerate(self.lefts) if next(matches(left, term, {}), None) is not None]
        if not alike:
            return None
        if term not in self.live:
            lines = ["but when rules that look at the graph had their turn, it was no part of the graph any more"]
            if now is not term:
                lines = ["but when rules that look at the graph had their turn, it had become"]
                lines += wrapped("    ", f"{shown(now)}{by}")
            return self._found(UNTRIED, MATCHES, lines, where)
        found = [self._whole(i, term, where) for i in alike]
        return max(found, key=lambda one: one.reached)

    def _found(self, verdict: str, reached: int, lines: Iterable[str], where: str, what: str = "matches") -> Finding:
        return Finding(verdict, reached, [*wrapped("", f"{what} {where}"), *self._equation(), *lines])

    def _equation(self) -> list[str]:
        return indented(self.rule.text.splitlines())

    def _whole(self, number: int, term: Op, where: str) -> Finding:
        """What comes of a term that matches the left side of a number."""
        lonely = self._lonely(term, number)
        if lonely:
            return self._found(GRAPH, REFUSED, ["but a term that must have no other user has some:", *lonely], where)
        each = islice(self._together(Together({}, {ALONE: self.alone}), {number: term}), MOST)
        whole = [self._judged(one, where) for one in each if len(one.terms) == len(self.lefts)]
        if whole:
            return max(whole, key=lambda one: one.reached)
        return self._lacking(number, term, where)

    # -- users -----------------------------------------------------------------------------------------

    def alone(self, term: Op) -> bool:
        """Whether a term has one user, and is no result."""
        return len(self.users.get(term, ())) == 1 and term not in self.roots

    def _lonely(self, term: Op, number: int) -> list[str]:
        """The users of terms that must have one, if that alone keeps the left side from matching."""
        if next(matches(self.lefts[number], term, {ALONE: self.alone}), None) is not None:
            return []
        asked: dict[Op, None] = {}

        def note(one: Op) -> bool:
            asked[one] = None
            return True

        next(matches(self.lefts[number], term, {ALONE: note}), None)
        return [line for one in asked if not self.alone(one) for line in self._users(one)]

    def _users(self, term: Op) -> list[str]:
        users = self.users.get(term, [])
        also = " and is a result" if term in self.roots else ""
        listed = f": {'; '.join(shown(one) for one in users[:4])}" if users else ""
        return wrapped("    ", f"{shown(term)} has {len(users)} user{'' if len(users) == 1 else 's'}{also}{listed}")

    # -- several roots ---------------------------------------------------------------------------------

    def _together(self, so_far: Together, given: Mapping[int, Op]) -> Iterator[Together]:
        """Ways to match all left sides: that of the given term first, and then the others in order."""
        numbers = [*given, *(i for i in range(len(self.lefts)) if i not in given)]
        number = next((i for i in numbers if i not in so_far.terms), None)
        if number is None:
            yield so_far
            return
        left = self.lefts[number]
        terms = [given[number]] if number in given else [t for t in self.order if t.definition is left.definition]
        for term in terms:
            if term not in so_far.terms.values():
                for bound in matches(left, term, so_far.bound):
                    yield from self._together(Together({**so_far.terms, number: term}, bound), given)

    def _lacking(self, number: int, term: Op, where: str) -> Finding:
        """No terms of the graph match the other left sides: what comes nearest to one that has none."""
        bound = next(matches(self.lefts[number], term, {ALONE: self.alone}))
        names = {name: value for name, value in bound.items() if name != ALONE}
        for i, left in enumerate(self.lefts):
            others = [t for t in self.order if t.definition is left.definition and t is not term]
            if i == number or any(next(matches(left, t, bound), None) is not None for t in others):
                continue
            nearest = max((best_attempt(left, t, names) for t in others), key=lambda one: one.passed, default=None)
            says = f"but no other term of the graph matches the left side number {i + 1}:"
            if nearest is None or nearest.part is None:
                lines = [says, f"    there is no other {left.definition.short} in it"]
            else:
                lines = [says, *wrapped("    ", f"the nearest is {shown(nearest.term)}")]
                lines += indented(drawn(self.rule, nearest.part, nearest.says))
            return self._found(GRAPH, REFUSED, [*indented(bound_values(names)), *lines], where)
        return self._found(GRAPH, REFUSED, ["but no terms of the graph match all left sides together"], where)

    def _judged(self, found: Together, where: str) -> Finding:
        """What comes of terms that match all left sides: the guard, the right sides, and who depends on whom."""
        roots = tuple(found.terms[i] for i in range(len(self.lefts)))
        values = {name: value for name, value in found.bound.items() if name != ALONE}
        matched = wrapped("    ", f"left sides: {'; '.join(map(shown, roots))}") if len(roots) > 1 else []
        matched += indented(bound_values(values))
        whole = self.bank.make(lookup("core.make_tuple"), roots, ()) if len(roots) > 1 else roots[0]
        names = Application(self.rule, whole, values, self.bank.make, self.target)
        if self.rule.guard is not None:
            lines, holds = guard_values(self.rule.guard, names)
            if not holds:
                what = "matches, but its guard refuses"
                return self._found(GUARD, REFUSED + 1, [*matched, *lines], where, what)
        try:
            names.right()
        except NGraphRewriteError as error:
            what = "matches, but its right side cannot be built"
            return self._found(FAILS, MATCHES, [*matched, f"    {error.what}"], where, what)
        below = self._below(roots)
        if below is not None:
            says = [f"but {shown(below[0])} stands below", *wrapped("    ", shown(below[1]))]
            says.append("terms of which one depends on another are not rewritten together")
            return self._found(GRAPH, MATCHES, [*matched, *says], where)
        says = ["but it had no turn there: rules before it changed the graph, or it changes nothing"]
        return self._found(UNTRIED, MATCHES, [*matched, *says], where)

    def _below(self, roots: Sequence[Op]) -> tuple[Op, Op] | None:
        """A root, and another one that it is a part of, if there are any."""
        for root in roots:
            inside = set(topological([root])) - {root}
            found = next((one for one in roots if one in inside), None)
            if found is not None:
                return found, root
        return None
