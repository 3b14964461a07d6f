# SPDX-License-Identifier: Apache-2.0
"""A launch in Numba's simulator: each thread of the device is a thread of Python, one block after the other.

Operations warn of nothing, as on a device. Simulated threads wait for each other by asking again and again, so that the
threads of Python take shorter turns than usual meanwhile.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from numba import cuda

_TURN = 0.0005  # seconds


def launch(kernel: Callable[..., None], blocks: int | tuple[int, ...], lanes: int, arguments: Sequence[int]) -> None:
    """Run a kernel on some blocks of so many threads; memory that it uses must be allowed."""
    quiet = cuda.jit(np.errstate(all="ignore")(kernel))
    with _short_turns():
        quiet[blocks, lanes](*map(np.int64, arguments))


@contextmanager
def _short_turns() -> Iterator[None]:
    usual = sys.getswitchinterval()
    sys.setswitchinterval(min(usual, _TURN))
    try:
        yield
    finally:
        sys.setswitchinterval(usual)
