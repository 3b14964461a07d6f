# SPDX-License-Identifier: Apache-2.0
"""What must hold of every whole program, each a function: None, or what is wrong.

They say what no rule by itself can say: that all rules together, the order of passes, the sequencing of effects,
binding lengths, and what a computation tells of its handles are right.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

import numpy as np

from ngraph_rewrite.errors import UnloweredOpError
from ngraph_rewrite.lowering.driver import adopt, normalise
from ngraph_rewrite.lowering.table import ReplacementTable
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.rule import REFINES
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.testing.compare import difference
from ngraph_rewrite.testing.evaluate import Array, Undefined
from ngraph_rewrite.testing.programs.dump import dump
from ngraph_rewrite.testing.programs.program import Program
from ngraph_rewrite.testing.whole.lowered import Call, LoweredProgram, Setup


class Wrong(NamedTuple):
    """What is wrong with a program.

    Attributes:
        kind: The check that found it.
        says: What is wrong, in a few words.
        shown: More lines of it.
        off: The rules that were disabled.
        error: The class of the error that was raised, if one was.
    """

    kind: str
    says: str
    shown: str = ""
    off: tuple[str, ...] = ()
    error: str | None = None


def wrong_type(program: Program, setup: Setup) -> Wrong | None:
    """Lowering preserves types: each step, and from each handle to what became of it."""
    lowered = LoweredProgram(program, setup)
    for step in lowered.lowering.table.redexes():
        if step.before.type != step.after.type:
            return Wrong("types", f"{step.why} rewrites {step.before.type!r} to {step.after.type!r}")
    for before, after in zip(lowered.before, lowered.after, strict=True):
        if before.type != after.type:
            return Wrong("types", f"{describe(before)} is {before.type!r}, lowered {after.type!r}")
    return None


def not_idempotent(program: Program, setup: Setup) -> Wrong | None:
    """Lowering what was lowered changes nothing."""
    once = LoweredProgram(program, setup).after
    table, bank = ReplacementTable(), TermBank()
    again = adopt(once, table, bank)
    for name, one in setup.passes.items():
        if isinstance(one, Matcher):
            again = normalise(again, one, table, bank, setup.target, name)
    first, second = dump(once), dump(again)
    if first == second:
        return None
    fired = next((str(s.why) for s in table.redexes()), "no rule")
    return Wrong("idempotent", f"lowering the normal forms again changes them: {fired}", changed(first, second))


def not_repeatable(program: Program, setup: Setup) -> Wrong | None:
    """Lowering again, with another lowering between, gives the same; and the user's graph stays as it was."""
    handles = dump(program.returns)
    first = LoweredProgram(program, setup)
    LoweredProgram(program, setup.without(_simplifying(setup)))
    second = LoweredProgram(program, setup)
    one, other = dump(first.after), dump(second.after)
    if one != other:
        return Wrong("repeatable", "lowering the same graph twice gives two results", changed(one, other))
    if dump(program.returns) != handles:
        now = dump(program.returns)
        return Wrong("repeatable", "lowering changed the user's graph", changed(handles, now))
    return None


def wrong_value(program: Program, setup: Setup) -> Wrong | None:
    """What a program was lowered to has the value of its meaning, as far as the classes of the rules that fired demand.

    Effects included: what is written, and what the next call reads.
    """
    lowered = LoweredProgram(program, setup)
    try:
        states = lowered.states()
        for call, state in enumerate(states):
            wrong = different(lowered, lowered.call(call, state, [*lowered.before, *lowered.after]))
            if wrong is not None:
                i, before, after = wrong
                what = f"{describe(lowered.before[i], 3)} is not what it was lowered to, in call {call}"
                return Wrong("values", what, f"meaning {shown(before)}\nlowered {shown(after)}")
    except Undefined:
        return None
    return None


def different(lowered: LoweredProgram, call: Call) -> tuple[int, Array, Array] | None:
    """The first handle or write whose value differs after lowering, and both values."""
    count = len(lowered.before)
    for i in lowered.valued:
        before, after = call.terms[i], call.terms[count + i]
        if call.known[i].tobytes() != call.known[count + i].tobytes():
            found = difference(before, after, call.values, lowered.grade, effects=False)
            if found is not None:
                return i, found.left, found.right
    return None


def wrong_without_rules(program: Program, setup: Setup, off: Sequence[str]) -> Wrong | None:
    """As `wrong_value`, with some simplify rules disabled; an op that only one of those lowers may be left."""
    try:
        wrong = wrong_value(program, setup.without(off))
    except UnloweredOpError:
        return None
    return None if wrong is None else wrong._replace(kind="disabled", off=tuple(off))


def subsets(setup: Setup, count: int, number: int = 0) -> list[tuple[str, ...]]:
    """Sets of rules to disable that no op needs to be lowered; always the same for one seed and number.

    All that make a special value finite, so that special values can be looked at; all simplify rules; then a few.
    """
    random = Random(f"subsets {setup.seed} {number}")
    names = _simplifying(setup)
    found = [tuple(r.name for r in setup.rules if r.grade == REFINES), names]
    while len(found) < count:
        size = random.choice((1, 2, len(names) // 8, len(names) // 2))
        found.append(tuple(sorted(random.sample(names, size))))
    return found[:count]


def shown(value: Array) -> str:
    """An array on one line: its elements, of a large one the first and the last."""
    text = np.array2string(np.asarray(value), threshold=24, edgeitems=2, precision=17, separator=", ")
    return f"{value.dtype} {' '.join(text.split())}"


def _simplifying(setup: Setup) -> tuple[str, ...]:
    """The names of the rules that no op needs to be lowered."""
    return tuple(r.name for r in setup.rules if r.kind == "simplify" and r.left.definition.family == "semi")


def changed(first: str, second: str) -> str:
    """The first line in which two texts differ."""
    pairs = zip(first.splitlines(), second.splitlines(), strict=False)
    one, other = next(((a, b) for a, b in pairs if a != b), ("", ""))
    return f"first  {one}\nsecond {other}"
