# SPDX-License-Identifier: Apache-2.0
"""Remainders of floats and quotients rounded down, as NumPy's ``divmod`` gives them, no call where they are moderate.

What is left of x when y is taken off as often as it goes is a float, so that a product that is not rounded before it is
subtracted gives it exactly. The quotient may have been rounded up to the next integer; then one y comes back. Greater
quotients, and processors that round products by themselves, go to C's ``fmod``.
"""

from typing import Any, NamedTuple

from ngraph_rewrite.runtime.reals import Real
from ngraph_rewrite.runtime.scalar_functions import c_function, for_gpu
from ngraph_rewrite.runtime.seldom import Seldom


class _Division(NamedTuple):
    """Absolute values divided: their ratio, its whole part, and what is left."""

    ratio: Real
    times: Real
    rest: Real


def _beyond(x: Real, y: Real) -> Any:
    """Whether the quotient is too large: NumPy's, worked out with what is left, would not be exact."""
    build, size, part = x.builder, x.size(), y.size()
    large = size.is_(">=", part * 2.0 ** (x.format.digits - 4))
    return build.and_(large, build.and_(part.is_(">", 0.0), size.is_("<", float("inf"))))


def _divided(x: Real, y: Real) -> _Division:
    """The division where the quotient is not `_beyond`. By 0, of infinity and with NaN the rest is NaN."""
    size, part = x.size(), y.size()
    ratio = size / part
    times = ratio.truncated()
    rest = times.times_plus(-part, size)
    over = rest.is_("<", 0.0)
    times, rest = (times - 1.0).where(over, times), (rest + part).where(over, rest)
    return _Division(ratio, times, size.where(size.is_("<", part), rest))


def _in_c(x: Real, y: Real) -> Real:
    """The remainder with the sign of x."""
    return Real(x.builder, c_function(x.builder, "fmod", [x.value, y.value]))


def _calls(x: Real) -> bool:
    """Whether every remainder is C's."""
    return for_gpu(x.builder) or not x.fused


def _rest(x: Real, y: Real) -> Real:
    return _in_c(x, y) if _calls(x) else _LARGE_REST(_divided(x, y).rest.signed_as(x), x, y)


def _is_below(rest: Real, y: Real) -> Any:
    """Whether a remainder with the sign of x lacks that of y: the quotient goes down by one for it."""
    build = rest.builder
    return build.and_(build.xor(y.is_("<", 0.0), rest.is_("<", 0.0)), build.not_(rest.is_("==", 0.0)))


# -- the operations ----------------------------------------------------------------------------------------------------


def real_modulo(x: Real, y: Real) -> Real:
    """The remainder with the sign of y."""
    rest = _rest(x, y)
    moved = (rest + y).where(_is_below(rest, y), rest)
    moved = x.of(0.0).signed_as(y).where(rest.is_("==", 0.0), moved)
    return rest.where(y.is_("==", 0.0), moved)


def real_floor_divide(x: Real, y: Real) -> Real:
    """The quotient rounded down; of 0 it is the ratio."""
    if _calls(x):
        return _floored(x, y)
    (ratio, times, rest), sign = _divided(x, y), (x.bits() ^ y.bits()).real()
    whole = times.signed_as(sign)
    whole = (whole - 1.0).where(_is_below(rest.signed_as(x), y), whole)
    whole = rest.where(rest.is_nan(), whole)
    return _LARGE_FLOOR(ratio.signed_as(sign).where(y.is_("==", 0.0), whole), x, y)


def _floored(x: Real, y: Real) -> Real:
    """The quotient rounded down as NumPy does it, by what C's remainder leaves."""
    rest, ratio = _in_c(x, y), x / y
    quotient = (x - rest) / y
    quotient = (quotient - 1.0).where(_is_below(rest, y), quotient)
    whole = quotient.floor()
    whole = (whole + 1.0).where((quotient - whole).is_(">", 0.5), whole)
    whole = x.of(0.0).signed_as(ratio).where(quotient.is_("==", 0.0), whole)
    return ratio.where(y.is_("==", 0.0), whole)


_LARGE_REST = Seldom("fmod", _beyond, _in_c, apart=True)
_LARGE_FLOOR = Seldom("floor_divide", _beyond, _floored, apart=True)
