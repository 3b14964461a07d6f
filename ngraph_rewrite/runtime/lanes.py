# SPDX-License-Identifier: Apache-2.0
"""Formulas for whole vectors, with instructions that LLVM's vectoriser does not know of: tables in a register, powers.

Every lane gives the same bits, in a vector and in what is left of a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from ngraph_rewrite.runtime.features import features
from ngraph_rewrite.runtime.reals import SINGLE, Bits, Real
from ngraph_rewrite.runtime.scalar_functions import for_gpu
from ngraph_rewrite.runtime.variants import offer, resized, variant
from ngraph_rewrite.runtime.vector_code import I32

LANES = 16  # of float32 in a vector of AVX-512
_VECTOR = ir.VectorType(ir.FloatType(), LANES)
_FEWER = (4, 8)  # lanes of loops with wider numbers


def has_lanes() -> bool:
    """Whether kernels are compiled for a processor that has these instructions (AVX-512)."""
    return "+avx512f" in features()


def looked_up(places: Bits, table: Sequence[float]) -> Real:
    """Of sixteen numbers, the one whose place the last four bits of a lane tell."""
    operands = [ir.Constant(_VECTOR, list(table)), places.value]
    return Real(places.builder, _called(places.builder, "llvm.x86.avx512.permvar.sf.512", operands))


def times_power(x: Real, exponent: Real) -> Real:
    """Lanes times two to the greatest integer that is not greater than the exponent, rounded once."""
    every, rounding = ir.Constant(ir.IntType(16), -1), I32(4)  # all lanes; as the processor is set to round
    operands = [x.value, exponent.value, ir.Constant(_VECTOR, ir.Undefined), every, rounding]
    return Real(x.builder, _called(x.builder, "llvm.x86.avx512.mask.scalef.ps.512", operands))


def _called(builder: Any, name: str, operands: list[Any]) -> Any:
    """A vector that a function of LLVM gives."""
    kind = ir.FunctionType(_VECTOR, [operand.type for operand in operands])
    return builder.call(builder.module.globals.get(name) or ir.Function(builder.module, kind, name), operands)


class LaneFunction:
    """A formula of one float32 that is computed in lanes.

    Args:
        name: What it is called in a module.
    """

    def __init__(self, name: str, formula: Callable[[Real], Real]) -> None:
        self._name, self._formula = f"ngraph_rewrite_{name}", formula

    def __call__(self, x: Real) -> Real | None:
        """The value for a number; None where it is none of float32, or the processor is another one."""
        if x.format is not SINGLE or for_gpu(x.builder) or not x.fused or not has_lanes():
            return None
        module = x.builder.module
        return Real(x.builder, x.builder.call(module.globals.get(self._name) or self._defined(module), [x.value]))

    def _defined(self, module: Any) -> Any:
        """The function of one number, with those of more beside it."""
        whole = variant(module, self._name, [ir.FloatType()], LANES)
        builder = ir.IRBuilder(whole.append_basic_block("entry"))
        builder.ret(self._formula(Real(builder, whole.args[0])).value)
        one, *_ = (self._resized(variant(module, self._name, [ir.FloatType()], n), whole, n) for n in (1, *_FEWER))
        offer(one, (*_FEWER, LANES))
        return one

    def _resized(self, function: Any, whole: Any, lanes: int) -> Any:
        """The first lanes of a vector, or the first one."""
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        builder.ret(resized(builder, builder.call(whole, [resized(builder, function.args[0], LANES)]), lanes))
        return function
