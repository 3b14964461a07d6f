# SPDX-License-Identifier: Apache-2.0
"""The plan: which terms share a kernel, in what order kernels run, and where in memory their results lie."""
