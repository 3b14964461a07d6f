# SPDX-License-Identifier: Apache-2.0
"""What is put along a named axis: axes that indices share with the tensor are gone along together."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sliding_oracle import both, check_gradients

import ngraph_rewrite as ng

DRAWN = settings(max_examples=30, deadline=None)
V, F, N, K, T = ng.Axis("V", 5), ng.Axis("F", 3), ng.Axis("N", 4), ng.Axis("K", 2), ng.Axis("REC", 2)
HOW: dict[str, Any] = {
    "set": lambda a, b: b, "add": np.add, "multiply": np.multiply, "max": np.maximum, "min": np.minimum,
}  # fmt: skip


def put(how: str, x: Any, axes: ng.Axes, idx: Any, own: ng.Axes, updates: Any, names: ng.Axes) -> Any:
    """Place by place: an index of each axis that `x` or `idx` has, by name."""
    result = np.array(x)
    rest, length = [a for a in axes if a.name != "V"], x.shape[axes.index("V")]
    every = [*own, *(a for a in rest if a not in own)]
    for place in np.ndindex(*(int(a.length) for a in every)):
        at = dict(zip([a.name for a in every], place, strict=True))
        v = int(idx[tuple(at[a.name] for a in own)])
        if -length <= v < length:
            to = tuple(v % length if a.name == "V" else at[a.name] for a in axes)
            result[to] = HOW[how](result[to], updates[tuple(at[a.name] for a in names)])
    return result


@DRAWN
@given(
    how=st.sampled_from(list(HOW)),
    axes=st.permutations([V, F, N]),
    own=st.sampled_from([(K,), (T, K), (N,), (N, K), (K, N), (F, K, N), ()]),
    data=st.data(),
)
def test_indices_and_updates_are_matched_by_name(
    how: str, axes: list[ng.Axis], own: tuple[ng.Axis, ...], data: st.DataObject
) -> None:
    every = [*own, *(a for a in (F, N) if a not in own)]
    names = data.draw(st.lists(st.sampled_from(every), unique=True))
    shape = tuple(int(a.length) for a in own)
    idx = data.draw(hnp.arrays(np.int64, shape, elements=st.integers(-7, 6)))
    rng = np.random.default_rng(0)
    x, updates = (rng.integers(-9, 9, [int(a.length) for a in some]) * 1.0 for some in (axes, names))
    terms = [ng.placeholder(some, dtype) for some, dtype in ((axes, "float64"), (own, "int64"), (names, "float64"))]
    term = ng.scatter(*terms, axis="V", how=how)
    assert term.axes == ng.Axes(axes)
    wanted = put(how, x, ng.Axes(axes), idx, ng.Axes(own), updates, ng.Axes(names))
    for found in both(term, dict(zip(terms, (x, idx, updates), strict=True))):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(("how", "own"), [*((how, (K,)) for how in HOW), ("set", (N, K)), ("multiply", (N, K))])
def test_gradients_are_central_differences(how: str, own: tuple[ng.Axis, ...]) -> None:
    x, u = ng.placeholder([N, V], "float64"), ng.placeholder([K, N], "float64")
    idx = ng.placeholder(own, "int64")
    rng = np.random.default_rng(3)
    values = {
        x: rng.permutation(20).reshape(4, 5) * 0.5 - 4, u: rng.permutation(8).reshape(2, 4) + 0.3,
        idx: rng.integers(0, 5, [int(a.length) for a in own]),
    }  # fmt: skip
    check_gradients(ng.scatter(x, idx, u, V, how), values, [x, u])


def test_a_number_is_put_everywhere() -> None:
    scores, seen = np.zeros((4, 5), np.float32), np.array([[0, 1], [4, 4], [-1, 0], [9, 2]])
    x, idx = ng.placeholder([N, V]), ng.placeholder([N, K], "int64")
    for found in both(ng.scatter(x, idx, -1, axis=V), {x: scores, idx: seen}):
        assert (found == -1).sum(axis=1).tolist() == [2, 1, 2, 1] and found.dtype == np.float32


X, IDX = ng.placeholder([N, V]), ng.placeholder([K], "int64")
WRONG = [
    (lambda: ng.scatter(X, IDX, 0.0, axis="F"), ng.UnmatchedAxesError, "has no axis 'F'"),
    (lambda: ng.scatter(X, ng.placeholder([V], "int64"), 0.0, axis="V"), ng.UnmatchedAxesError, "that they index"),
    (lambda: ng.scatter(X, IDX, X, axis="V"), ng.UnmatchedAxesError, "axes"),
    (lambda: ng.scatter(X, X[0][:2], 0.0, axis="V"), ng.UnmatchedAxesError, "that they index"),
    (lambda: ng.scatter(X, ng.placeholder([K]), 0.0, axis="V"), ng.DTypeError, "expected integers"),
    (lambda: ng.scatter(X, IDX, 0.0, axis="V", how="mean"), ng.errors.AttributeValueError, "set, multiply"),
    (lambda: ng.scatter(X, ng.placeholder({"N": 7}, "int64"), 0.0, axis="V"), ng.IncompatibleAxesError, "N"),
]


@pytest.mark.parametrize(("call", "error", "says"), WRONG)
def test_a_wrong_call_is_refused(call: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says) as caught:
        call()
    assert __file__ in str(caught.value)
