# SPDX-License-Identifier: Apache-2.0
"""The text of a loop whose results are stored past the caches: block by block, from a small array for each result."""

from __future__ import annotations

from collections.abc import Sequence

from ngraph_rewrite.codegen.nest import MapNest, Operand, RowNest, place, stored_name
from ngraph_rewrite.codegen.scalar import expression
from ngraph_rewrite.codegen.source import indented

STREAMED = {"float32": 4, "float64": 8}
_BLOCK = 4096


class Streams:
    """The stores of a nest that go past the caches, in a loop of some dimension.

    Attributes:
        positions: Which these are, among those that are given.
    """

    def __init__(self, nest: MapNest | RowNest, dim: int, positions: Sequence[int]) -> None:
        self.nest, self.dim = nest, dim
        self.positions = [i for i in positions if nest.streamed and _fits(nest.stores[i][1], dim)]

    def arrays(self) -> list[str]:
        """The small arrays."""
        found = [(i, self.nest.stores[i][1].dtype) for i in self.positions]
        return [f"s{i} = workspace_{dtype}({_BLOCK // STREAMED[dtype]})" for i, dtype in found]

    def store(self, position: int, dtypes: Sequence[str], first_buffer: int) -> str:
        """The store of one result into its array."""
        value, operand = self.nest.stores[position]
        text = expression("cast", operand.dtype, [f"v{value}"], {}, [dtypes[value]])
        buffer = first_buffer + self.positions.index(position)
        return f"store_{operand.dtype}(s{position}, i{self.dim} - block, {text}, {buffer})"

    def loop(self, extent: tuple[str, str], body: Sequence[str]) -> list[str]:
        """The loop, in blocks that end where a block of the first result's memory ends."""
        dim, ends = self.dim, extent[1]
        lines = [f"block_stop = min({ends}, block + {self._left(self.positions[0])})"]
        lines += [f"block_stop = min(block_stop, block + {_BLOCK // STREAMED[d]})" for d in self._dtypes()]
        lines += [f"for i{dim} in range(block, block_stop):", indented("\n".join(body), 4)]
        for i in self.positions:
            name, at = self._place(i)
            lines.append(f"stream_{self.nest.stores[i][1].dtype}(s{i}, {name}, {at}, block_stop - block)")
        lines.append("block = block_stop")
        return [f"block = {extent[0]}", f"while block < {ends}:", indented("\n".join(lines), 4)]

    def _dtypes(self) -> list[str]:
        return sorted({self.nest.stores[i][1].dtype for i in self.positions})

    def _place(self, position: int) -> tuple[str, str]:
        """The name of a result's memory, and the index where a block begins."""
        name, operand = stored_name(self.nest, position), self.nest.stores[position][1]
        strides = operand.strides
        rest = Operand(operand.dtype, (*strides[: self.dim], "0", *strides[self.dim + 1 :]))
        return name, f"{place(name, rest)} + block"

    def _left(self, position: int) -> str:
        name, at = self._place(position)
        return f"stream_block({name}, {at}, {STREAMED[self.nest.stores[position][1].dtype]})"


def _fits(operand: Operand, dim: int) -> bool:
    return operand.dtype in STREAMED and operand.strides[dim] == "1"
