# SPDX-License-Identifier: Apache-2.0
"""Operators of ``ai.onnx.ml`` that are trees: what they say of their nodes, which is checked, as a forest."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from onnx_reader.forest import COMPARED, MODES, SUMS, Forest, Numbers, gathered, table_of
from onnx_reader.lists import WRONG, among, as_long, below
from onnx_reader.scores import labelled, labels_at, transformed
from onnx_reader.table import ModelError, Value, cast, op

KINDS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
Names = dict[tuple[int, int], int]  # places of nodes by their trees and their names there


# -- nodes that have the names of a tree and a node in it -----------------------------------------------------


def _named(
    *, nodes_featureids: Any, nodes_falsenodeids: Any, nodes_modes: Any, nodes_nodeids: Any, nodes_treeids: Any,
    nodes_truenodeids: Any, nodes_values: Numbers = None, nodes_values_as_tensor: Value = None,
    nodes_missing_value_tracks_true: Numbers = None, nodes_hitrates: Any = None, nodes_hitrates_as_tensor: Value = None,
) -> tuple[Forest, Names]:  # fmt: skip
    """A forest, and the places of its nodes by their names."""
    values, unknown = _numbers(nodes_values, nodes_values_as_tensor), nodes_missing_value_tracks_true or None
    as_long(
        len(nodes_treeids), nodes_nodeids=nodes_nodeids, nodes_featureids=nodes_featureids, nodes_values=values,
        nodes_modes=nodes_modes, nodes_truenodeids=nodes_truenodeids, nodes_falsenodeids=nodes_falsenodeids,
        nodes_missing_value_tracks_true=unknown,
    )  # fmt: skip
    names, leaf = list(zip(nodes_treeids, nodes_nodeids, strict=True)), np.array([m == "LEAF" for m in nodes_modes])
    at = {name: k for k, name in enumerate(names)}
    yes, no = (
        np.array(_places(at, [name if end else (name[0], n) for name, end, n in zip(names, leaf, own, strict=True)]))
        for own in (nodes_truenodeids, nodes_falsenodeids)
    )
    number = {"LEAF": 0} | {mode: k for k, mode in enumerate(MODES[: len(COMPARED)])}
    for mode in set(nodes_modes):
        among(number, nodes_modes=mode)
    modes = np.array([number[m] for m in nodes_modes], np.int64)
    tracks = ~leaf & (False if unknown is None else np.array(unknown, bool))
    features = np.where(leaf, 0, np.array(nodes_featureids, np.int64))
    found = Forest(features, values, modes, yes, no, tracks, _roots(names, at, yes, no), ~leaf)
    reached = np.zeros(len(at), bool)
    for level in found.levels():
        reached[level] = True
    if not reached.all():
        raise ModelError("the tree {} has no way to its node {}".format(*names[reached.argmin()]), do=WRONG)
    return found, at


def _numbers(values: Numbers, tensor: Value) -> np.ndarray:
    return np.asarray(values or [], np.float32) if tensor is None else tensor


def _places(at: Names, names: Any) -> list[int]:
    """The places of nodes with these names."""
    names = list(names)
    if missing := [name for name in names if name not in at]:
        raise ModelError("the tree {} has no node {}".format(*missing[0]), do=WRONG)
    return [at[name] for name in names]


def _roots(names: list[tuple[int, int]], at: Names, yes: np.ndarray, no: np.ndarray) -> np.ndarray:
    """The places of nodes that no others lead to: there is one in each tree."""
    places = np.arange(len(names))
    roots = np.setdiff1d(places, np.concatenate([side[side != places] for side in (yes, no)]))
    found = Counter(names[k][0] for k in roots)
    odd = [tree for tree, _ in names if found[tree] != 1]
    if odd or len(at) != len(names):
        what = f"the tree {odd[0]} has {found[odd[0]]} roots" if odd else "two nodes of a tree have one number"
        raise ModelError(what, do=WRONG)
    return roots


@op("ai.onnx.ml.TreeEnsembleRegressor", like=_named)
def regressor(
    x: Value, *, aggregate_function: str = "SUM", base_values: Numbers = None, base_values_as_tensor: Value = None,
    n_targets: int = 1, post_transform: str = "NONE", target_ids: Any, target_nodeids: Any, target_treeids: Any,
    target_weights: Numbers = None, target_weights_as_tensor: Value = None, **nodes: Any,
) -> Value:  # fmt: skip
    forest, at = _named(**nodes)
    places = _places(at, zip(target_treeids, target_nodeids, strict=True))
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
    places = _places(at, zip(class_treeids, class_nodeids, strict=True))
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
    as_long(
        many, nodes_modes=nodes_modes, nodes_splits=nodes_splits, nodes_truenodeids=nodes_truenodeids,
        nodes_falsenodeids=nodes_falsenodeids, nodes_trueleafs=nodes_trueleafs, nodes_falseleafs=nodes_falseleafs,
        nodes_missing_value_tracks_true=nodes_missing_value_tracks_true or None,
    )  # fmt: skip
    below(np.where(nodes_trueleafs, leaves, many), nodes_truenodeids=nodes_truenodeids)
    below(np.where(nodes_falseleafs, leaves, many), nodes_falsenodeids=nodes_falsenodeids)
    below(many, tree_roots=tree_roots)
    below(len(MODES), nodes_modes=nodes_modes)
    below(len(SUMS), aggregate_function=aggregate_function)
    below(len(KINDS), post_transform=post_transform)
    ends, none = many + np.arange(leaves), np.zeros(leaves, int)
    yes, no = (
        np.concatenate([np.array(ids) + many * np.array(flags, bool), ends])
        for ids, flags in ((nodes_truenodeids, nodes_trueleafs), (nodes_falsenodeids, nodes_falseleafs))
    )
    modes = np.concatenate([np.asarray(nodes_modes, np.int64), none])
    unknown = np.concatenate([nodes_missing_value_tracks_true or [0] * many, none]).astype(bool)
    values = np.concatenate([nodes_splits, np.zeros(leaves, nodes_splits.dtype)])
    features = np.concatenate([nodes_featureids, none]).astype(np.int64)
    members = _members(modes, np.empty(0, values.dtype) if membership_values is None else membership_values)
    inner = np.arange(many + leaves) < many
    forest = Forest(features, values, modes, yes, no, unknown, np.array(tree_roots, np.int64), inner, members)
    how = SUMS[aggregate_function]
    table = table_of(many + leaves, n_targets, ends, leaf_targetids, leaf_weights, how)
    return cast(transformed(gathered(forest, x, table, how, None), KINDS[post_transform]), x.dtype)


def _members(modes: np.ndarray, numbers: np.ndarray) -> np.ndarray | None:
    """For each node its members, and NaN. Between those of two nodes there is NaN, and maybe behind the last."""
    nodes = np.flatnonzero(modes == MODES.index("BRANCH_MEMBER"))
    if not len(nodes):
        return None
    closed = numbers[:-1] if np.isnan(numbers[-1:]).any() else numbers
    parts = np.split(closed, np.flatnonzero(np.isnan(closed)))
    if len(parts) != len(nodes):
        raise ModelError(f"membership_values has {len(parts)} sets for {len(nodes)} nodes", do=WRONG)
    found = np.full((len(modes), max(map(len, parts))), np.nan, numbers.dtype)
    for node, part in zip(nodes, parts, strict=True):
        found[node, : len(part)] = part  # of all but the first part NaN, which nothing equals, is the first
    return found
