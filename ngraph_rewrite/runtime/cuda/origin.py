# SPDX-License-Identifier: Apache-2.0
"""The process that found a GPU: one that was forked from it has nothing there, and cannot begin anew.

The driver of CUDA does not survive a fork. What the forked process inherits are names of the other's memory, kernels
and graphs, which it may neither use nor give back.
"""

from __future__ import annotations

import os

from ngraph_rewrite.errors import DeviceError

_forks = [0]  # how many lie between the first process and this one: a list, so that they can be counted


def _count_fork() -> None:
    _forks[0] += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count_fork)

ADVICE = 'start processes with multiprocessing.get_context("spawn"), or use the GPU in none before it forks'


def forked_error() -> DeviceError:
    """The error of a process that was forked from one that uses the GPU."""
    return DeviceError("this process was forked from one that uses the GPU, and cannot use it", do=ADVICE)


class Origin:
    """This process, where what belongs to it may be in others too."""

    def __init__(self) -> None:
        self._forks = _forks[0]

    def is_here(self) -> bool:
        """Whether that process runs.

        >>> Origin().is_here()
        True
        """
        return self._forks == _forks[0]

    def check(self) -> None:
        """Refuse another process.

        Raises:
            DeviceError: in a process that was forked from that one.
        """
        if self._forks != _forks[0]:
            raise forked_error()
