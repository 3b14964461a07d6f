# SPDX-License-Identifier: Apache-2.0
"""What Numba knows of arrays on GPUs, read with any NumPy.

numba-cuda 0.30, whose development has ended, asks for a name that NumPy has no more since 2.5 (``row_stack``, another
one of ``vstack``), and compiles nothing without.
"""

import importlib
from functools import cache
from typing import Any

import numpy as np

_GONE, _SAME = "row_stack", "vstack"


@cache
def read_registries() -> None:
    """Have Numba read them, if it would not by itself; NumPy is afterwards what it was."""
    numpy: Any = np
    if hasattr(numpy, _GONE):
        return
    setattr(numpy, _GONE, getattr(numpy, _SAME))
    try:
        importlib.import_module("numba.cuda.np.arrayobj")
    finally:
        delattr(numpy, _GONE)
