# SPDX-License-Identifier: Apache-2.0
"""Variables on a GPU: each stays there from its first use on, and is copied when the other side has changed it."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping
from typing import Any

from ngraph_rewrite.runtime.cuda.device import Array, Device, free_all


class DeviceStorage:
    """The memory of variables on a device, by their keys.

    Args:
        arrays: The same variables on the host.

    Attributes:
        size: The bytes of all variables that are on the device.
        newer_there: The variables that have to be copied to the device.
    """

    def __init__(self, device: Device, arrays: Mapping[Any, Array]) -> None:
        self.device, self._arrays = device, arrays
        self._addresses: dict[Any, int] = {}
        self.size = 0
        self._owned: list[int] = []
        weakref.finalize(self, free_all, device, self._owned)
        self._newer_here: set[Any] = set()
        self.newer_there: set[Any] = set()

    def address(self, key: Any) -> int:
        """Where a variable lies on the device; it stays there."""
        if key not in self._addresses:
            self._addresses[key] = self.device.allocate(self._arrays[key].nbytes, "a variable")
            self._owned.append(self._addresses[key])
            self.size += self._arrays[key].nbytes
            self.newer_there.add(key)
        return self._addresses[key]

    def before_run(self) -> int:
        """Copy to the device what was changed on the host; how many bytes that were."""
        size = 0
        for key in self.newer_there:
            self.device.upload(self._addresses[key], self._arrays[key])
            size += self._arrays[key].nbytes
        self.newer_there.clear()
        return size

    def written(self, keys: Iterable[Any]) -> None:
        """Kernels wrote these variables."""
        self._newer_here.update(keys)

    def fetch(self) -> None:
        """Copy to the host what was changed on the device."""
        for key in self._newer_here:
            self.device.download(self._arrays[key], self._addresses[key])
        self._newer_here.clear()

    def changed(self) -> None:
        """The arrays of the host were written, after a `fetch` or all of them."""
        self._newer_here.clear()
        self.newer_there.update(self._addresses)

    def close(self) -> None:
        """Give the memory back."""
        free_all(self.device, self._owned)
        self._addresses.clear()
        self.size = 0
        self._newer_here.clear()
        self.newer_there.clear()
