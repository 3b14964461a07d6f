# SPDX-License-Identifier: Apache-2.0
"""sin, cos and tan: quarter turns are taken off, and a polynomial, or one over it, is chosen by their number.

Multiples of pi / 2, in three parts, are subtracted (Cody and Waite, *Software Manual for the Elementary Functions*,
1980). Large arguments are multiplied by 2 / pi, of which only some digits count: those before them give whole turns,
those after them nothing (Payne and Hanek, *Radian reduction for trigonometric functions*, 1983). Which they are is
decided by choices among constants, so that the largest are reduced as well, in the same instructions.
A float32 is then reduced in float64.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from ngraph_rewrite.runtime.pairs import Pair, exact_product, exact_sum, ordered_sum
from ngraph_rewrite.runtime.reals import DOUBLE, SINGLE, Bits, Real, kernel_function
from ngraph_rewrite.runtime.seldom import Seldom

# pi / 2, and up to where multiples of it are taken off: their number is exact there, and the parts have enough digits
_IN_PARTS: dict[Any, tuple[float, float, float]] = {
    SINGLE: (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15),
    DOUBLE: (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33),
}
_FAR = {SINGLE: 2.0**18, DOUBLE: 2.0**40}
_HALF_PI = (1.5707963267948966, 6.123233995736766e-17)
_TWO_OVER_PI = (0.6366197723675814, -3.935735335036497e-17)

# 2**shift * 2 / pi less a multiple of 4, in two parts, for numbers from 2**(shift + 24) up
_WINDOWS: dict[int, tuple[float, float]] = {
    26: (1.7235269743613935, -3.646819222375367e-17),
    52: (1.3227502381170073, 4.585413994155514e-17),
    78: (1.8357618630902273, 9.501113504670287e-17),
}

_SIN: dict[Any, Sequence[float]] = {
    SINGLE: (-0.16666653471284448, 0.008332083460877366, -0.00019504317487179724),
    DOUBLE: (-0.16666666666666624, 0.00833333333332004, -0.00019841269827855227, 2.7557312999551146e-06,
             -2.5050647774903665e-08, 1.5890307411654767e-10),
}  # fmt: skip
_COS: dict[Any, Sequence[float]] = {
    SINGLE: (0.041666644378165515, -0.0013887242738441264, 2.4423888608222097e-05),
    DOUBLE: (0.04166666666666658, -0.0013888888888870913, 2.480158728741989e-05, -2.755731374255896e-07,
             2.087563878949677e-09, -1.1355204147234137e-11),
}  # fmt: skip
# (tan(r) / r - 1) / r**2, in terms of r**2
_TAN: dict[Any, Sequence[float]] = {
    SINGLE: (0.33333349756656505, 0.1333266328930551, 0.054059921122181866, 0.021282167276852098, 0.01083585563087579,
             8.949375714356396e-05, 0.004376290308345906),
    DOUBLE: (0.3333333333333278, 0.13333333333414277, 0.053968253926832174, 0.021869489605091545, 0.008863219218880938,
             0.0035922885904910965, 0.0014547609036407066, 0.0005950525093572874, 0.00022241561389249503,
             0.00013645209811071862, -2.6282824972350104e-05, 8.935738184595383e-05, -4.482526294792428e-05,
             2.085090659239353e-05),
}  # fmt: skip


class _Reduced(NamedTuple):
    """``x = turns * pi / 2 + rest + low``; of the number of quarter turns only the last two bits count."""

    turns: Bits
    rest: Real
    low: Real


def _nearest(x: Real) -> tuple[Bits, Real]:
    """The nearest integer, of which the last bits count, and what is left."""
    shifted = x + x.format.whole
    return shifted.bits(), x - (shifted - x.format.whole)


def _windowed(x: Real) -> _Reduced:
    """The reduction of a float32."""
    wide = x.double()
    size, scale, (high, low) = wide.size(), wide.of(1.0), (wide.of(part) for part in _TWO_OVER_PI)
    for shift, parts in _WINDOWS.items():
        large = size.is_(">=", 2.0 ** (shift + 24))
        scale = wide.of(2.0**-shift).where(large, scale)
        high, low = (wide.of(part).where(large, old) for part, old in zip(parts, (high, low), strict=True))
    near = wide * scale
    product = exact_product(near, high)
    turns, rest = _nearest(product.high)
    more, rest = _nearest(rest + near.times_plus(low, product.low))
    angle = rest * _HALF_PI[0]
    single = angle.single()
    return _Reduced((turns + more).narrow(), single, (angle - single.double()).single())


# -- float64: pieces of 48 binary digits -------------------------------------------------------------------------------

_PIECE, _USED = 48, 5
# the first 1200 binary digits of 2 / pi
_DIGITS = int(
    "a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561b7246e3a424dd2e006492eea09d1921c"
    "fe1deb1cb129a73ee88235f52ebb4484e99c7026b45f7e413991d639835339f49c845f8bbdf9283b1ff897ffde05980f"
    "ef2f118b5a0a6d1f6d367ecf27cb09b74f463f669e5fea2d7527bac7ebe5f17b3d0739f78a5292ea6bfb5fb11f8d5d08"
    "56033046fc7b",
    16,
)
_COUNT = 27


def _pieces() -> list[float]:
    """Two pieces of zeros, then the digits of 2 / pi, each times what it counts and ``2**512``, to stay in range."""
    digits = [(_DIGITS >> (1200 - _PIECE * (n + 1))) & (2**_PIECE - 1) for n in range(_COUNT - 2)]
    return [0.0, 0.0] + [math.ldexp(piece, 512 - _PIECE * (n + 1)) for n, piece in enumerate(digits)]


def _chosen(size: Real) -> list[Real]:
    """The pieces that count for a number of this size, from 1/2 up: times those before, it is a multiple of 4."""
    exponent = size.bits().unsigned_shift(size.format.digits - 1)
    first = ((exponent - 981) * 1366).unsigned_shift(16)  # one more for every 48
    left = [size.of(piece) for piece in _pieces()]
    for step in (16, 8, 4, 2, 1):
        here = (first & step).is_("==", 0)
        moved = [a.where(here, b) for a, b in zip(left, left[step:], strict=False)]
        left = (moved + left[len(moved) :])[: _USED + step - 1]
    return left


def _in_pieces(x: Real) -> _Reduced:
    """The reduction of a float64.

    The products with the pieces are exact; the leading three, less multiples of 4, and what follows are added from the
    largest down, and each error is kept until no larger term can cancel.
    """
    near = x * 2.0**-512
    *pieces, last = _chosen(x.size())
    (a, b), (c, d), (e, f), (g, h) = (exact_product(near, piece) for piece in pieces)
    total, rest = _turn(a) + _turn(b), x.of(0.0)
    for term in (_turn(c), d, e):
        total, error = exact_sum(total, term)
        rest = rest + error
    turns, total = _nearest(total)
    low = near.times_plus(last, h)
    for term in (rest, g, f):
        total, error = exact_sum(total, term)
        low = low + error
    product = exact_product(total, _HALF_PI[0])
    low = total.times_plus(_HALF_PI[1], low.times_plus(_HALF_PI[0], product.low))
    return _Reduced(turns, product.high, low)


def _turn(x: Real) -> Real:
    """What is left of a number when multiples of 4 are taken off."""
    return (x * 0.25).nearest().times_plus(-4.0, x)


# -- the functions -----------------------------------------------------------------------------------------------------


def _sine_and_cosine(rest: Real, low: Real) -> tuple[Pair, Pair]:
    """Those of an angle of at most an eighth of a turn."""
    square = rest * rest
    sine = Pair(rest, (rest * square).times_plus(square.polynomial(_SIN[rest.format]), low))
    most = ordered_sum(rest.of(1.0), square * -0.5)
    small = rest.times_plus(-low, most.low)
    return sine, Pair(most.high, (square * square).times_plus(square.polynomial(_COS[rest.format]), small))


def _wave(turns: Bits, rest: Real, low: Real) -> Real:
    """The sine of a rest after so many quarter turns."""
    sine, cosine = (pair.low + pair.high for pair in _sine_and_cosine(rest, low))
    chosen = sine.where((turns & 1).is_("==", 0), cosine)
    return (chosen.bits() ^ ((turns & 2) << (rest.format.bits - 2))).real()


def _in_parts(x: Real) -> _Reduced:
    """The reduction of a number that is not `_is_far`.

    What the first part leaves is exact, as neither number has a bit below the last one of a half; so is its sum with
    the product of the second part.
    """
    first, second, third = _IN_PARTS[x.format]
    shifted = x.times_plus(_TWO_OVER_PI[0], x.format.whole)
    turns = shifted - x.format.whole
    if x.fused:
        near = turns.times_plus(-first, x)
    else:
        product = exact_product(turns, first)
        near = (x - product.high) - product.low
    product = exact_product(turns, second)
    rest = ordered_sum(near, -product.high)
    return _Reduced(shifted.bits(), rest.high, turns.times_plus(-third, rest.low - product.low))


def _is_far(x: Real) -> Any:
    return x.size().is_(">=", _FAR[x.format])


def _any_size(x: Real) -> _Reduced:
    return _windowed(x) if x.format == SINGLE else _in_pieces(x)


def _sine(reduced: _Reduced) -> Real:
    return _wave(*reduced)


def _cosine(reduced: _Reduced) -> Real:
    return _wave(reduced.turns + 1, reduced.rest, reduced.low)


def _tangent(reduced: _Reduced) -> Real:
    """That of the rest, or after an odd number of quarter turns less the inverse of it, which has another step."""
    turns, rest, low = reduced
    square = rest * rest
    slope = square.times_plus(square.times_plus(2 / 3, 1.0), 1.0)
    wave = ordered_sum(rest, (rest * square).times_plus(square.polynomial(_TAN[rest.format]), low * slope))
    inverse = -1.0 / wave.high
    product = exact_product(inverse, wave.high)
    error = inverse.times_plus(wave.low, (product.high + 1.0) + product.low)
    return wave.high.where((turns & 1).is_("==", 0), inverse.times_plus(error, inverse))


_FAR_SINE = Seldom("sin", _is_far, lambda x: _sine(_any_size(x)))
_FAR_COSINE = Seldom("cos", _is_far, lambda x: _cosine(_any_size(x)))
_FAR_TANGENT = Seldom("tan", _is_far, lambda x: _tangent(_any_size(x)))


def _sin(x: Real) -> Real:
    """The sine, to 1.1 ulp."""
    return x.where(x.size().is_("<", 2.0**-30), _FAR_SINE(_sine(_in_parts(x)), x))


def _cos(x: Real) -> Real:
    """The cosine, to 1.1 ulp."""
    return _FAR_COSINE(_cosine(_in_parts(x)), x)


def _tan(x: Real) -> Real:
    """The tangent, to 1.4 ulp."""
    return x.where(x.size().is_("<", 2.0**-30), _FAR_TANGENT(_tangent(_in_parts(x)), x))


def _in_two_parts(x: Real) -> _Reduced:
    """The reduction of Cody and Waite, for numbers up to a million."""
    shifted = x.times_plus(_TWO_OVER_PI[0], x.format.whole)
    turns = shifted - x.format.whole
    first, second = exact_product(turns, _HALF_PI[0]), turns * _HALF_PI[1]
    most = (x - first.high) - first.low
    rest = most - second
    return _Reduced(shifted.bits(), rest, (most - rest) - second)


def _near_sin(x: Real) -> Real:
    """The sine of a float64 up to a million."""
    return _wave(*_in_two_parts(x))


def _near_cos(x: Real) -> Real:
    """The cosine of a float64 up to a million."""
    turns, rest, low = _in_two_parts(x)
    return _wave(turns + 1, rest, low)


sin, cos, tan = kernel_function(_sin), kernel_function(_cos), kernel_function(_tan)
near_sin, near_cos = kernel_function(_near_sin), kernel_function(_near_cos)
