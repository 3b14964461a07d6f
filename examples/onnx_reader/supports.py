# SPDX-License-Identifier: Apache-2.0
"""Support vector machines of ``ai.onnx.ml``: what a sample has in common with vectors, weighed and summed."""

from __future__ import annotations

from itertools import accumulate, combinations
from typing import Any

import numpy as np

import ngraph_rewrite as ng
from onnx_reader.lists import among, as_long, below
from onnx_reader.scores import labelled, labels_at, transformed
from onnx_reader.table import Value, cast, op, space

Numbers = list[Any] | None


def kernel(x: Value, vectors: np.ndarray, kind: str, numbers: Numbers) -> Value:
    """How much samples have in common with each vector. The numbers are gamma, a summand and a power."""
    among(("LINEAR", "POLY", "RBF", "SIGMOID"), kernel_type=kind)
    gamma, more, degree = numbers or (0.0, 0.0, 3.0)
    if kind == "RBF":
        apart = np.expand_dims(x, 1) - vectors
        return np.exp(-gamma * np.sum(apart * apart, axis=-1))
    common = np.matmul(x, vectors.T)
    if kind == "LINEAR":
        return common
    return np.tanh(gamma * common + more) if kind == "SIGMOID" else (gamma * common + more) ** degree


@op("ai.onnx.ml.SVMRegressor")
def svm_regressor(
    x: Value, *, coefficients: Any, kernel_params: Numbers = None, kernel_type: str = "LINEAR", n_supports: int = 0,
    one_class: int = 0, post_transform: str = "NONE", rho: Any, support_vectors: Numbers = None,
) -> Value:  # fmt: skip
    x, weights = cast(x, np.float32), np.asarray(coefficients, np.float32)
    if n_supports:
        as_long(n_supports, coefficients=weights)
        vectors = np.asarray(support_vectors, np.float32).reshape(n_supports, -1)
        y = np.matmul(kernel(x, vectors, kernel_type, kernel_params), weights[:, None])
    else:
        y = kernel(x, weights[None], "LINEAR", None)
    y = y + np.float32(rho[0])
    y = np.where(np.greater(y, 0), np.float32(1), np.float32(-1)) if one_class else y
    return transformed(y, post_transform)


@op("ai.onnx.ml.SVMClassifier")
def svm_classifier(
    x: Value, *, classlabels_ints: Numbers = None, classlabels_strings: Numbers = None, coefficients: Any,
    kernel_params: Numbers = None, kernel_type: str = "LINEAR", post_transform: str = "NONE", prob_a: Numbers = None,
    prob_b: Numbers = None, rho: Any, support_vectors: Numbers = None, vectors_per_class: Numbers = None,
) -> tuple[Value, Value]:  # fmt: skip
    """Each two classes have a score, and vote with it; or shares of all are made of the scores."""
    x, labels = cast(x, np.float32), classlabels_ints or classlabels_strings or []
    many = len(labels)
    if not vectors_per_class:
        weights = np.asarray(coefficients, np.float32).reshape(many, -1)
        return labelled(kernel(x, weights, "LINEAR", None) + np.float32(rho[0]), labels, post_transform)
    pairs, numbers = many * (many - 1) // 2, sum(vectors_per_class) * (many - 1)
    as_long(many, vectors_per_class=vectors_per_class)
    as_long(numbers, coefficients=coefficients)
    as_long(pairs, rho=rho, prob_a=prob_a or None, prob_b=(prob_b or []) if prob_a else None)
    below(numbers + 1, vectors_per_class=vectors_per_class)
    vectors = np.asarray(support_vectors, np.float32).reshape(sum(vectors_per_class), -1)
    table = pairs_of(np.asarray(coefficients, np.float32).reshape(many - 1, -1), vectors_per_class)
    scores = np.matmul(kernel(x, vectors, kernel_type, kernel_params), table) + np.asarray(rho, np.float32)
    best = np.argmax(np.matmul(cast(np.greater(scores, 0), np.float32), votes(many)) + against(many), axis=1)
    if prob_a:
        y = shares(ng.numpy.sigmoid(-(scores * np.asarray(prob_a, "f") + np.asarray(prob_b, "f"))), many)
    elif many == 2:
        return labels_at(best, labels), labelled(scores, labels, post_transform, share=post_transform != "NONE")[1]
    else:
        y = scores
    return labels_at(best, labels), transformed(y, post_transform)


def pairs_of(coefficients: np.ndarray, counts: Any) -> np.ndarray:
    """The weights of vectors for the scores of each two classes."""
    ends = [0, *accumulate(counts)]
    found = []
    for i, j in combinations(range(len(counts)), 2):
        column = np.zeros(ends[-1], coefficients.dtype)
        column[ends[i] : ends[i + 1]] = coefficients[j - 1, ends[i] : ends[i + 1]]
        column[ends[j] : ends[j + 1]] = coefficients[i, ends[j] : ends[j + 1]]
        found.append(column)
    return np.stack(found, 1)


def votes(many: int) -> np.ndarray:
    """For each two classes whom a score above 0 gives one vote more, and whom one less."""
    pairs = list(combinations(range(many), 2))
    return np.array([[float(k == i) - float(k == j) for k in range(many)] for i, j in pairs], np.float32)


def against(many: int) -> np.ndarray:
    """The votes of each class if no score is above 0."""
    return np.arange(many, dtype=np.float32)


def shares(p: Value, many: int) -> Value:
    """Shares of all classes that suit best those of the first of each two.

    They make the least sum of squares of ``r[j, i] * p[i] - r[i, j] * p[j]`` (Wu, Lin and Weng 2004).
    """
    if many == 2:
        return space(p).concatenate([p, 1 - p], 1)
    p, pairs = np.clip(p, 1e-7, 1 - 1e-7), list(combinations(range(many), 2))
    own = {pair: p[:, k] for k, pair in enumerate(pairs)} | {(j, i): 1 - p[:, k] for k, (i, j) in enumerate(pairs)}
    rows = [[_square(own, i, j, many) for j in range(many)] + [1 + 0 * p[:, 0]] for i in range(many)]
    rows.append([1 + 0 * p[:, 0]] * many + [0 * p[:, 0]])
    stack = space(p).stack
    matrix = stack([stack(row, -1) for row in rows], -2)
    end = np.eye(many + 1, dtype=np.float32)[-1][:, None] + 0 * matrix[..., :1]
    return ng.numpy.linalg.solve(matrix, end)[:, :many, 0]


def _square(r: Any, i: int, j: int, many: int) -> Value:
    return sum(r[k, i] * r[k, i] for k in range(many) if k != i) if i == j else -r[j, i] * r[i, j]
