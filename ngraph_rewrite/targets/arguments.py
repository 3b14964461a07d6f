# SPDX-License-Identifier: Apache-2.0
"""What kernels are given: symbolic addresses become numbers, and those that change with a call are filled in by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ngraph_rewrite.plan.launches import Ref
from ngraph_rewrite.runtime.aligned import aligned_array
from ngraph_rewrite.runtime.blas import gemm_address
from ngraph_rewrite.targets.target import Array, Program
from ngraph_rewrite.terms.op import Op


class Arguments:
    """The arguments of all kernels of a program, one after the other, and the memory that belongs to the program.

    Attributes:
        arena: The memory that lives only inside a call.
        call: The number of the call, for random draws.
    """

    def __init__(self, program: Program, arena: int) -> None:
        self.arena, self.call = aligned_array((arena,), np.uint8), np.zeros(1, np.int64)
        self._program = program
        self._constants: list[Array] = []
        self._fixed: dict[tuple[str, object], int] = {}
        self._arena = _address(self.arena)
        self._inputs: Mapping[object, int] = {p: i for i, p in enumerate(program.inputs)}
        self._count = 0
        # of each argument that changes: where it is, the number of the array, how far into it; by space
        self._changing: dict[str, list[tuple[int, int, int]]] = {"input": [], "result": []}

    def numbers(self, given: Sequence[int | Ref]) -> list[int]:
        """The next arguments as numbers; 0 for what a call fills in."""
        found, arena = [], self._arena
        for argument in given:
            if not isinstance(argument, Ref):
                found.append(argument)
                continue
            space, key, offset = argument
            if space == "arena":
                found.append(arena + offset)
            elif space in self._changing:
                self._note(self._count + len(found), argument)
                found.append(0)
            else:
                begin = self._fixed.get((space, key))
                found.append((self._begin(space, key) if begin is None else begin) + offset)
        self._count += len(found)
        return found

    def _note(self, slot: int, ref: Ref) -> None:
        number = self._inputs[ref.key] if ref.space == "input" else ref.key
        assert isinstance(number, int)
        self._changing[ref.space].append((slot, number, ref.offset))

    def _begin(self, space: str, key: object) -> int:
        """The address or number that is the same in every call, looked up once."""
        found = self._fixed[space, key] = self._found(space, key)
        return found

    def _found(self, space: str, key: object) -> int:
        if space == "storage":
            assert isinstance(key, Op)
            return _address(self._program.storage[key.attribute("uid")])
        if space == "constant":
            return _address(self._constant(key))
        if space == "call":
            return _address(self.call)
        if space == "gemm":
            return gemm_address(str(key))
        return self._program.seed if space == "seed" else self._program.streams[key]  # type: ignore[index]

    def _constant(self, term: object) -> Array:
        assert isinstance(term, Op)
        shape = tuple(int(n) for n in term.shape)  # type: ignore[arg-type]
        self._constants.append(np.ascontiguousarray(term.attrs[0].array(shape)))
        return self._constants[-1]

    def seal(self) -> None:
        """Sort what changes into arrays, so that a call fills it in at once."""
        every = [np.array(found, dtype=np.intp).reshape(-1, 3).T for found in self._changing.values()]
        self._sides = [(slots, numbers, offsets) for slots, numbers, offsets in every]

    def fill(self, arguments: Array, inputs: Sequence[Array], results: Sequence[Array]) -> None:
        """Write the addresses of a call into the arguments."""
        for (slots, numbers, offsets), arrays in zip(self._sides, (inputs, results), strict=True):
            if len(slots):
                addresses = np.array([_address(a) for a in arrays], dtype=np.int64)
                arguments[slots] = addresses[numbers] + offsets


def _address(array: Array) -> int:
    address: int = array.__array_interface__["data"][0]
    return address
