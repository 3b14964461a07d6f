# SPDX-License-Identifier: Apache-2.0
"""The process's one home for machine code: object files and LLVM IR go in, addresses come out.

Object files are loaded without llvmlite on Linux and x86-64, if they need no more than `linking` knows.
"""

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ngraph_rewrite.errors import KernelError
from ngraph_rewrite.lazy import lazy_module
from ngraph_rewrite.runtime.features import processor
from ngraph_rewrite.runtime.forking import LOADING, fork_lock
from ngraph_rewrite.runtime.half_code import CONVERSIONS, HALF
from ngraph_rewrite.runtime.linking import Damaged, Unlinkable, check_object, linked, links, outside
from ngraph_rewrite.undisturbed import undisturbed

if TYPE_CHECKING:
    from llvmlite import binding
else:
    binding = lazy_module("llvmlite.binding")

_lock = fork_lock(LOADING)


class DamagedCode(KernelError):
    """Object code that was kept is none, or not that of a kernel: it has to be made anew."""


class ObjectCode(NamedTuple):
    """An object file: the function it defines for callers, and the functions it expects of the process."""

    entry: str
    outside: tuple[str, ...]
    data: bytes


@cache
def _engine() -> Any:
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    if os.name == "posix":  # kernels call mathematical functions by name, and casts of halves where no instruction is
        for library in ("libm.so.6", "libgcc_s.so.1"):
            with contextlib.suppress(RuntimeError):
                binding.load_library_permanently(library)
    machine = binding.Target.from_default_triple().create_target_machine(opt=2, jit=True)
    return binding.create_mcjit_compiler(binding.parse_assembly(""), machine)


@cache
def host_machine() -> Any:
    """The processor that code is made for, as a target of object code: the one here, or what Numba's variables say."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    name, features = processor()
    return binding.Target.from_default_triple().create_target_machine(
        cpu=name,
        features=features,
        opt=3,
        reloc="static",
        codemodel="jitdefault",
        jit=True,
    )


class Loaded(NamedTuple):
    """Addresses of functions, and their memory: it has to live as long as anybody calls them."""

    addresses: list[int]
    memory: object


def load_objects(code: ObjectCode, symbols: Sequence[str]) -> Loaded:
    """Load some of the functions that an object file defines.

    Raises:
        KernelError: if it calls what is not there.
        DamagedCode: if it is no object file, or does not define one of them.
    """
    with _lock, undisturbed():
        # code calls them where no instruction does it
        converts = any(name.encode() in code.data for name in CONVERSIONS)
        if links():
            with contextlib.suppress(Unlinkable), _told(code):
                if not converts and all(map(outside, code.outside)):
                    return Loaded(*linked(code.data, symbols))
                check_object(code.data, symbols)
        engine = _engine()
        if converts:
            _define_conversions()
        missing = [name for name in code.outside if binding.address_of_symbol(name) is None]
        if missing:
            raise KernelError(f"{code.entry} calls {', '.join(missing)}, which this process does not have")
        engine.add_object_file(binding.ObjectFileRef.from_data(code.data))
        engine.finalize_object()
        return Loaded([int(engine.get_function_address(symbol)) for symbol in symbols], engine)


@contextlib.contextmanager
def _told(code: ObjectCode) -> Iterator[None]:
    try:
        yield
    except Damaged as error:
        raise DamagedCode(f"the object code of {code.entry} is {error}") from error


@cache
def _define_conversions() -> None:
    """Give the process the conversions of float16 that code may call, whatever it has by their names."""
    for name, address in zip(
        CONVERSIONS, load_functions(HALF, [f"ngraph_rewrite{n}" for n in CONVERSIONS]), strict=True
    ):
        binding.add_symbol(name, address)


def load_functions(text: str, symbols: Iterable[str]) -> list[int]:
    """Compile a module of LLVM IR and return the addresses of some of its functions."""
    with _lock, undisturbed():
        engine = _engine()
        module = binding.parse_assembly(text)
        module.verify()
        engine.add_module(module)
        engine.finalize_object()
        return [int(engine.get_function_address(symbol)) for symbol in symbols]
