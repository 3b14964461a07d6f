# SPDX-License-Identifier: Apache-2.0
"""``ng.numpy.random``: random numbers by NumPy's names. A term that draws has other numbers in each call.

The seed is that of a transformer; the same seed draws the same numbers on every target.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ngraph_rewrite.frontend.numpy.absent import refused
from ngraph_rewrite.frontend.numpy.composed_distributions import noncentral_chisquare, noncentral_f, vonmises, wald
from ngraph_rewrite.frontend.numpy.counts import binomial, geometric, logseries, negative_binomial, poisson, zipf
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
from ngraph_rewrite.frontend.numpy.distributions_of_vectors import dirichlet, multinomial, multivariate_normal
from ngraph_rewrite.frontend.numpy.drawn_elements import choice, permutation
from ngraph_rewrite.frontend.numpy.gamma_distributions import (
    beta,
    chisquare,
    f,
    gamma,
    power,
    standard_gamma,
    standard_t,
)
from ngraph_rewrite.frontend.numpy.whole_numbers import integers

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Nothing: what to write instead is said."""
        raise refused(sys.modules[__name__], name)

    def __dir__() -> list[str]:
        """What is public."""
        return sorted(__all__)


__all__ = [
    "beta",
    "binomial",
    "chisquare",
    "choice",
    "dirichlet",
    "exponential",
    "f",
    "gamma",
    "geometric",
    "gumbel",
    "integers",
    "laplace",
    "logistic",
    "lognormal",
    "logseries",
    "multinomial",
    "multivariate_normal",
    "negative_binomial",
    "noncentral_chisquare",
    "noncentral_f",
    "normal",
    "pareto",
    "permutation",
    "poisson",
    "power",
    "random",
    "rayleigh",
    "standard_cauchy",
    "standard_exponential",
    "standard_gamma",
    "standard_normal",
    "standard_t",
    "triangular",
    "uniform",
    "vonmises",
    "wald",
    "weibull",
    "zipf",
]
