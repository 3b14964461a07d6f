# SPDX-License-Identifier: Apache-2.0
"""A function of vectors that is written as LLVM IR: transforms of tiles along both axes, and lanes in another order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from llvmlite import ir

from ngraph_rewrite.runtime.vector_code import I32, I64, everywhere, multiply_add, pointer, words

Transform = Callable[["VectorFunction", Sequence[Any]], list[Any]]


class VectorFunction:
    """A function that is written, ``ngraph_rewrite_WORD_DTYPE``; its arguments are so many int64.

    Args:
        variant: What stands between the word and the dtype.
    """

    def __init__(self, word: str, dtype: str, count: int, variant: object = None) -> None:
        name = f"{word}_{dtype}" if variant is None else f"{word}_{variant}_{dtype}"
        self.module, self.own = ir.Module(name), words(dtype)
        kind = ir.FunctionType(ir.VoidType(), [I64] * count)
        self.function = ir.Function(self.module, kind, f"ngraph_rewrite_{name}")
        self.builder = ir.IRBuilder(self.function.append_basic_block("entry"))

    def text(self) -> str:
        """The module, with the function at its end."""
        self.builder.ret_void()
        return str(self.module)

    def load(self, address: Any) -> Any:
        """A vector."""
        return self.builder.load(pointer(self.builder, address, self.own), align=self.own.size)

    def store(self, value: Any, address: Any) -> None:
        """Store a vector, of any length."""
        self.builder.store(value, self.builder.inttoptr(address, value.type.as_pointer()), align=self.own.size)

    def times(self, factor: Fraction, value: Any) -> Any:
        """A number times a vector."""
        return value if factor == 1 else self.builder.fmul(self._constant(factor), value)

    def plus(self, total: Any, factor: Fraction, value: Any) -> Any:
        """A vector and a number times another one."""
        return multiply_add(self.builder, self.own, self._constant(factor), value, total)

    def sum_of(self, one: Any, other: Any) -> Any:
        """Two vectors."""
        return self.builder.fadd(one, other)

    def difference(self, one: Any, other: Any) -> Any:
        """A vector less another one."""
        return self.builder.fsub(one, other)

    def _constant(self, number: Fraction) -> Any:
        return everywhere(self.builder, ir.Constant(self.own.element, float(number)), self.own.tile.lanes)

    def both(self, tile: Sequence[Any], width: int, along: Transform, down: Transform | None = None) -> list[Any]:
        """A rectangle, given row by row, transformed along both axes.

        Args:
            down: The transform of columns; that of rows if not given.
        """
        rows = [along(self, tile[i : i + width]) for i in range(0, len(tile), width)]
        columns = [(down or along)(self, column) for column in zip(*rows, strict=True)]
        return [value for row in zip(*columns, strict=True) for value in row]

    def shuffled(self, one: Any, other: Any, lanes: Sequence[int]) -> Any:
        """These lanes of two vectors."""
        return self.builder.shuffle_vector(one, other, ir.Constant(ir.VectorType(I32, len(lanes)), list(lanes)))

    def interleaved(self, vectors: Sequence[Any]) -> list[Any]:
        """The first lanes of all vectors, then the second ones; of 2 or 4."""
        if len(vectors) == 1:
            return list(vectors)
        n = self.own.tile.lanes
        one, other = (self.interleaved(vectors[i::2]) for i in (0, 1))
        halves = [[i // 2 + n * (i % 2) for i in range(begin, begin + n)] for begin in (0, n)]
        return [self.shuffled(a, b, half) for a, b in zip(one, other, strict=True) for half in halves]
