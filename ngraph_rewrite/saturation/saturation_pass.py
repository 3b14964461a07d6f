# SPDX-License-Identifier: Apache-2.0
"""Equality saturation as a pass of a transformer, where effects are in order and the target's ops are known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ngraph_rewrite.lowering.graph_passes import GraphPass
from ngraph_rewrite.lowering.passes import SAFE_CLASSES
from ngraph_rewrite.lowering.table import ReplacementTable
from ngraph_rewrite.saturation.choosing import Plan, choose
from ngraph_rewrite.saturation.cost import Cost, launches_and_bytes
from ngraph_rewrite.saturation.exploring import Bounds
from ngraph_rewrite.saturation.planning import EFFORT, Rules, planned
from ngraph_rewrite.saturation.saturate import Saturated, saturated
from ngraph_rewrite.targets.choices import find_target
from ngraph_rewrite.targets.target import Target
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op


class SaturationPass(GraphPass):
    """Equality saturation as a pass of a transformer: ``make_transformer("cpu", passes=[ng.SaturationPass()])``.

    It stands after ``lower``, where all is said in the ops that the target executes, unless it is told where to
    stand. Effects and random draws stay what and where they are.

    Args:
        rules, cost, both_ways, classes, iterations, nodes, seconds, matches, effort: As for `saturate`.
        before, after: As for every `GraphPass`.

    Attributes:
        last: What the last run gave; None before the first.

    Raises:
        ArgumentError, RuleFileError: as `saturate`.
    """

    name = "saturate"

    def __init__(
        self,
        rules: Rules = None,
        cost: Cost = launches_and_bytes,
        *,
        both_ways: Iterable[str] | str = (),
        classes: Iterable[str] = SAFE_CLASSES,
        iterations: int = Bounds().iterations,
        nodes: int = Bounds().nodes,
        seconds: float = Bounds().seconds,
        matches: int = Bounds().matches,
        effort: int = EFFORT,
        before: str | None = None,
        after: str | None = None,
    ) -> None:
        super().__init__(before=before, after=after if before is not None or after is not None else "lower")
        bounds = Bounds(iterations, nodes, seconds, matches)
        self._asked = rules, cost, both_ways, tuple(classes)
        self._limits = bounds, effort
        self._place = user_line()
        self._plan(find_target("cpu"))  # refuses what cannot be asked
        self.last: Saturated | None = None

    def _plan(self, target: Target) -> Plan:
        return planned(*self._asked, target, *self._limits)

    def applied(self, roots: Sequence[Op], table: ReplacementTable, bank: TermBank, target: Target) -> list[Op]:
        """The cheapest equal terms of the roots; after ``lower`` they keep to the ops that the target executes."""
        base, plan = target.base, self._plan(target)
        executed = self.after in ("lower", "select") and base is not None
        found = choose(
            roots, plan, table, bank, target, self.name, self._place,
            lambda definition: not executed or base is None or definition.name in base,
        )  # fmt: skip
        self.last = saturated(found, found.roots, table, plan)
        return found.roots
