# SPDX-License-Identifier: Apache-2.0
"""What both forms of a reduction kernel share: the order of its loops, where each value is computed, how it ends."""

from dataclasses import dataclass
from functools import cached_property

from ngraph_rewrite.codegen.accumulate import Accumulator, accumulator, combined, followed, result
from ngraph_rewrite.codegen.nest import ReduceNest, needed, step_line, store_line, value_line
from ngraph_rewrite.codegen.source import indented


@dataclass(frozen=True)
class Form:
    """A reduction nest with its loops in the order in which they are written."""

    nest: ReduceNest

    @cached_property
    def kept(self) -> list[int]:
        return [dim for dim in range(self.nest.rank) if not self.nest.reduced[dim]]

    @cached_property
    def reduced(self) -> list[int]:
        return [dim for dim in range(self.nest.rank) if self.nest.reduced[dim]]

    @property
    def by_columns(self) -> bool:
        return bool(self.reduced) and not self.nest.reduced[-1]

    @cached_property
    def order(self) -> list[int]:
        """Kept loops outside; by columns, the innermost loop stays innermost."""
        return self.kept[:-1] + self.reduced + self.kept[-1:] if self.by_columns else self.kept + self.reduced

    @cached_property
    def accumulators(self) -> list[Accumulator]:
        one_sum = not self.by_columns  # in columns, plain addition is as accurate as NumPy's sum over an outer axis
        return [
            accumulator(kind, self.nest.dtypes[value], number, one_sum=one_sum)
            for number, (kind, value) in enumerate(self.nest.reductions)
        ]

    @cached_property
    def dtypes(self) -> list[str]:
        """The dtype of every value, reductions and epilogue included."""
        return [*self.nest.dtypes, *self.nest.result_dtypes, *(step.dtype for step in self.nest.epilogue)]

    @cached_property
    def depth(self) -> list[int]:
        """For each load and step, the number of written loops that determine it."""
        place = {dim: level for level, dim in enumerate(self.order, 1)}
        return [max((place[dim] for dim in dims), default=0) for dims in self.nest.dims]

    @cached_property
    def before(self) -> list[int]:
        """The values that the reductions need."""
        return needed(self.nest, (value for _, value in self.nest.reductions))

    @cached_property
    def after(self) -> list[int]:
        """The values that the epilogue and the stores need."""
        late = [value for step in self.nest.epilogue for value in step.operands]
        return needed(self.nest, late + [value for value, _ in self.nest.stores])

    # -- pieces of text ------------------------------------------------------------------------------------------------

    def start(self) -> list[str]:
        """Find this chunk's part of the first kept loop."""
        if not self.kept:
            return ["if chunk > 0:", "    return"]
        length = f"n{self.kept[0]}"
        lines = [f"start = chunk_start({length}, chunk, nchunks)", f"stop = chunk_start({length}, chunk + 1, nchunks)"]
        empty = ["start >= stop"] + [f"n{dim} <= 0" for dim in self.kept[1:]]
        return [*lines, f"if {' or '.join(empty)}:", "    return"]

    def extent(self, dim: int) -> str:
        return "start, stop" if self.kept and dim == self.kept[0] else f"n{dim}"

    def loop(self, dim: int, body: list[str]) -> list[str]:
        return [f"for i{dim} in range({self.extent(dim)}):", indented("\n".join(body), 4)]

    def values(self, chosen: list[int], low: int, high: int) -> list[str]:
        """The values determined by between ``low`` and ``high`` loops."""
        return [value_line(self.nest, value) for value in chosen if low <= self.depth[value] <= high]

    def position(self) -> str:
        """The row-major index over the reduced loops."""
        text = ""
        for dim in self.reduced:
            text = f"({text}) * n{dim} + i{dim}" if text else f"i{dim}"
        return text or "0"

    def finish(self) -> list[str]:
        """Results, epilogue, stores."""
        first = len(self.nest.dtypes)
        lines = [result(item, first + i) for i, item in enumerate(self.accumulators)]
        first += len(self.accumulators)
        lines += [step_line(first + i, step, self.dtypes) for i, step in enumerate(self.nest.epilogue)]
        return lines + [store_line(self.nest, i, self.dtypes) for i in range(len(self.nest.stores))]

    def combine(self) -> list[str]:
        """Take the values of one index into the accumulators."""
        lines: list[str] = []
        for item, (_, value) in zip(self.accumulators, self.nest.reductions, strict=True):
            if self.by_columns and len(item.variables) == 2:
                lines += followed(item, f"v{value}", self.position())
            else:
                lines += combined(item, f"v{value}", free_order=not self.by_columns)
        return lines
