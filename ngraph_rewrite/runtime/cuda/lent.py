# SPDX-License-Identifier: Apache-2.0
"""Memory that other libraries own, kept until the GPU is done with it: they might give it to somebody else at once.

Nothing is asked of the driver as long as it is here: only when it goes, and something is still running.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from itertools import count
from typing import Any, NamedTuple

from cuda.bindings import driver as cu

from ngraph_rewrite.errors import DeviceError
from ngraph_rewrite.runtime.cuda.captures import LeavingCaptures, may_be_asked
from ngraph_rewrite.runtime.cuda.checked import checked

_DEFAULT_STREAM = 0


class _Held(NamedTuple):
    """An owner that is kept.

    Attributes:
        moment: When that began.
        event: What comes when nothing reads its memory any more; None if it could not be had.
    """

    moment: int
    event: Any
    owner: object


class LentMemory:
    """Owners, each with an event of the default stream, which comes when all is done that was asked for before.

    Events are used again: there are as many as there were owners at once. Where one could not be had, the owner is kept
    until somebody has waited for all.
    """

    def __init__(self) -> None:
        self._held, self._unused, self._lock = deque[_Held](), list[Any](), threading.Lock()
        self._moments = count(1)

    def now(self) -> int:
        """This moment, for who waits from now on until all is done: `let_go`."""
        return next(self._moments)

    def hold(self, owner: object) -> None:
        """Keep an owner that nobody else may have any more, if something is running, until that is done."""
        self.let_go()
        event = None
        with LeavingCaptures():
            if may_be_asked(_DEFAULT_STREAM):
                if cu.cuStreamQuery(_DEFAULT_STREAM)[0] == cu.CUresult.CUDA_SUCCESS:
                    return
                with suppress(DeviceError):
                    event = self._recorded()
            self._held.append(_Held(next(self._moments), event, owner))

    def let_wait(self, streams: Iterable[int]) -> None:
        """Let streams of other libraries wait until all is done that was asked for."""
        event = self._recorded()
        try:
            for stream in streams:
                checked(cu.cuStreamWaitEvent(stream, event, 0), "letting a stream of another library wait")
        finally:
            self._unused.append(event)  # who waits for it waits for what it is now

    def let_go(self, moment: int = 0) -> None:
        """Let go of those that nothing reads any more.

        Args:
            moment: When somebody began to wait for all, who is back: others may hold more meanwhile.
        """
        if self._held:
            with LeavingCaptures():
                while (found := self._first_done(moment)) is not None:
                    if found.event is not None:
                        self._unused.append(found.event)

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

    def _first_done(self, moment: int) -> _Held | None:
        """The one that was held first, if that is over; its owner ends with what this gives.

        None if somebody else is at it: the garbage collector may end an array in the middle of this.
        """
        if not self._held or not self._lock.acquire(blocking=False):
            return None
        try:
            return self._held.popleft() if self._held and _is_done(self._held[0], moment) else None
        finally:
            self._lock.release()


def _is_done(held: _Held, moment: int) -> bool:
    """Whether nothing reads that memory any more."""
    if held.moment < moment:
        return True
    return held.event is not None and bool(cu.cuEventQuery(held.event)[0] == cu.CUresult.CUDA_SUCCESS)
