# SPDX-License-Identifier: Apache-2.0
"""The order of the loops of a group over rows: innermost is one along which memory lies, if there is one.

The elements of a window are the last axes of all windows. Where windows slide over other axes than the last ones, these
elements lie apart in memory, and next to each other lie those that belong to different windows. Where they slide one by
one over the last axis, both lie next to each other, but a window is short.
"""

from __future__ import annotations

from math import prod

from ngraph_rewrite.plan.nests import Position
from ngraph_rewrite.plan.scalar_programs import RowProgram
from ngraph_rewrite.plan.views import Layout

# Results side by side that are worth a loop of their own.
_FEWEST = 8
# Elements of a row that are no loop worth having innermost, unless each is widened before it is compared or added.
_SHORT, _HALVES = 64, ("float16", "bfloat16")
# Elements of a line of memory, and how many times fewer lines are worth another order.
_LINE, _CLEARLY = 16, 2
# Rows that are enough to share out, and elements of all of them that may be worth it.
_ENOUGH, _LEAST = 16, 1 << 14


def along_memory(program: RowProgram) -> RowProgram:
    """The program with what it reduces before the last loops that it keeps, if memory lies along these.

    If it lies along what is reduced as well, that has to be short.

    What belongs to one row is met in the same order as before.
    """
    lasting = _side_by_side(program)
    if not lasting or prod(program.shape[k] for k in lasting) < _FEWEST:
        return program
    first = [k for k in range(len(program.shape)) if k not in program.axes and k not in lasting]
    return _reordered(program, [*first, *program.axes, *lasting])


def inward(program: RowProgram) -> RowProgram:
    """The program whose last loop is one that it reduces, if operands lie along that one and apart along its last.

    Operands that are computed of a transposed array lie so. What a row has is met in another order then, so places are
    left alone.
    """
    loops = [k for k, n in enumerate(program.shape) if n >= _FEWEST]
    reduced = [k for k in loops if k in program.axes]
    last = max((k for k, n in enumerate(program.shape) if n > 1), default=0)
    if program.totals or 0 in program.shape or not reduced or any(op.startswith("arg") for op, *_ in program.steps):
        return program
    every = [layout.strides for _, layout in program.loads] + [layout.strides for _, _, layout in program.stores]
    found = min(reduced, key=lambda k: (_apart(every, k), -k))
    if found == last or _apart(every, found) * _CLEARLY > _apart(every, last):
        return program
    rows = [k for k in range(len(program.shape)) if k in program.axes and k != found]
    rows.sort(key=lambda k: -max(abs(strides[k]) for strides in every))
    return _reordered(program, [*(k for k in range(len(program.shape)) if k not in program.axes), *rows, found])


def _apart(every: list[tuple[int, ...]], loop: int) -> int:
    """How many lines of memory a step of a loop goes to, in parts of one: nothing is read anew where it stays."""
    return sum(min(abs(strides[loop]), _LINE) for strides in every)


def longest_first(program: RowProgram) -> RowProgram:
    """The program with the longest loop that it keeps first, if what is first has too few indices to share out.

    That is done where rows lie along memory, and loops that are one stretch of it stay together.
    """
    loops = [k for k, n in enumerate(program.shape) if n > 1]
    kept = [k for k in loops if k not in program.axes]
    if len(kept) < 2 or program.totals or loops[-1] not in program.axes or prod(program.shape) < _LEAST:
        return program
    longest = max(kept, key=lambda k: program.shape[k])
    if prod(program.shape[k] for k in _leading(program, kept)) >= min(_ENOUGH, program.shape[longest]):
        return program
    return _reordered(program, [longest, *(k for k in range(len(program.shape)) if k != longest)])


def _leading(program: RowProgram, kept: list[int]) -> list[int]:
    """The first of the loops that are kept, with those after it that are one stretch with it for all operands."""
    shape, found = program.shape, kept[:1]
    every = [at.strides for _, at in program.loads] + [at.strides for _, _, at in program.stores]
    for k in kept[1:]:
        if not all(s[found[-1]] == s[k] * shape[k] for s in every):
            break
        found.append(k)
    return found


def _side_by_side(program: RowProgram) -> list[int]:
    """The last loops that are kept, if all operands lie along them, and what is reduced lies apart or is short."""
    shape, axes = program.shape, program.axes
    loops = [k for k, n in enumerate(shape) if n > 1]
    kept = [k for k in loops if k not in axes]
    if program.totals or 0 in shape or not kept or loops[-1] not in axes:
        return []
    loads, stores = [at.strides for _, at in program.loads], [at.strides for _, _, at in program.stores]
    last = kept.pop()
    apart = not any(abs(s[k]) == 1 for s in loads for k in axes if shape[k] > 1)
    apart = apart or (
        prod(shape[k] for k in axes) <= _SHORT and not any(dtype in _HALVES for dtype, _ in program.loads)
    )
    along = all(s[last] in (0, 1) for s in loads) and any(s[last] for s in loads)
    if not apart or not along or not all(s[last] == 1 for s in stores):
        return []
    found, every = [last], [*loads, *stores]
    while kept and all(s[kept[-1]] == s[found[0]] * shape[found[0]] for s in every):
        found.insert(0, kept.pop())
    return found


def _reordered(program: RowProgram, order: list[int]) -> RowProgram:
    """The same with the loops in another order."""
    shape = tuple([program.shape[k] for k in order])

    def laid(layout: Layout) -> Layout:
        return Layout(layout.offset, shape, tuple([layout.strides[k] for k in order]))

    steps = tuple(
        [
            (op, dtype, operands, Position(laid(a.layout), a.dtype) if isinstance(a, Position) else a)
            for op, dtype, operands, a in program.steps
        ]
    )
    loads = tuple([(dtype, laid(layout)) for dtype, layout in program.loads])
    stores = tuple([(value, dtype, laid(layout)) for value, dtype, layout in program.stores])
    axes = tuple(sorted([order.index(k) for k in program.axes]))
    return RowProgram(shape, loads, steps, stores, axes)
