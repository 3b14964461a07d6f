# SPDX-License-Identifier: Apache-2.0
"""Graphs that no engine owns: nodes are numbered, and each engine builds its own terms from them.

All tensors are float32. Most have 64 elements, as matrices of 8x8 or in other shapes; those that were
summed along an axis have 8. Each op has at most one attribute here: permutation, shape, places of axes, or
the whole number that fills a constant.
"""

from __future__ import annotations

import math
import random
import zlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import permutations
from typing import Any, NamedTuple

Shape = tuple[int, ...]
MATRIX: Shape = (8, 8)
VECTOR: Shape = (8,)
SHAPES: tuple[Shape, ...] = (MATRIX, (64,), (4, 16), (2, 4, 8))
COMMUTATIVE = frozenset({"add", "multiply", "maximum", "minimum"})
LEAVES = 16

# How often an op is drawn where it fits.
BINARY = {"add": 24, "multiply": 20, "maximum": 6, "subtract": 4, "divide": 3, "minimum": 1, "gated": 1}
BINARY["squared_difference"] = 1
UNARY = {"negative": 7, "exp": 6, "log": 5, "sqrt": 3, "reciprocal": 5, "square": 4, "absolute": 3, "tanh": 1}
UNARY.update({"sigmoid": 1, "relu": 2, "silu": 1, "softplus": 1, "rsqrt": 1, "relu6": 1})
MOVES = {"transpose": 9, "reshape": 6}
OF_MATRIX = {"dot": 6, "linear": 1, "attention": 1, "centre": 1, "softmax": 1, "log_softmax": 1, "layer_norm": 1}
OF_MATRIX["rms_norm"] = 1
TO_VECTOR = {"sum": 3, "max": 2, "mean": 1, "variance": 1, "logsumexp": 1}
FROM_VECTOR = {"broadcast": 25}


def arities() -> dict[str, tuple[int, bool]]:
    """For each op that a graph may have, how many arguments it takes and whether it has an attribute."""
    found = dict.fromkeys(BINARY, (2, False)) | dict.fromkeys(UNARY, (1, False))
    found |= dict.fromkeys((*MOVES, *OF_MATRIX, *TO_VECTOR, *FROM_VECTOR), (1, True))
    found |= {"dot": (2, False), "linear": (3, False), "attention": (3, False)}
    return found | {"constant": (0, True), "placeholder": (0, True)}


class Node(NamedTuple):
    """An op, its attribute and the numbers of its arguments, which are smaller than its own."""

    op: str
    attribute: Any
    args: tuple[int, ...]


@dataclass
class Graph:
    """Nodes with the shapes of their values, and which of them are asked for."""

    nodes: list[Node] = field(default_factory=list)
    shapes: list[Shape] = field(default_factory=list)
    roots: list[int] = field(default_factory=list)
    _numbers: dict[Any, int] = field(default_factory=dict, repr=False)

    def add(self, op: str, attribute: Any, args: tuple[int, ...], shape: Shape) -> int:
        """The number of a new node."""
        self.nodes.append(Node(op, attribute, args))
        self.shapes.append(shape)
        return len(self.nodes) - 1

    def once(self, op: str, attribute: Any, args: tuple[int, ...], shape: Shape) -> int:
        """The number of the node that is this, which may be there already."""
        key = (op, attribute, args, shape)
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = self.add(op, attribute, args, shape)
        return found


def dag(size: int, seed: int = 0) -> Graph:
    """About `size` different nodes in layers of the root of `size`; every node has a user or is a root."""
    draw, graph = random.Random(seed), Graph()
    width = max(int(math.sqrt(size)), 4)
    layer = [_leaf(graph, draw, draw.choice(SHAPES)) for _ in range(width)]
    while len(graph.nodes) < size:
        unused, mates = list(dict.fromkeys(layer)), defaultdict(list)
        for number in unused:
            mates[graph.shapes[number]].append(number)
        draw.shuffle(unused)
        used: set[int] = set()
        following: list[int] = []
        for first in unused + draw.choices(unused, k=width - len(unused)):
            if first not in used or len(following) < width:
                made = _apply(graph, draw, first, mates)
                used.update(graph.nodes[made].args)
                following.append(made)
        layer = following
    graph.roots = _unused(graph)
    return graph


def tree(size: int, seed: int = 0) -> Graph:
    """About `size` nodes, each but the leaves used once; its depth is about the logarithm of `size`."""
    draw, graph = random.Random(seed), Graph()
    graph.roots = [_subtree(graph, draw, MATRIX, size)]
    return graph


def _unused(graph: Graph) -> list[int]:
    users = {a for node in graph.nodes for a in node.args}
    return [i for i in range(len(graph.nodes)) if i not in users]


def _leaf(graph: Graph, draw: random.Random, shape: Shape) -> int:
    if draw.random() < 0.3:
        return graph.once("constant", draw.randint(-2, 3), (), shape)
    return graph.once("placeholder", (draw.randrange(LEAVES), shape), (), shape)


def _apply(graph: Graph, draw: random.Random, first: int, mates: dict[Shape, list[int]]) -> int:
    """A new node whose first argument is given, and whose others have fitting shapes."""
    shape = graph.shapes[first]

    def other(shape: Shape) -> int:
        if draw.random() < 0.2 or not mates[shape]:
            return _leaf(graph, draw, shape)
        return draw.choice(mates[shape])

    op = _drawn(draw, shape)
    attribute, result = _attribute(draw, op, shape)
    if op in BINARY:
        args: tuple[int, ...] = (first, other(shape))
    elif op == "dot":
        args = (first, other(MATRIX))
    elif op in ("linear", "attention"):
        args = (first, other(MATRIX), other(VECTOR if op == "linear" else MATRIX))
    else:
        args = (first,)
    return graph.once(op, attribute, args, result)


def _drawn(draw: random.Random, shape: Shape) -> str:
    names, weights = _choices(shape)
    return draw.choices(names, cum_weights=weights)[0]


@lru_cache(maxsize=64)
def _choices(shape: Shape) -> tuple[list[str], list[int]]:
    table = {**BINARY, **UNARY}
    if shape == VECTOR:
        table |= FROM_VECTOR
    else:
        table |= MOVES
    if shape == MATRIX:
        table |= OF_MATRIX | TO_VECTOR
    weights, total = [], 0
    for weight in table.values():
        total += weight
        weights.append(total)
    return list(table), weights


def _attribute(draw: random.Random, op: str, shape: Shape) -> tuple[Any, Shape]:
    """An attribute for an op on a tensor of this shape, and the shape of its result."""
    if op == "transpose":
        perm = draw.choice(list(permutations(range(len(shape)))))
        return perm, tuple(shape[p] for p in perm)
    if op == "reshape":
        to = draw.choice(SHAPES)
        return to, to
    if op == "broadcast":
        return (draw.randrange(2),), MATRIX
    if op in TO_VECTOR:
        return (draw.randrange(2),), VECTOR
    if op in ("centre", "softmax", "log_softmax", "layer_norm", "rms_norm"):
        return (draw.randrange(2),), shape
    return None, shape


def _subtree(graph: Graph, draw: random.Random, shape: Shape, size: int) -> int:
    """A tree with a value of this shape: the op is drawn, then what it is applied to."""
    if size <= 1:
        return _leaf(graph, draw, shape)
    if shape == VECTOR and draw.random() < 0.2:
        op = draw.choice(list(TO_VECTOR))
        return graph.add(op, (draw.randrange(2),), (_subtree(graph, draw, MATRIX, size - 1),), VECTOR)
    op = _drawn(draw, shape)
    if op in TO_VECTOR or op == "broadcast":
        op = "exp"
    attribute, result = _attribute(draw, op, shape)
    wanted = [shape]
    if op == "transpose":  # the result is what was wanted, so the argument is moved back
        attribute = tuple(sorted(range(len(attribute)), key=attribute.__getitem__))
        wanted, result = [result], shape
    elif op == "reshape":
        wanted, attribute, result = [result], shape, shape
    elif op in BINARY or op == "dot":
        wanted = [shape, shape]
    elif op in ("linear", "attention"):
        wanted = [MATRIX, MATRIX, VECTOR if op == "linear" else MATRIX]
    return graph.add(op, attribute, _arguments(graph, draw, wanted, size - 1), result)


def _arguments(graph: Graph, draw: random.Random, wanted: Sequence[Shape], size: int) -> tuple[int, ...]:
    found = []
    for left, shape in zip(range(len(wanted), 0, -1), wanted, strict=True):
        share = size if left == 1 else int(size * draw.uniform(0.6, 1.4) / left)
        found.append(_subtree(graph, draw, shape, share))
        size -= share
    return tuple(found)


Exported = Iterable[tuple[str, Any, Sequence[int]]]
PRIME = (1 << 61) - 1
# What the number of an argument is multiplied by, by its place; operands of commutative ops count alike.
WEIGHTS = (3, 5, 7)


def code(op: str, attribute: Any) -> int:
    """A number for an op with its attribute: a whole number counts as it is."""
    own = attribute if isinstance(attribute, int) else zlib.crc32(repr(attribute).encode())
    return zlib.crc32(op.encode()) + 1_000_003 * own


def checksum(nodes: Exported, roots: Sequence[int]) -> tuple[int, int]:
    """How many different terms there are under `roots`, and a number for all of them.

    The number of a term is ``(code + sum(weight * number)) ** 3 % PRIME``: a rewriting engine can work it out itself.
    Arguments come before what they stand in.
    """
    codes: dict[Any, int] = {}
    numbers: list[int] = []
    args_of: list[Sequence[int]] = []
    for op, attribute, args in nodes:
        own = codes.get((op, attribute))
        if own is None:
            own = codes[op, attribute] = code(op, attribute)
        weights = (1, 1) if op in COMMUTATIVE else WEIGHTS
        numbers.append((own + sum(w * numbers[a] for w, a in zip(weights, args, strict=False))) ** 3 % PRIME)
        args_of.append(args)
    reached, stack = set(roots), list(roots)
    while stack:
        for a in args_of[stack.pop()]:
            if a not in reached:
                reached.add(a)
                stack.append(a)
    return len({numbers[i] for i in reached}), sum(numbers[r] for r in roots) % PRIME
