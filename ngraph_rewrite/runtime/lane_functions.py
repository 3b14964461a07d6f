# SPDX-License-Identifier: Apache-2.0
"""Functions by what AVX-512 has: tables of as many numbers as a register has, and scaling by powers of two.

With a table an exponential needs a cubic only. Functions that are nearly flat far out are cut into sixteen pieces,
polynomials around places of their own: no branch is computed in vain, and nothing is divided. The tables are worked out
by ``benchmarks/minimax.py``, and the docstrings say how many units in the last place a result may be off.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ngraph_rewrite.runtime.lanes import looked_up, times_power
from ngraph_rewrite.runtime.reals import DOUBLE, SINGLE, Bits, Real

# Powers of two between 1 and 2, one for each sixteenth; what remains is so small that a cubic gives the exponential.
_SIXTEENTHS = [2.0 ** (i / 16) for i in range(16)]
_CUBIC = (0.5, 1 / 6)
_LN2 = 0.693147182464599609375  # the nearest float32
_LOW, _HIGH = -105.0, 89.0  # an exponential underflows below, and overflows above
_FAR = -20000.0  # a product that just underflows takes a processor twenty times as long as one that does by far
# Of float64 powers for each eighth, what they lack, and (exp(r) - 1 - r) / r**2.
_EIGHTHS = [2.0 ** (i / 8) for i in range(8)]
_LACKING = (0.0, -3.046782079812471e-17, 3.982015231465646e-17, 2.5382502794888315e-17, -9.667293313452913e-17,
            7.949834809697621e-17, 8.199010020581497e-17, 3.283107224245627e-17)  # fmt: skip
_GROWTH = (0.5000000000000296, 0.16666666666663724, 0.04166666657007392, 0.008333333371131728, 0.001388978067143176,
           0.00019840565606625465)  # fmt: skip
_LN2_PARTS = (0.6931471805599453, 2.3190468138462996e-17)
_LOW_DOUBLE, _HIGH_DOUBLE = -746.0, 710.0

# For each piece: its place, the value there, and the coefficients of what is added for a distance from there.
_ERF = (
    (0.0, 0.37500358, 0.62500376, 0.8750189, 1.1250116, 1.375063, 1.6248713, 1.87466, 2.124837, 2.3762612,
     2.6272793, 2.8855565, 3.1169581, 3.2846527, 3.6911774, 3.832507),
    (0.0, 0.40412042, 0.62324375, 0.784085, 0.8883919, 0.9481808, 0.9784334, 0.99197865, 0.99734396, 0.9992221,
     0.9997972, 0.9999551, 0.99998957, 0.9999966, 0.9999998, 0.99999994),
    (0.12837917, 0.9803502, 0.763496, 0.5247277, 0.31826568, 0.17033029, 0.08050594, 0.033588618, 0.0123493755,
     0.003982541, 0.0011342156, 0.00027310546, 6.80925e-05, 2.327484e-05, 1.3654535e-06, 4.714982e-07),
    (-8.5183586e-07, -0.36763483, -0.47718784, -0.45914665, -0.35805258, -0.23421487, -0.13081178, -0.06296724,
     -0.02624041, -0.009463558, -0.0029799005, -0.0007880602, -0.000212241, -7.645135e-05, -5.0402527e-06,
     -1.8070428e-06),
    (-0.37608638, -0.23487225, -0.055672325, 0.09292791, 0.16245143, 0.15793037, 0.114867546, 0.06749964,
     0.033055022, 0.01366438, 0.004841127, 0.0014248017, 0.00041826055, 0.00015923512, 1.1959175e-05, 4.464991e-06),
    (-0.0006881356, 0.166585, 0.1764565, 0.11238878, 0.027969893, -0.030509736, -0.04971737, -0.04227947,
     -0.026371147, -0.013080656, -0.005366403, -0.0017932086, -0.0005812039, -0.00022908377, -2.0304573e-05,
     -7.971226e-06),
    (0.11820705, 0.045303516, -0.027024655, -0.06669585, -0.061051197, -0.030638343, -0.002314799, 0.011318762,
     0.012444802, 0.008337438, 0.0042064213, 0.0016592948, 0.0006075106, 0.00021248889, 2.5337042e-05,
     1.0396558e-05),
    (-0.019444192, -0.04997415, -0.04107361, -0.010302411, 0.015443755, 0.02206718, 0.014404951, 0.004143568,
     -0.0017918362, -0.0030998199, -0.0022352997, -0.001103125, -0.00046999185, -8.3950756e-05, -3.8285467e-05,
     -7.5941043e-06),
)  # fmt: skip
_TANH = (
    (0.0, 0.3750007, 0.6249861, 0.8750349, 1.2500209, 1.7500572, 2.250282, 2.749266, 3.5031993, 4.534812, 5.613054,
     6.179431, 8.317766),
    (0.0, 0.358358, 0.5545901, 0.7039232, 0.8482895, 0.94138205, 0.9780384, 0.9918478, 0.9981895, 0.9997698,
     0.99997336, 0.9999914, 0.9999999),
    (5.3298583e-09, 0.8715795, 0.69242984, 0.5044921, 0.2804048, 0.11379977, 0.04344094, 0.016237918, 0.0036177847,
     0.00046035033, 5.32984e-05, 1.7165285e-05, 2.4110633e-07),
    (-1.5569237e-06, -0.3123375, -0.3840147, -0.3551237, -0.2378646, -0.10712913, -0.04248691, -0.01610554,
     -0.0036111567, -0.0004602278, -5.328186e-05, -1.7165221e-05, -2.3849964e-07),
    (-0.33325955, -0.17860074, -0.017846175, 0.08181315, 0.10832534, 0.06292339, 0.027073948, 0.010561245,
     0.0023962534, 0.00030621773, 3.5218887e-05, 1.1470931e-05, 1.47745e-07),
    (-0.001282747, 0.16810827, 0.1378938, 0.06078248, -0.012585436, -0.023519306, -0.0123169115, -0.005106993,
     -0.0011904311, -0.00015315712, -1.7939974e-05, -5.7926272e-06, -7.845143e-08),
    (0.14348511, 0.019013673, -0.054291684, -0.058527928, -0.019693136, 0.0034747738, 0.0039746147, 0.0019172543,
     0.00048812357, 6.4242406e-05, 8.662608e-06, 2.2524255e-06, 4.3233282e-08),
    (-0.037564985, -0.06895655, -0.023708146, 0.013128817, 0.015071539, 0.0020416183, -0.0007243633, -0.0005458573,
     -0.00015472305, -2.079012e-05, -9.90538e-07, -5.1434307e-07, -1.2411e-08),
)  # fmt: skip
_FIRST = 0.25  # where the first piece ends
# In the order of the bits that tell a piece: octaves from 2, 4 and 8 on, of which the last has one piece; that from 1.
_BY_OCTAVES = [(*row[4:], *row[-1:] * 3, *row[:4]) for row in _TANH]
# (2**r - 1) / r, where r is half a sixteenth, of float64 half an eighth; what powers of float32 lack
_EXP2 = (0.6931471826667235, 0.2402342880062516, 0.05550213640453123)
_EXP2_DOUBLE = (0.6931471805599453, 0.24022650695911515, 0.05550410866480235, 0.009618129085178853,
                0.0013333558238959107, 0.00015404521943643534, 1.5251844196753969e-05)  # fmt: skip
_LACKING_SINGLE = (
    0.0, 4.8334701574503924e-08, -1.3077539939843064e-08, 5.386222312608879e-08, 3.797635272917432e-08,
    4.496838101886169e-08, -4.018999533172973e-08, -1.0123349269974824e-08, 2.4203234971764687e-08,
    -4.500898853621038e-08, 8.070904833346049e-09, 9.836217174097328e-09, -2.4755326677450284e-08,
    -9.235770370707996e-09, -1.1239277952768134e-08, 9.845328108326612e-09,
)  # fmt: skip


def exp_in_lanes(x: Real) -> Real:
    """The exponential, to 1.07 ulp: ``2**k * 2**(j / 16) * exp(r)``."""
    near = _moderate(x, _LOW, _HIGH)
    sixteenth = SINGLE.whole / 16  # added to a number, this rounds it to a multiple of 1/16
    shifted = near.times_plus(1 / math.log(2), sixteenth)
    k = shifted - sixteenth
    r = k.times_plus(_LN2 - math.log(2), k.times_plus(-_LN2, near))
    growth = (r * r).times_plus(r.polynomial(_CUBIC), r)
    power = looked_up(shifted.bits(), _SIXTEENTHS)
    return times_power(power.times_plus(growth, power), k)


def double_exp_in_lanes(x: Real) -> Real:
    """The exponential of a float64, to 0.8 ulp: as that of float32, with powers of more digits."""
    near = _moderate(x, _LOW_DOUBLE, _HIGH_DOUBLE)
    eighth = DOUBLE.whole / 8
    shifted = near.times_plus(1 / math.log(2), eighth)
    k = shifted - eighth
    r = k.times_plus(-_LN2_PARTS[1], k.times_plus(-_LN2_PARTS[0], near))
    growth = (r * r).times_plus(r.polynomial(_GROWTH), r)
    power, lacking = (looked_up(shifted.bits(), table) for table in (_EIGHTHS, _LACKING))
    return times_power(growth.times_plus(power, lacking) + power, k)


def exp2_in_lanes(x: Real) -> Real:
    """Two to a power, to 0.6 ulp where that is normal; exact at integers."""
    return _two_to(x, _SIXTEENTHS, _LACKING_SINGLE, _EXP2)


def double_exp2_in_lanes(x: Real) -> Real:
    """Two to a power of float64, to 0.6 ulp where that is normal; exact at integers."""
    return _two_to(x, _EIGHTHS, _LACKING, _EXP2_DOUBLE)


def _two_to(x: Real, powers: Sequence[float], lacking: Sequence[float], growth: Sequence[float]) -> Real:
    near = _moderate(x, 1.0 - x.format.bias - x.format.digits, x.format.bias + 2.0)
    part = x.format.whole / len(powers)
    shifted = near + part
    k = shifted - part
    r = near - k
    power, rest = (looked_up(shifted.bits(), table) for table in (powers, lacking))
    return times_power((r * r.polynomial(growth)).times_plus(power, rest) + power, k)


def exp_of_pair_in_lanes(high: Real, low: Real) -> Real:
    """The exponential of ``high + low``, of which the second is small, to 0.6 ulp where that is normal."""
    single = high.format == SINGLE
    powers, lacking, growth = (_SIXTEENTHS, _LACKING_SINGLE, _CUBIC) if single else (_EIGHTHS, _LACKING, _GROWTH)
    near = high.at_least(_FAR).at_most(_HIGH if single else _HIGH_DOUBLE)
    part = high.format.whole / len(powers)
    shifted = near.times_plus(1 / math.log(2), part)
    k = shifted - part
    of_two, more = (_LN2, math.log(2) - _LN2) if single else _LN2_PARTS
    r = k.times_plus(-of_two, near) + k.times_plus(-more, low.where(near.is_("==", high), 0.0))
    power, rest = (looked_up(shifted.bits(), table) for table in (powers, lacking))
    return times_power((r * r).times_plus(r.polynomial(growth), r).times_plus(power, rest) + power, k)


def _moderate(x: Real, low: float, high: float) -> Real:
    """`x` where its power is a number that is not 0; beyond that, what has the same power and takes no longer."""
    return x.of(_FAR).where(x.is_("<", low), x).at_most(high)


def erf_in_lanes(x: Real) -> Real:
    """The error function, to 0.84 ulp: pieces of a quarter each, up to 4."""
    a = x.size().at_most(3.99)
    return _piecewise(a, (a + 4.0).bits().unsigned_shift(19), _ERF).signed_as(x)


def tanh_in_lanes(x: Real) -> Real:
    """The hyperbolic tangent, to 0.97 ulp: four pieces for each octave of ``|x| + 1``, up to 9.5."""
    a = x.size().at_most(9.45)
    return _piecewise(a, (a + 1.0).bits().unsigned_shift(21), _BY_OCTAVES).signed_as(x)


def _piecewise(a: Real, piece: Bits, table: Sequence[Sequence[float]]) -> Real:
    """The value at a number, by the piece whose place in a table the last four bits of a word tell.

    In the first piece, around 0, the polynomial is added to the number; all other values are greater than its end.
    """
    place, value, *coefficients = (looked_up(piece, row) for row in table)
    itself = a.at_most(_FIRST)
    value = itself.where(itself.is_(">", value), value)
    distance, total = a - place, coefficients.pop()
    while coefficients:
        total = total.times_plus(distance, coefficients.pop())
    return distance.times_plus(total, value)
