# SPDX-License-Identifier: Apache-2.0
"""Kernels run by themselves on arrays, shared out in one way and in another: what they store is the same, and inside.

On the CPU operands lie once before and once behind memory that nobody may touch: a kernel that reads outside of them,
or stores in them, ends its process.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.codegen.kernel_places import told_in_kernel_files
from ngraph_rewrite.codegen.source import Source
from ngraph_rewrite.errors import KernelError
from ngraph_rewrite.plan.cuda.grids import grid_for
from ngraph_rewrite.plan.shares import Grid
from ngraph_rewrite.runtime.aligned import address_of
from ngraph_rewrite.runtime.compiler import Kernel, compile_kernel, raised_by
from ngraph_rewrite.runtime.cuda.device import Launched, find_device, free_all
from ngraph_rewrite.runtime.machine import Launch, LaunchTable
from ngraph_rewrite.testing.compare import same_bits
from ngraph_rewrite.testing.evaluate import Array
from ngraph_rewrite.testing.fences import Margins, fenced

CHUNKS = 3
# Of arrays with more elements the ends are shown, and where they differ.
SHOWN = 100
# Gives what a kernel stores: of its source, the sizes that come first, operands, and what the result holds before.
Run = Callable[[Source, Sequence[int], Sequence[Array], Array, Cache], Array]


class UnequalRuns(KernelError):
    """What a kernel stores depends on how it is shared out."""


class SharedStores(KernelError):
    """Two chunks store one element."""


class StoresOutside(KernelError):
    """A kernel stores where its result is not."""


def _on_cpu(source: Source, sizes: Sequence[int], arrays: Sequence[Array], result: Array, cache: Cache) -> Array:
    """In one chunk and in several."""
    with told_in_kernel_files([source]):
        compiled = compile_kernel(source.text, source.name, cache)

    def stored(before: int, chunks: int, ends: bool) -> Array:
        operands, margins = [fenced(a, ends) for a in arrays], Margins(np.full_like(result, before))
        addresses = [address_of(a) for a in (*operands, margins.array)]
        LaunchTable([Launch(compiled, [*sizes, *addresses], chunks)]).run()
        if (stray := margins.stray()) is not None:
            raise StoresOutside(f"it stores outside of its result, {stray}")
        return margins.array.copy()

    whole = stored(77, 1, True)
    for ends in (False, True):
        parts = stored(78, CHUNKS, ends)  # what is not written shows
        _demand_same(whole, parts, f"in {CHUNKS} chunks", "in one")
    _demand_apart(compiled, sizes, arrays, result)
    return whole


def _demand_apart(kernel: Kernel, sizes: Sequence[int], arrays: Sequence[Array], result: Array) -> None:
    """Whether no two chunks store an element: they run at once, and one would see what another has not finished."""
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 4)(kernel.address)
    operands, owner = [fenced(a, True) for a in arrays], np.full(result.shape, -1)
    for chunk in range(CHUNKS):
        found = []
        for before in (0, 1):  # what is stored is the same both times, and what is not is these
            margins = Margins(np.full_like(result, before))
            block = np.array([*sizes, *(address_of(a) for a in (*operands, margins.array))], np.int64)
            function(address_of(block), chunk, CHUNKS, 0)
            found.append(margins.array.copy())
        stored = ~(same_bits(found[0], np.zeros_like(result)) & same_bits(found[1], np.ones_like(result)))
        if (twice := stored & (owner >= 0)).any():
            at = tuple(np.argwhere(twice)[0].tolist())
            raise SharedStores(f"chunks {owner[at]} and {chunk} of {CHUNKS} both store the element at {[*at]}")
        owner[stored] = chunk


def raised_on_cpu(
    source: Source, sizes: Sequence[int], arrays: Sequence[Array], result: Array, cache: Cache
) -> Exception | None:
    """What a kernel raises, which ends it and which nobody hears."""
    block = np.array([*sizes, *(address_of(a) for a in (*arrays, result))], np.int64)
    return raised_by(source.text, source.name, cache, address_of(block))


def _on_cuda(source: Source, sizes: Sequence[int], arrays: Sequence[Array], result: Array, cache: Cache) -> Array:
    """With a thread for each element, as far as these go, and with one for all."""
    device = find_device()
    with told_in_kernel_files([source]):
        function = device.load({source.name: source.text}, cache, 1)[source.name]
    addresses = list[int]()

    def stored(grid: Grid, before: int) -> Array:
        found = np.full_like(result, before)
        device.upload(addresses[-1], found)
        launches = device.record([Launched(function, grid.dimensions, grid.threads, grid.fixed, [*sizes, *addresses])])
        launches.run()
        device.download(found, addresses[-1])
        launches.close()
        return found

    try:
        for array in (*arrays, result):
            addresses.append(device.allocate(array.nbytes, "an operand of a kernel"))
            device.upload(addresses[-1], array)
        many, alone = stored(grid_for(result.size), 77), stored(Grid(1, 1), 78)
    except IndexError as error:  # of the simulator
        raise KernelError(f"it reads or writes what it was not given: {error}") from error
    finally:
        free_all(device, addresses)
    _demand_same(many, alone, "by one thread", "by a thread for each element")
    return many


def _demand_same(first: Array, second: Array, how: str, other: str) -> None:
    same = same_bits(first, second)
    if not same.all():
        raise UnequalRuns(f"{second!r} {how}, and {first!r} {other}{told_place(second, first, same)}")


def told_place(first: Array, second: Array, same: Array) -> str:
    """Where long arrays differ first, whose elements are not all shown.

    >>> a = np.arange(200)
    >>> told_place(a, a * 2, a == a * 2)
    '; first at [1]: 1 and 2'
    """
    if first.size <= SHOWN:
        return ""
    at = tuple(np.argwhere(~same)[0].tolist())
    return f"; first at {[*at]}: {first[at]} and {second[at]}"


RUNS: Mapping[str, Run] = MappingProxyType({"cpu": _on_cpu, "cuda": _on_cuda})
