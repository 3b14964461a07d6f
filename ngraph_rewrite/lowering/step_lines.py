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
from ngraph_rewrite.lowering.stage import Replaced
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.rule import Asking, Matching, Rule
from ngraph_rewrite.terms.op import Op

MOST_NESTED = 3  # conditions inside each other whose steps are shown
MOST_STEPS_OF_TERM = 50  # steps shown of one term that a condition brings to normal form
MOST_STEPS_OF_CONDITIONS = 1000  # steps shown of all such terms of a derivation
MOST_COUNTED = 200  # steps of a term that are counted where they are not shown
INWARD = 8  # columns by which the steps of a condition stand further in


class Inside:
    """The steps of what conditions bring to normal form under some rules, taken again.

    Attributes:
        told: The terms whose steps are shown already.
        whole: The terms of which all steps are, those of their parts and of what they became as well.
    """

    def __init__(self, replay: Replay, matcher: Matcher) -> None:
        self.replay, self.matcher = replay.of_conditions(matcher), matcher
        self.told, self.whole = set[Op](), set[Op]()

    def untold(self, term: Op) -> Iterator[Seen]:
        """The steps of a term that are not shown yet, each once; whoever shows one adds it to `told`."""
        if term in self.whole:
            return
        replay, left = self.replay.of_conditions(self.matcher), set[Op]()
        replay.shown.update(self.whole)
        for seen in replay.steps(term):
            if seen.step.before not in self.told and seen.step.before not in left:
                yield seen
                left.update({seen.step.before} - self.told)
        if not left:
            self.whole |= replay.shown | {term}


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
        """How many steps inside conditions are shown, if there may be more than are shown at most."""
        if self._silent:
            taken = sum(1 for one in self._inside.values() for _ in one.replay.table.redexes())
            yield f"({taken} steps inside conditions were taken again, and {self._count()} of them are shown)"

    def _count(self) -> int:
        return sum(len(one.told) for one in self._inside.values())

    def _full(self) -> bool:
        return self._count() >= MOST_STEPS_OF_CONDITIONS

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
            self._inside[matcher] = Inside(replay, matcher)
        return self._inside[matcher]

    def _term(self, term: Op, normal: Op, inside: Inside, depth: int) -> Iterator[str]:
        """The steps of a term to its normal form, those that are not shown yet."""
        width = WIDTH - depth * INWARD
        yield from wrapped("", f"{shown(term)} : {term.type}", width)
        steps, before = inside.untold(term), self._count()
        for seen in islice(steps, 0 if depth > MOST_NESTED or self._full() else MOST_STEPS_OF_TERM):
            inside.told.add(seen.step.before)
            yield from self._step(seen, inside.replay, seen.step.before.info.place, depth)
            if self._full():
                break
        some = self._count() > before
        if self._full() and (next(steps, None) is not None if some else term not in inside.whole):
            self._silent = True
            yield from wrapped("    ", "(those of its steps that do not stand above are not shown)", width)
        else:
            yield from wrapped("    ", self._omitted(steps, some, depth), width)
        yield from wrapped("    normal form: ", shown(normal), width)

    def _omitted(self, steps: Iterator[Seen], some: bool, depth: int) -> str:
        """How many steps of a term are not shown where it stands, or where they are if none is."""
        rest = sum(1 for _ in islice(steps, MOST_COUNTED + 1))
        if not rest:
            return "" if some else "(its steps stand above)"
        many = f"more than {MOST_COUNTED}" if rest > MOST_COUNTED else str(rest)
        what = f"{many} {'more ' * some}step{'s' * (rest > 1)} {'is' if rest == 1 else 'are'} not shown here"
        return f"({what}{f': inside {MOST_NESTED} conditions' * (depth > MOST_NESTED)})"


def explained(seen: Seen, replay: Replay | None = None) -> str:
    """One step as it stands in a derivation.

    Args:
        replay: What can take the steps of its conditions again; without one they are not shown.
    """
    made = StepLines(replay)
    return "\n".join([*made.lines(seen, seen.step.before.info.place), *made.left_out()])
