# SPDX-License-Identifier: Apache-2.0
"""Instructions that move numbers: to and from memory (`ld`, `st`), from one to another (`cp.async`, `prefetch`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ngraph_rewrite.runtime.ptx.operands import Numbers, Operands, Step, inside, unknown
from ngraph_rewrite.runtime.ptx.team import Team, own_memory, set_own_memory
from ngraph_rewrite.runtime.ptx.values import KINDS, Frame, Some
from ngraph_rewrite.runtime.ptx.watching import Who

_OWN = frozenset({"param", "local"})  # of each thread
_SPACES = frozenset({"global", "shared", *_OWN})
_HOW = frozenset({"nc", "v2", "v4", "L1no_allocate"})  # nobody writes it, how many neighbours, past the first cache


def _place(opcode: Sequence[str]) -> tuple[str, np.dtype[Any]]:
    """The memory of an access, and what lies there."""
    space, *how, kind = opcode[1:] if len(opcode) > 2 else ("", "")
    if space not in _SPACES or not {*how} <= _HOW or kind not in KINDS:
        raise unknown(opcode)
    return space, KINDS[kind]


def _check_count(opcode: Sequence[str], count: int) -> None:
    """Refuse a list of registers of another length than the instruction says."""
    if count != next((int(mark[1:]) for mark in opcode if mark in ("v2", "v4")), 1):
        raise unknown(opcode)


def loaded(opcode: Sequence[str], given: Sequence[str], operands: Operands) -> Step:
    """`ld`: of one number, or of neighbours."""
    space, kind = _place(opcode)
    writers = [operands.writer(one) for one in inside(given[0])]
    address, size = operands.address(given[1]), kind.itemsize
    _check_count(opcode, len(writers))
    constant = "nc" in opcode

    def load_own(team: Team, frame: Frame, some: Some) -> None:
        begin = address(frame, some)
        for n, write in enumerate(writers):
            write(frame, some, own_memory(frame, begin + n * size, size, some).view(kind)[:, 0].copy())

    def load(team: Team, frame: Frame, some: Some) -> None:
        begin, who = _begun(team, space, address(frame, some), size * len(writers), some)
        for n, write in enumerate(writers):
            write(frame, some, team.spaces[space].load(begin + n * size, kind, who, constant))

    return load_own if space in _OWN else load


def stored(opcode: Sequence[str], given: Sequence[str], operands: Operands) -> Step:
    """`st`: the same the other way."""
    space, kind = _place(opcode)
    address, size = operands.address(given[0]), kind.itemsize
    readers = [operands.reader(one, kind) for one in inside(given[1])]
    _check_count(opcode, len(readers))

    def store_own(team: Team, frame: Frame, some: Some) -> None:
        begin = address(frame, some)
        for n, read in enumerate(readers):
            set_own_memory(frame, begin + n * size, read(frame, some), some)

    def store(team: Team, frame: Frame, some: Some) -> None:
        begin, who = _begun(team, space, address(frame, some), size * len(readers), some)
        for n, read in enumerate(readers):
            team.spaces[space].store(begin + n * size, np.broadcast_to(read(frame, some), begin.shape), who)

    return store_own if space in _OWN else store


def _begun(team: Team, space: str, address: Numbers, size: int, some: Some) -> tuple[Numbers, Who]:
    """The address of each of some threads that access so many bytes of memory they share, and who they are."""
    who = team.who(some)
    begin = np.broadcast_to(address, who.numbers.shape)
    team.spaces[space].check(begin, size)
    team.count(space, begin, size, some)
    return begin, who


def copying(opcode: Sequence[str], given: Sequence[str], operands: Operands) -> Step:
    """`cp.async`."""
    if opcode[2] == "wait_all":
        return lambda team, frame, some: team.end_copies(some)
    if "shared" not in opcode or len(given) != 3 or int(given[2]) not in ((16,) if opcode[2] == "cg" else (4, 8, 16)):
        raise unknown([*opcode, *given[2:]])
    target, source, size = operands.address(given[0]), operands.address(given[1]), int(given[2])

    def begin(team: Team, frame: Frame, some: Some) -> None:
        shape = team.numbers[some].shape
        places = [np.broadcast_to(read(frame, some), shape) for read in (target, source)]
        team.begin_copies(places[0], places[1], size, some)

    return begin


def asking(opcode: Sequence[str], given: Sequence[str], operands: Operands) -> Step:
    """`prefetch`: nothing is read, but the address has to be one of memory."""
    if [*opcode[1:]] != ["global", "L2"]:
        raise unknown(opcode)
    (place,) = map(operands.address, given)

    def ask(team: Team, frame: Frame, some: Some) -> None:
        who = team.who(some)
        team.spaces["global"].ask(np.broadcast_to(place(frame, some), who.numbers.shape), who)

    return ask
