# SPDX-License-Identifier: Apache-2.0
"""NumPy's own names for functions that the array API standard calls otherwise."""

from __future__ import annotations

from ngraph_rewrite.frontend.numpy.elementwise import (
    abs,
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    bitwise_invert,
    bitwise_left_shift,
    bitwise_right_shift,
    conj,
    divide,
    pow,
    remainder,
    round,
)
from ngraph_rewrite.frontend.numpy.statistical import max, min

absolute = abs
amax = max
amin = min
arccos = acos
arccosh = acosh
arcsin = asin
arcsinh = asinh
arctan = atan
arctan2 = atan2
arctanh = atanh
around = round
bitwise_not = bitwise_invert
conjugate = conj
invert = bitwise_invert
left_shift = bitwise_left_shift
mod = remainder
power = pow
right_shift = bitwise_right_shift
true_divide = divide
