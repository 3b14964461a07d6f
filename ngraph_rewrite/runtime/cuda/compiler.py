# SPDX-License-Identifier: Apache-2.0
"""From the source of a kernel to PTX, through the cache: numba.cuda is imported only to compile one."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.errors import KernelError
from ngraph_rewrite.lazy import lazy_module
from ngraph_rewrite.runtime.compiler import source_file, source_function

if TYPE_CHECKING:
    from importlib import metadata

    from ngraph_rewrite.runtime.cuda import compiling
else:
    compiling = lazy_module("ngraph_rewrite.runtime.cuda.compiling")
    metadata = lazy_module("importlib.metadata")

_ENTRY = re.compile(r"\.entry\s+([\w$]+)\s*\(")


def ptx_of(source: str, name: str, capability: tuple[int, int], cache: Cache) -> str:
    """The PTX of the kernel that the function ``name`` of a source defines, for a compute capability.

    Raises:
        KernelError: if it does not compile; the source file stays in the cache folder to be read.
    """
    key = f"{name}-{hashlib.sha256(source.encode() + _environment(capability)).hexdigest()[:16]}"
    stored = cache.read(key, "ptx")
    if stored is not None:
        return stored.decode()
    path = source_file(source, name, cache)
    try:
        function = source_function(path, name)
        _, ptx = compiling.compile_ptx(function, function.__code__.co_argcount, capability)
    except Exception as error:
        raise KernelError(f"kernel {name} does not compile for the GPU: {error}", where=str(path)) from error
    cache.write(key, "ptx", ptx.encode())
    return ptx


def entry_name(ptx: str) -> str:
    """The name of the kernel in PTX.

    >>> entry_name(".visible .entry _ZN4map(")
    '_ZN4map'
    """
    found = _ENTRY.search(ptx)
    if found is None:
        raise KernelError("there is no kernel in what the compiler made")
    return found[1]


def _environment(capability: tuple[int, int]) -> bytes:
    """All that decides what PTX a source becomes."""
    words = [path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py"))]
    facts = [metadata.version("numba-cuda"), str(capability)]
    return hashlib.sha256("\n".join(facts).encode() + b"".join(words)).digest()
