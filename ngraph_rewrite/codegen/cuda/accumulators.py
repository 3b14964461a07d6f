# SPDX-License-Identifier: Apache-2.0
"""How the threads that share a row reduce it: what each takes in, and how what they found becomes one, always alike.

Sums and products of floats are float64. A maximum propagates NaN; among equals the least place wins.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from ngraph_rewrite.codegen.accumulate import Accumulator, accumulator, combined, followed, initial, result
from ngraph_rewrite.codegen.nest import RowNest
from ngraph_rewrite.codegen.scalar import expression, held
from ngraph_rewrite.codegen.source import indented
from ngraph_rewrite.types.dtypes import as_dtype

WARPS = 32  # in a block, at most
REGISTERS = 32  # of a thread, for what it reads of four neighbours and finds of them
_WORD = 4  # bytes of a register


@dataclass(frozen=True)
class Reduction:
    """One reduction of a row.

    Attributes:
        kind: What it is: sum, prod, max, min, argmax, argmin, any or all.
        dtype, result: Those of its values and of its result.
        number: Which of the reductions of its kernel it is.
    """

    kind: str
    dtype: str
    result: str
    number: int

    @cached_property
    def _item(self) -> Accumulator:
        return accumulator(self.kind, self.dtype, self.result, self.number, in_blocks=False)

    @property
    def variables(self) -> list[tuple[str, str]]:
        """The names of its accumulators, with the dtypes in which they are held: one, or two if it finds a place."""
        return [(name, held(dtype)) for name, dtype in self._item.variables]

    @property
    def registers(self) -> int:
        """How many registers its accumulators take."""
        return _registers(dtype for _, dtype in self.variables)

    def begun(self) -> list[str]:
        """The lines before any value is seen."""
        return [f"{name} = {text}" for (name, _), text in zip(self.variables, initial(self._item), strict=True)]

    def taken(self, value: str, position: str) -> list[str]:
        """The lines that take one value in."""
        if len(self.variables) == 2:
            return followed(self._item, value, position)
        return combined(self._item, value, free_order=False)

    def taken_together(self, values: Sequence[str], positions: Sequence[str]) -> list[str]:
        """The lines that take several values in, the first of them first.

        Float32 are added in pairs before they become float64, which is as accurate as NumPy's pairwise summation. A
        place is looked for only if one of the values is ahead of what was found.
        """
        (name, _), *place = self.variables
        if place:
            word, ahead = ("maximum", "above") if self.kind == "argmax" else ("minimum", "below")
            lines = [line for v, at in zip(values, positions, strict=True) for line in self.taken(v, at)]
            return [
                f"best = {paired(values, word + '({}, {})')}",
                f"if {ahead}(best, {name}):",
                indented("\n".join(lines), 4),
            ]
        if self.kind in ("max", "min"):
            return self.taken(paired(values, f"{self.kind}imum({{}}, {{}})"), positions[0])
        if self.kind == "sum" and held(self.dtype) == "float32":
            return [f"{name} = {name} + to_float64({paired(values, '({} + {})')})"]
        return [line for v, at in zip(values, positions, strict=True) for line in self.taken(v, at)]

    def joined(self, *others: str) -> list[str]:
        """The lines that take in what another thread found, given its accumulators."""
        (name, dtype), *place = self.variables
        if place:
            at, which = place[0][0], "above" if self.kind == "argmax" else "below"
            nearer = f"(same({others[0]}, {name}) & ({others[1]} < {at}))"
            return [
                f"better = {which}({others[0]}, {name}) | {nearer}",
                f"{name} = select(better, {others[0]}, {name})",
                f"{at} = select(better, {others[1]}, {at})",
            ]
        op = {"sum": "add", "prod": "multiply", "max": "maximum", "min": "minimum", "any": "add", "all": "multiply"}
        return [f"{name} = {expression(op[self.kind], dtype, [name, others[0]], {}, [dtype, dtype])}"]

    def ended(self, name: str) -> str:
        """The line that gives a name the result."""
        return result(self._item, name)


def paired(values: Sequence[str], text: str) -> str:
    """The text of values combined two by two, which are a power of two in number.

    >>> paired(["a", "b", "c", "d"], "({} + {})")
    '((a + b) + (c + d))'
    """
    while len(values) > 1:
        values = [text.format(*values[i : i + 2]) for i in range(0, len(values), 2)]
    return values[0]


def in_warp(reductions: Iterable[Reduction]) -> list[str]:
    """The lines after which every thread of a warp has what all of them found."""
    return _exchanged(reductions, "warp_lanes()")


def _exchanged(reductions: Iterable[Reduction], lanes: str) -> list[str]:
    """The lines after which every thread of so many neighbours, a power of two, has what all of them found."""
    body = []
    for one in reductions:
        others = [f"{name}_other" for name, _ in one.variables]
        body += [f"{o} = shuffled_{t}({n}, apart)" for o, (n, t) in zip(others, one.variables, strict=True)]
        body += one.joined(*others)
    body.append("apart //= 2")
    return [f"apart = {lanes} // 2", "while apart > 0:", indented("\n".join(body), 4)]


def in_block(reductions: Iterable[Reduction], threads: str) -> list[str]:
    """The lines after which every thread of a block has what all of them found: by warps, then what these found so.

    Every warp takes together what all of them found; of warps that are fewer than its threads, some of these have the
    same. Another barrier has to come before they do it again.

    Args:
        threads: The text of how many threads the block has, a power of two.
    """
    every = list(reductions)
    kept = [(n, t) for one in every for n, t in one.variables]
    body = [line for one in every for line in one.joined(*[f"{n}_shared[other]" for n, _ in one.variables])]
    body.append("other += warp_lanes()")
    return [
        *in_warp(every),
        "if lane() % warp_lanes() == 0:",
        *(f"    {n}_shared[lane() // warp_lanes()] = {n}" for n, _ in kept),
        "barrier()",
        f"several = lesser({threads} // warp_lanes(), warp_lanes())",
        "other = lane() & (several - 1)",
        *(f"{n} = {n}_shared[other]" for n, _ in kept),
        "other += warp_lanes()",
        f"while other < {threads} // warp_lanes():",
        indented("\n".join(body), 4),
        *_exchanged(every, "several"),
    ]


def in_columns(reductions: Iterable[Reduction]) -> list[str]:
    """The lines after which every thread of a column (`down` of `depth` there are) has what all of them found.

    Half of the threads take in what the other half found, then half of these, and so on.
    """
    every = list(reductions)
    names = [name for one in every for name, _ in one.variables]
    kept = [f"{name}_shared[lane()] = {name}" for name in names]
    found = [[f"{name}_shared[(down + apart) * width + beside]" for name, _ in one.variables] for one in every]
    joined = [line for one, others in zip(every, found, strict=True) for line in one.joined(*others)]
    turn = ["apart = (left_over + 1) // 2", "barrier()"]
    turn += ["if down + apart < left_over:", indented("\n".join([*joined, *kept]), 4), "left_over = apart"]
    lines = [*kept, "left_over = depth", "while left_over > 1:", indented("\n".join(turn), 4), "barrier()"]
    return [*lines, *(f"{name} = {name}_shared[beside]" for name in names)]


def shared(reductions: Iterable[Reduction], length: int) -> list[str]:
    """The lines that set up the memory in which threads of a block leave what they found."""
    return [f"{n}_shared = shared_{t}({length})" for one in reductions for n, t in one.variables]


def reductions_of(nest: RowNest, near: int = 1) -> dict[int, list[Reduction]]:
    """The reductions of a nest, by value: one for each of some neighbours, if these have different ones."""
    found: dict[int, list[Reduction]] = {}
    for number, value in enumerate(nest.reductions):
        step = nest.steps[value - len(nest.loads)]
        count = near if nest.rank - 1 in nest.dims[value] else 1
        dtype = nest.dtypes[step.operands[0]]
        found[value] = [Reduction(step.op, dtype, step.dtype, number * near + k) for k in range(count)]
    return found


def registers_for(nest: RowNest, near: int, places: int) -> int:
    """How many registers take what is found of some neighbours, and what is read of them at some places."""
    found = [dtype for every in reductions_of(nest, near).values() for one in every for _, dtype in one.variables]
    for load in nest.loads:
        if load.dims & nest.within:
            found += [held(load.dtype)] * places * (near if nest.rank - 1 in load.dims else 1)
    return _registers(found)


def _registers(dtypes: Iterable[str]) -> int:
    """How many registers numbers take."""
    return sum(-(-as_dtype(dtype).itemsize // _WORD) for dtype in dtypes)
