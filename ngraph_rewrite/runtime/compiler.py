# SPDX-License-Identifier: Apache-2.0
"""From the source of a kernel to its address, through a cache of object code.

The source becomes a file, is imported, compiled by Numba once, and its object code is kept. Later processes load the
object with llvmlite alone: Numba is imported only when a kernel has to be compiled.
"""

import hashlib
import importlib.util
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache as memoise
from pathlib import Path
from typing import TYPE_CHECKING

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.errors import KernelError
from ngraph_rewrite.lazy import lazy_module
from ngraph_rewrite.runtime.engine import ObjectCode, load_object
from ngraph_rewrite.runtime.forking import COMPILING, fork_lock

if TYPE_CHECKING:
    from importlib import metadata

    import llvmlite
    from llvmlite import binding

    from ngraph_rewrite.runtime import objectcode
else:
    metadata = lazy_module("importlib.metadata")
    llvmlite = lazy_module("llvmlite")
    binding = lazy_module("llvmlite.binding")
    objectcode = lazy_module("ngraph_rewrite.runtime.objectcode")  # imported when a kernel has to be compiled


@dataclass(frozen=True)
class Kernel:
    """A compiled kernel: ``address`` is a ``void (int64 args, int64 chunk, int64 nchunks)``."""

    name: str
    address: int
    source_path: Path
    from_cache: bool


_kernels: dict[str, Kernel] = {}  # by source: machine code is the process's, whoever asked for it
_lock = fork_lock(COMPILING)


def compile_kernel(source: str, name: str, cache: Cache) -> Kernel:
    """Return the kernel that the function ``name`` of a source defines, from the cache if it is there.

    Raises `KernelError` if the source does not compile; the source file stays in the cache folder to be read.
    """
    with _lock:
        if source not in _kernels:
            _kernels[source] = _from_cache(source, name, cache) or _compiled(source, name, cache)
        return _kernels[source]


def assembly(source: str, name: str, cache: Cache) -> str:
    """Return the assembly of a kernel; this compiles it anew, through Numba."""
    return str(objectcode.assembly(_function(_source_file(source, name, cache), name)))


def _from_cache(source: str, name: str, cache: Cache) -> Kernel | None:
    stored = cache.read(_object_key(source, name), "o")
    if stored is None:
        return None
    entry, outside, data = stored.split(b"\0", 2)
    code = ObjectCode(entry.decode(), tuple(outside.decode().split()), data)
    return Kernel(name, load_object(code), _source_file(source, name, cache), True)


def _compiled(source: str, name: str, cache: Cache) -> Kernel:
    path = _source_file(source, name, cache)
    try:
        code: ObjectCode = objectcode.object_code(_function(path, name))
    except Exception as error:
        raise KernelError(f"kernel {name} does not compile: {error}", where=str(path)) from error
    stored = b"\0".join([code.entry.encode(), " ".join(code.outside).encode(), code.data])
    cache.write(_object_key(source, name), "o", stored)
    return Kernel(name, load_object(code), path, False)


def _source_file(source: str, name: str, cache: Cache) -> Path:
    data = source.encode()
    return cache.path(name, "py") if cache.read(name, "py") == data else cache.write(name, "py", data)


def _function(path: Path, name: str) -> Callable[..., None]:
    """Import a rendered source under its own name and return its kernel."""
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot import {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    function: Callable[..., None] = getattr(module, name)
    return function


def _object_key(source: str, name: str) -> str:
    return f"{name}-{hashlib.sha256(source.encode() + _environment()).hexdigest()[:16]}"


@memoise
def _environment() -> bytes:
    """All that decides what object code a source becomes: versions, the processor, the library's own instructions."""
    facts = [_numba_version(), llvmlite.__version__, sys.version, sys.platform]
    facts += [binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()]
    facts += [f"{key}={value}" for key, value in sorted(os.environ.items()) if key.startswith("NUMBA_")]
    words = [path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py"))]
    return hashlib.sha256("\n".join(facts).encode() + b"".join(words)).digest()


def _numba_version() -> str:
    """What tells one Numba from another, without importing it."""
    spec = importlib.util.find_spec("numba")
    file = Path(spec.origin).with_name("_version.py") if spec is not None and spec.origin else None
    return file.read_text(encoding="utf-8") if file is not None and file.exists() else metadata.version("numba")
