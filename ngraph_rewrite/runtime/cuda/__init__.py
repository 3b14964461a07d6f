# SPDX-License-Identifier: Apache-2.0
"""What kernels for GPUs are written with: `ngraph_rewrite.runtime.cuda.words` exports it; this needs numba-cuda."""
