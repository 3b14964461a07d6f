# SPDX-License-Identifier: Apache-2.0
"""The process that found a GPU: one that was forked from it has nothing there, and cannot begin anew.

The driver of CUDA does not survive a fork. What the forked process inherits are names of the other's memory, kernels
and graphs, which it may neither use nor give back.
"""

from __future__ import annotations

import os

from ngraph_rewrite.errors import DeviceError

ADVICE = 'start processes with multiprocessing.get_context("spawn"), or use the GPU in none before it forks'


def forked_error() -> DeviceError:
    """The error of a process that was forked from one that uses the GPU."""
    return DeviceError("this process was forked from one that uses the GPU, and cannot use it", do=ADVICE)


class Origin:
    """This process, where what belongs to it may be in others too."""

    def __init__(self) -> None:
        self._process = os.getpid()

    def is_here(self) -> bool:
        """Whether that process runs.

        >>> Origin().is_here()
        True
        """
        return os.getpid() == self._process

    def check(self) -> None:
        """Refuse another process.

        Raises:
            DeviceError: in a process that was forked from that one.
        """
        if not self.is_here():
            raise forked_error()
