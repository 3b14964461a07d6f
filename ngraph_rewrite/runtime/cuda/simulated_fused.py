# SPDX-License-Identifier: Apache-2.0
"""A product and a sum on a simulated device, rounded once."""

from typing import Any

import numpy as np

__all__ = ["fused"]


def fused(x: Any, y: Any, z: Any) -> Any:
    """``x * y + z``, of float32 rounded once, but for ties that float64 makes."""
    with np.errstate(all="ignore"):
        return type(x)(np.float64(x) * np.float64(y) + np.float64(z))
