# SPDX-License-Identifier: Apache-2.0
"""The replacement table: where each term went, and why.

It is the memo every rewriting driver keeps. Each pass adds a stage; within a stage a term has at most one
forward pointer, and a normal form has none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.terms.info import NO_METADATA
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


@dataclass
class Stage:
    """The forward pointers of one pass, and the normal forms they lead to."""

    name: str
    forward: dict[Op, Forward] = field(default_factory=dict)
    normal: dict[Op, Op] = field(default_factory=dict)


class ReplacementTable:
    """Forward pointers of one lowering, keyed by handle; the handles' graph itself never changes."""

    def __init__(self) -> None:
        self.stages: list[Stage] = []
        self._metadata: dict[Op, Mapping[str, Any]] = {}

    def stage(self, name: str) -> Stage:
        """A new stage, after all others."""
        self.stages.append(Stage(name))
        return self.stages[-1]

    def snap(self, op: Op) -> Op:
        """Where the value of `op` is now: its normal form, or `op` itself if nothing replaced it."""
        for stage in self.stages:
            op = _follow(stage, op)
        return op

    def inside(self, op: Op) -> Op:
        """As `snap`, but through labels that were cancelled: the term that has the elements of `op`."""
        for stage in self.stages:
            while op not in stage.normal and op not in stage.forward and op.definition.name == "core.label":
                op = op.args[0]
            op = _follow(stage, op)
        return op

    def knows(self, op: Op) -> bool:
        """Whether some pass of this lowering has seen `op`."""
        return any(op in s.forward or op in s.normal for s in self.stages)

    def history(self, op: Op) -> list[Step]:
        """Every step from `op` to its normal form, in order."""
        steps: list[Step] = []
        for stage in self.stages:
            while op in stage.forward:
                to, why = stage.forward[op]
                steps.append(Step(stage.name, op, to, why))
                op = to
        return steps

    def carry(self, before: Op, after: Op) -> None:
        """Move metadata to a replacement; a key that is already there stays."""
        own = self.metadata(before)
        if own:
            self._metadata[after] = {**own, **self.metadata(after)}

    def metadata(self, op: Op) -> Mapping[str, Any]:
        """The metadata of a term: its own, and what moved to it."""
        return self._metadata.get(op) or op.info.metadata or NO_METADATA

    def redexes(self) -> Iterator[Step]:
        """Every step that a rule or a pass took, in the order in which they were taken."""
        for stage in self.stages:
            for before, (to, why) in stage.forward.items():
                if not isinstance(why, str):
                    yield Step(stage.name, before, to, why)


def _follow(stage: Stage, op: Op) -> Op:
    found = stage.normal.get(op)
    while found is None and op in stage.forward:
        op = stage.forward[op].to
        found = stage.normal.get(op)
    return found if found is not None else op
