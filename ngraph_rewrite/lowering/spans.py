# SPDX-License-Identifier: Apache-2.0
"""Sets of numbers as the spans that they fill: a set of neighbours is one pair, however many they are."""

from __future__ import annotations

from collections.abc import Iterable

# From each start up to, and without, its stop; in increasing order, with gaps between.
Spans = tuple[tuple[int, int], ...]


def span(start: int, stop: int) -> Spans:
    """The numbers from `start` up to `stop`, without that."""
    return ((start, stop),) if start < stop else ()


def united(parts: Iterable[Spans]) -> Spans:
    """What is in any of some sets.

    >>> united([((0, 2), (7, 8)), ((2, 4),), ()])
    ((0, 4), (7, 8))
    """
    filled = [spans for spans in parts if spans]
    if len(filled) < 2:
        return filled[0] if filled else ()
    found: list[tuple[int, int]] = []
    for start, stop in sorted(one for spans in filled for one in spans):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(stop, found[-1][1])
        else:
            found.append((start, stop))
    return tuple(found)


def without(spans: Spans, others: Spans) -> Spans:
    """What is in `spans` and not in `others`.

    >>> without(((0, 5), (8, 9)), ((1, 2), (4, 8)))
    ((0, 1), (2, 4), (8, 9))
    """
    found: list[tuple[int, int]] = []
    for start, stop in spans:
        for left, right in others:
            if left >= stop:
                break
            if right > start:
                if left > start:
                    found.append((start, left))
                start = right
        if start < stop:
            found.append((start, stop))
    return tuple(found)
