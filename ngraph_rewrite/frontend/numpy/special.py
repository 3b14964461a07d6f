# SPDX-License-Identifier: Apache-2.0
"""``ng.numpy.special``: functions of probability and physics, with the names and parameters of ``scipy.special``.

Each is a formula of other functions, so that it runs on every target, and has derivatives. SciPy's ufuncs, called with
terms, are the same: ``scipy.special.ndtri(x)``.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ngraph_rewrite.frontend.numpy.absent import refused
from ngraph_rewrite.frontend.numpy.bessel import i0, i0e, i1, i1e
from ngraph_rewrite.frontend.numpy.elementwise import digamma, erf, erfinv
from ngraph_rewrite.frontend.numpy.error_functions import erfc, erfcinv, erfcx, log_ndtr, ndtr, ndtri
from ngraph_rewrite.frontend.numpy.gamma_functions import (
    beta,
    betaln,
    factorial,
    gamma,
    gammaln,
    multigammaln,
    polygamma,
    psi,
    zeta,
)
from ngraph_rewrite.frontend.numpy.incomplete_betas import betainc, betaincc
from ngraph_rewrite.frontend.numpy.incomplete_gammas import gammainc, gammaincc
from ngraph_rewrite.frontend.numpy.network import log_softmax, logsumexp, softmax
from ngraph_rewrite.frontend.numpy.special_logs import (
    entr,
    expit,
    kl_div,
    log_expit,
    logit,
    rel_entr,
    xlog1py,
    xlogy,
)

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Nothing: what to write instead is said."""
        raise refused(sys.modules[__name__], name)

    def __dir__() -> list[str]:
        """What is public."""
        return sorted(__all__)


__all__ = [
    "beta",
    "betainc",
    "betaincc",
    "betaln",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcinv",
    "erfcx",
    "erfinv",
    "expit",
    "factorial",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammaln",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "kl_div",
    "log_expit",
    "log_ndtr",
    "log_softmax",
    "logit",
    "logsumexp",
    "multigammaln",
    "ndtr",
    "ndtri",
    "polygamma",
    "psi",
    "rel_entr",
    "softmax",
    "xlog1py",
    "xlogy",
    "zeta",
]
