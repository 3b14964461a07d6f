# SPDX-License-Identifier: Apache-2.0
"""Terms of signatures brought to normal form: rules with conditions, lazy arguments, any depth, one step at a time.

A right side is built of normal forms: each term that is put on top is rewritten at once, inside the step that builds
it. Steps stand inside each other so far as Python allows; where one would stand too deep, all of them are given up,
the term that is missing is brought to its normal form first, and what is known by then makes trying again cheap.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

from ngraph_rewrite.errors import NGraphRewriteError, RewriteError
from ngraph_rewrite.lowering.stage import BY_ARGUMENTS, Taken
from ngraph_rewrite.lowering.steps import KnownSteps, Steps, step_error
from ngraph_rewrite.lowering.table import ReplacementTable
from ngraph_rewrite.rewriting.search import Answers
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.catalogue import OpDef
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.types.sorts import SortType

# How many steps may be taken if nothing else is said.
BUDGET = 1_000_000
# How many may stand inside each other, how many of Python's frames one takes, and how many are left alone.
NESTED, FRAMES, SPARE = 150, 6, 150
# How many steps are looked back at when rules are named.
RECENT = 200


class Waiting(Exception):
    """A step needs the normal form of a term first."""

    def __init__(self, term: Op) -> None:
        super().__init__()
        self.term = term


def evaluate(
    roots: Iterable[Op], matcher: Steps, table: ReplacementTable, bank: TermBank, name: str, budget: int | None = None
) -> list[Op]:
    """The normal forms of terms of a signature; every step is recorded in a new stage of `table`.

    Args:
        roots: Terms of `bank`.
        budget: How many rules may fire.

    Raises:
        RewriteError: if the steps are used up, the rules run in a cycle, or a rule fails.
    """
    roots = list(roots)
    evaluation = Evaluation(matcher, table, bank, name, BUDGET if budget is None else budget)
    for term in eager(roots):
        evaluation.settle(term)
    return [evaluation.normal[root] for root in roots]


def eager(roots: Iterable[Op]) -> list[Op]:
    """The terms that have to be normal before any rule is tried on a root, arguments first; any depth."""
    order: list[Op] = []
    seen: set[Op] = set()
    stack: list[Op | None] = list(roots)
    stack.reverse()
    while stack:
        term = stack.pop()
        if term is None:  # what stands below it was waiting for its arguments
            order.append(stack.pop())  # type: ignore[arg-type]
        elif term not in seen:
            seen.add(term)
            stack += (term, None)
            profile = term.definition.profile
            held = profile.held if profile is not None else ()
            stack += [a for i, a in enumerate(term.args) if i not in held][::-1] if held else term.args[::-1]
    return order


class Evaluation:
    """One stage at work.

    Attributes:
        together: `make`, as steps get it: they find this object in it.
        trail: The terms at which steps stand inside each other now.
        begun: Those at which a step was given up, and not yet taken.
    """

    __slots__ = (
        "add", "begun", "budget", "fired", "hold", "loose", "matcher", "nested", "normal", "stage",
        "steps", "tables", "taken", "together", "trail",
    )  # fmt: skip

    def __init__(self, matcher: Steps, table: ReplacementTable, bank: TermBank, name: str, budget: int) -> None:
        self.matcher, self.steps, self.budget = matcher, KnownSteps(matcher.steps), budget
        self.stage = table.stage(name, matcher.reasons, bank)
        self.normal, self.taken = self.stage.normal, self.stage.taken
        self.tables, self.add, self.hold, self.together = bank.tables, bank.add, bank.make, self.make
        self.trail: list[Op] = []
        self.begun: set[Op] = set()
        self.fired, self.nested, self.loose = 0, _room(), False

    # -- what steps call ----------------------------------------------------------------------------------

    def make(self, definition: OpDef, args: tuple[Op, ...], attrs: tuple[Any, ...]) -> Op:
        """The normal form of the term with this structure, whose arguments are normal, or held.

        Raises:
            Waiting: if that takes steps that would stand too deep.
        """
        term = self.tables[definition].get((args, attrs) if attrs else args)
        if term is None:
            term = self.add(definition, args, attrs)
        found = self.normal.get(term)
        if found is not None:
            return found
        profile = definition.profile
        if self.steps[definition] is not None or (profile is not None and profile.lazy):
            return self.visit(term)
        self.normal[term] = term
        return term

    def ready(self, term: Op) -> Op:
        """A side of a condition: it is normal, as all that is made is."""
        return term

    def found(self, term: Op, rule: int) -> Op:
        """What a condition of a rule takes apart: it is normal."""
        return term

    def matched(self, answers: Answers, term: Op, *given: Any) -> Iterator[tuple[Any, ...]]:
        """What a condition binds, in each way in which its pattern matches a normal form."""
        return answers(term, *given)

    def force(self, term: Op) -> Op:
        """The normal form of a term that was held.

        Raises:
            Waiting: if that takes steps that would stand too deep.
        """
        found = self.normal.get(term)
        return self.visit(term, True) if found is None else found

    def late(self, term: Op) -> Op:
        """A term that was held and is the whole right side: the next step finds it as it stood there."""
        self.loose = True
        return term

    # -- one step after the other ---------------------------------------------------------------------------

    def visit(self, term: Op, loose: bool = False) -> Op:
        """The normal form of a term: steps at its root are taken one after the other.

        It runs for every term: what it does together would take twice the time in several functions.

        Args:
            loose: Whether arguments that are not held may not be normal.

        Raises:
            Waiting: if that takes steps that would stand too deep.
            RewriteError: if the steps are used up, or lead back to a term they passed.
        """
        normal, taken, steps, trail = self.normal, self.taken, self.steps, self.trail
        if len(trail) >= self.nested:
            raise Waiting(term)
        passed: dict[Op, None] = {}
        found: Op | None = None
        trail.append(term)
        while found is None:
            made = taken.get(term)
            if made is not None:  # on the way to a step that was given up, or in a circle
                if term in passed:
                    raise self.cycle(passed)
                loose = True
            else:
                made = self.with_arguments(term, False) if loose else None
                if made is None and (step := steps[term.definition]) is not None:
                    trail[-1] = term
                    self.loose = False
                    made = step(term, self.together, None)
                    loose = self.loose
                    if made is not None:
                        self.fired += 1
                        if self.fired > self.budget:
                            raise self.exhausted()
                if made is None:
                    made = self.with_arguments(term, True)
                if made is None:
                    found = normal[term] = term
                    break
                taken[term] = made
            passed[term] = None
            term = made[1]
            found = normal.get(term)
        trail.pop()
        for one in passed:
            normal[one] = found
        if self.begun:
            self.begun.difference_update(passed)
        return found

    def with_arguments(self, term: Op, lazy: bool) -> Taken | None:
        """The step to the same operation with its arguments, or its lazy ones, in normal form; None if they are."""
        profile = term.definition.profile
        assert profile is not None
        if lazy:
            if not profile.lazy:
                return None
            args = tuple([self.force(a) if i in profile.lazy else a for i, a in enumerate(term.args)])
        else:
            args = tuple([a if i in profile.held else self.force(a) for i, a in enumerate(term.args)])
        return None if args == term.args else (BY_ARGUMENTS, self.hold(term.definition, args, term.attrs))

    # -- on a stack -----------------------------------------------------------------------------------------

    def settle(self, root: Op) -> Op:
        """The normal form of a term: steps that were given up are tried again when what they wait for is there."""
        self.trail.clear()  # an error may have left something there
        stack, waiting = [root], {root}
        while stack:
            term = stack[-1]
            try:
                self.force(term)
            except Waiting as missing:
                self.begun.update(self.trail)
                self.trail.clear()
                if missing.term in waiting:
                    raise self.cycle([*stack[stack.index(missing.term) :], *self.begun]) from None
                if self.fired + len(self.begun) > self.budget:
                    raise self.exhausted() from None
                stack.append(missing.term)
                waiting.add(missing.term)
            except RewriteError:
                raise
            except Exception as error:
                self.fails(error)
            else:
                stack.pop()
                waiting.discard(term)
        return self.normal[root]

    # -- what goes wrong ------------------------------------------------------------------------------------

    def fails(self, error: Exception) -> NoReturn:
        """Raise what a step raised, with the rule and the term at which it was tried."""
        at = error.__traceback__
        innermost = at
        while at is not None:
            innermost = at if at.tb_frame.f_code is Evaluation.visit.__code__ else innermost
            at = at.tb_next
        term = self.trail[-1]
        failed = step_error(error.with_traceback(innermost), term, self.matcher)
        if failed is None:
            raise error
        raise failed from error

    def exhausted(self) -> RewriteError:
        """The error for steps that are used up; it names the rules that fired last, or were about to."""
        last = [self.matcher.reasons[n] for n, _ in list(self.taken.values())[-RECENT:] if n >= 0]
        often: dict[str, int] = {}
        for name in map(str, [*last, *self.rules(self.begun)]):
            often[name] = often.get(name, 0) + 1
        names = ", ".join(sorted(often, key=lambda name: -often[name])[:4])
        what = f"{self.budget} steps did not reach a normal form; the last fired: {names}"
        return RewriteError(what, do="give more with budget=, or check the rules")

    def cycle(self, terms: Iterable[Op]) -> RewriteError:
        """The error for a term that is needed for its own normal form."""
        terms = list(terms)
        names = ", ".join(dict.fromkeys(map(str, self.rules(terms)))) or "a rule whose condition asks for its left side"
        return RewriteError(
            f"rewriting {describe(terms[0])} runs in a cycle: {names}", do="let one of the rules go down"
        )

    def rules(self, terms: Iterable[Op]) -> list[Any]:
        """The rules that fire at terms at which steps were given up, their conditions aside."""
        found = []
        for term in list(terms)[-RECENT:]:
            step = self.steps[term.definition]
            try:
                made = None if step is None else step(term, _Hopeful(self).make, None)
            except _Perhaps as perhaps:
                made = perhaps.rule, term
            except NGraphRewriteError:
                made = None
            if made is not None:
                found.append(self.matcher.reasons[made[0]])
        return found


class _Perhaps(Exception):
    """A condition of a rule matches what is not known yet."""

    def __init__(self, rule: int) -> None:
        super().__init__()
        self.rule = rule


class _Hopeful:
    """Takes what an evaluation knows for conditions, and whatever they ask beyond for true."""

    def __init__(self, evaluation: Evaluation) -> None:
        self.evaluation, self.hold = evaluation, evaluation.hold

    def make(self, definition: OpDef, args: tuple[Op, ...], attrs: tuple[Any, ...]) -> Op:
        return self.hold(definition, args, attrs)

    def force(self, term: Op) -> Op:
        return term

    late = force

    def ready(self, term: Op) -> Op | None:
        return self.evaluation.normal.get(term)

    def matched(self, answers: Answers, term: Op, *given: Any) -> Iterator[tuple[Any, ...]]:
        return answers(self.found(term, answers.index), *given)

    def found(self, term: Op, rule: int) -> Op:
        known = self.ready(term)
        if known is None:
            raise _Perhaps(rule)
        return known


def _room() -> int:
    """How many steps may stand inside each other here, far from what Python refuses."""
    used, frame = 0, sys._getframe()
    while frame.f_back is not None:
        used, frame = used + 1, frame.f_back
    return max(1, min(NESTED, (sys.getrecursionlimit() - used - SPARE) // FRAMES))


def is_of_signature(term: Op) -> bool:
    """Whether a term is no tensor."""
    return isinstance(term.type, SortType)
