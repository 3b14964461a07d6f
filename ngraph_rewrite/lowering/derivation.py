# SPDX-License-Identifier: Apache-2.0
"""A derivation as text: each step with its rule, the rule's place, and the term before and after."""

from __future__ import annotations

from collections.abc import Iterator

from ngraph_rewrite.lowering.table import ReplacementTable
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.terms.op import Op, describe, topological


def derivation(table: ReplacementTable, op: Op) -> str:
    """How the handles under `op`, and `op` last, were rewritten to their normal forms."""
    handles = [t for t in topological([op]) if t.args and table.knows(t)]
    if not handles:
        return f"{describe(op)} is not part of this computation"
    return "\n".join(line for handle in handles for line in _steps(table, handle))


def _steps(table: ReplacementTable, handle: Op) -> Iterator[str]:
    place = f"  built at {handle.info.place}" if handle.info.lineno else ""
    yield f"{describe(handle, 2)} : {handle.type}{place}"
    for step in table.history(handle):
        if isinstance(step.why, Rule):
            yield f"    {step.stage}: {step.why.name}  ({step.why.place})"
            yield f"        {' '.join(step.why.text.split())}"
            yield f"        {describe(step.before, 3)}"
            yield f"     => {describe(step.after, 4)}"
        elif step.stage == "sequence":
            yield f"    sequenced: {describe(step.after, 3)}"
    yield f"    normal form: {describe(table.snap(handle), 6)}"


def reason_removed(table: ReplacementTable, op: Op) -> str:
    """Why a handle's value is not computed: the rule that made it superfluous, if one can be named."""
    images = {op, *(step.after for step in table.history(op)), table.snap(op)}
    images |= {image.args[0] for image in images if image.definition.name == "core.label"}
    for step in table.redexes():
        if not images.isdisjoint(_near(step.before)) and images.isdisjoint(_near(step.after)):
            return f"rewriting removed it: {step.why}"
    return "nothing that is returned needs it"


def _near(term: Op, depth: int = 5) -> set[Op]:
    """The terms a rule can have looked at, or kept: down to a few levels."""
    found = {term}
    level = {term}
    for _ in range(depth):
        level = {a for t in level for a in t.args}
        found |= level
    return found
