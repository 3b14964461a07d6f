# SPDX-License-Identifier: Apache-2.0
"""``ng.numpy.random``: numbers are distributed as their names say, alike on every target; parameters may be terms."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from math import erf
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

import ngraph_rewrite as ng
from ngraph_rewrite.errors import (
    ArgumentError,
    AttributeValueError,
    AxesError,
    DTypeError,
    IncompatibleAxesError,
    LengthError,
    NGraphRewriteError,
    OutOfRangeError,
)
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological

random = ng.numpy.random
COUNT = 20_000
Curve = Callable[[Any], Any]


def ran(returns: Any, inputs: Sequence[Op] = (), values: Sequence[Any] = (), target: str = "cpu", seed: int = 5) -> Any:
    with ng.make_transformer(target, seed=seed) as transformer:
        return transformer.computation(returns, *inputs)(*values)


def _normal(x: Any) -> Any:
    return (1 + np.vectorize(erf)(x / np.sqrt(2))) / 2


def _triangular(x: Any) -> Any:
    return np.where(x < 2, (x - 1) ** 2 / 3, 1 - (4 - x) ** 2 / 6)


# Each with the share of numbers that are below x (Johnson, Kotz and Balakrishnan 1994).
CONTINUOUS: dict[str, tuple[Callable[..., Op], tuple[float, ...], Curve]] = {
    "random": (random.random, (), lambda x: x),
    "uniform": (random.uniform, (-2.0, 3.0), lambda x: (x + 2) / 5),
    "standard_normal": (random.standard_normal, (), _normal),
    "normal": (random.normal, (3.0, 0.5), lambda x: _normal((x - 3) / 0.5)),
    "lognormal": (random.lognormal, (1.0, 0.5), lambda x: _normal((np.log(x) - 1) / 0.5)),
    "standard_exponential": (random.standard_exponential, (), lambda x: 1 - np.exp(-x)),
    "exponential": (random.exponential, (2.5,), lambda x: 1 - np.exp(-x / 2.5)),
    "laplace": (
        random.laplace,
        (1.0, 2.0),
        lambda x: np.where(x < 1, np.exp((x - 1) / 2) / 2, 1 - np.exp((1 - x) / 2) / 2),
    ),
    "logistic": (random.logistic, (1.0, 2.0), lambda x: 1 / (1 + np.exp((1 - x) / 2))),
    "gumbel": (random.gumbel, (1.0, 2.0), lambda x: np.exp(-np.exp((1 - x) / 2))),
    "rayleigh": (random.rayleigh, (2.0,), lambda x: 1 - np.exp(-x * x / 8)),
    "weibull": (random.weibull, (1.5,), lambda x: 1 - np.exp(-(x**1.5))),
    "pareto": (random.pareto, (3.0,), lambda x: 1 - (1 + x) ** -3.0),
    "standard_cauchy": (random.standard_cauchy, (), lambda x: 0.5 + np.arctan(x) / np.pi),
    "triangular": (random.triangular, (1.0, 2.0, 4.0), _triangular),
    "standard_gamma": (random.standard_gamma, (2.5,), stats.gamma(2.5).cdf),
    "gamma": (random.gamma, (0.3, 2.0), stats.gamma(0.3, scale=2).cdf),
    "beta": (random.beta, (0.5, 2.0), stats.beta(0.5, 2).cdf),
    "chisquare": (random.chisquare, (3.0,), stats.chi2(3).cdf),
    "f": (random.f, (3.0, 5.0), stats.f(3, 5).cdf),
    "standard_t": (random.standard_t, (4.0,), stats.t(4).cdf),
    "power": (random.power, (3.0,), stats.powerlaw(3).cdf),
    "vonmises": (random.vonmises, (0.0, 2.0), stats.vonmises(2).cdf),
    "wald": (random.wald, (3.0, 2.0), stats.invgauss(1.5, scale=2).cdf),
    "wald, far from its scale": (random.wald, (50.0, 0.5), stats.invgauss(100, scale=0.5).cdf),
    "noncentral_chisquare": (random.noncentral_chisquare, (3.0, 2.0), stats.ncx2(3, 2).cdf),
    "noncentral_chisquare of few": (random.noncentral_chisquare, (0.7, 4.0), stats.ncx2(0.7, 4).cdf),
    "noncentral_f": (random.noncentral_f, (3.0, 5.0, 1.5), stats.ncf(3, 5, 1.5).cdf),
}


def apart(numbers: Any, below: Curve) -> float:
    """The largest distance of the shares that are below each number from what they should be (Kolmogorov)."""
    x = np.sort(np.asarray(numbers, np.float64).ravel())
    return float(np.abs(below(x) - (np.arange(x.size) + 0.5) / x.size).max())


@pytest.mark.parametrize("name", CONTINUOUS)
def test_numbers_are_distributed_as_the_name_says(name: str) -> None:
    function, parameters, below = CONTINUOUS[name]
    found = ran(function(*parameters, COUNT))
    assert (found.dtype, found.shape) == (np.float32, (COUNT,))
    assert apart(found, below) < 1.63 / np.sqrt(COUNT)  # of a hundred seeds one would miss this


@pytest.mark.parametrize("name", [n for n, (_, parameters, _) in CONTINUOUS.items() if parameters])
def test_parameters_may_be_terms_which_are_broadcast(name: str) -> None:
    function, parameters, below = CONTINUOUS[name]
    shapes = [(1,) if i else (2, 1) for i in range(len(parameters))]
    terms = [ng.placeholder(shape, dtype="float64") for shape in shapes]
    values = [np.full(shape, p) for shape, p in zip(shapes, parameters, strict=True)]
    found = function(*terms, (2, COUNT))
    assert found.type == ng.placeholder((2, COUNT), dtype="float64").type
    for row in ran(found, terms, values):
        assert apart(row, below) < 1.8 / np.sqrt(COUNT)
    assert function(*terms).shape == (2, 1)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_dtypes(dtype: str) -> None:
    for name, (function, parameters, _) in CONTINUOUS.items():
        found = function(*parameters, (50,), dtype=dtype)
        assert found.dtype == ng.placeholder((), dtype).dtype, name
        values = np.asarray(ran(found, target="reference"), np.float64)
        assert np.isfinite(values).all(), name
        assert len(np.unique(values)) > 10, name


def test_targets_draw_the_same() -> None:
    every = [function(*parameters, 100, dtype="float64") for function, parameters, _ in CONTINUOUS.values()]
    every += [random.integers(10, size=100), random.permutation(100), random.choice(100, 20, replace=False)]
    for one, other in zip(ran(every), ran(every, target="reference"), strict=True):
        assert_allclose(one, other, rtol=1e-9)


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_one_number_is_drawn_without_a_size(target: str) -> None:
    one = [random.gamma(2.5), random.poisson(40.0), random.binomial(1000, 0.25), random.beta(2.0, 3.0)]
    every = [
        random.gamma(2.5, size=1),
        random.poisson(40.0, 1),
        random.binomial(1000, 0.25, 1),
        random.beta(2.0, 3.0, 1),
    ]
    for number, vector in zip(ran(one, target=target), ran(every, target=target), strict=True):
        assert (number.shape, number.dtype) == ((), vector.dtype)
        assert np.isfinite(number)


def test_a_derivative_passes_to_parameters() -> None:
    mean, width = ng.placeholder((), "float64", name="mean"), ng.placeholder((), "float64", name="width")
    numbers = random.normal(mean, width, 1000)
    slopes = ng.deriv(ng.numpy.mean(numbers), [mean, width])
    found, by_mean, by_width = ran([numbers, *slopes], [mean, width], [2.0, 3.0])
    assert_allclose(by_mean, 1.0)
    assert_allclose(by_width, (found.mean() - 2) / 3)


@pytest.mark.parametrize("mode", [0.0, 1.0])
def test_a_triangle_whose_mode_is_an_end_has_a_derivative(mode: float) -> None:
    """Each number is a part of the way from one end to the other, and moves with both by as much."""
    left, right = ng.placeholder((), "float64"), ng.placeholder((), "float64")
    numbers = random.triangular(left, right if mode else left, right, 500)
    found, by_left, by_right = ran([numbers, *ng.deriv(ng.numpy.mean(numbers), [left, right])], [left, right], [0, 1])
    assert_allclose([by_left, by_right], [1 - found.mean(), found.mean()])


def test_integers() -> None:
    found = ran(random.integers(-2, 3, COUNT))
    assert found.dtype == np.int64
    shares = np.bincount(found + 2, minlength=5) / COUNT
    assert_allclose(shares, 0.2, atol=0.02)
    assert set(ran(random.integers(2, size=100, dtype="int8"))) == {0, 1}
    assert set(ran(random.integers(1, 3, 200, endpoint=True))) == {1, 2, 3}
    assert set(ran(random.integers(-128, 128, COUNT, dtype="int8"))) == set(range(-128, 128))
    high = ng.placeholder((2, 1), dtype="int32")
    rows = ran(random.integers(0, high, (2, 500)), [high], [[[1], [4]]])
    assert set(rows[0]) == {0}
    assert set(rows[1]) == {0, 1, 2, 3}


def test_numbers_of_successes_and_of_attempts() -> None:
    won = ran(random.binomial(4, 0.25, COUNT))
    assert_allclose(np.bincount(won, minlength=5) / COUNT, [0.3164, 0.4219, 0.2109, 0.0469, 0.0039], atol=0.01)
    tries = ran(random.geometric(0.4, COUNT))
    assert tries.min() == 1
    assert_allclose(np.bincount(tries, minlength=5)[1:5] / COUNT, [0.4, 0.24, 0.144, 0.0864], atol=0.01)
    assert set(ran(random.geometric(1.0, 50))) == {1}


COUNTS: dict[str, tuple[Op, Any]] = {
    "few": (random.poisson(1.5, COUNT), stats.poisson(1.5)),
    "many": (random.poisson(40.0, COUNT), stats.poisson(40)),
    "failures": (random.negative_binomial(2.5, 0.4, COUNT), stats.nbinom(2.5, 0.4)),
    "successes": (random.binomial(60, 0.3, COUNT), stats.binom(60, 0.3)),
    "most succeed": (random.binomial(60, 0.95, COUNT), stats.binom(60, 0.95)),
    "ranks": (random.zipf(3.0, COUNT), stats.zipf(3)),
    "a series": (random.logseries(0.4, COUNT), stats.logser(0.4)),
    "a long series": (random.logseries(0.98, COUNT), stats.logser(0.98)),
}


@pytest.mark.parametrize("name", COUNTS)
def test_counts_are_distributed_as_the_name_says(name: str) -> None:
    term, wanted = COUNTS[name]
    found = ran(term)
    assert found.dtype == np.int64
    upto = int(found.max()) + 1
    shares = np.cumsum(np.bincount(found, minlength=upto)) / COUNT
    assert np.abs(shares - wanted.cdf(np.arange(upto))).max() < 1.63 / np.sqrt(COUNT)


def test_parameters_of_counts_may_be_terms() -> None:
    mean, n = ng.placeholder((2, 1), name="mean"), ng.placeholder((2, 1), "int32", name="n")
    p = ng.placeholder((3,), "float64", name="p")
    found = ran(
        [
            random.poisson(mean, (2, COUNT)),
            random.binomial(n, p, (COUNT, 2, 3)),
            ng.deriv(random.poisson(mean, dtype="float32"), mean, error=np.ones((2, 1))),
        ],
        [mean, n, p],
        [[[0.0], [300.0]], [[1], [1000]], [0.0, 0.25, 1.0]],
    )
    assert_allclose(found[0].mean(axis=1), [0, 300], rtol=0.01)
    assert_allclose(found[1].mean(axis=0), [[0, 0.25, 1], [0, 250, 1000]], rtol=0.03)
    assert not found[2].any()


def test_a_series_of_terms() -> None:
    """At 0 each count is 1; beside 1 they are as large as an integer."""
    p = ng.placeholder((3, 1), "float64", name="p")
    found = ran(random.logseries(p, (3, COUNT)), [p], [[[0.0], [0.9], [1 - 2.0**-53]]])
    assert (found[0] == 1).all()
    assert_allclose(found[1].mean(), -0.9 / 0.1 / math.log(0.1), rtol=0.03)
    assert found[2].min() >= 1
    slope = ng.deriv(random.logseries(p, dtype="float64"), p, error=np.ones((3, 1)))
    assert not ran(slope, [p], [[[0.0], [0.5], [0.9]]]).any()


def test_angles_are_on_a_circle() -> None:
    """Around any angle: those beyond pi go on at -pi. They move with what they are around."""
    mu, kappa = ng.placeholder((5, 1), "float64"), ng.placeholder((5, 1), "float64")
    found = random.vonmises(mu, kappa, (5, COUNT))
    centers, close = np.array([3.0, -9.0, 0.5, 2.0, 1e-3]), np.array([5.0, 1.0, 0.0, 1e8, np.inf])
    angles, slope = ran([found, ng.deriv(ng.numpy.sum(found), mu)], [mu, kappa], [centers[:, None], close[:, None]])
    assert np.abs(angles).max() <= np.pi
    assert_allclose(slope.ravel(), COUNT)
    turned = (angles - centers[:, None] + np.pi) % (2 * np.pi) - np.pi
    for row, k in zip(turned[:2], close[:2], strict=True):
        assert apart(row, stats.vonmises(k).cdf) < 1.63 / np.sqrt(COUNT)
    assert apart(angles[2], lambda x: (x + np.pi) / (2 * np.pi)) < 1.63 / np.sqrt(COUNT)
    assert_allclose(turned[3].std(), 1e-4, rtol=0.02)
    assert_allclose(angles[4], 1e-3)


def test_ranks() -> None:
    """Of terms; those that an integer has no room for are the largest, and of a great exponent all are 1."""
    a = ng.placeholder((3, 1), "float64")
    found = ran(random.zipf(a, (3, COUNT)), [a], [[[1.001], [2.5], [2000.0]]])
    assert found[0].min() >= 1 and found[0].max() > 2**62
    assert_allclose((found[1] == 1).mean(), stats.zipf(2.5).pmf(1), atol=0.01)
    assert (found[2] == 1).all()
    assert set(ran(random.zipf(1.0001, 50, dtype="int8"))) <= {*range(1, 128)}


def test_derivatives_of_what_is_not_central() -> None:
    """A mean of df + nonc: its slopes are 1, by nonc where df is a number."""
    df, nonc = ng.placeholder((), "float64"), ng.placeholder((), "float64")
    by_nonc = ng.deriv(ng.numpy.mean(random.noncentral_chisquare(2.5, nonc, COUNT)), nonc)
    by_df = ng.deriv(ng.numpy.mean(random.noncentral_chisquare(df, nonc, COUNT)), df)
    f = ng.numpy.mean(random.noncentral_f(2.5, 12.0, nonc, COUNT))  # its mean is 12 / 10 * (2.5 + nonc) / 2.5
    found = ran([by_nonc, by_df, ng.deriv(f, nonc)], [df, nonc], [3.0, 2.0])
    assert_allclose(found, [1, 1, 0.48], rtol=0.05)


def test_a_term_that_is_no_parameter_gives_nan() -> None:
    """A count is added to half of `df`: the sum alone is no shape that is wrong."""
    p = ng.placeholder((200,), "float64")
    for term in (
        random.noncentral_chisquare(p, 9.0),
        random.noncentral_chisquare(0.5, p),
        random.noncentral_f(p, 3, 9),
    ):
        with ng.make_transformer("cpu") as transformer:
            assert np.isnan(transformer.computation(term, p)(np.full(200, -0.5))).all()


def test_numbers_without_a_mean_are_no_nan() -> None:
    """Of few degrees of freedom: those beyond a float are infinite, others are numbers, and signs are as probable."""
    df = ng.placeholder((COUNT,), "float64")
    wide = random.standard_t(df)
    numbers, slope = ran([wide, ng.deriv(wide, df, error=np.ones(COUNT))], [df], [np.full(COUNT, 0.01)])
    assert not np.isnan(numbers).any() and np.isfinite(slope[np.abs(numbers) < 1e290]).all()
    assert np.isinf(numbers).mean() < 0.002
    assert abs((numbers > 0).mean() - 0.5) < 0.02
    assert_allclose(np.median(np.log(np.abs(numbers))), np.log(stats.t(0.01).ppf(0.75)), rtol=0.05)
    for term in (random.standard_t(0.01, COUNT), random.f(0.01, 0.01, COUNT)):
        assert not np.isnan(ran(term)).any()


def test_a_count_that_an_integer_has_no_room_for_is_the_largest() -> None:
    assert set(ran(random.poisson(1e6, 10, dtype="int8"))) == {127}


def test_outcomes_of_attempts() -> None:
    chances = np.array([0.1, 0.25, 0.0, 0.4, 0.25])
    found = ran(random.multinomial(20, chances, COUNT))
    assert (found.shape, found.dtype) == ((COUNT, 5), np.int64)
    assert (found.sum(axis=1) == 20).all()
    assert_allclose(found.mean(axis=0), 20 * chances, rtol=0.02)
    assert_allclose(np.cov(found.T), 20 * (np.diag(chances) - np.outer(chances, chances)), atol=0.1)
    n, pvals = ng.placeholder((2, 1), "int64", name="n"), ng.placeholder((3, 2), name="pvals")
    rows = ran(random.multinomial(n, pvals, (4, 2, 3)), [n, pvals], [[[0], [7]], [[0, 2], [1, 0], [1, 1]]])
    assert rows.shape == (4, 2, 3, 2)
    assert (rows.sum(axis=-1) == [[0], [7]]).all()
    assert (rows[:, 1, :2] == [[0, 7], [7, 0]]).all()
    assert (ran(random.multinomial(3, [1.0])) == [3]).all()


def test_parts_that_add_up_to_one() -> None:
    weights = ng.placeholder((3,), "float64", name="weights")
    found = random.dirichlet(weights, 2000)
    values, slope = ran([found, ng.deriv(ng.numpy.mean(found[:, 0]), weights)], [weights], [[0.002, 1.0, 3.0]])
    assert_allclose(values.sum(axis=1), 1)
    assert_allclose(values.mean(axis=0), np.array([0.002, 1, 3]) / 4.002, atol=0.02)
    assert np.isfinite(slope).all()
    assert slope[0] > 0 > slope[2]


def test_a_permutation_has_every_element_once_and_every_order_is_as_probable() -> None:
    orders = ran(ng.numpy.vmap(lambda row: random.permutation(row))(ng.numpy.broadcast_to(np.arange(3), (6000, 3))))
    assert (np.sort(orders, axis=1) == np.arange(3)).all()
    _, counts = np.unique(orders, axis=0, return_counts=True)
    assert_allclose(counts / 6000, 1 / 6, atol=0.02)
    rows = ng.placeholder((None, 2), dtype="float64")
    values = np.arange(20.0).reshape(10, 2)
    found = ran(random.permutation(rows), [rows], [values])
    assert not np.array_equal(found, values)
    assert np.array_equal(found[np.argsort(found[:, 0])], values)


def test_choices() -> None:
    shares = [0.1, 0.0, 0.6, 0.3]
    found = ran(random.choice(4, COUNT, p=shares))
    assert_allclose(np.bincount(found, minlength=4) / COUNT, shares, atol=0.02)
    once = ran(random.choice(4, 3, replace=False, p=shares))
    assert sorted(once) == [0, 2, 3]
    assert len(set(ran(random.choice(50, 50, replace=False)))) == 50
    table = ng.placeholder((7, 2))
    assert random.choice(table, (3, 4), axis=1).shape == (7, 3, 4)
    assert random.choice(table).shape == (2,)
    assert ran(random.choice(np.array([7, 7]), 3)).tolist() == [7, 7, 7]


def test_vectors_with_a_covariance() -> None:
    mean, cov = np.array([1.0, -2.0]), np.array([[2.0, 0.6], [0.6, 0.5]])
    found = ran(random.multivariate_normal(mean, cov, COUNT))
    assert_allclose(found.mean(axis=0), mean, atol=0.05)
    assert_allclose(np.cov(found.T), cov, atol=0.06)
    many = random.multivariate_normal(ng.placeholder((5, 1, 2)), ng.placeholder((3, 2, 2)), (4,))
    assert many.shape == (4, 5, 3, 2)


def test_lengths_may_be_unknown() -> None:
    x = ng.placeholder((None,), name="x")
    n = x.shape[0]
    every = [random.normal(size=n), random.integers(0, n, (n, 2)), random.permutation(n), random.choice(n, 2)]
    normal, whole, order, two = ran(every, [x], [np.zeros(9)])
    assert (normal.shape, whole.shape, order.shape, two.shape) == ((9,), (9, 2), (9,), (2,))
    assert sorted(order) == list(range(9))
    assert whole.max() < 9


def test_elements_of_a_vector_of_any_length_are_drawn_once() -> None:
    x, weights = ng.placeholder((None,)), ng.placeholder((None,))
    found = [random.choice(x, 3, replace=False), random.choice(x, 3, replace=False, p=weights)]
    with ng.make_transformer("cpu", seed=1) as transformer:
        call = transformer.computation(found, x, weights)
        even, weighted = call([1, 2, 3, 4, 5], [0.5, 0, 0, 0.3, 0.2])
        assert len(set(even.tolist())) == 3 and sorted(weighted) == [1, 4, 5]
        assert sorted(call([7, 8, 9], [0.2, 0.2, 0.6])[0]) == [7, 8, 9]
        with pytest.raises(NGraphRewriteError):
            call([1, 2], [0.5, 0.5])


def test_draws_in_steps_and_calls_differ() -> None:
    rows = ng.placeholder((6, 2), dtype="float64")
    noisy = ng.numpy.vmap(lambda row: row + random.laplace(size=2, dtype="float64"))(rows)
    assert len(np.unique(ran(noisy, [rows], [np.zeros((6, 2))]))) == 12


def test_integers_near_the_ends_of_their_dtypes() -> None:
    """Ends of a range are subtracted as integers: as floats, all of these are the same."""
    assert set(ran(random.integers(2**63 - 3, 2**63, 50))) == {2**63 - 3, 2**63 - 2, 2**63 - 1}
    assert set(ran(random.integers(2**64 - 2, 2**64, 50, "uint64"))) == {2**64 - 2, 2**64 - 1}
    low = ng.placeholder((), "int64")
    assert set(ran(random.integers(low, low + 3, 50), [low], [2**62 + 1])) == {2**62 + 1, 2**62 + 2, 2**62 + 3}
    assert set(ran(random.integers(np.int8(-128), np.int8(127), COUNT))) == set(range(-128, 127))
    assert ran(random.integers(0, 2, 50, bool)).dtype == np.bool_
    assert random.integers(0, size=0).shape == (0,)


def test_numbers_of_attempts_that_an_integer_has_no_room_for_are_near_the_largest() -> None:
    assert ran(random.geometric(1e-300, 5)).min() >= 2**63 - 1024
    assert set(ran(random.geometric(1e-9, 5, dtype="int8"))) == {127}
    p = ng.placeholder((), "float64")
    assert ran(random.geometric(p, 5), [p], [0.0]).min() >= 2**63 - 1024


def test_numbers_of_numpy_count_as_numbers() -> None:
    assert random.permutation(np.int64(5)).type == random.permutation(5).type
    assert random.choice(np.int32(5), 3).type == random.choice(5, 3).type


def test_arguments_may_stand_where_numpy_has_them() -> None:
    table = ng.placeholder((3, 7))
    assert random.random(2, "float64").type == random.standard_normal(2, "float64").type
    assert random.standard_exponential(2, "float64").dtype == np.float64
    assert random.integers(2, None, 2, "int8", True).dtype == np.int8
    assert random.permutation(table, 1).type == table.type
    assert random.choice(table, 2, True, None, 1).shape == (3, 2)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_numbers_of_16_bits_below_1_are_not_rounded_up_to_it(dtype: str) -> None:
    found = np.asarray(ran(random.random(COUNT, dtype), target="reference"), np.float64)
    assert 0.99 < found.max() < 1


def test_small_numbers_keep_their_digits() -> None:
    assert apart(ran(random.pareto(1e9, COUNT)), lambda x: -np.expm1(-1e9 * np.log1p(x))) < 1.63 / np.sqrt(COUNT)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_least_number_drawn_is_not_out_of_proportion(dtype: str) -> None:
    """Its logarithm is far out, but no further than one would expect of as many numbers as there are."""
    (draw,) = [t for t in topological([random.laplace(size=3, dtype=dtype)]) if t.definition.short == "uniform"]
    least = float(draw.attribute("low").scalar)
    assert np.finfo(dtype).eps / 16 < least < np.finfo(dtype).eps / 4


MISTAKES: list[tuple[type[NGraphRewriteError], str, Callable[[], Any]]] = [
    (DTypeError, "random: expected a float dtype, got int64", lambda: random.random(3, dtype="int64")),
    (LengthError, "normal", lambda: random.normal(size=-1)),
    (AttributeValueError, "normal: scale is -1", lambda: random.normal(0, -1)),
    (AttributeValueError, "weibull: a is nan", lambda: random.weibull(float("nan"))),
    (AxesError, r"uniform: parameters of shapes \(3,\) do not", lambda: random.uniform(ng.placeholder((3,)), 1, 1)),
    (IncompatibleAxesError, "uniform", lambda: random.uniform(ng.placeholder((3,)), ng.placeholder((2,)))),
    (AttributeValueError, "integers: 3 to 2", lambda: random.integers(3, 3)),
    (AttributeValueError, "integers: 0 to 128 as int8", lambda: random.integers(129, dtype="int8")),
    (DTypeError, "expected an integer dtype, got float32", lambda: random.integers(2, dtype="float32")),
    (
        DTypeError,
        "expected an integer dtype, got float32",
        lambda: random.integers(ng.placeholder((), "int64"), dtype="float32"),
    ),
    (OutOfRangeError, "permutation: axis 2", lambda: random.permutation(ng.placeholder((3, 2)), axis=2)),
    (OutOfRangeError, "choice: axis 0", lambda: random.choice(ng.placeholder(()))),
    (AttributeValueError, r"normal: scale is array\(\[ 1., -1.\]\)", lambda: random.normal(0, np.array([1.0, -1.0]))),
    (AttributeValueError, r"laplace: scale is np.float32\(-1.0\)", lambda: random.laplace(0, np.float32(-1))),
    (AttributeValueError, "normal: scale is inf[\\s\\S]*a finite one", lambda: random.normal(0, float("inf"))),
    (AttributeValueError, "normal: scale is 10000", lambda: random.normal(0, 10**400)),
    (AttributeValueError, "uniform: from nan to 1", lambda: random.uniform(float("nan"), 1)),
    (AttributeValueError, "uniform: from -1e[+]308 to 1e[+]308", lambda: random.uniform(-1e308, 1e308)),
    (AttributeValueError, "triangular: left, mode and right are 0, 3, 1", lambda: random.triangular(0, 3, 1)),
    (AttributeValueError, "integers: 0 to -1 as int64", lambda: random.integers(np.int64(0))),
    (AttributeValueError, r"integers: 0 to \[299\] as int8", lambda: random.integers(0, [300], dtype="int8")),
    (DTypeError, "integers: an end of the range is 5.5", lambda: random.integers(5.5)),
    (ArgumentError, r"binomial: n is \[-1, 3\]", lambda: random.binomial([-1, 3], 0.5)),
    (AttributeValueError, "binomial: p is 1.5", lambda: random.binomial(3, 1.5)),
    (AttributeValueError, r"binomial: p is \[0.5, nan\]", lambda: random.binomial(3, [0.5, float("nan")])),
    (AttributeValueError, "binomial: n is 300, and int8 ends at 127", lambda: random.binomial(300, 0.5, dtype="int8")),
    (AttributeValueError, "binomial: n is 9007199254740993, and counts", lambda: random.binomial(2**53 + 1, 0.5)),
    (DTypeError, "binomial: n is x of float32", lambda: random.binomial(ng.placeholder((3,), name="x"), 0.5)),
    (AttributeValueError, "gamma: shape is -1", lambda: random.gamma(-1)),
    (AttributeValueError, "gamma: scale is inf", lambda: random.gamma(1, math.inf)),
    (AttributeValueError, "beta: b is 0[\\s\\S]*above 0", lambda: random.beta(1, 0)),
    (AttributeValueError, "standard_t: df is 0", lambda: random.standard_t(0)),
    (AttributeValueError, "zipf: a is 1[\\s\\S]*above 1", lambda: random.zipf(1)),
    (AttributeValueError, "vonmises: kappa is -1", lambda: random.vonmises(0, -1)),
    (AttributeValueError, "vonmises: mu is inf", lambda: random.vonmises(math.inf, 1)),
    (AttributeValueError, "wald: scale is 0", lambda: random.wald(1, 0)),
    (AttributeValueError, "noncentral_chisquare: nonc is -1", lambda: random.noncentral_chisquare(1, -1)),
    (AttributeValueError, "noncentral_f: dfden is 0", lambda: random.noncentral_f(1, 0, 1)),
    (AttributeValueError, "logseries: p is 1[\\s\\S]*below 1", lambda: random.logseries(1)),
    (AttributeValueError, "poisson: lam is -0.5", lambda: random.poisson(-0.5)),
    (AttributeValueError, "negative_binomial: n is 0", lambda: random.negative_binomial(0, 0.5)),
    (AttributeValueError, "negative_binomial: p is 0", lambda: random.negative_binomial(3, 0)),
    (AttributeValueError, r"dirichlet: alpha is \[1, 0\]", lambda: random.dirichlet([1, 0])),
    (AxesError, "dirichlet: alpha is one number", lambda: random.dirichlet(2.0)),
    (AttributeValueError, "multinomial: pvals add up to 1.1", lambda: random.multinomial(3, [0.6, 0.5])),
    (AttributeValueError, r"multinomial: pvals is \[-0.5, 1.5\]", lambda: random.multinomial(3, [-0.5, 1.5])),
    (AttributeValueError, "multinomial: there are 0 outcomes", lambda: random.multinomial(3, 0.5)),
    (AttributeValueError, "multinomial: there are", lambda: random.multinomial(3, ng.placeholder((None,)))),
    (AxesError, "multinomial: axis -1 has the lengths 3 and 2", lambda: random.multinomial([3, 4], [1.0], 3)),
    (AttributeValueError, "geometric: p is 0", lambda: random.geometric(0)),
    (AxesError, "choice: there are 0 elements", lambda: random.choice(0)),
    (AttributeValueError, r"choice: p is \[1, 1\], of sum 2.0", lambda: random.choice(2, 1, p=[1, 1])),
    (AttributeValueError, "choice: p is .* of sum 1.0", lambda: random.choice(2, 1, p=[-1, 2])),
    (AttributeValueError, "choice: 2 elements, .* and 1 have", lambda: random.choice(2, 2, False, [0, 1])),
    (LengthError, "permutation: a length is -3", lambda: random.permutation(-3)),
    (ArgumentError, "binomial: n is -1", lambda: random.binomial(-1, 0.5)),
    (AxesError, "choice: 4 of 3 elements", lambda: random.choice(3, 4, replace=False)),
    (AxesError, r"choice: \(2,\) probabilities of 3 elements", lambda: random.choice(3, 4, p=[0.5, 0.5])),
    (AxesError, "multivariate_normal: a mean", lambda: random.multivariate_normal([0.0, 0.0], [[1.0]])),
]


@pytest.mark.parametrize(("error", "says", "call"), MISTAKES)
def test_a_wrong_call_says_what_is_wrong_and_where(
    error: type[NGraphRewriteError], says: str, call: Callable[[], Any]
) -> None:
    with pytest.raises(error, match=says) as caught:
        call()
    assert "test_numpy_random.py:" in str(caught.value)
