# SPDX-License-Identifier: Apache-2.0
"""Conversions on a simulated device: what `ngraph_rewrite.runtime.casts` gives, out of range too.

Values are NumPy's scalars, or Python's, which stand for the widest of their kind.
"""

from typing import Any

import ml_dtypes
import numpy as np

__all__ = ["to_bfloat16", "to_bool", "to_float16", "to_float32", "to_float64"]

_INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def _wrapped(number: int, dtype: str) -> Any:
    """The integer that has these last bits."""
    kind = np.dtype(dtype)
    return (np.uint64(number & (2**64 - 1))).astype(kind)


def _truncated(value: float, width: int) -> int:
    """A float without its fraction, or the smallest integer of a width."""
    inside = -(2.0 ** (width - 1)) <= value < 2.0 ** (width - 1)
    return int(value) if inside else -(2 ** (width - 1))


def _whole(value: float, dtype: str) -> int:
    if dtype == "uint64" and value >= 2.0**63:
        return _truncated(value - 2.0**63, 64) + 2**63
    return _truncated(value, 64 if dtype in ("int64", "uint64", "uint32") else 32)


def _to_integer(dtype: str) -> Any:
    def convert(value: Any) -> Any:
        is_real = isinstance(value, (float, np.floating))
        return _wrapped(_whole(float(value), dtype) if is_real else int(value), dtype)

    convert.__name__ = f"to_{dtype}"
    return convert


for _dtype in _INTEGERS:
    globals()[f"to_{_dtype}"] = _to_integer(_dtype)
    __all__.append(f"to_{_dtype}")


def _bits_as(name: str) -> Any:
    kind = np.dtype(name)

    def convert(bits: Any) -> Any:
        found = _wrapped(int(bits), f"int{8 * kind.itemsize}").view(kind)
        return found if kind.itemsize > 2 else found.astype(np.float32)

    convert.__name__ = f"bits_as_{name}"
    convert.__doc__ = f"The {name} whose bits are the last of an integer, held as a float32 if it is shorter."
    return convert


def _bits_of(name: str) -> Any:
    kind = np.dtype(name)

    def convert(value: Any) -> Any:
        return _rounded(value, kind).view(f"int{8 * kind.itemsize}")

    convert.__name__ = f"bits_of_{name}"
    convert.__doc__ = f"The bits of a {name}, as a signed integer of its width."
    return convert


for _dtype in ("float16", "bfloat16", "float32", "float64"):
    for _word in (_bits_as(_dtype), _bits_of(_dtype)):
        globals()[_word.__name__] = _word
        __all__.append(_word.__name__)


def to_bool(value: Any) -> Any:
    """Whether it is not zero."""
    return np.bool_(value != 0)


def to_float32(value: Any) -> Any:
    """The nearest float32."""
    return _rounded(value, np.float32)


def to_float64(value: Any) -> Any:
    """The nearest float64."""
    return np.float64(value)


def to_float16(value: Any) -> Any:
    """The nearest float16, as a float32: a float64 is rounded once, an integer twice."""
    is_double = isinstance(value, (float, np.float64))
    return np.float32(_rounded(value if is_double else _rounded(value, np.float32), np.float16))


def to_bfloat16(value: Any) -> Any:
    """The nearest bfloat16 of the nearest float32, as a float32."""
    return np.float32(_rounded(_rounded(value, np.float32), ml_dtypes.bfloat16))


def _rounded(value: Any, kind: Any) -> Any:
    with np.errstate(all="ignore"):
        exact = value if isinstance(value, np.generic) else np.asarray(value)[()]
        return exact.astype(kind)
