# SPDX-License-Identifier: Apache-2.0
"""Strategies say in which order, where and how often the rules of a set are tried: data that compose.

`innermost`, `outermost`, `worklist`, `top_down_once`, `bottom_up_once` and `one_step` apply a set of rules; `sequence`,
`choice`, `fixpoint`, `repeat`, `at` and `budget` make strategies of strategies. `ng.rewrite` runs one on terms, and
`ng.StrategyPass` in a transformer. After Visser, *A survey of strategies in rule-based program transformation
systems* (2005), on graphs instead of trees: each distinct term is looked at once, and a redex is rewritten once,
wherever it stands.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.rewriting.inline import as_rules
from ngraph_rewrite.rewriting.rule import RuleSet
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op

Rules = RuleSet | str | os.PathLike[str]


@dataclass(frozen=True)
class Strategy:
    """A way to rewrite: one of the classes below, made by the function of its name."""

    @property
    def name(self) -> str:
        """The function that makes it."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", type(self).__name__).lower()

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(map(_shown, vars(self).values()))})"


def _shown(value: object) -> str:
    if isinstance(value, RuleSet):
        return f"{len(value)} rule{'' if len(value) == 1 else 's'}"
    if isinstance(value, tuple):
        return ", ".join(map(repr, value))
    return getattr(value, "__name__", repr(value))


@dataclass(frozen=True, repr=False)
class Applied(Strategy):
    """A set of rules, tried in some order: the base of `Innermost` and its like."""

    rules: RuleSet


class Innermost(Applied):
    """To the normal form, arguments before what is built of them."""


class Outermost(Applied):
    """To the normal form, a term before its arguments."""


class Worklist(Applied):
    """To the normal form as `Innermost`; what it has seen before it does not look at again."""


class TopDownOnce(Applied):
    """Each term is tried once, before its arguments."""


class BottomUpOnce(Applied):
    """Each term is tried once, after its arguments."""


class OneStep(Applied):
    """One redex is rewritten: the first from the top."""


@dataclass(frozen=True, repr=False)
class Sequence(Strategy):
    """One after the other."""

    parts: tuple[Strategy, ...]


@dataclass(frozen=True, repr=False)
class Choice(Strategy):
    """The first that changes something."""

    parts: tuple[Strategy, ...]


@dataclass(frozen=True, repr=False)
class Fixpoint(Strategy):
    """Again and again until nothing changes."""

    part: Strategy


@dataclass(frozen=True, repr=False)
class Repeat(Strategy):
    """So many times, or until nothing changes."""

    part: Strategy
    times: int


@dataclass(frozen=True, repr=False)
class At(Strategy):
    """Only at some terms and what is below them."""

    where: tuple[Op, ...] | Callable[[Op], bool]
    part: Strategy


@dataclass(frozen=True, repr=False)
class Budget(Strategy):
    """With at most so many steps."""

    part: Strategy
    steps: int


# -- rules ------------------------------------------------------------------------------------------


def innermost(rules: Rules) -> Strategy:
    """To the normal form, arguments first: what every pass of a transformer does.

    Args:
        rules: A set, the path of a rule file, or the text of one, as everywhere.

    Raises:
        ArgumentError: for derive rules, which rewrite no term.
        RuleFileError: for a rule file with a mistake.

    >>> import ngraph_rewrite as ng
    >>> ng.strategies.innermost(ng.rule("x * 1 => x"))
    innermost(1 rule)
    """
    return Innermost(_rules(rules))


def outermost(rules: Rules) -> Strategy:
    """To the normal form, a term before its arguments: what a rule drops is not rewritten first.

    When an argument has changed, the terms above it are tried again as far up as rules look down.
    It ends where `innermost` may not, and takes longer where both end.
    """
    return Outermost(_rules(rules))


def worklist(rules: Rules) -> Strategy:
    """To the normal form, as `innermost`, from a list of terms whose arguments are ready.

    It keeps who uses whom, and what it found normal. In a `fixpoint` or a `sequence` the next run of the same
    worklist looks only at the terms that others have made meanwhile.
    """
    return Worklist(_rules(rules))


def top_down_once(rules: Rules) -> Strategy:
    """One sweep from the roots down: each term of the graph is tried once, before its arguments.

    What a step builds is not tried, but the terms of the graph inside it are.
    """
    return TopDownOnce(_rules(rules))


def bottom_up_once(rules: Rules) -> Strategy:
    """One sweep from the leaves up: each term is tried once, when its arguments have been."""
    return BottomUpOnce(_rules(rules))


def one_step(rules: Rules) -> Strategy:
    """One step: the first redex from the top and from the left is rewritten, wherever it stands."""
    return OneStep(_rules(rules))


def _rules(rules: Rules) -> RuleSet:
    found = as_rules(rules)
    derive = next((r for r in found if r.kind == "derive"), None)
    if derive is not None:
        what = f"{derive.name} is a derive rule: it says what an adjoint is, and rewrites no term"
        raise ArgumentError(what, where=user_line(), do='take others, such as rules.of_kind("simplify")')
    return found


# -- strategies of strategies -------------------------------------------------------------------------


def sequence(*parts: Strategy) -> Strategy:
    """One strategy after the other."""
    return Sequence(_strategies(parts))


def choice(*parts: Strategy) -> Strategy:
    """The first of these strategies that changes something; the others do not run."""
    return Choice(_strategies(parts))


def fixpoint(part: Strategy) -> Strategy:
    """A strategy again and again, until it changes nothing.

    >>> import ngraph_rewrite as ng
    >>> s = ng.strategies
    >>> s.fixpoint(s.budget(s.top_down_once(ng.rule("x * 1 => x")), steps=10))
    fixpoint(budget(top_down_once(1 rule), 10))
    """
    return Fixpoint(*_strategies((part,)))


def repeat(part: Strategy, times: int) -> Strategy:
    """A strategy so many times; it ends early when nothing changes.

    Raises:
        ArgumentError: for something else than a number of at least 0.
    """
    return Repeat(_strategies((part,))[0], as_count(times, "times"))


def at(where: Op | Iterable[Op] | Callable[[Op], bool], part: Strategy) -> Strategy:
    """A strategy at some terms only, and below them: what stands above is built again of what they become.

    Args:
        where: Terms of the graph that is rewritten, or a function that says of a term whether it is one.
        part: It gets these terms as its roots. Of two that stand in each other the outer one counts.
    """
    if isinstance(where, Op):
        where = (where,)
    elif not callable(where):
        where = tuple(where) if isinstance(where, Iterable) else (where,)
        if not all(isinstance(term, Op) for term in where):
            raise ArgumentError(
                f"{where!r} are not all terms", where=user_line(), do="give terms, or a function of one"
            )
    return At(where, *_strategies((part,)))


def budget(part: Strategy, steps: int) -> Strategy:
    """A strategy that may take so many steps: one more is an error that names the rules that fired last.

    Raises:
        ArgumentError: for something else than a number of at least 0.
    """
    return Budget(_strategies((part,))[0], as_count(steps, "steps"))


def _strategies(parts: tuple[Strategy, ...]) -> tuple[Strategy, ...]:
    for part in parts:
        if not isinstance(part, Strategy):
            do = "write ng.strategies.innermost(rules) for a set of rules"
            raise ArgumentError(f"{part!r} is no strategy", where=user_line(), do=do)
    return parts


def as_count(number: int, what: str) -> int:
    """A number of at least 0; `what` is its name in messages.

    Raises:
        ArgumentError: for anything else.
    """
    if isinstance(number, bool) or not isinstance(number, int) or number < 0:
        raise ArgumentError(f"{what} is {number!r}", where=user_line(), do="give a number of at least 0")
    return number
