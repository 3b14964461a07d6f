# SPDX-License-Identifier: Apache-2.0
"""erfinv: the number times a polynomial in w = -log(1 - x**2), or in the root of that where x is near one (Giles 2012).

Mike Giles, *Approximating the erfinv function*, GPU Computing Gems, Jade Edition.
"""

import math

from ngraph_rewrite.runtime.logarithms import log_formula
from ngraph_rewrite.runtime.pieces import Piece
from ngraph_rewrite.runtime.reals import DOUBLE, SINGLE, Format, Real, kernel_function

# erfinv(x) / x, in terms of w up to a limit, and of its root from there on: by interpolation at Chebyshev's nodes
_LIMIT: dict[Format, float] = {SINGLE: 5.0, DOUBLE: 6.25}
_NEAR: dict[Format, Piece] = {
    SINGLE: Piece(0.0, (
         0.8862269520759583, 0.23201371729373932, 0.011549165472388268, -0.002335270633921027, -0.00012653946760110557,
         4.4048803829355165e-05, 4.150663244217867e-06, -2.0082713945157593e-06, 2.24304301355005e-07,
         -8.931926309685423e-09,
    )),
    DOUBLE: Piece(3.125, (
         1.6536545626831027, 0.24015818242558834, -0.006033670871426851, -0.0007407025341546431,
         0.00018673420801981186, -1.3882523393957483e-05, -1.3654691758785656e-06, 4.23478816822246e-07,
         -2.907039127564132e-08, -4.1126604371632185e-09, 1.051223377050429e-09, -5.414303283919504e-11,
         -1.2978805369932565e-11, 2.6305268312595183e-12, -8.07192593899004e-14, -4.0020031087558496e-14,
         6.521333511502239e-15, -3.94018812230432e-17, -1.2215637192404172e-16, 1.5510787009902526e-17,
         6.075050702072414e-19, -3.4734793888538036e-19, 1.999259988861535e-20, 3.194015548136271e-21,
         -3.5932028927020693e-22,
    )),
}  # fmt: skip
_FAR: dict[Format, Piece] = {
    SINGLE: Piece(3.218034029006958, (
         3.0517570972442627, 1.004903793334961, 0.005749550648033619, -0.004087736364454031, 0.0027503985911607742,
         -0.0018778603989630938, 0.0011115766828879714, -0.00036293084849603474, -9.875245450530201e-05,
         9.431826038053259e-05,
    )),
    DOUBLE: Piece(4.300000190734863, (
         4.1427242373714925, 1.0100450973069797, 0.0006246696662679937, -0.000567016211242435, 0.00019685377900929547,
         -5.832283256907839e-05, 1.8785609246896507e-05, -8.142437928475822e-06, 4.519571587212754e-06,
         -2.5342263137341614e-06, 1.2229121695713754e-06, -4.555504201292325e-07, 1.0381127436592082e-07,
         7.821415200000813e-09, -2.099283843327369e-08, 1.096360006237194e-08, -3.0728537302130024e-09,
         1.5090038059062958e-10, 3.016380686916455e-10, -1.5187575450580984e-10, 3.4296885837709057e-11,
         -1.2370372505370476e-12, -2.314127779587509e-12, 1.3259618490212927e-12, -3.556345381747173e-13,
         -1.1231963176711774e-14, 2.843449596038706e-14, -4.511638943912323e-15, 9.489489057635921e-18,
    )),
}  # fmt: skip


def _erfinv(x: Real) -> Real:
    """The number whose error function is x, to 2.5 ulp; infinite at one, NaN beyond."""
    form, size = x.format, x.size()
    w = -log_formula((1.0 - size) * (1.0 + size))
    far = _FAR[form].at(w.root())
    slope = _NEAR[form].at(w).where(w.is_("<", _LIMIT[form]), far)
    found = (size * slope).where(size.is_("<", 1.0), math.inf)
    return found.where(size.is_("<=", 1.0), math.nan).signed_as(x)


erfinv = kernel_function(_erfinv)
