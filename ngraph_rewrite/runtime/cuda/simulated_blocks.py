# SPDX-License-Identifier: Apache-2.0
"""What all threads of a simulated block find out together, in the order of `ngraph_rewrite.runtime.cuda.device_blocks`.

Each thread puts its value where the others see it, and combines those of all. Blocks may have any number of threads.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import cuda

__all__ = ["chunk_start", "lesser", "quotient", "remainder"]

_WARP = 32
Array = np.ndarray[Any, Any]


def quotient(i: int, n: int) -> int:
    """The quotient of two integers that are not negative."""
    return i // n


def remainder(i: int, n: int) -> int:
    """What dividing leaves of two integers that are not negative."""
    return i % n


def chunk_start(length: int, chunk: int, nchunks: int) -> int:
    """Where a chunk begins."""
    return int(length) * int(chunk) // int(nchunks)


def lesser(x: int, y: int) -> int:
    """The smaller one of two integers."""
    return min(x, y)


def _given_values(name: str, value: Any) -> Any:
    """The values of all threads; two barriers go by, after which the next may be given."""
    count = cuda.blockDim.x
    values = vars(cuda.shared).setdefault(name, np.zeros(count, np.asarray(value).dtype))
    values[cuda.threadIdx.x] = value
    cuda.syncthreads()
    given = values.copy()
    cuda.syncthreads()
    return given


_all_values = cuda.jit(device=True)(_given_values)


def _folded(values: Array, combine: Callable[..., Any]) -> Array:
    """The last axis, of 32, combined in pairs."""
    for half in (16, 8, 4, 2, 1):
        values = combine(values[..., :half], values[..., half:])
    return values[..., 0]


def _padded(values: Array, start: Any) -> Array:
    """Rows of 32, filled up."""
    missing = -values.size % _WARP
    return np.concatenate([values, np.full(missing, start, values.dtype)]).reshape(-1, _WARP)


def _reduction(name: str, dtype: str, combine: Callable[..., Any], start: Any) -> Any:
    def over_block(value: Any, shared: Any) -> Any:
        values = _all_values(name, np.dtype(dtype).type(value))
        shared[(values.size - 1) // _WARP]  # an error where it is too short for a device
        with np.errstate(all="ignore"):
            warps = _folded(_padded(values, start), combine)
            return _folded(_padded(warps, start), combine)[0]

    over_block.__name__ = name
    return over_block


def _placed_extremum(name: str, dtype: str, extremum: Callable[..., Any]) -> Any:
    def over_block(value: Any, position: int, shared_values: Any, shared_positions: Any) -> Any:
        values = _all_values(name, np.dtype(dtype).type(value))
        positions = _all_values(f"{name} positions", np.int64(position))
        shared_values[(values.size - 1) // _WARP], shared_positions[(values.size - 1) // _WARP]
        best = extremum(values)
        found = np.flatnonzero((values == best) | ((values != values) & (best != best)))
        first = found[positions[found].argmin()]
        return values[first], positions[first]

    over_block.__name__ = name
    return over_block


for _dtype in ("int64", "float32", "float64"):
    _kind = np.dtype(_dtype)
    _limits = np.iinfo(_kind) if _kind.kind == "i" else None
    _least, _most = (_limits.min, _limits.max) if _limits else (-np.inf, np.inf)
    for _function in (
        _reduction(f"block_total_{_dtype}", _dtype, np.add, _kind.type(-0.0)),
        _reduction(f"block_prod_{_dtype}", _dtype, np.multiply, 1),
        _reduction(f"block_max_{_dtype}", _dtype, np.maximum, _least),
        _reduction(f"block_min_{_dtype}", _dtype, np.minimum, _most),
        _placed_extremum(f"block_arg_max_{_dtype}", _dtype, np.max),
        _placed_extremum(f"block_arg_min_{_dtype}", _dtype, np.min),
    ):
        globals()[_function.__name__] = _function
        __all__.append(_function.__name__)
