# SPDX-License-Identifier: Apache-2.0
"""Where all that the kernels of a program name lies on a device, and what goes to and fro with a call."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ngraph_rewrite.plan.cuda.ends import Ends
from ngraph_rewrite.plan.launches import kernels
from ngraph_rewrite.plan.operands import Ref
from ngraph_rewrite.plan.plan import Plan
from ngraph_rewrite.runtime.cuda.arena import Arena
from ngraph_rewrite.runtime.cuda.device import Device, free_all
from ngraph_rewrite.runtime.cuda.storage import DeviceStorage
from ngraph_rewrite.targets.device_arrays import DeviceArray
from ngraph_rewrite.targets.storage import Storage
from ngraph_rewrite.targets.target import Array, Program
from ngraph_rewrite.terms.op import Op

_PURPOSES = {
    "constants": "a constant",
    "arguments": "an argument",
    "results": "a result",
    "call": "the number of a call",
}
# Copies from an address to an array of the host.
Download = Callable[[Array, int], None]


class ProgramMemory:
    """Where everything that kernels name lies on a device.

    Attributes:
        taken: The bytes that belong to the program: constants, staged arguments and results, the number of the call.
        moved: The bytes that the last call moved to the device, and from it.
        peak: The most bytes that a call needed: the arena, what was taken, variables, and arrays of its caller.
        arena: What the programs of a computation have one after the other.
    """

    def __init__(self, program: Program, plan: Plan, ends: Ends, device: Device) -> None:
        self.program, self.plan, self.ends, self.device = program, plan, ends, device
        self.taken, self.moved, self.peak = dict.fromkeys(_PURPOSES, 0), [0, 0], 0
        self._owned: list[int] = []
        weakref.finalize(self, free_all, device, self._owned)
        self._constants: dict[object, int] = {}
        self.arena: Arena = program.shared.setdefault("arena", Arena(device))
        self._call = self._take(8, "call")
        self._staged: dict[tuple[str, int], int] = {}
        self._places: dict[str, dict[int, int]] = {"input": {}, "result": {}}
        self._numbers = {p: i for i, p in enumerate(program.inputs)}
        storage = program.storage
        assert isinstance(storage, Storage)
        if storage.mirror is None:
            storage.mirror = DeviceStorage(device, storage)
        assert isinstance(storage.mirror, DeviceStorage)
        self._storage = storage.mirror
        self._written = [w.args[0].attribute("uid") for w in program.writes]
        for _, key in ends.results:  # so that they are there before the first run
            if isinstance(key, Op):
                self._begin("storage", key)
        for work in kernels(plan.work):
            for argument in work.arguments:
                if isinstance(argument, Ref) and argument.space == "storage":
                    self._begin("storage", argument.key)

    def _take(self, size: int, kind: str) -> int:
        address = self.device.allocate(size, _PURPOSES[kind])
        self._owned.append(address)
        self.taken[kind] += size
        return address

    # -- a call --------------------------------------------------------------------------------------------------------

    def begin(self, inputs: Sequence[Any], results: Sequence[Any], call: int) -> None:
        """Do the transfers to the device, but for what is there already."""
        ends, self.moved = self.ends, [0, 0]
        self.arena.reserve(self.plan.arena)
        self._places["input"] = {n: self._place("input", n, inputs[n]) for n in ends.inputs}
        self._places["result"] = {k: self._place("result", k, results[i]) for k, i in enumerate(ends.owners)}
        for number, address in self._places["input"].items():
            if not isinstance(inputs[number], DeviceArray):
                self._upload(address, inputs[number])
        self.moved[0] += self._storage.before_run()
        if self.program.streams:
            self._upload(self._call, np.array([call], np.int64))

    @property
    def size(self) -> int:
        """The bytes that the program has on the device itself, the arena of its computation among them."""
        return sum(self.taken.values()) + self.arena.size

    def _place(self, space: str, number: int, array: Any) -> int:
        """Where an argument or a result lies: in memory of its own, or where it is."""
        if isinstance(array, DeviceArray):
            return array.address
        key = space, number
        if key not in self._staged:
            self._staged[key] = self._take(array.nbytes, "arguments" if space == "input" else "results")
        return self._staged[key]

    def end(self, inputs: Sequence[Any], results: Sequence[Any], early: Mapping[int, Download]) -> None:
        """Do the transfers to the host, but for what is to stay; what is moved already is copied where it is.

        Args:
            early: How computed terms, by number, are had before all launches are done.
        """
        guests = {x.address: x.nbytes for x in (*inputs, *results) if isinstance(x, DeviceArray)}
        self.peak = max(self.peak, sum(guests.values()) + self.size + self._storage.size)
        self._storage.written(self._written)
        for number, download in early.items():
            result = results[self.ends.owners[number]]
            if not isinstance(result, DeviceArray):
                download(result, self._places["result"][number])
                self.moved[1] += result.nbytes
        for i, (result, (space, key), first) in enumerate(
            zip(results, self.ends.results, self.ends.first, strict=True)
        ):
            if first != i:
                self._copy(results[first], result)
            elif isinstance(key, Op):
                self._copy_from(self._begin(space, key), result)
            elif space == "input":
                self._copy(inputs[key], result)
            elif key not in early and not isinstance(result, DeviceArray):
                self._download(result, self._places["result"][key])

    def _copy(self, source: Any, target: Any) -> None:
        """Copy an array, wherever both are."""
        if isinstance(source, DeviceArray):
            self._copy_from(source.address, target)
        elif isinstance(target, DeviceArray):
            self._upload(target.address, source)
        else:
            np.copyto(target, source)

    def _copy_from(self, address: int, target: Any) -> None:
        """Copy what lies on the device, wherever it is to go."""
        if isinstance(target, DeviceArray):
            self.device.copy(target.address, address, target.nbytes)
        else:
            self._download(target, address)

    def _upload(self, address: int, array: Array) -> None:
        self.device.upload(address, array)
        self.moved[0] += array.nbytes

    def _download(self, array: Array, address: int) -> None:
        self.device.download(array, address)
        self.moved[1] += array.nbytes

    # -- addresses -----------------------------------------------------------------------------------------------------

    def number(self, ref: int | Ref) -> int:
        """An argument of a kernel as a number."""
        if not isinstance(ref, Ref):
            return ref
        return self._begin(ref.space, ref.key) + ref.offset

    def _begin(self, space: str, key: Any) -> int:
        if space == "arena":
            return self.arena.address
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
            self._constants[term] = self._take(array.nbytes, "constants")
            self._upload(self._constants[term], array)
        return self._constants[term]

    def read(self, term: Op, ref: Ref) -> Array:
        """What lies where a kernel stored a term."""
        shape = tuple(int(n) for n in term.shape)  # type: ignore[arg-type]
        array = np.empty(shape, term.dtype)
        self.device.download(array, self.number(ref))
        return array
