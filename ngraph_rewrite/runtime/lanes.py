# SPDX-License-Identifier: Apache-2.0
"""Formulas for whole vectors, with instructions that LLVM's vectoriser does not know of: tables in a register, powers.

A kernel calls a function of one number. Beside it stand functions of as many lanes as vectors have, which LLVM calls
instead where it vectorises a loop (its attribute ``vector-function-abi-variant``); afterwards all of them are expanded
where they are called (`expanded`). Every lane gives the same bits, in a vector and in what is left of a loop.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from ngraph_rewrite.runtime.features import features
from ngraph_rewrite.runtime.reals import SINGLE, Bits, Format, Real
from ngraph_rewrite.runtime.scalar_functions import for_gpu
from ngraph_rewrite.runtime.vector_code import I32

LANES = 16  # of float32 in a vector of AVX-512
_VECTOR = ir.VectorType(ir.FloatType(), LANES)
_NUMBERS = ir.VectorType(I32, LANES)
_FEWER = (4, 8)  # lanes of loops with wider numbers
_MARK = '"ngraph_rewrite_lanes"'
# Until loops are vectorised nothing is expanded. Without side effects, even where a loop would not call it.
_ATTRIBUTES = ("noinline", "nounwind", "willreturn", "speculatable", "memory(none)", _MARK)
_WIDE = ('"prefer-vector-width"="512"', '"min-legal-vector-width"="512"')
_KEPT = "weak_odr"  # linkage of what is kept though nobody calls it yet, and is the same in all modules
_MARKED = re.compile(rf"^(attributes #\d+ = {{[^\n]*)\bnoinline\b([^\n]*{_MARK})", re.MULTILINE)


def has_lanes() -> bool:
    """Whether kernels are compiled for a processor that has these instructions (AVX-512)."""
    return "+avx512f" in features()


class Lanes(Real):
    """Sixteen float32 of a kernel, as `Real` is one; numbers beside them are constants of all lanes."""

    @property
    def format(self) -> Format:
        return SINGLE

    def of(self, value: float) -> Lanes:
        """A constant in all lanes."""
        return Lanes(self.builder, ir.Constant(_VECTOR, [value] * LANES))

    def bits(self) -> Bits:
        """The bits of each lane, as integers."""
        return _LaneBits(self.builder, self.builder.bitcast(self.value, _NUMBERS))

    def _llvm(self, name: str, *others: Real | float) -> Real:
        operands = [self.value, *(self._other(other) for other in others)]
        return Lanes(self.builder, _called(self.builder, f"{name}.v{LANES}f32", operands))


class _LaneBits(Bits):
    """Sixteen integers of 32 bits."""

    def _other(self, other: Bits | int) -> Any:
        return other.value if isinstance(other, Bits) else ir.Constant(_NUMBERS, [other] * LANES)


def looked_up(places: Bits, table: Sequence[float]) -> Real:
    """Of sixteen numbers, the one whose place the last four bits of a lane tell."""
    operands = [ir.Constant(_VECTOR, list(table)), places.value]
    return Lanes(places.builder, _called(places.builder, "llvm.x86.avx512.permvar.sf.512", operands))


def times_power(x: Real, exponent: Real) -> Real:
    """Lanes times two to the greatest integer that is not greater than the exponent, rounded once."""
    every, rounding = ir.Constant(ir.IntType(16), -1), I32(4)  # all lanes; as the processor is set to round
    operands = [x.value, exponent.value, ir.Constant(_VECTOR, ir.Undefined), every, rounding]
    return Lanes(x.builder, _called(x.builder, "llvm.x86.avx512.mask.scalef.ps.512", operands))


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
        whole = self._function(module, LANES)
        builder = ir.IRBuilder(whole.append_basic_block("entry"))
        builder.ret(self._formula(Lanes(builder, whole.args[0])).value)
        for lanes in _FEWER:
            self._narrowed(self._function(module, lanes), whole, lanes)
        one = self._function(module, 1)
        self._of_one(one, whole)
        variants = [f"_ZGV_LLVM_N{lanes}v_{self._name}({self._name}_{lanes})" for lanes in (*_FEWER, LANES)]
        set.add(one.attributes, f'"vector-function-abi-variant"="{",".join(variants)}"')
        return one

    def _function(self, module: Any, lanes: int) -> Any:
        kind = ir.FloatType() if lanes == 1 else ir.VectorType(ir.FloatType(), lanes)
        name = self._name if lanes == 1 else f"{self._name}_{lanes}"
        function = ir.Function(module, ir.FunctionType(kind, [kind]), name)
        function.linkage = _KEPT
        for attribute in (*_ATTRIBUTES, *_WIDE):
            set.add(function.attributes, attribute)  # llvmlite knows of few
        return function

    def _narrowed(self, function: Any, whole: Any, lanes: int) -> None:
        """The first lanes of a vector."""
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        given = function.args[0]
        wider = ir.Constant(_NUMBERS, [min(lane, lanes) for lane in range(LANES)])
        undefined = ir.Constant(given.type, ir.Undefined)
        found = builder.call(whole, [builder.shuffle_vector(given, undefined, wider)])
        first = ir.Constant(ir.VectorType(I32, lanes), list(range(lanes)))
        builder.ret(builder.shuffle_vector(found, ir.Constant(_VECTOR, ir.Undefined), first))

    def _of_one(self, function: Any, whole: Any) -> None:
        """The first lane."""
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        given = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), function.args[0], I32(0))
        builder.ret(builder.extract_element(builder.call(whole, [given]), I32(0)))


def expanded(text: str) -> tuple[str, bool]:
    """A module whose loops are vectorised, told to expand lane functions; and whether there are any.

    >>> expanded('attributes #1 = { noinline nounwind "ngraph_rewrite_lanes" }')
    ('attributes #1 = { alwaysinline nounwind "ngraph_rewrite_lanes" }', True)
    """
    told, count = _MARKED.subn(r"\1alwaysinline\2", text)
    return told, count > 0
