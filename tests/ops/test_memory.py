# SPDX-License-Identifier: Apache-2.0
"""Ops that say where elements lie: their values are plain, what they cost is not."""

from __future__ import annotations

import numpy as np
import pytest

import ngraph_rewrite as ng

VALUE = np.arange(6.0, dtype=np.float32).reshape(2, 3)


def launched(term: ng.Op, *inputs: ng.Op) -> tuple[np.ndarray, int]:
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(term, *inputs)
        return computation(*[VALUE] * len(inputs)), computation.stats()["launches"]


def test_a_copy_of_a_view_is_a_change_of_layout_by_one_kernel() -> None:
    x = ng.placeholder((2, 3))
    value, launches = launched(ng.semi.copy(ng.semi.transpose(x, (1, 0))), x)
    np.testing.assert_array_equal(value, VALUE.T)
    assert launches == 1


def test_what_is_copied_is_computed_where_it_lies() -> None:
    x = ng.placeholder((2, 3))
    value, launches = launched(ng.semi.copy(ng.semi.negative(x)), x)
    np.testing.assert_array_equal(value, -VALUE)
    assert launches == 1


def test_a_copy_is_not_computed_again_inside_its_readers() -> None:
    x = ng.placeholder((2, 3))
    value, launches = launched(ng.semi.square(ng.semi.copy(ng.semi.square(x))), x)
    np.testing.assert_array_equal(value, VALUE**4)
    assert launches == 2


@pytest.mark.parametrize("to", ["host", "device"])
def test_a_transfer_moves_nothing_where_host_and_device_are_one(to: str) -> None:
    x = ng.placeholder((2, 3))
    value, launches = launched(ng.semi.negative(ng.semi.transfer(x, to)), x)
    np.testing.assert_array_equal(value, -VALUE)
    assert launches == 1


def test_allocated_memory_is_zero_and_can_be_updated() -> None:
    x = ng.placeholder((2, 3))
    filled = ng.semi.update(ng.semi.allocate((4, 3)), x, (1, 0), (3, 3), (1, 1))
    expected = np.zeros((4, 3), np.float32)
    expected[1:3] = VALUE
    for _ in range(2):
        np.testing.assert_array_equal(launched(filled, x)[0], expected)
    np.testing.assert_array_equal(launched(ng.semi.allocate((4, 0)))[0], np.zeros((4, 0)))


def test_they_are_seen_in_explanations() -> None:
    x = ng.placeholder((2, 3))
    term = ng.semi.copy(ng.semi.transpose(x, (1, 0)))
    with ng.make_transformer("cpu") as transformer:
        assert "semi.copy(semi.transpose(" in transformer.computation(term, x).explain(term)


@pytest.mark.parametrize("to", ["gpu", None, 0])
def test_a_transfer_goes_to_the_host_or_to_the_device(to: object) -> None:
    with pytest.raises(ng.AttributeValueError, match=r"semi\.transfer.*to is .*\n.*\n.*host, device"):
        ng.semi.transfer(ng.placeholder((2, 3)), to)  # type: ignore[arg-type]
