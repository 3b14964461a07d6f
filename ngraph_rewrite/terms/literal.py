# SPDX-License-Identifier: Apache-2.0
"""The value of a constant as an attribute: compared bit by bit, small when it is uniform."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from ngraph_rewrite.errors import ArgumentError, DTypeError
from ngraph_rewrite.types.dtypes import FLOAT32, DType, as_dtype, is_float, promote, scalar_dtype


class Literal:
    """A read-only array, or one number that fills every element.

    Equality is of bits: ``-0.0`` differs from ``0.0``, and a NaN equals itself.

    Attributes:
        dtype: That of every element.
        scalar: The number that fills it, as a Python scalar; None if elements differ or there are none.

    >>> Literal([2.0, 2.0]).scalar, Literal([1, 2]).scalar
    (2.0, None)
    >>> Literal(0.0) == Literal(-0.0)
    False
    """

    __slots__ = ("_data", "_hash", "_number", "dtype", "scalar")
    dtype: DType
    scalar: Any

    def __init__(self, value: Any, dtype: Any = None) -> None:
        data = as_numbers(value, dtype)
        if data.ndim and data.size and _is_uniform(data):
            data = data.reshape(-1)[0].reshape(())
        # a view: who has the array may give it another shape
        self._data = data.view() if _is_fixed(data) else np.array(data, order="C", copy=True)
        self._data.setflags(write=False)
        self.dtype = self._data.dtype
        self.scalar = self._data.item() if self._data.ndim == 0 else None
        self._number = (self.dtype, self._data.tobytes()) if self.scalar is not None else None
        self._hash = hash((self.dtype, self._data.shape, _digest(_octets(self._data))))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Literal) or self._hash != other._hash:
            return False
        if self._number is not None or other._number is not None:
            return self._number == other._number
        return (
            self.dtype == other.dtype
            and self._data.shape == other._data.shape
            and np.array_equal(_octets(self._data), _octets(other._data))
        )

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return repr(self.scalar) if self.scalar is not None else f"array{list(self._data.shape)}"

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape it was given; () where one number fills it."""
        return self._data.shape

    def is_number(self, number: float) -> bool:
        """Whether it is filled with `number`, the sign of a zero included.

        >>> Literal(np.float32(0.1)).is_number(0.1), Literal(True).is_number(1)
        (True, False)
        """
        own = self.scalar
        if own is None or isinstance(own, bool) != isinstance(number, bool) or _far(own, number):
            return False
        if own == number and is_float(self.dtype):
            return number != 0 or math.copysign(1, own) == math.copysign(1, number)
        wanted = np.asarray(number)
        if is_float(self.dtype):
            with np.errstate(over="ignore"):
                cast = wanted.astype(self.dtype)
            same = cast.tobytes() == self._data.tobytes()
            return same and bool(cast) == bool(number) and math.isinf(own) == (number in (math.inf, -math.inf))
        return bool(own == number) and not (isinstance(number, float) and np.signbit(wanted))

    def array(self, shape: tuple[int, ...]) -> NDArray[Any]:
        """The value as a read-only array of `shape`."""
        return np.broadcast_to(self._data, shape) if self._data.ndim == 0 else self._data.reshape(shape)

    def cast(self, dtype: Any) -> Literal:
        """The same value in another dtype."""
        wanted = as_dtype(dtype)
        if wanted == self.dtype:
            return self
        with np.errstate(all="ignore"):
            return Literal(self._data.astype(wanted))


def _octets(data: NDArray[Any]) -> NDArray[np.uint8]:
    """The bytes of an array that is contiguous, without a copy."""
    return data.reshape(-1).view(np.uint8)


def _is_fixed(data: NDArray[Any]) -> bool:
    """Whether an array is such as a copy would be, and nobody can change it: ``bytes`` hold its elements alone."""
    if not (data.flags.c_contiguous and data.flags.aligned):
        return False
    owner: Any = data
    while isinstance(owner, np.ndarray) and not owner.flags.writeable:
        owner = owner.base
    return isinstance(owner, bytes) and len(owner) == data.nbytes


def _digest(octets: NDArray[np.uint8]) -> int:
    """A number for some bytes: of many, of every so many-th, as to read all weights of a model takes long."""
    return crc32(np.ascontiguousarray(octets[:: len(octets) >> 18 | 1]).data)


def _is_uniform(data: NDArray[Any]) -> bool:
    """Whether all elements have the same bits. Those of most arrays differ soon."""
    first = _bits(data.flat[:64])
    return bool((first == first[0]).all() and (_bits(data.reshape(-1)) == first[0]).all())


def _bits(flat: NDArray[Any]) -> NDArray[Any]:
    """Elements as integers of their bits."""
    return np.ascontiguousarray(flat).view(f"u{flat.itemsize}")


def number(value: Any, dtype: DType) -> Literal:
    """A number of Python as a literal: of equal ones, with equal signs, the same.

    >>> number(0.0, FLOAT32) == number(-0.0, FLOAT32), number(2.0, FLOAT32) is number(2.0, FLOAT32)
    (False, True)
    """
    return _number(value, math.copysign(1, value) if type(value) is float else 1.0, dtype)


@lru_cache(maxsize=1024, typed=True)  # True equals 1
def _number(value: Any, sign: float, dtype: DType) -> Literal:
    return Literal(value, dtype)


def _far(own: float, number: float) -> bool:
    """Whether two numbers are surely not one in any dtype: no float16 that is not tiny rounds by a hundredth."""
    if number == 0:
        return own != 0
    return 1e-4 <= abs(number) <= 1e4 and abs(own - number) > abs(number) / 100


def as_numbers(value: Any, dtype: Any = None) -> NDArray[Any]:
    """The value as an array, of its own dtype or another.

    Raises:
        DTypeError: if it is none of numbers, or does not fit.

    >>> as_numbers([1, 2]), as_numbers(2, "float32")
    (array([1, 2]), array(2., dtype=float32))
    """
    try:
        with np.errstate(over="ignore"):  # 1e300 as float16 is inf, as it is for NumPy
            data = np.asarray(value) if dtype is None else _cast_scalar(value, as_dtype(dtype))
    except (OverflowError, ValueError, TypeError) as error:
        wanted = "" if dtype is None else f" of {dtype}"
        raise DTypeError(f"{value!r} cannot be a constant{wanted}", do=_advice(value, error)) from error
    return data.astype(as_dtype(data.dtype), copy=False)


def own_dtype(value: Any, beside: Iterable[DType] = ()) -> DType:
    """The dtype of a constant of which none is stated.

    Python's numbers, also in lists, are bool, int64 or float32: whoever states a dtype keeps it.

    Args:
        beside: Dtypes of what is beside it. Python's floats, also in lists, are not rounded to less than what comes
            of both.

    Raises:
        DTypeError: for what is no array of numbers.

    >>> own_dtype([1.5, 2]), own_dtype(1.5, [np.dtype("float64")]), own_dtype(np.array([1.5]))
    (dtype('float32'), dtype('float64'), dtype('float64'))
    """
    if isinstance(value, list | tuple):
        found = as_numbers(value).dtype
        stated = not is_float(found) or any(hasattr(x, "dtype") for x in _elements(value))
        return found if stated else promote(FLOAT32, *beside)
    if type(value) is float:
        return promote(FLOAT32, *beside)
    try:
        return scalar_dtype(value)
    except DTypeError as error:
        raise DTypeError(f"{value!r} is no array of numbers: {error.what}", do=error.do) from None


def _elements(nested: Iterable[Any]) -> Iterator[Any]:
    for x in nested:
        if isinstance(x, list | tuple):
            yield from _elements(x)
        else:
            yield x


def _advice(value: Any, error: Exception) -> str:
    if isinstance(error, ArgumentError):  # what a term says that is to be an array
        return "put terms side by side with ng.numpy.stack"
    if isinstance(error, TypeError):
        return "give real numbers or bool: there are no complex ones, texts or other objects"
    ragged = isinstance(error, ValueError) and isinstance(value, list | tuple)
    return "give lists of equal length" if ragged else "choose a wider dtype"


def _cast_scalar(value: Any, dtype: DType) -> NDArray[Any]:
    """NumPy refuses 300 as uint8 but not an array of it: the same holds here.

    It takes texts, dates and complex numbers for numbers, which they are not here.
    """
    if type(value) not in (bool, int, float) and np.asarray(value).dtype.kind in "USMmc":
        raise TypeError("no number")
    return np.asarray(value, dtype=dtype)
