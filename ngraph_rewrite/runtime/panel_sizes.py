# SPDX-License-Identifier: Apache-2.0
"""How many columns of a matrix are reflected together: what plans kernels asks for it, and has no use for LLVM."""

WIDTH = 16  # columns of a panel, whose reflections are kept
TILE = 64  # columns of others that are reflected at all columns of a panel before they leave the cache
