# SPDX-License-Identifier: Apache-2.0
"""The replacement table: where each term went, and why.

It is the memo every rewriting driver keeps. Each pass adds a stage; within a stage a term has at most one
forward pointer, and a normal form has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ngraph_rewrite.lowering.stage import Stage, Step, Why
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.info import NO_METADATA
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological


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
            steps += stage.way(op)
            op = stage.end(op)
        return steps

    def on_the_way(self, handles: Iterable[Op]) -> set[Op]:
        """All terms that took a step on the way of some handles to their normal forms: those of `history`."""
        now, found = dict.fromkeys(handles), set[Op]()
        for stage in self.stages:
            normal = stage.normal
            moved = [term for term in now if normal.get(term) is not term]
            found.update(step.before for term in moved for step in stage.way(term))
            ends = {term: stage.end(term) for term in moved}
            now = dict.fromkeys([ends.get(term, term) for term in now]) if ends else now
        return found

    def carry(self, before: Op, after: Op) -> None:
        """Move metadata to a replacement; a key that is already there stays."""
        own = self.metadata(before)
        if own:
            self.moved[after] = {**own, **self.metadata(after)}

    def metadata(self, op: Op) -> Mapping[str, Any]:
        """The metadata of a term: its own, and what moved to it."""
        return self.moved.get(op) or op.info.metadata or NO_METADATA

    def redexes(self, rule: str | None = None) -> Iterator[Step]:
        """Every step that a rule or a pass took, in the order in which they were taken.

        Args:
            rule: Those of the rules of this name alone.
        """
        for stage in self.stages:
            if rule is not None:
                yield from (Step(stage.name, before, *step) for before, step in stage.taken_by(rule))
                continue
            for before, (to, why) in stage.forward.items():
                if not isinstance(why, str):
                    yield Step(stage.name, before, to, why)


def user_place(table: ReplacementTable, term: Op) -> str:
    """The line of the innermost handle in whose normal form a term is, where it has no line itself."""
    known = (s.before for s in table.redexes() if s.before.info.lineno)
    came = (handle for handle in known if term in topological([table.snap(handle)]))
    return (term if term.info.lineno else next(came, term)).info.place
