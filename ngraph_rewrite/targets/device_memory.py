# SPDX-License-Identifier: Apache-2.0
"""Where all that the kernels of a program name lies on a device, and what goes to and fro with a call."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from ngraph_rewrite.plan.launches import kernels
from ngraph_rewrite.plan.operands import Ref
from ngraph_rewrite.plan.plan import Plan
from ngraph_rewrite.runtime.cuda.device import Device, free_all
from ngraph_rewrite.runtime.cuda.storage import DeviceStorage
from ngraph_rewrite.targets.device_arrays import DeviceArray
from ngraph_rewrite.targets.storage import Storage
from ngraph_rewrite.targets.target import Array, Program
from ngraph_rewrite.terms.op import Op


class ProgramMemory:
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
