# SPDX-License-Identifier: Apache-2.0
"""From instructions to steps: functions that do to registers and memory of some threads what an instruction says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ngraph_rewrite.errors import KernelError
from ngraph_rewrite.runtime.ptx.accessing import asking, copying, loaded, stored
from ngraph_rewrite.runtime.ptx.arithmetic import operation
from ngraph_rewrite.runtime.ptx.operands import Operands, Step, guard, inside, unknown
from ngraph_rewrite.runtime.ptx.team import SPECIAL, Team
from ngraph_rewrite.runtime.ptx.text import Instruction
from ngraph_rewrite.runtime.ptx.together import exchanged, matrices, products, voted
from ngraph_rewrite.runtime.ptx.values import ALL, KINDS, Frame, Reader, Some, Writer, kind_of

_U32 = kind_of("u32")


def step(instruction: Instruction, operands: Operands) -> Step:
    """What an instruction does, but for where it goes on and what it calls.

    Raises:
        KernelError: if it is not known.
    """
    try:
        made = _step(instruction, operands)
    except (KeyError, TypeError, ValueError, IndexError) as error:  # it has parts of which nothing is known here
        raise unknown(instruction.opcode) from error
    return guarded(made, instruction.guard, operands)


def guarded(made: Step, of: tuple[str, bool] | None, operands: Operands) -> Step:
    """A step that only those threads do that a guard allows."""
    if of is None:
        return made
    allowed = guard(of, operands)

    def do(team: Team, frame: Frame, some: Some) -> None:
        chosen = team.places(some)[allowed(frame, some)]
        if len(chosen):
            made(team, frame, ALL if len(chosen) == frame.count else chosen)

    return do


def _step(instruction: Instruction, operands: Operands) -> Step:
    opcode = instruction.opcode
    made = _OTHERS.get(opcode[0])
    if made is not None and (opcode[0] not in _CARRIES or _carries(opcode)):
        return made(opcode, instruction.operands, operands)
    found = operation(opcode)
    if found is None:
        raise unknown(opcode)
    write = operands.writer(instruction.operands[0])
    if len(instruction.operands) != len(found.operands) + 1:
        raise KernelError(f"{len(instruction.operands)} operands, and {len(found.operands) + 1} are needed")
    readers = [operands.reader(text, kind) for text, kind in zip(instruction.operands[1:], found.operands, strict=True)]
    compute = found.compute

    def computed(team: Team, frame: Frame, some: Some) -> None:
        write(frame, some, np.asarray(compute(*[read(frame, some) for read in readers])))

    return computed


# -- moves -------------------------------------------------------------------------------------------------------------


def _moved(opcode: Sequence[str], given: Sequence[str], operands: Operands) -> Step:
    target, source = given
    kind = KINDS[opcode[-1]]
    if target.startswith("{"):
        return _unpacked(inside(target), operands.reader(source, kind), kind, operands)
    if source.startswith("{"):
        return _packed(operands.writer(target), inside(source), kind, operands)
    write = operands.writer(target)
    if source in SPECIAL and source not in operands.registers.numbers:
        return lambda team, frame, some: write(frame, some, team.special[source][some].copy())
    read = operands.reader(source, kind)
    return lambda team, frame, some: write(frame, some, np.array(read(frame, some)))


def _unpacked(targets: Sequence[str], read: Reader, kind: np.dtype[Any], operands: Operands) -> Step:
    writers = [operands.writer(one) for one in targets]
    width = 8 * kind.itemsize // len(targets)
    part = np.dtype(f"u{width // 8}")

    def unpack(team: Team, frame: Frame, some: Some) -> None:
        whole = read(frame, some).astype(np.uint64)
        for number, write in enumerate(writers):
            write(frame, some, (whole >> np.uint64(number * width)).astype(part))

    return unpack


def _packed(write: Writer, sources: Sequence[str], kind: np.dtype[Any], operands: Operands) -> Step:
    width = 8 * kind.itemsize // len(sources)
    readers = [operands.reader(one, np.dtype(f"u{width // 8}")) for one in sources]

    def pack(team: Team, frame: Frame, some: Some) -> None:
        parts = [read(frame, some).astype(np.uint64) << np.uint64(n * width) for n, read in enumerate(readers)]
        write(frame, some, np.bitwise_or.reduce(np.broadcast_arrays(*parts)).astype(kind))

    return pack


# -- carries -----------------------------------------------------------------------------------------------------------

_CARRIES = frozenset({"add", "addc", "sub", "subc", "mad", "madc"})


def _carries(opcode: Sequence[str]) -> bool:
    return "cc" in opcode or opcode[0] in ("addc", "subc", "madc")


def _carried(opcode: Sequence[str], given: Sequence[str], operands: Operands) -> Step:
    """Integers of 32 bits whose sum may have one bit more, which is kept for the next."""
    if opcode[-1] not in ("u32", "s32", "b32") or ("hi" in opcode and opcode[-1] != "u32"):
        raise unknown(opcode)
    write, readers = operands.writer(given[0]), [operands.reader(one, _U32) for one in given[1:]]
    takes, gives = opcode[0].endswith("c"), "cc" in opcode

    def compute(team: Team, frame: Frame, some: Some) -> None:
        numbers = [read(frame, some).astype(np.uint64) for read in readers]
        carry = frame.carry[some] if takes else np.uint64(0)
        if opcode[0].startswith("sub"):
            total = numbers[0] - numbers[1] - carry
        elif opcode[0].startswith("add"):
            total = numbers[0] + numbers[1] + carry
        else:
            product = numbers[0] * numbers[1]
            part = product >> np.uint64(32) if "hi" in opcode else product & np.uint64(0xFFFFFFFF)
            total = part + numbers[2] + carry
        if gives:
            frame.carry[some] = (total >> np.uint64(32)) & np.uint64(1)
        write(frame, some, np.asarray(total).astype(np.uint32))

    return compute


# -- other launches ----------------------------------------------------------------------------------------------------


def _waited(opcode: Sequence[str], given: Sequence[str], operands: Operands) -> Step:
    """Wait for launches before, or let later ones begin: here each ends before the next begins."""
    if given or tuple(opcode[1:]) not in (("wait",), ("launch_dependents",)):
        raise unknown(opcode)
    return lambda team, frame, some: None


_Maker = Callable[[Sequence[str], Sequence[str], Operands], Step]
_OTHERS: dict[str, _Maker] = {
    "mov": _moved,
    "ld": loaded,
    "st": stored,
    "cp": copying,
    "prefetch": asking,
    "shfl": exchanged,
    "vote": voted,
    "ldmatrix": matrices,
    "mma": products,
    "griddepcontrol": _waited,
    **dict.fromkeys(_CARRIES, _carried),
}
