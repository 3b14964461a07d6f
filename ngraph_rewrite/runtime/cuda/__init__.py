# SPDX-License-Identifier: Apache-2.0
"""GPUs: the words of kernels, their compilation, memory and launches; on a real device, a simulated or emulated one."""
