# SPDX-License-Identifier: Apache-2.0
"""A derivation as text: each step with its rule, the rule's place, and the term before and after.

What a rule's right side says and what it came to are two things: as a right side is built, its parts are rewritten.
Both are shown, and the steps of the parts after them. The right side is had by applying the rule once more.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from itertools import islice

from ngraph_rewrite.lowering.replaying import Replay, Seen
from ngraph_rewrite.lowering.rule_lines import conditional_lines, equation
from ngraph_rewrite.lowering.table import Replaced, ReplacementTable, Step
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.terms.op import Op, describe, topological

LONGEST = 1000  # handles of one derivation; of deeper graphs only what is next to the root is shown
MOST_STEPS = 2000  # steps of one handle
WIDTH = 100
# How many levels of a term are shown at most.
LEVELS = 6


def derivation(table: ReplacementTable, op: Op, replay: Replay | None = None) -> str:
    """How the handles under `op`, and `op` last, were rewritten to their normal forms.

    Args:
        replay: What can apply the rules again; without one, right sides are shown as they ended.
    """
    handles = [t for t in topological([op]) if t is op or (t.args and table.knows(t) and not _idle(table, t))]
    handles = handles if table.knows(op) else []
    if not handles:
        return f"{describe(op)} is not part of this computation"
    deeper = handles[:-LONGEST]
    handles = handles[len(deeper) :]
    replay = replay or Replay(table)
    replay.shown.update(step.before for handle in handles for step in table.history(handle))
    lines = [f"({len(deeper)} ops further down are not shown)"] if deeper else []
    return "\n".join([*lines, *(line for handle in handles for line in _derived(table, handle, replay))])


def _idle(table: ReplacementTable, term: Op) -> bool:
    """Whether a term is only a part of others: a term of a signature to which nothing happened, such as a number."""
    return term.definition.profile is not None and not any(not isinstance(s.why, str) for s in table.history(term))


def _derived(table: ReplacementTable, handle: Op, replay: Replay) -> Iterator[str]:
    place = f"  built at {handle.info.place}" if handle.info.lineno else ""
    yield f"{describe(handle, 2)} : {handle.type}{place}"
    steps = replay.steps(handle)
    for seen in islice(steps, MOST_STEPS):
        yield from _step(seen, handle)
    if next(steps, None) is not None:
        yield f"    (the first {MOST_STEPS} steps; the table has all, {sum(1 for _ in table.redexes())} in this run)"
    yield from wrapped("    normal form: ", shown(table.snap(handle)))


def _step(seen: Seen, handle: Op) -> Iterator[str]:
    stage, before, after, why = seen.step
    if isinstance(why, str):
        yield from wrapped(f"    {why}: ", shown(after))
        return
    place = before.info.place
    line = f"  for {place}" if before.info.lineno and place != handle.info.place else ""
    yield f"    {stage}: {why.name}  ({why.place}){line}"
    if isinstance(why, Rule):
        yield from wrapped(" " * 8, equation(why))
        yield from (line for said in conditional_lines(why) for line in wrapped(" " * 12, said))
    yield from wrapped(" " * 8, shown(before))
    yield from wrapped("     => ", shown(after if seen.right is None else seen.right))
    if seen.right is not None and not seen.right.same_as(after):
        yield from wrapped("     -> ", f"{shown(after)}  once its parts are rewritten")
    for said in why.lines if isinstance(why, Replaced) else ():
        yield from wrapped(" " * 8, said)


def explained(step: Step, right: Op | None = None) -> str:
    """One step as it stands in a derivation.

    Args:
        right: What the rule's right side says, if that is known.
    """
    return "\n".join(_step(Seen(step, right), step.before))


def shown(term: Op) -> str:
    """A term to three levels, and to more where they fit into a line."""
    found = describe(term, 3)
    for depth in range(4, LEVELS + 1):
        deeper = describe(term, depth)
        if len(deeper) > WIDTH - 8:
            break
        found = deeper
    return found


def wrapped(begins: str, text: str, width: int = WIDTH) -> list[str]:
    """Text in lines that fit, each after the first indented below its beginning.

    >>> wrapped("  => ", "f(x, y, z)", 12)
    ['  => f(x, y,', '     z)']
    """
    indent = " " * len(begins)
    return textwrap.wrap(
        text, width, initial_indent=begins, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


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
