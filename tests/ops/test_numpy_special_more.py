# SPDX-License-Identifier: Apache-2.0
"""Exponential integrals, quantiles, distribution functions and binomials have SciPy's values, and slopes."""

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from on_targets import check_gradient, computed, meaning, slopes
from scipy import special

import ngraph_rewrite as ng

ours = ng.numpy.special
INF, NAN = math.inf, math.nan
WIDE = [
    0.0,
    1e-300,
    1e-8,
    0.3,
    0.9,
    1.0,
    2.5,
    4.0,
    6.5,
    12.5,
    41.0,
    160.0,
    INF,
    NAN,
    -1e-8,
    -0.5,
    -1.0,
    -3.0,
    -20.0,
    -INF,
]
SHAPES = [0.01, 0.5, 1.0, 3.0, 50.0, 1e4]
PARTS = [0.0, 1e-100, 1e-5, 0.01, 0.3, 0.5, 0.500001, 0.9, 0.999, 1.0, -1.0, NAN]
FREEDOMS = [0.5, 1.0, 3.0, 10.0, 100.0]
# What is computed of what, in a column beside a row if there are two operands.
CASES: dict[str, tuple[Any, ...]] = {
    "exp1": (WIDE,),
    "rgamma": (WIDE,),
    "exprel": (WIDE,),
    "cosm1": (WIDE[:12],),
    "exp10": (WIDE,),
    "boxcox": ([-2.0, -1e-9, 0.0, 1e-9, 0.3, 3.0], [1e-9, 0.5, 1.0, 1 + 1e-9, 3.0, 100.0]),
    "boxcox1p": ([-2.0, 0.0, 0.3, 3.0], [1e-12, 0.0, -0.5, 3.0]),
    "inv_boxcox": ([-0.3, 0.0, 1e-9, 0.2, 3.0], [-2.0, 0.0, 0.3, 1.0]),
    "inv_boxcox1p": ([-0.3, 0.0, 1e-9, 0.2, 3.0], [-2.0, 0.0, 0.3, 1.0]),
    "huber": ([-1.0, 0.0, 1.0, 1e10], WIDE),
    "pseudo_huber": ([-1.0, 0.0, 1.0, 1e10], WIDE[:12]),
    "poch": ([-4.5, -3.0, 0.5, 2.5, 5.5, 100.5, 1000.0], [-2.0, 0.0, 1.0, 3.0, 20.0, 100.0]),
    "binom": ([-4.5, -1.0, 0.0, 5.0, 5.5, 52.0, 1000.0], [-1.0, 0.0, 1.0, 2.5, 3.0, 20.0, 100.0]),
    "comb": ([-1.0, 0.0, 5.0, 52.0, 1000.0], [-1.0, 0.0, 1.0, 3.0, 20.0]),
    "perm": ([-1.0, 0.0, 5.0, 52.0], [-1.0, 0.0, 1.0, 3.0, 20.0]),
    "chdtr": (FREEDOMS, WIDE[:12]),
    "chdtrc": (FREEDOMS, WIDE[:12]),
    "chdtri": (FREEDOMS, PARTS[2:9]),
    "pdtr": ([0.0, 1.0, 2.5, 10.0], [0.5, 3.0]),
    "pdtrc": ([0.0, 1.0, 2.5, 10.0], [0.5, 3.0]),
    "stdtr": (FREEDOMS, [-INF, -50.0, -3.0, 0.0, 0.5, 2.0, 100.0, INF, NAN]),
    "stdtrit": (FREEDOMS, [1e-10, 0.01, 0.3, 0.49, 0.5, 0.51, 0.99]),
}


def found_on(target: str, function: Callable[..., Any], *arrays: Any) -> list[Any]:
    """What a target finds; where loops are in loops the reference takes a while."""
    terms = [ng.placeholder(np.shape(x), "float64") for x in arrays]
    with ng.make_transformer(target) as transformer:
        return list(transformer.computation(list(function(*terms)), *terms)(*arrays))


@pytest.mark.parametrize("name", CASES)
def test_values_are_scipys(name: str) -> None:
    column, *rows = (np.array(numbers) for numbers in CASES[name])
    operands = [column[:, None], *rows]
    with np.errstate(all="ignore"):
        wanted = getattr(special, name)(*operands)
    assert_allclose(meaning(getattr(ours, name), *operands), wanted, rtol=2e-12, atol=1e-307)


@pytest.mark.parametrize("name", ["bdtr", "bdtrc", "fdtr", "fdtrc", "gdtr", "gdtrc"])
def test_values_of_three_arguments_are_scipys(name: str) -> None:
    first, second = np.array([0.0, 1.0, 2.0, 4.0, 5.0]), np.array(5.0)
    third = np.array([[0.1], [0.7]])
    if not name.startswith("b"):
        first, third = first + 0.5, np.array([[1e-3], [0.7], [20.0]])
    wanted = getattr(special, name)(first, second.astype(int) if name.startswith("b") else second, third)
    assert_allclose(meaning(getattr(ours, name), first, second, third), wanted, rtol=1e-13)


def test_the_principal_value_is_mpmaths() -> None:
    """Near its zero SciPy's has fewer digits."""
    x = np.array([v for v in WIDE if math.isfinite(v)] + [0.3725, 700.0])
    wanted = [float(mpmath.ei(v)) for v in x]
    for (found,) in computed(ours.expi, x):
        assert_allclose(found, wanted, rtol=1e-14, atol=1e-16)
    assert_array_equal(meaning(ours.expi, np.array([INF, -INF, NAN])), [INF, 0, NAN])


def test_quantiles_of_gamma_numbers() -> None:
    a, part = np.array(SHAPES)[:, None], np.array(PARTS)
    found = found_on("cpu", lambda a, part: (ours.gammaincinv(a, part), ours.gammainccinv(a, part)), a, part)
    for numbers, name in zip(found, ("gammaincinv", "gammainccinv"), strict=True):
        assert_allclose(numbers, getattr(special, name)(a, part), rtol=1e-11, atol=1e-305)


def test_quantiles_of_beta_numbers() -> None:
    """SciPy's are few digits of some: what matters is that the part is that of the number, if there is one as small."""
    part = np.array(PARTS)
    a, b = (x.ravel()[:, None] for x in np.meshgrid(SHAPES, [0.5, 1.0, 50.0]))
    every = found_on("cpu", lambda a, b, part: (ours.betaincinv(a, b, part), ours.betainccinv(a, b, part)), a, b, part)
    shapes = np.broadcast_arrays(a, b, part)
    for found, name in zip(every, ("betainc", "betaincc"), strict=True):
        assert_array_equal(found[0], np.where(np.isnan(part) | (part < 0), NAN, found[0]))
        inner = (found > 1e-290) & (found < 0.99)
        back = getattr(special, name)(shapes[0][inner], shapes[1][inner], found[inner])
        assert_allclose(back, shapes[2][inner], rtol=2e-10)
        assert inner.mean() > 0.3


def test_both_targets_agree() -> None:
    x, part = np.array([0.3, 2.0, 7.0, 50.0]), np.array([0.01, 0.4, 0.7, 0.999])

    def some(x: Any, part: Any) -> tuple[Any, ...]:
        return ours.exp1(x), ours.binom(x, part), ours.poch(x, part), ours.exprel(x), ours.boxcox(x, part)

    reference, cpu = computed(some, x, part)
    for found, wanted in zip(cpu, reference, strict=True):
        assert_allclose(found, wanted, rtol=1e-11)


# -- slopes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["exp1", "expi", "rgamma", "exprel", "cosm1", "exp10"])
def test_slopes_of_one_argument(name: str) -> None:
    check_gradient(getattr(ours, name), np.array([0.2, 0.7, 1.5, 3.3]))


def test_slopes_of_parameters() -> None:
    a, b, part = np.array([0.7, 3.0]), np.array([2.0, 1.5]), np.array([0.2, 0.8])
    h = 1e-6

    def inverses(a: Any, b: Any, part: Any) -> Any:
        every = (ours.gammaincinv(a, part), (a, part)), (ours.betaincinv(a, b, part), (a, b, part))
        return [ng.deriv(ng.numpy.sum(y), x) for y, operands in every for x in operands]

    def differences(function: Any, *x: Any) -> list[Any]:
        moved = [[function(*(y + d * h * (k == n) for n, y in enumerate(x))) for d in (1, -1)] for k in range(len(x))]
        return [(up - down) / (2 * h) for up, down in moved]

    wanted = differences(special.gammaincinv, a, part) + differences(special.betaincinv, a, b, part)
    assert_allclose(found_on("reference", inverses, a, b, part), wanted, rtol=1e-6)
    check_gradient(lambda *x: ng.numpy.stack([ours.binom(x[0] + 3, x[1]), ours.poch(x[0], x[1])]), a, b)
    check_gradient(lambda *x: ng.numpy.stack([ours.boxcox(x[0], x[1]), ours.inv_boxcox(x[0], x[1])]), a, b)


def test_slopes_where_values_are_chosen() -> None:
    (by_number,) = slopes(ours.rgamma, np.array([0.0, -1.0, -2.0, -3.0]))
    assert_allclose(by_number, [1, -1, 2, -6], rtol=1e-15)
    (by_number,) = slopes(ours.exprel, np.array([0.0]))
    assert_array_equal(by_number, [0.5])
    by_number, by_power = slopes(lambda x, power: ours.boxcox(x, power), np.array([2.0]), np.array([0.0]))
    assert_allclose([by_number[0], by_power[0]], [0.5, math.log(2) ** 2 / 2], rtol=1e-15)
    by_delta, by_number = slopes(ours.huber, np.array([1.0, 1.0]), np.array([0.5, -3.0]))
    assert_array_equal([by_delta, by_number], [[0, 2], [0.5, -1]])


def test_formulas_far_out() -> None:
    cases = {
        "pseudo_huber": ([1.0, 1e-3, 2.0], [1e20, -1e30, INF]),
        "inv_boxcox": ([INF, INF, 3.0], [0.0, 2.0, 0.0]),
        "inv_boxcox1p": ([INF, INF, 3.0], [0.0, 2.0, 0.0]),
        "boxcox": ([INF, INF, INF], [-2.0, 0.0, 2.0]),
        "boxcox1p": ([INF, INF, INF], [-2.0, 0.0, 2.0]),
    }
    for name, operands in cases.items():
        arrays = [np.array(x, "float32") for x in operands]
        assert_allclose(meaning(getattr(ours, name), *arrays), getattr(special, name)(*arrays), rtol=1e-6)
