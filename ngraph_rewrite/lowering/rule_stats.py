# SPDX-License-Identifier: Apache-2.0
"""The figures of rules in one lowering: it is done once more, in a block that counts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ngraph_rewrite.lowering.counting import RuleStats, stats
from ngraph_rewrite.lowering.passes import Passes, lower
from ngraph_rewrite.terms.op import Op


def rule_stats(roots: Iterable[Op], target: Any, passes: Passes) -> RuleStats:
    """Lower `roots` once more with all rules counted.

    Raises:
        RewriteError: as lowering does.
    """
    with stats() as found:
        lower(roots, target, passes, complete=False)
    return found.now()
