# SPDX-License-Identifier: Apache-2.0
"""One stretch of memory on a device for all that computes in turns: as large as the largest of them needs."""

from __future__ import annotations

import weakref

from ngraph_rewrite.runtime.cuda.device import Device, free_all


class Arena:
    """Memory whose contents nobody needs once a call is over.

    Attributes:
        address: Where it lies now; it moves when it grows.
        size: Its bytes.
    """

    def __init__(self, device: Device) -> None:
        self.device, self.address, self.size = device, 0, 0
        self._owned: list[int] = []
        weakref.finalize(self, free_all, device, self._owned)

    def reserve(self, size: int) -> None:
        """Have at least so many bytes.

        Raises:
            DeviceMemoryError: if there are not so many left; then it is as small as it can be.
        """
        if size > self.size or not self._owned:
            free_all(self.device, self._owned)
            self.address = self.size = 0
            self.address = self.device.allocate(size, "intermediate values")
            self._owned.append(self.address)
            self.size = size
