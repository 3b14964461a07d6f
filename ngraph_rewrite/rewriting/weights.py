# SPDX-License-Identifier: Apache-2.0
"""Ops are given weights such that no rule makes terms heavier, and chosen ones make them lighter.

A rule asks that the weights of what it removes are at least those of what it makes; together that is a system of
linear inequalities, which the perceptron solves: weights are corrected by an inequality that fails, until none does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.rewriting.skeleton import REMEMBERED, builds_of_sequences, counted, sides

# How many times weights are corrected, and how many of one op a rule may have.
CORRECTIONS, MOST = 1000, 1 << 20


def weights_for(rules: Sequence[Rule], chosen: Collection[Rule]) -> Iterator[dict[int, int]]:
    """Weights of ops, by their ranks, to try one after the other: one for each op, then such as are worked out.

    Args:
        chosen: Those of the rules that should make terms lighter; if they can, all do.
    """
    yield {}
    rows = [_difference(rule) for rule in rules]
    known = [row for row in rows if row is not None]
    if len(known) < len(rows):
        return
    ops = sorted({op for row in known for op in row})
    matrix = np.array([[row.get(op, 0) for op in ops] for row in known], dtype=np.int64).reshape(len(known), len(ops))
    picked = np.array([any(rule is one for one in chosen) for rule in rules], dtype=np.int64)
    for strict in (np.ones_like(picked), picked):
        found = _corrected(matrix, strict)
        if found is not None:
            yield {op: int(weight) for op, weight in zip(ops, found, strict=True)}


@lru_cache(maxsize=REMEMBERED)
def _difference(rule: Rule) -> Mapping[int, int] | None:
    """How many more of each op the left side has than the right; None if a variable or too much is repeated."""
    both = sides(rule)
    if both is None or builds_of_sequences(rule):
        return None
    left, right = map(counted, both)
    if any(isinstance(name, str) and count > left[name] for name, count in right.items()):
        return None
    difference = {op: left[op] - right[op] for op in (*left, *right) if isinstance(op, int)}
    return difference if all(abs(count) < MOST for count in difference.values()) else None


def _corrected(matrix: NDArray[np.int64], least: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Weights, none below zero, whose products with the rows are at least so much; None if none is found soon."""
    weights = np.ones(matrix.shape[1], dtype=np.int64)
    for _ in range(CORRECTIONS):
        short = least - matrix @ weights
        worst = int(np.argmax(short)) if len(short) else 0
        if not len(short) or short[worst] <= 0:
            return weights
        weights = np.maximum(weights + matrix[worst], 0)
    return None
