# SPDX-License-Identifier: Apache-2.0
"""The driver of CUDA: whether it is there, starts, and is new enough."""

from __future__ import annotations

from cuda.bindings import driver as cu

from ngraph_rewrite.errors import DeviceError
from ngraph_rewrite.runtime.cuda.checked import checked
from ngraph_rewrite.runtime.cuda.origin import forked_error

OLDEST = 12000  # CUDA 12.0
# What the driver says where another library used the GPU before this process was forked.
_FORKED = "CUDA_ERROR_NOT_INITIALIZED"


def start_driver() -> None:
    """Start the driver.

    Raises:
        DeviceError: if there is none, it is too old, or this process was forked from one that had started it.
    """
    try:
        checked(cu.cuInit(0), "starting the CUDA driver")
        version = int(checked(cu.cuDriverGetVersion(), "asking for the version of the CUDA driver"))
    except (RuntimeError, OSError) as error:
        told = error.what if isinstance(error, DeviceError) else str(error)
        if _FORKED in told:
            raise forked_error() from error
        raise DeviceError(
            f"there is no GPU to use: {told}",
            do="install NVIDIA's driver, or use the target cpu; NUMBA_ENABLE_CUDASIM=1 simulates a GPU, "
            "NGRAPH_REWRITE_EMULATE_GPU=1 emulates one",
        ) from error
    if version < OLDEST:
        raise DeviceError(
            f"the CUDA driver is of version {_shown(version)}, and {_shown(OLDEST)} is the oldest that works",
            do="install a newer driver",
        )


def check_driver(made_by: int, what: str) -> None:
    """Look why the driver refuses machine code: one that is older by a major version need not take it.

    Args:
        made_by: The version of CUDA that made it.
        what: What it was needed for.

    Raises:
        DeviceError: if the driver is that old.
    """
    version = int(checked(cu.cuDriverGetVersion(), "asking for the version of the CUDA driver"))
    if version // 1000 < made_by // 1000:
        raise DeviceError(
            f"{what} failed: the CUDA driver is of version {_shown(version)}, and machine code is made by packages of "
            f"CUDA {_shown(made_by)}, which it does not take",
            do=f"install a driver of CUDA {made_by // 1000} or newer, or the packages of CUDA 12 instead "
            "(pip install 'ngraph_rewrite[cuda12]'), or use the target cpu",
        )


def _shown(version: int) -> str:
    return f"{version // 1000}.{version % 1000 // 10}"
