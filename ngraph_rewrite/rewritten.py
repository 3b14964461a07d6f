# SPDX-License-Identifier: Apache-2.0
"""Terms rewritten by a strategy, and the table that says what became of each and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.garbage import no_garbage_collection
from ngraph_rewrite.lazy import lazy_module
from ngraph_rewrite.lowering.derivation import derivation
from ngraph_rewrite.lowering.disabling import Choice, disabled_now
from ngraph_rewrite.lowering.driver import adopt
from ngraph_rewrite.lowering.passes import SAFE_CLASSES
from ngraph_rewrite.lowering.replaying import Replay
from ngraph_rewrite.lowering.sequencing import Sequenced, sequence
from ngraph_rewrite.lowering.stage import SEQUENCED, Forward
from ngraph_rewrite.lowering.strategies import Strategy
from ngraph_rewrite.lowering.strategy_runs import StrategyRun
from ngraph_rewrite.lowering.table import ReplacementTable
from ngraph_rewrite.rewriting.asked_target import Target as Anything
from ngraph_rewrite.rewriting.given import given_classes
from ngraph_rewrite.rewriting.rule import Rule, RuleSet
from ngraph_rewrite.targets.choices import as_target
from ngraph_rewrite.targets.target import Target
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.written import describe

if TYPE_CHECKING:
    from ngraph_rewrite.lowering import why_not
    from ngraph_rewrite.lowering.verdicts import WhyNot
else:  # for questions
    why_not = lazy_module("ngraph_rewrite.lowering.why_not")


@dataclass(frozen=True)
class Rewritten:
    """What a strategy made of a graph.

    Attributes:
        roots: What the roots became, in order.
        table: Where every term went, and why.
        writes: What the writes of the graph became, in the order in which they happen.
        replay: What can take the steps again, to show what rules say.
        sequenced: The roots as they were given, with their effects in order.
        choice: The rules of the strategy, and which of them might fire.
    """

    roots: list[Op]
    table: ReplacementTable
    writes: list[Op]
    replay: Replay = field(repr=False)
    sequenced: Sequenced = field(repr=False)
    choice: Choice = field(repr=False)

    @property
    def root(self) -> Op:
        """What the first root became."""
        return self.roots[0]

    @property
    def bank(self) -> TermBank:
        """The bank that has all terms that were made."""
        assert self.replay.bank is not None
        return self.replay.bank

    def explain(self, op: Op) -> str:
        """How a term of the graph was rewritten, step by step."""
        return derivation(self.table, op, self.replay.again())

    def why_not(self, rule: str, op: Op) -> WhyNot:
        """Why a rule did not fire on a term of the graph: how far it matches, what its conditions say, what came first.

        Args:
            rule: Its name; one written with ``for`` stands for all its alternatives.

        Raises:
            ArgumentError: for a name that no rule of the strategy has (the message tells the nearest), or something
                else than a term of the graph.

        >>> import ngraph_rewrite as ng
        >>> x = ng.placeholder([ng.Axis("H", 3)], name="x")
        >>> twice = ng.rule("negative(negative(x)) => x", family="axes", name="twice")
        >>> term = -ng.exp(-x)
        >>> print(rewrite(term, ng.strategies.innermost(twice)).why_not("twice", term))  # doctest: +ELLIPSIS
        twice.twice @exact  (<twice>:3)
        does not match on axes.negative(axes.exp(axes.negative(x))), a form in the pass innermost...
            negative(negative(x)) => x
                     ^^^^^^^^^^^
                expected axes.negative, here stands axes.exp(axes.negative(x))...
        """
        if not isinstance(op, Op) or not self.table.knows(op):
            what = f"{describe(op, 2) if isinstance(op, Op) else repr(op)} is no term of the graph that was rewritten"
            raise ArgumentError(what, where=user_line(), do="ask about one of those that were given, or below them")
        replay = self.replay
        return why_not.why_not(rule, op, self, replay.matchers, replay.target, self.choice)


def rewrite(
    roots: Op | Iterable[Op],
    strategy: Strategy,
    *,
    target: str | Target | None = None,
    classes: Iterable[str] = SAFE_CLASSES,
) -> Rewritten:
    """Rewrite terms by a strategy. The graph that is given stays as it is.

    Args:
        roots: A term, or several.
        strategy: One that `ng.strategies` makes.
        target: What guards may ask; without one they are told of a target that executes everything.
        classes: The classes of rules that may fire; all but ``"fast"`` by default.

    Raises:
        ArgumentError: for something else than terms, a strategy, classes or a target.
        RewriteError: if rules run in a cycle, steps are used up, or a rule fails or changes a type.

    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder([ng.Axis("H", 3)], name="x")
    >>> twice = ng.rule("negative(negative(x)) => x", family="axes")
    >>> rewrite(-(-ng.tanh(-(-x))), ng.strategies.innermost(twice)).root
    axes.tanh(x)
    """
    given = list(roots) if isinstance(roots, Iterable) and not isinstance(roots, Op) else [roots]
    chosen = given_classes(classes)
    for term in given:
        if not isinstance(term, Op):
            raise ArgumentError(f"{term!r} is not a term", where=user_line(), do="give terms to rewrite")
    if not isinstance(strategy, Strategy):
        raise ArgumentError(f"{strategy!r} is no strategy", where=user_line(), do="ng.strategies makes some")
    asked: Any = Anything() if target is None else as_target(target)
    with no_garbage_collection():
        return _rewritten(given, strategy, asked, chosen)


def _rewritten(roots: list[Op], strategy: Strategy, target: Any, classes: tuple[str, ...]) -> Rewritten:
    sequenced, table, bank = sequence(roots), ReplacementTable(), TermBank()
    first = table.stage("sequence")
    first.forward.update((h, Forward(t, SEQUENCED)) for h, t in sequenced.terms.items())
    terms = adopt([*sequenced.roots, *sequenced.writes], table, bank)
    run = StrategyRun(table, bank, target, classes, Cache())
    found = run.run(strategy, terms)
    replay = Replay(table, bank, run.matchers, target)
    choice = Choice(RuleSet({id(r): r for r in _rules(strategy)}.values()), classes, disabled_now())
    return Rewritten(found[: len(roots)], table, found[len(roots) :], replay, sequenced, choice)


def _rules(strategy: Strategy) -> Iterator[Rule]:
    """The rules of a strategy, and of all that it is made of."""
    for value in vars(strategy).values():
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, RuleSet):
                yield from part
            elif isinstance(part, Strategy):
                yield from _rules(part)
