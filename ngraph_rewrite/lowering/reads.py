# SPDX-License-Identifier: Apache-2.0
"""States, and what terms see of them: what reads nothing that was written in between is the same in both.

So a gradient that several updates use is not gone through anew after each write of something that it does not read.
Which variables a term reads are the bits of a number. What a term sees of a state is worked out only when it is met
in a second one; most terms are met in one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Generic, NamedTuple, TypeVar

from ngraph_rewrite.lowering.versions import Versions
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological

T = TypeVar("T")
# What a term sees: the last write of each variable that it reads and that was written.
Seen = tuple[tuple[Op, Op], ...]


# So many states are looked back over before all that a term sees is compared.
_FEW = 16


class State(NamedTuple):
    """The last write of each variable that was written, shared between places, and these variables as bits.

    Attributes:
        before: The state that it came of.
        wrote: The variables that were written in between.
    """

    writes: Versions[Op, Op]
    bits: int
    before: State | None = None
    wrote: int = 0


class Reads:
    """What terms without effects read.

    Args:
        variables: Those that are written somewhere: each is a bit, others are none.

    Attributes:
        start: The state in which nothing was written.
    """

    def __init__(self, variables: Iterable[Op]) -> None:
        self.start = State(Versions(), 0)
        self._variables = list(dict.fromkeys(variables))
        self._known = {variable: 1 << i for i, variable in enumerate(self._variables)}

    def after(self, state: State, wrote: Mapping[Op, Op]) -> State:
        """The state once something was written in it."""
        if not wrote:
            return state
        bits = 0
        for variable in wrote:
            bits |= self._known[variable]
        return State(state.writes.after(wrote), state.bits | bits, state, bits)

    def differs(self, term: Op, state: State) -> int:
        """The variables that a term, which has no effects, reads and that were written."""
        return self._of(term) & state.bits

    def seen(self, state: State, bits: int) -> Seen:
        """The last writes of some variables."""
        found, left = [], bits
        while left:
            variable = self._variables[(left & -left).bit_length() - 1]
            found.append((variable, state.writes[variable]))
            left &= left - 1
        return tuple(found)

    def _of(self, term: Op) -> int:
        known = self._known
        if term not in known:
            for one in topological([term], known):
                if one not in known:
                    bits = 0
                    for arg in one.args:
                        bits |= known[arg]
                    known[one] = bits
        return known[term]


class ByState(Generic[T]):
    """What was found of terms, in each state that they see another part of.

    Args:
        reads: What they read.
    """

    def __init__(self, reads: Reads) -> None:
        self._reads = reads
        self._first: dict[Op, tuple[State, int, T]] = {}
        self._others: dict[Op, dict[Seen, T]] = {}

    def find(self, term: Op, state: State, bits: int) -> T | None:
        """What was found of a term in a state of which it sees the same; None if nothing was.

        Args:
            bits: The variables that were written and that it reads.
        """
        first = self._first.get(term)
        if first is None or first[0] is state:
            return None if first is None else first[2]
        if _nothing_written(first[0], state, bits):
            self._first[term] = state, bits, first[2]
            return first[2]
        if term not in self._others:
            self._others[term] = {self._reads.seen(first[0], first[1]): first[2]}
        return self._others[term].get(self._reads.seen(state, bits))

    def add(self, term: Op, state: State, bits: int, found: T) -> T:
        """Note what was found."""
        if term not in self._first:
            self._first[term] = state, bits, found
        else:
            self._others[term][self._reads.seen(state, bits)] = found
        return found


def _nothing_written(earlier: State, later: State, bits: int) -> bool:
    """Whether a state is known to have come of another one without a write of some variables."""
    for _ in range(_FEW):
        if later is earlier:
            return True
        if later.before is None or later.wrote & bits:
            return False
        later = later.before
    return False
