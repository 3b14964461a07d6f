# SPDX-License-Identifier: Apache-2.0
"""Where threads that went different ways meet again: an order of basic blocks, each after those that lead to it.

Threads whose block comes first in it go on first, so that none passes the place where others will come. A loop is in
one piece, all else lies before or after it; threads that come to its head again wait at its end for those that are
still inside. (Such an order is a weak topological one: Bourdoncle, Efficient chaotic iteration strategies with
widenings, 1993.) The order of the text will not do: compilers put what is rarely needed behind what it leads to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

_Ways = Mapping[int, Sequence[int]]


class Order(NamedTuple):
    """An order of blocks.

    Attributes:
        blocks: The block of each place; that of a loop's head has a second one, for those who come there again.
        places: Where threads are that go from one block to another.
    """

    blocks: list[int]
    places: dict[tuple[int, int], int]


def ordered(ways: Sequence[Sequence[int]]) -> Order:
    """Put blocks in order, the first of which is where threads begin; where none of them come has no place.

    Args:
        ways: The blocks that may come next after each.

    A loop, block 1 and what is in it, and two ways in it of which one is far behind in the text:

    >>> ordered([[1], [2, 4], [3], [1], [5, 3], []]).blocks
    [0, 1, 4, 2, 3, 1, 5]
    """
    order = Order([], {})
    edges = dict(enumerate(ways))
    reached = {*_finished(0, edges, set())}
    _arrange(0, {block: list(edges[block]) for block in reached}, order)
    again = dict(order.places)
    first = {block: place for place, block in reversed(list(enumerate(order.blocks)))}
    order.places.update({(block, to): first[to] for block in reached for to in edges[block]} | again)
    return order


def _arrange(begin: int, edges: _Ways, order: Order) -> None:
    """Put blocks in order that are reached from one of them; ways back to heads of loops get their places."""
    ranks = {block: rank for rank, block in enumerate(reversed(_finished(begin, edges, set())))}
    for some in _together(edges, sorted(ranks, key=ranks.__getitem__)):
        head = min(some, key=ranks.__getitem__)
        if len(some) == 1 and head not in edges[head]:
            order.blocks.append(head)
            continue
        inside = {block: [to for to in edges[block] if to in some and to != head] for block in some}
        _arrange(head, inside, order)
        order.places.update({(block, head): len(order.blocks) for block in some if head in edges[block]})
        order.blocks.append(head)


def _together(edges: _Ways, blocks: Iterable[int]) -> Iterable[set[int]]:
    """Blocks that lead to each other, after those that lead to them (Kosaraju's algorithm).

    Args:
        blocks: Each after what leads to it, but for loops.
    """
    back: dict[int, list[int]] = {block: [] for block in edges}
    for block, others in edges.items():
        for other in others:
            back[other].append(block)
    seen = set[int]()
    for block in blocks:
        if block not in seen:
            yield {*_finished(block, back, seen)}


def _finished(begin: int, edges: _Ways, seen: set[int]) -> list[int]:
    """Blocks that are reached and were not seen, each after those that it leads to but for loops; now they are seen."""
    found, under_way = list[int](), [(begin, iter(edges[begin]))]
    seen.add(begin)
    while under_way:
        _, others = under_way[-1]
        other = next((one for one in others if one not in seen), None)
        if other is None:
            found.append(under_way.pop()[0])
        else:
            seen.add(other)
            under_way.append((other, iter(edges[other])))
    return found
