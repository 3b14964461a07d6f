# SPDX-License-Identifier: Apache-2.0
"""A derivation as text: each step with its rule, the rule's place, and the term before and after."""

from __future__ import annotations

from collections.abc import Iterator

from ngraph_rewrite.lowering.table import ARGUMENTS, SEQUENCED, Replaced, ReplacementTable, Stage
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.terms.op import Op, describe, topological

LONGEST = 1000  # handles of one derivation; of deeper graphs only what is next to the root is shown


def derivation(table: ReplacementTable, op: Op) -> str:
    """How the handles under `op`, and `op` last, were rewritten to their normal forms."""
    handles = [t for t in topological([op]) if t.args and table.knows(t)]
    if not handles:
        return f"{describe(op)} is not part of this computation"
    deeper = handles[:-LONGEST]
    handles = handles[len(deeper) :]
    shown = {step.before for handle in handles for step in table.history(handle)}
    lines = [f"({len(deeper)} ops further down are not shown)"] if deeper else []
    return "\n".join([*lines, *(line for handle in handles for line in _derived(table, handle, shown))])


def _derived(table: ReplacementTable, handle: Op, shown: set[Op]) -> Iterator[str]:
    place = f"  built at {handle.info.place}" if handle.info.lineno else ""
    yield f"{describe(handle, 2)} : {handle.type}{place}"
    term = handle
    for stage in table.stages:
        yield from _chain(stage, term, shown)
        term = stage.normal.get(term, stage.forward[term].to if term in stage.forward else term)
    yield f"    normal form: {describe(table.snap(handle), 6)}"


def _chain(stage: Stage, term: Op, shown: set[Op]) -> Iterator[str]:
    """The steps of a term in one stage; those of new arguments stand where they became normal."""
    stack = [term]
    while stack:
        term = stack.pop()
        if term not in stage.forward:
            continue
        to, why = stage.forward[term]
        if not isinstance(why, str):
            yield from _step(stage, term, to, why)
        elif why == SEQUENCED:
            yield f"    sequenced: {describe(to, 3)}"
        stack.append(to)
        if why == ARGUMENTS:
            new = [a for a in term.args if a not in shown]
            shown.update(new)
            stack.extend(reversed(new))


def _step(stage: Stage, before: Op, after: Op, why: Rule | Replaced) -> Iterator[str]:
    yield f"    {stage.name}: {why.name}  ({why.place})"
    if isinstance(why, Rule):
        yield f"        {' '.join(why.text.split())}"
    yield f"        {describe(before, 3)}"
    yield f"     => {describe(after, 4)}"


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
