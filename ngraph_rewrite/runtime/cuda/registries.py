# SPDX-License-Identifier: Apache-2.0
"""What Numba knows of arrays on GPUs, read with any NumPy.

numba-cuda 0.30, whose development has ended, asks for a name that NumPy has no more since 2.5 (``row_stack``, another
one of ``vstack``), and compiles nothing without.
"""

import importlib
from functools import cache
from typing import Any

import numpy as np
from numba.cuda.core.compiler_lock import global_compiler_lock

_GONE, _SAME = "row_stack", "vstack"


@cache
@global_compiler_lock  # type: ignore[untyped-decorator]
def read_registries() -> None:
    """Have Numba read them, if it would not by itself; NumPy is afterwards what it was, whoever else reads them."""
    numpy: Any = np
    if hasattr(numpy, _GONE):
        return
    setattr(numpy, _GONE, getattr(numpy, _SAME))
    try:
        importlib.import_module("numba.cuda.np.arrayobj")
    finally:
        delattr(numpy, _GONE)
