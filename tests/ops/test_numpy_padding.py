# SPDX-License-Identifier: Apache-2.0
"""``ng.numpy.pad`` is NumPy's: numbers, edges, mirror images and repetitions, of short axes too."""

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from on_targets import agrees, apart, check_gradient, computed

import ngraph_rewrite as ng
from ngraph_rewrite import errors

nx = ng.numpy
SOME = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
MODES = ["edge", "wrap", "symmetric", "reflect"]
WIDTHS = st.integers(0, 9)


@SOME
@given(
    mode=st.sampled_from(MODES),
    shape=hnp.array_shapes(min_dims=1, max_dims=3, max_side=5),
    data=st.data(),
    unknown=st.booleans(),
)
def test_what_goes_on_is_numpys(mode: str, shape: tuple[int, ...], data: st.DataObject, unknown: bool) -> None:
    pairs = data.draw(st.lists(st.tuples(WIDTHS, WIDTHS), min_size=len(shape), max_size=len(shape)))
    x = np.arange(float(np.prod(shape))).reshape(shape)
    wanted = np.pad(x, pairs, mode=mode)  # type: ignore[call-overload]
    for found in computed(lambda x: nx.pad(x, pairs, mode=mode), x, unknown=unknown):
        np.testing.assert_array_equal(found[0], wanted, strict=True)


@pytest.mark.parametrize("widths", [2, (1, 3), [(1, 3)], [(1, 0), (2, 3)], [[1], [2]], {1: (0, 2)}, {-2: 1}, 0])
@pytest.mark.parametrize("values", [0, 7, (1, 2), [(1, 2), (3, 4)]])
def test_numbers_are_put_as_numpy_does(widths: Any, values: Any) -> None:
    pairs = widths
    if isinstance(widths, dict):  # NumPy takes them since 2.2
        pairs = [(0, 0), (0, 2)] if 1 in widths else [(1, 1), (0, 0)]
    agrees(
        lambda x: nx.pad(x, widths, constant_values=values),
        lambda x: np.pad(x, pairs, constant_values=values),
        np.zeros((2, 3), np.float32),
    )


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float64"])
def test_every_dtype_stays(dtype: str) -> None:
    x = np.ones((2, 3), dtype)
    agrees(lambda x: nx.pad(x, 1), lambda x: np.pad(x, 1), x)
    agrees(lambda x: np.pad(x, (1, 2), mode="wrap"), lambda x: np.pad(x, (1, 2), mode="wrap"), x)


def test_an_axis_without_elements_is_padded_with_numbers() -> None:
    x = np.zeros((0, 2))
    agrees(lambda x: nx.pad(x, 1, constant_values=3), lambda x: np.pad(x, 1, constant_values=3), x)
    agrees(lambda x: nx.pad(x, [(0, 0), (1, 1)], "edge"), lambda x: np.pad(x, [(0, 0), (1, 1)], "edge"), x)


@pytest.mark.parametrize("mode", ["edge", "reflect", "symmetric", "wrap"])
def test_a_call_whose_axis_has_no_elements_is_refused(mode: str) -> None:
    x = ng.placeholder((None, 2), "float64")
    for target in ("reference", "cpu"):
        with ng.make_transformer(target) as transformer:
            call = transformer.computation(nx.pad(x, [(1, 2), (0, 0)], mode), x)
            with pytest.raises(
                errors.OutOfRangeError, match="index -1 is out of range for an axis of length 0"
            ) as found:
                call(np.zeros((0, 2)))
            assert __file__ in str(found.value)
            np.testing.assert_array_equal(call([[1, 2]]), np.pad([[1, 2]], [(1, 2), (0, 0)], mode))  # type: ignore[call-overload]


def test_long_axes_need_no_index() -> None:
    x = ng.placeholder((100, 80))
    with ng.make_transformer("cpu") as transformer:
        for mode in MODES:
            padded = transformer.computation(nx.pad(x, 3, mode=mode), x)
            padded(np.ones((100, 80), np.float32))
            assert "gather" not in padded.stats()["kernels"]


@pytest.mark.parametrize("mode", ["constant", *MODES])
@pytest.mark.parametrize("width", [1, 4])
def test_gradients_are_central_differences(mode: str, width: int) -> None:
    check_gradient(lambda x: nx.pad(x, (width, 1), mode=mode), apart(3, 2))


X = ng.placeholder((2, 3), name="x")
WRONG = [
    (lambda: nx.pad(X, -1), errors.AttributeValueError, "at least 0"),
    (lambda: nx.pad(X, 1.5), errors.AttributeValueError, "integers"),
    (lambda: nx.pad(X, [(1, 2)] * 3), errors.ArgumentError, "for 2 axes"),
    (lambda: nx.pad(X, 1, mode="mean"), errors.AttributeValueError, "constant, edge, wrap, symmetric, reflect"),
    (lambda: nx.pad(X, 1, constant_values=ng.placeholder(())), errors.ArgumentError, "is a term"),
    (lambda: nx.pad(X, {2: 1}), errors.OutOfRangeError, "2"),
    (lambda: nx.pad(nx.zeros((0, 2)), 1, mode="edge"), errors.LengthError, "mode='constant'"),
]


@pytest.mark.parametrize(("call", "error", "says"), WRONG)
def test_a_wrong_call_is_refused(call: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says) as caught:
        call()
    assert __file__ in str(caught.value)
