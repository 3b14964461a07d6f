# SPDX-License-Identifier: Apache-2.0
"""Launches made ready to run together, as one graph: one call of the driver for all of them."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from cuda.bindings import driver as cu

from ngraph_rewrite.errors import DeviceError
from ngraph_rewrite.runtime.cuda.captures import LeavingCaptures
from ngraph_rewrite.runtime.cuda.checked import checked
from ngraph_rewrite.runtime.cuda.context import Context
from ngraph_rewrite.runtime.cuda.device import Array, Changed, Launched, each_way
from ngraph_rewrite.runtime.cuda.downloads import Downloads
from ngraph_rewrite.runtime.cuda.one_by_one import STREAM_OF_LAUNCHES, Arguments, fine, is_of_library

# How often launches are captured until they are.
CAPTURES = 4
_INVALIDATED = cu.CUresult.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED


class _Invalidated(DeviceError):
    """A capture ended, as all do when a thread waits for the whole GPU: another library's, if it is not ours."""

    def __init__(self) -> None:
        what = "capturing launches failed: something waited for the whole GPU meanwhile"
        super().__init__(what, do="let other threads synchronize before this computation is called, or after")


def _destroy(context: Context, ready: Any, graph: Any) -> None:
    """Free what the driver keeps of a graph."""
    if context.origin.is_here():
        with context.inside(), LeavingCaptures():
            checked(cu.cuGraphExecDestroy(ready), "freeing a graph of launches")
            checked(cu.cuGraphDestroy(graph), "freeing a graph of launches")


class RecordedGraph:
    """Launches as one graph, each node after those it waits for: one call runs them all, some of them at once.

    What a function of a library launches is captured as a graph of its own, which is a node.

    Args:
        after: Of each launch the numbers of those that it waits for.
        marks: The launches that `download` may wait for.
        let_go: Has the driver have what is kept, when it lacks memory to run the graph.
    """

    def __init__(
        self,
        context: Context,
        launches: Sequence[Launched],
        after: Sequence[Sequence[int]],
        marks: Sequence[int],
        let_go: Callable[[], None],
    ) -> None:
        self._context, self._launches, self._arguments = context, launches, Arguments(launches)
        self._let_go, self._after, self._downloads = let_go, after, Downloads(context, marks) if marks else None
        self._build()

    def _build(self) -> None:
        """Make the graph ready; if that fails all is as it was."""
        graph = checked(cu.cuGraphCreate(0), "making a graph of launches")
        try:
            given, nodes = self._add_to(graph)
            with LeavingCaptures():
                ready = checked(cu.cuGraphInstantiate(graph, 0), "making a graph of launches")
        except BaseException:
            cu.cuGraphDestroy(graph)
            raise
        self._given, self._nodes, self._ready = given, nodes, ready
        self._end = weakref.finalize(self, _destroy, self._context, ready, graph)

    def _add_to(self, graph: Any) -> tuple[list[Any], list[Any]]:
        """Add all launches to a graph: their parameters, and the nodes that they are."""
        given, nodes = [self._parameters(number) for number in range(len(self._launches))], list[Any]()
        for number, one in enumerate(self._launches):
            before = [nodes[other] for other in self._after[number]]
            if is_of_library(one):
                inner = self._captured(number)
                found = cu.cuGraphAddChildGraphNode(graph, before or None, len(before), inner)
                checked(cu.cuGraphDestroy(inner), "freeing a graph of launches")
            else:
                found = cu.cuGraphAddKernelNode(graph, before or None, len(before), given[number])
            nodes.append(checked(found, "adding a launch to a graph"))
        if self._downloads is not None:
            self._downloads.add_to(graph, nodes)
        return given, nodes

    def _captured(self, number: int) -> Any:
        """What a function of a library launches, as a graph; again if another library waits for the GPU meanwhile."""
        for _ in range(CAPTURES - 1):
            with suppress(_Invalidated), self._context.capturing, LeavingCaptures():
                return self._captured_once(number)
        with self._context.capturing, LeavingCaptures():
            return self._captured_once(number)

    def _captured_once(self, number: int) -> Any:
        stream = checked(cu.cuStreamCreate(int(cu.CUstream_flags.CU_STREAM_NON_BLOCKING)), "making a stream")
        try:
            mode = cu.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
            checked(cu.cuStreamBeginCapture(stream, mode), "capturing launches")
            try:
                self._launches[number].function(self._arguments.numbers(number)).run(int(stream))
            except BaseException as failure:
                error, *graphs = cu.cuStreamEndCapture(stream)  # which may fail for the same reason
                if error == cu.CUresult.CUDA_SUCCESS:
                    cu.cuGraphDestroy(*graphs)
                if error == _INVALIDATED and isinstance(failure, DeviceError):
                    raise _Invalidated from failure
                raise
            found = cu.cuStreamEndCapture(stream)
            if found[0] == _INVALIDATED:
                raise _Invalidated
            return checked(found, "capturing launches")
        finally:
            cu.cuStreamDestroy(stream)

    def _parameters(self, number: int) -> Any:
        one, found = self._launches[number], cu.CUDA_KERNEL_NODE_PARAMS()
        if is_of_library(one):
            return found
        found.func = one.function
        found.gridDimX, found.gridDimY, found.gridDimZ = each_way(one.blocks)
        found.blockDimX, found.blockDimY, found.blockDimZ = one.threads, 1, 1
        found.sharedMemBytes, found.kernelParams, found.extra = 0, self._arguments.at(number), 0
        return found

    def run(self) -> None:
        self._context.enter()
        (error,) = cu.cuGraphLaunch(self._ready, STREAM_OF_LAUNCHES)
        if error:
            fine(error, self._let_go, cu.cuGraphLaunch, (self._ready, STREAM_OF_LAUNCHES))

    def change(self, changed: Sequence[Changed]) -> None:
        self._context.enter()
        self._arguments.change(changed)
        same = [self._changed(number) for number in dict.fromkeys(launch for launch, _, _ in changed)]
        if not all(same):
            before = self._end  # a library may launch other kernels for other addresses
            self._build()
            before()

    def _changed(self, number: int) -> bool:
        """Whether the graph as it is ready can have other arguments of a launch; then it has them."""
        if not is_of_library(self._launches[number]):
            found = cu.cuGraphExecKernelNodeSetParams(self._ready, self._nodes[number], self._given[number])
            checked(found, "changing the arguments of a launch")
            return True
        inner = self._captured(number)
        (error,) = cu.cuGraphExecChildGraphNodeSetParams(self._ready, self._nodes[number], inner)
        checked(cu.cuGraphDestroy(inner), "freeing a graph of launches")
        return bool(error == cu.CUresult.CUDA_SUCCESS)

    def download(self, array: Array, address: int, mark: int) -> None:
        self._context.enter()
        assert self._downloads is not None
        self._downloads.download(array, address, mark)

    def close(self) -> None:
        self._end()
