# SPDX-License-Identifier: Apache-2.0
"""Where a thread is: in its block, which has one dimension, and its block in the grid; and where threads wait."""

from typing import Any

import numpy as np
from numba import cuda
from numba.core import types

from ngraph_rewrite.runtime.cuda.porting import device_function

__all__ = [
    "aligned",
    "any_of_block",
    "barrier",
    "block",
    "block_deep",
    "block_down",
    "blocks",
    "blocks_deep",
    "blocks_down",
    "lane",
    "lanes",
    "thread",
    "threads",
]


@device_function(types.int64())
def thread() -> Any:
    """The number of this thread in a grid of one dimension."""
    return cuda.grid(1)


@device_function(types.int64())
def threads() -> Any:
    """How many threads a grid of one dimension has."""
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
    """The number of this block along the first dimension of the grid."""
    return cuda.blockIdx.x


@device_function(types.int64())
def blocks() -> Any:
    """How many blocks the grid has along its first dimension."""
    return cuda.gridDim.x


@device_function(types.int64())
def block_down() -> Any:
    """The number of this block along the second dimension of the grid."""
    return cuda.blockIdx.y


@device_function(types.int64())
def blocks_down() -> Any:
    """How many blocks the grid has along its second dimension."""
    return cuda.gridDim.y


@device_function(types.int64())
def block_deep() -> Any:
    """The number of this block along the third dimension of the grid."""
    return cuda.blockIdx.z


@device_function(types.int64())
def blocks_deep() -> Any:
    """How many blocks the grid has along its third dimension."""
    return cuda.gridDim.z


@device_function(types.none())
def barrier() -> None:
    """Wait for all threads of the block; what they stored before is seen after."""
    cuda.syncthreads()


@device_function(types.boolean(types.boolean))
def any_of_block(true: bool) -> Any:
    """Whether it is true of any thread of the block, all of which wait for each other here as at a barrier."""
    return cuda.syncthreads_or(np.int32(true)) != 0


@device_function(types.boolean(types.int64, types.int64))
def aligned(address: int, size: int) -> Any:
    """Whether an address is a multiple of a power of two."""
    return address & (size - 1) == 0
