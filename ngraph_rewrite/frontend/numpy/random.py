# SPDX-License-Identifier: Apache-2.0
"""``ng.numpy.random``: random numbers by NumPy's names. A term that draws has other numbers in each call.

The seed is that of a transformer; the same seed draws the same numbers on every target.
"""

from __future__ import annotations

from ngraph_rewrite.frontend.numpy.distributions import (
    exponential,
    gumbel,
    laplace,
    logistic,
    lognormal,
    normal,
    pareto,
    random,
    rayleigh,
    standard_cauchy,
    standard_exponential,
    standard_normal,
    triangular,
    uniform,
    weibull,
)
from ngraph_rewrite.frontend.numpy.distributions_of_vectors import multivariate_normal
from ngraph_rewrite.frontend.numpy.drawn_elements import choice, permutation
from ngraph_rewrite.frontend.numpy.whole_numbers import binomial, geometric, integers

__all__ = [
    "binomial",
    "choice",
    "exponential",
    "geometric",
    "gumbel",
    "integers",
    "laplace",
    "logistic",
    "lognormal",
    "multivariate_normal",
    "normal",
    "pareto",
    "permutation",
    "random",
    "rayleigh",
    "standard_cauchy",
    "standard_exponential",
    "standard_normal",
    "triangular",
    "uniform",
    "weibull",
]
