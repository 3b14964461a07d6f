# SPDX-License-Identifier: Apache-2.0
"""What a GPU refuses of a launch as a whole, and what a kernel has to do that may begin before its time.

Sources: CUDA C++ Programming Guide, technical specifications for each compute capability; PTX ISA, `.maxntid` and
`griddepcontrol`.
"""

from __future__ import annotations

from ngraph_rewrite.errors import KernelError
from ngraph_rewrite.runtime.ptx.text import Function

_THREADS = 1024  # of a block
_BLOCKS = ((1 << 31) - 1, 65535, 65535)  # along each dimension of a grid
_SHARED = 48 << 10  # bytes that a block may have without being asked for more by the host
_TOUCHING = frozenset({"ld", "st", "cp", "prefetch", "call", "atom", "red"})


def check_launch(grid: tuple[int, int, int], threads: int, kernel: Function) -> None:
    """Refuse what no GPU launches.

    Raises:
        KernelError: if there are too many threads, or blocks.
    """
    most = _THREADS if kernel.threads is None else min(kernel.threads, _THREADS)
    if not 0 < threads <= most:
        raise KernelError(f"a block of {threads} threads is launched, and {most} are the most", do="launch more blocks")
    for axis, blocks, limit in zip("xyz", grid, _BLOCKS, strict=True):
        if not 0 < blocks <= limit:
            what = f"a grid of {blocks} blocks along {axis} is launched, and {limit} are the most"
            raise KernelError(what, do="let each block do more, or lay the grid out along x")


def check_shared(size: int) -> None:
    """Refuse a kernel that has more of shared memory than any block gets.

    Raises:
        KernelError: if it has.
    """
    if size > _SHARED:
        raise KernelError(f"{size:,} bytes are shared by a block, and {_SHARED:,} are the most", do="share less")


def check_waits(kernel: Function) -> None:
    """Refuse a kernel that may begin while the one before runs, and uses memory before it waits for that.

    Raises:
        KernelError: if it does, or waits nowhere.
    """
    for one in kernel.blocks[0]:
        if one.opcode == ("griddepcontrol", "wait") and one.guard is None:
            return
        if one.opcode[0] in _TOUCHING and one.opcode[1:2] != ("param",):
            what = "memory is used before the kernel has waited for what was launched before"
            raise KernelError(what, where=f"{one} at line {one.line} of its PTX", do="begin with griddepcontrol.wait")
    raise KernelError("the kernel does not wait for what was launched before", do="begin with griddepcontrol.wait")
