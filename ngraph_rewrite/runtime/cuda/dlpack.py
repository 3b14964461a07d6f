# SPDX-License-Identifier: Apache-2.0
"""Arrays on a GPU from and for other libraries, by DLPack: the structures of version 1, and those before it.

Source: the header dlpack.h of https://dmlc.github.io/dlpack/latest/.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any, NamedTuple

from ngraph_rewrite.runtime.cuda.device import check_number
from ngraph_rewrite.runtime.cuda.giving_back import Functions, Structure, giving_back

CPU, CUDA = 1, 2  # kinds of device, as dlpack.h numbers them
_CUDA_MANAGED = 13
DEFAULT_STREAM, NO_STREAM = 1, -1  # 0 may be either of two, 2 is that of a thread
_KINDS = {0: "i", 1: "u", 2: "f", 6: "b"}
_CODES = {kind: code for code, kind in _KINDS.items()}
_BFLOAT = 4
_OLD, _NEW = b"dltensor", b"dltensor_versioned"
_VERSION = (1, 0)
_READ_ONLY, _COPIED = 1, 2


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_kind", ctypes.c_int32),
        ("device_number", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("kind", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("owner", ctypes.c_void_p), ("delete", ctypes.c_void_p)]


class _Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("owner", ctypes.c_void_p),
        ("delete", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


class Handed(NamedTuple):
    """What is handed over.

    Attributes:
        kind: That of the device: `CPU` or `CUDA`.
        owner: What keeps the memory.
    """

    address: int
    shape: tuple[int, ...]
    dtype: Any
    kind: int
    owner: object
    read_only: bool = False
    copied: bool = False


def _of_python(name: str, result: Any, *arguments: Any) -> Any:
    """A function of Python's own, with these types of C."""
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_new = _of_python("PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_is_called = _of_python("PyCapsule_IsValid", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
_pointer = _of_python("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
_keep = _of_python("Py_IncRef", None, ctypes.py_object)


# -- from other libraries ----------------------------------------------------------------------------------------------


def read_dlpack(value: Any) -> dict[str, Any] | None:
    """What the CUDA Array Interface would say of an array that has only DLPack; None if it is none, or on the host.

    The capsule is kept, under ``owner``, as long as the memory is used: its destructor gives the memory back.
    """
    if not hasattr(value, "__dlpack__") or not hasattr(value, "__dlpack_device__"):
        return None
    kind, number = map(int, value.__dlpack_device__())
    if kind not in (CUDA, _CUDA_MANAGED):
        return None
    check_number(number)
    try:
        capsule = value.__dlpack__(stream=DEFAULT_STREAM, max_version=_VERSION)
    except TypeError:  # made before version 1
        capsule = value.__dlpack__(stream=DEFAULT_STREAM)
    flags = 0
    if _is_called(capsule, _NEW):
        versioned = _Versioned.from_address(_pointer(capsule, _NEW))
        if versioned.major != _VERSION[0]:
            return None
        tensor, flags = versioned.tensor, versioned.flags
    else:
        tensor = _Tensor.from_address(_pointer(capsule, _OLD))
    size = tensor.bits // 8
    letter = "V" if (tensor.kind, size) == (_BFLOAT, 2) else _KINDS.get(tensor.kind)
    if letter is None or tensor.lanes != 1:
        return None
    numbers = ctypes.c_int64 * tensor.rank
    shape = tuple(numbers.from_address(tensor.shape)) if tensor.rank else ()
    strides = tuple([n * size for n in numbers.from_address(tensor.strides)]) if tensor.strides else None
    data = (int(tensor.data or 0) + int(tensor.offset), bool(flags & _READ_ONLY))
    return {"shape": shape, "strides": strides, "typestr": f"<{letter}{size}", "data": data, "owner": (value, capsule)}


# -- for other libraries -----------------------------------------------------------------------------------------------


@cache
def _functions() -> Functions:
    """What gives back an old structure, and a new one."""
    own = ((_OLD, _Managed.owner), (_NEW, _Versioned.owner))
    return giving_back([Structure(name.decode(), owner.offset) for name, owner in own])


class _Lent:
    """A structure that another library reads, and what it needs. It lives until that library gives it back."""

    def __init__(self, given: Handed, versioned: bool) -> None:
        rank, step, strides = len(given.shape), 1, []
        for n in reversed(given.shape):
            strides.append(step)
            step *= n
        self.given, numbers = given, ctypes.c_int64 * max(2 * rank, 1)
        self.lengths = numbers(*given.shape, *reversed(strides))
        shape = ctypes.addressof(self.lengths)
        dtype = given.dtype
        code = _BFLOAT if dtype.name == "bfloat16" else _CODES[dtype.kind]
        bits = 8 * dtype.itemsize
        tensor = _Tensor(given.address, given.kind, 0, rank, code, bits, 1, shape, shape + 8 * rank, 0)
        flags = _READ_ONLY * given.read_only | _COPIED * given.copied
        delete = _functions().deleters[versioned]
        self.structure: ctypes.Structure
        if versioned:
            self.structure = _Versioned(*_VERSION, id(self), delete, flags, tensor)
        else:
            self.structure = _Managed(tensor, id(self), delete)


def handed_over(given: Handed, max_version: tuple[int, int] | None) -> Any:
    """A capsule with an array, for one other library to take.

    Args:
        max_version: The newest version of DLPack that it knows; None for those before 1.

    Raises:
        BufferError: if the array may only be read, and that cannot be said to it.
    """
    versioned = max_version is not None and max_version[0] >= _VERSION[0]
    if given.read_only and not versioned:
        raise BufferError("an array that may only be read is handed over by version 1 of DLPack, or later")
    lent, destructor = _Lent(given, versioned), _functions().destructor
    _keep(lent)  # before there is a capsule, whose end gives it back
    return _new(ctypes.addressof(lent.structure), _NEW if versioned else _OLD, destructor)
