# SPDX-License-Identifier: Apache-2.0
"""Where a thread is: in its block, and its block in the grid, both of one dimension; and where threads wait."""

from typing import Any

from numba import cuda
from numba.core import types

from ngraph_rewrite.runtime.cuda.porting import device_function

__all__ = ["aligned", "barrier", "block", "blocks", "lane", "lanes", "thread", "threads"]


@device_function(types.int64())
def thread() -> Any:
    """The number of this thread in the grid."""
    return cuda.grid(1)


@device_function(types.int64())
def threads() -> Any:
    """How many threads the grid has."""
    return cuda.gridsize(1)


@device_function(types.int64())
def lane() -> Any:
    """The number of this thread in its block."""
    return cuda.threadIdx.x


@device_function(types.int64())
def lanes() -> Any:
    """How many threads a block has."""
    return cuda.blockDim.x


@device_function(types.int64())
def block() -> Any:
    """The number of this block."""
    return cuda.blockIdx.x


@device_function(types.int64())
def blocks() -> Any:
    """How many blocks the grid has."""
    return cuda.gridDim.x


@device_function(types.none())
def barrier() -> None:
    """Wait for all threads of the block; what they stored before is seen after."""
    cuda.syncthreads()


@device_function(types.boolean(types.int64, types.int64))
def aligned(address: int, size: int) -> Any:
    """Whether an address is a multiple of a power of two."""
    return address & (size - 1) == 0
