# SPDX-License-Identifier: Apache-2.0
"""Elements of arrays in the shared memory of a simulated device."""

from typing import Any

__all__ = ["element", "set_element"]


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
