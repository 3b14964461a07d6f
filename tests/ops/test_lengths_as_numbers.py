# SPDX-License-Identifier: Apache-2.0
"""Lengths that are not known yet are numbers to compute with: terms of them, and what counts from or up to them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ngraph_rewrite as ng

nx = ng.numpy
TARGETS = ("cpu", "reference")


def values(make: Any, n: int) -> list[Any]:
    x = ng.placeholder((None, 2), name="x")
    found = []
    for target in TARGETS:
        with ng.make_transformer(target) as transformer:
            found.append(transformer.computation(make(x.shape[0]), x)(np.ones((n, 2))))
    return found


@pytest.mark.parametrize("n", [0, 1, 5])
@pytest.mark.parametrize("dtype", [None, "float32", "int8"])
def test_a_length_is_a_term(n: int, dtype: str | None) -> None:
    for found in values(lambda length: nx.asarray(length * 2 + 1, dtype=dtype), n):
        assert found == 2 * n + 1 and found.dtype == np.dtype(dtype or "int64")
    for found in values(lambda length: ng.semi.size(length // 2), n):
        assert found == n // 2


@pytest.mark.parametrize("n", [300, 70_000])
@pytest.mark.parametrize("dtype", ["int8", "float16"])
def test_a_length_that_a_dtype_does_not_have_is_cast(n: int, dtype: str) -> None:
    with np.errstate(over="ignore"):
        cast = np.array(n).astype(dtype)
    for found in values(lambda length: ng.make_op("semi.size", value=length, dtype=dtype), n):
        assert found == cast and found.dtype == np.dtype(dtype)


@pytest.mark.parametrize("n", [0, 1, 5])
@pytest.mark.parametrize("step", [1, 2, 3])
@pytest.mark.parametrize("dtype", [None, "float16", "uint8"])
def test_ranges_begin_at_lengths(n: int, step: int, dtype: str | None) -> None:
    for found in values(lambda length: nx.arange(length, 2 * length + 1, step, dtype=dtype), n):
        np.testing.assert_array_equal(found, np.arange(n, 2 * n + 1, step))
        assert found.dtype == np.dtype(dtype or "int64")
    for found in values(lambda length: nx.arange(length, 9, step), n):
        np.testing.assert_array_equal(found, np.arange(n, 9, step))


def test_the_slope_of_a_mean_over_a_length_is_one_over_it() -> None:
    x = ng.placeholder((None,), "float64", name="x")
    mean = nx.sum(x) / nx.asarray(x.shape[0], dtype="float64")
    for target in TARGETS:
        with ng.make_transformer(target) as transformer:
            found = transformer.computation(ng.deriv(mean, x), x)(np.ones(4))
        np.testing.assert_array_equal(found, np.full(4, 0.25))


# What a function of a length and a float32, and an int32, gives; NumPy's dtype is that of a Python integer.
WEAK = [
    lambda n, x, i: x / n,
    lambda n, x, i: n - i,
    lambda n, x, i: np.remainder(i, n + 1),
    lambda n, x, i: np.maximum(x, n),
    lambda n, x, i: nx.where(x > 0, n, x),
    lambda n, x, i: nx.where(x > 0, n, 2),
    lambda n, x, i: np.power(x, n),
    lambda n, x, i: np.add(i, n, dtype="float64"),
    lambda n, x, i: np.full_like(x, n) * nx.asarray(n, dtype="float32"),
]


@pytest.mark.parametrize("function", WEAK)
def test_a_length_beside_terms_is_the_integer_that_it_will_be(function: Any) -> None:
    """The same model has the same dtypes, whether the batch is known where it is built or not."""
    x, i = np.array([[1.5], [-2.0], [0.25]], np.float32), np.array([[4], [5], [-3]], np.int32)
    known, unknown = ([ng.placeholder((n, 1)), ng.placeholder((n, 1), "int32")] for n in (3, None))
    for target in TARGETS:
        with ng.make_transformer(target) as transformer:
            wanted = transformer.computation(function(3, *known), *known)(x, i)
            found = transformer.computation(function(unknown[0].shape[0], *unknown), *unknown)(x, i)
        np.testing.assert_array_equal(found, wanted, strict=True)


def test_a_length_is_a_number_in_every_family() -> None:
    x, y = ng.placeholder({"H": None, "N": 2}), ng.simple.placeholder((ng.simple.N, 3))
    z = ng.strip(x)
    terms = [x / x.axes[0].length, y / y.axes[0].length, ng.semi.divide(z, z.shape[0]), ng.where(x > 0, z.shape[0], x)]
    with ng.make_transformer("cpu") as transformer:
        values = transformer.computation(terms, x, y)(np.ones((4, 2)), np.ones((5, 3)))
    for value, wanted in zip(values, (0.25, 0.2, 0.25, 4.0), strict=True):
        assert value.dtype == np.float32 and (value == np.float32(wanted)).all()


VECTORS = [
    lambda n: nx.asarray((n, 2)),
    lambda n: nx.asarray(np.array([n, 2], object)),
    lambda n: nx.stack([n, 2]),
    lambda n: nx.zeros(2, dtype="int64") + [n, 2],
    lambda n: np.add([n, 1], nx.arange(2)),
    lambda n: nx.concat([[n], [2]]),
]


@pytest.mark.parametrize("vector", VECTORS)
def test_a_list_with_lengths_is_a_vector(vector: Any) -> None:
    """An array of objects, which NumPy makes of lengths, is one too."""
    for found in values(vector, 5):
        np.testing.assert_array_equal(found, np.array([5, 2]), strict=True)
    assert nx.result_type("float32", ng.Length.symbol("n")) == np.float32


@pytest.mark.parametrize("n", [0, 1, 4, 7])
def test_arrays_are_cut_and_padded_by_lengths(n: int) -> None:
    x = np.arange(2 * n, dtype=np.float32).reshape(n, 2)
    term = ng.placeholder((None, 2))
    length = term.shape[0]
    parts = [
        *nx.split(term, [length // 3, length // 2]),
        *nx.array_split(term, 3),
        *nx.split(nx.concat([term, term]), 2),
        nx.pad(term, [(length // 2, 7 - length), (0, 1)], constant_values=5),
    ]
    wanted = [*np.split(x, [n // 3, n // 2]), *np.array_split(x, 3), x, x]
    wanted.append(np.pad(x, [(n // 2, 7 - n), (0, 1)], constant_values=5))
    for target in TARGETS:
        with ng.make_transformer(target) as transformer:
            for one, other in zip(transformer.computation(parts, term)(x), wanted, strict=True):
                np.testing.assert_array_equal(one, other, strict=True)


def test_parts_have_so_many_elements_where_there_are_as_many() -> None:
    x = ng.placeholder((None,), dtype="int64")
    first, rest = nx.split(x, [2])
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation([first, rest, x[:-3], x[-3:]], x)
        assert [found.tolist() for found in computation([0, 1, 2, 3])] == [[0, 1], [2, 3], [0], [1, 2, 3]]
        with pytest.raises(ng.AxesError, match="an axis has the length n0 - 2, which is -1 where n0 is 1"):
            transformer.computation(rest, x)([0])


def test_parts_and_paddings_that_no_length_says_are_refused() -> None:
    x = ng.placeholder((None, 2))
    with pytest.raises(ng.LengthError, match="whether n0 elements are 2 equal parts"):
        nx.split(x, 2)
    with pytest.raises(ng.LengthError, match="what stands beside axis 0"):
        nx.pad(x, [(x.shape[0], 0), (0, 0)], mode="edge")
    padded = nx.pad(x, [(0, 4 - x.shape[0]), (0, 0)])
    with ng.make_transformer("cpu") as transformer, pytest.raises(ng.NGraphRewriteError, match="pad"):
        transformer.computation(padded, x)(np.ones((5, 2)))
