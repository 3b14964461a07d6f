# SPDX-License-Identifier: Apache-2.0
"""A pass over truths along memory ends with the block that settles the result.

Where rows are parts of one, each looks at the begin of the first one before its own: what is often true, or is so from
the begin on, costs next to nothing, and no thread waits for another. A row does not if it has a value of its own, which
is not that of the first one: of a position, the number of those before it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ngraph_rewrite.codegen.accumulate import NOWHERE, located
from ngraph_rewrite.codegen.form import Form
from ngraph_rewrite.codegen.scalar import is_real
from ngraph_rewrite.codegen.source import indented

_ENDS = {"any": True, "all": False, "argmax": 1, "argmin": 0}  # the truth after which nothing changes any more
BLOCK = 2048  # truths that are looked at together


def may_end(form: Form, number: int) -> bool:
    """Whether a pass does nothing but reduce truths in one loop: a place is looked for, or there are blocks."""
    stages, nest = form.stages, form.nest
    reductions = stages.reductions(number)
    operands = [stages.operands(r)[0] for r in reductions]
    truths = all(nest.dtypes[truth(form, v)] == "bool" and not is_real(nest.dtypes[v]) for v in operands)
    beside = stages.stores(number) or stages.totals(number) or form.keep(number)
    alone = len(form.reduced) == 1 and not (nest.few or beside)
    kinds = {form.accumulators[r].kind for r in reductions}
    return alone and truths and kinds.issubset(_ENDS) and (nest.long or not kinds.issubset(("any", "all")))


def truth(form: Form, value: int) -> int:
    """The bool that a value is made of, if it is one as a number; else the value."""
    first = len(form.nest.loads)
    if value < first:
        return value
    step = form.nest.steps[value - first]
    (operand, *_) = step.operands or (value,)
    is_truth = step.op == "cast" and form.nest.dtypes[operand] == "bool"
    return operand if is_truth else value


def until_known(form: Form, number: int, body: Sequence[str], asked: Sequence[str]) -> list[str]:
    """A pass up to the block after which nothing changes any more; a place is looked for in that block alone.

    Args:
        body: The lines that take in a truth.
        asked: Those that ask for memory before a block.
    """
    reductions, dim = form.stages.reductions(number), form.order[-1]
    places = [r for r in reductions if len(form.accumulators[r].variables) == 2]
    known = [_is_settled(form, r) for r in reductions]
    lines = [
        f"block_stop = min(block + {BLOCK}, n{dim})",
        *asked,
        *_block(form, number, form.stages.needs(number), body),
    ]
    lines += [line for r in places for line in _searched(form, number, r)]
    lines += [f"if {' and '.join(known)}:", "    break"]
    found = [form.accumulators[r].variables[1][0] for r in places]
    begins = [f"{at} = {NOWHERE}" for at in found]
    ends = [f"{at} = select({at} == {NOWHERE}, np.int64(0), {at})" for at in found]
    if not form.nest.parts or places or form.at_once(1, len(form.kept)):
        return [*begins, f"for block in range(0, n{dim}, {BLOCK}):", indented("\n".join(lines), 4), *ends]
    kept = f"i{form.kept[0]}"
    lines = [f"{kept} = select(turn < 0, 0, own)", "block = max(turn, 0)", *lines]
    loop = [f"for turn in range({-BLOCK}, n{dim}, {BLOCK}):", indented("\n".join(lines), 4)]
    return [f"own = {kept}", *loop, f"{kept} = own"]


def _block(form: Form, number: int, values: Sequence[int], body: Sequence[str]) -> list[str]:
    """The loop over a block."""
    inner = [form.wide_line(v, number) for v in values]
    return [f"for i{form.order[-1]} in range(block, block_stop):", indented("\n".join([*inner, *body]), 4)]


def _is_settled(form: Form, reduction: int) -> str:
    """The condition under which no truth changes a result any more."""
    item = form.accumulators[reduction]
    return f"{item.variables[0][0]} == {_ENDS[item.kind]}"


def _searched(form: Form, number: int, reduction: int) -> list[str]:
    """Find the place in a block, if it is the first one that has it."""
    item, values = form.accumulators[reduction], form.stages.needs(number, form.stages.operands(reduction))
    # behind all places: the least of a place and the greatest number would be a choice, which is no reduction to LLVM
    lines = located(item, form.operand(reduction), form.position(), f"n{form.order[-1]}")
    loop = _block(form, number, values, lines)
    return [f"if {_is_settled(form, reduction)} and {item.variables[1][0]} == {NOWHERE}:", indented("\n".join(loop), 4)]
