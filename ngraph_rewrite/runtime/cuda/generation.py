# SPDX-License-Identifier: Apache-2.0
"""Of which generation the GPU is that a kernel is being compiled for: newer ones have instructions for more."""

from numba.cuda.core.targetconfig import ConfigStack

AMPERE, HOPPER = (8, 0), (9, 0)


def is_since(capability: tuple[int, int]) -> bool:
    """Whether what is compiled now is for a GPU of at least some compute capability."""
    flags = ConfigStack.top_or_none()
    own = getattr(flags, "compute_capability", None) or (0, 0)
    return tuple(own) >= capability
