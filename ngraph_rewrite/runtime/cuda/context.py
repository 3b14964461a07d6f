# SPDX-License-Identifier: Apache-2.0
"""The context of a GPU, which other libraries use too: each thread that asks the driver for something has it."""

from __future__ import annotations

import threading
from typing import Any

from cuda.bindings import driver as cu

from ngraph_rewrite.runtime.cuda.checked import checked
from ngraph_rewrite.runtime.cuda.origin import Origin


class _Entered(threading.local):
    """Whether a thread has it."""

    yes = False


class Context:
    """What the driver knows this process by.

    Attributes:
        origin: This process.
    """

    def __init__(self, device: Any) -> None:
        self.origin = Origin()
        self._handle = checked(cu.cuDevicePrimaryCtxRetain(device), "using the GPU")
        self._entered = _Entered()
        self.enter()

    def enter(self) -> None:
        """Make it that of this thread, once: a library that has another one puts it back.

        Raises:
            DeviceError: in a process that was forked from the one it is of.
        """
        self.origin.check()
        if not self._entered.yes:
            checked(cu.cuCtxSetCurrent(self._handle), "using the GPU")
            self._entered.yes = True
