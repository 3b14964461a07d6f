# SPDX-License-Identifier: Apache-2.0
"""Attributes to try for scans: every reading of the arguments as states, sequences and outputs that is well-typed.

And for loops, with arguments to try.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ngraph_rewrite.rewriting.domain import Domain, Types
from ngraph_rewrite.rewriting.domains_semi import Values
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.types.axes import Axes, Axis
from ngraph_rewrite.types.dtypes import BOOL
from ngraph_rewrite.types.tensor import TensorType


def scans(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    """For `semi.scan`: along the first axis of the sequences, or any length."""
    for states, sequences, own in _readings(types):
        lengths = [t.shape[0] for t in own if t.rank] if own else domain.lengths
        yield from _variants(states, sequences, lengths)


def named_scans(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    """For `axes.scan`: along any axis that all sequences have, or a new one."""
    for states, sequences, own in _readings(types):
        axes = own[0].axes if own else [Axis("REC", n) for n in domain.lengths]
        yield from _variants(states, sequences, [a for a in axes if all(a in t.axes for t in own)])


def loops(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    """For `core.while_loop`: two states, the first of which is the flag."""
    passed = len(types) - 4
    if passed >= 0:
        yield tuple(Uid() for _ in range(2 + passed)), 2, passed


def flagged(position: int, known: Mapping[int, TensorType], wish: TensorType | None, domain: Domain) -> Types | None:
    """Arguments of a loop: all are flags, as those that are drawn together are alike."""
    return [TensorType(BOOL, Axes())]


def _readings(types: Sequence[TensorType]) -> Iterator[tuple[int, int, Sequence[TensorType]]]:
    """Numbers of states and sequences that fit, and the sequences; no argument depends on a parameter."""
    for states in (1, 0, 2):
        for sequences in (1, 0, 2):
            end = states + sequences
            if len(types) >= end + states and tuple(types[end : end + states]) == tuple(types[:states]):
                yield states, sequences, types[states:end]


def _variants(states: int, sequences: int, places: Iterable[Any]) -> Values:
    for place in places:
        for reverse in (False, True):
            yield tuple(Uid() for _ in range(states + sequences)), states, sequences, place, reverse
