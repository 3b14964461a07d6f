# SPDX-License-Identifier: Apache-2.0
"""Reductions in a dtype of their own, by name and by marks, against NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ngraph_rewrite as ng

FAMILIES: list[tuple[Any, Any]] = [
    (ng, ng.placeholder([ng.Axis("H", 3), ng.Axis("N", 4)], "int8")),
    (ng.simple, ng.simple.placeholder((3, ng.simple.N), "int8")),
]
VALUES = np.random.default_rng(0).integers(-128, 127, (3, 4), "int8")
each_family = pytest.mark.parametrize("family, x", FAMILIES, ids=["axes", "simple"])


def computed(term: ng.Op, x: ng.Op, target: str) -> Any:
    with ng.make_transformer(target) as transformer:
        return transformer.computation(term, x)(VALUES)


@pytest.mark.sampled
@each_family
@pytest.mark.parametrize("target", ng.transformer_choices())
@pytest.mark.parametrize("dtype", ["int8", "uint16", "float32", "float64", "bool"])
@pytest.mark.parametrize("name", ["sum", "prod", "mean"])
def test_what_sums_is_computed_in_the_dtype(family: Any, x: ng.Op, name: str, dtype: str, target: str) -> None:
    """Integers wrap around, but not on the way to a mean, which is cut off at the end."""
    if name == "mean":
        expected = VALUES.astype(dtype).mean(axis=0).astype(dtype)
    else:
        expected = getattr(np, name)(VALUES, axis=0, dtype=dtype)
    found = computed(getattr(family, name)(x, dtype=dtype), x, target)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@each_family
@pytest.mark.parametrize(
    "name, dtype", [("max", "float64"), ("min", "int32"), ("argmax", "int32"), ("argmin", "uint8")]
)
def test_what_chooses_is_cast(family: Any, x: ng.Op, name: str, dtype: str) -> None:
    found = computed(getattr(family, name)(x, dtype=dtype), x, "reference")
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, getattr(np, name)(VALUES, axis=0))


def test_the_dtype_is_that_of_the_sum_on_the_way() -> None:
    """What a float32 rounds away counts in float64."""
    x = ng.constant(np.float32([1e8, 1.0, -1e8]), [ng.Axis("H", 3)])
    with ng.make_transformer("reference") as transformer:
        assert transformer.computation(ng.sum(x, dtype="float64"))() == 1.0


@each_family
def test_a_dtype_that_it_has_anyway_changes_nothing(family: Any, x: ng.Op) -> None:
    assert family.max(x, dtype="int8").definition.short == "max"
    assert family.argmax(x, dtype="int64").definition.short == "argmax"


@each_family
def test_dtypes_that_do_not_fit_are_errors(family: Any, x: ng.Op) -> None:
    with pytest.raises(ng.DTypeError, match="argmax: 'float32' is no integer dtype"):
        family.argmax(x, dtype="float32")
    with pytest.raises(ng.DTypeError, match="sum: dtype complex64 is not supported"):
        family.sum(x, dtype="complex64")


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "uint16"])
@pytest.mark.parametrize("shape", [(70_000,), (3, 33_000), (5, 40)], ids=str)
def test_sums_of_short_integers_are_exact(dtype: str, shape: tuple[int, ...]) -> None:
    """They are summed in 32 bits, block by block: of the greatest and the least, blocks just fit."""
    x = ng.placeholder(shape, dtype)
    limits = (False, True) if dtype == "bool" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation([ng.numpy.sum(x, axis=-1), ng.numpy.sum(x)], x)
        for limit in limits:
            value = np.full(shape, limit, dtype)
            for found, expected in zip(computation(value), (value.sum(axis=-1), value.sum()), strict=True):
                np.testing.assert_array_equal(found, expected)
