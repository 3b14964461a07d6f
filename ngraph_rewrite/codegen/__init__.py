# SPDX-License-Identifier: Apache-2.0
"""Writing kernels: scalar operations, loop nests and templates become readable source text."""
