# SPDX-License-Identifier: Apache-2.0
"""What kernels are given: symbolic addresses become numbers, and those that change with a call are filled in by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from ngraph_rewrite.codegen.source import Source
from ngraph_rewrite.plan.operands import Ref
from ngraph_rewrite.runtime.aligned import address_of, aligned_array
from ngraph_rewrite.runtime.compiler import Kernel, compile_kernel
from ngraph_rewrite.runtime.entry import fill_function
from ngraph_rewrite.runtime.machine import LaunchTable
from ngraph_rewrite.runtime.products import product_number
from ngraph_rewrite.targets.target import Array, Program
from ngraph_rewrite.terms.op import Op


class Arguments:
    """The arguments of all kernels of a program, one after the other, and the memory that belongs to the program.

    Attributes:
        arena: The memory that lives only inside a call.
        call: The number of the call, for random draws.
        patches: Where addresses of a call go: the address of the argument, the number of the array (inputs come before
            results), and how far into it. Known once all is sealed.
    """

    def __init__(self, program: Program, arena: int) -> None:
        self.arena, self.call = _memory(program.shared, arena), np.zeros(1, np.int64)
        self._program = program
        self._constants: list[Array] = []
        # By value and shape, as long as any program of the computation has them.
        self._all_constants = program.shared.setdefault("constants", WeakValueDictionary())
        self._kernels: list[Kernel] = []  # those that others call
        self._begin: dict[tuple[str, object], int] = {}
        self._fixed: dict[Ref, int] = {}
        self._arena = address_of(self.arena)
        self._inputs: Mapping[object, int] = {p: i for i, p in enumerate(program.inputs)}
        self._count = 0
        # of each argument that changes: where it is, the number of the array, how far into it; by space
        self._changing: dict[str, list[tuple[int, int, int]]] = {"input": [], "result": []}

    def numbers(self, given: Sequence[int | Ref], refs: Sequence[int]) -> list[int]:
        """The next arguments as numbers; 0 for what a call fills in.

        Args:
            refs: Which of them are no numbers yet.
        """
        found: list[Any] = list(given)
        for place in refs:
            ref = found[place]
            space = ref[0]
            if space == "arena":
                found[place] = self._arena + ref[2]
            elif space in self._changing:
                self._note(self._count + place, ref)
                found[place] = 0
            else:
                number = self._fixed.get(ref)
                found[place] = self._number(ref) if number is None else number
        self._count += len(found)
        return found

    def place(self, ref: Ref) -> int:
        """Where something lies in the arena."""
        assert ref.space == "arena", ref
        return self._arena + ref.offset

    def _note(self, slot: int, ref: Ref) -> None:
        number = self._inputs[ref.key] if ref.space == "input" else ref.key
        assert isinstance(number, int)
        self._changing[ref.space].append((slot, number, ref.offset))

    def _number(self, ref: Ref) -> int:
        """The address or number that is the same in every call; where it begins is looked up once."""
        begin = self._begin.get(ref[:2])
        if begin is None:
            begin = self._begin[ref[:2]] = self._found(ref.space, ref.key)
        self._fixed[ref] = begin + ref.offset
        return begin + ref.offset

    def _found(self, space: str, key: object) -> int:
        if space == "storage":
            assert isinstance(key, Op)
            return address_of(self._program.storage[key.attribute("uid")])
        if space == "constant":
            return address_of(self._constant(key))
        if space == "call":
            return address_of(self.call)
        if space == "product":
            return self._product(str(key))
        if space == "kernel":
            assert isinstance(key, Source)
            self._kernels.append(compile_kernel(key.text, key.name, self._program.cache))
            return self._kernels[-1].address
        return self._program.seed if space == "seed" else self._program.streams[key]  # type: ignore[index]

    def _product(self, key: str) -> int:
        """A number or function of products, which is looked up once for all programs of a computation."""
        found: dict[str, int] = self._program.shared.setdefault("products", {})
        if key not in found:
            word, dtype = key.split()
            found[key] = product_number(word, dtype, self._program.cache)
        return found[key]

    def _constant(self, term: object) -> Array:
        assert isinstance(term, Op)
        shape, literal = tuple([int(n) for n in term.shape]), term.attrs[0]  # type: ignore[arg-type]
        found: Array | None = self._all_constants.get((literal, shape))
        if found is None:
            found = self._all_constants[literal, shape] = np.ascontiguousarray(literal.array(shape))
        self._constants.append(found)
        return found

    def seal(self, table: LaunchTable) -> None:
        """Once all is numbered: say where in the arguments of a table the addresses of a call go."""
        begin, inputs = address_of(table.arguments), len(self._program.inputs)
        self.patches: list[tuple[int, int, int]] = [
            (begin + 8 * slot, number + first, offset)
            for first, found in zip((0, inputs), self._changing.values(), strict=True)
            for slot, number, offset in found
        ]
        self._slots = [((at - begin) // 8, number, offset) for at, number, offset in self.patches]
        self._filled = table.arguments

    @cached_property
    def _fill(self) -> Any | None:
        """Machine code that writes addresses, for those who call no machine code that does so itself."""
        inputs, results = len(self._program.inputs), len(self._program.results)
        return fill_function(inputs, results, self.patches, self._filled, self._program.cache)

    def fill(self, arguments: Array, inputs: Sequence[Array], results: Sequence[Array]) -> None:
        """Write the addresses of a call into the arguments."""
        if self._fill is not None and self._fill(*inputs, *results) is None:
            return
        addresses = [address_of(a) for a in (*inputs, *results)]
        for slot, number, offset in self._slots:
            arguments[slot] = addresses[number] + offset


def _memory(shared: dict[str, Any], size: int) -> Array:
    """So many bytes, which the programs of a computation use in turns.

    Where one needs more than there is, there is half more from then on: lengths that grow step by step share few.
    """
    found = shared.get("arena")
    if found is None or found.size < size:
        least = 0 if found is None else found.size + found.size // 2
        found = shared["arena"] = aligned_array((max(size, least),), np.uint8)
    return found[:size]
