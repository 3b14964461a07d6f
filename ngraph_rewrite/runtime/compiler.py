# SPDX-License-Identifier: Apache-2.0
"""From the source of a kernel to its address, through a cache of object code.

The source becomes a file, is imported, compiled by Numba once, and its object code is kept. Later processes load the
object: Numba and LLVM are imported only when a kernel has to be compiled.
"""

import importlib.util
import linecache
import re
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.errors import KernelError
from ngraph_rewrite.lazy import lazy_module
from ngraph_rewrite.runtime.engine import DamagedCode, ObjectCode, load_objects
from ngraph_rewrite.runtime.forking import COMPILING, fork_lock
from ngraph_rewrite.runtime.sharing import Helping, compile_shared
from ngraph_rewrite.runtime.stored import object_key, read_object, write_object
from ngraph_rewrite.undisturbed import undisturbed

if TYPE_CHECKING:
    from ngraph_rewrite.runtime import objectcode
else:
    objectcode = lazy_module("ngraph_rewrite.runtime.objectcode")  # imported when a kernel has to be compiled


@dataclass(frozen=True)
class Kernel:
    """A compiled kernel: ``address`` is a ``void (int64 args, int64 chunk, int64 nchunks, int64 thread)``.

    Attributes:
        memory: What has its machine code: who calls it keeps the kernel.
    """

    name: str
    address: int
    source_path: Path
    from_cache: bool
    memory: object = None


_PYTHON = re.compile(r"_?Py[A-Z_]|NRT_|numba_")  # functions of the interpreter, and of Numba's memory
WORTH = 6  # so many kernels take longer than a helper needs to start
RECENT = 256  # so many kernels stay though nobody has them: a program may be made again
# By source: machine code is the process's, whoever asked for it, and goes with its last user.
_kernels: WeakValueDictionary[str, Kernel] = WeakValueDictionary()
_recent: deque[Kernel] = deque(maxlen=RECENT)
_lock = fork_lock(COMPILING)


def compile_kernel(source: str, name: str, cache: Cache) -> Kernel:
    """Return the kernel that the function ``name`` of a source defines, from the cache if it is there.

    Raises `KernelError` if the source does not compile; the source file stays in the cache folder to be read.
    """
    return compile_kernels({name: source}, cache)[name]


def compile_kernels(sources: Mapping[str, str], cache: Cache, threads: int = 1) -> dict[str, Kernel]:
    """Return the kernels that sources define, by name, each from the cache if it is there.

    Args:
        threads: How many processes may compile, this one included.

    Raises:
        KernelError: if one does not compile; the source file stays in the cache folder to be read.
    """
    with _lock:
        found = {name: _kernels.get(source) or _from_cache(source, name, cache) for name, source in sources.items()}
        missing = {name: sources[name] for name, kernel in found.items() if kernel is None}
        made = _compile_all(missing, cache, threads - 1) if missing else {}
        kernels = {name: kernel or made[name] for name, kernel in found.items()}
        _kernels.update((sources[name], kernel) for name, kernel in kernels.items())
        _recent.extend(kernels.values())
        return kernels


def _compile_all(sources: Mapping[str, str], cache: Cache, helpers: int) -> dict[str, Kernel]:
    for name, source in sources.items():
        source_file(source, name, cache)
    helping = Helping("ngraph_rewrite.runtime.helping", (str(cache.folder),), WORTH, helpers)
    own = compile_shared(sources, lambda name: compile_object(sources[name], name, cache), helping)
    kernels = {}
    for name, source in sources.items():
        code = own.get(name) or read_object(cache, object_key(source, name))
        if code is None:  # a helper failed, or its work is gone
            code = compile_object(source, name, cache)
        kernels[name] = _loaded(code, name, source_file(source, name, cache), False)
    return kernels


def compile_object(source: str, name: str, cache: Cache) -> ObjectCode:
    """Compile a kernel, and keep its object code. Numba is not cut by ``Ctrl-C``: half of it would stay.

    Raises:
        KernelError: if it does not compile.
    """
    path = source_file(source, name, cache)
    try:
        with undisturbed(), source_function(path, name) as function:
            code: ObjectCode = objectcode.object_code(function)
    except Exception as error:
        raise KernelError(f"kernel {name} does not compile: {error}", where=str(path)) from error
    write_object(cache, object_key(source, name), code)
    return code


def raised_by(source: str, name: str, cache: Cache, arguments: int) -> Exception | None:
    """What a kernel raises, if anything, whose arguments lie at an address: one that is loaded tells nobody."""
    with source_function(source_file(source, name, cache), name) as function:
        found: Exception | None = objectcode.raised(function, arguments)
    return found


def assembly(source: str, name: str, cache: Cache) -> str:
    """Return the assembly of a kernel; this compiles it anew, through Numba."""
    with source_function(source_file(source, name, cache), name) as function:
        return str(objectcode.assembly(function))


def _from_cache(source: str, name: str, cache: Cache) -> Kernel | None:
    code = read_object(cache, object_key(source, name))
    if code is None:
        return None
    with suppress(DamagedCode):  # it is compiled again
        return _loaded(code, name, source_file(source, name, cache), True)
    return None


def _loaded(code: ObjectCode, name: str, path: Path, from_cache: bool) -> Kernel:
    """The kernel of an object file, if it does without the interpreter, whose lock a call may hold."""
    python = [function for function in code.outside if _PYTHON.match(function)]
    if python:
        what = f"kernel {name} has a Python object, or makes an array: it calls {', '.join(python)}"
        raise KernelError(what, where=str(path), do="compute with numbers, bool and tuples of them; print nothing")
    (address,), memory = load_objects(code, [code.entry])
    return Kernel(name, address, path, from_cache, memory)


def source_file(source: str, name: str, cache: Cache) -> Path:
    data = source.encode()
    return cache.path(name, "py") if cache.read(name, "py") == data else cache.write(name, "py", data)


@contextmanager
def source_function(path: Path, name: str) -> Iterator[Callable[..., None]]:
    """The kernel of a rendered source, which is a module under its own name while this lasts."""
    loader = _Loader(name, str(path))
    spec = importlib.util.spec_from_loader(name, loader)
    if spec is None:
        raise ImportError(f"cannot import {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        loader.exec_module(module)
        yield getattr(module, name)
    finally:
        sys.modules.pop(name, None)
        linecache.cache.pop(str(path), None)  # Numba reads the lines to show one that it does not understand


class _Loader(SourceFileLoader):
    """Leaves no bytecode behind: a kernel's source is run once."""

    def set_data(self, *args: Any, **kwargs: Any) -> None:
        """Where it would be written."""
