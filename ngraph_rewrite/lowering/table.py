# SPDX-License-Identifier: Apache-2.0
"""The replacement table: where each term went, and why.

It is the memo every rewriting driver keeps. Each pass adds a stage; within a stage a term has at most one
forward pointer, and a normal form has none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import Any, NamedTuple

from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.info import NO_METADATA
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological

# Reasons that are not rules.
ARGUMENTS = "arguments"
SEQUENCED = "sequenced"
SHARED = "shared"


@dataclass(frozen=True)
class Replaced:
    """The reason of a step that a pass written in Python took: its name, and the line that said so."""

    name: str
    place: str

    def __str__(self) -> str:
        return f"{self.name} ({self.place})"

    @property
    def lines(self) -> tuple[str, ...]:
        """What explanations say of it beside: nothing, if a pass only said so."""
        return ()


Why = Rule | Replaced | str


class Forward(NamedTuple):
    """Where a term went in one step, and the rule, the pass or the word that says why."""

    to: Op
    why: Why


class Step(NamedTuple):
    """One step of a derivation."""

    stage: str
    before: Op
    after: Op
    why: Why


# A step as a driver takes it: the number of its reason, and the term it leads to.
Taken = tuple[int, Op]
# The reasons that are words, numbered from the end: those of a rule set are numbered from 0.
WORDS: Mapping[int, str] = MappingProxyType({-1: ARGUMENTS, -2: SHARED})
BY_ARGUMENTS, BY_SHARING = -1, -2
# So many items of a list tell of a step, and of one from a term that was not built.
FIRED, COLLAPSED = 3, 6


class Stage:
    """The forward pointers of one pass, and the normal forms they lead to.

    A driver notes steps by numbers, as they are many; they become forward pointers when somebody asks.

    Attributes:
        fired: The steps of a driver, one after the other: the term, the number of the reason, and the term it led to;
            of what changed with its arguments only, those that `ended` cannot find again. A dictionary of tuples would
            be much of the memory that a pass takes: there is one when somebody asks.
        collapsed: Its steps from terms that were not built, in the same way: how many items `fired` had before, op,
            arguments and attributes of the term, the number of the reason, and the term it led to.
        reasons: The rules, or passes, that its numbers mean.
        left: The roots that it left, and all terms under them, arguments first; until somebody asks.
    """

    __slots__ = (
        "_bank", "_ends", "_forward", "_normal", "_shown", "_taken", "_told", "collapsed", "fired", "left", "name",
        "reasons",
    )  # fmt: skip

    def __init__(self, name: str, reasons: Sequence[Why] = (), bank: TermBank | None = None) -> None:
        self.name, self.reasons = name, reasons
        self._bank = bank
        self._normal: dict[Op, Op] = {}
        self._ends: list[tuple[list[Op], list[Op | None]]] = []
        self.fired: list[Any] = []
        self.collapsed: list[Any] = []
        self._taken: dict[Op, Taken] = {}
        self._told = 0
        self._forward: dict[Op, Forward] = {}
        self._shown = 0, 0
        self.left: tuple[list[Op], list[Op]] | None = None

    @property
    def taken(self) -> dict[Op, Taken]:
        """The steps by their terms, in the order in which they were taken; drivers that take few write into it."""
        if self._told < len(self.fired):
            each = [iter(self.fired[self._told :])] * FIRED
            self._taken.update((term, (number, to)) for term, number, to in zip(*each, strict=True))
            self._told = len(self.fired)
        return self._taken

    def ended(self, order: list[Op], forms: list[Op | None]) -> None:
        """Note where a driver left terms, arguments first: their normal forms, None if they are their own.

        Terms do not say so for long: the next pass writes its own into them.
        """
        self._ends.append((order, forms))

    @property
    def normal(self) -> dict[Op, Op]:
        """The normal form of each term that the pass has seen to the end."""
        self._note()
        return self._normal

    def _note(self) -> None:
        """Write down what a driver only left: normal forms, and which terms changed with their arguments."""
        if not self._ends:
            return
        ends, self._ends = self._ends, []
        normal, changed, taken = self._normal, list[Op](), self.taken
        for terms, forms in ends:
            for term, form in zip(terms, forms, strict=True):
                normal[term] = term if form is None else form
                if form is not None and form is not term and term not in taken:
                    changed.append(term)
        self._follow()
        for terms in (*(terms for terms, _ in ends), list(taken)):
            self._hold([normal[term] for term in terms])
            self._hold([arg for term in terms for arg in term.args])  # what a rule had built before it was met
        for term in changed:
            assert self._bank is not None
            to = self._bank.renewed(term, tuple([normal[a] for a in term.args]))
            self._forward.setdefault(term, Forward(to, ARGUMENTS))

    def _follow(self) -> None:
        """What a rule rewrote has the normal form of what it went to."""
        normal, taken = self._normal, self.taken
        for term in taken:
            path: list[Op] = []
            while term not in normal and term in taken:
                path.append(term)
                _, term = taken[term]
            normal.update(dict.fromkeys(path, normal.get(term, term)))

    def _hold(self, stack: list[Op]) -> None:
        """What stands under a normal form is one."""
        while stack:
            term = stack.pop()
            if term not in self._normal:
                self._normal[term] = term
                stack += term.args

    @property
    def forward(self) -> dict[Op, Forward]:
        """Where terms went in one step, in the order in which the steps were taken."""
        self._note()
        now = len(self.taken), len(self.collapsed)
        if self._shown != now:
            found = dict(self._forward)  # whoever goes through the other is not disturbed
            for term, (number, to) in self._steps():
                found.setdefault(term, Forward(to, WORDS[number] if number < 0 else self.reasons[number]))
            self._forward, self._shown = found, now
        return self._forward

    def _steps(self) -> Iterator[tuple[Op, Taken]]:
        """The steps that are no forward pointers yet."""
        done, each = self._shown[0], [iter(self.collapsed[self._shown[1] :])] * COLLAPSED
        collapses = zip(*each, strict=True)
        following = next(collapses, None)
        for count, step in enumerate(islice(self.taken.items(), done, None), done):
            while following is not None and following[0] <= count * FIRED:
                yield self._built(following)
                following = next(collapses, None)
            yield step
        for collapse in (following, *collapses) if following is not None else ():
            yield self._built(collapse)

    def _built(self, collapse: tuple[Any, ...]) -> tuple[Op, Taken]:
        """A step from a term that was not built, with the term."""
        assert self._bank is not None
        _, definition, args, attrs, number, to = collapse
        return self._bank.make(definition, args, attrs), (number, to)

    def knows(self, op: Op) -> bool:
        """Whether the pass has seen `op`."""
        return op in self.normal or op in self.forward

    def end(self, op: Op) -> Op:
        """Where the pass left the value of `op`."""
        found = self.normal.get(op)
        while found is None and op in self.forward:
            op = self.forward[op].to
            found = self.normal.get(op)
        return found if found is not None else op


class ReplacementTable:
    """Forward pointers of one lowering, keyed by handle; the handles' graph itself never changes.

    Attributes:
        stages: The passes, in the order in which they ran.
        moved: The metadata of terms that others were replaced by.
    """

    def __init__(self) -> None:
        self.stages: list[Stage] = []
        self.moved: dict[Op, Mapping[str, Any]] = {}

    def stage(self, name: str, reasons: Sequence[Why] = (), bank: TermBank | None = None) -> Stage:
        """A new stage, after all others; `bank` has its terms, if a driver fills it."""
        self.stages.append(Stage(name, reasons, bank))
        return self.stages[-1]

    def order(self, roots: list[Op]) -> list[Op]:
        """Every term under `roots`, arguments first; the pass before knows it, if it changed nothing."""
        known = self.known_order(roots)
        return topological(roots) if known is None else known

    def leave(self, roots: list[Op], order: list[Op]) -> None:
        """Note all terms under what the last pass made of the roots, arguments first, for who asks next."""
        if self.stages:
            self.stages[-1].left = roots, order

    def known_order(self, roots: list[Op]) -> list[Op] | None:
        """The same, if the pass before knows it; once."""
        if not self.stages or self.stages[-1].left is None:
            return None
        left, known = self.stages[-1].left
        self.stages[-1].left = None
        return known if left == roots else None

    def snap(self, op: Op) -> Op:
        """Where the value of `op` is now: its normal form, or `op` itself if nothing replaced it."""
        for stage in self.stages:
            op = stage.end(op)
        return op

    def inside(self, op: Op) -> Op:
        """As `snap`, but through labels that were cancelled: the term that has the elements of `op`."""
        for stage in self.stages:
            while not stage.knows(op) and op.definition.name == "core.label":
                op = op.args[0]
            op = stage.end(op)
        return op

    def knows(self, op: Op) -> bool:
        """Whether some pass of this lowering has seen `op`."""
        return any(stage.knows(op) for stage in self.stages)

    def history(self, op: Op) -> list[Step]:
        """Every step from `op` to its normal form, in order."""
        steps: list[Step] = []
        for stage in self.stages:
            end = stage.end(op)
            while op is not end and op in stage.forward:
                to, why = stage.forward[op]
                steps.append(Step(stage.name, op, to, why))
                op = to
        return steps

    def carry(self, before: Op, after: Op) -> None:
        """Move metadata to a replacement; a key that is already there stays."""
        own = self.metadata(before)
        if own:
            self.moved[after] = {**own, **self.metadata(after)}

    def metadata(self, op: Op) -> Mapping[str, Any]:
        """The metadata of a term: its own, and what moved to it."""
        return self.moved.get(op) or op.info.metadata or NO_METADATA

    def redexes(self) -> Iterator[Step]:
        """Every step that a rule or a pass took, in the order in which they were taken."""
        for stage in self.stages:
            for before, (to, why) in stage.forward.items():
                if not isinstance(why, str):
                    yield Step(stage.name, before, to, why)


def user_place(table: ReplacementTable, term: Op) -> str:
    """The line of the innermost handle in whose normal form a term is, where it has no line itself."""
    known = (s.before for s in table.redexes() if s.before.info.lineno)
    came = (handle for handle in known if term in topological([table.snap(handle)]))
    return (term if term.info.lineno else next(came, term)).info.place
