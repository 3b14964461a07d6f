# SPDX-License-Identifier: Apache-2.0
"""Programs drawn one after another, checked, and what is wrong with them: minimised, explained and saved."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from ngraph_rewrite.testing.fuzz.minimising import minimised
from ngraph_rewrite.testing.fuzz.saved import drawing_text, failing_text, save
from ngraph_rewrite.testing.programs.program import Program
from ngraph_rewrite.testing.strategies.drafts.growing import FAMILIES, numbered_program
from ngraph_rewrite.testing.whole.checks import Wrong, subsets
from ngraph_rewrite.testing.whole.lowered import Setup
from ngraph_rewrite.testing.whole.processes import Elsewhere
from ngraph_rewrite.testing.whole.steps import WrongStep, first_wrong_step, lifted
from ngraph_rewrite.testing.whole.suite import ASKED, DISABLED, wrong_in

# Every how many programs each check is made, and for which remainder: the dear ones less often.
EVERY = {
    "types": (1, 0),
    "idempotent": (1, 0),
    "repeatable": (2, 0),
    "values": (1, 0),
    DISABLED: (1, 0),
    "reference": (3, 1),
    "handles": (4, 2),
    "restored": (5, 3),
    "cpu": (8, 5),
    "cuda": (1, 0),
    "processes": (4, 1),
}
# Programs that are lowered with the same sets of disabled rules, of which there are so many.
BLOCK, SETS = 240, 5
# After so many different failures there is enough to do.
MOST_FAILURES = 10


@dataclass(frozen=True)
class Failure:
    """What is wrong with one drawn program.

    Attributes:
        number: Of the program.
        step: The first step that changes a value, if one does.
        path: The file that fails when it is run.
    """

    number: int
    wrong: Wrong
    step: WrongStep | None
    path: Path

    def __str__(self) -> str:
        step = f"\n{self.step}" if self.step is not None else ""
        return f"program {self.number}, {self.wrong.kind}: {self.wrong.says}{step}\nsaved as {self.path}"


@dataclass
class Session:
    """One run of the fuzzer.

    Attributes:
        setup: The rules; its seed is that of the run.
        output: The folder that failures are saved in.
        families: Where the ops of programs come from.
        seconds: How long a failure is minimised.
        kinds: The checks that are made.
        counts: How many programs met each check.
        again: How often a failure was met that is like an earlier one.
    """

    setup: Setup
    output: Path = Path()
    families: Sequence[str] = FAMILIES
    seconds: float = 30.0
    kinds: Sequence[str] = tuple(kind for kind in EVERY if kind not in ASKED)
    counts: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)
    again: int = 0
    _seen: set[tuple[Any, ...]] = field(default_factory=set)
    _block: tuple[int, list[tuple[str, ...]]] = (-1, [])

    def run(
        self, seconds: float | None, programs: int | None = None, tell: Callable[[int], None] = lambda number: None
    ) -> int:
        """Check programs until the time is over or so many are checked.

        Args:
            tell: Is told after each program how many there were.

        Returns:
            How many programs were checked.
        """
        end = None if seconds is None else time.monotonic() + seconds
        with Elsewhere() as others:
            for number in count():
                done = programs is not None and number >= programs
                if done or (end is not None and time.monotonic() > end) or len(self.failures) >= MOST_FAILURES:
                    return number
                self.check(number, others)
                tell(number + 1)
        return 0

    def check(self, number: int, others: Elsewhere) -> None:
        """Draw one program and make its checks."""
        self.counts["drawn"] += 1
        try:
            program = numbered_program(self.setup.seed, number, self.families)
        except Exception as error:  # each op is well-typed: that it cannot be built is what was to be found
            self._undrawn(number, error)
            return
        for kind, off in self._checks(number):
            self.counts[kind] += 1
            wrong = self._wrong(program, kind, off, others, number)
            if wrong is not None:
                self._met(program, wrong, number, others)

    def _checks(self, number: int) -> Iterator[tuple[str, tuple[str, ...]]]:
        for kind in self.kinds:
            every, remainder = EVERY[kind]
            if number % every == remainder:
                yield kind, self._off(number) if kind == DISABLED else ()

    def _off(self, number: int) -> tuple[str, ...]:
        """The rules that one program does without."""
        block = number // BLOCK
        if self._block[0] != block:
            self.setup.forget()
            self._block = block, subsets(self.setup, SETS, block)
        return self._block[1][number % SETS]

    def _wrong(
        self, program: Program, kind: str, off: Sequence[str], others: Elsewhere, number: int | None = None
    ) -> Wrong | None:
        if kind != "processes":
            return wrong_in(program, kind, self.setup, off)
        drawn = {"seed": self.setup.seed, "number": number, "families": list(self.families)}
        return others.differs(program, self.setup, None if number is None else drawn)

    # -- failures -----------------------------------------------------------------------------------

    def _met(self, program: Program, wrong: Wrong, number: int, others: Elsewhere) -> None:
        """Note a failure, unless one like it was met: of the same check, by the same rule or error."""
        step = self._step(program, wrong)
        key = wrong.kind if wrong.kind != DISABLED else "values", wrong.error, step and step.why.name
        if key in self._seen:
            self.again += 1
            return
        self._seen.add(key)

        def fails(candidate: Program) -> bool:
            found = self._wrong(candidate, wrong.kind, wrong.off, others)
            return found is not None and found.error == wrong.error and self._name(candidate, wrong, step)

        inside = [] if step is None else [lifted(program, step)]
        starts = [program, *(p for p in inside if fails(p))]
        ends = [minimised(p, fails, self.setup, self.seconds) for p in starts]
        small = min(ends, key=lambda p: len(p.source()))
        found = self._wrong(small, wrong.kind, wrong.off, others) or wrong
        self._keep(number, found, self._step(small, found) or step, failing_text(small, found, self.setup))

    def _name(self, candidate: Program, wrong: Wrong, step: WrongStep | None) -> bool:
        """Whether the same rule is to blame."""
        if step is None:
            return True
        found = self._step(candidate, wrong)
        return found is not None and found.why.name == step.why.name

    def _step(self, program: Program, wrong: Wrong) -> WrongStep | None:
        try:
            return first_wrong_step(program, self.setup.without(wrong.off) if wrong.off else self.setup)
        except Exception:  # the failure may be one of lowering itself
            return None

    def _keep(self, number: int, wrong: Wrong, step: WrongStep | None, text: str) -> None:
        head = f"Found by `ngraph-rewrite fuzz --seed {self.setup.seed}`: program {number}, {wrong.kind}."
        says = "\n".join([head, wrong.says, wrong.shown, "" if step is None else str(step)]).strip()
        self.failures.append(Failure(number, wrong, step, save(self.output, wrong.kind, text, says)))

    def _undrawn(self, number: int, error: Exception) -> None:
        wrong = Wrong("drawn", f"{type(error).__name__}: {error}".splitlines()[0], error=type(error).__name__)
        if ("drawn", wrong.error, wrong.says) in self._seen:
            self.again += 1
            return
        self._seen.add(("drawn", wrong.error, wrong.says))
        self._keep(number, wrong, None, drawing_text(self.setup.seed, number, self.families))

    def verdict(self, number: int) -> str:
        """One line: what was done, and how it came out."""
        checks = sum(n for kind, n in self.counts.items() if kind != "drawn")
        found = len(self.failures)
        wrong = f"{found} {'is' if found == 1 else 'are'} wrong" if found else "nothing is wrong"
        more = f" (and {self.again} more like {'that' if found == 1 else 'those'})" if self.again else ""
        programs, checked = (f"{n} {what}{'s' * (n != 1)}" for n, what in ((number, "program"), (checks, "check")))
        return f"{programs} of seed {self.setup.seed}, {checked}: {wrong}{more}"
