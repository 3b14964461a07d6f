# SPDX-License-Identifier: Apache-2.0
"""The loops of a row kernel whose rows lie side by side: a block of them at once, accumulators in stack arrays.

Memory is read in order: the innermost loop runs over the lanes of a block, whatever the pass. What is computed once a
row lies in stack arrays as well, for the loops that use it. One pass takes wide blocks, a few indices of the row at a
time, so that accumulators are read and written less often than memory; several take blocks that stay in cache. What is
in no cache is asked for ahead, piece by piece: busy with accumulators, a processor sees too little of what follows.

Of few rows side by side the loops over lanes are told how many: they are a part of a vector, and LLVM fills the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from ngraph_rewrite.codegen.accumulate import Accumulator, combined, ending, followed, initial
from ngraph_rewrite.codegen.form import Form
from ngraph_rewrite.codegen.nest import place
from ngraph_rewrite.codegen.scalar import HALVES, is_real, literal
from ngraph_rewrite.codegen.source import indented
from ngraph_rewrite.types.dtypes import as_dtype

# Indices of a row that one loop over lanes takes in, where a value takes few steps. Memory is read in as many places;
# all of them, and accumulators, may fall on one set of the first cache, which has 8 lines.
_AT_A_TIME = 6
_FEW = 6
# Elements of an operand that are asked for together, and how far ahead: of float32, 16 KiB.
_PIECE, _AHEAD = 64, 4096
_VECTOR = 16  # numbers that few rows are a part of, at most


def columns(form: Form) -> list[str]:
    """The loops of a nest whose innermost loop is kept."""
    written = _Columns(form)
    dim, outer = form.kept[-1], len(form.kept) - 1
    first, last = ("start", "stop") if outer == 0 else ("0", f"n{dim}")
    lines = [] if form.nest.few else [f"lanes = min(width, {last} - block)"]
    for number in range(form.stages.passes + 1):
        lines += written.between(number)
        if number < form.stages.passes:
            lines += written.loops(number, outer)
    if not form.nest.few:
        lines = [f"for block in range({first}, {last}, width):", indented("\n".join(lines), 4)]
    for level in range(outer, -1, -1):
        lines = form.at_once(level, level) + lines
        lines = form.loop(form.order[level - 1], lines) if level else lines
    begin = ["keep_loops()", "block = 0", *written.zeros()] if form.nest.few else [f"width = {form.width()}"]
    return written.arrays() + begin + lines


@dataclass(frozen=True)
class _Columns:
    """The lines of a nest by columns."""

    form: Form

    @cached_property
    def lanes(self) -> list[int]:
        """The values that are computed once a row, in the loops over lanes."""
        return [v for v in self.form.stages.narrow if self.form.depth[v] == self.form.nest.rank]

    @cached_property
    def saved(self) -> dict[int, int]:
        """Those of them that other loops use, with the numbers of their buffers."""
        form, used = self.form, set[int]()
        for number in range(form.stages.passes + 1):
            used |= self._uses(number) - set(self._computes(number))
            used |= set(form.stages.wants(number)) if number < form.stages.passes else set()
        first = form.first_buffer + len(form.stages.workspaces) + len(self.variables)
        return {v: first + i for i, v in enumerate(v for v in self.lanes if v in used)}

    @cached_property
    def variables(self) -> dict[str, tuple[str, int]]:
        """The dtype of each accumulator variable, and the number of its buffer."""
        form = self.form
        every = [variable for r in form.nest.reductions for variable in form.accumulators[r].variables]
        items = [self._item(r, kept=True) for r in form.nest.reductions]
        every += [(item.variables[0][0], "float32") for item in items if item.narrow]
        first = form.first_buffer + len(form.stages.workspaces)
        return {name: (dtype, first + i) for i, (name, dtype) in enumerate(every)}

    def _computes(self, number: int) -> list[int]:
        """The values of lanes that are known before a pass, and were not before the one before it."""
        return [v for v in self.form.between(number) if v in self.lanes]

    def _uses(self, number: int) -> set[int]:
        """The values that the loop before a pass uses."""
        form = self.form
        computed = [v for v in self._computes(number) if v not in form.accumulators]
        found = {operand for v in computed for operand in form.stages.operands(v)}
        return found | {form.nest.stores[i][0] for i in form.stages.stored_before(number)}

    # -- loops ---------------------------------------------------------------------------------------------------------

    def loops(self, number: int, level: int) -> list[str]:
        """The loops of a pass from ``level`` inward."""
        form = self.form
        values, rank = form.stages.needs(number), form.nest.rank
        if level == rank - 1:
            lines = [form.wide_line(v, number) for v in values if form.depth[v] == rank]
            return self._lane_loop(self._read(form.stages.wants(number)) + lines + self._take_in(number))
        if level == rank - 2 and len(values) <= _FEW and not form.stages.stores(number):
            return self._several(number, level)
        inner = [form.wide_line(v, number) for v in values if form.depth[v] == level + 1]
        return form.loop(form.order[level], inner + self.loops(number, level + 1))

    def _several(self, number: int, level: int) -> list[str]:
        """The innermost loop over a row of a pass without stores, several indices at a time, then the rest."""
        form, dim = self.form, self.form.order[level]
        read = self._read(form.stages.wants(number))
        values = [form.wide_line(v, number) for v in form.stages.needs(number) if form.depth[v] > level]
        taken = self._take_in(number, kept=True)
        variables = [line for r in form.stages.reductions(number) for line in self._begun(r)]
        ends = [line for r in form.stages.reductions(number) for line in self._ended(r)]
        count = form.ahead or _AT_A_TIME
        steps = [[f"i{dim} = at + {k}", *values, *taken] for k in range(count)]
        inside = read + variables + [line for step in steps for line in step] + ends
        many = self._pieces(inside, dim, count) if form.ahead else self._lane_loop(inside)
        widened = self._widened(number)
        if count == 1:
            return [f"for at in range(n{dim}):", indented("\n".join(many + widened), 4)]
        going_on = [line for r in form.stages.reductions(number) for line in self._begun(r, anew=False)]
        one = self._lane_loop(read + going_on + [f"i{dim} = at", *values, *taken] + ends)
        rest = [f"for at in range(whole, n{dim}):", indented("\n".join(one), 4)]
        if widened:
            rest = [f"if whole < n{dim}:", indented("\n".join([*self._emptied(number), *rest, *widened]), 4)]
        return [
            f"whole = n{dim} - n{dim} % {count}",
            f"for at in range(0, whole, {count}):",
            indented("\n".join(many + widened), 4),
            *rest,
        ]

    def _pieces(self, body: list[str], dim: int, count: int) -> list[str]:
        """The loop over lanes piece by piece: what is so far ahead in memory is asked for before each."""
        form = self.form
        last, asked = form.order[-1], list[str]()
        for k in range(count):
            asked.append(f"i{dim} = at + ahead + {k}")
            for v, load in enumerate(form.nest.loads):
                if load.strides[last] == "1" and dim in load.dims:
                    size = as_dtype(load.dtype).itemsize
                    asked.append(f"ask_ahead(x{v}, {place(f'x{v}', load)}, {_PIECE}, {size})")
        lines = [
            f"i{last} = block + piece",
            *asked,
            f"for lane in range(piece, min(piece + {_PIECE}, lanes)):",
            indented("\n".join([f"i{last} = block + lane", *body]), 4),
        ]
        start = f"ahead = max({count}, {_AHEAD} // lanes)"
        return [start, f"for piece in range(0, lanes, {_PIECE}):", indented("\n".join(lines), 4)]

    def _take_in(self, number: int, kept: bool = False) -> list[str]:
        """Take the values of one index into the accumulators, and store what is to be stored there.

        Args:
            kept: Whether the accumulators are in variables all the time.
        """
        form, lines = self.form, list[str]()
        for reduction in form.stages.reductions(number):
            item, operand = self._item(reduction, kept), form.operand(reduction)
            two = len(item.variables) == 2
            taken = followed(item, operand, form.position()) if two else combined(item, operand, free_order=item.narrow)
            lines += taken if kept else [*self._load_variables(reduction), *taken, *self._store_variables(reduction)]
        return lines + form.keep(number) + [form.store(i) for i in form.stages.stores(number)]

    def _item(self, reduction: int, kept: bool) -> Accumulator:
        """An accumulator; for NaN one looks beside an extremum that takes in several values.

        Several floats of 16 bits are summed in float32 before they are added to the others.
        """
        item = self.form.accumulators[reduction]
        if kept and item.kind == "sum" and item.dtype in HALVES:
            return replace(item, narrow=True, variables=((f"{item.variables[0][0]}_few", item.dtype),))
        return replace(item, guarded=True) if kept and item.kind in ("max", "min") and is_real(item.dtype) else item

    def _begun(self, reduction: int, anew: bool = True) -> list[str]:
        """Before several values are taken in.

        Args:
            anew: Whether what is summed in float32 begins there, or goes on.
        """
        item = self._item(reduction, kept=True)
        name = item.variables[0][0]
        if item.narrow:
            return item.block_lines[0] if anew else [self._few(name)]
        return self._load_variables(reduction) + [f"{name}_nan = {name} != {name}"] * item.guarded

    def _ended(self, reduction: int) -> list[str]:
        """After that."""
        item = self._item(reduction, kept=True)
        if item.narrow:
            name = item.variables[0][0]
            return [f"store_float32({name}_lanes, lane, {name}, {self.variables[name][1]})"]
        return ending(item) + self._store_variables(reduction)

    def _few(self, name: str) -> str:
        """The line that reads what was summed in float32."""
        return f"{name} = load_float32({name}_lanes, lane, {self.variables[name][1]})"

    def _emptied(self, number: int) -> list[str]:
        """The loop by which sums in float32 begin, of what is taken in one by one."""
        items = [self._item(r, kept=True) for r in self.form.stages.reductions(number)]
        names = [item.variables[0][0] for item in items if item.narrow]
        zero = literal(0, "float32")
        return self._lane_loop([f"store_float32({n}_lanes, lane, {zero}, {self.variables[n][1]})" for n in names])

    def _widened(self, number: int) -> list[str]:
        """The loop that adds what was summed in float32: one of its own, as vectors of both widths would be short."""
        lines = list[str]()
        for reduction in self.form.stages.reductions(number):
            item, (name, _) = self._item(reduction, kept=True), self.form.accumulators[reduction].variables[0]
            if item.narrow:
                lines += [*self._load_variables(reduction), self._few(item.variables[0][0])]
                lines += [f"{name} = {name} + {item.widened}", *self._store_variables(reduction)]
        return self._lane_loop(lines) if lines else []

    def between(self, number: int) -> list[str]:
        """Before a pass: what the passes so far say about each row, and accumulators as they begin."""
        form, computed = self.form, self._computes(number)
        lines = self._read(sorted(self._uses(number) - set(computed)))
        for value in computed:
            lines += self._load_variables(value) if value in form.accumulators else []
            lines.append(form.narrow_line(value))
        for value in (v for v in computed if v in self.saved):
            lines.append(f"store_{form.nest.dtypes[value]}(v{value}_lanes, lane, v{value}, {self.saved[value]})")
        lines += [form.store(i) for i in form.stages.stored_before(number)]
        for reduction in form.stages.reductions(number):
            item = form.accumulators[reduction]
            for (name, dtype), text in zip(item.variables, initial(item), strict=True):
                lines.append(f"store_{dtype}({name}_lanes, lane, {text}, {self.variables[name][1]})")
        return self._lane_loop(lines) if lines else []

    def _lane_loop(self, body: list[str]) -> list[str]:
        inner = [f"i{self.form.order[-1]} = block + lane", *body]
        return [f"for lane in range({self.form.nest.few or 'lanes'}):", indented("\n".join(inner), 4)]

    # -- stack arrays --------------------------------------------------------------------------------------------------

    def arrays(self) -> list[str]:
        """The stack arrays."""
        lines = [f"{name}_lanes = workspace_{dtype}({self.form.lanes})" for name, (dtype, _) in self.variables.items()]
        return lines + [f"v{v}_lanes = workspace_{self.form.nest.dtypes[v]}({self.form.lanes})" for v in self.saved]

    def zeros(self) -> list[str]:
        """Fill the vectors of the stack arrays, of which few rows are a part.

        LLVM loads and computes all of a vector, and where what happens to lie there is a subnormal number, a processor
        takes a hundred times as long.
        """
        buffers = [(name, dtype, buffer) for name, (dtype, buffer) in self.variables.items()]
        buffers += [(f"v{v}", self.form.nest.dtypes[v], buffer) for v, buffer in self.saved.items()]
        zeros = [f"store_{dtype}({name}_lanes, lane, {literal(0, dtype)}, {buffer})" for name, dtype, buffer in buffers]
        return [f"for lane in range({_VECTOR}):", indented("\n".join(zeros), 4)]

    def _read(self, values: list[int]) -> list[str]:
        """What other loops computed."""
        dtypes = self.form.nest.dtypes
        return [f"v{v} = load_{dtypes[v]}(v{v}_lanes, lane, {self.saved[v]})" for v in values if v in self.saved]

    def _store_variables(self, reduction: int) -> list[str]:
        variables = self.form.accumulators[reduction].variables
        return [f"store_{d}({n}_lanes, lane, {n}, {self.variables[n][1]})" for n, d in variables]

    def _load_variables(self, reduction: int) -> list[str]:
        """The accumulator variables of a reduction."""
        names = [name for name, _ in self.form.accumulators[reduction].variables]
        return [f"{n} = load_{self.variables[n][0]}({n}_lanes, lane, {self.variables[n][1]})" for n in names]
