# SPDX-License-Identifier: Apache-2.0
"""How many columns of a matrix, or matrices, are done with together: what plans kernels asks, without LLVM."""

WIDTH = 16  # columns of a panel, whose reflections are kept
TILE = 64  # columns of others that are reflected at all columns of a panel before they leave the cache
STRIP = 64  # columns that are rotated together, as rows of a strip
LANE_BYTES = 64  # of one element of all small matrices that are side by side
