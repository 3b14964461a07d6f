# SPDX-License-Identifier: Apache-2.0
"""The loops of a reduction by rows: kept loops outside, accumulators in variables, reduced loops inside.

A float64 sum is taken in blocks, whose sums are added with their rounding errors kept. An argmax finds the extremum
first, then its place: both passes vectorise, which one pass would not.
"""

from ngraph_rewrite.codegen.accumulate import NOWHERE, initial, located
from ngraph_rewrite.codegen.form import Form
from ngraph_rewrite.codegen.nest import needed
from ngraph_rewrite.codegen.source import indented

_BLOCK = 512  # elements of a float64 sum between two compensated additions


def rows(form: Form) -> list[str]:
    """The loops of a reduction whose accumulators are variables."""
    kept = len(form.kept)
    outside = sorted({*form.before, *form.after})
    lines = form.values(outside, kept, kept)
    for item in form.accumulators:
        lines += [f"{name} = {text}" for (name, _), text in zip(item.variables, initial(item), strict=True)]
        lines += [f"{item.variables[0][0]}_error = 0.0"] if item.compensated else []
    sums = [item.variables[0][0] for item in form.accumulators if item.compensated]
    lines += _reduced_loops(form, kept, form.before, form.combine(), sums)
    lines += _second_pass(form, kept) + form.finish()
    for level in range(kept - 1, -1, -1):
        lines = form.values(outside, level, level) + form.loop(form.order[level], lines)
    return lines


def _reduced_loops(form: Form, level: int, values: list[int], body: list[str], sums: list[str]) -> list[str]:
    """The loops from ``level`` inward; the values that ``level`` loops determine are already computed."""
    if level == form.nest.rank:
        return body
    inner = form.values(values, level + 1, level + 1) + _reduced_loops(form, level + 1, values, body, sums)
    innermost = level == form.nest.rank - 1
    return _blocks(form.order[level], inner, sums) if sums and innermost else form.loop(form.order[level], inner)


def _second_pass(form: Form, level: int) -> list[str]:
    """Where the extrema are, for argmax and argmin."""
    pairs = zip(form.accumulators, form.nest.reductions, strict=True)
    found = [(item, value) for item, (_, value) in pairs if len(item.variables) == 2]
    if not found:
        return []
    places = [item.variables[1][0] for item, _ in found]
    body = [line for item, value in found for line in located(item, f"v{value}", form.position())]
    loops = _reduced_loops(form, level, needed(form.nest, (value for _, value in found)), body, [])
    lines = [f"{at} = {NOWHERE}" for at in places] + loops
    return lines + [f"{at} = select({at} == {NOWHERE}, np.int64(0), {at})" for at in places]


def _blocks(dim: int, inner: list[str], sums: list[str]) -> list[str]:
    """A loop in blocks: in each, the named sums are taken apart, and what adding them loses is kept."""
    lines = [f"block_stop = min(block + {_BLOCK}, n{dim})"]
    lines += [line for name in sums for line in (f"{name}_total = {name}", f"{name} = 0.0")]
    lines += [f"for i{dim} in range(block, block_stop):", indented("\n".join(inner), 4)]
    for name in sums:
        lines += [
            f"{name}_sum = {name}_total + {name}",
            f"{name}_error += rounding_error({name}_total, {name}, {name}_sum)",
            f"{name} = {name}_sum",
        ]
    return [f"for block in range(0, n{dim}, {_BLOCK}):", indented("\n".join(lines), 4)]
