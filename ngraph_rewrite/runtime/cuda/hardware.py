# SPDX-License-Identifier: Apache-2.0
"""What all of NVIDIA's GPUs have alike, as kernels count on it."""

WARP = 32  # threads that run in step
WIDEST = 16  # bytes that one access moves at most
LINE = 128  # bytes of memory that a cache has together
MULTIPROCESSORS = 132  # of a large GPU
REGISTER_FILE = 1 << 16  # registers of a multiprocessor, which its threads share
