# SPDX-License-Identifier: Apache-2.0
"""Lines of kernels that share out parts of themselves where there is not a matrix, or a line, for each thread.

A part is a kernel of its own, whose address is an argument. It takes its arguments from a block that is written before
each launch, and gives the same in any number of chunks.
"""

from collections.abc import Sequence

from ngraph_rewrite.codegen.source import nested

MOST = 64  # chunks of a part: no more threads need workspaces
ROOM = 16  # arguments of a part
_WORTH, _WORTH_OFTEN = 20_000, 25_000  # nanoseconds of a launch that is worth sharing
# What a kernel begins with: one that is told of no chunks has workers and a pool in place of a chunk and a thread.
BEGIN = "\n".join(
    [
        f"pool, workers, asked = 0, 0, workspace_int64({ROOM})",
        "if nchunks == 0:",
        *nested(["pool, workers, chunk, nchunks, thread = thread, chunk, 0, 1, 0"]),
    ]
)


def is_shared(time: str, often: bool = False) -> str:
    """What says whether a launch of so many nanoseconds is shared out.

    >>> is_shared("20 * n")
    'workers > 0 and 20 * n > 20000'
    """
    return f"workers > 0 and {time} > {_WORTH_OFTEN if often else _WORTH}"


def launch_lines(part: str, arguments: Sequence[str], chunks: str, time: str, often: bool = False) -> list[str]:
    """Lines that launch a part, and wait for it.

    Args:
        part: The argument that says where it is.
        arguments: What it is given.
        chunks: In how many chunks it runs, up to `MOST`, if it takes long enough.
        time: About how many nanoseconds it takes on one core.
        often: Whether it is launched for each column: all wait the more often for a thread that comes late.

    >>> launch_lines("add", ["x", "n"], "n", "20 * n")[0]
    'time = int(20 * n)'
    """
    some = f"select({is_shared('time', often)}, lesser({MOST}, {chunks}), 1)"
    return [f"time = int({time})", f"launch_parts({part}, asked, {_words(arguments)}, {some}, workers, pool, time)"]


def alone_lines(part: str, arguments: Sequence[str]) -> list[str]:
    """Lines that run a part in the same thread, which may then share out parts of its own.

    >>> alone_lines("add", ["x"])
    ['launch_parts(add, asked, (x,), 1, 0, 0, 0)']
    """
    return [f"launch_parts({part}, asked, {_words(arguments)}, 1, 0, 0, 0)"]


def _words(arguments: Sequence[str]) -> str:
    return f"({', '.join(arguments)},)"
