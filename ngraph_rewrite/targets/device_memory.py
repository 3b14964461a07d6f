# SPDX-License-Identifier: Apache-2.0
"""Where all that the kernels of a program name lies on a device, and what goes to and fro with a call."""

from __future__ import annotations

import sys
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
from ngraph_rewrite.targets.device_arrays import DeviceArray, let_owners_wait
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
        addresses: Where what a call brings lies: the arguments that kernels read, then the computed results.
        moved: The bytes that the last call moved to the device, and from it.
        peak: The most bytes that a call needed: the arena, what was taken, variables, and arrays of its caller.
        arena: What the programs of a computation have one after the other.
    """

    def __init__(self, program: Program, plan: Plan, ends: Ends, device: Device) -> None:
        self.program, self.plan, self.ends, self.device = program, plan, ends, device
        self.taken, self.moved, self.peak = dict.fromkeys(_PURPOSES, 0), [0, 0], 0
        self._own, self._most_guests = 0, sum(map(_bytes, (*program.inputs, *program.results)))
        self._owned: list[int] = []
        weakref.finalize(self, free_all, device, self._owned)
        self._constants: dict[object, int] = {}
        self.arena: Arena = program.shared.setdefault("arena", Arena(device))
        self._call = self._take(8, "call")
        self._staged: dict[int, int] = {}
        self.addresses: list[int] = []
        self._slots: dict[object, int] = {program.inputs[n]: slot for slot, n in enumerate(ends.inputs)}
        self._results = len(self._slots)  # where theirs begin among the addresses
        self._copied = [  # results that no kernel stores
            (i, first, found)
            for i, (found, first) in enumerate(zip(ends.results, ends.first, strict=True))
            if first != i or found[0] != "result"
        ]
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
        named = dict.fromkeys(a[:2] for work in kernels(plan.work) for a in work.arguments if isinstance(a, Ref))
        self._counts = any(space == "call" for space, _ in named)
        self._halves = [-1, -1]  # of the number of the last call
        for space, variable in named:
            if space == "storage":
                self._begin(space, variable)

    def _take(self, size: int, kind: str) -> int:
        address = self.device.allocate(size, _PURPOSES[kind])
        self._owned.append(address)
        self.taken[kind] += size
        self._own += size
        return address

    # -- a call --------------------------------------------------------------------------------------------------------

    def begin(self, inputs: Sequence[Any], results: Sequence[Any], call: int) -> None:
        """Do the transfers to the device, but for what is there already."""
        addresses, self.moved = list[int](), [0, 0]
        self.arena.reserve(self.plan.arena)
        for n in self.ends.inputs:
            array = inputs[n]
            if isinstance(array, DeviceArray):
                addresses.append(array.address)
            else:
                addresses.append(self._place(len(addresses), array))
                self._upload(addresses[-1], array)
        for i in self.ends.owners:
            array = results[i]
            there = isinstance(array, DeviceArray)
            addresses.append(array.address if there else self._place(len(addresses), array))
        self.begin_there(addresses, call, self.moved[0])

    def begin_there(self, addresses: list[int], call: int, moved: int = 0) -> None:
        """As `begin`, where all that a call brings is on the device, and the arena is there.

        Args:
            moved: The bytes that the call has moved already.
        """
        self.addresses, self.moved = addresses, [moved, 0]
        if self._storage.newer_there:
            self.moved[0] += self._storage.before_run()
        if self._counts:
            self._tell_number(call)

    def before_row(self) -> None:
        """Bring variables that were set since the call began."""
        if self._storage.newer_there:
            self.moved[0] += self._storage.before_run()

    def after_row(self) -> None:
        """Note that variables may have been written: the call may stand still now, or never end."""
        if self._written:
            self._storage.written(self._written)

    def _tell_number(self, call: int) -> None:
        """Let kernels read the number of the call: what of its halves is another than before."""
        for half, number in enumerate((call & 0xFFFFFFFF, call >> 32)):
            if self._halves[half] != number:
                self.device.write(self._call + 4 * half, number)
                self._halves[half] = number
                self.moved[0] += 4

    @property
    def size(self) -> int:
        """The bytes that the program has on the device itself, the arena of its computation among them."""
        return self._own + self.arena.size

    def _place(self, slot: int, array: Array) -> int:
        """Where what a call has on the host lies on the device: in memory that stays for the next."""
        if slot not in self._staged:
            self._staged[slot] = self._take(array.nbytes, "arguments" if slot < self._results else "results")
        return self._staged[slot]

    def end(self, inputs: Sequence[Any], results: Sequence[Any], early: Mapping[int, Download]) -> None:
        """Do the transfers to the host, but for what is to stay; what is moved already is copied where it is.

        Args:
            early: How computed terms, by number, are had before all launches are done.
        """
        owners = self.ends.owners
        self._note(inputs, results)
        for number, download in early.items():
            result = results[owners[number]]
            if not isinstance(result, DeviceArray):
                download(result, self.addresses[self._results + number])
                self.moved[1] += result.nbytes
        for number, i in enumerate(owners):
            if not isinstance(results[i], DeviceArray) and number not in early:
                self._download(results[i], self.addresses[self._results + number])
        for i, first, (space, key) in self._copied:
            if first != i:
                self._copy(results[first], results[i])
            elif isinstance(key, Op):
                self._copy_from(self._begin(space, key), results[i])
            else:
                self._copy(inputs[key], results[i])
        let_owners_wait(self.device, inputs)

    def end_there(self, inputs: Sequence[Any], results: Sequence[Any]) -> None:
        """As `end`, where all that a call brings is on the device."""
        self._note(inputs, results)
        let_owners_wait(self.device, inputs)

    def _note(self, inputs: Sequence[Any], results: Sequence[Any]) -> None:
        """Note what a call had on the device, if that may be more than ever before, and what it wrote there."""
        if self._written:
            self._storage.written(self._written)
        own = self._own + self.arena.size + self._storage.size
        if self.peak < own + self._most_guests:
            guests = {x.address: x.nbytes for x in (*inputs, *results) if isinstance(x, DeviceArray)}
            self.peak = max(self.peak, own + sum(guests.values()))

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

    def slot(self, ref: int | Ref) -> int | None:
        """Which of the addresses of a call it is that decides an argument; None if it is the same in each."""
        if isinstance(ref, Ref) and ref.space in ("input", "result"):
            return self._slot(ref.space, ref.key)
        return None

    def _slot(self, space: str, key: Any) -> int:
        return self._slots[key] if space == "input" else self._results + int(key)

    def _begin(self, space: str, key: Any) -> int:
        if space == "arena":
            return self.arena.address
        if space in ("input", "result"):
            return self.addresses[self._slot(space, key)]
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


def _bytes(term: Op) -> int:
    """The size of the value of a term at most: nobody asks for the length of an argument that is not read."""
    size = term.size
    return size * int(term.dtype.itemsize) if isinstance(size, int) else sys.maxsize
