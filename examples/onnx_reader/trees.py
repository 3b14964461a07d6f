# SPDX-License-Identifier: Apache-2.0
"""Trees that decide, of ``ai.onnx.ml``: all trees of all samples go down, a step at a time, until each is at a leaf."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import ngraph_rewrite as ng
from onnx_reader.scores import labelled, labels_at, transformed
from onnx_reader.table import ModelError, Value, cast, op, term

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
    members: np.ndarray | None = None  # for each node numbers that are members, and NaN

    @property
    def steps(self) -> int:
        """How many steps lead to the deepest leaf."""
        level, count = self.roots, 0
        while (self.yes[level] != level).any():
            level, count = np.unique([self.yes[level], self.no[level]]), count + 1
            if count > len(self.yes):
                raise ModelError("a tree whose nodes lead back to themselves")
        return count

    def leaves(self, x: Value) -> ng.Op:
        """The leaf of each tree, for each row of `x`."""
        dtype = np.result_type(x.dtype if np.dtype(x.dtype).kind == "f" else np.float32, self.values.dtype)
        rows, own = term(cast(x, dtype)), ng.numpy.take

        def step(at: ng.Op, _: Any) -> tuple[ng.Op, tuple[()]]:
            v = ng.numpy.take_along_axis(rows, own(self.features, at, axis=0), axis=1)
            return np.where(self.goes(v, at), own(self.yes, at, axis=0), own(self.no, at, axis=0)), ()

        start = ng.numpy.broadcast_to(self.roots, (rows.shape[0], len(self.roots)))
        return ng.numpy.scan(step, start, length=self.steps)[0] if self.steps else start

    def goes(self, v: ng.Op, at: ng.Op) -> Value:
        """Whether it is yes at a node, for a feature's value."""
        own, modes = ng.numpy.take, np.unique(self.modes[self.yes != np.arange(len(self.yes))])
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
    return y if base is None else y + np.asarray(base, weights.dtype)


def table_of(nodes: int, targets: int, at: Any, of: Any, numbers: np.ndarray, how: str) -> np.ndarray:
    """What each node says of each target."""
    fill, put = {"MIN": (np.inf, np.minimum), "MAX": (-np.inf, np.maximum)}.get(how, (0, np.add))
    found = np.full((nodes, targets), fill, numbers.dtype)
    put.at(found, (np.asarray(at, int), np.asarray(of, int)), numbers)
    return found


# -- nodes that have the names of a tree and a node in it -----------------------------------------------------


def _named(
    *, nodes_featureids: Any, nodes_falsenodeids: Any, nodes_modes: Any, nodes_nodeids: Any, nodes_treeids: Any,
    nodes_truenodeids: Any, nodes_values: Numbers = None, nodes_values_as_tensor: Value = None,
    nodes_missing_value_tracks_true: Numbers = None, nodes_hitrates: Any = None, nodes_hitrates_as_tensor: Value = None,
) -> tuple[Forest, dict[tuple[int, int], int]]:  # fmt: skip
    """A forest, and the places of its nodes by their names."""
    names = list(zip(nodes_treeids, nodes_nodeids, strict=True))
    at, leaf = {name: k for k, name in enumerate(names)}, np.array([m == "LEAF" for m in nodes_modes])
    yes, no = (
        np.array([k if leaf[k] else at[names[k][0], n] for k, n in enumerate(own)], np.int64)
        for own in (nodes_truenodeids, nodes_falsenodeids)
    )
    values = _numbers(nodes_values, nodes_values_as_tensor)
    modes = np.array([0 if m == "LEAF" else MODES.index(m) for m in nodes_modes], np.int64)
    children = {int(k) for side in (yes, no) for n, k in enumerate(side) if k != n}
    roots = np.array([k for k in range(len(names)) if k not in children], np.int64)
    unknown = np.array(nodes_missing_value_tracks_true or [0] * len(names), bool) & ~leaf
    return Forest(np.array(nodes_featureids, np.int64), values, modes, yes, no, unknown, roots), at


def _numbers(values: Numbers, tensor: Value) -> np.ndarray:
    return np.asarray(values, np.float32) if tensor is None else tensor


@op("ai.onnx.ml.TreeEnsembleRegressor", like=_named)
def regressor(
    x: Value, *, aggregate_function: str = "SUM", base_values: Numbers = None, base_values_as_tensor: Value = None,
    n_targets: int = 1, post_transform: str = "NONE", target_ids: Any, target_nodeids: Any, target_treeids: Any,
    target_weights: Numbers = None, target_weights_as_tensor: Value = None, **nodes: Any,
) -> Value:  # fmt: skip
    forest, at = _named(**nodes)
    places = [at[name] for name in zip(target_treeids, target_nodeids, strict=True)]
    weights = _numbers(target_weights, target_weights_as_tensor)
    table = table_of(len(at), n_targets, places, target_ids, weights, aggregate_function)
    base = base_values if base_values_as_tensor is None else base_values_as_tensor
    return cast(transformed(gathered(forest, x, table, aggregate_function, base), post_transform), np.float32)


@op("ai.onnx.ml.TreeEnsembleClassifier", like=_named)
def classifier(
    x: Value, *, base_values: Numbers = None, base_values_as_tensor: Value = None, class_ids: Any, class_nodeids: Any,
    class_treeids: Any, class_weights: Numbers = None, class_weights_as_tensor: Value = None,
    classlabels_int64s: Numbers = None, classlabels_strings: Numbers = None, post_transform: str = "NONE",
    **nodes: Any,
) -> tuple[Value, ...]:  # fmt: skip
    """Two classes may have the number of one alone: a share if none is negative."""
    forest, at = _named(**nodes)
    labels, ids, alone = classlabels_int64s or classlabels_strings or [], class_ids, len(set(class_ids)) == 1
    many, first = len(labels), alone and len(labels) == 2 and ids[0] == 0
    places = [at[name] for name in zip(class_treeids, class_nodeids, strict=True)]
    weights = _numbers(class_weights, class_weights_as_tensor)
    positive = bool((weights >= 0).all())
    base = base_values if base_values_as_tensor is None else base_values_as_tensor
    base = base[:1] if base is not None and first else base
    table = table_of(len(at), 1 if first else many, places, ids, weights, "SUM")
    y, bound = gathered(forest, x, table, "SUM", base), 0.5 if positive else 0.0
    if many == 2 and alone and not first:
        best = cast(np.greater(y[:, 1], bound), np.int64)
        return labels_at(best, labels), cast(transformed(y, post_transform), np.float32)
    return labelled(y, labels, post_transform, bound, positive)


# -- nodes and leaves that have numbers -----------------------------------------------------------------------


@op("ai.onnx.ml.TreeEnsemble")
def tree_ensemble(
    x: Value, *, leaf_targetids: Any, leaf_weights: Value, nodes_falseleafs: Any, nodes_falsenodeids: Any,
    nodes_featureids: Any, nodes_modes: Value, nodes_splits: Value, nodes_trueleafs: Any, nodes_truenodeids: Any,
    tree_roots: Any, aggregate_function: int = 1, membership_values: Value = None, n_targets: int = 1,
    nodes_hitrates: Value = None, nodes_missing_value_tracks_true: Numbers = None, post_transform: int = 0,
) -> Value:  # fmt: skip
    """Leaves stand behind the nodes."""
    many, leaves = len(nodes_featureids), len(leaf_weights)
    ends, none = many + np.arange(leaves), np.zeros(leaves, int)
    yes, no = (
        np.concatenate([np.array(ids) + many * np.array(flags), ends])
        for ids, flags in ((nodes_truenodeids, nodes_trueleafs), (nodes_falsenodeids, nodes_falseleafs))
    )
    modes = np.concatenate([np.asarray(nodes_modes, np.int64), none])
    unknown = np.concatenate([nodes_missing_value_tracks_true or [0] * many, none]).astype(bool)
    values = np.concatenate([nodes_splits, np.zeros(leaves, nodes_splits.dtype)])
    features = np.concatenate([nodes_featureids, none]).astype(np.int64)
    members = None if membership_values is None else _members(modes, membership_values)
    forest = Forest(features, values, modes, yes, no, unknown, np.array(tree_roots, np.int64), members)
    how = SUMS[aggregate_function]
    table = table_of(many + leaves, n_targets, ends, leaf_targetids, leaf_weights, how)
    kind = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")[post_transform]
    return cast(transformed(gathered(forest, x, table, how, None), kind), x.dtype)


def _members(modes: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """For each node its members, and NaN. Those of a node end with NaN."""
    ends = np.flatnonzero(np.isnan(numbers))
    parts = iter(np.split(numbers, ends + 1))
    each = [next(parts)[:-1] if m == MODES.index("BRANCH_MEMBER") else numbers[:0] for m in modes]
    found = np.full((len(modes), max(map(len, each))), np.nan, numbers.dtype)
    for row, part in zip(found, each, strict=True):
        row[: len(part)] = part
    return found
