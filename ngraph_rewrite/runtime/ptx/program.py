# SPDX-License-Identifier: Apache-2.0
"""A kernel in PTX that can be launched: its variables have places, its code is decoded, and its blocks run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ngraph_rewrite.errors import KernelError
from ngraph_rewrite.runtime.aligned import address_of
from ngraph_rewrite.runtime.cuda.hardware import WARP
from ngraph_rewrite.runtime.ptx.counting import Counts
from ngraph_rewrite.runtime.ptx.decoding import guarded, step
from ngraph_rewrite.runtime.ptx.limits import check_launch, check_shared, check_waits
from ngraph_rewrite.runtime.ptx.meeting import Order, ordered
from ngraph_rewrite.runtime.ptx.memory import GlobalSpace, SharedSpace
from ngraph_rewrite.runtime.ptx.operands import Numbers, Operands, Step, guard, unknown
from ngraph_rewrite.runtime.ptx.placing import cells, laid_out, placed_constants
from ngraph_rewrite.runtime.ptx.running import DONE, END, Code, placed, run
from ngraph_rewrite.runtime.ptx.team import Grid, Team, own_memory, set_own_memory
from ngraph_rewrite.runtime.ptx.text import ENDS, Function, Instruction, Variable, read_module
from ngraph_rewrite.runtime.ptx.together import agreement
from ngraph_rewrite.runtime.ptx.values import ALL, Frame, Some

_TOGETHER = 8192  # threads that run side by side
_BARRIERS = (("sync", 1), ("red", 3))  # of whole blocks, each with so many operands


class Decoded(NamedTuple):
    """A function that threads may run.

    Attributes:
        own: Bytes of each thread's own memory.
    """

    function: Function
    operands: Operands
    codes: tuple[Code, ...]
    own: int

    def addresses(self, variables: Sequence[Variable]) -> list[int]:
        """Where variables are."""
        return [self.operands.symbols[variable.name] for variable in variables]


class Program:
    """A kernel that was read.

    Args:
        text: Its PTX.
        name: As errors name it.
        waits: Whether it may be launched before its time, and has to wait.

    Raises:
        KernelError: if it has instructions that are not known here, or more memory than a GPU gives it.
    """

    def __init__(self, text: str, name: str, waits: bool = False) -> None:
        self.name, module = name, read_module(text)
        self._constants, placed_there = placed_constants(module)
        shared = [v for v in module.variables if v.space == "shared"]
        for one in module.functions.values():  # each has names of its own
            shared += [v._replace(name=f"{v.name} of {one.name}") for v in one.variables if v.space == "shared"]
        in_block, self._bytes_shared = laid_out(shared)
        self._cells = cells(module)
        self._functions, self._names = dict[str, Decoded](), {*module.functions}
        self._entry = module.kernel
        try:
            check_shared(self._bytes_shared)
            if waits:
                check_waits(module.functions[self._entry])
            for function in module.functions.values():
                self._functions[function.name] = self._decoded(function, placed_there | in_block)
        except KernelError as error:
            raise self._named(error) from None
        self._kernel = self._functions[self._entry]

    def _named(self, error: KernelError) -> KernelError:
        return KernelError(f"kernel {self.name}: {error.what}", where=error.where, do=error.do)

    def _decoded(self, function: Function, symbols: Mapping[str, int]) -> Decoded:
        variables = [*function.parameters, *function.results, *function.variables]
        own, size = laid_out([v for v in variables if v.space in ("param", "local")])
        own |= {v.name: symbols[f"{v.name} of {function.name}"] for v in function.variables if v.space == "shared"}
        operands = Operands(function, {**symbols, **own})
        numbers = range(len(function.blocks))
        order = ordered([*[_ways(number, function) for number in numbers], []])
        codes = [*[self._code(number, operands, function, order) for number in numbers], END]
        return Decoded(function, operands, tuple(codes[number] for number in order.blocks), size)

    def _code(self, number: int, operands: Operands, function: Function, order: Order) -> Code:
        block, end = function.blocks[number], _end(function.blocks[number])
        onward = order.places.get((number, number + 1), DONE)
        own = order.blocks.index(number) if number in order.blocks else DONE
        steps = tuple((self._step(one, operands), one) for one in block[: len(block) - (end is not None)])
        if end is None:
            return Code(steps, None, DONE, onward, own, None, None)
        if end.opcode[0] == "exit" and function.name != self._entry:  # which would end who called it
            raise placed(unknown(end.opcode), end)
        if end.opcode[0] == "bar" and (end.opcode[1], len(end.operands)) not in _BARRIERS:
            raise placed(unknown(end.opcode), end)
        to = function.labels[end.operands[0]] if end.opcode[0] == "bra" else None
        target = DONE if to is None else order.places.get((number, to), DONE)
        allowed = guard(end.guard, operands) if end.guard else None
        return Code(steps, end, target, onward, own, allowed, agreement(end, operands) if "red" in end.opcode else None)

    def _step(self, instruction: Instruction, operands: Operands) -> Step:
        try:
            if instruction.opcode[0] == "call":
                return guarded(self._call(instruction, operands), instruction.guard, operands)
            return step(instruction, operands)
        except KernelError as error:
            raise placed(error, instruction) from None

    def _call(self, instruction: Instruction, operands: Operands) -> Step:
        """A call: a list of results, if there are some, the function, and a list of what it is given."""
        name = next((one for one in instruction.operands if not one.startswith("(")), "")
        at = instruction.operands.index(name)
        results, given = ("".join(some) for some in (instruction.operands[:at], instruction.operands[at + 1 :]))
        if name not in self._names:
            raise unknown([*instruction.opcode, name])
        returned, passed = ([operands.symbols[x.strip()] for x in one.strip("()").split(",") if x.strip()]
                            for one in (results, given))  # fmt: skip

        def call(team: Team, frame: Frame, some: Some) -> None:
            called = self._functions[name]
            inner = Frame(frame.count, len(called.operands.registers.kinds), called.own)
            parameters, there = called.function.parameters, called.function.results
            _copy(frame, passed, inner, called.addresses(parameters), parameters, some)
            run(called.codes, team, inner, some)
            _copy(inner, called.addresses(there), frame, returned, there, some)

        return call

    def launch(
        self,
        grid: Grid,
        threads: int,
        arguments: Sequence[int],
        ranges: Sequence[tuple[int, int]],
        counts: Counts | None = None,
        budget: int | None = None,
    ) -> None:
        """Run all blocks, or some of them, from the first to the last.

        Args:
            grid: How many blocks there are along each dimension.
            threads: Of a block.
            arguments: Integers of 64 bits.
            ranges: Addresses that it may use, from one to another.
            counts: What it takes is added to these.
            budget: Instructions of warps, if there are counts: if the first block says that all would take more, so
                many blocks are run as take that.

        Raises:
            KernelError: if it does what a GPU would refuse, or could do in another way.
        """
        try:
            check_launch(grid, threads, self._kernel.function)
        except KernelError as error:
            raise self._named(error) from None
        own = [(address_of(one), address_of(one) + one.nbytes) for one in self._constants]
        memory = GlobalSpace([*ranges, *own], self._cells["global"])
        blocks, together = np.arange(grid[0] * grid[1] * grid[2]), max(1, _TOGETHER // threads)
        if counts is not None and budget is not None and len(blocks) > 1:
            before = counts.instructions
            self._run(grid, threads, blocks[:1], arguments, memory, counts)
            blocks = _spread(blocks[1:], budget // max(counts.instructions - before, 1))
        for first in range(0, len(blocks), together):
            self._run(grid, threads, blocks[first : first + together], arguments, memory, counts)

    def _run(
        self,
        grid: Grid,
        threads: int,
        some: Numbers,
        arguments: Sequence[int],
        memory: GlobalSpace,
        counts: Counts | None,
    ) -> None:
        """Run some blocks side by side."""
        shared = SharedSpace(self._bytes_shared, len(some), self._cells["shared"])
        team = Team(grid, threads, some, memory, shared, counts)
        if counts is not None:
            counts.warps += len(some) * -(-threads // WARP)
        try:
            with np.errstate(all="ignore"):
                run(self._kernel.codes, team, self._begun(len(team), arguments), ALL)
        except KernelError as error:
            raise self._named(error) from None

    def _begun(self, count: int, arguments: Sequence[int]) -> Frame:
        """What threads have at the beginning."""
        frame = Frame(count, len(self._kernel.operands.registers.kinds), self._kernel.own)
        for number, at in zip(arguments, self._kernel.addresses(self._kernel.function.parameters), strict=True):
            set_own_memory(frame, np.array(at), np.array(number, np.int64), ALL)
        return frame


def _end(block: Sequence[Instruction]) -> Instruction | None:
    """The instruction that says where a basic block goes on, if there is one."""
    return block[-1] if block and block[-1].opcode[0] in ENDS else None


def _ways(number: int, function: Function) -> list[int]:
    """The blocks that may come next after one; past the last is the end."""
    end = _end(function.blocks[number])
    if end is None or end.opcode[0] == "bar":
        return [number + 1]
    to = [function.labels[end.operands[0]]] if end.opcode[0] == "bra" else []
    return [*to, number + 1] if end.guard else to


def _spread(numbers: Numbers, most: int) -> Numbers:
    """So many of some numbers, the first and the last among them.

    >>> _spread(np.arange(10), 4).tolist(), _spread(np.arange(3), 4).tolist()
    ([0, 3, 6, 9], [0, 1, 2])
    """
    if len(numbers) <= most:
        return numbers
    return numbers[np.linspace(0, len(numbers) - 1, most).astype(np.int64)]


def _copy(
    source: Frame, begins: Sequence[int], target: Frame, ends: Sequence[int], what: Sequence[Variable], some: Some
) -> None:
    """Copy variables of threads' own, four bytes at a time, or less."""
    for begin, end, variable in zip(begins, ends, what, strict=True):
        each = min(4, variable.size)
        for n in range(0, variable.size, each):
            values = own_memory(source, np.array(begin + n), each, some).view(f"u{each}")[:, 0]
            set_own_memory(target, np.array(end + n), values, some)
