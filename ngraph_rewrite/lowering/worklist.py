# SPDX-License-Identifier: Apache-2.0
"""A worklist of terms whose arguments are normal: only what is new since the last run is looked at.

Each term knows who uses it and how many of its arguments it still waits for. A term that becomes normal tells its
users; a term that is replaced hands them over to what replaces it. Terms that nothing tells any more run in a cycle.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from ngraph_rewrite.lowering.stage import ARGUMENTS, Forward
from ngraph_rewrite.lowering.stepping import Stepper
from ngraph_rewrite.terms.op import Op


def worklist(roots: Sequence[Op], stepper: Stepper, settled: set[Op]) -> list[Op]:
    """The normal forms of the roots.

    Args:
        settled: Terms known to be normal for these rules, and all below them; those found now are added.

    Raises:
        RewriteError: if the rules run in a cycle, or the steps are used up.
    """
    work = _Worklist(stepper, settled)
    work.enter(roots)
    work.run()
    found = [stepper.current(root) for root in roots]
    for root, normal in zip(roots, found, strict=True):
        if normal not in settled:
            raise work.stuck(root)
    return found


class _Worklist:
    def __init__(self, stepper: Stepper, settled: set[Op]) -> None:
        self.stepper, self.settled = stepper, settled
        self.users: dict[Op, list[Op]] = {}
        self.waits: dict[Op, int] = {}
        self.ready: deque[Op] = deque()

    def enter(self, roots: Iterable[Op]) -> None:
        """Take in the terms under `roots` that are new, each with those it waits for."""
        stack = [*roots][::-1]
        while stack:
            term = stack.pop()
            if term in self.waits or term in self.settled:
                continue
            missing = [now for a in dict.fromkeys(term.args) if (now := self.stepper.current(a)) not in self.settled]
            self.waits[term] = len(missing)
            for arg in missing:
                self.users.setdefault(arg, []).append(term)
            if not missing:
                self.ready.append(term)
            stack.extend(missing[::-1])

    def run(self) -> None:
        while self.ready:
            term = self.ready.popleft()
            built = self.stepper.rebuilt(term, tuple([self.stepper.current(a) for a in term.args]))
            if built is not term:
                self.replace(term, Forward(built, ARGUMENTS))
                continue
            step = self.stepper.step(term)
            if step is not None:
                self.replace(term, step)
            else:
                self.settled.add(term)
                self.stepper.stage.normal[term] = term
                self.tell(self.users.pop(term, []))

    def replace(self, term: Op, forward: Forward) -> None:
        """Those who wait for a term wait for what replaces it."""
        now = self.stepper.link(term, forward)
        waiting = self.users.pop(term, [])
        if now in self.settled:
            self.tell(waiting)
        else:
            self.users.setdefault(now, []).extend(waiting)
            self.enter([now])

    def tell(self, users: Iterable[Op]) -> None:
        for user in users:
            self.waits[user] -= 1
            if not self.waits[user]:
                self.ready.append(user)

    def stuck(self, root: Op) -> Exception:
        """The error for terms that wait for each other."""
        term, seen = self.stepper.current(root), set[Op]()
        while term not in seen:
            seen.add(term)
            term = next(now for a in term.args if (now := self.stepper.current(a)) not in self.settled)
        return self.stepper.cycle(term, self.stepper.reasons_below(term))
