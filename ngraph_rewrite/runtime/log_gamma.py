# SPDX-License-Identifier: Apache-2.0
"""lgamma: polynomials between its two roots and a little beyond, Stirling's series above, the reflection below.

Formula numbers are those of the NIST *Digital Library of Mathematical Functions*.
"""

import math

from ngraph_rewrite.runtime.logarithms import log_formula
from ngraph_rewrite.runtime.pieces import Piece
from ngraph_rewrite.runtime.reals import DOUBLE, SINGLE, Format, Real, kernel_function

# Each by interpolation at Chebyshev's nodes. lgamma(x) / ((x - 1) * (x - 2)): around 1, then up to 4.
_NEAR: dict[Format, Piece] = {
    SINGLE: Piece(1.0, (
        0.5772156715393066, -0.24525131285190582, 0.15543420612812042, -0.11515305936336517, 0.09224514663219452,
        -0.07711366564035416, 0.06653925031423569, -0.061480265110731125, 0.05509910359978676,
        -0.030716832727193832, 0.027585303410887718, -0.08653274178504944, 0.08076458424329758,
    )),
    DOUBLE: Piece(1.0, (
        0.5772156649015329, -0.24525136852258037, 0.1554342658639556, -0.11514654256383787, 0.09223900846366932,
        -0.07731816853143067, 0.06673172835553974, -0.05877794140424497, 0.05255631826261005, -0.04754312679769891,
        0.043411084045754875, -0.039943150324446376, 0.03698548306742434, -0.03443942843923471,
        0.03228147253279034, -0.03033014421461396, 0.028013319311536597, -0.026488089711827638,
        0.02917794270102698, -0.027825057395512564, 0.0069437273107903555, -0.006392049327941565,
        0.07123157860759115, -0.06888571735061609, -0.07533096837257305, 0.07324164062349006, 0.11052782198365534,
        -0.10710035441656564,
    )),
}  # fmt: skip
_MIDDLE: dict[Format, Piece] = {
    SINGLE: Piece(2.75, (
        0.3620683252811432, -0.06572934985160828, 0.016031095758080482, -0.004419522825628519,
        0.001302165910601616, -0.00040030997479334474, 0.00012866596807725728, -4.157232979196124e-05,
        1.1100078154413495e-05, -3.655716909634066e-06, 2.6585962586977985e-06, -9.021093205774378e-07,
    )),
    DOUBLE: Piece(2.75, (
        0.3620683176494759, -0.06572934792248167, 0.016030995033289853, -0.004419488380414666,
        0.0013029063338407735, -0.00040056360552013565, 0.0001266990591255273, -4.089869309819996e-05,
        1.3403853270003326e-05, -4.444429897068528e-06, 1.4873104502319203e-06, -5.014424689438217e-07,
        1.701222167957579e-07, -5.8005513639417175e-08, 1.9819861819107108e-08, -6.8124342263338435e-09,
        2.4058372622899484e-09, -8.324179910300764e-10, 2.390051662875392e-10, -8.283474608461069e-11,
        5.825940157211298e-11, -2.041782523436222e-11, -4.108073017962712e-12, 1.4594893718935962e-12,
        1.990964474478278e-12, -7.0104904636948e-13,
    )),
}  # fmt: skip
# x * (lgamma(x) - (x - 1/2) * (log(x) - 1) - _REST), in terms of 1 / x**2, from 4 on (5.11.1)
_FAR: dict[Format, Piece] = {
    SINGLE: Piece(0.03125, (
        0.08324728906154633, -0.0027301947120577097, 0.0007427214295603335,
    )),
    DOUBLE: Piece(0.03125, (
        0.0832472854130079, -0.002729823868690284, 0.0007422709890368857, -0.000505596472162846,
        0.0006129317782864163, -0.0011203491485116805, 0.0027975199324961415, -0.009312994563233576,
        0.03686739114470535,
    )),
}  # fmt: skip
# sin(pi * x) / x in terms of x**2, up to 1/2
_SINE: dict[Format, Piece] = {
    SINGLE: Piece(0.125, (
        2.5343241691589355, -4.557629108428955, 2.332998752593994, -0.5594624280929565, 0.07765591144561768,
    )),
    DOUBLE: Piece(0.125, (
        2.534324262661598, -4.557629442461073, 2.332998758213981, -0.5593251868104976, 0.07764717237241964,
        -0.007027808533771898, 0.00044747103617065145, -2.1133714397803598e-05, 7.697826768224191e-07,
    )),
}  # fmt: skip
_REST = 0.4189385332046727  # (log(2 * pi) - 1) / 2


def _stirling(size: Real, logarithm: Real) -> Real:
    inverse = 1.0 / size
    small = inverse * _FAR[size.format].at(inverse * inverse)
    return (size - 0.5).times_plus(logarithm - 1.0, _REST) + small


def _reflected(size: Real, there: Real) -> Real:
    """At minus a number at whose size it is `there` (5.5.3); infinite at integers."""
    turn = (size - size.nearest()).size()
    sine = turn * _SINE[size.format].at(turn * turn)
    return (log_formula(math.pi / (size * sine)) - there).where(turn.is_(">", 0.0), math.inf)


def _lgamma(x: Real) -> Real:
    """The logarithm of the size of gamma(x), to 3 ulp; below -2, where it has roots, of its terms."""
    size = x.size()
    small, logarithm = size.is_("<", 0.5), log_formula(size)
    less_one = x.where(small, size - 1.0)  # for small x it is that of 1 + x, less log(x)
    near = less_one * (less_one - 1.0) * less_one.polynomial(_NEAR[x.format].coefficients) + 0.0  # not -0.0
    near = (near - logarithm).where(small, near)
    middle = (size - 1.0) * (size - 2.0) * _MIDDLE[x.format].at(size)
    found = near.where(size.is_("<", 1.5), middle.where(size.is_("<", 4.0), _stirling(size, logarithm)))
    return _reflected(size, found).where(x.is_("<=", -0.5), found)


lgamma = kernel_function(_lgamma)
