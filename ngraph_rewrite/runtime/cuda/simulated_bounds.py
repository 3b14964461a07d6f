# SPDX-License-Identifier: Apache-2.0
"""What a kernel says about its launches, which means little on a simulated device."""

from numba import cuda
from numba.core import types

from ngraph_rewrite.runtime.cuda.porting import device_function

__all__ = ["anew", "lanes_of", "launch_bounds"]


def anew(value: int) -> int:
    """The value."""
    return value


@device_function(types.int64(types.int64))
def lanes_of(count: int) -> int:
    """How many threads a block has: fewer than the kernel says."""
    return int(cuda.blockDim.x)


def launch_bounds(threads: int, blocks: int) -> None:
    """Nothing: what runs at once is few."""
