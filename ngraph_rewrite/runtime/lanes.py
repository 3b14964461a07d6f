# SPDX-License-Identifier: Apache-2.0
"""Formulas for whole vectors, with instructions that LLVM's vectoriser does not know of: tables in registers, powers.

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
    """A vector of AVX-512, and how names of instructions for it end.

    Attributes:
        fewer: Lanes of loops with wider numbers, or of shorter vectors.
    """

    element: Any
    lanes: int
    fewer: tuple[int, ...]
    permuted: str
    packed: str

    @property
    def kind(self) -> Any:
        return ir.VectorType(self.element, self.lanes)

    @property
    def every(self) -> Any:
        """The mask of all lanes."""
        return ir.Constant(ir.IntType(self.lanes), -1)


_VECTORS = {
    32: _Vector(ir.FloatType(), 16, (4, 8), "sf", "ps"),
    64: _Vector(ir.DoubleType(), 8, (2, 4), "df", "pd"),
}
_ROUNDING = I32(4)  # as the processor is set to
_UNSIGNED = I32(4)  # of a mantissa: from 1 to 2, without the sign


def has_lanes() -> bool:
    """Whether kernels are compiled for a processor that has these instructions (AVX-512)."""
    return "+avx512f" in features()


def looked_up(places: Bits, table: Sequence[float]) -> Real:
    """Of as many numbers as there are lanes, or two or four times as many, the one whose place the last bits tell."""
    vector, half = _VECTORS[places.value.type.element.width], len(table) // 2
    if half > vector.lanes:
        lower, upper = (looked_up(places, part) for part in (table[:half], table[half:]))
        return lower.where((places & half).is_("==", 0), upper)
    first, *more = (
        ir.Constant(vector.kind, list(table[i : i + vector.lanes])) for i in range(0, len(table), vector.lanes)
    )
    if more:
        return _called(places.builder, f"vpermi2var.{vector.packed}", [first, places.value, *more])
    return _called(places.builder, f"permvar.{vector.permuted}", [first, places.value])


def times_power(x: Real, exponent: Real) -> Real:
    """Lanes times two to the greatest integer that is not greater than the exponent, rounded once."""
    return _masked("scalef", x, exponent.value)


def exponent_of(x: Real) -> Real:
    """The exponents of lanes, as numbers: of 0 it is -inf, of infinities inf."""
    return _masked("getexp", x)


def mantissa_of(x: Real) -> Real:
    """The mantissas of lanes, from 1 to 2, without a sign: of 0 and of infinities it is 1."""
    return _masked("getmant", x, _UNSIGNED)


def near_inverse(x: Real) -> Real:
    """One over x, to 14 binary digits."""
    vector = _VECTORS[x.format.bits]
    operands = [x.value, ir.Constant(vector.kind, ir.Undefined), vector.every]
    return _called(x.builder, f"rcp14.{vector.packed}", operands)


def with_special(result: Real, x: Real, values: int) -> Real:
    """A result where lanes of x are usual numbers; of each other kind, what four bits of a word of `values` say."""
    vector = _VECTORS[x.format.bits]
    kind = ir.VectorType(ir.IntType(x.format.bits), vector.lanes)
    table = ir.Constant(kind, [values] * vector.lanes)
    operands = [result.value, x.value, table, I32(0), vector.every, _ROUNDING]
    return _called(x.builder, f"mask.fixupimm.{vector.packed}", operands)


def _masked(instruction: str, x: Real, *others: Any) -> Real:
    """An instruction that rounds, of all lanes."""
    vector = _VECTORS[x.format.bits]
    operands = [x.value, *others, ir.Constant(vector.kind, ir.Undefined), vector.every, _ROUNDING]
    return _called(x.builder, f"mask.{instruction}.{vector.packed}", operands)


def _called(builder: Any, instruction: str, operands: list[Any]) -> Real:
    """A vector that a function of LLVM gives."""
    name = f"llvm.x86.avx512.{instruction}.512"
    kind = ir.FunctionType(operands[0].type, [operand.type for operand in operands])
    function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
    return Real(builder, builder.call(function, operands))


class LaneFunction:
    """Formulas of numbers that are computed in lanes.

    Args:
        name: What it is called in a module.
        formulas: That of float32, and that of float64 if there is one.
    """

    def __init__(self, name: str, *formulas: Callable[..., Real]) -> None:
        self._name = f"ngraph_rewrite_{name}"
        self._formulas = dict(zip((SINGLE, DOUBLE), formulas, strict=False))

    def __call__(self, *operands: Real) -> Real | None:
        """The value for some numbers; None where there is no formula for it, or the processor is another one."""
        x = operands[0]
        if x.format not in self._formulas or for_gpu(x.builder) or not x.fused or not has_lanes():
            return None
        if x.value.type == _VECTORS[x.format.bits].kind:
            return self._formulas[x.format](*operands)
        module, name = x.builder.module, f"{self._name}_of_{x.format.bits}"
        function = module.globals.get(name) or self._defined(module, name, x.format, len(operands))
        return Real(x.builder, x.builder.call(function, [operand.value for operand in operands]))

    def _defined(self, module: Any, name: str, form: Format, count: int) -> Any:
        """The function of one number each, with those of more beside it."""
        vector = _VECTORS[form.bits]
        elements = [vector.element] * count
        whole = variant(module, name, elements, vector.lanes)
        builder = ir.IRBuilder(whole.append_basic_block("entry"))
        builder.ret(self._formulas[form](*(Real(builder, operand) for operand in whole.args)).value)
        functions = [variant(module, name, elements, lanes) for lanes in (1, *vector.fewer)]
        for function, lanes in zip(functions, (1, *vector.fewer), strict=True):
            builder = ir.IRBuilder(function.append_basic_block("entry"))
            found = builder.call(whole, [resized(builder, operand, vector.lanes) for operand in function.args])
            builder.ret(resized(builder, found, lanes))
        offer(functions[0], (*vector.fewer, vector.lanes))
        return functions[0]
