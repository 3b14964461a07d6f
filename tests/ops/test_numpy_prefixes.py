# SPDX-License-Identifier: Apache-2.0
"""Running values of associative functions are those of a loop, of any length, along any axis, with slopes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from on_targets import check_gradient, computed, meaning

import ngraph_rewrite as ng
from ngraph_rewrite import errors

nx = ng.numpy
SOME = settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))


def recurrence(a: Any, b: Any) -> Any:
    def both(before: Any, after: Any) -> Any:
        return before[0] * after[0], before[1] * after[0] + after[1]

    return nx.associative_scan(both, (a, b))[1]


@SOME
@given(count=st.integers(0, 13), axis=st.sampled_from([0, 1, -1]), reverse=st.booleans(), seed=st.integers(0, 99))
def test_running_values_are_those_of_a_loop(count: int, axis: int, reverse: bool, seed: int) -> None:
    shape = [3, 2]
    shape.insert(axis % 3, count)
    matrices = np.random.default_rng(seed).integers(-2, 3, (*shape, 2, 2))
    found = meaning(lambda x: nx.associative_scan(nx.matmul, x, reverse, axis % 3), matrices)
    rows = np.moveaxis(matrices, axis % 3, 0)[:: -1 if reverse else 1]
    wanted = rows.copy()
    for k in range(1, count):
        wanted[k] = wanted[k - 1] @ rows[k]
    assert_array_equal(found, np.moveaxis(wanted[:: -1 if reverse else 1], 0, axis % 3))


@pytest.mark.parametrize("count", [1, 2, 7, 16])
def test_a_linear_recurrence_is_one(count: int) -> None:
    rng = np.random.default_rng(1)
    a, b = rng.uniform(-1, 1, (count, 3)), rng.normal(size=(count, 3))
    wanted, h = [], np.zeros(3)
    for x, y in zip(a, b, strict=True):
        h = x * h + y
        wanted.append(h)
    for (found,) in computed(recurrence, a, b):
        assert_allclose(found, wanted, rtol=1e-13, atol=1e-14)
    check_gradient(recurrence, a, b)


def test_structures_are_kept() -> None:
    elements = {"a": nx.ones((5,)), "b": [nx.ones((5, 2))]}
    found = nx.associative_scan(lambda p, q: {"b": [p["b"][0] + q["b"][0]], "a": p["a"] + q["a"]}, elements)
    assert found["a"].type == elements["a"].type
    assert found["b"][0].type == elements["b"][0].type


@pytest.mark.parametrize(("call", "error", "says"), [
    (lambda: nx.associative_scan(nx.add, ng.placeholder((None,))), errors.LengthError, "associative_scan: the axis"),
    (lambda: nx.associative_scan(nx.add, ()), errors.ArgumentError, "no elements"),
    (lambda: nx.associative_scan(3, nx.ones(4)), errors.ArgumentError, "associative_scan"),
    (lambda: nx.associative_scan(lambda p, q: (p, q), nx.ones(4)), errors.ArgumentError, "what the function gives"),
    (lambda: nx.associative_scan(lambda p, q: nx.sum(q), nx.ones(4)), errors.AxesError, r"makes float32\[\] of"),
    (lambda: nx.associative_scan(lambda p, q: p + 0.5, nx.ones(4, "int8")), errors.DTypeError, r"float64\[2\] of int8"),
    (lambda: nx.associative_scan(nx.add, (nx.ones(4), nx.ones(3))), errors.AxesError, "lengths along the axis are"),
    (lambda: nx.associative_scan(nx.add, nx.ones(4), axis=1), errors.OutOfRangeError, "associative_scan: "),
    (lambda: nx.associative_scan(nx.add, ng.placeholder({"H": 4})), errors.FamilyError, "goes by position"),
])  # fmt: skip
def test_wrong_calls_say_what_to_do(call: Callable[[], Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        call()
