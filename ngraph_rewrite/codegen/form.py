# SPDX-License-Identifier: Apache-2.0
"""What both forms of a row kernel share: the order of its loops, where each value is computed, and lines of text."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ngraph_rewrite.codegen.accumulate import Accumulator, accumulator, result
from ngraph_rewrite.codegen.nest import RowNest, place, step_line, store_line, stored_name, value_line
from ngraph_rewrite.codegen.scalar import HALVES, cast
from ngraph_rewrite.codegen.source import indented
from ngraph_rewrite.codegen.stages import Stages

LANES = 1024  # rows side by side that are reduced at once, at most: a page of each index, some KiB of stack
BROAD = 2048  # so many, where all of an index is read before the next one
_LEAST, _IN_CACHE = 64, 1 << 16  # at least, and elements of a block that stay in cache from one pass to the next


def block_width(length: int) -> int:
    """How many rows of a length that lie side by side several passes go over at once.

    >>> block_width(10), block_width(100), block_width(10_000)
    (1024, 655, 64)
    """
    return max(_LEAST, min(LANES, _IN_CACHE // max(length, 1)))


@dataclass(frozen=True)
class Form:
    """A row nest with its loops in the order in which they are written.

    Attributes:
        ahead: By columns, how many indices of a row are taken in at once where memory is asked for others; by rows,
            whether it is. 0 where it is not.
    """

    nest: RowNest
    ahead: int = 0

    @cached_property
    def stages(self) -> Stages:
        return Stages(self.nest)

    @cached_property
    def kept(self) -> list[int]:
        return [dim for dim in range(self.nest.rank) if not self.nest.reduced[dim]]

    @cached_property
    def reduced(self) -> list[int]:
        return [dim for dim in range(self.nest.rank) if self.nest.reduced[dim]]

    @property
    def by_columns(self) -> bool:
        """Whether rows lie side by side: the innermost loop is kept, and a block of its indices is reduced at once."""
        return bool(self.reduced) and not self.nest.reduced[-1]

    @cached_property
    def order(self) -> list[int]:
        """Kept loops outside; by columns, the innermost loop stays innermost."""
        return self.kept[:-1] + self.reduced + self.kept[-1:] if self.by_columns else self.kept + self.reduced

    @cached_property
    def depth(self) -> list[int]:
        """For each load and step, the number of written loops that determine it; what reductions give, lanes have."""
        at = {dim: level for level, dim in enumerate(self.order, 1)}
        found = [max((at[dim] for dim in dims), default=0) for dims in self.nest.dims]
        late = self.nest.stages if self.by_columns else ()
        return found if not late else [self.nest.rank if s else d for d, s in zip(found, late, strict=True)]

    @cached_property
    def accumulators(self) -> dict[int, Accumulator]:
        """The accumulator of each reduction."""
        found, first = {}, len(self.nest.loads)
        for number, value in enumerate(self.nest.reductions):
            step = self.nest.steps[value - first]
            dtype = self.nest.dtypes[step.operands[0]]
            # by columns, plain addition is as accurate as NumPy's sum over an outer axis
            in_blocks = bool(self.reduced) and not self.by_columns and not self.nest.few
            # functions then have vectors of one width; numbers of 16 bits, and products, which are rounded to float32,
            # are added up in float32 with next to no error beside that
            narrow = self.stages.has_functions(self.nest.stages[value] - 1) or self._is_rounded(step.operands[0])
            short = self.nest.long and self._is_widened(step.operands[0])
            narrow = in_blocks and narrow
            how = {"in_blocks": in_blocks, "narrow": narrow, "short": short}
            found[value] = accumulator(step.op, dtype, step.dtype, number, **how)
        return found

    def _is_widened(self, value: int) -> bool:
        """Whether a value is an integer of 64 bits that was one of 16 at most, or a bool."""
        step = self.nest.steps[value - len(self.nest.loads)] if value >= len(self.nest.loads) else None
        if step is None or step.op != "cast" or step.dtype not in ("int64", "uint64"):
            return False
        return self.nest.dtypes[step.operands[0]] in ("bool", "int8", "uint8", "int16", "uint16")

    def _is_rounded(self, value: int) -> bool:
        """Whether a value is a product, or a float of 16 bits, or a float16 that was cast."""
        step = self.nest.steps[value - len(self.nest.loads)] if value >= len(self.nest.loads) else None
        origin = step.operands[0] if step is not None and step.op == "cast" else value
        is_product = step is not None and step.op == "multiply"
        return is_product or self.nest.dtypes[value] in HALVES or self.nest.dtypes[origin] == "float16"

    def operand(self, reduction: int) -> str:
        """The name of the value that is reduced."""
        return f"v{self.stages.operands(reduction)[0]}"

    @property
    def first_buffer(self) -> int:
        """The first number that no buffer of the nest has; workspaces have the first ones."""
        return max(self.nest.buffers, default=-1) + 1

    # -- pieces of text ------------------------------------------------------------------------------------------------

    def start(self) -> list[str]:
        """Find this chunk's part of the first kept loop, its sums over all rows, and the workspaces of its thread."""
        if self.nest.is_whole:
            return ["if chunk > 0:", "    return"]
        length = f"n{self.kept[0]}"
        lines = [f"start = chunk_start({length}, chunk, nchunks)", f"stop = chunk_start({length}, chunk + 1, nchunks)"]
        empty = ["start >= stop"] + [f"n{dim} <= 0" for dim in self.kept[1:]]
        lines += [f"if {' or '.join(empty)}:", "    return"]
        moved = [f"{name} += {'chunk' if name in self.totals else 'thread'} * {name}_bytes" for name in self.spare]
        return lines + moved

    @property
    def spare(self) -> list[str]:
        """The names of workspaces, and of the memory for sums over all rows."""
        return [f"w{i}" for i in range(len(self.stages.workspaces))] + self.totals

    @property
    def totals(self) -> list[str]:
        """The names of the memory for sums over all rows."""
        return [f"t{i}" for i in range(len(self.nest.totals))]

    def zeros(self) -> list[str]:
        """Begin the sums over all rows."""
        length = " * ".join(f"n{dim}" for dim in self.reduced)
        body = [f"store_float64(t{i}, at, 0.0, {self._total_buffer(i)})" for i in range(len(self.nest.totals))]
        return [f"for at in range({length}):", indented("\n".join(body), 4)] if body else []

    def add_up(self, number: int) -> list[str]:
        """Add to the sums over all rows what a pass knows of this one."""
        lines = []
        for i in self.stages.totals(number):
            value, place = self.nest.totals[i], f"t{i}, {self.position()}"
            wide = cast(f"v{value}", self.nest.dtypes[value], "float64")
            lines.append(f"t{i}_sum = load_float64({place}, {self._total_buffer(i)}) + {wide}")
            lines.append(f"store_float64({place}, t{i}_sum, {self._total_buffer(i)})")
        return lines

    def _total_buffer(self, total: int) -> int:
        return self.first_buffer + len(self.stages.workspaces) + total

    def width(self) -> str:
        """The lanes of a block by columns: one pass takes as many as there are, more passes what `block_width` says."""
        if self.stages.passes == 1:
            return str(self.lanes)
        length = " * ".join(f"n{dim}" for dim in self.reduced)
        return f"max({_LEAST}, min({LANES}, {_IN_CACHE} // max({length}, 1) // {_LEAST} * {_LEAST}))"

    @property
    def lanes(self) -> int:
        """How many a block by columns has at most."""
        return BROAD if self.ahead == 1 else LANES

    def extent(self, dim: int) -> str:
        return "start, stop" if self.kept and dim == self.kept[0] else f"n{dim}"

    def loop(self, dim: int, body: list[str]) -> list[str]:
        return [f"for i{dim} in range({self.extent(dim)}):", indented("\n".join(body), 4)]

    def position(self) -> str:
        """The row-major index over the reduced loops."""
        text = ""
        for dim in self.reduced:
            text = f"({text}) * n{dim} + i{dim}" if text else f"i{dim}"
        return text or "0"

    def at_once(self, low: int, high: int) -> list[str]:
        """The values that no pass has to go before, determined by between ``low`` and ``high`` loops."""
        known = [v for v in self.stages.narrow if self.nest.stages[v] == 0]
        return [value_line(self.nest, v) for v in known if low <= self.depth[v] <= high]

    def between(self, stage: int) -> list[int]:
        """The values that are computed once a row, before pass ``stage`` and after the one before it."""
        return [v for v in self.stages.narrow if self.nest.stages[v] == stage]

    def narrow_line(self, value: int) -> str:
        """The assignment of a value that is computed once a row."""
        if value in self.accumulators:
            return result(self.accumulators[value], f"v{value}")
        return self.computed(value)

    def computed(self, value: int) -> str:
        """The assignment of a load or of a step."""
        if value < len(self.nest.loads):
            return value_line(self.nest, value)
        return step_line(value, self.nest.steps[value - len(self.nest.loads)], self.nest.dtypes)

    def store(self, position: int) -> str:
        return store_line(self.nest, position, self.nest.dtypes)

    # -- values that later passes read ---------------------------------------------------------------------------------

    def wide_line(self, value: int, number: int) -> str:
        """The assignment of a value in a pass: read, if an earlier pass kept it."""
        if value in self.stages.kept and self.nest.stages[value] < number:
            name, index, buffer = self._kept_at(value)
            return f"v{value} = load_{self.nest.dtypes[value]}({name}, {index}, {buffer})"
        return self.computed(value)

    def keep(self, number: int) -> list[str]:
        """The stores of a pass for later ones, but for what is stored there anyway."""
        lines = []
        for value, where in self.stages.kept.items():
            own = where.store is not None and self.nest.stores[where.store][0] == value
            if self.nest.stages[value] == number and not own:
                name, index, buffer = self._kept_at(value)
                lines.append(f"store_{self.nest.dtypes[value]}({name}, {index}, v{value}, {buffer})")
        return lines

    def _kept_at(self, value: int) -> tuple[str, str, int]:
        """The name of the memory, the index there, and the number of the buffer."""
        where = self.stages.kept[value]
        if where.store is not None:
            name, operand = stored_name(self.nest, where.store), self.nest.stores[where.store][1]
            return name, place(name, operand), self.nest.buffers[len(self.nest.loads) + where.store]
        assert where.workspace is not None
        index = f"({self.position()}) * width + lane" if self.by_columns else self.position()
        return f"w{where.workspace}", index, self.first_buffer + where.workspace
