# SPDX-License-Identifier: Apache-2.0
"""Machine code of a kernel for a GPU, and what it takes of one, as data that is kept."""

from __future__ import annotations

import json
from typing import NamedTuple


class Resources(NamedTuple):
    """What a kernel takes of a multiprocessor.

    Attributes:
        registers: Of each thread.
        shared: Bytes of each block.
        stack: Bytes of each thread.
        spilled: Bytes that each thread moves between registers and memory for want of registers.
        code: Bytes of machine code.
    """

    registers: int
    shared: int
    stack: int
    spilled: int
    code: int


class MachineCode(NamedTuple):
    """A kernel as a driver loads it.

    Attributes:
        entry: The name of the kernel in it.
        resources: What it takes.
        data: The file of code, a cubin.
        made_by: The version of CUDA that made it, as drivers tell theirs: 13050 is 13.5.
    """

    entry: str
    resources: Resources
    data: bytes
    made_by: int


def write_code(code: MachineCode) -> bytes:
    """Machine code as bytes.

    >>> code = MachineCode("map", Resources(32, 0, 0, 0, 4), b"code", 13050)
    >>> read_code(write_code(code)) == code
    True
    """
    return json.dumps([code.entry, code.resources, code.made_by]).encode() + b"\n" + code.data


def read_code(stored: bytes) -> MachineCode:
    """What `write_code` wrote."""
    head, _, data = stored.partition(b"\n")
    entry, resources, made_by = json.loads(head)
    return MachineCode(entry, Resources(*resources), data, made_by)
