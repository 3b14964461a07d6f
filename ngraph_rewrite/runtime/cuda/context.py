# SPDX-License-Identifier: Apache-2.0
"""The context of a GPU, which other libraries use too: each thread that asks the driver for something has it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cuda.bindings import driver as cu

from ngraph_rewrite.runtime.cuda.checked import checked
from ngraph_rewrite.runtime.cuda.origin import Origin


class Context:
    """What the driver knows this process by.

    Attributes:
        origin: This process.
        is_alone: Whether there is no other GPU, on which memory may be.
        capturing: Held by who captures what a stream is asked for: to wait for the whole GPU meanwhile ends that.
    """

    def __init__(self, device: Any) -> None:
        self.origin, self.capturing = Origin(), threading.Lock()
        self.is_alone = checked(cu.cuDeviceGetCount(), "counting GPUs") == 1
        self._handle = checked(cu.cuDevicePrimaryCtxRetain(device), "using the GPU")
        self.enter()

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Within, it is that of this thread, which has its own again afterwards: arrays end at any moment."""
        self.origin.check()
        if cu.cuCtxGetCurrent()[-1] == self._handle:
            yield
            return
        checked(cu.cuCtxPushCurrent(self._handle), "using the GPU")
        try:
            yield
        finally:
            cu.cuCtxPopCurrent()

    def enter(self) -> None:
        """Make it that of this thread, which may be another's: of another GPU, or one that another library made.

        Raises:
            DeviceError: in a process that was forked from the one it is of.
        """
        self.origin.check()
        if cu.cuCtxGetCurrent()[-1] != self._handle:  # each launch asks this
            checked(cu.cuCtxSetCurrent(self._handle), "using the GPU")
