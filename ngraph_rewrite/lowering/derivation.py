# SPDX-License-Identifier: Apache-2.0
"""A derivation as text: each step with its rule, the rule's place, and the term before and after.

What a rule's right side says and what it came to are two things: as a right side is built, its parts are rewritten.
Both are shown, and the steps of the parts after them. The right side is had by applying the rule once more. So is what
the conditions of a rule of a signature compared, whose steps stand below its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.garbage import no_garbage_collection
from ngraph_rewrite.lowering.layout import shown, wrapped
from ngraph_rewrite.lowering.replaying import Replay
from ngraph_rewrite.lowering.step_lines import StepLines
from ngraph_rewrite.lowering.table import ReplacementTable
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.terms.written import describe

LONGEST = 1000  # handles of one derivation; of deeper graphs only what is next to the root is shown
MOST_STEPS = 2000  # steps of one handle
_LEVELS = 5  # down to which a rule can have looked at terms, or kept them


@no_garbage_collection()
def derivation(table: ReplacementTable, op: Op, replay: Replay | None = None) -> str:
    """How the handles under `op`, and `op` last, were rewritten to their normal forms.

    Args:
        replay: What can apply the rules again; without one, right sides are shown as they ended.

    Raises:
        ArgumentError: for something else than a term.
    """
    check_term(op)
    handles = [t for t in topological([op]) if t is op or (t.args and table.knows(t) and not _idle(table, t))]
    handles = handles if table.knows(op) else []
    if not handles:
        return f"{describe(op)} is not part of this computation"
    deeper = handles[:-LONGEST]
    handles = handles[len(deeper) :]
    replay = replay or Replay(table)
    replay.shown |= table.on_the_way({*handles, *near(handles).intersection(deeper)})
    lines = [f"({len(deeper)} ops further down are not shown)"] if deeper else []
    made = StepLines(replay)
    lines += [line for handle in handles for line in _derived(table, handle, replay, made)]
    return "\n".join([*lines, *made.left_out()])


def check_term(op: object) -> None:
    """Whether it is a term that is asked about.

    Raises:
        ArgumentError: if it is not.
    """
    if not isinstance(op, Op):
        raise ArgumentError(f"{op!r} is not a term", where=user_line(), do="ask about one of the graph")


def _idle(table: ReplacementTable, term: Op) -> bool:
    """Whether a term is only a part of others: a term of a signature to which nothing happened, such as a number."""
    return term.definition.profile is not None and not any(not isinstance(s.why, str) for s in table.history(term))


def _derived(table: ReplacementTable, handle: Op, replay: Replay, made: StepLines) -> Iterator[str]:
    place = f"  built at {handle.info.place}" if handle.info.lineno else ""
    yield f"{describe(handle, 2)} : {handle.type}{place}"
    steps = replay.steps(handle)
    for seen in islice(steps, MOST_STEPS):
        yield from made.lines(seen, handle.info.place)
    if next(steps, None) is not None:
        yield f"    (the first {MOST_STEPS} steps; the table has all, {sum(1 for _ in table.redexes())} in this run)"
    yield from wrapped("    normal form: ", shown(table.snap(handle)))


def reason_removed(table: ReplacementTable, op: Op) -> str:
    """Why a handle's value is not computed: the rule that made it superfluous, if one can be named."""
    images = {op, *(step.after for step in table.history(op)), table.snap(op)}
    images |= {image.args[0] for image in images if image.definition.name == "core.label"}
    for step in table.redexes():
        if not images.isdisjoint(near([step.before])) and images.isdisjoint(near([step.after])):
            return f"rewriting removed it: {step.why}"
    return "nothing that is returned needs it"


def near(terms: Iterable[Op]) -> set[Op]:
    """The terms that a rule can have looked at, or kept, if it fired on one of these."""
    found = level = set(terms)
    for _ in range(_LEVELS):
        level = {a for t in level for a in t.args} - found
        found = found | level
    return found
