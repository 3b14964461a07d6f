# SPDX-License-Identifier: Apache-2.0
"""``ng.numpy.special``: functions of probability and physics, with the names and parameters of ``scipy.special``.

Each is a formula of other functions, so that it runs on every target, and has derivatives. SciPy's ufuncs, called with
terms, are the same: ``scipy.special.ndtri(x)``.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ngraph_rewrite.frontend.numpy.absent import refused
from ngraph_rewrite.frontend.numpy.activations import softplus
from ngraph_rewrite.frontend.numpy.bessel import i0, i0e, i1, i1e
from ngraph_rewrite.frontend.numpy.distribution_functions import (
    bdtr,
    bdtrc,
    chdtr,
    chdtrc,
    chdtri,
    fdtr,
    fdtrc,
    gdtr,
    gdtrc,
    pdtr,
    pdtrc,
    stdtr,
    stdtrit,
)
from ngraph_rewrite.frontend.numpy.distribution_quantiles import (
    betainccinv,
    betaincinv,
    gammainccinv,
    gammaincinv,
)
from ngraph_rewrite.frontend.numpy.elementwise import digamma, erf, erfinv, expm1, log1p
from ngraph_rewrite.frontend.numpy.error_functions import erfc, erfcinv, erfcx, log_ndtr, ndtr, ndtri
from ngraph_rewrite.frontend.numpy.exponential_integrals import (
    exp1,
    expi,
)
from ngraph_rewrite.frontend.numpy.factorial_functions import (
    binom,
    comb,
    perm,
    poch,
    rgamma,
)
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
from ngraph_rewrite.frontend.numpy.more_elementwise import cbrt, exp2, sinc
from ngraph_rewrite.frontend.numpy.network import log_softmax, logsumexp, softmax
from ngraph_rewrite.frontend.numpy.special_formulas import (
    boxcox,
    boxcox1p,
    cosm1,
    exp10,
    exprel,
    huber,
    inv_boxcox,
    inv_boxcox1p,
    pseudo_huber,
)
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
    "bdtr",
    "bdtrc",
    "beta",
    "betainc",
    "betaincc",
    "betainccinv",
    "betaincinv",
    "betaln",
    "binom",
    "boxcox",
    "boxcox1p",
    "cbrt",
    "chdtr",
    "chdtrc",
    "chdtri",
    "comb",
    "cosm1",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcinv",
    "erfcx",
    "erfinv",
    "exp1",
    "exp10",
    "exp2",
    "expi",
    "expit",
    "expm1",
    "exprel",
    "factorial",
    "fdtr",
    "fdtrc",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammainccinv",
    "gammaincinv",
    "gammaln",
    "gdtr",
    "gdtrc",
    "huber",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "inv_boxcox",
    "inv_boxcox1p",
    "kl_div",
    "log1p",
    "log_expit",
    "log_ndtr",
    "log_softmax",
    "logit",
    "logsumexp",
    "multigammaln",
    "ndtr",
    "ndtri",
    "pdtr",
    "pdtrc",
    "perm",
    "poch",
    "polygamma",
    "pseudo_huber",
    "psi",
    "rel_entr",
    "rgamma",
    "sinc",
    "softmax",
    "softplus",
    "stdtr",
    "stdtrit",
    "xlog1py",
    "xlogy",
    "zeta",
]
