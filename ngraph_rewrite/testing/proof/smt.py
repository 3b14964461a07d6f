# SPDX-License-Identifier: Apache-2.0
"""Scalar expressions for z3, exactly as NumPy computes them: bit-vectors for integers, IEEE 754 floats for floats."""

from __future__ import annotations

from typing import Any

import numpy as np
import z3

from ngraph_rewrite.testing.proof.smt_ops import EVEN, MAKERS, computes_in, literal, resized, sort
from ngraph_rewrite.testing.proof.symbols import NUMBER, SYMBOL, Scalar, parts
from ngraph_rewrite.types.dtypes import BFLOAT16, BOOL, FLOAT64, DType, is_float, kind_of

# What z3 does in a second, about, by its own measure: that is the same everywhere. The clock is for the rest.
_WORK, _CLOCK = 1_000_000, 2


class Translation:
    """The z3 expressions of scalars, and under which conditions NumPy's casts are defined.

    What z3 has no theory for is a function of which only that it is one is known. What NumPy leaves open, such as
    the sign of the maximum of two zeros, is an unknown.

    >>> from ngraph_rewrite.testing.proof.symbols import apply, symbol
    >>> Translation().of(apply("maximum", "int8", symbol("x", "int8"), symbol("y", "int8")))
    If(x >= y, x, y)
    """

    def __init__(self) -> None:
        self.symbols: dict[Scalar, Any] = {}
        self.defined: list[Any] = []
        self._known: dict[Scalar, Any] = {}

    def of(self, root: Scalar) -> Any:
        """The expression of `root`."""
        for term in parts([root]):
            if term not in self._known:
                self._known[term] = self._translated(term)
        return self._known[root]

    def _translated(self, term: Scalar) -> Any:
        if term.op == NUMBER:
            return literal(term.value, term.dtype)
        if term.op == SYMBOL:
            self.symbols[term] = z3.Const(str(term.name), sort(term.dtype))
            return self.symbols[term]
        args = [self._known[a] for a in term.args]
        if term.op == "cast":
            return self._cast(term, args[0])
        if term.op == "bitcast":
            return self._bitcast(term, args[0])
        makers = MAKERS[kind_of(computes_in(term))]
        made = makers[term.op](term, *args) if term.op in makers else None
        return self.opaque(term, args) if made is None else made

    def opaque(self, term: Scalar, args: list[Any]) -> Any:
        """A function of which nothing is known."""
        if not args:
            return z3.FreshConst(sort(term.dtype), term.op)
        name = f"{term.op}.{term.dtype}.{'.'.join(str(a.dtype) for a in term.args)}"
        return z3.Function(name, *(a.sort() for a in args), sort(term.dtype))(*args)

    def _cast(self, term: Scalar, x: Any) -> Any:
        old, new = term.args[0].dtype, term.dtype
        if old == new:
            return x
        if new == BOOL:
            return z3.Not(z3.fpIsZero(x)) if is_float(old) else x != 0
        if old == BOOL:
            return z3.If(x, literal(new.type(1), new), literal(new.type(0), new))
        if is_float(old):
            return self._rounded(x, old, new) if is_float(new) else self._truncated(x, new)
        if not is_float(new):
            return resized(x, old, new)
        if new.itemsize == 2 and old.itemsize > 2:  # rounded twice, through float32
            return self.opaque(term, [x])
        return (z3.fpToFP if old.kind == "i" else z3.fpToFPUnsigned)(EVEN, x, sort(new))

    def _bitcast(self, term: Scalar, x: Any) -> Any:
        """There is one NaN in z3, of whose bits only that they are the same ones is known."""
        old, new = term.args[0].dtype, term.dtype
        bits = z3.BitVecSort(8 * old.itemsize)
        if is_float(old):
            x = z3.If(z3.fpIsNaN(x), z3.Function(f"bits.{old}", x.sort(), bits)(x), z3.fpToIEEEBV(x))
        return z3.fpBVToFP(x, sort(new)) if is_float(new) else x

    def _rounded(self, x: Any, old: DType, new: DType) -> Any:
        if (old, new) == (FLOAT64, BFLOAT16):  # by way of float32
            x = z3.fpFPToFP(EVEN, x, z3.Float32())
        return z3.fpFPToFP(EVEN, x, sort(new))

    def _truncated(self, x: Any, new: DType) -> Any:
        limits, wide = np.iinfo(new), z3.Float64()
        low, high = (z3.fpRealToFP(EVEN, z3.RealVal(int(n)), wide) for n in (limits.min, int(limits.max) + 1))
        whole = z3.fpRoundToIntegral(z3.RTZ(), z3.fpFPToFP(EVEN, x, wide))
        self.defined.append(z3.And(z3.fpGEQ(whole, low), z3.fpLT(whole, high)))
        return (z3.fpToSBV if new.kind == "i" else z3.fpToUBV)(z3.RTZ(), x, sort(new))


def number_of(model: Any, symbol: Any, dtype: DType) -> Any:
    """The NumPy scalar that a model gives to a symbol."""
    if dtype.kind == "b":
        return np.bool_(z3.is_true(model.eval(symbol, model_completion=True)))
    vector = z3.fpToIEEEBV(symbol) if is_float(dtype) else symbol
    bits = model.eval(vector, model_completion=True)
    if not z3.is_bv_value(bits):  # a NaN: any of them
        return dtype.type(np.nan)
    return np.frombuffer(bits.as_long().to_bytes(dtype.itemsize, "little"), dtype.newbyteorder("<"))[0].astype(dtype)


def difference(left: Scalar, right: Scalar, seconds: float) -> tuple[bool | None, dict[Scalar, Any] | None]:
    """Whether two expressions have the same bits for all values of their symbols, else values for which they have not.

    The first is None if z3 could not decide it. The values may be wrong where NumPy leaves something open or z3
    knows nothing about a function: they are to be confirmed.
    """
    translation = Translation()
    one = translation.of(left)
    given = list(translation.defined)  # not where the left side has no defined value
    other = translation.of(right)
    solver = z3.Solver()
    solver.set("timeout", max(1, int(1000 * _CLOCK * seconds)))
    solver.set("rlimit", max(1, int(_WORK * seconds)))
    solver.add(*given, one != other)
    found = solver.check()
    if found != z3.sat:
        return (True, None) if found == z3.unsat else (None, None)
    model = solver.model()
    return False, {s: number_of(model, e, s.dtype) for s, e in translation.symbols.items()}
