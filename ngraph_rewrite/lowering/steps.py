# SPDX-License-Identifier: Apache-2.0
"""Steps as drivers ask for them, and the errors of steps that fail, run in a cycle, or do not come to an end."""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from ngraph_rewrite.errors import RewriteError
from ngraph_rewrite.lowering.stage import Replaced, Stage
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.rewriting.slots import ASKER
from ngraph_rewrite.terms.catalogue import OpDef
from ngraph_rewrite.terms.declaring import told
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.written import describe


class Steps(Protocol):
    """What the driver asks: a function that takes one step, by op, and the reasons of steps by their numbers.

    A step function may have an attribute `collapse`: what it says of a term that is not built yet, by its arguments
    and attributes (see `ngraph_rewrite.rewriting.collapse`). Of one that has none each term is built.
    """

    @property
    def steps(self) -> Mapping[OpDef, Any]: ...
    @property
    def reasons(self) -> Sequence[Rule | Replaced]: ...


class KnownSteps(dict[OpDef, Any]):
    """Step functions by op, each looked for once; None of an op that has none."""

    __slots__ = ("_steps",)

    def __init__(self, steps: Mapping[OpDef, Any]) -> None:
        self._steps = steps

    def __missing__(self, definition: OpDef) -> Any:
        found = self[definition] = self._steps.get(definition)
        return found


def step_error(error: Exception, term: Op, matcher: Steps) -> RewriteError | None:
    """What a step raised, with the rule and the term; None, if no rule did."""
    rule = _applied(error, matcher)
    if rule is None:
        return None
    what = told(error)
    return RewriteError(f"rule {rule.name} fails on {describe(term)} of type {term.type}: {what}", where=rule.place)


def _applied(error: Exception, matcher: Steps) -> Rule | Replaced | None:
    """The rule whose function raised, or that asked what raised in a decision tree, read off the traceback."""
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.name.startswith("apply_"):
            return matcher.reasons[int(frame.name.removeprefix("apply_"))]
        asker = ASKER.search(frame.line or "") if frame.name.startswith("step_") else None
        if asker is not None:
            return matcher.reasons[int(asker[1])]
    return None


def ill_typed(term: Op, new: Op, why: Rule | Replaced) -> RewriteError:
    """The error for a step that changes a type."""
    what = f"rule {why.name} rewrites {term.type} to {new.type}"
    return RewriteError(what, where=why.place, do="guard or mend the rule")


def cycle_error(term: Op, stage: Stage) -> RewriteError:
    """The error for a term that is needed for its own normal form; it names the rules on the way."""
    reasons, seen, at = list[Rule | Replaced](), set[Op](), term
    while at in stage.forward and at not in seen:
        seen.add(at)
        to, why = stage.forward[at]
        if not isinstance(why, str):
            reasons.append(why)
        at = to
    loop = ", ".join(map(str, reasons)) or "a rule whose right side contains its left"
    by_rules = not reasons or any(isinstance(why, Rule) for why in reasons)
    do = "make one of the rules go down" if by_rules else "replace a term by one that does not come back to it"
    return RewriteError(f"rewriting {describe(term)} runs in a cycle: {loop}", do=do)


def exhausted(fired: int, stage: Stage) -> RewriteError:
    """The error for steps that are used up; it names the rules that fired last."""
    rules = Counter(str(f.why) for f in list(stage.forward.values())[-1000:] if not isinstance(f.why, str))
    often = ", ".join(name for name, _ in rules.most_common(4))
    return RewriteError(f"{fired} steps did not reach a normal form; the last fired: {often}", do="check their order")
