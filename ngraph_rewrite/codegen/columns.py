# SPDX-License-Identifier: Apache-2.0
"""The loops of a reduction by columns: a block of the innermost, kept loop at once, accumulators in stack arrays."""

from ngraph_rewrite.codegen.accumulate import initial
from ngraph_rewrite.codegen.form import Form
from ngraph_rewrite.codegen.source import indented

_LANES = 256  # accumulators in a block of columns: a few KiB of stack, many vectors


def columns(form: Form) -> list[str]:
    """The loops of a reduction whose innermost loop is kept."""
    dim, outer = form.kept[-1], len(form.kept) - 1
    outside = sorted({*form.before, *form.after})
    first, last = ("start", "stop") if outer == 0 else ("0", f"n{dim}")
    lines = [f"lanes = min({_LANES}, {last} - block)", *_lane_loop(_reset(form))]
    lines += _column_loops(form, outer) + _lane_loop(_index(dim) + _lane_finish(form))
    lines = [f"for block in range({first}, {last}, {_LANES}):", indented("\n".join(lines), 4)]
    for level in range(outer, -1, -1):
        lines = form.values(outside, level, level) + lines
        lines = form.loop(form.order[level - 1], lines) if level else lines
    return _workspaces(form) + lines


def _column_loops(form: Form, level: int) -> list[str]:
    if level == form.nest.rank - 1:
        deepest = form.values(form.before, form.nest.rank, form.nest.rank)
        body = _load_accumulators(form) + form.combine() + _store_accumulators(form)
        return _lane_loop(_index(form.order[-1]) + deepest + body)
    inner = form.values(form.before, level + 1, level + 1) if level + 1 < form.nest.rank else []
    return form.loop(form.order[level], inner + _column_loops(form, level + 1))


def _index(dim: int) -> list[str]:
    return [f"i{dim} = block + lane"]


def _lane_loop(body: list[str]) -> list[str]:
    return ["for lane in range(lanes):", indented("\n".join(body), 4)]


def _variables(form: Form) -> list[tuple[str, str, int]]:
    """Each accumulator variable with its dtype and a buffer number of its own."""
    every = [variable for item in form.accumulators for variable in item.variables]
    first = max(form.nest.buffers, default=-1) + 1
    return [(name, dtype, first + i) for i, (name, dtype) in enumerate(every)]


def _workspaces(form: Form) -> list[str]:
    return [f"{name}_lanes = workspace_{dtype}({_LANES})" for name, dtype, _ in _variables(form)]


def _reset(form: Form) -> list[str]:
    starts = [text for item in form.accumulators for text in initial(item)]
    variables = zip(_variables(form), starts, strict=True)
    return [f"store_{dtype}({name}_lanes, lane, {text}, {buffer})" for (name, dtype, buffer), text in variables]


def _load_accumulators(form: Form) -> list[str]:
    return [f"{name} = load_{dtype}({name}_lanes, lane, {buffer})" for name, dtype, buffer in _variables(form)]


def _store_accumulators(form: Form) -> list[str]:
    return [f"store_{dtype}({name}_lanes, lane, {name}, {buffer})" for name, dtype, buffer in _variables(form)]


def _lane_finish(form: Form) -> list[str]:
    return form.values(form.after, form.nest.rank, form.nest.rank) + _load_accumulators(form) + form.finish()
