# SPDX-License-Identifier: Apache-2.0
"""Attributes to try for scans: every reading of the arguments as states, sequences and outputs that is well-typed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ngraph_rewrite.rewriting.domain import Domain
from ngraph_rewrite.rewriting.domains_semi import Values
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.types.axes import Axis
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
