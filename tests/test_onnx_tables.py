# SPDX-License-Identifier: Apache-2.0
"""Operators of ai.onnx.ml that the reader of ONNX models, in examples/, has: against loops over NumPy's float64."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from onnx import TensorProto, helper, numpy_helper, parser

import ngraph_rewrite as ng

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
sys.path.insert(0, str(EXAMPLES))
reader = import_module("onnx_reader")
RANDOM = np.random.default_rng(0)


def run(name: str, inputs: Sequence[Any], outputs: int = 1, **how: Any) -> list[Any]:
    """What a node gives, of any number of samples."""
    results, names = [f"o{k}" for k in range(outputs)], [f"i{k}" for k in range(len(inputs))]
    infos = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), ["n", *v.shape[1:]])
        for n, v in zip(names, inputs, strict=True)
    ]
    node = helper.make_node(name, names, results, domain="ai.onnx.ml", **how)
    graph = helper.make_graph([node], "g", infos, [helper.make_empty_tensor_value_info(n) for n in results])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15), helper.make_opsetid("ai.onnx.ml", 3)])
    found = reader.read(model)
    wanted = [v for v in found.outputs.values() if isinstance(v, ng.Op)]
    with ng.make_transformer("reference") as transformer:
        values = dict(zip(wanted, transformer.computation(wanted, *found.inputs.values())(*inputs), strict=True))
    return [values.get(v) for v in found.outputs.values()]


def floats(*shape: int) -> Any:
    return RANDOM.normal(size=shape).astype("f")


def logistic(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


# -- trees ----------------------------------------------------------------------------------------------------

MODES = {"BRANCH_LEQ": np.less_equal, "BRANCH_LT": np.less, "BRANCH_GTE": np.greater_equal, "BRANCH_GT": np.greater,
         "BRANCH_EQ": np.equal, "BRANCH_NEQ": np.not_equal}  # fmt: skip


def grown(tree: int, deep: int, modes: Sequence[str], nodes: list[dict[str, Any]]) -> int:
    """A node and all below it; its number."""
    own: dict[str, Any] = {"treeids": tree, "nodeids": len([n for n in nodes if n["treeids"] == tree])}
    nodes.append(own)
    leaf = deep == 0 or RANDOM.random() < 0.2
    own |= {"modes": "LEAF" if leaf else str(RANDOM.choice(modes)), "featureids": int(RANDOM.integers(3)),
            "values": float(RANDOM.integers(-2, 3)), "missing_value_tracks_true": int(RANDOM.integers(2))}  # fmt: skip
    for side in ("true", "false"):
        own[f"{side}nodeids"] = 0 if leaf else grown(tree, deep - 1, modes, nodes)
    return int(own["nodeids"])


def forest(trees: int, modes: Sequence[str]) -> tuple[list[dict[str, Any]], dict[str, Any], list[tuple[int, int]]]:
    """Nodes; as attributes; and the names of the leaves."""
    nodes: list[dict[str, Any]] = []
    for tree in range(trees):
        grown(tree, 4, modes, nodes)
    how = {f"nodes_{key}": [n[key] for n in nodes] for key in nodes[0]}
    return nodes, how, [(n["treeids"], n["nodeids"]) for n in nodes if n["modes"] == "LEAF"]


def leaf_of(nodes: list[dict[str, Any]], tree: int, x: Any) -> tuple[int, int]:
    own = {n["nodeids"]: n for n in nodes if n["treeids"] == tree}
    at = own[0]
    while at["modes"] != "LEAF":
        v = x[at["featureids"]]
        yes = MODES[at["modes"]](v, at["values"]) or np.isnan(v) and at["missing_value_tracks_true"]
        at = own[at["truenodeids" if yes else "falsenodeids"]]
    return tree, at["nodeids"]


def said(nodes: list[dict[str, Any]], trees: int, x: Any, weights: dict[tuple[int, int], Any]) -> Any:
    """What the leaf of each tree says, for each row."""
    return np.array([[weights[leaf_of(nodes, tree, row)] for tree in range(trees)] for row in x], float)


@pytest.mark.parametrize("modes", [["BRANCH_LEQ"], list(MODES)])
@pytest.mark.parametrize("how", ["SUM", "AVERAGE", "MIN", "MAX"])
def test_leaves_of_trees_say_numbers(how: str, modes: list[str]) -> None:
    """Nodes may compare in all ways, a number that is none goes where they say, and a leaf may be silent."""
    nodes, attributes, leaves = forest(4, modes)
    weights, x = floats(len(leaves), 2), RANDOM.integers(-3, 4, (30, 3)).astype("f")
    x[::4, 1] = np.nan
    spoken = [(k, t) for k in range(len(leaves)) for t in range(2) if t == 0 or k % 3]
    (found,) = run(
        "TreeEnsembleRegressor", [x], aggregate_function=how, n_targets=2, base_values=[0.5, -1.0],
        target_treeids=[leaves[k][0] for k, _ in spoken], target_nodeids=[leaves[k][1] for k, _ in spoken],
        target_ids=[t for _, t in spoken], target_weights=[weights[one] for one in spoken], **attributes,
    )  # fmt: skip
    for k in range(len(leaves)):
        weights[k, 1] = weights[k, 1] if k % 3 else np.nan
    every = said(nodes, 4, x, dict(zip(leaves, weights, strict=True)))
    with np.errstate(all="ignore"):
        least, most, total = np.fmin.reduce(every, 1), np.fmax.reduce(every, 1), np.nansum(every, 1)
    wanted = {"SUM": total, "AVERAGE": total / 4, "MIN": np.nan_to_num(least), "MAX": np.nan_to_num(most)}[how]
    assert_allclose(found, wanted + [0.5, -1], rtol=1e-5, atol=1e-6)


# For each way to weigh two or three classes what is made of the sum of what leaves say, and above what the second wins.
CLASSES: dict[str, tuple[Any, bool, Any, float | None]] = {
    "three": ([4, 7, 9], False, softmax, None),
    "two": ([4, 7], False, softmax, None),
    "share": ([4, 7], True, lambda s: np.hstack([1 - s, s]), 0.5),
    "liking": ([4, 7], False, lambda s: np.hstack([logistic(-s), logistic(s)]), 0),
}


@pytest.mark.parametrize("name", CLASSES)
def test_leaves_of_trees_choose_a_class(name: str) -> None:
    labels, positive, function, bound = CLASSES[name]
    nodes, attributes, leaves = forest(3, ["BRANCH_LEQ"])
    ids = range(len(labels) if bound is None else 1)
    weights, x = floats(len(leaves), len(ids)), floats(20, 3)
    weights = np.abs(weights) / 4 if positive else weights
    kind = "SOFTMAX" if bound is None else "NONE" if positive else "LOGISTIC"
    label, numbers = run(
        "TreeEnsembleClassifier", [x], 2, class_treeids=[t for _ in ids for t, _ in leaves],
        class_nodeids=[n for _ in ids for _, n in leaves], class_ids=[k for k in ids for _ in leaves],
        class_weights=weights.T.reshape(-1).tolist(), classlabels_int64s=labels, post_transform=kind, **attributes,
    )  # fmt: skip
    whole = said(nodes, 3, x, dict(zip(leaves, weights, strict=True))).sum(1)
    best = whole.argmax(1) if bound is None else (whole[:, 0] > bound).astype(int)
    assert_array_equal(label, np.array(labels)[best])
    assert_allclose(numbers, function(whole), rtol=1e-5, atol=1e-6)


# A tree of two inner nodes, once as nodes that have names and once as nodes and leaves; and what a damaged file says.
NAMED: dict[str, Any] = {
    "nodes_treeids": [0] * 5, "nodes_nodeids": [0, 1, 2, 3, 4], "nodes_featureids": [0, 1, 0, 0, 0],
    "nodes_values": [0.0] * 5, "nodes_modes": ["BRANCH_LEQ"] * 2 + ["LEAF"] * 3, "nodes_truenodeids": [1, 2, 0, 0, 0],
    "nodes_falsenodeids": [4, 3, 0, 0, 0], "target_treeids": [0] * 3, "target_nodeids": [2, 3, 4],
    "target_ids": [0, 0, 1], "target_weights": [1.0, 2.0, 3.0], "n_targets": 2,
}  # fmt: skip
NUMBERED: dict[str, Any] = {
    "tree_roots": [0], "nodes_featureids": [0, 1], "nodes_modes": numpy_helper.from_array(np.array([0, 6], "uint8")),
    "nodes_splits": numpy_helper.from_array(np.zeros(2, "f")), "nodes_truenodeids": [1, 0], "nodes_trueleafs": [0, 1],
    "nodes_falsenodeids": [2, 1], "nodes_falseleafs": [1, 1], "leaf_targetids": [0, 1, 0], "n_targets": 2,
    "leaf_weights": numpy_helper.from_array(np.ones(3, "f")),
    "membership_values": numpy_helper.from_array(np.array([1, 2, np.nan], "f")),
}  # fmt: skip
DAMAGED: list[tuple[dict[str, Any], str, Any]] = [
    (NAMED, "nodes_truenodeids", [1, 0, 0, 0, 0]),  # a cycle, and a leaf that nothing leads to
    (NAMED, "nodes_truenodeids", [1, 1, 0, 0, 0]),
    (NAMED, "nodes_falsenodeids", [4, 0, 0, 0, 0]),
    (NAMED, "nodes_truenodeids", [1, 99, 0, 0, 0]),
    (NAMED, "nodes_nodeids", [0, 1, 2, 3, 3]),
    (NAMED, "nodes_values", [0.0]),
    (NAMED, "nodes_featureids", [-1, 1, 0, 0, 0]),
    (NAMED, "nodes_featureids", [2, 1, 0, 0, 0]),
    (NAMED, "nodes_modes", ["BRANCH_MEMBER"] * 2 + ["LEAF"] * 3),
    (NAMED, "nodes_missing_value_tracks_true", [1]),
    (NAMED, "target_ids", [0, 0, -1]),
    (NAMED, "target_ids", [0]),
    (NAMED, "target_weights", [1.0]),
    (NAMED, "base_values", [1.0]),
    (NAMED, "aggregate_function", "MEDIAN"),
    (NAMED, "n_targets", 10**13),
    (NUMBERED, "nodes_truenodeids", [-1, 0]),
    (NUMBERED, "nodes_falsenodeids", [3, 1]),
    (NUMBERED, "nodes_trueleafs", [0, 0]),
    (NUMBERED, "nodes_trueleafs", [1]),
    (NUMBERED, "tree_roots", [-1]),
    (NUMBERED, "leaf_targetids", [0, -1, 0]),
    (NUMBERED, "aggregate_function", -1),
    (NUMBERED, "nodes_modes", numpy_helper.from_array(np.array([6, 6], "uint8"))),
]


@pytest.mark.parametrize(("tree", "name", "value"), DAMAGED)
def test_damaged_trees_are_refused(tree: dict[str, Any], name: str, value: Any) -> None:
    with pytest.raises(reader.ModelError) as caught:
        run("TreeEnsembleRegressor" if tree is NAMED else "TreeEnsemble", [floats(4, 2)], **{**tree, name: value})
    assert "the node" in str(caught.value) and caught.value.do


def test_nan_behind_the_last_members_may_lack() -> None:
    (whole,) = run("TreeEnsemble", [np.array([[0, 2], [0, 3], [1, 2]], "f")], **NUMBERED)
    assert whole.tolist() == [[1, 0], [0, 1], [1, 0]]
    short = numpy_helper.from_array(np.array([1, 2], "f"))
    (found,) = run("TreeEnsemble", [np.array([[0, 2]], "f")], **{**NUMBERED, "membership_values": short})
    assert found.tolist() == [[1, 0]]


MACHINE: dict[str, Any] = {
    "classlabels_ints": [0, 1, 2], "coefficients": [1.0] * 12, "support_vectors": [1.0] * 18, "rho": [0.1] * 3,
    "vectors_per_class": [2, 3, 1],
}  # fmt: skip
WRONG: list[tuple[str, dict[str, Any]]] = [
    ("SVMClassifier", {**MACHINE, "vectors_per_class": [2, 5, -1]}),
    ("SVMClassifier", {**MACHINE, "vectors_per_class": [2, 4]}),
    ("SVMClassifier", {**MACHINE, "rho": [0.1]}),
    ("SVMClassifier", {**MACHINE, "prob_a": [1.0] * 3}),
    ("SVMClassifier", {**MACHINE, "kernel_type": "COSINE"}),
    ("SVMRegressor", {"coefficients": [1.0], "support_vectors": [1.0] * 9, "n_supports": 3, "rho": [0.5]}),
    ("LinearRegressor", {"coefficients": [1.0] * 3, "intercepts": [1.0] * 3}),
    ("LinearClassifier", {"coefficients": [1.0] * 6, "intercepts": [1.0] * 2, "classlabels_ints": [5]}),
    ("LabelEncoder", {"keys_floats": [1.0, 2.0], "values_floats": [1.0]}),
    ("FeatureVectorizer", {"inputdimensions": [2]}),
    ("Imputer", {}),
]


@pytest.mark.parametrize(("name", "how"), WRONG)
def test_lists_that_do_not_fit_are_refused(name: str, how: dict[str, Any]) -> None:
    with pytest.raises(reader.ModelError) as caught:
        run(name, [floats(4, 3)], 2 if "Classifier" in name else 1, **how)
    assert "the node" in str(caught.value) and caught.value.do


# -- columns --------------------------------------------------------------------------------------------------


def test_columns_are_scaled_filled_and_put_side_by_side() -> None:
    x = floats(5, 3)
    (found,) = run("Scaler", [x], offset=[1.0, 0.0, 2.0], scale=[2.0, 1.0, 0.5])
    assert_allclose(found, (x - [1, 0, 2]) * [2, 1, 0.5], rtol=1e-6)
    x[0] = 0
    for norm, size in (("MAX", x.max(1)), ("L1", np.abs(x).sum(1)), ("L2", np.sqrt((x * x).sum(1)))):
        (found,) = run("Normalizer", [x], norm=norm)
        assert_allclose(found, x / np.where(size == 0, 1, size)[:, None], rtol=1e-5)
    gaps = np.where(x > 0, x, np.nan).astype("f")
    (found,) = run("Imputer", [gaps], imputed_value_floats=[7.0, 8.0, 9.0], replaced_value_float=np.nan)
    assert_array_equal(found, np.where(x > 0, x, [7, 8, 9]))
    whole = RANDOM.integers(0, 3, (5, 2))
    (found,) = run("Imputer", [whole], imputed_value_int64s=[7], replaced_value_int64=2)
    assert_array_equal(found, np.where(whole == 2, 7, whole))
    (found,) = run("FeatureVectorizer", [x, whole, whole[:, 0]], inputdimensions=[3, 2, 1])
    assert_array_equal(found, np.hstack([x, whole, whole[:, :1]]).astype("f"))


def test_what_stands_for_what() -> None:
    """A key that is no number is one, too; what is no key has a number of its own."""
    x = np.array([[3, 5], [8, 3]])
    (found,) = run("OneHotEncoder", [x], cats_int64s=[3, 8, 2])
    assert_array_equal(found, np.equal(x[..., None], [3, 8, 2]).astype("f"))
    (found,) = run("LabelEncoder", [x], keys_int64s=[3, 8], values_floats=[0.5, 2.0], default_float=-1.0)
    assert_array_equal(found, np.array([[0.5, -1], [2, 0.5]], "f"))
    y = np.array([1, np.nan, 2], "f")
    (found,) = run("LabelEncoder", [y], keys_floats=[np.nan, 1.0], values_int64s=[4, 6])
    assert found.dtype == np.int64 and found.tolist() == [6, 4, -1]


# -- linear models and support vectors ------------------------------------------------------------------------


def test_linear_models() -> None:
    x, w, b = floats(6, 4), floats(3, 4), floats(3)
    y = x.astype(float) @ w.T + b
    how = {"coefficients": w.reshape(-1).tolist(), "intercepts": b.tolist()}
    (found,) = run("LinearRegressor", [x], targets=3, **how)
    assert_allclose(found, y, rtol=1e-4, atol=1e-5)
    label, numbers = run("LinearClassifier", [x], 2, classlabels_ints=[4, 2, 9], post_transform="SOFTMAX", **how)
    assert_array_equal(label, np.array([4, 2, 9])[y.argmax(1)])
    assert_allclose(numbers, softmax(y), rtol=1e-4, atol=1e-5)
    one = {"coefficients": w[0].tolist(), "intercepts": b[:1].tolist(), "classlabels_ints": [4, 2]}
    label, numbers = run("LinearClassifier", [x], 2, post_transform="LOGISTIC", **one)
    assert_array_equal(label, np.where(y[:, 0] > 0, 2, 4))
    assert_allclose(numbers, logistic(np.stack([-y[:, 0], y[:, 0]], 1)), rtol=1e-4, atol=1e-5)


def test_labels_that_are_texts_are_left_out() -> None:
    """Beside them there are the numbers of the classes, which also a map of each sample is made of."""
    how = {"coefficients": [1.0, 2.0], "intercepts": [0.0, 0.0], "classlabels_strings": ["a", "b"]}
    x = floats(3, 1)
    label, numbers = run("LinearClassifier", [x], 2, **how)
    assert label is None
    assert_array_equal(numbers, x * np.array([1, 2], "f"))
    (found,) = run("ZipMap", [numbers], classlabels_strings=["a", "b"])
    assert_array_equal(found, numbers)


KERNELS = {"LINEAR": lambda d, _: d, "POLY": lambda d, _: (0.5 * d + 1) ** 2,
           "SIGMOID": lambda d, _: np.tanh(d / 2 + 1), "RBF": lambda _, a: np.exp(-0.5 * a)}  # fmt: skip


def common(kind: str, x: Any, vectors: Any) -> Any:
    apart = ((x[:, None].astype(float) - vectors) ** 2).sum(-1)
    return KERNELS[kind](x.astype(float) @ vectors.T, apart)


@pytest.mark.parametrize("kind", KERNELS)
def test_support_vectors_say_numbers_and_choose_classes(kind: str) -> None:
    """Each two classes have a score of their own, and the class that wins most often is the label."""
    x, vectors, counts, labels = floats(9, 4), floats(7, 4), [2, 4, 1], [5, 3, 8]
    own = np.repeat(range(3), counts)
    how = {"kernel_type": kind, "kernel_params": [0.5, 1.0, 2.0], "support_vectors": vectors.reshape(-1).tolist()}
    weights, shift, shared = floats(7), floats(3), common(kind, x, vectors)
    (found,) = run("SVMRegressor", [x], coefficients=weights.tolist(), rho=[0.5], n_supports=7, **how)
    assert_allclose(found[:, 0], shared @ weights + 0.5, rtol=1e-4, atol=1e-4)
    table, scores = floats(2, 7), []
    for k, (i, j) in enumerate(combinations(range(3), 2)):
        scores.append(
            shared[:, own == i] @ table[j - 1, own == i] + shared[:, own == j] @ table[i, own == j] + shift[k]
        )
    how |= {"coefficients": table.reshape(-1).tolist(), "rho": shift.tolist(), "vectors_per_class": counts}
    label, numbers = run("SVMClassifier", [x], 2, classlabels_ints=labels, **how)
    assert_allclose(numbers, np.stack(scores, 1), rtol=1e-4, atol=1e-4)
    votes = np.zeros((9, 3))
    for (i, j), score in zip(combinations(range(3), 2), scores, strict=True):
        votes[range(9), np.where(score > 0, i, j)] += 1
    assert_array_equal(label, np.array(labels)[votes.argmax(1)])
    _, numbers = run("SVMClassifier", [x], 2, classlabels_ints=labels, prob_a=[-1.0] * 3, prob_b=[0.25] * 3, **how)
    assert_allclose(numbers.sum(1), 1, rtol=1e-4)
    pairs = {(i, j): logistic(s - 0.25) for (i, j), s in zip(combinations(range(3), 2), scores, strict=True)}
    for step in RANDOM.normal(size=(20, 3)) * 1e-2:  # no shares nearby suit the pairs better
        other = numbers + step - step.mean()
        assert (misfit(pairs, other) > misfit(pairs, numbers.astype(float)) - 1e-6).all()


def misfit(pairs: dict[tuple[int, int], Any], p: Any) -> Any:
    return sum(((1 - r) * p[:, i] - r * p[:, j]) ** 2 for (i, j), r in pairs.items())


def test_two_classes_of_support_vectors_share_what_their_score_says() -> None:
    x, vectors, table = floats(5, 3), floats(4, 3), floats(1, 4)
    how = {"support_vectors": vectors.reshape(-1).tolist(), "coefficients": table[0].tolist(), "rho": [0.1],
           "vectors_per_class": [2, 2], "classlabels_ints": [3, 1]}  # fmt: skip
    score = x.astype(float) @ vectors.T @ table.T + 0.1
    label, numbers = run("SVMClassifier", [x], 2, **how)
    assert_array_equal(label, np.where(score[:, 0] > 0, 3, 1))
    assert_allclose(numbers, np.hstack([-score, score]), rtol=1e-4, atol=1e-5)
    _, numbers = run("SVMClassifier", [x], 2, prob_a=[-2.0], prob_b=[0.5], **how)
    assert_allclose(numbers[:, :1], logistic(2 * score - 0.5), rtol=1e-4, atol=1e-5)


def test_what_is_made_of_texts_is_none() -> None:
    """Whatever is computed of it; if that is all that a model gives, it is refused."""
    text = """<ir_version: 10, opset_import: ["": 15, "ai.onnx.ml": 3]> agraph (float[n, 2] x)
        => (string[n] label, float[n, 2] y, string[n] other) {
            best = ArgMax <axis = 1, keepdims = 0> (x)
            found = ai.onnx.ml.ArrayFeatureExtractor (classes, best)
            flat = Constant <value_ints = [-1]> ()
            label = Reshape (found, flat)
            other = ai.onnx.ml.LabelEncoder <keys_int64s = [0], values_strings = ["a"]> (best)
            y = Neg (x) }"""
    proto = parser.parse_model(text)
    proto.graph.initializer.append(helper.make_tensor("classes", TensorProto.STRING, [2], [b"a", b"b"]))
    for trainable in (True, False):
        label, y, other = reader.read(proto, trainable=trainable).outputs.values()
        assert label is None and other is None and isinstance(y, ng.Op)
    proto.graph.output[2].type.tensor_type.elem_type = TensorProto.INT64
    with pytest.raises(reader.ModelError, match="the output other is computed of texts"):
        reader.read(proto)
    del proto.graph.output[1:]
    with pytest.raises(reader.ModelError, match="(?s)STRING.*at the output label"):
        reader.read(proto)


TEXTS = [("OneHotEncoder", {"cats_strings": ["a"]}), ("LabelEncoder", {"keys_strings": ["a"], "values_int64s": [1]})]


@pytest.mark.parametrize(("name", "how"), TEXTS)
def test_texts_are_refused(name: str, how: dict[str, Any]) -> None:
    with pytest.raises(reader.ModelError, match=f"(?s)texts.*is not supported.*at the node.*{name}"):
        run(name, [np.array([1])], **how)
