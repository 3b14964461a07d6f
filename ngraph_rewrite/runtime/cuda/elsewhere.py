# SPDX-License-Identifier: Apache-2.0
"""What was used on streams that do not block, and ended: it is kept until somebody waits for all work on the GPU.

To wait for that stops the GPU, and ends what any library captures meanwhile. So it is done late: when memory is
lacking, or when there is much of this and somebody takes more; never when an array ends, which may be at any moment.
"""

from __future__ import annotations

from cuda.bindings import driver as cu

from ngraph_rewrite.runtime.cuda.captures import LeavingCaptures
from ngraph_rewrite.runtime.cuda.checked import checked
from ngraph_rewrite.runtime.cuda.context import Context

# More pieces than these are much.
MOST = 1024


class UsedElsewhere:
    """Addresses of memory, and owners of memory, that were used on such streams.

    The garbage collector may add some between any two instructions: whoever does so takes one step of a list.

    Args:
        room: More bytes than these are much.
    """

    def __init__(self, context: Context, room: int) -> None:
        self._context, self._room, self._kept = context, room, list[tuple[int | tuple[object], int]]()

    def add(self, what: int | tuple[object], size: int) -> None:
        """Keep an address, or an owner, of so many bytes."""
        self._kept.append((what, size))

    def is_much(self) -> bool:
        """Whether so much is kept that it is worth to wait."""
        return len(self._kept) > MOST or sum(size for _, size in self._kept[:]) > self._room

    def take_back(self) -> list[int]:
        """Wait until all is done; owners end, and these are the addresses: none of them while something is captured."""
        if not self._kept or not self._context.capturing.acquire(blocking=False):
            return []
        try:
            count = len(self._kept)  # what comes meanwhile is not waited for
            with LeavingCaptures():
                error = cu.cuCtxSynchronize()
            if error[0] == cu.CUresult.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED:  # another library captures
                return []
            checked(error, "running on the GPU")
            over = self._kept[:count]
            del self._kept[:count]
        finally:
            self._context.capturing.release()
        return [what for what, _ in over if isinstance(what, int)]
