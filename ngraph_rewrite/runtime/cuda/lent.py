# SPDX-License-Identifier: Apache-2.0
"""Memory that other libraries own, kept until the GPU is done with it: they might give it to somebody else at once.

Nothing is asked of the driver as long as it is here: only when it goes, and something is still running.
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
    """Owners, each with an event of the default stream, which comes when all is done that was asked for before.

    Events are used again: there are as many as there were owners at once.
    """

    def __init__(self) -> None:
        self._held, self._unused, self._lock = deque[tuple[Any, object]](), list[Any](), threading.Lock()

    def hold(self, owner: object) -> None:
        """Keep an owner that nobody else may have any more, if something is running, until that is done."""
        self.let_go()
        if cu.cuStreamQuery(_DEFAULT_STREAM)[0] != cu.CUresult.CUDA_SUCCESS:
            self._held.append((self._recorded(), owner))

    def let_wait(self, streams: Iterable[int]) -> None:
        """Let streams of other libraries wait until all is done that was asked for."""
        event = self._recorded()
        for stream in streams:
            checked(cu.cuStreamWaitEvent(stream, event, 0), "letting a stream of another library wait")
        self._unused.append(event)  # who waits for it waits for what it is now

    def let_go(self) -> None:
        """Let go of those that nothing reads any more."""
        while (done := self._first_done()) is not None:
            self._unused.append(done[0])

    def _recorded(self) -> Any:
        """An event that comes when all is done that was asked for."""
        try:
            event = self._unused.pop()
        except IndexError:
            untimed = int(cu.CUevent_flags.CU_EVENT_DISABLE_TIMING)
            event = checked(cu.cuEventCreate(untimed), "making an event")
        checked(cu.cuEventRecord(event, _DEFAULT_STREAM), "recording an event")
        return event

    def _first_done(self) -> tuple[Any, object] | None:
        """The one that was held first, if that is over; its owner ends with what this gives.

        None if somebody else is at it: the garbage collector may end an array in the middle of this.
        """
        if not self._held or not self._lock.acquire(blocking=False):
            return None
        try:
            if not self._held or cu.cuEventQuery(self._held[0][0])[0] == cu.CUresult.CUDA_ERROR_NOT_READY:
                return None
            return self._held.popleft()
        finally:
            self._lock.release()
