# SPDX-License-Identifier: Apache-2.0
"""E-nodes by class, and what choosing one for each class costs: shared ones count once."""

from __future__ import annotations

import heapq
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

# The e-node that a class is computed by, for each class that is used.
Choice = dict[int, int]


class Exhausted(Exception):
    """All the effort that was allowed is spent."""


class Candidate(NamedTuple):
    """An e-node: its class, those of its children, and its cost."""

    own: int
    children: tuple[int, ...]
    cost: float


class Graph:
    """E-nodes by class, and what uses them.

    Attributes:
        nodes: The e-nodes; those that have their own class below them at once are of no use, and left out.
        of: The numbers of a class's e-nodes.
        cheapest: The least that an e-node of a class costs by itself.
        left: How many e-nodes may still be looked at: a count, so that the same is found on every machine.
    """

    def __init__(self, nodes: Iterable[Candidate], roots: Sequence[int]) -> None:
        self.nodes = list(nodes)
        self.left = math.inf
        self.roots = list(dict.fromkeys(roots))
        self.of: dict[int, list[int]] = {}
        self.uses: dict[int, list[int]] = {}
        for number, node in enumerate(self.nodes):
            if node.own not in node.children:
                self.of.setdefault(node.own, []).append(number)
                for child in dict.fromkeys(node.children):
                    self.uses.setdefault(child, []).append(number)
        self.cheapest = {own: min(self.nodes[n].cost for n in numbers) for own, numbers in self.of.items()}

    def spend(self, effort: int) -> None:
        """Count e-nodes that are looked at."""
        self.left -= effort
        if self.left < 0:
            raise Exhausted

    def used(self, choice: Mapping[int, int]) -> list[int]:
        """The classes that the roots need, children first."""
        order, seen, stack = list[int](), set[int](), [(root, False) for root in reversed(self.roots)]
        while stack:
            own, ready = stack.pop()
            if ready:
                order.append(own)
            elif own not in seen:
                seen.add(own)
                stack.append((own, True))
                stack.extend([(c, False) for c in reversed(self.nodes[choice[own]].children) if c not in seen])
        self.spend(len(order))
        return order

    def cost(self, choice: Mapping[int, int]) -> float:
        """What the graph of a choice costs: each e-node once."""
        return math.fsum(self.nodes[choice[own]].cost for own in self.used(choice))

    def trees(self, free: Collection[int] = (), barred: Collection[int] = ()) -> Choice:
        """The e-nodes of the cheapest trees, where some classes are free, and some must not be used."""
        self.spend(len(self.nodes))
        total = dict.fromkeys(free, 0.0)
        choice, best = Choice(), dict[int, float]()
        missing = [len(set(n.children)) for n in self.nodes]
        heap = [(0.0, own, -1) for own in free]
        heap += [(n.cost, n.own, i) for i, n in enumerate(self.nodes) if not n.children and n.own not in total]
        heapq.heapify(heap)
        while heap:
            cost, own, number = heapq.heappop(heap)
            if own in choice or own in barred or (own in total) != (number < 0):
                continue
            if number >= 0:
                choice[own], total[own] = number, cost
            for user in self.uses.get(own, ()):
                missing[user] -= 1
                above = self.nodes[user]
                if not missing[user] and above.own not in choice and above.own not in free:
                    cost = above.cost + sum(total[c] for c in dict.fromkeys(above.children))
                    if cost < best.get(above.own, math.inf):
                        best[above.own] = cost
                        heapq.heappush(heap, (cost, above.own, user))
        return choice
