# SPDX-License-Identifier: Apache-2.0
"""What calls of the CUDA driver give, once they are known to have succeeded."""

from __future__ import annotations

from typing import Any

from cuda.bindings import driver as cu

from ngraph_rewrite.errors import DeviceError, DeviceMemoryError
from ngraph_rewrite.runtime.cuda.device import FREE_SOME


def checked(found: Any, what: str) -> Any:
    """What a call of the driver gives.

    Raises:
        DeviceError: if it failed; it says what the call was for.
        DeviceMemoryError: if that is for want of memory.
    """
    error, *values = found
    if error == cu.CUresult.CUDA_ERROR_OUT_OF_MEMORY:
        raise DeviceMemoryError(f"{what} failed: the GPU has too little memory left", do=FREE_SOME)
    if error != cu.CUresult.CUDA_SUCCESS:
        name, text = cu.cuGetErrorName(error)[1], cu.cuGetErrorString(error)[1]
        told = f"{name.decode()}: {text.decode()}" if name and text else str(error)
        raise DeviceError(f"{what} failed: {told}", do="see the CUDA driver API's list of errors (CUresult)")
    return values[0] if len(values) == 1 else tuple(values)
