# SPDX-License-Identifier: Apache-2.0
"""Trees that decide: all trees of all samples go down, a step at a time, until each is at a leaf."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import ngraph_rewrite as ng
from onnx_reader.lists import WRONG, among, as_long, below
from onnx_reader.table import ModelError, Value, cast, term

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER")
COMPARED = (np.less_equal, np.less, np.greater_equal, np.greater, np.equal, np.not_equal)
SUMS = ("AVERAGE", "SUM", "MIN", "MAX")
Numbers = list[Any] | None


class Forest(NamedTuple):
    """Nodes of all trees, by what they compare a feature with; a leaf is followed by itself."""

    features: np.ndarray
    values: np.ndarray
    modes: np.ndarray  # places in `MODES`
    yes: np.ndarray
    no: np.ndarray
    unknown: np.ndarray  # whether NaN goes where yes goes
    roots: np.ndarray
    inner: np.ndarray  # whether it is no leaf
    members: np.ndarray | None = None  # for each node numbers that are members, and NaN

    def levels(self) -> Iterator[np.ndarray]:
        """The nodes so many steps from the roots, from none on to the deepest leaf."""
        level = self.roots
        for _ in range(len(self.yes) + 1):
            yield level
            level = level[self.inner[level]]
            if not len(level):
                return
            level = np.unique([self.yes[level], self.no[level]])
        raise ModelError("a tree whose nodes lead back to themselves", do=WRONG)

    @property
    def steps(self) -> int:
        """How many steps lead to the deepest leaf."""
        return sum(1 for _ in self.levels()) - 1

    def leaves(self, x: Value) -> ng.Op:
        """The leaf of each tree, for each row of `x`."""
        width = x.shape[1]
        below(width if isinstance(width, int) else np.iinfo(np.int64).max, nodes_featureids=self.features)
        dtype = np.result_type(x.dtype if np.dtype(x.dtype).kind == "f" else np.float32, self.values.dtype)
        rows, own = term(cast(x, dtype)), ng.numpy.take

        def step(at: ng.Op, _: Any) -> tuple[ng.Op, tuple[()]]:
            v = ng.numpy.take_along_axis(rows, own(self.features, at, axis=0), axis=1)
            return np.where(self.goes(v, at), own(self.yes, at, axis=0), own(self.no, at, axis=0)), ()

        start = ng.numpy.broadcast_to(self.roots, (rows.shape[0], len(self.roots)))
        return ng.numpy.scan(step, start, length=self.steps)[0] if self.steps else start

    def goes(self, v: ng.Op, at: ng.Op) -> Value:
        """Whether it is yes at a node, for a feature's value."""
        own, modes = ng.numpy.take, np.unique(self.modes[self.inner])
        limit, found = own(self.values, at, axis=0), None
        for mode in modes:
            one = self.is_member(v, at) if mode == len(COMPARED) else COMPARED[mode](v, limit)
            found = one if found is None else np.where(np.equal(own(self.modes, at, axis=0), mode), one, found)
        return found | (np.isnan(v) & own(self.unknown, at, axis=0)) if self.unknown.any() else found

    def is_member(self, v: ng.Op, at: ng.Op) -> Value:
        """Whether a feature's value is among a node's members."""
        return np.any(np.equal(v[..., None], ng.numpy.take(self.members, at, axis=0)), axis=-1)


def gathered(forest: Forest, x: Value, weights: np.ndarray, how: str, base: Numbers) -> Value:
    """For each row of `x` what its leaves say of each target, in one number. Of none of them it is 0."""
    found = ng.numpy.take(weights, forest.leaves(x), axis=0)
    if how in ("MIN", "MAX"):
        y = (np.min if how == "MIN" else np.max)(found, axis=1)
        y = np.where(np.isfinite(y), y, 0)
    else:
        y = np.sum(found, axis=1)
        y = y / len(forest.roots) if how == "AVERAGE" else y
    if base is None or not len(base):
        return y
    as_long(weights.shape[1], base_values=base)
    return y + np.asarray(base, weights.dtype)


def table_of(nodes: int, targets: int, at: Any, of: Any, numbers: np.ndarray, how: str) -> np.ndarray:
    """What each node says of each target."""
    among(SUMS, aggregate_function=how)
    as_long(len(at), target_ids=of, target_weights=numbers)
    below(targets, target_ids=of)
    fill, put = {"MIN": (np.inf, np.minimum), "MAX": (-np.inf, np.maximum)}.get(how, (0, np.add))
    found = np.full((nodes, targets), fill, numbers.dtype)
    put.at(found, (np.asarray(at, int), np.asarray(of, int)), numbers)
    return found
