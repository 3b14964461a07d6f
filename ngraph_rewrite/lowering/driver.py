# SPDX-License-Identifier: Apache-2.0
"""The driver: innermost first, iterative, linear, memoised in the replacement table, to the normal form."""

from __future__ import annotations

import gc
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

from ngraph_rewrite.errors import NGraphRewriteError, RewriteError
from ngraph_rewrite.lowering.table import ARGUMENTS, SHARED, Forward, Replaced, ReplacementTable, Stage
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.catalogue import OpDef
from ngraph_rewrite.terms.op import Op, describe, topological

# Steps allowed, for each term and for any graph: far more than a set of rules that terminates takes.
STEPS_PER_TERM, LEAST_STEPS = 100, 50_000


class Steps(Protocol):
    """What the driver asks: a function that takes one step, by op, and the reasons of steps by their numbers."""

    @property
    def steps(self) -> Mapping[OpDef, Any]: ...  # noqa: D102
    @property
    def reasons(self) -> Sequence[Rule | Replaced]: ...  # noqa: D102


class _Nothing(NamedTuple):
    steps: Mapping[OpDef, Any] = {}
    reasons: Sequence[Rule | Replaced] = ()


def adopt(roots: Iterable[Op], table: ReplacementTable, bank: TermBank) -> list[Op]:
    """The bank's copies of handles: equal ones become one. Recorded as a stage of its own."""
    roots = list(roots)
    stage = table.stage("share")
    for term in topological(roots):
        args = tuple([stage.normal[a] for a in term.args])
        own = stage.normal[term] = bank.adopt(term, args)
        if own is not term:
            stage.forward[term] = Forward(own, SHARED)
        if term.info.metadata:
            table.carry(term, own)
    return [stage.normal[root] for root in roots]


def normalise(
    roots: Iterable[Op],
    matcher: Steps,
    table: ReplacementTable,
    bank: TermBank,
    target: Any,
    name: str,
    budget: int | None = None,
) -> list[Op]:
    """The normal forms of `roots`; every step is recorded in a new stage of `table`.

    Args:
        roots: Terms of `bank`.
        budget: How many rules may fire; by default a hundred for each term, and fifty thousand.

    Raises:
        RewriteError: if a rule builds an ill-typed term, changes a type, or the rules run in a cycle.
    """
    roots = list(roots)
    stage = table.stage(name)
    if budget is None:
        budget = LEAST_STEPS + STEPS_PER_TERM * len(topological(roots))
    _run(roots, matcher, table, stage, bank, target, budget)
    return [stage.normal[root] for root in roots]


def replace(
    roots: Iterable[Op], replacements: Mapping[Op, Forward], table: ReplacementTable, bank: TermBank, name: str
) -> list[Op]:
    """The roots with terms replaced by others, recorded in a new stage; what replaces is replaced in too.

    Args:
        replacements: Terms of `bank` by terms of `bank` that they go to, with the reason.

    Raises:
        RewriteError: if a term is replaced by one that contains it.
    """
    roots = list(roots)
    stage = table.stage(name)
    stage.forward.update(replacements)
    for old, (new, _) in replacements.items():
        if table.metadata(old):
            table.carry(old, new)
    _run(roots, _Nothing(), table, stage, bank, None, 0)
    return [stage.normal[root] for root in roots]


def _run(
    roots: list[Op],
    matcher: Steps,
    table: ReplacementTable,
    stage: Stage,
    bank: TermBank,
    target: Any,
    budget: int,
) -> None:
    """One loop on one stack: a term waits for its arguments, then for what it was forwarded to.

    It is longer than a function should be: it runs for every term of every pass, and calls would double its time.
    """
    forward, normal, make, steps = stage.forward, stage.normal, bank.make, matcher.steps
    stack, waiting, fired = roots[::-1], set(), 0
    while stack:
        term = stack[-1]
        if term in normal:
            stack.pop()
            continue
        step = forward.get(term)
        if step is not None:
            found = normal.get(step.to)
            if found is not None:
                normal[term] = found
                stack.pop()
            elif term in waiting:
                raise _cycle(term, stage)
            else:
                waiting.add(term)
                stack.append(step.to)
            continue
        missing = [a for a in term.args if a not in normal]
        if missing:
            stack.extend(missing[::-1])
            continue
        args = tuple([normal[a] for a in term.args])
        if args != term.args:  # equal terms are the same object: this compares identities
            rebuilt = make(term.definition, args, term.attrs, term.info)
            forward[term] = Forward(rebuilt, ARGUMENTS)
            if table.metadata(term):
                table.carry(term, rebuilt)
            continue
        function = steps.get(term.definition)
        made = _step(function, term, make, target, matcher) if function is not None else None
        if made is None:
            normal[term] = term
            continue
        why, new = matcher.reasons[made[0]], made[1]
        if new.type is not term.type and new.type != term.type:
            raise RewriteError(
                f"rule {why.name} rewrites {term.type} to {new.type}", where=why.place, do="guard or mend the rule"
            )
        forward[term] = Forward(new, why)
        if table.metadata(term):
            table.carry(term, new)
        fired += 1
        if fired > budget:
            raise _exhausted(fired, stage)


def _step(function: Any, term: Op, make: Any, target: Any, matcher: Steps) -> tuple[int, Op] | None:
    try:
        return function(term, make, target)  # type: ignore[no-any-return]
    except RewriteError:
        raise
    except Exception as error:
        rule = _applied(error, matcher)
        if rule is None:
            raise
        what = error.what if isinstance(error, NGraphRewriteError) else f"{type(error).__name__}: {error}"
        raise RewriteError(
            f"rule {rule.name} fails on {describe(term)} of type {term.type}: {what}", where=rule.place
        ) from error


def _applied(error: Exception, matcher: Steps) -> Rule | Replaced | None:
    """The rule whose function raised, read off the traceback."""
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.name.startswith("apply_"):
            return matcher.reasons[int(frame.name.removeprefix("apply_"))]
    return None


def _cycle(term: Op, stage: Stage) -> RewriteError:
    names, seen, at = [], set(), term
    while at in stage.forward and at not in seen:
        seen.add(at)
        to, why = stage.forward[at]
        if not isinstance(why, str):
            names.append(str(why))
        at = to
    loop = ", ".join(names) or "a rule whose right side contains its left"
    return RewriteError(f"rewriting {describe(term)} runs in a cycle: {loop}", do="make one of the rules go down")


def _exhausted(fired: int, stage: Stage) -> RewriteError:
    rules = Counter(str(f.why) for f in list(stage.forward.values())[-1000:] if not isinstance(f.why, str))
    often = ", ".join(name for name, _ in rules.most_common(4))
    return RewriteError(f"{fired} steps did not reach a normal form; the last fired: {often}", do="check their order")


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Lowering builds many terms and no cycles: looking for some would double the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
