# SPDX-License-Identifier: Apache-2.0
"""Formulas for whole vectors, with instructions that LLVM's vectoriser does not know of: tables in a register, powers.

Every lane gives the same bits, in a vector and in what is left of a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from llvmlite import ir

from ngraph_rewrite.runtime.features import features
from ngraph_rewrite.runtime.reals import DOUBLE, SINGLE, Bits, Format, Real
from ngraph_rewrite.runtime.scalar_functions import for_gpu
from ngraph_rewrite.runtime.variants import offer, resized, variant
from ngraph_rewrite.runtime.vector_code import I32


class _Vector(NamedTuple):
    """A vector of AVX-512, and the names of instructions for it.

    Attributes:
        fewer: Lanes of loops with wider numbers, or of shorter vectors.
    """

    element: Any
    lanes: int
    fewer: tuple[int, ...]
    permutation: str
    scaling: str

    @property
    def kind(self) -> Any:
        return ir.VectorType(self.element, self.lanes)


_VECTORS = {
    32: _Vector(ir.FloatType(), 16, (4, 8), "permvar.sf", "scalef.ps"),
    64: _Vector(ir.DoubleType(), 8, (2, 4), "permvar.df", "scalef.pd"),
}


def has_lanes() -> bool:
    """Whether kernels are compiled for a processor that has these instructions (AVX-512)."""
    return "+avx512f" in features()


def looked_up(places: Bits, table: Sequence[float]) -> Real:
    """Of as many numbers as there are lanes, the one whose place the last bits of a lane tell."""
    vector = _VECTORS[places.value.type.element.width]
    operands = [ir.Constant(vector.kind, list(table)), places.value]
    return Real(places.builder, _called(places.builder, f"llvm.x86.avx512.{vector.permutation}.512", operands))


def times_power(x: Real, exponent: Real) -> Real:
    """Lanes times two to the greatest integer that is not greater than the exponent, rounded once."""
    vector = _VECTORS[x.format.bits]
    every, rounding = ir.Constant(ir.IntType(vector.lanes), -1), I32(4)  # all lanes; as the processor is set to round
    operands = [x.value, exponent.value, ir.Constant(vector.kind, ir.Undefined), every, rounding]
    return Real(x.builder, _called(x.builder, f"llvm.x86.avx512.mask.{vector.scaling}.512", operands))


def _called(builder: Any, name: str, operands: list[Any]) -> Any:
    """A vector that a function of LLVM gives."""
    kind = ir.FunctionType(operands[0].type, [operand.type for operand in operands])
    return builder.call(builder.module.globals.get(name) or ir.Function(builder.module, kind, name), operands)


class LaneFunction:
    """Formulas of one number that are computed in lanes.

    Args:
        name: What it is called in a module.
        formulas: That of float32, and that of float64 if there is one.
    """

    def __init__(self, name: str, *formulas: Callable[[Real], Real]) -> None:
        self._name = f"ngraph_rewrite_{name}"
        self._formulas = dict(zip((SINGLE, DOUBLE), formulas, strict=False))

    def __call__(self, x: Real) -> Real | None:
        """The value for a number; None where there is no formula for it, or the processor is another one."""
        if x.format not in self._formulas or for_gpu(x.builder) or not x.fused or not has_lanes():
            return None
        module, name = x.builder.module, f"{self._name}_of_{x.format.bits}"
        function = module.globals.get(name) or self._defined(module, name, x.format)
        return Real(x.builder, x.builder.call(function, [x.value]))

    def _defined(self, module: Any, name: str, form: Format) -> Any:
        """The function of one number, with those of more beside it."""
        vector = _VECTORS[form.bits]
        whole = variant(module, name, [vector.element], vector.lanes)
        builder = ir.IRBuilder(whole.append_basic_block("entry"))
        builder.ret(self._formulas[form](Real(builder, whole.args[0])).value)
        functions = [variant(module, name, [vector.element], lanes) for lanes in (1, *vector.fewer)]
        for function, lanes in zip(functions, (1, *vector.fewer), strict=True):
            builder = ir.IRBuilder(function.append_basic_block("entry"))
            found = builder.call(whole, [resized(builder, function.args[0], vector.lanes)])
            builder.ret(resized(builder, found, lanes))
        offer(functions[0], (*vector.fewer, vector.lanes))
        return functions[0]
