# SPDX-License-Identifier: Apache-2.0
"""What machine code has to know to take arrays and to return them: the C functions of Python and NumPy, and layouts.

Where objects keep what is looked at is not promised by anyone, so it is looked at once, in objects whose content is
known. Where anything is found elsewhere, or is not known to be right, there is no such code, and Python does its work.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import sys
import threading
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngraph_rewrite.runtime.entry_parts import (
    API,
    ARRAY_DATA,
    ARRAY_DTYPE,
    ARRAY_FLAGS,
    ARRAY_RANK,
    ARRAY_SHAPE,
    LIST_ITEMS,
    OBJECT_SIZE,
    OBJECT_TYPE,
    READABLE,
    TUPLE_ITEMS,
    WRITEABLE,
)

_ARRAY_TYPE, _VIEW, _EMPTY, _SET_BASE = 2, 94, 184, 282  # in NumPy's table of functions, whose order never changes
_FUNCTIONS = {
    "incref": "Py_IncRef",
    "decref": "Py_DecRef",
    "new_tuple": "PyTuple_New",
    "set_tuple": "PyTuple_SetItem",
    "new_list": "PyList_New",
    "set_list": "PyList_SetItem",
    "integer": "PyLong_FromLongLong",
    "call_method": "PyObject_VectorcallMethod",
    "call_alone": "PyObject_CallNoArgs",
    "let_go": "PyEval_SaveThread",
    "come_back": "PyEval_RestoreThread",
    "clear": "PyErr_Clear",
}
_OBJECTS = {
    "none": None,
    "not_implemented": NotImplemented,
    "out": "out",
    "tuple_type": tuple,
    "list_type": list,
    "byte": np.dtype(np.uint8),
}


class ArrayApi(NamedTuple):
    """Addresses, as machine code finds them.

    Attributes:
        words: Of functions and objects, in the order of `API`.
        owner: How many bytes into a lock of Python's stands a word that is 0 if nobody has the lock.
    """

    words: NDArray[np.int64]
    owner: int


@cache
def array_api() -> ArrayApi | None:
    """What is known of this process; None if machine code cannot work with its arrays."""
    little = sys.byteorder == "little" and ctypes.sizeof(ctypes.c_void_p) == 8
    if sys.implementation.name != "cpython" or not little or np.__version__.split(".")[0] != "2":
        return None
    if object.__basicsize__ != 2 * 8:  # of a build without the interpreter lock, or one that traces references
        return None
    with contextlib.suppress(AttributeError, ImportError, ValueError):
        owner, words = _owner_word(), _words()
        if owner is not None and _layouts_are_right() and _makes_arrays(words):
            return ArrayApi(np.array([words[name] for name in API], dtype=np.int64), owner)
    return None


def _words() -> dict[str, int]:
    module = importlib.import_module("numpy._core.multiarray")
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = int(pointer_of(module._ARRAY_API, None))
    places = {"array_type": _ARRAY_TYPE, "view": _VIEW, "empty": _EMPTY, "set_base": _SET_BASE}
    words = {name: _at(table + 8 * place) for name, place in places.items()}
    words |= {name: _address(getattr(ctypes.pythonapi, c_name)) for name, c_name in _FUNCTIONS.items()}
    return words | {name: id(value) for name, value in _OBJECTS.items()}


def _address(function: Any) -> int:
    return int(ctypes.cast(function, ctypes.c_void_p).value or 0)


def _at(address: int, kind: Any = ctypes.c_int64) -> int:
    return int(kind.from_address(address).value)


def _layouts_are_right() -> bool:
    """Whether arrays, tuples and lists keep what they have where machine code looks for it."""
    pair = ("out", None)
    found = [_at(id(pair) + OBJECT_SIZE), _at(id(pair) + TUPLE_ITEMS), _at(id(pair) + TUPLE_ITEMS + 8)]
    items = ["out", None]
    listed = _at(id(items) + LIST_ITEMS)
    found += [_at(id(items) + OBJECT_SIZE), _at(listed), _at(listed + 8)]
    return found == [2, id("out"), id(None)] * 2 and all(_array_is_right(array) for array in _samples())


def _samples() -> Iterator[NDArray[Any]]:
    square = np.arange(6, dtype=np.int16).reshape(2, 3)
    still = square.copy()
    still.flags.writeable = False
    askew = np.frombuffer(bytearray(33), np.float64, 4, 1)
    yield from (square, square.T, square[:, 1:], still, askew, np.zeros(()), np.zeros((0, 5, 2), bool), square > 1)


def _array_is_right(array: NDArray[Any]) -> bool:
    here, shape = id(array), _at(id(array) + ARRAY_SHAPE)
    flags = _at(here + ARRAY_FLAGS, ctypes.c_int32)
    readable = array.flags.c_contiguous and array.flags.aligned
    return (
        _at(here + OBJECT_TYPE) == id(np.ndarray)
        and _at(here + ARRAY_DATA) == array.__array_interface__["data"][0]
        and _at(here + ARRAY_RANK, ctypes.c_int32) == array.ndim
        and all(_at(shape + 8 * i) == n for i, n in enumerate(array.shape))
        and _at(here + ARRAY_DTYPE) == id(array.dtype)
        and (flags & READABLE == READABLE) == readable
        and (flags & WRITEABLE == WRITEABLE) == (readable and array.flags.writeable)
    )


def _makes_arrays(words: dict[str, int]) -> bool:
    """Whether NumPy's functions for a new array, and for one in another's memory, are where they are thought to be."""
    if words["array_type"] != id(np.ndarray):
        return False
    dtype, shape = np.dtype(np.float32), (ctypes.c_int64 * 2)(3, 4)
    number, address, thing = ctypes.c_int, ctypes.c_void_p, ctypes.py_object
    empty = ctypes.PYFUNCTYPE(thing, number, address, thing, number)(words["empty"])
    view = ctypes.PYFUNCTYPE(thing, thing, thing, number, *[address] * 3, number, address)(words["view"])
    set_base = ctypes.PYFUNCTYPE(number, thing, thing)(words["set_base"])
    array = empty(2, ctypes.addressof(shape), _taken(dtype), 0)
    begin = array.__array_interface__["data"][0]
    part = view(np.ndarray, _taken(dtype), 2, ctypes.addressof(shape), None, begin, WRITEABLE, None)
    based = set_base(part, _taken(array)) == 0 and part.base is array
    return based and all(
        type(made) is np.ndarray and made.dtype is dtype and made.shape == (3, 4) and bool(made.flags.carray)
        for made in (array, part)
    )


def _taken(thing: Any) -> Any:
    """The same, with a reference for the function that takes one."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))
    return thing


def _owner_word() -> int | None:
    """Where a lock keeps which thread has it: a word that is 0 before and after."""
    lock = threading.RLock()
    places = range(2 * 8, type(lock).__basicsize__, 8)
    for place in places:
        states = [_at(id(lock) + place)]
        with lock, lock:
            states.append(_at(id(lock) + place))
        states.append(_at(id(lock) + place))
        if states == [0, threading.get_ident(), 0]:
            return place
    return None
