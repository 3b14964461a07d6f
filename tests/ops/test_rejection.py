# SPDX-License-Identifier: Apache-2.0
"""Draws that are functions of a uniform number: distributed as they say for any parameters, and alike in kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import special, stats

import ngraph_rewrite as ng
from ngraph_rewrite.ops import rejection

COUNT = 40_000
NAN, INF = np.nan, np.inf
UNIFORM = np.random.default_rng(5).random(COUNT)
Draw = Callable[..., Any]


class Zipf(NamedTuple):
    """Zipf's distribution, also of ranks up to which nobody counts."""

    a: float

    def pmf(self, k: Any) -> Any:
        return k**-self.a / special.zeta(self.a)

    def cdf(self, k: Any) -> Any:
        return 1 - special.zeta(self.a, k + 1) / special.zeta(self.a)


DRAWS: dict[str, tuple[Draw, tuple[float, ...], Any]] = {
    **{f"gamma {a}": (rejection.gamma_draw, (a,), stats.gamma(a)) for a in (1.0, 1.7, 30.0, 1e8)},
    **{
        f"von Mises {k}": (lambda k, u: 2 * np.arctan(rejection.vonmises_draw(k, u)), (k,), stats.vonmises(k))
        for k in (1e-9, 0.3, 1.0, 20.0, 1e5)
    },
    **{f"zipf {a}": (rejection.zipf_draw, (a,), Zipf(a)) for a in (1.01, 1.3, 2.0, 3.5, 12.0)},
    **{f"poisson {m}": (rejection.poisson_draw, (m,), stats.poisson(m)) for m in (0.2, 9.99, 10.0, 37.5, 1e4, 1e12)},
    **{
        f"binomial {n} {p}": (rejection.binomial_draw, (n, p), stats.binom(n, p))
        for n, p in ((1, 0.5), (7, 0.9), (20, 0.5), (25, 0.4), (90, 0.3), (90, 0.7), (10**6, 1e-4), (10**12, 0.25))
    },
}


@pytest.mark.parametrize("name", DRAWS)
def test_draws_are_distributed_as_the_name_says(name: str) -> None:
    """Where a distribution has steps, a number is taken from each at random: then all are evenly distributed."""
    draw, parameters, wanted = DRAWS[name]
    found = draw(*parameters, UNIFORM)
    below, step = wanted.cdf(found), np.zeros(COUNT)
    if hasattr(wanted, "pmf"):
        step = wanted.pmf(found)
    parts = np.sort(below - step * np.random.default_rng(6).random(COUNT))
    assert np.abs(parts - (np.arange(COUNT) + 0.5) / COUNT).max() < 1.63 / np.sqrt(COUNT)


def test_logarithms_of_probabilities() -> None:
    k = np.arange(300.0)
    assert_allclose(rejection.poisson_log(k, 80.0), stats.poisson(80).logpmf(k), atol=1e-12)
    assert_allclose(rejection.binomial_log(k, 299.0, 0.25), stats.binom(299, 0.25).logpmf(k), atol=1e-12)


def _operands(seed: int) -> dict[str, list[Any]]:
    """Parameters of all sizes, some of which are none."""
    rng = np.random.default_rng(seed)
    u, size = rng.random(4000), np.exp(rng.normal(size=4000) * 4)
    odd = np.array([NAN, INF, -INF, -1.0, 0.0, 0.5, 1.0, 1e300, 3.0, 3.0, 3.0])
    u = np.concatenate([u, [0.5] * 8, [1.0, -0.25, NAN]])
    a = np.concatenate([1 + size, odd])
    n, p = np.concatenate([np.floor(size), odd]), np.concatenate([rng.random(4000), odd[::-1]])
    some = np.concatenate([size, odd])
    return {
        "gamma_draw": [a, u], "poisson_draw": [some, u], "binomial_draw": [n, p, u], "vonmises_draw": [some, u],
        "zipf_draw": [a, u],
    }  # fmt: skip


@pytest.mark.sampled
@pytest.mark.parametrize("name", rejection.DRAWS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_kernels_draw_what_the_meaning_says(name: str, dtype: str) -> None:
    inputs = [ng.placeholder(x.shape, dtype) for x in _operands(1)[name]]
    with np.errstate(over="ignore"):
        values = [np.asarray(x).astype(inputs[0].dtype) for x in _operands(1)[name]]
    term = getattr(ng.semi, name)(*inputs)
    found = {}
    for target in ("cpu", "reference"):
        with ng.make_transformer(target) as transformer:
            found[target] = transformer.computation(term, *inputs)(*values).astype(np.float64)
    if name in ("gamma_draw", "vonmises_draw", "zipf_draw"):  # ranks may be greater than all integers
        assert_allclose(found["cpu"], found["reference"], rtol=1e-12 if dtype == "float64" else 0.01)
    else:
        assert_array_equal(found["cpu"], found["reference"])


def test_what_is_no_parameter_gives_nan() -> None:
    assert_array_equal(
        rejection.gamma_draw([0.999, NAN, -1, 2, 2, INF], [0.5, 0.5, 0.5, 1.0, NAN, 0.5]), [NAN] * 5 + [INF]
    )
    assert_array_equal(rejection.vonmises_draw([-0.1, NAN, INF, 1], [0.5, 0.5, 0.5, 1.0]), [NAN, NAN, 0, NAN])
    assert_array_equal(rejection.zipf_draw([1, NAN, INF, 2, 1e300], [0.5, 0.5, 0.5, 1.0, 0.5]), [NAN, NAN, 1, NAN, 1])
    assert_array_equal(rejection.poisson_draw([-0.1, NAN, 0, INF], 0.5), [NAN, NAN, 0, INF])
    assert_array_equal(rejection.binomial_draw([2.5, -1, 3, 3, 0, 3, 3], [0.5, 0.5, 1.5, NAN, 0.5, 0, 1], 0.5),
                       [NAN, NAN, NAN, NAN, 0, 0, 3])  # fmt: skip


def test_what_takes_long_is_computed_once_for_all_that_read_it() -> None:
    x = ng.placeholder((8, 6))
    drawn = ng.numpy.random.standard_gamma(x + 1, dtype="float32")
    repeated = ng.numpy.sum(ng.numpy.exp(ng.numpy.broadcast_to(drawn, (50, 8, 6))), axis=(0, 2))
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation([repeated, ng.numpy.max(drawn, axis=1)], x)
        computation(np.ones((8, 6)))
        assert computation.source().count("= gamma_draw(") == 1
