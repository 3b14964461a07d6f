# SPDX-License-Identifier: Apache-2.0
"""Kernels for GPUs run without one, by the instructions of their PTX, and watched for what a GPU would not tell."""
