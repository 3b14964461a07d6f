# SPDX-License-Identifier: Apache-2.0
"""Running compiled kernels: the compiler, the launch table and the numbers kernels call on."""
