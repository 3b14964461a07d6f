# SPDX-License-Identifier: Apache-2.0
"""Outermost rewriting on graphs: a term before its arguments, and again when an argument has changed.

Terms wait in frames, from a root down to the one that is looked at. After a step the terms above it are tried again
as far up as the rules look down; if one fires, what is below it is left as it is. What was done there is not lost: a
replaced term is replaced wherever it is met again.
"""

from __future__ import annotations

from collections.abc import Sequence

from ngraph_rewrite.lowering.stage import ARGUMENTS, Forward
from ngraph_rewrite.lowering.stepping import Stepper
from ngraph_rewrite.rewriting.pattern import App, Pattern
from ngraph_rewrite.terms.op import Op


def outermost(roots: Sequence[Op], stepper: Stepper) -> list[Op]:
    """The normal forms of the roots.

    Raises:
        RewriteError: if the rules run in a cycle, or the steps are used up.
    """
    work = _Outermost(stepper)
    return [work.normal_form(root) for root in roots]


class _Frame:
    """A term, and which of its arguments is looked at; those before it are normal."""

    __slots__ = ("index", "term")

    def __init__(self, term: Op) -> None:
        self.term, self.index = term, 0


class _Outermost:
    def __init__(self, stepper: Stepper) -> None:
        self.stepper, self.normal = stepper, stepper.stage.normal
        self.reach = max((levels(rule.left) for rule in stepper.matcher.rules), default=1) - 1
        self.frames: list[_Frame] = []
        self.active: set[Op] = set()

    def normal_form(self, root: Op) -> Op:
        self.enter(self.stepper.current(root))
        while True:
            frame = self.frames[-1]
            step = None if frame.term in self.normal else self.stepper.step(frame.term)
            if step is not None:
                self.contract(frame, step)
            elif frame.term in self.normal or not self.descend(frame):
                done = self.leave()
                self.normal[done] = done
                if not self.frames:
                    return done
                self.come_back(self.frames[-1], done)

    def enter(self, term: Op) -> None:
        if term in self.active:
            raise self.stepper.cycle(term, self.stepper.reasons_below(term))
        self.active.add(term)
        self.frames.append(_Frame(term))

    def leave(self) -> Op:
        frame = self.frames.pop()
        self.active.discard(frame.term)
        return frame.term

    def move(self, frame: _Frame, term: Op) -> None:
        """Let a frame hold what its term was replaced by."""
        self.active.discard(frame.term)
        if term in self.active:
            raise self.stepper.cycle(term, self.stepper.reasons_below(term))
        self.active.add(term)
        frame.term, frame.index = term, 0

    def descend(self, frame: _Frame) -> bool:
        """Look at the first argument that is not known to be normal; False if all are."""
        args = frame.term.args
        while frame.index < len(args):
            arg = args[frame.index]
            now = self.stepper.current(arg)
            if now is not arg or now not in self.normal:
                self.enter(now)
                return True
            frame.index += 1
        return False

    def come_back(self, frame: _Frame, arg: Op) -> None:
        """An argument is normal: the term is built of it, and tried again."""
        new = self.with_argument(frame, arg)
        if new is not frame.term:
            index, before = frame.index + 1, frame.term
            found = self.stepper.link(before, Forward(new, ARGUMENTS))
            self.move(frame, found)
            flat = before.definition.profile is not None and before.definition.profile.flat  # others stand there then
            frame.index = index if found is new and not flat else 0
        else:
            frame.index += 1

    def with_argument(self, frame: _Frame, arg: Op) -> Op:
        args = frame.term.args
        return self.stepper.rebuilt(frame.term, (*args[: frame.index], arg, *args[frame.index + 1 :]))

    def contract(self, frame: _Frame, step: Forward) -> None:
        """Take a step, and go back up to the outermost term that it made a redex."""
        self.move(frame, self.stepper.link(frame.term, step))
        above = len(self.frames) - 1
        built = [frame.term]
        for parent in reversed(self.frames[max(0, above - self.reach) : above]):
            built.append(self.with_argument(parent, built[-1]))
        for distance in range(len(built) - 1, 0, -1):
            new = built[distance]
            if self.stepper.step(new) is not None:
                del_from = above - distance
                while len(self.frames) > del_from + 1:
                    self.leave()
                parent = self.frames[-1]
                if new is not parent.term:
                    self.move(parent, self.stepper.link(parent.term, Forward(new, ARGUMENTS)))
                return


def levels(pattern: Pattern) -> int:
    """How many levels of ops a pattern looks at."""
    if not isinstance(pattern, App):
        return 0
    return 1 + max((levels(a) for a in pattern.args), default=0)
