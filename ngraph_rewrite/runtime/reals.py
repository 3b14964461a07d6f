# SPDX-License-Identifier: Apache-2.0
"""A formula over floats and their bits, written with Python's operators, becomes LLVM instructions of one lane or more.

The formulas of the modules beside this one are free of branches, tables and calls, so that LLVM's loop vectoriser puts
each in as many lanes as the processor has. No instruction has a fast-math flag: a sum is rounded as it is written.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

from llvmlite import ir

from ngraph_rewrite.runtime.features import features
from ngraph_rewrite.runtime.scalar_functions import for_gpu, llvm_function, real_function

_FUSING = ("aarch64", "arm64")


@cache
def fuses() -> bool:
    """Whether kernels for this processor may use ``x * y + z`` rounded once: else LLVM would call a slow function."""
    if platform.machine().lower() in _FUSING:
        return True
    return "+fma" in features()


class Format(NamedTuple):
    """What there is to know of a float type.

    Attributes:
        bits: Its width.
        digits: The binary digits of a number, the first included.
        bias: What is added to an exponent.
    """

    bits: int
    digits: int
    bias: int

    @property
    def whole(self) -> float:
        """Added to a number of moderate size, this rounds it to an integer and leaves that in the last bits."""
        return 1.5 * 2.0 ** (self.digits - 1)

    @property
    def tiny(self) -> float:
        """The smallest normal number."""
        return 2.0 ** (1 - self.bias)


SINGLE, DOUBLE = Format(32, 24, 127), Format(64, 53, 1023)
_TYPES = {32: ir.FloatType(), 64: ir.DoubleType()}


# -- numbers, and vectors of them --------------------------------------------------------------------------------------


def element_of(kind: Any) -> Any:
    """The type of a number of a vector, or of one that stands alone."""
    return kind.element if isinstance(kind, ir.VectorType) else kind


def of_element(kind: Any, element: Any) -> Any:
    """A type with as many numbers as another one, of some type."""
    return ir.VectorType(element, kind.count) if isinstance(kind, ir.VectorType) else element


def constant(kind: Any, value: float) -> Any:
    """A number, in all lanes of a vector."""
    return ir.Constant(kind, [value] * kind.count if isinstance(kind, ir.VectorType) else value)


class Bits:
    """An integer as wide as a `Real`; operations wrap."""

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder, self.value = builder, value

    def _other(self, other: Bits | int) -> Any:
        return other.value if isinstance(other, Bits) else constant(self.value.type, other)

    def _new(self, instruction: str, other: Bits | int) -> Bits:
        return Bits(self.builder, getattr(self.builder, instruction)(self.value, self._other(other)))

    def __add__(self, other: Bits | int) -> Bits:
        return self._new("add", other)

    def __sub__(self, other: Bits | int) -> Bits:
        return self._new("sub", other)

    def __and__(self, other: Bits | int) -> Bits:
        return self._new("and_", other)

    def __xor__(self, other: Bits | int) -> Bits:
        return self._new("xor", other)

    def __mul__(self, other: Bits | int) -> Bits:
        return self._new("mul", other)

    def __lshift__(self, other: int) -> Bits:
        return self._new("shl", other)

    def unsigned_shift(self, other: int) -> Bits:
        """Shift right, zeros coming in."""
        return self._new("lshr", other)

    def is_(self, sign: str, other: Bits | int) -> Any:
        """A condition: compared as signed integers."""
        return self.builder.icmp_signed(sign, self.value, self._other(other))

    def where(self, condition: Any, otherwise: Bits) -> Bits:
        """This where the condition holds, else the other."""
        return Bits(self.builder, self.builder.select(condition, self.value, otherwise.value))

    def narrow(self) -> Bits:
        """The lower half."""
        half = ir.IntType(element_of(self.value.type).width // 2)
        return Bits(self.builder, self.builder.trunc(self.value, of_element(self.value.type, half)))

    def real(self) -> Real:
        """The float that has these bits."""
        kind = _TYPES[element_of(self.value.type).width]
        return Real(self.builder, self.builder.bitcast(self.value, of_element(self.value.type, kind)))


class Real:
    """A float32 or a float64 of a kernel, or a vector of them; numbers beside it are constants of its type."""

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder, self.value = builder, value

    @property
    def format(self) -> Format:
        return SINGLE if element_of(self.value.type) == _TYPES[32] else DOUBLE

    @property
    def fused(self) -> bool:
        """Whether ``x * y + z`` is rounded once where it runs: GPUs do that."""
        return for_gpu(self.builder) or fuses()

    def of(self, value: float) -> Real:
        """A constant of the same type."""
        return Real(self.builder, constant(self.value.type, value))

    def _other(self, other: Real | float) -> Any:
        return other.value if isinstance(other, Real) else self.of(other).value

    def _new(self, instruction: str, *others: Real | float) -> Real:
        function = getattr(self.builder, instruction)
        return Real(self.builder, function(self.value, *(self._other(other) for other in others)))

    def _llvm(self, name: str, *others: Real | float) -> Real:
        args = [self.value, *(self._other(other) for other in others)]
        return Real(self.builder, llvm_function(self.builder, name, args))

    # -- arithmetic ----------------------------------------------------------------------------------------------------

    def __add__(self, other: Real | float) -> Real:
        return self._new("fadd", other)

    def __sub__(self, other: Real | float) -> Real:
        return self._new("fsub", other)

    def __mul__(self, other: Real | float) -> Real:
        return self._new("fmul", other)

    def __truediv__(self, other: Real | float) -> Real:
        return self._new("fdiv", other)

    def __radd__(self, other: float) -> Real:
        return self.of(other) + self

    def __rsub__(self, other: float) -> Real:
        return self.of(other) - self

    def __rmul__(self, other: float) -> Real:
        return self.of(other) * self

    def __rtruediv__(self, other: float) -> Real:
        return self.of(other) / self

    def __neg__(self) -> Real:
        if for_gpu(self.builder):  # whose compiler knows of no instruction for it
            return self.of(-0.0) - self
        return Real(self.builder, self.builder.fneg(self.value))

    def times_plus(self, factor: Real | float, term: Real | float) -> Real:
        """``self * factor + term``, rounded once if `fused`, else twice."""
        return self._llvm("llvm.fma", factor, term) if self.fused else self * factor + term

    def polynomial(self, coefficients: Sequence[float]) -> Real:
        """The sum of the coefficients, lowest first, times powers of this, by Horner's rule."""
        total = self.of(coefficients[-1])
        for coefficient in coefficients[-2::-1]:
            total = total.times_plus(self, coefficient)
        return total

    # -- signs, choices, conversions -----------------------------------------------------------------------------------

    def size(self) -> Real:
        """The absolute value."""
        return self._llvm("llvm.fabs")

    def root(self) -> Real:
        """The square root."""
        return self._llvm("llvm.sqrt")

    def truncated(self) -> Real:
        """The number without its fraction."""
        return self._llvm("llvm.trunc")

    def floor(self) -> Real:
        """The greatest integer that is not greater."""
        return self._llvm("llvm.floor")

    def nearest(self) -> Real:
        """The nearest integer, to even at a tie."""
        return self._llvm("llvm.rint")

    def signed_as(self, other: Real) -> Real:
        """The number with another's sign."""
        return self._llvm("llvm.copysign", other)

    def is_(self, sign: str, other: Real | float) -> Any:
        """A condition, false if either is NaN."""
        return self.builder.fcmp_ordered(sign, self.value, self._other(other))

    def is_constant(self) -> Any:
        """Whether LLVM knows which number it is when all is expanded, as a condition."""
        kind = ir.FunctionType(ir.IntType(1), [self.value.type])
        return self.builder.call(
            self.builder.module.declare_intrinsic("llvm.is.constant", [self.value.type], kind), [self.value]
        )

    def is_nan(self) -> Any:
        """Whether it is NaN, as a condition."""
        return self.builder.fcmp_unordered("uno", self.value, self.value)

    def where(self, condition: Any, otherwise: Real | float) -> Real:
        """This where the condition holds, else the other."""
        return Real(self.builder, self.builder.select(condition, self.value, self._other(otherwise)))

    def at_most(self, limit: float) -> Real:
        """The smaller of both; NaN stays NaN."""
        return self.of(limit).where(self.is_(">", limit), self)

    def at_least(self, limit: float) -> Real:
        """The larger of both; NaN stays NaN."""
        return self.of(limit).where(self.is_("<", limit), self)

    def bits(self) -> Bits:
        """Its bits, as an integer."""
        kind = of_element(self.value.type, ir.IntType(self.format.bits))
        return Bits(self.builder, self.builder.bitcast(self.value, kind))

    def double(self) -> Real:
        """The same number as a float64."""
        return Real(self.builder, self.builder.fpext(self.value, of_element(self.value.type, _TYPES[64])))

    def single(self) -> Real:
        """The number rounded to float32."""
        return Real(self.builder, self.builder.fptrunc(self.value, of_element(self.value.type, _TYPES[32])))


# -- formulas as functions of kernels ----------------------------------------------------------------------------------


def kernel_function(formula: Callable[..., Real], instead: Callable[[Real], Real | None] | None = None) -> Any:
    """Return a formula as a function that kernels call with floats of one type, and that is expanded in place.

    Args:
        instead: What gives it for one number where it can, and None where it cannot.
    """

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        given = [Real(builder, arg) for arg in args]
        found = None if instead is None else instead(*given)
        return (formula(*given) if found is None else found).value

    return real_function(formula.__name__.lstrip("_"), formula.__code__.co_argcount, generate)
