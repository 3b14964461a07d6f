# SPDX-License-Identifier: Apache-2.0
"""Functions in LLVM IR of our own, compiled once and kept as object code: later processes only load them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.lazy import lazy_module
from ngraph_rewrite.runtime.engine import DamagedCode, Loaded, ObjectCode, host_machine, load_functions, load_objects
from ngraph_rewrite.runtime.forking import COMPILING, fork_lock
from ngraph_rewrite.runtime.stored import object_key, read_object, write_object

if TYPE_CHECKING:
    from llvmlite import binding
else:
    binding = lazy_module("llvmlite.binding")

_loaded: dict[tuple[str, tuple[str, ...]], Loaded] = {}  # by text and symbols: the process's, whoever asked
_written: dict[str, Loaded] = {}
_lock = fork_lock(COMPILING)


def native_functions(name: str, text: str, symbols: Sequence[str], cache: Cache | None = None) -> list[int]:
    """The addresses of some functions of a module of LLVM IR.

    Args:
        name: Of its entry in the cache.
        cache: Where its object code is kept; None compiles it in every process.
    """
    key = (text, tuple(symbols))
    with _lock:
        if key not in _loaded:
            _loaded[key] = (
                Loaded(load_functions(text, symbols), None) if cache is None else _kept(name, text, symbols, cache)
            )
        return _loaded[key].addresses


def written_function(symbol: str, write: Callable[[], str], cache: Cache) -> int:
    """The address of a function of a module that is written only if its object code is not there.

    Args:
        symbol: The function; the code of this library, and the processor, decide all else of the module.
    """
    with _lock:
        if symbol not in _written:
            _written[symbol] = _loaded_or_made(object_key(symbol, symbol), write, [symbol], cache)
        return _written[symbol].addresses[0]


def _kept(name: str, text: str, symbols: Sequence[str], cache: Cache) -> Loaded:
    return _loaded_or_made(object_key(text, name), lambda: text, symbols, cache)


def _loaded_or_made(entry: str, write: Callable[[], str], symbols: Sequence[str], cache: Cache) -> Loaded:
    """The functions that object code in a cache defines; it is compiled if it is not there, or damaged."""
    code = read_object(cache, entry)
    if code is not None:
        with suppress(DamagedCode):
            return load_objects(code, symbols)
    code = _compiled(write(), symbols)
    write_object(cache, entry, code)
    return load_objects(code, symbols)


def _compiled(text: str, symbols: Sequence[str]) -> ObjectCode:
    machine = host_machine()  # before anything is parsed: it sets LLVM up
    module = binding.parse_assembly(text)
    module.verify()
    outside = tuple(f.name for f in module.functions if f.is_declaration and not f.name.startswith("llvm."))
    return ObjectCode(symbols[0], outside, bytes(machine.emit_object(module)))
