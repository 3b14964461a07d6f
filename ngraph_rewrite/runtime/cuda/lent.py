# SPDX-License-Identifier: Apache-2.0
"""Memory that other libraries own, kept until the GPU is done with it: they might give it to somebody else at once.

A consumer's duties in the CUDA Array Interface, version 3: the stream that it was told of waits for what reads there.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable
from typing import Any

from cuda.bindings import driver as cu

from ngraph_rewrite.runtime.cuda.checked import checked

_DEFAULT_STREAM = 0


class LentMemory:
    """Owners, each with an event of the default stream, which comes when all is done that was asked for before."""

    def __init__(self) -> None:
        self._held, self._lock = deque[tuple[Any, object]](), threading.Lock()

    def hold(self, owners: object, streams: Iterable[int]) -> None:
        """Keep owners until all is done that was asked for; streams of theirs wait for that, too."""
        untimed = int(cu.CUevent_flags.CU_EVENT_DISABLE_TIMING)
        event = checked(cu.cuEventCreate(untimed), "making an event")
        checked(cu.cuEventRecord(event, _DEFAULT_STREAM), "recording an event")
        self._held.append((event, owners))
        for stream in streams:
            checked(cu.cuStreamWaitEvent(stream, event, 0), "letting a stream of another library wait")
        self.let_go()

    def let_go(self) -> None:
        """Let go of those that nothing reads any more."""
        while (done := self._first_done()) is not None:
            checked(cu.cuEventDestroy(done[0]), "freeing an event")

    def _first_done(self) -> tuple[Any, object] | None:
        """The one that was held first, if that is over; the owner ends with what this gives, when the lock is free."""
        with self._lock:
            if not self._held or cu.cuEventQuery(self._held[0][0])[0] == cu.CUresult.CUDA_ERROR_NOT_READY:
                return None
            return self._held.popleft()
