# SPDX-License-Identifier: Apache-2.0
"""The order of work: what is read comes first, and a variable is written when all reads of it are done."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from typing import TypeVar

Node = TypeVar("Node")


def in_order(nodes: Mapping[Node, int], before: Mapping[Node, Iterable[Node]]) -> list[Node] | None:
    """The nodes, each after those `before` it, and otherwise by their numbers; None if there is a cycle.

    >>> in_order({"a": 0, "b": 1, "c": 2}, {"a": ["c"]})
    ['b', 'c', 'a']
    """
    order = sorted(nodes, key=nodes.__getitem__)
    place = {n: i for i, n in enumerate(order)}
    if all(place.get(b, -1) <= at for n, at in place.items() for b in before.get(n, ())):
        return order  # as they are: nearly always
    return _by_waiting(nodes, before)


def in_circles(before: Mapping[Node, Iterable[Node]]) -> set[Node]:
    """Those that wait for each other, and those that stand between two circles.

    >>> sorted(in_circles({"a": [], "b": ["a", "c"], "c": ["b"], "d": ["c"]}))
    ['b', 'c']
    """
    left = {node: set(needs) - {node} for node, needs in before.items()}
    for _ in range(2):  # without those that wait for nobody, then without those for whom nobody waits
        turned: dict[Node, set[Node]] = {node: set() for node in left}
        for node, needs in left.items():
            for need in needs & left.keys():
                turned[need].add(node)
        free = [node for node, needs in left.items() if not needs]
        while free:
            gone = free.pop()
            del left[gone]
            for node in turned.pop(gone):
                left[node].discard(gone)
                if not left[node]:
                    free.append(node)
        left = {node: waiting & left.keys() for node, waiting in turned.items()}
    return {*left}


def _by_waiting(nodes: Mapping[Node, int], before: Mapping[Node, Iterable[Node]]) -> list[Node] | None:
    """Of those that wait for nothing any more, the one with the smallest number is next."""
    after: dict[Node, list[Node]] = {n: [] for n in nodes}
    counts = dict.fromkeys(nodes, 0)
    for node in nodes:
        for need in before.get(node, ()):
            if need in after and need is not node:
                after[need].append(node)
                counts[node] += 1
    ready = [(number, i, n) for i, (n, number) in enumerate(nodes.items()) if not counts[n]]
    heapq.heapify(ready)
    place = {n: i for i, n in enumerate(nodes)}
    order: list[Node] = []
    while ready:
        _, _, node = heapq.heappop(ready)
        order.append(node)
        for follower in after[node]:
            counts[follower] -= 1
            if not counts[follower]:
                heapq.heappush(ready, (nodes[follower], place[follower], follower))
    return order if len(order) == len(nodes) else None
