# SPDX-License-Identifier: Apache-2.0
"""Values from outside become arrays that kernels can read: row-major, aligned, of the right dtype and shape."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngraph_rewrite.errors import ComputationError
from ngraph_rewrite.terms.op import Op, describe, user_line

Array = NDArray[Any]
ALIGNMENT = 64


def aligned_array(shape: tuple[int, ...], dtype: Any) -> Array:
    """An uninitialised row-major array whose memory begins at a multiple of 64.

    >>> aligned_array((2, 3), "float32").ctypes.data % 64
    0
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    block = np.empty(size + ALIGNMENT, np.uint8)
    start = -block.ctypes.data % ALIGNMENT
    return block[start : start + size].view(dtype).reshape(shape)


def as_argument(value: Any, term: Op, shape: tuple[int, ...] | None = None) -> Array:
    """A value as a row-major array of a term's dtype, and of `shape` if that is given; no copy if it is one.

    Raises:
        ComputationError: for a value that does not cast to the dtype, or of another shape.
    """
    if type(value) is np.ndarray and value.dtype == term.dtype and value.flags.c_contiguous and value.flags.aligned:
        result = value
    else:
        result = _converted(value, term)
    if shape is not None and result.shape != shape:
        raise ComputationError(
            f"the value for {describe(term, 1)} has shape {result.shape}, not {shape}", where=user_line()
        )
    return result


def _converted(value: Any, term: Op) -> Array:
    try:
        array = np.asarray(value)
        number = type(value) in (bool, int, float)
        if not number and not np.can_cast(array.dtype, term.dtype, "same_kind"):
            raise TypeError(f"{array.dtype} does not cast to {term.dtype}")
        return np.require(np.asarray(value, term.dtype) if number else array, term.dtype, ["C", "A"])
    except (TypeError, ValueError, OverflowError) as error:
        raise ComputationError(
            f"the value for {describe(term, 1)} cannot be taken: {error}",
            where=user_line(),
            do=f"give an array that casts to {term.dtype}",
        ) from error


def check_output(array: Any, term: Op, shape: tuple[int, ...]) -> Array:
    """An array given as ``out=``, if the result can be written straight into it.

    Raises:
        ComputationError: if it is not a writeable row-major array of that dtype and shape.
    """
    fits = isinstance(array, np.ndarray) and array.dtype == term.dtype and array.shape == shape
    if not fits or not array.flags.carray:
        found = f"{array.dtype}{list(array.shape)}" if isinstance(array, np.ndarray) else type(array).__name__
        raise ComputationError(
            f"out for {describe(term, 1)} is {found}",
            where=user_line(),
            do=f"give a writeable row-major array of {term.dtype} and shape {shape}",
        )
    return array  # type: ignore[no-any-return]
