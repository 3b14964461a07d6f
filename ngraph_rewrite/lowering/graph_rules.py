# SPDX-License-Identifier: Apache-2.0
"""Rules that look at a graph, not at one term: with several roots that share a part, or inner terms with one user.

They fire in sweeps over the live graph, after all other rules of their pass have come to an end: a sweep finds redexes
in topological order, replaces all of them together, and the others bring what comes of it to its normal form. Roots
are replaced together only if no cycle can come of it. Roots of one level, the longest way down to a leaf, depend on
none of each other, so any number of such redexes may go at once; roots of several levels must not depend on each other,
and no other redex of several roots may go that stands between their levels: it has its turn in the next sweep.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from ngraph_rewrite.errors import RewriteError
from ngraph_rewrite.lowering.counting import counted_function
from ngraph_rewrite.lowering.driver import LEAST_STEPS, STEPS_PER_TERM, normalise, replace
from ngraph_rewrite.lowering.outlines import Outline, outline
from ngraph_rewrite.lowering.reduction import Left
from ngraph_rewrite.lowering.stage import Forward
from ngraph_rewrite.lowering.table import ReplacementTable
from ngraph_rewrite.rewriting.interpret import Application
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.nests import is_nest
from ngraph_rewrite.rewriting.pattern import App, Pattern, Var
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.rewriting.search import ALONE, Bound, matches
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.catalogue import OpDef, lookup
from ngraph_rewrite.terms.declaring import told
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.terms.written import describe


class Redex(NamedTuple):
    """Where a rule fires: the roots that its left sides match, and what they become."""

    rule: Rule
    roots: tuple[Op, ...]
    made: tuple[Op, ...]


def apply_graph_rules(
    roots: Sequence[Op],
    matcher: Matcher,
    table: ReplacementTable,
    bank: TermBank,
    target: Any,
    name: str,
    budget: int | None = None,
) -> list[Op]:
    """The roots where no rule of the matcher fires any more, neither on terms nor on the graph.

    Args:
        roots: Terms of `bank`, normal for the other rules.
        budget: How many redexes may be replaced; by default as many as there may be steps.

    Raises:
        RewriteError: if a rule builds an ill-typed term, changes a type, or more redexes are replaced than may be.
    """
    roots, fired = list(roots), 0
    firsts = [outline(left_sides(rule)[0]) for rule in matcher.graph_rules]
    while any(first.is_in(bank) for first in firsts):
        sweep = _Sweep(roots, bank, target, matcher.graph_rules)
        found = list(sweep.redexes(matcher.graph_rules))
        if not found:
            table.leave(roots, sweep.order)
            break
        fired += len(found)
        if fired > (LEAST_STEPS + STEPS_PER_TERM * len(sweep.order) if budget is None else budget):
            often = ", ".join(dict.fromkeys(str(redex.rule) for redex in found[:4]))
            what = f"{fired} redexes of rules that look at the graph were replaced; the last: {often}"
            raise RewriteError(what, do="check their order")
        both = ((r.rule, *pair) for r in found for pair in zip(r.roots, r.made, strict=True))
        steps = {old: Forward(new, rule) for rule, old, new in both if new is not old}
        left = Left(roots[0].mark, ())
        roots = normalise(replace(roots, steps, table, bank, name), matcher, table, bank, target, name, left=left)
    return roots


class _Sweep:
    """One look at the live graph under some roots."""

    def __init__(self, roots: Sequence[Op], bank: TermBank, target: Any, rules: Iterable[Rule]) -> None:
        made = partial(redex_of, bank=bank, target=target)
        self._apply = {id(rule): counted_function(rule, made) for rule in rules}
        self.order = topological(roots)
        self.place = {term: i for i, term in enumerate(self.order)}
        self.users: dict[Op, list[Op]] = {term: [] for term in self.order}
        self.level: dict[Op, int] = {}
        self.outputs = frozenset(roots)
        for term in self.order:
            self.level[term] = 1 + max((self.level[a] for a in term.args), default=0)
            for arg in dict.fromkeys(term.args):
                self.users[arg].append(term)
        self._of_op: dict[OpDef, list[Op]] = {}
        for term in self.order:
            self._of_op.setdefault(term.definition, []).append(term)
        self._taken: set[Op] = set()
        self._merged: set[int] = set()  # levels at which redexes have all their roots
        self._spanned: set[int] = set()  # a level, if between it and the next one stands a redex of several levels

    def redexes(self, rules: Iterable[Rule]) -> Iterator[Redex]:
        """What may be replaced together, in topological order of the first roots."""
        by_first: dict[OpDef, list[tuple[Rule, Outline]]] = {}
        for rule in rules:
            first = outline(left_sides(rule)[0])
            by_first.setdefault(first.definition, []).append((rule, first))
        for term in self.order:
            for rule, first in by_first.get(term.definition, ()):
                if not first.fits(term):
                    continue
                found = next(self._of(rule, term), None) if term not in self._taken else None
                if found is not None:
                    self._take(found)
                    yield found

    def _of(self, rule: Rule, term: Op) -> Iterator[Redex]:
        """The redexes of a rule whose first root is a term."""
        each = (self._apply[id(rule)](rule, roots, now) for roots, now in self.ways(rule, term))
        return (redex for redex in each if redex is not None)

    def ways(self, rule: Rule, term: Op) -> Iterator[tuple[tuple[Op, ...], Bound]]:
        """Roots that the left sides of a rule match, the first of them a term, and that may go together."""
        first, *others = left_sides(rule)
        for bound in matches(first, term, {ALONE: self._alone}):
            for roots, now in self._others(others, (term,), bound):
                if self._taken.isdisjoint(roots) and self._may_merge(roots):
                    yield roots, now

    def _alone(self, term: Op) -> bool:
        """Whether a term has one user, and nothing else looks at it."""
        return len(self.users[term]) == 1 and term not in self.outputs and term not in self._taken

    # -- roots that share a part ------------------------------------------------------------------------

    def _others(
        self, patterns: Sequence[App], roots: tuple[Op, ...], bound: Bound
    ) -> Iterator[tuple[tuple[Op, ...], Bound]]:
        if not patterns:
            yield roots, bound
            return
        for term in self._candidates(patterns[0], bound):
            if term not in roots:
                for now in matches(patterns[0], term, bound):
                    yield from self._others(patterns[1:], (*roots, term), now)

    def _candidates(self, pattern: App, bound: Bound) -> Sequence[Op]:
        """The terms a pattern may match: users of users of what a variable of it stands for already."""
        way = _way_down(pattern, bound)
        if way is None:
            return self._of_op.get(pattern.definition, ())
        definitions, name = way
        found: dict[Op, None] = {bound[name]: None}
        for definition in reversed(definitions):
            found = {user: None for term in found for user in self.users[term] if user.definition is definition}
        return sorted(found, key=self.place.__getitem__)

    # -- no cycles --------------------------------------------------------------------------------------

    def _may_merge(self, roots: tuple[Op, ...]) -> bool:
        """Whether roots can be replaced together with all that is taken already."""
        low, high = min(self.level[r] for r in roots), max(self.level[r] for r in roots)
        if len(roots) == 1:
            return True
        if low == high:
            return not {low - 1, low} <= self._spanned
        crossed = any(n in self._spanned for n in range(low, high)) or any(
            n in self._merged for n in range(low + 1, high)
        )
        return not crossed and not self._depend(roots, low)

    def _depend(self, roots: tuple[Op, ...], low: int) -> bool:
        """Whether one of the roots is below another one."""
        wanted, seen = set(roots), set[Op]()
        stack = [arg for root in roots for arg in root.args]
        while stack:
            term = stack.pop()
            if term in wanted:
                return True
            if term not in seen and self.level[term] > low:
                seen.add(term)
                stack += term.args
        return False

    def _take(self, redex: Redex) -> None:
        self._taken.update(redex.roots)
        levels = [self.level[root] for root in redex.roots]
        if len(levels) > 1 and min(levels) == max(levels):
            self._merged.add(levels[0])
        self._spanned.update(range(min(levels), max(levels)))


def left_sides(rule: Rule) -> tuple[App, ...]:
    """The left sides of a rule: several, of one that looks at the graph, stand in a tuple."""
    several = rule.graph and rule.left.definition.name == "core.make_tuple"
    return rule.left.args if several else (rule.left,)  # type: ignore[return-value]


def matches_at(rule: Rule, at: Sequence[Op], roots: Sequence[Op], bank: TermBank) -> Iterator[Bound]:
    """The ways in which the left sides of a rule match these terms, in their order, in the graph under some roots."""
    each = _Sweep(roots, bank, None, (rule,)).ways(rule, at[0])
    return (bound for found, bound in each if found == tuple(at))


def redex_of(rule: Rule, roots: tuple[Op, ...], bound: Bound, bank: TermBank, target: Any) -> Redex | None:
    """The redex that terms are which the left sides of a rule match, if the guard holds and it changes anything.

    Raises:
        RewriteError: if the rule builds an ill-typed term, or changes a type.
    """
    several = len(left_sides(rule)) > 1
    try:
        whole = bank.make(lookup("core.make_tuple"), roots, ()) if several else roots[0]
        names = {name: value for name, value in bound.items() if name != ALONE}
        application = Application(rule, whole, names, bank.make, target)
        if not application.guard_holds():
            return None
        right = application.right()[0]
    except Exception as error:
        what = told(error)
        shown = " and ".join(map(describe, roots))
        raise RewriteError(f"rule {rule.name} fails on {shown}: {what}", where=rule.place) from error
    assert isinstance(right, Op)
    made = right.args if several else (right,)
    for old, new in zip(roots, made, strict=True):
        if old.type != new.type:
            what = f"rule {rule.name} rewrites {old.type} to {new.type}"
            raise RewriteError(what, where=rule.place, do="guard or mend the rule")
    return Redex(rule, roots, made) if made != roots else None


def _way_down(pattern: Pattern, bound: Bound) -> tuple[tuple[OpDef, ...], str] | None:
    """The ops on the shortest way to a variable that is bound, and its name; None if all lead through nests."""
    if isinstance(pattern, Var):
        return ((), pattern.name) if pattern.name in bound else None
    if not isinstance(pattern, App) or is_nest(pattern):
        return None
    ways = [way for way in (_way_down(a, bound) for a in pattern.args) if way is not None]
    if not ways:
        return None
    definitions, name = min(ways, key=lambda way: len(way[0]))
    return (pattern.definition, *definitions), name
