# SPDX-License-Identifier: Apache-2.0
"""What each elementwise op does to z3's bit-vectors, floats and truth values, as NumPy has it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import z3

from ngraph_rewrite.testing.proof.symbols import NUMBER, Scalar
from ngraph_rewrite.types.dtypes import DType, is_float

# From a term and the z3 expressions of its arguments to its own; None where nothing is known about it.
Maker = Callable[..., Any]

_SORTS = {"float16": (5, 11), "bfloat16": (8, 8), "float32": (8, 24), "float64": (11, 53)}
EVEN = z3.RNE()
# More bits than any integer has: where signed and unsigned ones are compared as numbers.
_WIDE = 72


def computes_in(term: Scalar) -> DType:
    """The dtype of the first operand that is computed with: that of the result says nothing of a comparison."""
    operands = term.args[1:] if term.op == "select" else term.args
    return next((a.dtype for a in operands), term.dtype)


def sort(dtype: DType) -> Any:
    """The z3 sort of the values of a dtype."""
    if dtype.kind == "b":
        return z3.BoolSort()
    return z3.FPSort(*_SORTS[dtype.name]) if is_float(dtype) else z3.BitVecSort(8 * dtype.itemsize)


def literal(value: Any, dtype: DType) -> Any:
    """A number for z3: bit by bit, so that signed zeros and subnormals are right."""
    if dtype.kind == "b":
        return z3.BoolVal(bool(value))
    bits = int.from_bytes(np.asarray(value, dtype).astype(dtype.newbyteorder("<")).tobytes(), "little")
    vector = z3.BitVecVal(bits, 8 * dtype.itemsize)
    return z3.simplify(z3.fpBVToFP(vector, sort(dtype))) if is_float(dtype) else vector


def resized(x: Any, old: DType, new: DType) -> Any:
    """An integer cut off, or extended by its sign or by zeros."""
    more = 8 * (new.itemsize - old.itemsize)
    if more <= 0:
        return x if more == 0 else z3.Extract(8 * new.itemsize - 1, 0, x)
    return z3.SignExt(more, x) if old.kind == "i" else z3.ZeroExt(more, x)


def folded(two: Maker) -> Maker:
    """A reduction by an op of two that does not round, so that the order does not matter."""

    def make(term: Scalar, *args: Any) -> Any:
        if not args or any(a.dtype != term.dtype for a in term.args):
            return None
        found = args[0]
        for a in args[1:]:
            found = two(term, found, a)
        return found

    return make


def _of(function: Callable[..., Any]) -> Maker:
    """What depends on the arguments alone."""
    return lambda term, *args: function(*args)


# -- integers -----------------------------------------------------------------------------------------


def _together(term: Scalar, x: Any, y: Any) -> tuple[Any, Any, bool]:
    """Two integers to be compared, and whether they are signed: of two dtypes as numbers."""
    left, right = (a.dtype for a in term.args)
    if left == right:
        return x, y, left.kind == "i"
    wide = [
        (z3.SignExt if d.kind == "i" else z3.ZeroExt)(_WIDE - 8 * d.itemsize, v) for v, d in ((x, left), (y, right))
    ]
    return wide[0], wide[1], True


def _less(term: Scalar, x: Any, y: Any) -> Any:
    x, y, signed = _together(term, x, y)
    return x < y if signed else z3.ULT(x, y)


def _not_less(term: Scalar, x: Any, y: Any) -> Any:
    return z3.Not(_less(term, x, y))


def _greater(term: Scalar, x: Any, y: Any) -> Any:
    x, y, signed = _together(term, x, y)
    return x > y if signed else z3.UGT(x, y)


def _not_greater(term: Scalar, x: Any, y: Any) -> Any:
    return z3.Not(_greater(term, x, y))


def _equal(term: Scalar, x: Any, y: Any) -> Any:
    x, y, _ = _together(term, x, y)
    return x == y


def _maximum(term: Scalar, x: Any, y: Any) -> Any:
    return z3.If(x >= y if term.dtype.kind == "i" else z3.UGE(x, y), x, y)


def _minimum(term: Scalar, x: Any, y: Any) -> Any:
    return z3.If(x <= y if term.dtype.kind == "i" else z3.ULE(x, y), x, y)


def _absolute(term: Scalar, x: Any) -> Any:
    return z3.If(x < 0, -x, x) if term.dtype.kind == "i" else x


def _sign(term: Scalar, x: Any) -> Any:
    one = z3.BitVecVal(1, x.size())
    return z3.If(x == 0, x, z3.If(x < 0, -one, one) if term.dtype.kind == "i" else one)


def _floordivide(term: Scalar, x: Any, y: Any) -> Any:
    if term.dtype.kind == "u":
        return z3.If(y == 0, y, z3.UDiv(x, y))
    down = z3.And(z3.SRem(x, y) != 0, (x < 0) != (y < 0))
    return z3.If(y == 0, y, x / y - z3.If(down, z3.BitVecVal(1, x.size()), z3.BitVecVal(0, x.size())))


def _mod(term: Scalar, x: Any, y: Any) -> Any:
    if term.dtype.kind == "u":
        return z3.If(y == 0, y, z3.URem(x, y))
    left = z3.SRem(x, y)
    return z3.If(y == 0, y, z3.If(z3.And(left != 0, (x < 0) != (y < 0)), left + y, left))


def _power(term: Scalar, x: Any, y: Any) -> Any:
    """By a constant: a product, or the inverse truncated."""
    exponent = term.args[1]
    if exponent.op != NUMBER or int(exponent.value) > 64:
        return None
    one = z3.BitVecVal(1, x.size())
    if int(exponent.value) < 0:
        turned = one if int(exponent.value) % 2 == 0 else -one
        return z3.If(x == 1, one, z3.If(x == -1, turned, one - one))
    found = one
    for bit in bin(int(exponent.value))[2:]:
        found = found * found * (x if bit == "1" else one)
    return found


def _right_shift(term: Scalar, x: Any, y: Any) -> Any:
    return x >> y if term.dtype.kind == "i" else z3.LShR(x, y)


_INTEGERS: Mapping[str, Maker] = {
    "negative": _of(lambda x: -x),
    "absolute": _absolute,
    "sign": _sign,
    "square": _of(lambda x: x * x),
    **{name: _of(lambda x: x) for name in ("floor", "ceil", "round", "trunc")},
    "logical_not": _of(lambda x: x == 0),
    "bitwise_invert": _of(lambda x: ~x),
    "add": _of(lambda x, y: x + y),
    "subtract": _of(lambda x, y: x - y),
    "multiply": _of(lambda x, y: x * y),
    "maximum": _maximum,
    "minimum": _minimum,
    "floordivide": _floordivide,
    "mod": _mod,
    "power": _power,
    "logical_and": _of(lambda x, y: z3.And(x != 0, y != 0)),
    "logical_or": _of(lambda x, y: z3.Or(x != 0, y != 0)),
    "logical_xor": _of(lambda x, y: (x != 0) != (y != 0)),
    "equal": _equal,
    "not_equal": lambda term, x, y: z3.Not(_equal(term, x, y)),
    "less": _less,
    "greater_equal": _not_less,
    "greater": _greater,
    "less_equal": _not_greater,
    "bitwise_and": _of(lambda x, y: x & y),
    "bitwise_or": _of(lambda x, y: x | y),
    "bitwise_xor": _of(lambda x, y: x ^ y),
    "left_shift": _of(lambda x, y: x << y),
    "right_shift": _right_shift,
    "select": _of(z3.If),
    "sum": folded(_of(lambda x, y: x + y)),
    "prod": folded(_of(lambda x, y: x * y)),
    "max": folded(_maximum),
    "min": folded(_minimum),
}

# -- truth values -------------------------------------------------------------------------------------

_BOOLS: Mapping[str, Maker] = {
    **{name: _of(lambda x: x) for name in ("absolute", "square", "floor", "ceil", "round", "trunc")},
    "logical_not": _of(z3.Not),
    **{name: _of(lambda x, y: z3.Or(x, y)) for name in ("add", "maximum", "logical_or")},
    **{name: _of(lambda x, y: z3.And(x, y)) for name in ("multiply", "minimum", "logical_and")},
    **{name: _of(lambda x, y: x != y) for name in ("logical_xor", "not_equal")},
    "equal": _of(lambda x, y: x == y),
    "less": _of(lambda x, y: z3.And(z3.Not(x), y)),
    "less_equal": _of(lambda x, y: z3.Or(z3.Not(x), y)),
    "greater": _of(lambda x, y: z3.And(x, z3.Not(y))),
    "greater_equal": _of(lambda x, y: z3.Or(x, z3.Not(y))),
    "select": _of(z3.If),
    **{name: folded(_of(lambda x, y: z3.Or(x, y))) for name in ("any", "max")},
    **{name: folded(_of(lambda x, y: z3.And(x, y))) for name in ("all", "min")},
}

# -- floats -------------------------------------------------------------------------------------------


def _rounded(function: Callable[..., Any]) -> Maker:
    return lambda term, *args: function(EVEN, *args)


def _whole(mode: Any) -> Maker:
    return lambda term, x: z3.fpRoundToIntegral(mode, x)


def _one(x: Any) -> Any:
    return z3.FPVal(1.0, x.sort())


def _float_sign(x: Any) -> Any:
    rest = z3.If(z3.fpIsZero(x), z3.fpPlusZero(x.sort()), x)
    return z3.If(z3.fpIsNaN(x), x, z3.If(z3.fpIsZero(x), rest, z3.If(z3.fpIsNegative(x), -_one(x), _one(x))))


def _extremum(greater: bool) -> Maker:
    """NaN if either is; of two zeros either, but the same one every time."""

    def make(term: Scalar, x: Any, y: Any) -> Any:
        first = z3.fpGT(x, y) if greater else z3.fpLT(x, y)
        which = z3.Bool(f"{'max' if greater else 'min'} of zeros.{term.dtype}")
        which = z3.If(z3.fpIsNegative(x), which, z3.Bool(f"{which}.turned"))
        zeros = z3.And(z3.fpIsZero(x), z3.fpIsZero(y))
        chosen = z3.If(zeros, z3.If(which, x, y), z3.If(first, x, y))
        return z3.If(z3.fpIsNaN(x), x, z3.If(z3.fpIsNaN(y), y, chosen))

    return make


def _float_power(term: Scalar, x: Any, y: Any) -> Any:
    """IEEE 754 says what the powers by 0 and 1 are; the others differ from library to library."""
    exponent = term.args[1]
    if exponent.op == NUMBER and exponent.value in (0, 1):
        return x if exponent.value else _one(x)
    return None


def _signbit(term: Scalar, x: Any) -> Any:
    return z3.If(z3.fpIsNaN(x), z3.Bool(f"sign of {term.digest.hex()}"), z3.fpIsNegative(x))


def _copysign(term: Scalar, x: Any, y: Any) -> Any:
    below = z3.If(z3.fpIsNaN(y), z3.Bool(f"sign of {term.digest.hex()}"), z3.fpIsNegative(y))
    size = z3.fpAbs(x)
    return z3.If(below, z3.fpNeg(size), size)


_FLOATS: Mapping[str, Maker] = {
    "negative": _of(z3.fpNeg),
    "absolute": _of(z3.fpAbs),
    "sign": _of(_float_sign),
    "square": _of(lambda x: z3.fpMul(EVEN, x, x)),
    "sqrt": _rounded(z3.fpSqrt),
    "reciprocal": _of(lambda x: z3.fpDiv(EVEN, _one(x), x)),
    "floor": _whole(z3.RTN()),
    "ceil": _whole(z3.RTP()),
    "round": _whole(EVEN),
    "trunc": _whole(z3.RTZ()),
    "isnan": _of(z3.fpIsNaN),
    "isinf": _of(z3.fpIsInf),
    "isfinite": _of(lambda x: z3.Not(z3.Or(z3.fpIsNaN(x), z3.fpIsInf(x)))),
    "signbit": _signbit,
    "logical_not": _of(z3.fpIsZero),
    "add": _rounded(z3.fpAdd),
    "subtract": _rounded(z3.fpSub),
    "multiply": _rounded(z3.fpMul),
    "divide": _rounded(z3.fpDiv),
    "maximum": _extremum(True),
    "minimum": _extremum(False),
    "power": _float_power,
    "copysign": _copysign,
    "equal": _of(z3.fpEQ),
    "not_equal": _of(z3.fpNEQ),
    "less": _of(z3.fpLT),
    "less_equal": _of(z3.fpLEQ),
    "greater": _of(z3.fpGT),
    "greater_equal": _of(z3.fpGEQ),
    "select": _of(z3.If),
    "max": folded(_extremum(True)),
    "min": folded(_extremum(False)),
}
MAKERS: Mapping[str, Mapping[str, Maker]] = {"b": _BOOLS, "i": _INTEGERS, "u": _INTEGERS, "f": _FLOATS}
