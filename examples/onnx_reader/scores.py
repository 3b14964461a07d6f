# SPDX-License-Identifier: Apache-2.0
"""What models of ``ai.onnx.ml`` make of scores: shares of classes, and the label of the best one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import ngraph_rewrite as ng
from onnx_reader.reducing import softmax
from onnx_reader.table import TEXTS, ModelError, Value, cast, space


def transformed(y: Value, kind: str) -> Value:
    """Scores (samples, classes) after a ``post_transform``."""
    if kind == "SOFTMAX":
        return softmax(y, -1)
    if kind == "SOFTMAX_ZERO":
        there, top = np.greater(np.abs(y), 1e-7), np.max(y, axis=-1, keepdims=True)
        e = np.where(there, np.exp(y - top), 0)
        size = np.sum(e, axis=-1, keepdims=True)
        return np.where(there, e, y * np.exp(-top)) / np.where(np.equal(size, 0), 1, size)
    if kind in ("LOGISTIC", "PROBIT"):
        return ng.numpy.sigmoid(y) if kind == "LOGISTIC" else math.sqrt(2) * ng.numpy.erfinv(2 * y - 1)
    if kind not in ("NONE", ""):
        raise ModelError(f"the post_transform {kind} is not supported")
    return y


def labelled(y: Value, labels: Sequence[Any], kind: str, bound: float = 0.0, share: bool = True) -> tuple[Value, Value]:
    """The label of each sample, and the numbers of its classes.

    Two classes may have a single number, which chooses the second if it is above `bound`. It is the share of that, or
    how much it is liked more than the first.
    """
    if y.shape[1] != 1:
        return labels_at(np.argmax(y, axis=1), labels), cast(transformed(y, kind), np.float32)
    best = cast(np.greater(y[:, 0], bound), np.int64)
    if len(labels) == 2:
        logistic = kind == "LOGISTIC"
        y = space(y).concatenate([-y if logistic or not share else 1 - y, y], 1)
        kind = kind if logistic else "NONE"
    return labels_at(best, labels), cast(transformed(y, kind), np.float32)


def labels_at(places: Value, labels: Sequence[Any]) -> Value:
    """The labels of classes."""
    if labels and isinstance(labels[0], str):
        return TEXTS
    return ng.numpy.take(np.asarray(labels, np.int64), places, axis=0) if labels else places
