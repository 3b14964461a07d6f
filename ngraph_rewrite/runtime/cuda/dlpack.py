# SPDX-License-Identifier: Apache-2.0
"""Arrays of other libraries on a GPU, handed over by DLPack (in the structure before version 1, which all give)."""

from __future__ import annotations

import ctypes
from typing import Any

_CUDA, _CUDA_MANAGED = 2, 13  # kinds of device, as dlpack.h numbers them
_DEFAULT_STREAM = 1
_KINDS = {0: "i", 1: "u", 2: "f", 6: "b"}
_BFLOAT = 4
_NAME = b"dltensor"


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_kind", ctypes.c_int32),
        ("device_number", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("kind", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64),
    ]


def read_dlpack(value: Any) -> dict[str, Any] | None:
    """What the CUDA Array Interface would say of an array that has only DLPack; None if it is none, or on the host.

    The capsule is kept, under ``owner``, as long as the memory is used: its destructor gives the memory back.
    """
    if not hasattr(value, "__dlpack__") or not hasattr(value, "__dlpack_device__"):
        return None
    if int(value.__dlpack_device__()[0]) not in (_CUDA, _CUDA_MANAGED):
        return None
    capsule = value.__dlpack__(stream=_DEFAULT_STREAM)
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    tensor = _Tensor.from_address(pointer(capsule, _NAME))
    size = tensor.bits // 8
    kind = "V" if (tensor.kind, size) == (_BFLOAT, 2) else _KINDS.get(tensor.kind)
    if kind is None or tensor.lanes != 1:
        return None
    shape = tuple(tensor.shape[i] for i in range(tensor.rank))
    strides = tuple(tensor.strides[i] * size for i in range(tensor.rank)) if tensor.strides else None
    data = (int(tensor.data or 0) + int(tensor.offset), False)
    return {"shape": shape, "strides": strides, "typestr": f"<{kind}{size}", "data": data, "owner": (value, capsule)}
