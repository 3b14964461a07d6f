# SPDX-License-Identifier: Apache-2.0
"""Of which generation the GPU is that a kernel is being compiled for: newer ones have instructions for more."""

from typing import TYPE_CHECKING

from ngraph_rewrite.lazy import lazy_module

if TYPE_CHECKING:
    from numba.cuda.core import targetconfig
else:  # only who compiles has it, and this is imported by who asks for a GPU
    targetconfig = lazy_module("numba.cuda.core.targetconfig")

AMPERE, HOPPER = (8, 0), (9, 0)


def is_since(capability: tuple[int, int]) -> bool:
    """Whether what is compiled now is for a GPU of at least some compute capability."""
    flags = targetconfig.ConfigStack.top_or_none()
    own = getattr(flags, "compute_capability", None) or (0, 0)
    return tuple(own) >= capability
