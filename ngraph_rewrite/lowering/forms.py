# SPDX-License-Identifier: Apache-2.0
"""The forms of an op: every term that it was on its way from the handle to what is executed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ngraph_rewrite.lowering.replaying import Replay
from ngraph_rewrite.terms.labels import LABELS
from ngraph_rewrite.terms.op import Op

# The stages in which no rule is tried. There terms of signatures are not yet what laws make of them.
UNMATCHED = ("sequence", "share")
# So many parts of an op are looked at in each pass.
MOST_PARTS = 200


class Form(NamedTuple):
    """A term that an op was on its way, in a pass."""

    stage: str
    term: Op


def forms_of(op: Op, replay: Replay) -> Iterator[Form]:
    """Every term that an op was on its way, and the parts that steps built, with the passes they were in."""
    term, args = op, list(op.args)
    for stage in replay.table.stages:
        yield Form(stage.name, term)
        yield from (Form(stage.name, step.after) for step in stage.way(term))
        args = [stage.end(arg) for arg in args]
        term = stage.end(term)
        yield from (Form(stage.name, part) for part in own_parts(term, args))
    for seen in replay.steps(op):
        yield Form(seen.step.stage, seen.step.before)


def own_parts(term: Op, args: Iterable[Op]) -> list[Op]:
    """The terms that an op is made of, down to its arguments, with or without their labels."""
    seen = set[Op]()
    for arg in args:
        seen.add(arg)
        while arg.definition.name in LABELS:
            arg = arg.args[0]
            seen.add(arg)
    found: list[Op] = []
    stack = [] if term in seen else [term]
    while stack and len(found) < MOST_PARTS:
        part = stack.pop()
        if part not in seen:
            seen.add(part)
            found.append(part)
            stack.extend(part.args[::-1])
    return [part for part in found if part.args]
