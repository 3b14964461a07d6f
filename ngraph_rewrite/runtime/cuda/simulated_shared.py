# SPDX-License-Identifier: Apache-2.0
"""Elements of arrays in the shared memory of a simulated device, and sums of products."""

from typing import Any

import numpy as np

__all__ = ["element", "fused", "set_element"]


def element(array: Any, index: int) -> Any:
    """``array[index]``; the index is not negative."""
    if index < 0:
        raise IndexError(f"index {index} of an array in shared memory")
    return array[index]


def set_element(array: Any, index: int, value: Any) -> None:
    """``array[index] = value``; the index is not negative."""
    if index < 0:
        raise IndexError(f"index {index} of an array in shared memory")
    array[index] = value


def fused(x: Any, y: Any, z: Any) -> Any:
    """``x * y + z``, of float32 rounded once, but for ties that float64 makes."""
    with np.errstate(all="ignore"):
        return type(x)(np.float64(x) * np.float64(y) + np.float64(z))
