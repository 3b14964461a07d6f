# SPDX-License-Identifier: Apache-2.0
"""Kernels for GPUs: the text of a kernel, in which every thread takes some of the indices."""
