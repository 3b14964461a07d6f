# SPDX-License-Identifier: Apache-2.0
"""A strategy at work: it takes the roots of a graph to other roots, and every step is in the replacement table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.errors import ArgumentError, RewriteError
from ngraph_rewrite.lowering.counting import counted
from ngraph_rewrite.lowering.disabling import disabled_now
from ngraph_rewrite.lowering.driver import LEAST_STEPS, STEPS_PER_TERM, normalise
from ngraph_rewrite.lowering.graph_rules import apply_graph_rules
from ngraph_rewrite.lowering.normalising import BUDGET, evaluate, is_of_signature
from ngraph_rewrite.lowering.outermost import outermost
from ngraph_rewrite.lowering.stage import ARGUMENTS, Forward
from ngraph_rewrite.lowering.stepping import Meter, Stepper
from ngraph_rewrite.lowering.strategies import (
    Applied,
    At,
    BottomUpOnce,
    Budget,
    Choice,
    Fixpoint,
    Innermost,
    OneStep,
    Outermost,
    Repeat,
    Sequence,
    Strategy,
    TopDownOnce,
    Worklist,
)
from ngraph_rewrite.lowering.sweeps import bottom_up_once, one_step, top_down_once
from ngraph_rewrite.lowering.table import ReplacementTable
from ngraph_rewrite.lowering.worklist import worklist
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.rule import Rule, RuleSet
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.terms.written import describe

Roots = list[Op]


class StrategyRun:
    """Runs strategies on terms of one bank, one after the other.

    Args:
        classes: The classes of rules that may fire.
        name: What the stages of the table are called; by default each after its strategy.

    Attributes:
        matchers: What has run, by the names of the stages.
    """

    def __init__(
        self,
        table: ReplacementTable,
        bank: TermBank,
        target: Any,
        classes: Iterable[str],
        cache: Cache,
        name: str | None = None,
    ) -> None:
        self.table, self.bank, self.target, self.name = table, bank, target, name
        self.classes, self.cache = tuple(classes), cache
        self.matchers: dict[str, Matcher] = {}
        self._settled: dict[int, set[Op]] = {}
        self._chosen: dict[int, Matcher] = {}

    def run(self, strategy: Strategy, roots: Iterable[Op]) -> Roots:
        """The roots as the strategy leaves them.

        Raises:
            RewriteError: if rules run in a cycle, steps are used up, or a rule fails or changes a type.
            ArgumentError: for terms to rewrite `at` that are no part of the graph.
        """
        roots = list(roots)
        of_signature = any(map(is_of_signature, roots))
        meter = Meter(BUDGET if of_signature else LEAST_STEPS + STEPS_PER_TERM * len(topological(roots)))
        return self.part(strategy, roots, meter)

    def part(self, strategy: Strategy, roots: Roots, meter: Meter) -> Roots:
        """A strategy inside another one, whose steps count for it too."""
        return _RUNS[type(strategy)](self, strategy, roots, meter)

    def applied(self, strategy: Applied, roots: Roots, meter: Meter) -> Roots:
        """Rules, in the order that the strategy says."""
        matcher = self.matcher(strategy.rules)
        name = self.stage_name(self.name or strategy.name, matcher)
        matcher = counted(matcher)
        if isinstance(strategy, Innermost):
            return self.innermost(matcher, roots, meter, name)
        if matcher.graph_rules:
            what = f"{matcher.graph_rules[0]} looks at the whole graph, when nothing else fires any more"
            raise ArgumentError(what, do="only innermost takes such rules")
        stage = self.table.stage(name)
        stepper = Stepper(matcher, self.table, stage, self.bank, self.target, meter)
        if isinstance(strategy, Worklist):
            return worklist(roots, stepper, self._settled.setdefault(id(strategy.rules), set()))
        return _ORDERS[type(strategy)](roots, stepper)

    def stage_name(self, name: str, matcher: Matcher) -> str:
        """The name of a stage: another one for other rules, so that explanations know which rules ran."""
        taken = (name, *(f"{name} {n}" for n in range(2, len(self.matchers) + 2)))
        found = next(one for one in taken if self.matchers.get(one, matcher) is matcher)
        self.matchers[found] = matcher
        return found

    def innermost(self, matcher: Matcher, roots: Roots, meter: Meter, name: str) -> Roots:
        """The driver's own loop; what fired is counted afterwards."""
        before = len(self.table.stages)
        if any(map(is_of_signature, roots)):
            found = evaluate(roots, matcher, self.table, self.bank, name, meter.left)
        else:
            found = normalise(roots, matcher, self.table, self.bank, self.target, name, meter.left)
        if matcher.graph_rules:
            found = apply_graph_rules(found, matcher, self.table, self.bank, self.target, name, meter.left)
        for stage in self.table.stages[before:]:
            for forward in stage.forward.values():
                if isinstance(forward.why, Rule):
                    meter.count(forward.why)
        return found

    def matcher(self, rules: RuleSet) -> Matcher:
        """The compiled rules of a set that may fire."""
        if id(rules) not in self._chosen:
            self._chosen[id(rules)] = _matcher(_Same(rules), self.classes, disabled_now(), self.cache.folder)
        return self._chosen[id(rules)]

    def chosen(self, where: tuple[Op, ...] | Callable[[Op], bool], roots: Roots) -> Roots:
        """The terms under `roots` that `at` speaks of, none below another."""
        if callable(where):
            wanted = {term for term in topological(roots) if where(term)}
        else:
            known = set(topological(roots))
            strangers = [t for t in where if not self.table.knows(t) and t not in known]
            if strangers:
                what = f"{describe(strangers[0], 2)} is not a term of the graph that is rewritten"
                raise ArgumentError(what, where=strangers[0].info.place, do="give terms below its roots")
            wanted = {self.table.snap(term) for term in where}
        found, seen, stack = [], set[Op](), roots[::-1]
        while stack:
            term = stack.pop()
            if term not in seen:
                seen.add(term)
                if term in wanted:
                    found.append(term)
                else:
                    stack.extend(term.args[::-1])
        return found

    def put(self, roots: Roots, chosen: Roots, new: Roots) -> Roots:
        """The roots with the chosen terms replaced; what is below them stays as it is."""
        stage = self.table.stage(self.name or "at")
        stage.normal.update(zip(chosen, new, strict=True))
        stack = [(root, False) for root in roots[::-1]]
        while stack:
            term, ready = stack.pop()
            if ready:
                args = tuple([stage.normal[a] for a in term.args])
                changed = any(a is not b for a, b in zip(args, term.args, strict=True))
                stage.normal[term] = term
                if changed:
                    rebuilt = self.bank.make(term.definition, args, term.attrs, term.info)
                    stage.normal[term] = rebuilt
                    stage.forward[term] = Forward(rebuilt, ARGUMENTS)
                    if self.table.metadata(term):
                        self.table.carry(term, rebuilt)
            elif term not in stage.normal:
                stack.append((term, True))
                stack.extend([(arg, False) for arg in term.args[::-1] if arg not in stage.normal])
        return [stage.normal[root] for root in roots]


def _same(one: Roots, other: Roots) -> bool:
    return all(a is b for a, b in zip(one, other, strict=True))


def _sequence(run: StrategyRun, strategy: Sequence, roots: Roots, meter: Meter) -> Roots:
    for part in strategy.parts:
        roots = run.part(part, roots, meter)
    return roots


def _choice(run: StrategyRun, strategy: Choice, roots: Roots, meter: Meter) -> Roots:
    before = len(run.table.stages)
    for part in strategy.parts:
        found = run.part(part, roots, meter)
        if not _same(found, roots):
            return found
        del run.table.stages[before:]
    return roots


def _fixpoint(run: StrategyRun, strategy: Fixpoint, roots: Roots, meter: Meter) -> Roots:
    seen = {tuple(roots)}
    own = Meter(meter.limit, meter)
    while True:
        before = len(run.table.stages)
        found = run.part(strategy.part, roots, own)
        if _same(found, roots):
            del run.table.stages[before:]
            return roots
        if tuple(found) in seen:
            names = ", ".join(dict.fromkeys(map(str, own.recent)))
            raise RewriteError(
                f"{strategy} never ends: {describe(found[0])} comes again; the last fired: {names}",
                do="make these rules go down, or write repeat(..., times)",
            )
        seen.add(tuple(found))
        roots = found


def _repeat(run: StrategyRun, strategy: Repeat, roots: Roots, meter: Meter) -> Roots:
    for _ in range(strategy.times):
        before = len(run.table.stages)
        found = run.part(strategy.part, roots, meter)
        if _same(found, roots):
            del run.table.stages[before:]
            break
        roots = found
    return roots


def _at(run: StrategyRun, strategy: At, roots: Roots, meter: Meter) -> Roots:
    chosen = run.chosen(strategy.where, roots)
    if not chosen:
        return roots
    new = run.part(strategy.part, chosen, meter)
    return roots if _same(new, chosen) else run.put(roots, chosen, new)


def _budget(run: StrategyRun, strategy: Budget, roots: Roots, meter: Meter) -> Roots:
    return run.part(strategy.part, roots, Meter(strategy.steps, meter))


_ORDERS: Mapping[type[Strategy], Callable[[Roots, Stepper], Roots]] = {
    Outermost: outermost, TopDownOnce: top_down_once, BottomUpOnce: bottom_up_once, OneStep: one_step,
}  # fmt: skip
_RUNS: Mapping[type[Strategy], Callable[[StrategyRun, Any, Roots, Meter], Roots]] = {
    **dict.fromkeys((Innermost, Worklist, *_ORDERS), StrategyRun.applied),
    Sequence: _sequence, Choice: _choice, Fixpoint: _fixpoint, Repeat: _repeat, At: _at, Budget: _budget,
}  # fmt: skip


class _Same:
    """Rules compared by identity: hashing what they say would cost more than it saves."""

    def __init__(self, rules: RuleSet) -> None:
        self.rules, self.key = rules, tuple(map(id, rules))

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.key == other.key


@lru_cache(maxsize=32)
def _matcher(same: _Same, classes: tuple[str, ...], off: tuple[str, ...], folder: Path) -> Matcher:
    return Matcher(same.rules.of_class(classes).without(off), Cache(folder))
