# SPDX-License-Identifier: Apache-2.0
"""Copies to the host while a graph of launches still runs: each waits for one launch, on a stream of its own."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cuda.bindings import driver as cu

from ngraph_rewrite.runtime.cuda.captures import LeavingCaptures, may_be_asked
from ngraph_rewrite.runtime.cuda.checked import checked
from ngraph_rewrite.runtime.cuda.context import Context
from ngraph_rewrite.runtime.cuda.device import Array
from ngraph_rewrite.runtime.cuda.one_by_one import STREAM


def _destroy(context: Context, stream: Any, events: Sequence[Any]) -> None:
    """Free what the driver keeps of them, when no graph is running that tells of these events."""
    if not context.origin.is_here():
        return
    with context.inside(), LeavingCaptures():
        if not may_be_asked(STREAM):  # nor waited for; the driver has these few for ever then
            return
        checked(cu.cuStreamSynchronize(STREAM), "running on the GPU")
        for event in events:
            checked(cu.cuEventDestroy(event), "freeing an event")
        checked(cu.cuStreamDestroy(stream), "freeing a stream")


class Downloads:
    """An event for each of some launches of a graph, and the stream that waits for them.

    Args:
        marks: The numbers of these launches.
    """

    def __init__(self, context: Context, marks: Iterable[int]) -> None:
        flags = int(cu.CUstream_flags.CU_STREAM_NON_BLOCKING)
        self._stream = checked(cu.cuStreamCreate(flags), "making a stream")
        untimed = int(cu.CUevent_flags.CU_EVENT_DISABLE_TIMING)
        self._events: Mapping[int, Any] = {
            mark: checked(cu.cuEventCreate(untimed), "making an event") for mark in marks
        }
        weakref.finalize(self, _destroy, context, self._stream, list(self._events.values()))

    def add_to(self, graph: Any, nodes: Sequence[Any]) -> None:
        """Let a graph, whose launches are these nodes, tell when those are done that are waited for."""
        for mark, event in self._events.items():
            checked(cu.cuGraphAddEventRecordNode(graph, [nodes[mark]], 1, event), "adding an event to a graph")

    def download(self, array: Array, address: int, mark: int) -> None:
        """Copy into a row-major array what one of these launches left, as soon as it has."""
        if array.nbytes:
            checked(cu.cuStreamWaitEvent(self._stream, self._events[mark], 0), "waiting for a launch")
            with LeavingCaptures():
                copied = cu.cuMemcpyDtoHAsync(array.ctypes.data, address, array.nbytes, self._stream)
                checked(copied, "running on the GPU")
                checked(cu.cuStreamSynchronize(self._stream), "running on the GPU")
