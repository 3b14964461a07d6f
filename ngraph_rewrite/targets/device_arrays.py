# SPDX-License-Identifier: Apache-2.0
"""Arrays that stay on a GPU: results of computations, and what other libraries hand over without a copy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngraph_rewrite.runtime.cuda.device import Device


class DeviceArray:
    """A row-major array on a GPU.

    Attributes:
        address: Where it lies.
        owner: What keeps its memory; None if it is its own, which goes with it.
    """

    def __init__(self, device: Device, shape: tuple[int, ...], dtype: Any, address: int, owner: object = None) -> None:
        self.device, self.shape, self.dtype, self.address, self.owner = device, shape, np.dtype(dtype), address, owner

    @classmethod
    def empty(cls, device: Device, shape: tuple[int, ...], dtype: Any) -> DeviceArray:
        """An array whose memory is its own.

        Raises:
            DeviceMemoryError: if there is not enough.
        """
        size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        return cls(device, shape, dtype, device.allocate(size, "a result"))

    @property
    def nbytes(self) -> int:
        """The bytes of its elements."""
        return int(np.prod(self.shape, dtype=np.int64)) * int(self.dtype.itemsize)

    @property
    def ndim(self) -> int:
        """The number of its axes."""
        return len(self.shape)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """What other libraries read it by (the CUDA Array Interface, version 3); it is on the default stream."""
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.address, False),
            "version": 3,
            "stream": 1,
        }

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("an array on a GPU cannot be seen by NumPy without a copy")
        array = np.empty(self.shape, self.dtype)
        self.device.download(array, self.address)
        return array if dtype is None else array.astype(dtype)

    def __repr__(self) -> str:
        return f"DeviceArray({self.dtype}{list(self.shape)} on {self.device.name})"

    def __del__(self) -> None:
        if self.owner is None and self.address:
            self.device.free(self.address)
            self.address = 0
