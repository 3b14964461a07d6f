# SPDX-License-Identifier: Apache-2.0
"""A call made ready: a Python function in machine code that takes arrays of one set of shapes and returns results.

It does what Python code would, for less: an array is looked at in nanoseconds (`ngraph_rewrite.runtime.entry_parts`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.runtime.aligned import address_of
from ngraph_rewrite.runtime.array_api import ArrayApi, array_api
from ngraph_rewrite.runtime.entry_code import ENTRY
from ngraph_rewrite.runtime.entry_parts import HEADER
from ngraph_rewrite.runtime.native import native_functions

Word = npt.NDArray[np.int64]
Patches = Sequence[tuple[int, int, int]]
_FAST, _KEYWORDS = 0x80, 0x02


class ArraySpec(NamedTuple):
    """What an array has to be."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]


class Rows(NamedTuple):
    """What the walker is called with, and its own address (`ngraph_rewrite.runtime.walker`)."""

    rows: int
    number: int
    context: int
    walk: int


class Call(NamedTuple):
    """All that a call has to do.

    Attributes:
        patches: Where an address goes, of which array (inputs come before results), how far into it.
        lock: A lock that nobody may have.
        lets_go: Whether the call takes that lock and lets go of the interpreter's while kernels run.
        gates: Addresses of words: the call is made only if each of them is 0.
        counter: The address where calls are counted.
        number: The address where kernels read the number of the call.
        holder: A list; its first item becomes what the call took and gave: (kept, number, inputs..., results...).
        structure: What is returned: the type tuple or list, or None for the first result.
        valued: For each item of what is returned, whether it has a value; others are None.
        owners: What has to live as long as the function.
    """

    inputs: Sequence[ArraySpec]
    results: Sequence[ArraySpec]
    patches: Patches
    rows: Rows
    lock: Any
    lets_go: bool
    gates: Sequence[int]
    counter: int
    number: int
    holder: list[Any]
    kept: object
    structure: type | None
    valued: Sequence[bool]
    owners: object


class _Method(ctypes.Structure):
    """What CPython calls a PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


def call_entry(call: Call, slow: object, method: str, cache: Cache | None = None) -> Any | None:
    """A function that makes a call; None where machine code cannot.

    Args:
        slow: An object whose `method` is called, with all arguments, for what is not usual: an array of another type,
            dtype, shape or layout, another number of arguments, a gate that is not open.
        cache: Where machine code is kept.
    """
    api = array_api()
    if api is None:
        return None
    parts, methods = _parts(api, call), (call.lock.acquire, call.lock.release)
    header = dict(zip(HEADER, [0] * len(HEADER), strict=True)) | {
        "api": address_of(api.words),
        "inputs": len(call.inputs),
        "results": len(call.results),
        "specs": address_of(parts[0]),
        "patches": address_of(parts[1]),
        "patch_count": len(call.patches),
        **dict(zip(("rows", "row_count", "context", "walk"), call.rows, strict=True)),
        "gates": address_of(parts[2]),
        "gate_count": len(call.gates) + 1,
        "counter": call.counter,
        "call": call.number,
        "acquire": id(methods[0]) if call.lets_go else 0,
        "release": id(methods[1]) if call.lets_go else 0,
        "holder": id(call.holder),
        "kept": id(call.kept),
        "structure": (None, tuple, list).index(call.structure),
        "items": len(call.valued),
        "valued": address_of(parts[3]),
        "slow_object": id(slow),
        "slow_name": id(method),
    }
    return _function(0, _words([header[name] for name in HEADER]), (api, call, parts, methods, slow, method), cache)


def fill_function(inputs: int, results: int, patches: Patches, owner: object, cache: Cache | None) -> Any | None:
    """A function of so many arrays that writes their addresses where `patches` say; None where machine code cannot."""
    api = array_api()
    if api is None:
        return None
    table = _words(patches)
    known = {"api": address_of(api.words), "inputs": inputs, "results": results,
             "patches": address_of(table), "patch_count": len(patches)}  # fmt: skip
    return _function(1, _words([known.get(name, 0) for name in HEADER]), (api, table, owner), cache)


def _parts(api: ArrayApi, call: Call) -> list[Word]:
    """The tables that a header points to, and those that the first of them points to."""
    specs = [*call.inputs, *call.results]
    shapes = [_words(spec.shape) for spec in specs]
    rows = [
        (id(spec.dtype), len(spec.shape), address_of(shape), spec.dtype.itemsize * prod(spec.shape))
        for spec, shape in zip(specs, shapes, strict=True)
    ]
    return [
        _words(rows),
        _words(call.patches),
        _words([id(call.lock) + api.owner, *call.gates]),
        _words(call.valued),
        *shapes,
    ]


def _function(which: int, header: Word, owned: tuple[object, ...], cache: Cache | None) -> Any:
    """One of the functions, with a header: the tuple that CPython hands it keeps all alive that the header names."""
    return _new_function()(ctypes.addressof(_methods(cache)[which]), (header, *owned), None)


@cache
def _new_function() -> Any:
    """What makes a function of a method's description and an object that is handed to it."""
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return new


_memo: list[tuple[_Method, ...]] = []


def _methods(cache: Cache | None) -> tuple[_Method, ...]:
    """The two functions as CPython wants them described, for as long as the process lives."""
    if not _memo:
        call, fill = native_functions("entry", ENTRY, ("ngraph_rewrite_entry", "ngraph_rewrite_fill"), cache)
        _memo.append((_Method(b"call", call, _FAST | _KEYWORDS, None), _Method(b"fill", fill, _FAST, None)))
    return _memo[0]


def _words(values: Any) -> Word:
    """An array, of one word at least."""
    array = np.array(values, dtype=np.int64)
    return array if array.size else np.zeros(1, np.int64)
