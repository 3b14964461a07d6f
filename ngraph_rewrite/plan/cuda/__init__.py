# SPDX-License-Identifier: Apache-2.0
"""What is planned for a GPU: grids of blocks of threads, and kernels whose threads work together."""
