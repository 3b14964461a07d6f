# SPDX-License-Identifier: Apache-2.0
"""An operand of a product is memory and three strides, of numbers or of words of 32 bits that are several of them."""

from __future__ import annotations

from types import MappingProxyType
from typing import NamedTuple

from ngraph_rewrite.plan.blocks import NO_MAPS, Mapped
from ngraph_rewrite.plan.nests import CopyFirst, Load
from ngraph_rewrite.plan.operand_maps import OperandMap
from ngraph_rewrite.plan.shapes import DTYPE_NAMES, DTYPE_SIZES
from ngraph_rewrite.terms.op import Op

_WORD = 4
_PACKED = MappingProxyType(
    {"cpu.gemm_of_pairs": "pairs", "cpu.gemm_of_float_pairs": "float_pairs", "cpu.gemm_of_quads": "quads"}
)


class Matrix(NamedTuple):
    """An operand of a product: where it lies, and its strides from matrix to matrix, of its rows, of its columns.

    Attributes:
        map: What computes it instead, block by block, in the kernel of the product.
    """

    load: Load
    strides: tuple[int, int, int]
    map: OperandMap | None = None

    @property
    def transposed(self) -> Matrix:
        """Its columns as rows, of one that lies in memory."""
        assert self.map is None
        batch, down, along = self.strides
        return Matrix(self.load, (batch, along, down))

    def by_parts(self, axis: int, length: int) -> Matrix:
        """Several matrices instead of one: so many rows each (axis 0), or columns (axis 1)."""
        by = None if self.map is None else self.map.by_parts(axis, length)
        return Matrix(self.load, (length * self.strides[1 + axis], *self.strides[1:]), by)

    @property
    def mapped(self) -> Mapped:
        """How it is computed."""
        return NO_MAPS.a if self.map is None else Mapped(True, self.map.turned)


def matrix(load: Load, transposed: bool) -> Matrix:
    """The matrix that an operand is, or that is transposed."""
    *batch, down, along = load.layout.strides
    found = Matrix(load, (batch[0] if batch else 0, down, along))
    return found.transposed if transposed else found


def numbers_in_a_word(term: Op) -> int:
    """How many of its numbers are one of 32 bits."""
    return _WORD // DTYPE_SIZES[DTYPE_NAMES[term.type.dtype]]


def packed_kind(term: Op) -> str:
    """Of which numbers those of 32 bits are made that a product multiplies, one of `PACKED`; or nothing."""
    found = _PACKED.get(term.definition.name, "")
    return "signed_quads" if found == "quads" and DTYPE_NAMES[term.args[0].type.dtype] == "int8" else found


def in_words(term: Op, load: Load) -> Matrix:
    """An operand as a matrix of numbers of 32 bits, each made of so many in a row as fit.

    Raises:
        CopyFirst: if these do not lie side by side.
    """
    parts, (*batch, down, along) = numbers_in_a_word(term), load.layout.strides
    if parts == 1:
        return matrix(load, False)
    strides = [step if n > 1 else 0 for n, step in zip(load.layout.shape, (*batch, down), strict=False)]
    if along != 1 or any(step % parts for step in strides):
        raise CopyFirst(term)
    *outer, row = (step // parts for step in strides)
    return Matrix(load, (outer[0] if outer else 0, row, 1))
