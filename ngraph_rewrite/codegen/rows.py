# SPDX-License-Identifier: Apache-2.0
"""The loops of a row kernel whose rows lie along memory: kept loops outside, accumulators in variables, rows inside.

Each pass is a loop nest over the row, which stays in cache from one pass to the next. An argmax finds the extremum
first, then its place: both loops vectorise, which one would not.
"""

from ngraph_rewrite.codegen.accumulate import NOWHERE, Accumulator, beginning, combined, ending, located
from ngraph_rewrite.codegen.form import Form
from ngraph_rewrite.codegen.source import indented

_BLOCK = 512  # elements of a float64 sum between two compensated additions


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
    return form.zeros() + lines


def _pass(form: Form, number: int) -> list[str]:
    """One pass over a row."""
    reductions = form.stages.reductions(number)
    items = [form.accumulators[r] for r in reductions]
    lines = [line for item in items for line in beginning(item)]
    body = [
        line
        for r, item in zip(reductions, items, strict=True)
        for line in combined(item, form.operand(r), free_order=True)
    ]
    body += form.add_up(number) + form.keep(number) + [form.store(i) for i in form.stages.stores(number)]
    values = form.stages.needs(number)
    lines += _loops(form, number, len(form.kept), values, body, [item for item in items if item.in_blocks])
    lines += [line for item in items for line in ending(item)]
    return lines + _places(form, number)


def _loops(
    form: Form, number: int, level: int, values: list[int], body: list[str], sums: list[Accumulator]
) -> list[str]:
    """The loops from ``level`` inward; the values that ``level`` loops determine are already computed."""
    if level == form.nest.rank:
        return body
    inner = [form.wide_line(v, number) for v in values if form.depth[v] == level + 1]
    inner += _loops(form, number, level + 1, values, body, sums)
    innermost = level == form.nest.rank - 1
    return _blocks(form.order[level], inner, sums) if sums and innermost else form.loop(form.order[level], inner)


def _places(form: Form, number: int) -> list[str]:
    """Where the extrema are, for argmax and argmin."""
    found = [r for r in form.stages.reductions(number) if len(form.accumulators[r].variables) == 2]
    if not found:
        return []
    places = [form.accumulators[r].variables[1][0] for r in found]
    body = [line for r in found for line in located(form.accumulators[r], form.operand(r), form.position())]
    values = form.stages.needs(number, [form.stages.operands(r)[0] for r in found])
    lines = [f"{at} = {NOWHERE}" for at in places] + _loops(form, number, len(form.kept), values, body, [])
    return lines + [f"{at} = select({at} == {NOWHERE}, np.int64(0), {at})" for at in places]


def _blocks(dim: int, inner: list[str], sums: list[Accumulator]) -> list[str]:
    """A loop in blocks: in each, some sums are taken apart."""
    narrow = any(item.narrow for item in sums)
    length = "sums" if narrow else str(_BLOCK)
    lines = [f"block_stop = min(block + {length}, n{dim})"]
    lines += [line for item in sums for line in item.block_lines[0]]
    lines += [f"for i{dim} in range(block, block_stop):", indented("\n".join(inner), 4)]
    lines += [line for item in sums for line in item.block_lines[1]]
    loop = [f"for block in range(0, n{dim}, {length}):", indented("\n".join(lines), 4)]
    return ["sums = sum_block()", *loop] if narrow else loop
