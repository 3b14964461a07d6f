# SPDX-License-Identifier: Apache-2.0
"""A stage: where one pass sent terms, and why. It is kept as a driver wrote it down, and worked out when asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from types import MappingProxyType
from typing import Any, NamedTuple

from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.catalogue import OpDef
from ngraph_rewrite.terms.op import Op

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
# Op, arguments and attributes of a term.
Structure = tuple[OpDef, tuple[Op, ...], tuple[Any, ...]]
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
        "_bank", "_changed", "_collapses", "_ends", "_forward", "_indexed", "_normal", "_shown", "_taken", "_told",
        "collapsed", "fired", "left", "name", "reasons",
    )  # fmt: skip

    def __init__(self, name: str, reasons: Sequence[Why] = (), bank: TermBank | None = None) -> None:
        self.name, self.reasons = name, reasons
        self._bank = bank
        self._normal: dict[Op, Op] = {}
        self._ends: list[tuple[list[Op], list[Op | None]]] = []
        self._changed: dict[Op, Forward | None] = {}
        self.fired: list[Any] = []
        self.collapsed: list[Any] = []
        self._taken: dict[Op, Taken] = {}
        self._told = 0
        self._collapses: dict[Structure, Taken] = {}
        self._indexed = 0
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
        self._changed.update(dict.fromkeys(changed))
        self._follow()
        for seen in (*(terms for terms, _ in ends), taken):
            self._hold([one for term in seen for one in (normal[term], *term.args) if one not in normal])

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
        """What stands under a normal form is one, and so is what a rule had built before it was met."""
        normal = self._normal
        while stack:
            term = stack.pop()
            if term not in normal:
                normal[term] = term
                stack += term.args

    @property
    def forward(self) -> dict[Op, Forward]:
        """Where terms went in one step, in the order in which the steps were taken; `step` is quicker for one."""
        self._note()
        now = len(self.taken), len(self.collapsed)
        if self._changed or self._shown != now:
            found = dict(self._forward)  # whoever goes through the other is not disturbed
            found.update((term, self._by_arguments(term)) for term in self._changed if term not in found)
            self._changed.clear()
            for number, step in self._steps():
                term, to = self._built(step)
                found.setdefault(term, Forward(to, self._why(number)))
            self._forward, self._shown = found, now
        return self._forward

    def step(self, term: Op) -> Forward | None:
        """Where a term went in one step, if it went anywhere; nothing is worked out of other terms."""
        self._note()
        found = self._forward.get(term)
        if found is None and term in self._changed:
            return self._by_arguments(term)
        if found is None and (taken := self.taken.get(term) or self._collapse(term)) is not None:
            return Forward(taken[1], self._why(taken[0]))
        return found

    def taken_by(self, name: str) -> Iterator[tuple[Op, Forward]]:
        """The steps that the rules of a name took, in their order; no other is looked at."""
        self._note()
        mine = {number for number, why in enumerate(self.reasons) if isinstance(why, Rule) and why.name == name}
        own = ((term, one) for term, one in self._forward.items() if isinstance(one.why, Rule) and one.why.name == name)
        rest = ((*self._built(step), number) for number, step in (self._steps() if mine else ()) if number in mine)
        seen = set[Op]()
        for term, found in chain(own, ((term, Forward(to, self.reasons[number])) for term, to, number in rest)):
            if term not in seen:
                seen.add(term)
                yield term, found

    def _why(self, number: int) -> Why:
        return WORDS[number] if number < 0 else self.reasons[number]

    def _by_arguments(self, term: Op) -> Forward:
        """The step of a term that changed with its arguments."""
        found = self._changed[term]
        if found is None:
            assert self._bank is not None
            to = self._bank.renewed(term, tuple([self._normal[a] for a in term.args]))
            found = self._changed[term] = Forward(to, ARGUMENTS)
        return found

    def _collapse(self, term: Op) -> Taken | None:
        """The step that a term of this structure took before it was built, if one did."""
        if self._indexed < len(self.collapsed):
            each = [iter(self.collapsed[self._indexed :])] * COLLAPSED
            for _, definition, args, attrs, number, to in zip(*each, strict=True):
                self._collapses.setdefault((definition, args, attrs), (number, to))
            self._indexed = len(self.collapsed)
        return self._collapses.get((term.definition, term.args, term.attrs)) if self._collapses else None

    def _steps(self) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """The steps that are no forward pointers yet: numbers of their reasons, and what `_built` makes terms of."""
        done, each = self._shown[0], [iter(self.collapsed[self._shown[1] :])] * COLLAPSED
        collapses = zip(*each, strict=True)
        following = next(collapses, None)
        for count, (term, (number, to)) in enumerate(islice(self.taken.items(), done, None), done):
            while following is not None and following[0] <= count * FIRED:
                yield following[-2], following
                following = next(collapses, None)
            yield number, (term, to)
        for collapse in (following, *collapses) if following is not None else ():
            yield collapse[-2], collapse

    def _built(self, step: tuple[Any, ...]) -> tuple[Op, Op]:
        """The terms of a step; the first is built, where it was not."""
        if len(step) < COLLAPSED:
            return step[0], step[1]
        assert self._bank is not None
        _, definition, args, attrs, _, to = step
        return self._bank.make(definition, args, attrs), to

    def knows(self, op: Op) -> bool:
        """Whether the pass has seen `op`."""
        return op in self.normal or self.step(op) is not None

    def end(self, op: Op) -> Op:
        """Where the pass left the value of `op`."""
        normal = self.normal
        found = normal.get(op)
        while found is None and (step := self.step(op)) is not None:
            op = step.to
            found = normal.get(op)
        return op if found is None else found

    def way(self, op: Op) -> Iterator[Step]:
        """The steps of `op`, until its normal form."""
        end = self.end(op)
        while op is not end and (step := self.step(op)) is not None:
            yield Step(self.name, op, *step)
            op = step.to
