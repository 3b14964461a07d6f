# SPDX-License-Identifier: Apache-2.0
"""Which variables a term reads, as the bits of a number: what reads none that was written is the same in each state.

So a gradient that several updates use is not gone through anew after each write of something that it does not read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological


class State(NamedTuple):
    """The last write of each variable that was written, shared between places, and these variables as bits."""

    writes: Mapping[Op, Op]
    bits: int


START = State({}, 0)


class Reads:
    """What terms without effects read.

    Args:
        variables: Those that are written somewhere: each is a bit, others are none.
    """

    def __init__(self, variables: Iterable[Op]) -> None:
        self._variables = list(dict.fromkeys(variables))
        self._known = {variable: 1 << i for i, variable in enumerate(self._variables)}

    def after(self, state: State, wrote: Mapping[Op, Op]) -> State:
        """The state once something was written in it."""
        bits = state.bits
        for variable in wrote:
            bits |= self._known[variable]
        return State({**state.writes, **wrote}, bits) if wrote else state

    def seen(self, term: Op, state: State) -> State:
        """What a term, which has no effects, sees of a state: the writes of what it reads."""
        bits = self._of(term) & state.bits
        if bits == state.bits:
            return state
        writes, left = dict[Op, Op](), bits
        while left:
            variable = self._variables[(left & -left).bit_length() - 1]
            writes[variable] = state.writes[variable]
            left &= left - 1
        return State(writes, bits)

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
