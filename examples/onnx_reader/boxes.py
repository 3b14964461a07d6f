# SPDX-License-Identifier: Apache-2.0
"""Boxes that are chosen by their scores, unless they lie over one that was. How many are, values say."""

from __future__ import annotations

from typing import Any

import numpy as np

import ngraph_rewrite as ng
from onnx_reader.table import ModelError, NotKnown, Value, computed, count, is_term, op, term

Edges = tuple[Value, Value, Value, Value]  # the least and the greatest row, and the same of columns


@op("NonMaxSuppression", known="each")
def non_max_suppression(
    boxes: Value, scores: Value, each: Value = None, overlap: Value = None, least: Value = None, *,
    center_point_box: int = 0, most: int | None, name: str,
) -> Value:  # fmt: skip
    """Samples, classes and boxes, those of a class the best first. `each` is how many of a class there are at most.

    Where the boxes are known, there is a row for each that is chosen; else there are `most`.
    """
    given = [v for v in (boxes, scores, overlap, least) if v is not None]
    known = not any(map(is_term, given))
    if most is None and not known:
        first = f'say how many there are at most: read(model, most={{"{name}": 100}}) has rows of -1 behind them; or '
        raise NotKnown("how many boxes there are depends on values", next(filter(is_term, given)), first=first)
    if most is not None and most < 1:
        raise ModelError(f"at most {most} boxes", do="give a number above 0")
    many = 0 if each is None else max(int(np.reshape(each, ())), 0)
    chosen = _chosen(term(boxes), term(scores), min(many, *_limits(scores.shape[2], most)), overlap, least,
                     bool(center_point_box))  # fmt: skip
    if known and most is None:
        (found,) = computed([_rows(chosen)])
        return found[found[:, 2] >= 0]
    none = ng.numpy.full((most, 3), -1, dtype="int64")
    rows = ng.numpy.concatenate([_rows(chosen), none])
    there = ng.numpy.astype(rows[:, 2] >= 0, "int32")
    return ng.numpy.take(rows, ng.numpy.top_k(there, most)[1], axis=0)


def _limits(*limits: Any) -> list[int]:
    return [n for n in limits if isinstance(n, int)]


def _rows(chosen: ng.Op) -> ng.Op:
    """A row for each place: its sample, its class and its box; of -1 where there is none."""
    samples, classes, _ = chosen.shape
    places = [np.reshape(term(count(n)), s) for n, s in ((samples, (-1, 1, 1)), (classes, (1, -1, 1)))]
    whole = [ng.numpy.broadcast_to(v, chosen.shape) for v in (*places, chosen)]
    rows = np.reshape(np.stack(whole, -1), (-1, 3))
    return np.where(rows[:, 2:] >= 0, rows, -1)


def _chosen(boxes: ng.Op, scores: ng.Op, many: int, overlap: Value, least: Value, centers: bool) -> ng.Op:
    """Up to `many` boxes (samples, classes, many) of each class; -1 where there is none."""
    scores = scores if least is None else np.where(scores > np.reshape(least, ()), scores, -np.inf)
    limit = np.float32(0) if overlap is None else np.reshape(overlap, ())
    edges = [np.expand_dims(v, 1) for v in _edges(boxes, centers)]
    own, places = count(scores.shape[2]), np.arange(many)

    def more(now: Any) -> ng.Op:
        return (now[0] < many) & np.any(now[1] > -np.inf)

    def step(now: Any) -> tuple[ng.Op, ng.Op, ng.Op]:
        k, left, found = now
        best = np.argmax(left, axis=2, keepdims=True)
        there = ng.numpy.take_along_axis(left, best, axis=2) > -np.inf
        lies = _share(edges, [ng.numpy.take_along_axis(_wide(v, left), best, axis=2) for v in edges]) > limit
        left = np.where(lies | np.equal(own, best), -np.inf, left)
        return k + 1, left, np.where(np.equal(places, k) & there, ng.numpy.astype(best, "int64"), found)

    start = ng.numpy.full((*scores.shape[:2], many), -1, dtype="int64")
    if not many:
        return start
    return ng.while_loop(more, step, (np.int64(0), scores, start))[2]


def _wide(v: ng.Op, like: ng.Op) -> ng.Op:
    return ng.numpy.broadcast_to(v, like.shape)


def _edges(boxes: ng.Op, centers: bool) -> Edges:
    """Of two corners, or of a center (a column and a row), a width and a height."""
    a, b, c, d = (boxes[..., k] for k in range(4))
    if centers:
        return b - d / 2, b + d / 2, a - c / 2, a + c / 2
    return np.minimum(a, c), np.maximum(a, c), np.minimum(b, d), np.maximum(b, d)


def _share(one: Any, other: Any) -> ng.Op:
    """How much of what two boxes cover together both cover; of none it is 0."""

    def size(top: Value, bottom: Value, left: Value, right: Value) -> Value:
        return np.maximum(bottom - top, 0) * np.maximum(right - left, 0)

    ends = [f(a, b) for f, a, b in zip((np.maximum, np.minimum) * 2, one, other, strict=True)]
    both = size(*ends)
    whole = size(*one) + size(*other) - both
    return both / np.where(whole > 0, whole, 1)
