# SPDX-License-Identifier: Apache-2.0
"""A strategy as a pass of a transformer: it stands among the others, and is explained as they are."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence as Terms
from typing import Any

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.lowering.graph_passes import GraphPass
from ngraph_rewrite.lowering.passes import SAFE_CLASSES
from ngraph_rewrite.lowering.strategies import Strategy
from ngraph_rewrite.lowering.strategy_runs import StrategyRun
from ngraph_rewrite.lowering.table import ReplacementTable
from ngraph_rewrite.rewriting.given import given_classes
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op


class StrategyPass(GraphPass):
    """A pass that runs a strategy: ``make_transformer("cpu", passes=[StrategyPass(strategy, after="lower")])``.

    Args:
        strategy: One that `ng.strategies` makes.
        name: What explanations and other passes call it; by default as the function that made it.
        before: The name of the pass it stands before; without `before` and `after` it stands before all others.
        after: The name of the pass it stands after.
        classes: The classes of rules that may fire.

    Raises:
        ArgumentError: for something else than a strategy, an unknown class, or `before` and `after` together.

    >>> import ngraph_rewrite as ng
    >>> once = ng.strategies.bottom_up_once(ng.rule("x * 1 => x"))
    >>> StrategyPass(once, after="lower")
    StrategyPass(bottom_up_once(1 rule), after='lower')
    """

    def __init__(
        self,
        strategy: Strategy,
        name: str | None = None,
        *,
        before: str | None = None,
        after: str | None = None,
        classes: Iterable[str] = SAFE_CLASSES,
    ) -> None:
        if not isinstance(strategy, Strategy):
            raise ArgumentError(f"{strategy!r} is no strategy", where=user_line(), do="ng.strategies makes some")
        super().__init__(before=before, after=after)
        self.strategy, self.classes, self.name = strategy, given_classes(classes), name or strategy.name

    def __repr__(self) -> str:
        place = f", before={self.before!r}" if self.before else f", after={self.after!r}" if self.after else ""
        return f"{type(self).__name__}({self.strategy!r}{place})"

    def applied(self, roots: Terms[Op], table: ReplacementTable, bank: TermBank, target: Any) -> list[Op]:
        """As `GraphPass.applied`."""
        run = StrategyRun(table, bank, target, self.classes, Cache(), self.name)
        return run.run(self.strategy, roots)
