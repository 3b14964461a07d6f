# SPDX-License-Identifier: Apache-2.0
"""Semi ops that make of a uniform number one of another distribution, whose parameters are operands.

Each is a function of its operands, elementwise: what is random is the number from [0, 1).
"""

from __future__ import annotations

from ngraph_rewrite.ops import rejection
from ngraph_rewrite.ops.checks import alike, float_only, numpy_meaning, positional, tensor
from ngraph_rewrite.ops.semi_elementwise import binary
from ngraph_rewrite.terms.catalogue import op
from ngraph_rewrite.types.tensor import TensorType

binary(
    "gamma_draw",
    rejection.gamma_draw,
    float_only,
    "A number of the gamma distribution of shape `x`, from a uniform `y`; NaN below 1, or if `y` is not in [0, 1)",
)
binary(
    "poisson_draw",
    rejection.poisson_draw,
    float_only,
    "A count of mean `x`, from a uniform number `y`; NaN below 0, or if `y` is not in [0, 1)",
)
binary(
    "vonmises_draw",
    rejection.vonmises_draw,
    float_only,
    "The tangent of half of a von Mises angle of concentration `x` around 0, from a uniform `y`; NaN below 0",
)
binary(
    "zipf_draw",
    rejection.zipf_draw,
    float_only,
    "A rank of Zipf's distribution of exponent `x`, from a uniform `y`; NaN unless `x` is above 1",
)


@op("semi.binomial_draw", "elementwise", meaning=numpy_meaning(rejection.binomial_draw))
def binomial_draw(n: TensorType, p: TensorType, u: TensorType) -> TensorType:
    """How many of `n` attempts succeed, each with probability `p`, from a uniform number `u`.

    All have a float dtype and one type; the result is of that type: NaN where `n` is no whole number from 0 on, `p` no
    probability, or `u` not in [0, 1).
    """
    positional(n, p, u)
    float_only(n, p, u)
    alike(n, p)
    alike(n, u)
    return tensor(n.dtype, n.shape)
