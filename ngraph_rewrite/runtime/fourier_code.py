# SPDX-License-Identifier: Apache-2.0
"""Steps of Fourier transforms of lines that lie side by side, as vectors: sums of a few rows, times roots of one.

Rows of r m lines become rows of the sums of r of them that are m apart, times a root for each (Stockham; Van Loan,
*Computational frameworks for the fast Fourier transform*, 1992, 1.7). Real parts are a plane, imaginary ones another.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, pi, sin
from typing import Any, NamedTuple

from llvmlite import ir
from numba.core import types
from numba.core.typing import signature

from ngraph_rewrite.runtime.scalar_functions import named
from ngraph_rewrite.runtime.vector_code import I64, everywhere, loop, multiply_add, pointer, words

RADICES = (2, 3, 4, 5, 7, 8, 11, 13)


class _Number(NamedTuple):
    """A vector of complex numbers, its parts apart."""

    real: Any
    imag: Any


class _Arithmetic(NamedTuple):
    """What is done with complex numbers of a dtype."""

    builder: Any
    own: Any

    def plus(self, x: _Number, y: _Number) -> _Number:
        return _Number(self.builder.fadd(x.real, y.real), self.builder.fadd(x.imag, y.imag))

    def minus(self, x: _Number, y: _Number) -> _Number:
        return _Number(self.builder.fsub(x.real, y.real), self.builder.fsub(x.imag, y.imag))

    def times(self, x: _Number, c: Any, s: Any) -> _Number:
        """The product with ``c + is``."""
        builder, own = self.builder, self.own
        real = multiply_add(builder, own, builder.fneg(x.imag), s, builder.fmul(x.real, c))
        return _Number(real, multiply_add(builder, own, x.real, s, builder.fmul(x.imag, c)))

    def turned(self, x: _Number, y: _Number) -> tuple[_Number, _Number]:
        """``x - iy`` and ``x + iy``."""
        add, subtract = self.builder.fadd, self.builder.fsub
        minus = _Number(add(x.real, y.imag), subtract(x.imag, y.real))
        return minus, _Number(subtract(x.real, y.imag), add(x.imag, y.real))

    def scaled(self, x: _Number, factor: float, more: _Number | None = None) -> _Number:
        """``factor x``, and more."""
        factor = ir.Constant(self.own.vector, [factor] * self.own.tile.lanes)
        if more is None:
            return _Number(*(self.builder.fmul(part, factor) for part in x))
        parts = zip(x, more, strict=True)
        return _Number(*(multiply_add(self.builder, self.own, part, factor, other) for part, other in parts))

    def sums(self, x: Sequence[_Number]) -> list[_Number]:
        """The sums of so many numbers, times powers of a root of one."""
        if len(x) == 2:
            return [self.plus(*x), self.minus(*x)]
        return self._halves(x) if len(x) in (4, 8) else self._odd(x)

    def _halves(self, x: Sequence[_Number]) -> list[_Number]:
        """Of those of even places and of odd ones."""
        even, odd = self.sums(x[::2]), self.sums(x[1::2])
        quarter, count = len(x) // 4, len(odd)
        found = [(self.plus(a, b), self.minus(a, b)) for a, b in [(even[0], odd[0])]]
        for k in range(1, count):
            if k == quarter:
                found.append(self.turned(even[k], odd[k]))
            else:
                found.append(self._eighth(even[k], odd[k], k > quarter))
        return [first for first, _ in found] + [second for _, second in found]

    def _eighth(self, x: _Number, y: _Number, third: bool) -> tuple[_Number, _Number]:
        """``x + wy`` and ``x - wy`` of the first power w of an eighth root of one, or the third."""
        builder = self.builder
        total, difference = builder.fadd(y.imag, y.real), builder.fsub(y.imag, y.real)
        turned = _Number(difference, builder.fneg(total)) if third else _Number(total, difference)
        root = 0.5**0.5
        return self.scaled(turned, root, x), self.scaled(turned, -root, x)

    def _odd(self, x: Sequence[_Number]) -> list[_Number]:
        """Of sums and differences of those at the same distance from the first."""
        r = len(x)
        half = range(1, (r + 1) // 2)
        pairs = [(self.plus(x[k], x[r - k]), self.minus(x[k], x[r - k])) for k in half]
        first, found = x[0], [x[0]] * r
        for total, _ in pairs:
            first = self.plus(first, total)
        found[0] = first
        for j in half:
            angles = [2 * pi * (j * k % r) / r for k in half]
            real, imag = x[0], None
            for angle, (total, difference) in zip(angles, pairs, strict=True):
                real = self.scaled(total, cos(angle), real)
                imag = self.scaled(difference, sin(angle), imag)
            assert imag is not None
            found[j], found[r - j] = self.turned(real, imag)
        return found


def _step(builder: Any, radix: int, dtype: str, given: Sequence[Any]) -> None:
    """The loops of a step, with roots or, if no lines are left beside each other, without."""
    source, target, plane, roots, m, row = given
    with builder.if_else(builder.icmp_signed(">", m, I64(1))) as (several, one):
        with several:
            _rows(builder, radix, dtype, (source, target, plane, roots, m, row))
        with one:
            _rows(builder, radix, dtype, (source, target, plane, None, I64(1), row))


def _rows(builder: Any, radix: int, dtype: str, given: Sequence[Any]) -> None:
    source, target, plane, roots, m, row = given
    own = words(dtype)
    arithmetic = _Arithmetic(builder, own)
    apart = builder.mul(m, row)

    def planes(address: Any) -> _Number:
        return _Number(pointer(builder, address, own), pointer(builder, builder.add(address, plane), own))

    with loop(builder, I64(0), m) as p:
        factors = [] if roots is None else _factors(builder, own, radix, roots, p)
        origin = builder.add(source, builder.mul(p, row))
        begin = builder.add(target, builder.mul(p, builder.mul(row, I64(radix))))
        with loop(builder, I64(0), row, own.size * own.tile.lanes) as q:
            at = [builder.add(builder.add(origin, q), builder.mul(apart, I64(k))) for k in range(radix)]
            x = [_Number(*(builder.load(part, align=own.size) for part in planes(place))) for place in at]
            sums = arithmetic.sums(x)
            for k, (c, s) in enumerate(factors, 1):
                sums[k] = arithmetic.times(sums[k], c, s)
            for k, number in enumerate(sums):
                place = builder.add(builder.add(begin, q), builder.mul(row, I64(k)))
                for value, part in zip(number, planes(place), strict=True):
                    builder.store(value, part, align=own.size)


def _factors(builder: Any, own: Any, radix: int, roots: Any, p: Any) -> list[tuple[Any, Any]]:
    """The roots of a row, in all lanes."""
    begin = builder.add(roots, builder.mul(p, I64(2 * (radix - 1) * own.size)))
    numbers = []
    for k in range(2 * (radix - 1)):
        place = builder.inttoptr(builder.add(begin, I64(k * own.size)), own.element.as_pointer())
        numbers.append(everywhere(builder, builder.load(place, align=own.size), own.tile.lanes))
    return [*zip(numbers[::2], numbers[1::2], strict=True)]


def _function(builder: Any, radix: int, dtype: str) -> Any:
    """A function of its own: memory is read by others once it is written."""
    module, name = builder.module, f"ngraph_rewrite_fourier_{radix}_{dtype}"
    if name in module.globals:
        return module.globals[name]
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [I64] * 6), name)
    function.linkage = "internal"
    function.attributes.add("noinline")
    inside = ir.IRBuilder(function.append_basic_block("entry"))
    _step(inside, radix, dtype, function.args)
    inside.ret_void()
    return function


def _word(radix: int, dtype: str) -> Any:
    """A step: the addresses of rows and of what they become, bytes between planes, roots, m, and bytes of a row."""

    def typing(context: Any, source: Any, target: Any, plane: Any, roots: Any, m: Any, row: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
            builder.call(_function(builder, radix, dtype), arguments)
            return context.get_dummy_value()

        return signature(types.none, *[types.int64] * 6), generate

    return named(f"fourier_{radix}_{dtype}", typing)


for _radix in RADICES:
    for _dtype in ("float32", "float64"):
        globals()[f"fourier_{_radix}_{_dtype}"] = _word(_radix, _dtype)
