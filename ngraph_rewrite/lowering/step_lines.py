# SPDX-License-Identifier: Apache-2.0
"""A step as text: its rule, the rule's place, the term before and after, and how the conditions of it were decided.

A condition brings terms to normal form. The steps of that are shown below it, further in, as those of the term itself
are, and so are the conditions of these. They are taken again for the purpose, and each is shown once.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from ngraph_rewrite.lowering.drawing import bound_values, guard_values
from ngraph_rewrite.lowering.layout import WIDTH, shown, wrapped
from ngraph_rewrite.lowering.replaying import Decision, Replay, Seen
from ngraph_rewrite.lowering.rule_lines import conditional_lines, equation, written_as
from ngraph_rewrite.lowering.table import Replaced
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.rule import Asking, Matching, Rule
from ngraph_rewrite.terms.op import Op

# How many conditions may stand inside each other, how many steps of a term that a condition brings to normal form are
# shown, how many of all such terms of a derivation, and up to how many more are counted.
NESTED, MOST_OF_TERM, MOST_OF_ALL, COUNTED = 3, 50, 1000, 200
# How far in the steps of a condition stand.
INWARD = 8


class Inside:
    """The steps of what conditions bring to normal form under some rules, taken again.

    Attributes:
        told: The terms whose steps are shown already.
    """

    def __init__(self, replay: Replay) -> None:
        self.replay, self.told = replay, set[Op]()

    def rest(self, steps: Iterator[Seen], most: int) -> int:
        """How many steps follow that are not shown, up to a number; they may still be shown later."""
        kept = set(self.replay.shown)
        found = sum(one.step.before not in self.told for one in islice(steps, most))
        self.replay.shown.intersection_update(kept)
        return found


class StepLines:
    """Makes the lines of steps, those of one derivation.

    Args:
        replay: What can take the steps of conditions again.
    """

    def __init__(self, replay: Replay | None = None) -> None:
        self.replay = replay
        self._inside: dict[Matcher, Inside] = {}
        self._silent = False

    def lines(self, seen: Seen, beside: str = "") -> Iterator[str]:
        """A step as it stands in a derivation.

        Args:
            beside: The line that built the term that is asked about: steps of other lines name theirs.
        """
        return self._step(seen, self.replay, beside, 0)

    def left_out(self) -> Iterator[str]:
        """How many steps of conditions there are, if not all of those that were to be shown are."""
        if self._silent:
            taken = sum(1 for one in self._inside.values() for _ in one.replay.table.redexes())
            yield f"(of {taken} steps inside conditions the first {self._count()} are shown)"

    def _count(self) -> int:
        return sum(len(one.told) for one in self._inside.values())

    def _step(self, seen: Seen, replay: Replay | None, beside: str, depth: int) -> Iterator[str]:
        (stage, before, after, why), width = seen.step, WIDTH - depth * INWARD
        if isinstance(why, str):
            yield from wrapped(f"    {why}: ", shown(after), width)
            return
        built = before.info.place
        line = f"  for {built}" if before.info.lineno and built != beside else ""
        yield f"    {stage}: {why.name}  ({why.place}){line}"
        if isinstance(why, Rule):
            yield from wrapped(" " * 8, equation(why), width)
            yield from (line for said in conditional_lines(why) for line in wrapped(" " * 12, said, width))
        yield from wrapped(" " * 8, shown(before), width)
        yield from wrapped("     => ", shown(after if seen.right is None else seen.right), width)
        if seen.right is not None and not seen.right.same_as(after):
            yield from wrapped("     -> ", f"{shown(after)}  once its parts are rewritten", width)
        for said in why.lines if isinstance(why, Replaced) else ():
            yield from wrapped(" " * 8, said, width)
        if replay is not None:
            for place, decision in enumerate(replay.decisions(seen)):
                yield from self._decision(decision, not place, replay, depth + 1)

    # -- conditions ---------------------------------------------------------------------------------

    def _decision(self, decision: Decision, first: bool, replay: Replay, depth: int) -> Iterator[str]:
        """A condition with what it asks here, and under it how that came to normal form."""
        condition, names, sides = decision.condition, decision.names, decision.sides
        width = WIDTH - (depth - 1) * INWARD
        if isinstance(condition, Asking):
            yield from guard_values(condition.expression, names, first, width)[0]
            return
        says = "matches" if isinstance(condition, Matching) else "holds"
        begins = f"     {'if' if first else 'and'} "[-8:]
        text = written_as(condition, [shown(term) for term, _ in sides])
        yield from wrapped(begins, f"{text}   {says}", width)
        bound = {name: names[name] for name in decision.binds}
        yield from (" " * INWARD + line for line in bound_values(bound, width - INWARD))
        for term, normal in dict.fromkeys(side for side in sides if side[0] is not side[1]):
            inside = self._of(replay, decision.matcher)
            yield from (" " * INWARD + line for line in self._term(term, normal, inside, depth))

    def _of(self, replay: Replay, matcher: Matcher) -> Inside:
        if matcher not in self._inside:
            self._inside[matcher] = Inside(replay.of_conditions(matcher))
        return self._inside[matcher]

    def _term(self, term: Op, normal: Op, inside: Inside, depth: int) -> Iterator[str]:
        """The steps of a term to its normal form, those that are not shown yet."""
        width = WIDTH - depth * INWARD
        yield from wrapped("", f"{shown(term)} : {term.type}", width)
        steps, before = inside.replay.steps(term), self._count()
        for seen in islice(steps, min(MOST_OF_TERM, MOST_OF_ALL - before) if depth <= NESTED else 0):
            if seen.step.before not in inside.told:
                inside.told.add(seen.step.before)
                yield from self._step(seen, inside.replay, seen.step.before.info.place, depth)
        yield from self._omitted(steps, self._count() > before, inside, depth)
        yield from wrapped("    normal form: ", shown(normal), width)

    def _omitted(self, steps: Iterator[Seen], some: bool, inside: Inside, depth: int) -> Iterator[str]:
        """How many steps of a term are not shown, or where they are if none is."""
        full = self._count() >= MOST_OF_ALL
        rest = inside.rest(steps, 1 if full else COUNTED + 1)
        if rest and full:
            self._silent = True
            yield "    (not all of its steps are shown)"
        elif rest:
            many = f"more than {COUNTED}" if rest > COUNTED else str(rest)
            what = f"{many} {'more ' * some}step{'s' * (rest > 1)} {'is' if rest == 1 else 'are'} not shown"
            yield f"    ({what}{f': inside {NESTED} conditions' * (depth > NESTED)})"
        elif not some:
            yield "    (its steps stand above)"


def explained(seen: Seen, replay: Replay | None = None) -> str:
    """One step as it stands in a derivation.

    Args:
        replay: What can take the steps of its conditions again; without one they are not shown.
    """
    made = StepLines(replay)
    return "\n".join([*made.lines(seen, seen.step.before.info.place), *made.left_out()])
