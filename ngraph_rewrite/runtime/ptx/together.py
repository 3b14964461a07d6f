# SPDX-License-Identifier: Apache-2.0
"""Instructions that threads do together: `shfl.sync`, `ldmatrix`, `mma`, and `bar.red`, by which a block agrees."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ngraph_rewrite.errors import KernelError
from ngraph_rewrite.runtime.cuda.hardware import WARP
from ngraph_rewrite.runtime.ptx.operands import Operands, Step, Values, guard, inside, unknown
from ngraph_rewrite.runtime.ptx.team import Team
from ngraph_rewrite.runtime.ptx.text import Instruction
from ngraph_rewrite.runtime.ptx.values import KINDS, Frame, Reader, Some, kind_of
from ngraph_rewrite.runtime.ptx.warps import check_together, lanes_asked, matrix_places, multiplied, whole_warps

_U32, _U16 = kind_of("u32"), kind_of("u16")


def agreement(instruction: Instruction, operands: Operands) -> Step:
    """What threads find out together at a barrier (`bar.red`): done for whole blocks, when all are there."""
    opcode, (target, _, source) = instruction.opcode, instruction.operands
    if opcode[2] not in ("or", "and"):
        raise unknown(opcode)
    write, read = operands.writer(target), guard((source.lstrip("!"), source.startswith("!")), operands)
    together = np.logical_or if opcode[2] == "or" else np.logical_and

    def agree(team: Team, frame: Frame, some: Some) -> None:
        found = together.reduce(read(frame, some).reshape(-1, team.each), axis=1)
        write(frame, some, np.repeat(found, team.each))

    return agree


def exchanged(opcode: Sequence[str], given: Sequence[str], operands: Operands) -> Step:
    """`shfl.sync`."""
    mode = opcode[2]
    if opcode[1] != "sync" or mode not in ("bfly", "up", "down", "idx") or opcode[-1] != "b32":
        raise unknown(opcode)
    target, _, found = given[0].partition("|")
    write, tell = operands.writer(target), operands.writer(found or "_")
    read = operands.reader(given[1], _U32)
    others = [operands.reader(one, _U32) for one in given[2:]]

    def exchange(team: Team, frame: Frame, some: Some) -> None:
        places = team.places(some)
        by, clamp, named = (np.broadcast_to(x(frame, some), places.shape).astype(np.int64) for x in others)
        present = np.zeros(len(team), bool)
        present[places] = True
        check_together(present, places, named, team.each)
        lane = team.lanes[some] % WARP
        asked, there = lanes_asked(lane, mode, by, clamp)
        values = np.zeros(len(team), np.uint32)
        values[places] = read(frame, some)
        source = places - lane + asked
        elsewhere = source // team.each != places // team.each
        if (elsewhere | ~present[np.where(elsewhere, 0, source)]).any():
            raise KernelError(
                "a thread asks one of its warp that is not there",
                do="ask within the block, and let all of the warp ask",
            )
        write(frame, some, values[source])
        tell(frame, some, there)

    return exchange


def voted(opcode: Sequence[str], given: Sequence[str], operands: Operands) -> Step:
    """`vote.sync` of predicates."""
    if opcode[1] != "sync" or opcode[2] not in ("any", "all") or opcode[-1] != "pred":
        raise unknown(opcode)
    target, source, mask = given
    write, read = operands.writer(target), guard((source.lstrip("!"), source.startswith("!")), operands)
    members, is_any = operands.reader(mask, _U32), opcode[2] == "any"

    def vote(team: Team, frame: Frame, some: Some) -> None:
        places = team.places(some)
        named = np.broadcast_to(members(frame, some), places.shape).astype(np.int64)
        present = np.zeros(len(team), bool)
        present[places] = True
        check_together(present, places, named, team.each)
        warps = places // team.each * -(-team.each // WARP) + places % team.each // WARP
        _, groups = np.unique(warps << WARP | named, return_inverse=True)  # those of a warp that name the same
        found = np.full(groups.max() + 1, not is_any)
        (np.logical_or if is_any else np.logical_and).at(found, groups, read(frame, some))
        write(frame, some, found[groups])

    return vote


def matrices(opcode: Sequence[str], given: Sequence[str], operands: Operands) -> Step:
    """`ldmatrix` of 8 times 8 numbers of 16 bits."""
    if opcode[3] != "m8n8" or tuple(opcode[-2:]) != ("shared", "b16"):
        raise unknown(opcode)
    writers = [operands.writer(one) for one in inside(given[0])]
    address = operands.address(given[1])
    line, place = matrix_places("trans" in opcode)

    def load(team: Team, frame: Frame, some: Some) -> None:
        warps = whole_warps(team.places(some), team.each)
        begin = address(frame, some).reshape(-1, WARP)
        who, memory = team.who(some), team.spaces["shared"]
        lines = begin[:, : 8 * len(writers)]
        memory.check(lines.ravel(), 16)
        team.count("shared", lines.ravel(), 16, warps[:, : lines.shape[1]].ravel())
        for number, write in enumerate(writers):
            halves = [
                memory.load((begin[:, 8 * number + line[:, n]] + 2 * place[:, n]).ravel(), _U16, who).astype(np.uint32)
                for n in range(2)
            ]
            write(frame, some, halves[0] | halves[1] << np.uint32(16))

    return load


def products(opcode: Sequence[str], given: Sequence[str], operands: Operands) -> Step:
    """`mma` of 16-bit floats, with sums of `float32`."""
    kinds = [("f32", kind, kind, "f32") for kind in ("f16", "bf16")]
    if opcode[3] not in ("m16n8k8", "m16n8k16") or tuple(opcode[6:]) not in kinds:
        raise unknown(opcode)
    kind = KINDS[opcode[7]]
    writers = [operands.writer(one) for one in inside(given[0])]
    left, right = ([operands.reader(one, _U32) for one in inside(text)] for text in given[1:3])
    sums = [operands.reader(one, kind_of("f32")) for one in inside(given[3])]

    def multiply(team: Team, frame: Frame, some: Some) -> None:
        warps = whole_warps(team.places(some), team.each)

        def pairs(read: Reader) -> Values:
            words = np.ascontiguousarray(np.broadcast_to(read(frame, some), warps.size))
            return np.asarray(words.view(kind).reshape(-1, WARP, 2).astype(np.float64))

        totals = [np.broadcast_to(read(frame, some), warps.size).reshape(-1, WARP) for read in sums]
        found = multiplied([pairs(read) for read in left], [pairs(read) for read in right], totals)
        for write, values in zip(writers, found, strict=True):
            write(frame, some, np.ascontiguousarray(values).reshape(-1))

    return multiply
