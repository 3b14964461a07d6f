# SPDX-License-Identifier: Apache-2.0
"""From sources of kernels to machine code of a GPU, through the cache: numba.cuda is imported only to compile one.

What is kept is machine code rather than PTX, which a driver older than the compiler refuses, and assembles anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache as memoise
from pathlib import Path
from typing import TYPE_CHECKING

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.errors import KernelError
from ngraph_rewrite.lazy import lazy_module
from ngraph_rewrite.runtime.compiler import source_file, source_function
from ngraph_rewrite.runtime.cuda.machine_code import MachineCode, read_code, write_code
from ngraph_rewrite.runtime.forking import COMPILING, fork_lock
from ngraph_rewrite.runtime.sharing import Helping, compile_shared

if TYPE_CHECKING:
    from importlib import metadata

    from ngraph_rewrite.runtime.cuda import compiling, linking
else:
    compiling = lazy_module("ngraph_rewrite.runtime.cuda.compiling")
    linking = lazy_module("ngraph_rewrite.runtime.cuda.linking")
    metadata = lazy_module("importlib.metadata")

CUBIN, PTX = "cubin", "ptx"
WORTH = 3  # so many kernels take longer than a helper needs to start
# The distributions that decide what becomes of a source; those of CUDA 12 have other names.
_COMPILING = "numba-cuda cuda-bindings nvidia-nvvm nvidia-nvjitlink nvidia-cuda-nvcc-cu12 nvidia-nvjitlink-cu12".split()

Capability = tuple[int, int]
_lock = fork_lock(COMPILING)


def prepare_codes(
    sources: Mapping[str, str], capabilities: Sequence[Capability], cache: Cache, processes: int = 1
) -> None:
    """Compile the kernels that are not in the cache; of one that cannot be compiled `code_of` tells why.

    Args:
        sources: By the names of the functions that they define.
        capabilities: The compute capabilities of GPUs.
        processes: How many may compile, this one included.
    """
    with _lock:
        missing = {name: text for name, text in sources.items() if not _is_there(text, name, capabilities, cache)}
        if missing:
            _compile_all(missing, capabilities, cache, processes - 1)


def _is_there(source: str, name: str, capabilities: Sequence[Capability], cache: Cache) -> bool:
    return all(cache.path(_key(source, name, one), CUBIN).exists() for one in capabilities)


def _compile_all(sources: Mapping[str, str], capabilities: Sequence[Capability], cache: Cache, helpers: int) -> None:
    for name, source in sources.items():
        source_file(source, name, cache)

    def attempt(name: str) -> None:
        try:
            compile_code(sources[name], name, capabilities, cache)
        except KernelError:
            pass  # who asks for it will see

    given = str(cache.folder), json.dumps(capabilities)
    compile_shared(sources, attempt, Helping("ngraph_rewrite.runtime.cuda.helping", given, WORTH, helpers))


def code_of(source: str, name: str, capability: Capability, cache: Cache) -> MachineCode:
    """The machine code of the kernel that the function ``name`` of a source defines, for a compute capability.

    Raises:
        KernelError: if it does not compile; the source file stays in the cache folder to be read.
    """
    stored = cache.parsed(_key(source, name, capability), CUBIN, read_code)
    if stored is not None:
        return stored
    with _lock:
        return compile_code(source, name, [capability], cache)[0]


def compile_code(source: str, name: str, capabilities: Sequence[Capability], cache: Cache) -> list[MachineCode]:
    """Compile a kernel, and keep its machine code.

    Raises:
        KernelError: if it does not compile.
    """
    texts = _compiled(source, name, capabilities, cache)
    codes = [linking.assembled(text, one, name) for text, one in zip(texts, capabilities, strict=True)]
    for code, one in zip(codes, capabilities, strict=True):
        cache.write(_key(source, name, one), CUBIN, write_code(code))
    return codes


def ptx_of(source: str, name: str, capability: Capability, cache: Cache) -> str:
    """The PTX of a kernel, for a compute capability.

    Raises:
        KernelError: if it does not compile.
    """
    stored = cache.read(_key(source, name, capability), PTX)
    if stored is not None:
        return stored.decode()
    with _lock:
        (text,) = _compiled(source, name, [capability], cache)
    cache.write(_key(source, name, capability), PTX, text.encode())
    return text


def _compiled(source: str, name: str, capabilities: Sequence[Capability], cache: Cache) -> list[str]:
    """The PTX of a kernel, for each of some compute capabilities."""
    path = source_file(source, name, cache)
    try:
        with source_function(path, name) as function:
            return compiling.compile_ptx(function, function.__code__.co_argcount, capabilities)
    except Exception as error:
        raise KernelError(f"kernel {name} does not compile for the GPU: {error}", where=str(path)) from error


def _key(source: str, name: str, capability: Capability) -> str:
    return f"{name}-{hashlib.sha256(source.encode() + _environment(capability)).hexdigest()[:16]}"


@memoise
def _environment(capability: Capability) -> bytes:
    """All that decides what machine code a source becomes."""
    folder = Path(__file__).parent
    words = [path.read_bytes() for of in (folder, folder.parent) for path in sorted(of.glob("*.py"))]
    facts = [*map(_version, _COMPILING), str(capability)]
    return hashlib.sha256("\n".join(facts).encode() + b"".join(words)).digest()


def _version(distribution: str) -> str:
    """The version of a distribution; nothing where a toolkit of the machine has what is in it."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""
