# SPDX-License-Identifier: Apache-2.0
"""What Numba knows of arrays is read without SciPy, which half of its first compilation was waiting for.

Numba asks for it only to know, for functions that somebody may write, whether arrays can be multiplied. Kernels
multiply none; who does has SciPy imported then, as Numba asks for it once more.
"""

import importlib
import importlib.util
import sys
from functools import cache
from typing import Any

from numba.core.compiler_lock import global_compiler_lock

_ARRAYS, _PRODUCTS, _ASKS = "numba.np.arraymath", "numba.np.linalg", "ensure_blas"


@cache
@global_compiler_lock  # type: ignore[untyped-decorator]
def read_registries() -> None:
    """Have Numba read them, if it has not; what asks for SciPy is afterwards what it was."""
    if _ARRAYS in sys.modules:
        return
    products = importlib.import_module(_PRODUCTS)
    asking = getattr(products, _ASKS, None)
    if asking is None:
        return
    setattr(products, _ASKS, _find_scipy)
    try:
        arrays: Any = importlib.import_module(_ARRAYS)
    finally:
        setattr(products, _ASKS, asking)
    setattr(arrays, _ASKS, asking)


def _find_scipy() -> None:
    """Whether there is one, in the words of what it stands for."""
    if importlib.util.find_spec("scipy") is None:
        raise ImportError("there is no SciPy")
