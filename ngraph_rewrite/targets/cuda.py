# SPDX-License-Identifier: Apache-2.0
"""The GPU target: the same plan with kernels for a GPU, run as one graph of launches."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from ngraph_rewrite.codegen.source import Source
from ngraph_rewrite.ops import cuda, semi  # noqa: F401  (declare the ops of the base set)
from ngraph_rewrite.plan.cuda.renderer import CUDA as RENDERER
from ngraph_rewrite.plan.launches import Loop, Work, kernels
from ngraph_rewrite.plan.operands import Ref
from ngraph_rewrite.plan.plan import Plan, make_plan
from ngraph_rewrite.plan.shares import Grid
from ngraph_rewrite.runtime.cuda.device import Device, Launched, Recorded, find_device, free_all, has_library
from ngraph_rewrite.runtime.cuda.storage import DeviceStorage
from ngraph_rewrite.targets.cpu import CORE, shown_place
from ngraph_rewrite.targets.device_arrays import ArraysOfGpu, DeviceArray
from ngraph_rewrite.targets.storage import Storage
from ngraph_rewrite.targets.target import Array, Program, Target
from ngraph_rewrite.terms.catalogue import definitions
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.tracing import CallLog, listener, told

_OF_LIBRARY = frozenset({"cuda.gemm"})
_COMPOSITE = frozenset({"semi.tensor_slice", "semi.logaddexp", "semi.convolution", "semi.pooling"})


class CudaExecutable:
    """A plan with memory on a GPU: one arena, kernels, and the arguments that a call may change."""

    def __init__(self, program: Program) -> None:
        self.program, self.device = program, find_device()
        self.plan: Plan = make_plan(program.results, program.writes, program.order, RENDERER)
        self._work = list(kernels(self.plan.work))
        self._memory = _Memory(program, self.plan, self.device)
        self._functions = {
            source.name: self._function(source) for source in dict.fromkeys(work.source for work in self._work)
        }
        self._rows = _Rows(self.plan.work, self._memory, self._functions)
        self._recorded: Recorded | None = None

    def _function(self, source: Source) -> Any:
        if source.library:
            return self.device.library(source.library)
        return self.device.load(source.text, source.name, self.program.cache)

    def run(self, inputs: Sequence[Any], results: Sequence[Any], call: int) -> None:
        """Copy arguments to the device unless they are there, run, and copy results from it unless they stay."""
        memory = self._memory
        memory.begin(inputs, results, call)
        log = listener([*self.program.results, *self.program.writes]) if told[0] else None
        if log is None:
            self._run_all()
        else:
            self._run_told(log, results)
        memory.end(results)

    def _run_all(self) -> None:
        changed = self._rows.update()
        if self._recorded is None:
            self._recorded = self.device.record(self._rows.launches())
        elif changed:
            self._recorded.change([(number, self._rows.arguments[number]) for number in changed])
        self._recorded.run()

    def _run_told(self, log: CallLog, results: Sequence[Any]) -> None:
        """Run row by row, and tell what each row computed."""
        self._rows.update()
        launches = self._rows.launches()
        writes, origins = list(self.program.writes), self.plan.origins
        for row, work in enumerate(self.plan.work):
            recorded = self.device.record([launches[i] for i in self._rows.of_row(row)])
            recorded.run()
            self.device.synchronize()
            recorded.close()
            following = self.plan.work[row + 1 : row + 2]
            if following and following[0].term is work.term and isinstance(work, Work):
                continue  # a part of what the next one completes
            if isinstance(work, Loop):
                log.tell_all(origins.get(work.term, work.term))
                continue
            for other, ref in (*work.others, (work.term, work.stored)):
                was = origins.get(other, other)
                log.tell_all(was, partial(self._memory.read, was, ref))
                write = next((w for w in writes if ref[:2] == ("storage", w.args[0])), None)
                if write is not None:
                    writes.remove(write)
                    log.tell_all(write)
        for term in (*self.program.results, *self.program.writes):
            log.tell_all(term)

    def source(self) -> str:
        """Every kernel, once."""
        return "\n\n".join(dict.fromkeys(work.source.text for work in self._work))

    def stats(self) -> dict[str, Any]:
        """Kernels by name in the order in which they run and their blocks, launches, the arena, layout copies."""
        return {
            "kernels": [w.source.name for w in self._work],
            "launches": len(self._rows),
            "distinct_kernels": len(self._functions),
            "arena_bytes": self.plan.arena,
            "device_bytes": self._memory.size,
            "temporaries": self.plan.temporaries,
            "layout_copies": len(self.plan.copies),
            "layout_copy_bytes": sum(c.bytes for c in self.plan.copies),
            "device": self.device.name,
            "blocks": [w.share.chunks for w in self._work],
        }

    def where(self, term: Op) -> str | None:
        """The kernel that computes a term, if one does."""
        return shown_place(term, self.plan, self._work)


class _Memory:
    """Where everything that kernels name lies on a device.

    Attributes:
        size: The bytes that belong to the program: arena, constants, arguments and results.
    """

    def __init__(self, program: Program, plan: Plan, device: Device) -> None:
        self.program, self.device, self.size = program, device, 0
        self._owned: list[int] = []
        weakref.finalize(self, free_all, device, self._owned)
        self._constants: dict[object, int] = {}
        self._arena = self._take(plan.arena, "intermediate values")
        self._call = self._take(8, "the number of the call")
        self._staged: dict[tuple[str, int], int] = {}
        self._places: dict[str, list[int]] = {"input": [], "result": []}
        self._numbers = {p: i for i, p in enumerate(program.inputs)}
        storage = program.storage
        assert isinstance(storage, Storage)
        if storage.mirror is None:
            storage.mirror = DeviceStorage(device, storage)
        assert isinstance(storage.mirror, DeviceStorage)
        self._storage = storage.mirror
        self._written = [w.args[0].attribute("uid") for w in program.writes]
        for work in kernels(plan.work):  # so that they are there before the first run
            for argument in work.arguments:
                if isinstance(argument, Ref) and argument.space == "storage":
                    self._begin("storage", argument.key)

    def _take(self, size: int, purpose: str) -> int:
        address = self.device.allocate(size, purpose)
        self._owned.append(address)
        self.size += size
        return address

    # -- a call --------------------------------------------------------------------------------------------------------

    def begin(self, inputs: Sequence[Any], results: Sequence[Any], call: int) -> None:
        """Bring to the device what a call needs."""
        self._places["input"] = [self._place("input", i, x) for i, x in enumerate(inputs)]
        self._places["result"] = [self._place("result", i, x) for i, x in enumerate(results)]
        for address, x in zip(self._places["input"], inputs, strict=True):
            if not isinstance(x, DeviceArray):
                self.device.upload(address, x)
        self._storage.before_run()
        if self.program.streams:
            self.device.upload(self._call, np.array([call], np.int64))

    def _place(self, space: str, number: int, array: Any) -> int:
        """Where an argument or a result lies: in memory of its own, or where it is."""
        if isinstance(array, DeviceArray):
            return array.address
        key = space, number
        if key not in self._staged:
            self._staged[key] = self._take(array.nbytes, f"{'an argument' if space == 'input' else 'a result'}")
        return self._staged[key]

    def end(self, results: Sequence[Any]) -> None:
        """Bring the results to the host, but for those that stay."""
        self._storage.written(self._written)
        for address, array in zip(self._places["result"], results, strict=True):
            if not isinstance(array, DeviceArray):
                self.device.download(array, address)

    # -- addresses -----------------------------------------------------------------------------------------------------

    def number(self, ref: int | Ref) -> int:
        """An argument of a kernel as a number."""
        if not isinstance(ref, Ref):
            return ref
        return self._begin(ref.space, ref.key) + ref.offset

    def _begin(self, space: str, key: Any) -> int:
        if space == "arena":
            return self._arena
        if space == "input":
            return self._places["input"][self._numbers[key]]
        if space == "result":
            return self._places["result"][int(key)]
        if space == "storage":
            return self._storage.address(key.attribute("uid"))
        if space == "constant":
            return self._constant(key)
        if space == "call":
            return self._call
        return self.program.seed if space == "seed" else self.program.streams[key]

    def _constant(self, term: Op) -> int:
        if term not in self._constants:
            shape = tuple(int(n) for n in term.shape)  # type: ignore[arg-type]
            array = np.ascontiguousarray(term.attrs[0].array(shape))
            self._constants[term] = self._take(array.nbytes, "a constant")
            self.device.upload(self._constants[term], array)
        return self._constants[term]

    def read(self, term: Op, ref: Ref) -> Array:
        """What lies where a kernel stored a term."""
        shape = tuple(int(n) for n in term.shape)  # type: ignore[arg-type]
        array = np.empty(shape, term.dtype)
        self.device.download(array, self.number(ref))
        return array


class _Rows:
    """The launches of a plan, those of loops once for each step.

    Attributes:
        arguments: Of each launch, once they are worked out.
    """

    def __init__(self, work: Sequence[Work | Loop], memory: _Memory, functions: Mapping[str, Any]) -> None:
        self._memory, self._functions = memory, functions
        self._every = list(kernels(work))
        first, self._first = 0, list[int]()
        for one in self._every:
            self._first.append(first)
            first += len(one.arguments)
        self._moved = [0] * first
        self.arguments: list[list[int]] = []
        self._order: list[tuple[int, list[int]]] = []  # which of the work, and by how much its arguments moved
        self._ends: list[int] = []
        number = 0
        for row in work:
            number = self._unroll(row, number)
            self._ends.append(len(self._order))

    def _unroll(self, work: Work | Loop, number: int) -> int:
        if isinstance(work, Work):
            begin = self._first[number]
            self._order.append((number, self._moved[begin : begin + len(work.arguments)]))
            return number + 1
        end, begin = number, self._first[number] if number < len(self._first) else 0
        for _ in range(work.times):
            end = number
            for inner in work.work:
                end = self._unroll(inner, end)
            for at, step in work.steps:
                self._moved[begin + at] += step
        for at, step in work.steps:
            self._moved[begin + at] -= step * work.times
        return end if work.times else number + sum(1 for _ in kernels(work.work))

    def __len__(self) -> int:
        return len(self._order)

    def of_row(self, row: int) -> range:
        """The launches of a row of the plan."""
        return range(self._ends[row - 1] if row else 0, self._ends[row])

    def update(self) -> list[int]:
        """Work out the arguments of this call; the launches that have others than in the last one."""
        if not self.arguments:
            found = [[self._memory.number(a) for a in one.arguments] for one in self._every]
            self.arguments = [[a + by for a, by in zip(found[n], moved, strict=True)] for n, moved in self._order]
            return []
        changed = dict[int, None]()
        for launch, place, ref, moved in self._changing:
            now = self._memory.number(ref) + moved
            if self.arguments[launch][place] != now:
                self.arguments[launch][place] = now
                changed[launch] = None
        return [*changed]

    @cached_property
    def _changing(self) -> list[tuple[int, int, Ref, int]]:
        """The arguments that a call may change: of which launch, which one, what it is, and by how much it moved."""
        return [
            (launch, place, argument, moved[place])
            for launch, (number, moved) in enumerate(self._order)
            for place, argument in enumerate(self._every[number].arguments)
            if isinstance(argument, Ref) and argument.space in ("input", "result")
        ]

    def launches(self) -> list[Launched]:
        """Each launch with its arguments, as they are in this call."""
        return [self._launched(number, given) for (number, _), given in zip(self._order, self.arguments, strict=True)]

    def _launched(self, number: int, given: Sequence[int]) -> Launched:
        work, grid = self._every[number], self._every[number].share
        assert isinstance(grid, Grid)
        return Launched(self._functions[work.source.name], grid.blocks, grid.threads, grid.fixed, given)


def _base() -> frozenset[str]:
    semi_ops = {d.name for d in definitions("semi") if d.shipped} - _COMPOSITE
    own = {d.name for d in definitions("cuda") if d.shipped and (d.name not in _OF_LIBRARY or has_library())}
    return frozenset(f"core.{name}" for name in CORE.split()) | semi_ops | own


CUDA = Target("cuda", _base(), CudaExecutable, sample="any", recurrent="any", arrays=ArraysOfGpu())
