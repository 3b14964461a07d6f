# SPDX-License-Identifier: Apache-2.0
"""An index that is a term keeps names: its axes stand where the one was that it looks along, or are matched by name."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from drawn import value
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sliding_oracle import both, check_gradients

import ngraph_rewrite as ng
from ngraph_rewrite import errors

DRAWN = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
H, W, N, K = ng.Axis("H", 3), ng.Axis("W", 4), ng.Axis("N", 2), ng.Axis("K", 5)


def looked_up(x: Any, axes: ng.Axes, name: str, index: Any, own: ng.Axes) -> Any:
    """Element by element, with axes by name: those of the index first, then the others of `x`."""
    rest = [a for a in axes if a.name != name]
    new = [a for a in own if a.name not in {b.name for b in rest}]
    result = np.zeros([a.length for a in (*new, *rest)], x.dtype)
    for place in np.ndindex(result.shape):
        at = dict(zip([a.name for a in (*new, *rest)], place, strict=True))
        i = index[tuple(at[a.name] for a in own)]
        length = axes.get_by_names(name).length
        if -length <= i < length:
            result[place] = x[tuple(i if a.name == name else at[a.name] for a in axes)]
    return result, ng.Axes([*new, *rest])


@DRAWN
@given(
    axes=st.permutations([H, W, N]).flatmap(lambda p: st.integers(1, 3).map(lambda n: p[:n])),
    own=st.permutations([H.with_length(2), W, N, K]).flatmap(lambda p: st.integers(0, 3).map(lambda n: p[:n])),
    dtype=st.sampled_from(["float32", "bool", "int8"]), kind=st.sampled_from(["int8", "int64"]),
    seed=st.integers(0, 99),
)  # fmt: skip
def test_each_element_is_looked_up_by_name(axes: Any, own: Any, dtype: str, kind: str, seed: int) -> None:
    axes, own = ng.Axes(axes), ng.Axes([a for a in own if a.name != "H" or axes[0].name == "H"])
    x, i = ng.placeholder(axes, dtype), ng.placeholder(own, kind)
    rng = np.random.default_rng(seed)
    values = {x: rng.integers(0, 9, x.shape).astype(dtype), i: rng.integers(-5, 6, i.shape).astype(kind)}
    wanted, order = looked_up(values[x], axes, axes[0].name, values[i], own)
    found = x[i]
    assert {a.name for a in found.axes} == {a.name for a in order}
    turned = ng.axes_with_order(found, [a.name for a in order])
    np.testing.assert_array_equal(value(turned, values), wanted)


def test_axes_stand_where_the_one_was_that_is_looked_up() -> None:
    x = ng.placeholder([H, W, N])
    k = ng.placeholder([K], "int32")
    assert x[:, k].axes == ng.Axes([H, K, N])
    assert x[..., k].axes == ng.Axes([H, W, K])
    assert x[1:, k, 0].axes == ng.Axes([H.with_length(2), K])
    assert x[k, ng.placeholder([], "int64")].axes == ng.Axes([K, N])
    assert x[k, :, ng.placeholder([ng.Axis("M", 7)], "int64")].axes == ng.Axes([K, W, ng.Axis("M", 7)])


def test_the_score_of_the_class_of_each_sample() -> None:
    """Of batches of any size, with its slope, which is 1 there."""
    batch = ng.Axis("N")
    scores, classes = ng.placeholder([K, batch], "float64"), ng.placeholder([batch], "int64")
    values = {scores: np.arange(15.0).reshape(5, 3), classes: np.array([4, -5, 2])}
    for found in both(scores[classes], values):
        np.testing.assert_array_equal(found, [12, 1, 8])
    slope = ng.deriv(ng.sum(scores[classes], out_axes=[]), scores)
    for found in both(slope, values):
        np.testing.assert_array_equal(found, np.eye(5)[[4, 0, 2]].T)


def test_two_terms_with_one_axis_are_read_side_by_side() -> None:
    x, i, j = ng.placeholder([H, W], "float64"), ng.placeholder([K], "int64"), ng.placeholder([K], "int64")
    values = {x: np.arange(12.0).reshape(3, 4), i: np.array([0, 2, 1, 1, -1]), j: np.array([3, 0, -1, 9, 2])}
    for found in both(x[i, j], values):
        np.testing.assert_array_equal(found, [3, 8, 7, 0, 10])
    check_gradients(x[i, j], values, [x])


def test_an_axis_that_is_looked_along_is_not_matched_with_another_terms() -> None:
    """It is gone from the result: what has its name is an axis of the index."""
    x, i = ng.placeholder([H, W], "float64"), ng.placeholder([W], "int64")
    j, far = ng.placeholder([W, K], "int64"), ng.placeholder([W.with_length(2)], "int64")
    values = {x: np.arange(12.0).reshape(3, 4), i: np.array([2, 0, -1, 1]), j: np.arange(20).reshape(4, 5) % 4}
    for found in both(x[i, j], values):
        np.testing.assert_array_equal(found, values[x][values[i][:, None], values[j]])
    check_gradients(x[i, j], values, [x])
    for found in both(x[far, far + 1], values | {far: np.array([1, 0])}):
        np.testing.assert_array_equal(found, [6, 1])


def test_so_many_places_from_a_start_that_is_a_term() -> None:
    x, start = ng.placeholder([H, W], "float64"), ng.placeholder([], "int64")
    part = x[:, start + ng.constant(np.arange(2), [ng.Axis("P", 2)])]
    for found in both(part, {x: np.arange(12.0).reshape(3, 4), start: np.array(1)}):
        np.testing.assert_array_equal(found, np.arange(12.0).reshape(3, 4)[:, 1:3])


X = ng.placeholder([H, W])
WRONG: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: X[ng.placeholder((3,), "int64")], errors.FamilyError, "(?s)have no names.*ng.label"),
    (lambda: X[X > 0], errors.DTypeError, "how many elements are true is not known"),
    (lambda: X[ng.placeholder([K])], errors.DTypeError, "integer"),
    (lambda: X[0, 0, ng.placeholder([K], "int64")], errors.AttributeValueError, "too many indices: 3 for 2 axes"),
    (lambda: X[ng.placeholder([W.with_length(3)], "int64")], errors.IncompatibleAxesError, "W"),
    (lambda: X[ng.placeholder([K], "int64"), np.array([0, 1])], errors.AttributeValueError, "(?s)axis 1.*an integer"),
    (lambda: X[5, ng.placeholder([K], "int64")], errors.OutOfRangeError, "out of range for axis 0"),
    (
        lambda: X[:, ng.placeholder([], "int64") :],
        errors.AttributeValueError,
        r"(?s)length would depend on values.*x\[:, start \+ places\].*ng.constant\(np.arange\(n\), axis\)",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), WRONG)
def test_what_is_wrong_is_said(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
