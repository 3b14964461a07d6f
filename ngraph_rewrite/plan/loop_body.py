# SPDX-License-Identifier: Apache-2.0
"""A loop as one term of the planner: of initial states, sequences and what it captures, with its body as data."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from ngraph_rewrite.terms.catalogue import OpDef
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.tuples import TupleType

LOOP = "plan.loop"
LOOP_OP = OpDef(
    name=LOOP,
    attributes=("body",),
    arity=None,
    least=0,
    rank=0,
    type_rule=lambda *xs, body: body.type,
    meaning=None,
    normalise=None,
    traits=frozenset(),
    family="plan",
    short="loop",
)


@dataclass(frozen=True, eq=False)
class LoopBody:
    """What a loop does in each step.

    Attributes:
        type: The type of the scan: final states, stacked outputs, stacked states.
        states: The number of each state in the type, and the storage that stands for it.
        slices: The input that stands for a slice of each sequence.
        captured: The input that stands for each term from outside.
        writes: The assignments of the next states.
        results: What each step gives, and the number in the type of what it is stacked to.
        flag: The state that says whether to go on, if nobody knows before how many steps there are; then `length` is a
            guess. That of a loop without a limit is no part of the type, and has the number -1.
        limit: The number of steps after which such a loop ends in any case, if there is one.
    """

    type: TupleType
    length: int
    reverse: bool
    states: tuple[tuple[int, Op], ...]
    slices: tuple[Op, ...]
    captured: tuple[Op, ...]
    writes: tuple[Op, ...]
    results: tuple[tuple[int, Op], ...]
    flag: Op | None = None
    limit: int | None = None

    def read(self, parts: Container[int]) -> list[tuple[int, Op]]:
        """The results of which the parts with these numbers are made: a scan may stand in two graphs."""
        return [(number, result) for number, result in self.results if number in parts]
