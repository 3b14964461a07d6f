# SPDX-License-Identifier: Apache-2.0
"""A target says which ops it executes and what guards may ask of it; a program is what it is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from numpy.typing import NDArray

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.lowering.table import ReplacementTable
from ngraph_rewrite.terms.op import Op, Uid

Array = NDArray[Any]


@dataclass(frozen=True)
class Target:
    """A target's name, base set and preferences.

    Attributes:
        base: The names of the ops it executes; None if it executes every op by its meaning.
        sample: Where it wants the sample axis: first or last.
        recurrent: Where it wants the axis of time steps.
        prepare: Makes an executable of a program.
    """

    name: str
    base: frozenset[str] | None
    prepare: Callable[[Program], Executable]
    sample: str = "last"
    recurrent: str = "first"


@dataclass
class Program:
    """A graph with known lengths, ready for a target.

    Attributes:
        results: The terms whose values are wanted.
        writes: All writes, in order.
        inputs: The placeholders, in the order of the arguments.
        storage: The arrays of the variables, by uid; their memory never moves.
        streams: The number of each random draw.
    """

    results: Sequence[Op]
    writes: Sequence[Op]
    inputs: Sequence[Op]
    storage: Mapping[Uid, Array]
    streams: Mapping[Uid, int]
    seed: int
    cache: Cache
    table: ReplacementTable = field(default_factory=ReplacementTable)


class Executable(Protocol):
    """A program that can be run; one run at a time."""

    def run(self, inputs: Sequence[Array], results: Sequence[Array], call: int) -> None:
        """Read `inputs`, perform the writes, fill `results`; `call` numbers the run for random draws."""

    def source(self) -> str:
        """The text of what runs."""

    def stats(self) -> dict[str, Any]:
        """Figures about what runs."""

    def where(self, term: Op) -> str | None:
        """In one sentence, where a term of the graph is computed; None if nowhere."""
