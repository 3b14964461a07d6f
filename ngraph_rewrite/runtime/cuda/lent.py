# SPDX-License-Identifier: Apache-2.0
"""Memory that other libraries own, kept until the GPU is done with it: they might give it to somebody else at once.

Nothing is asked of the driver as long as it is here: only when it goes, and something is still running.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from cuda.bindings import driver as cu

from ngraph_rewrite.errors import DeviceError
from ngraph_rewrite.runtime.cuda.checked import checked

_DEFAULT_STREAM = 0
_RELAXED = cu.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED


class LentMemory:
    """Owners, each with an event of the default stream, which comes when all is done that was asked for before.

    Events are used again: there are as many as there were owners at once. One that could not be had is None: then the
    owner is kept until somebody has waited for all.
    """

    def __init__(self) -> None:
        self._held, self._unused, self._lock = deque[tuple[Any, object]](), list[Any](), threading.Lock()

    def __len__(self) -> int:
        return len(self._held)

    def hold(self, owner: object) -> None:
        """Keep an owner that nobody else may have any more, if something is running, until that is done."""
        self.let_go()
        with _leaving_captures():
            if cu.cuStreamQuery(_DEFAULT_STREAM)[0] == cu.CUresult.CUDA_SUCCESS:
                return
            try:
                event = self._recorded()
            except DeviceError:
                event = None
            self._held.append((event, owner))

    def let_wait(self, streams: Iterable[int]) -> None:
        """Let streams of other libraries wait until all is done that was asked for."""
        event = self._recorded()
        try:
            for stream in streams:
                checked(cu.cuStreamWaitEvent(stream, event, 0), "letting a stream of another library wait")
        finally:
            self._unused.append(event)  # who waits for it waits for what it is now

    def let_go(self, done: int = 0) -> None:
        """Let go of those that nothing reads any more.

        Args:
            done: So many, those that were held first, are known to be among them.
        """
        if self._held:
            with _leaving_captures():
                while (found := self._first_done(done > 0)) is not None:
                    done -= 1
                    if found[0] is not None:
                        self._unused.append(found[0])

    def _recorded(self) -> Any:
        """An event that comes when all is done that was asked for."""
        try:
            event = self._unused.pop()
        except IndexError:
            untimed = int(cu.CUevent_flags.CU_EVENT_DISABLE_TIMING)
            event = checked(cu.cuEventCreate(untimed), "making an event")
        try:
            checked(cu.cuEventRecord(event, _DEFAULT_STREAM), "recording an event")
        except DeviceError:
            self._unused.append(event)
            raise
        return event

    def _first_done(self, is_done: bool) -> tuple[Any, object] | None:
        """The one that was held first, if that is over; its owner ends with what this gives.

        None if somebody else is at it: the garbage collector may end an array in the middle of this.
        """
        if not self._held or not self._lock.acquire(blocking=False):
            return None
        try:
            event = self._held[0][0] if self._held else None
            if is_done and self._held or event is not None and cu.cuEventQuery(event)[0] == cu.CUresult.CUDA_SUCCESS:
                return self._held.popleft()
            return None
        finally:
            self._lock.release()


@contextmanager
def _leaving_captures() -> Iterator[None]:
    """Questions of this thread end no capture of another one, which those of a thread in the usual mode do."""
    mode = checked(cu.cuThreadExchangeStreamCaptureMode(_RELAXED), "asking what is done")
    try:
        yield
    finally:
        cu.cuThreadExchangeStreamCaptureMode(mode)
