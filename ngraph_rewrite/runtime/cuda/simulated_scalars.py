# SPDX-License-Identifier: Apache-2.0
"""The scalar operations of a simulated device: NumPy's, on its scalars, with results of exactly the operands' dtype.

Python's numbers among the operands stand for int64 and float64. A float32 function is NumPy's in float64, rounded.
"""

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from ngraph_rewrite.ops import functions, gammas
from ngraph_rewrite.runtime import angle_draws, count_draws, draws, gamma_draws, scalar_functions
from ngraph_rewrite.runtime.cuda.porting import renamed

__all__ = []

Function = Callable[..., Any]
_EXACT = "fmod sqrt fabs floor ceil rint trunc sign copysign nextafter left_shift right_shift"
_ROUNDED = "exp exp2 expm1 tanh log log2 log10 log1p cbrt sin cos tan sinh cosh"
_OTHER = {
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh",
    "atan2": "arctan2", "hypot": "hypot",
}  # fmt: skip


def _word(function: Function) -> Function:
    """Export a function, which then warns of nothing."""
    quiet: Function = np.errstate(all="ignore")(function)
    globals()[function.__name__] = quiet
    __all__.append(function.__name__)
    return quiet


def _scalar(value: Any) -> Any:
    return value if isinstance(value, np.generic) else np.asarray(value)[()]


def _exact(name: str) -> Function:
    operation = getattr(np, name)

    def function(*operands: Any) -> Any:
        return operation(*map(_scalar, operands))

    function.__name__ = name
    return function


def _rounded(name: str, operation: Function) -> Function:
    def function(*operands: Any) -> Any:
        kind = _scalar(operands[0]).dtype.type
        return kind(operation(*map(np.float64, operands)))

    function.__name__ = name
    return function


def _sigmoid(x: Any) -> Any:
    small = np.exp(-np.abs(x))
    return (small if x < 0 else 1.0) / (1.0 + small)


def _power(x: Any, y: Any) -> Any:
    """Of arrays, as NumPy makes a root of a number to the power 1/2, which is NaN of -inf."""
    return np.power(np.array([x]), np.array([y]))[0]


for _name in _EXACT.split():
    _word(_exact(_name))
for _name in _ROUNDED.split():
    _word(_rounded(_name, getattr(np, _name)))
for _name, _numpy_name in _OTHER.items():
    _word(_rounded(_name, getattr(np, _numpy_name)))
_word(_rounded("erf", math.erf))
_word(_rounded("erfinv", functions.erfinv))
_word(_rounded("lgamma", gammas.lgamma))
_word(_rounded("digamma", gammas.digamma))
_word(_rounded("trigamma", gammas.trigamma))
_word(_rounded("power", _power))
_word(_rounded("sigmoid", _sigmoid))


# -- choices -----------------------------------------------------------------------------------------------------------


@_word
def select(condition: Any, x: Any, y: Any) -> Any:
    """One of two values."""
    return _scalar(x if condition else y)


@_word
def maximum(x: Any, y: Any) -> Any:
    """The larger one; a NaN on either side wins, and at a tie the second operand is taken."""
    return _scalar(x if x > y or x != x else y)


@_word
def minimum(x: Any, y: Any) -> Any:
    """The smaller one; a NaN on either side wins, and at a tie the second operand is taken."""
    return _scalar(x if x < y or x != x else y)


accumulate_max = number_max = maximum
accumulate_min = number_min = minimum


@_word
def above(x: Any, best: Any) -> Any:
    """Whether it is larger than the best, or the first NaN."""
    return np.bool_(x > best or (x != x and best == best))


@_word
def below(x: Any, best: Any) -> Any:
    """Whether it is smaller than the best, or the first NaN."""
    return np.bool_(x < best or (x != x and best == best))


@_word
def same(x: Any, y: Any) -> Any:
    """Whether both are equal, or NaN."""
    return np.bool_(x == y or (x != x and y != y))


@_word
def signbit(x: Any) -> Any:
    """Whether the sign of a float is set."""
    return np.signbit(_scalar(x))


# -- arithmetic --------------------------------------------------------------------------------------------------------


@_word
def add_reassociated(x: Any, y: Any) -> Any:
    """The sum."""
    return _scalar(x) + _scalar(y)


@_word
def multiply_reassociated(x: Any, y: Any) -> Any:
    """The product."""
    return _scalar(x) * _scalar(y)


@_word
def floor_divide(x: Any, y: Any) -> Any:
    """The quotient rounded down; 0 where an integer is divided by 0."""
    return np.floor_divide(_scalar(x), _scalar(y))


@_word
def modulo(x: Any, y: Any) -> Any:
    """What that leaves; 0 where an integer is divided by 0."""
    return np.mod(_scalar(x), _scalar(y))


@_word
def integer_power(base: Any, exponent: Any, signed: bool) -> Any:
    """``base ** exponent`` modulo 2**64, on int64; a negative exponent truncates."""
    base, exponent = int(base), int(exponent)
    if signed and exponent < 0:
        return np.int64({1: 1, -1: 1 - 2 * (exponent & 1)}.get(base, 0))
    return np.uint64(pow(base % 2**64, exponent % 2**64, 2**64)).astype(np.int64)


@_word
def next_float16(x: Any, y: Any) -> Any:
    """The next float16 from the first towards the second, all held as float32."""
    return np.float32(y if x == y else np.nextafter(np.float16(x), np.float16(y)))


@_word
def next_bfloat16(x: Any, y: Any) -> Any:
    """The next bfloat16 from the first towards the second, all held as float32."""
    return np.float32(np.nextafter(*(_scalar(value).astype(ml_dtypes.bfloat16) for value in (x, y))))


# -- draws -------------------------------------------------------------------------------------------------------------


@_word
def philox_block(block: Any, call: Any, stream: Any, seed: Any) -> Any:
    """Four words of 32 random bits, as uint64."""
    counter: Any = map(np.int64, (block, call, stream, seed))
    return draws.philox_block(*counter)


_FUNCTIONS = {name: globals()[name] for name in "sqrt fabs floor log log1p exp expm1 cos sin".split()}
_FUNCTIONS |= {"near_cos": _FUNCTIONS["cos"], "near_sin": _FUNCTIONS["sin"]}
# Each after those that it calls.
_TEXTS = {
    draws: "unit_single unit_double box_muller",
    scalar_functions: "rounding_error compensated",
    gamma_draws: "sequence_unit gamma_draw",
    count_draws: "stirling_series stirling deviance poisson_log searched_poisson poisson_draw binomial_log "
    "searched_binomial accepted_binomial binomial_draw",
    angle_draws: "vonmises_draw zipf_draw",
}
for _module, _names in _TEXTS.items():
    for _name in _names.split():
        _FUNCTIONS[_name] = _word(renamed(vars(_module)[_name], _FUNCTIONS))
__all__ += ["accumulate_max", "accumulate_min", "number_max", "number_min"]
__all__[:] = [name for name in __all__ if name not in count_draws.PARTS]
