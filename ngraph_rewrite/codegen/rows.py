# SPDX-License-Identifier: Apache-2.0
"""The loops of a row kernel whose rows lie along memory: kept loops outside, accumulators in variables, rows inside.

Each pass is a loop nest over the row, which stays in cache from one pass to the next. An argmax finds the extremum
first, then its place: both loops vectorise, which one would not. Where a pass reads float32 and nothing else, functions
in explicit vectors take its two innermost loops; for a place, of all but floats of 16 bits, if there are no others.
Truths are looked at until the result is known (`truths`).

Rows of few elements are written out, and vectors are made of rows that lie side by side (`short_loops`).
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ngraph_rewrite.codegen.accumulate import NOWHERE, Accumulator, beginning, combined, ending, located
from ngraph_rewrite.codegen.form import Form
from ngraph_rewrite.codegen.nest import Operand, distance, place
from ngraph_rewrite.codegen.scalar import DTYPES, HALVES, cast, is_real
from ngraph_rewrite.codegen.short_loops import told
from ngraph_rewrite.codegen.source import indented
from ngraph_rewrite.codegen.streaming import Streams
from ngraph_rewrite.codegen.truths import may_end, truth, until_known
from ngraph_rewrite.types.dtypes import as_dtype

# What is done in explicit vectors where a pass reads memory and nothing else.
_STRETCHES = {"sum": "sum", "max": "max", "min": "min", "argmax": "max", "argmin": "min"}
_PLACES = ("argmax", "argmin")
_PLACED = tuple(dtype for dtype in DTYPES if dtype not in ("bool", *HALVES))
_AHEAD = 8192  # bytes from what is read to what is asked for then
_BLOCK = 512  # elements of a float64 sum between two compensated additions
_SHORT_BLOCK = 1 << 15  # integers of 16 bits whose sum has 32


def rows(form: Form) -> list[str]:
    """The loops of a nest whose accumulators are variables."""
    kept = len(form.kept)
    lines = form.at_once(kept, kept)
    for number in range(form.stages.passes + 1):
        if number:
            lines += [form.narrow_line(value) for value in form.between(number)]
        lines += [form.store(i) for i in form.stages.stored_before(number)]
        if number < form.stages.passes:
            lines += _pass(form, number)
    for level in range(kept - 1, -1, -1):
        lines = form.at_once(level, level) + form.loop(form.order[level], lines)
    if form.nest.few:
        return [told(form.nest, "\n".join(lines))]
    arrays = [line for number in range(form.stages.passes) for line in _streams(form, number).arrays()]
    asked = ["fill_loops()"] if form.nest.filled else []
    return form.zeros() + arrays + asked + lines + (["stream_end()"] if arrays else [])


def _streams(form: Form, number: int) -> Streams:
    """The stores of a pass that go past the caches, if it has nothing but loads and stores to do.

    Where values are kept from one pass to the next, a row has to be in cache where it is written.
    """
    sums = any(form.accumulators[r].in_blocks for r in form.stages.reductions(number))
    stores = [] if sums or form.stages.kept or not form.order else form.stages.stores(number)
    return Streams(form.nest, form.order[-1] if form.order else 0, stores)


def _pass(form: Form, number: int) -> list[str]:
    """One pass over a row."""
    reductions = form.stages.reductions(number)
    if _reads_alone(form, number):
        return _taken_in(form, number)
    items = [form.accumulators[r] for r in reductions]
    lines = [line for item in items for line in beginning(item)]
    body = [
        line
        for r, item in zip(reductions, items, strict=True)
        for line in combined(item, _taken(form, r, item), free_order=True)[: 1 if _is_number(form, r, item) else None]
    ]
    streams, first = _streams(form, number), form.first_buffer + len(form.spare)
    body += form.add_up(number) + form.keep(number)
    body += [
        streams.store(i, form.nest.dtypes, first) if i in streams.positions else form.store(i)
        for i in form.stages.stores(number)
    ]
    values = form.stages.needs(number)
    if may_end(form, number):
        return lines + until_known(form, number, body, _later(form, values))
    lines += _loops(form, number, len(form.kept), values, body, [item for item in items if item.in_blocks], streams)
    lines += [line for item in items for line in ending(item)]
    return lines + _places(form, number, reductions)


def _taken(form: Form, reduction: int, item: Accumulator) -> str:
    """What a pass takes in; of a choice by `isnan`, the value that was chosen, whatever it was chosen from.

    LLVM would put the extremum of what is no NaN, or else an infinity, into another form, which is no reduction to it.
    """
    name, value = form.operand(reduction), form.stages.operands(reduction)[0]
    steps, first = form.nest.steps, len(form.nest.loads)
    step = steps[value - first] if value >= first else None
    if step is None or not item.guarded or step.op != "select" or step.operands[0] < first:
        return name
    return f"overwritten({name})" if steps[step.operands[0] - first].op == "isnan" else name


def _is_number(form: Form, reduction: int, item: Accumulator) -> bool:
    """Whether what is taken in is no NaN, so that none need be looked for: an infinity was chosen for each."""
    steps, first = form.nest.steps, len(form.nest.loads)
    value = form.stages.operands(reduction)[0]
    step = steps[value - first] if value >= first else None
    if step is None or not item.guarded or step.op != "select" or min(step.operands[:2]) < first:
        return False
    asked, chosen = (steps[v - first] for v in step.operands[:2])
    value_of: Any = dict(chosen.attributes).get("value", 0)
    infinite = chosen.op == "constant" and abs(value_of) == math.inf
    return infinite and asked.op == "isnan" and asked.operands == step.operands[2:]


def _reads_alone(form: Form, number: int) -> bool:
    """Whether a pass takes in nothing but numbers as they lie in memory, side by side.

    These are float32; for places alone, any but floats of 16 bits; for sums alone, truths too.
    """
    stages, nest = form.stages, form.nest
    reductions = stages.reductions(number)
    kinds = {form.accumulators[r].kind for r in reductions}
    places = kinds.issubset(_PLACES) and nest.rank - len(form.kept) <= 2
    truths = places or kinds == {"sum"}
    dtypes = (*(_PLACED if places else ("float32",)), *["bool"] * truths)
    operands = [stages.operands(r)[0] for r in reductions]
    loads = {truth(form, v) if truths else v for v in operands}
    return (
        bool(reductions)
        and not nest.few
        and len(form.kept) < nest.rank
        and not (stages.stores(number) or stages.totals(number) or form.keep(number))
        and all(v < len(nest.loads) and nest.loads[v].dtype in dtypes for v in loads)
        and all(nest.loads[v].strides[form.order[-1]] == "1" for v in loads)
        and kinds.issubset(_STRETCHES)
    )


def _taken_in(form: Form, number: int) -> list[str]:
    """The lines of a pass that takes in numbers as they lie in memory, and does nothing else."""
    dims = form.order[len(form.kept) :]
    few = len(dims) <= 2
    found = [r for r in form.stages.reductions(number) if few and form.accumulators[r].kind in _PLACES]
    others = [r for r in form.stages.reductions(number) if r not in found]
    items = [form.accumulators[r] for r in others]
    lines = [line for item in items for line in beginning(item)]
    lines += _stretches(form, others, len(form.kept)) if others else []
    lines += [line for item in items for line in ending(item)] + _places(form, number, others)
    for r in found:
        item = form.accumulators[r]
        lines.append(f"{item.variables[1][0]} = {_stretch(form, r, item.kind, dims)}")
    return lines


def _stretch(form: Form, reduction: int, function: str, dims: Sequence[int]) -> str:
    """The call of a function that takes in stretches of memory, along one loop or two."""
    load = truth(form, form.stages.operands(reduction)[0])
    operand = form.nest.loads[load]
    begin = place(f"x{load}", Operand(operand.dtype, tuple(_outside(operand.strides, dims))))
    rows = f"n{dims[0]}, {distance(f'x{load}', operand, dims[0])}" if len(dims) == 2 else "1, 0"
    return f"row_{function}_{operand.dtype}(x{load}, {begin}, n{dims[-1]}, {rows})"


def _stretches(form: Form, reductions: Sequence[int], level: int) -> list[str]:
    """The loops from ``level`` inward; the innermost two are a function that takes in stretches of memory."""
    dims = form.order[level:]
    if len(dims) > 2:
        return form.loop(dims[0], _stretches(form, reductions, level + 1))
    lines = []
    later = {v for number in range(1, form.stages.passes) for v in _brought(form, number)}
    for r in reductions:
        load, item = truth(form, form.stages.operands(r)[0]), form.accumulators[r]
        if form.nest.loads[load].dtype == "bool":
            total = f"{item.variables[0][0]}{'_total' * item.narrow}"
            dtype = item.dtype if not is_real(item.dtype) else "float64"
            lines.append(f"{total} += {cast(_stretch(form, r, 'sum', dims), 'int64', dtype)}")
            continue
        asked = "asked_" if load in later else ""
        lines.append(f"v{load} = {asked}{_stretch(form, r, _STRETCHES[item.kind], dims)}")
        if item.kind == "sum":
            name = item.variables[0][0]
            lines.append(f"{name} = add_reassociated({name}, v{load})")
        else:
            lines += combined(item, f"v{load}", free_order=True)
    return lines


def _outside(strides: Sequence[str], dims: Sequence[int]) -> Iterator[str]:
    """The strides, none along these loops."""
    return ("0" if dim in dims else stride for dim, stride in enumerate(strides))


def _loops(
    form: Form,
    number: int,
    level: int,
    values: list[int],
    body: list[str],
    sums: list[Accumulator],
    streams: Streams | None = None,
) -> list[str]:
    """The loops from ``level`` inward; the values that ``level`` loops determine are already computed."""
    if level == form.nest.rank:
        return body
    inner = [form.wide_line(v, number) for v in values if form.depth[v] == level + 1]
    inner += _loops(form, number, level + 1, values, body, sums, streams)
    innermost = level == form.nest.rank - 1
    if innermost and streams is not None and streams.positions:
        return streams.loop(("0", f"n{form.order[level]}"), inner)
    if not innermost or not (sums or _later(form, values)):
        return form.loop(form.order[level], inner)
    return _blocks(form.order[level], inner, sums, _next_row(form, number) or _later(form, values))


def _brought(form: Form, number: int) -> list[int]:
    """The loads whose next row a pass asks for, while it computes functions of one: that takes time and no memory."""
    functions = any(form.accumulators[r].narrow for r in form.stages.reductions(number))
    if not (functions and number and form.kept and len(form.reduced) == 1):
        return []
    outside, dim, loads = form.kept[-1], form.reduced[0], form.nest.loads
    given = (v for v in form.stages.needs(number) if v < len(loads))
    return [v for v in given if loads[v].strides[dim] == "1" and loads[v].strides[outside] != "0"]


def _next_row(form: Form, number: int) -> list[str]:
    """The lines that ask for a block of the next row."""
    loads, outside = form.nest.loads, form.order[len(form.kept) - 1]
    return _asked(form, _brought(form, number), lambda v, size: f"{distance(f'x{v}', loads[v], outside)} + block")


def _asked(form: Form, values: Sequence[int], behind: Callable[[int, int], str]) -> list[str]:
    """The lines that ask for a block of each load that lies along the last loop, some elements behind its row."""
    dim, lines = form.order[-1], list[str]()
    for v in values:
        load = form.nest.loads[v] if v < len(form.nest.loads) else None
        if load is not None and load.strides[dim] == "1":
            at = place(f"x{v}", Operand(load.dtype, tuple(_outside(load.strides, [dim]))))
            size = as_dtype(load.dtype).itemsize
            lines.append(f"ask_ahead(x{v}, {at} + {behind(v, size)}, block_stop - block, {size})")
    return lines


def _later(form: Form, values: Sequence[int]) -> list[str]:
    """Of what is in no cache, what is read two pages later is asked for block by block."""
    return _asked(form, values, lambda v, size: f"block + {_AHEAD // size}") if form.ahead else []


def _places(form: Form, number: int, reductions: Sequence[int]) -> list[str]:
    """Where the extrema are, for argmax and argmin."""
    found = [r for r in reductions if form.accumulators[r].kind in _PLACES]
    if not found:
        return []
    places = [form.accumulators[r].variables[1][0] for r in found]
    body = [line for r in found for line in located(form.accumulators[r], form.operand(r), form.position())]
    values = form.stages.needs(number, [form.stages.operands(r)[0] for r in found])
    lines = [f"{at} = {NOWHERE}" for at in places] + _loops(form, number, len(form.kept), values, body, [])
    return lines + [f"{at} = select({at} == {NOWHERE}, np.int64(0), {at})" for at in places]


def _blocks(dim: int, inner: list[str], sums: list[Accumulator], first: list[str]) -> list[str]:
    """A loop in blocks: in each, some sums are taken apart; some lines come first."""
    narrow = any(item.narrow and not item.is_short for item in sums)
    short = all(item.is_short for item in sums) and sums
    length = "sums" if narrow else str(_SHORT_BLOCK if short else _BLOCK)
    lines = [f"block_stop = min(block + {length}, n{dim})", *first]
    lines += [line for item in sums for line in item.block_lines[0]]
    lines += [f"for i{dim} in range(block, block_stop):", indented("\n".join(inner), 4)]
    lines += [line for item in sums for line in item.block_lines[1]]
    loop = [f"for block in range(0, n{dim}, {length}):", indented("\n".join(lines), 4)]
    return ["sums = sum_block()", *loop] if narrow else loop
