# SPDX-License-Identifier: Apache-2.0
"""The process's one home for machine code: object files and LLVM IR go in, addresses come out. Needs llvmlite only."""

import contextlib
import os
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ngraph_rewrite.errors import KernelError
from ngraph_rewrite.lazy import lazy_module
from ngraph_rewrite.runtime.forking import LOADING, fork_lock

if TYPE_CHECKING:
    from llvmlite import binding
else:
    binding = lazy_module("llvmlite.binding")

_lock = fork_lock(LOADING)


class ObjectCode(NamedTuple):
    """An object file: the function it defines for callers, and the functions it expects of the process."""

    entry: str
    outside: tuple[str, ...]
    data: bytes


@cache
def _engine() -> Any:
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    if os.name == "posix":  # kernels call the C library's mathematical functions by name
        with contextlib.suppress(RuntimeError):
            binding.load_library_permanently("libm.so.6")
    machine = binding.Target.from_default_triple().create_target_machine(opt=2, jit=True)
    return binding.create_mcjit_compiler(binding.parse_assembly(""), machine)


def load_object(code: ObjectCode) -> int:
    """Load an object file and return the address of its entry; raises `KernelError` if it calls what is not there."""
    with _lock:
        engine = _engine()
        missing = [name for name in code.outside if binding.address_of_symbol(name) is None]
        if missing:
            raise KernelError(f"{code.entry} calls {', '.join(missing)}, which this process does not have")
        engine.add_object_file(binding.ObjectFileRef.from_data(code.data))
        engine.finalize_object()
        return int(engine.get_function_address(code.entry))


def load_ir(symbol: str, text: str) -> int:
    """Compile a module of LLVM IR and return the address of one of its functions."""
    return load_functions(text, [symbol])[0]


def load_functions(text: str, symbols: Iterable[str]) -> list[int]:
    """Compile a module of LLVM IR and return the addresses of some of its functions."""
    with _lock:
        engine = _engine()
        module = binding.parse_assembly(text)
        module.verify()
        engine.add_module(module)
        engine.finalize_object()
        return [int(engine.get_function_address(symbol)) for symbol in symbols]
