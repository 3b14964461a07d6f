# SPDX-License-Identifier: Apache-2.0
"""lgamma, digamma and trigamma are within their bounds, of samples of each stretch that has a formula of its own.

What is right mpmath says. Where a function has roots, below zero, an error counts in units of the terms that cancel.
"""

from collections.abc import Callable, Iterator
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ngraph_rewrite as ng
from ngraph_rewrite.cache import Cache
from ngraph_rewrite.ops import gammas
from ngraph_rewrite.types.dtypes import FLOAT16
from tests.programs import drawn
from tests.runtime.test_vector_math import DTYPES, INF, NAN, Array, Machine, neighbours, same_bits

BOUNDS = {"lgamma": 3.0, "digamma": 3.0, "trigamma": 3.5}
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "lgamma": lambda x: mpmath.re(mpmath.loggamma(x)),
    "digamma": mpmath.digamma,
    "trigamma": lambda x: mpmath.psi(1, x),
}
STRETCHES = (
    (1e-3, 0.5), (0.5, 1.0), (1.0, 1.5), (1.5, 3.0), (3.0, 4.0), (4.0, 30.0), (30.0, 1e6), (-0.5, -1e-3), (-1.0, -0.5),
    (-2.0, -1.0), (-30.0, -2.0), (-1e3, -30.0),
)  # fmt: skip
MEETINGS = [1.4616321449683622, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, -0.5, 1e-10, 1e10]
SPECIAL: dict[str, list[tuple[float, float]]] = {
    "lgamma": [
        (1.0, 0.0), (2.0, 0.0), (0.0, INF), (-0.0, INF), (-1.0, INF), (-2.0, INF), (-3e38, INF), (INF, INF),
        (-INF, INF), (NAN, NAN),
    ],
    "digamma": [(0.0, -INF), (-0.0, INF), (-1.0, NAN), (-7.0, NAN), (INF, INF), (-INF, NAN), (NAN, NAN)],
    "trigamma": [(0.0, INF), (-0.0, INF), (-1.0, INF), (-7.0, INF), (INF, 0.0), (-INF, INF), (NAN, NAN)],
}  # fmt: skip


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    yield Machine(Cache(tmp_path_factory.mktemp("kernels")))


def off(function: str, x: Array, found: Array) -> Array:
    """How many units in the last place something is off, of the result or, below zero, of the greatest of its terms."""
    of = FUNCTIONS[function]
    with mpmath.workdps(40):
        right = [of(mpmath.mpf(float(v))) for v in x]
        size = [
            max(abs(r), 1, abs(of(mpmath.mpf(float(-v))))) if v < 0 else abs(r) for r, v in zip(right, x, strict=True)
        ]
        unit = np.spacing(np.array([float(s) for s in size]).astype(x.dtype))
        return np.array([float(abs(float(f) - r) / float(u)) for f, r, u in zip(found, right, unit, strict=True)])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", BOUNDS)
def test_a_sample_of_each_stretch(machine: Machine, function: str, dtype: str) -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(low, high, 40) for low, high in STRETCHES]).astype(dtype)
    x = np.concatenate([x, neighbours(dtype, MEETINGS)[::17]])
    wrong = off(function, x, machine(function, x))
    assert wrong.max() <= BOUNDS[function], (x[wrong.argmax()], wrong.max())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", BOUNDS)
def test_special_values(machine: Machine, function: str, dtype: str) -> None:
    x, right = np.array(SPECIAL[function], dtype).T
    found = machine(function, x.copy())
    assert same_bits(found, right), found


@drawn(40)
@given(st.sampled_from(list(BOUNDS)), st.lists(st.floats(), min_size=1, max_size=20))
def test_meanings_and_kernels_agree_about_any_number(machine: Machine, function: str, numbers: list[float]) -> None:
    x = np.array(numbers)
    with np.errstate(invalid="ignore"):
        found, meant = machine(function, x), getattr(gammas, function)(x)
    assert same_bits(np.isfinite(found), np.isfinite(meant))
    usual = np.isfinite(meant)
    assert same_bits(found[~usual], meant[~usual])
    scale = np.maximum(np.abs(meant[usual]), np.where(x[usual] < 0, np.log(np.abs(x[usual]) + 3) * 1e2, 0))
    assert np.all(np.abs(found[usual] - meant[usual]) <= 1e-12 * scale)


@pytest.mark.parametrize("function", BOUNDS)
def test_meanings_are_right_in_double_precision(function: str) -> None:
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.uniform(low, high, 8) for low, high in STRETCHES])
    assert off(function, x, getattr(gammas, function)(x)).max() < 100  # that of C's library has tens


@pytest.mark.parametrize("function", BOUNDS)
def test_numbers_of_16_bits_are_rounded_once(machine: Machine, function: str) -> None:
    x = np.arange(0, 2**16, 7, dtype=np.uint16).view(FLOAT16)
    found, wide = machine(function, x), machine(function, x.astype(np.float32))
    with np.errstate(over="ignore"):
        assert same_bits(found, wide.astype(FLOAT16))


def test_the_slope_of_trigamma_is_that_of_both_sides_of_zero() -> None:
    x = ng.placeholder((6,), "float64")
    values = np.array([0.25, 1.5, 7.0, 40.0, -0.75, -4.3])
    with ng.make_transformer("reference") as transformer:
        found = transformer.computation(ng.deriv(ng.trigamma(x), x, error=np.ones(6)), x)(values)
    np.testing.assert_allclose(found, [float(mpmath.psi(2, v)) for v in values], rtol=1e-12)


@pytest.mark.parametrize("x", [9.944454308266942e-155, -9.944454308266942e-155])
def test_the_meaning_of_trigamma_is_as_large_as_a_number_may_be(x: float) -> None:
    assert float(gammas.trigamma(x)) == pytest.approx(float(mpmath.psi(1, x)), rel=1e-15)


def test_the_meaning_of_lgamma_loses_nothing_near_its_roots() -> None:
    x = np.concatenate([np.linspace(0.25, 16, 200), 1 + np.logspace(-9, -1, 20), 2 - np.logspace(-9, -1, 20)])
    assert off("lgamma", x, np.asarray(gammas.lgamma(x))).max() <= 5


def test_digamma_of_numbers_that_are_hardly_there_is_their_inverse() -> None:
    """Where that is a number: the least numbers have none."""
    x = np.array([1e-308, 7.41691286169067e-309, -5.7e-309, 5e-324])
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(gammas.digamma(x), -1 / x, rtol=1e-15)


def test_the_meaning_of_digamma_loses_nothing_around_its_root() -> None:
    """Going up from 1.3 to where a series was known, terms cancelled: 23 units in the last place."""
    x = np.concatenate([np.linspace(0.01, 3, 600), [1.1, 1.3, 1.4616321449683622, 15.9]])
    assert off("digamma", x, np.asarray(gammas.digamma(x))).max() <= 3
