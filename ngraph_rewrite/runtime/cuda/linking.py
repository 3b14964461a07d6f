# SPDX-License-Identifier: Apache-2.0
"""From PTX to machine code without a GPU, and what the assembler says of it: registers, memory, what was spilled."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from ngraph_rewrite.errors import DeviceError, KernelError
from ngraph_rewrite.lazy import lazy_module
from ngraph_rewrite.runtime.cuda.machine_code import MachineCode, Resources
from ngraph_rewrite.runtime.cuda.registries import read_registries

if TYPE_CHECKING:
    from cuda.bindings import nvjitlink
    from numba import cuda
else:
    nvjitlink, cuda = lazy_module("cuda.bindings.nvjitlink"), lazy_module("numba.cuda")


_ENTRY = re.compile(r"\.entry\s+([\w$]+)\s*\(")


def check_libraries() -> None:
    """Try the compiler and the assembler; the error is theirs if a library is missing."""
    read_registries()
    cuda.compile_ptx(nothing, "void(int64)", cc=(9, 0))
    nvjitlink.version()


def check_architecture(capability: tuple[int, int]) -> None:
    """Try whether the assembler knows the GPUs of a compute capability.

    Raises:
        DeviceError: if it does not.
    """
    nvjitlink.destroy(_linker(capability))


def _linker(capability: tuple[int, int]) -> int:
    name = f"sm_{capability[0]}{capability[1]}"
    try:
        return int(nvjitlink.create(2, [f"-arch={name}", "-verbose"]))
    except nvjitlink.nvJitLinkError as error:
        what = f"nvJitLink {'.'.join(map(str, nvjitlink.version()))} does not assemble for {name}: {error}"
        raise DeviceError(what, do="name a GPU that it knows, such as sm_90") from error


def nothing(argument: int) -> None:
    """A kernel with which the compiler is tried."""


def assembled(ptx: str, capability: tuple[int, int], name: str) -> MachineCode:
    """A kernel for GPUs of a compute capability, and what it takes of them.

    Raises:
        DeviceError: if the assembler does not know these GPUs.
        KernelError: if it refuses the kernel.
    """
    linker = _linker(capability)
    data = ptx.encode()
    try:
        nvjitlink.add_data(linker, nvjitlink.InputType.PTX, data, len(data), name)
        nvjitlink.complete(linker)
        told = _log(linker, nvjitlink.get_info_log_size, nvjitlink.get_info_log)
        code = bytearray(nvjitlink.get_linked_cubin_size(linker))
        nvjitlink.get_linked_cubin(linker, code)
        major, minor = nvjitlink.version()
        return MachineCode(entry_name(ptx), read_log(told, len(code)), bytes(code), 1000 * major + 10 * minor)
    except nvjitlink.nvJitLinkError as error:
        told = _log(linker, nvjitlink.get_error_log_size, nvjitlink.get_error_log)
        raise KernelError(f"kernel {name} cannot be assembled: {told.strip() or error}") from error
    finally:
        nvjitlink.destroy(linker)


def entry_name(ptx: str) -> str:
    """The name of the kernel in PTX.

    >>> entry_name(".visible .entry _ZN4map(")
    '_ZN4map'
    """
    found = _ENTRY.search(ptx)
    if found is None:
        raise KernelError("there is no kernel in what the compiler made")
    return found[1]


def _log(linker: int, size: Callable[[int], int], read: Callable[[int, bytearray], None]) -> str:
    buffer = bytearray(size(linker))
    read(linker, buffer)
    return buffer.decode(errors="replace").rstrip("\0")


def read_log(text: str, code: int = 0) -> Resources:
    """The figures in what the assembler tells of one kernel, and of the functions it calls."""
    return Resources(
        max(_numbers(r"[Uu]sed (\d+) registers", text), default=0),
        max(_numbers(r"(\d+) bytes smem", text), default=0),
        max(_numbers(r"(\d+) bytes stack frame", text), default=0),
        sum(_numbers(r"(\d+) bytes spill (?:stores|loads)", text)),
        code,
    )


def _numbers(pattern: str, text: str) -> list[int]:
    return [int(found) for found in re.findall(pattern, text)]
