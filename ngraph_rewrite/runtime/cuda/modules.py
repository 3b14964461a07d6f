# SPDX-License-Identifier: Apache-2.0
"""Kernels that the driver has loaded: as long as somebody has them, and the last ones though nobody has.

A kernel that nobody has any more may still run. It is kept as memory of others is, until all is done that was asked for
by then, and unloaded with that.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

from cuda.bindings import driver as cu

from ngraph_rewrite.runtime.cuda.captures import LeavingCaptures, may_be_asked
from ngraph_rewrite.runtime.cuda.checked import checked
from ngraph_rewrite.runtime.cuda.context import Context
from ngraph_rewrite.runtime.cuda.machine_code import MachineCode
from ngraph_rewrite.runtime.cuda.one_by_one import STREAM
from ngraph_rewrite.runtime.cuda.starting import check_driver

# What drivers say of machine code that they do not know, and not of memory that is full, or of an error before.
_REFUSED = (
    cu.CUresult.CUDA_ERROR_INVALID_IMAGE,
    cu.CUresult.CUDA_ERROR_INVALID_SOURCE,
    cu.CUresult.CUDA_ERROR_NO_BINARY_FOR_GPU,
    cu.CUresult.CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
)
RECENT = 256  # so many kernels stay though nobody has them: a program may be made again


class Kernel(cu.CUfunction):  # type: ignore[misc]  # what the driver's functions take
    """A function of a module; with the last reference to it ends the module."""


class _Module:
    """What the driver unloads when this ends."""

    def __init__(self, context: Context, number: Any) -> None:
        _at_end(self, _unload, context, number)


def _at_end(of: object, do: Callable[..., None], *given: Any) -> None:
    """What is done when something ends; not when Python does, as the driver ends then, too."""
    weakref.finalize(of, do, *given).atexit = False


def _unload(context: Context, number: Any) -> None:
    if context.origin.is_here():
        with context.inside(), LeavingCaptures():
            if may_be_asked(STREAM):  # else that would wait for a stream that is captured: it stays loaded
                checked(cu.cuModuleUnload(number), "unloading a kernel")


class Modules:
    """Kernels by their sources. Threads may use it at once.

    Args:
        hold: Keeps an object until all is done that was asked for.
    """

    def __init__(self, context: Context, hold: Callable[[object], None]) -> None:
        self._context, self._hold, self._lock = context, hold, threading.Lock()
        self._kernels, self._recent = weakref.WeakValueDictionary[str, Kernel](), dict[str, Kernel]()

    def find(self, text: str) -> Kernel | None:
        """The kernel of a source, if it is loaded."""
        found = self._kernels.get(text)
        if found is not None:
            self._keep(text, found)
        return found

    def load(self, name: str, text: str, code: MachineCode) -> Kernel:
        """Have the driver load the kernel of a source.

        Raises:
            DeviceError: if it refuses that; it says whether the driver is too old for the machine code.
        """
        found = cu.cuModuleLoadData(code.data)
        if found[0] in _REFUSED:
            check_driver(code.made_by, f"loading the kernel {name}")
        number = checked(found, f"loading the kernel {name}")
        module = _Module(self._context, number)
        function = checked(cu.cuModuleGetFunction(number, code.entry.encode()), f"finding the kernel {name}")
        kernel = Kernel(int(function))
        _at_end(kernel, self._hold, module)
        self._kernels[text] = kernel
        self._keep(text, kernel)
        return kernel

    def _keep(self, text: str, kernel: Kernel) -> None:
        """Keep a kernel as the one that was asked for last; the oldest are not kept any longer."""
        with self._lock:
            self._recent.pop(text, None)
            self._recent[text] = kernel
            over = [self._recent.pop(next(iter(self._recent))) for _ in range(len(self._recent) - RECENT)]
        del over  # outside of the lock: to unload them may end other things
