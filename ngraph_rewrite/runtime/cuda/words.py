# SPDX-License-Identifier: Apache-2.0
"""The words of kernels for GPUs: instructions of a device, or Python where Numba simulates one.

A kernel says the same in both. Which it is, ``NUMBA_ENABLE_CUDASIM`` says when Numba is imported.
"""

from numba.cuda.core import config

from ngraph_rewrite.runtime.cuda.places import *  # noqa: F403

if config.ENABLE_CUDASIM:
    from ngraph_rewrite.runtime.cuda.simulated_ahead import *  # noqa: F403
    from ngraph_rewrite.runtime.cuda.simulated_bounds import *  # noqa: F403
    from ngraph_rewrite.runtime.cuda.simulated_casts import *  # noqa: F403
    from ngraph_rewrite.runtime.cuda.simulated_division import *  # noqa: F403
    from ngraph_rewrite.runtime.cuda.simulated_fused import *  # noqa: F403
    from ngraph_rewrite.runtime.cuda.simulated_matrices import *  # noqa: F403
    from ngraph_rewrite.runtime.cuda.simulated_memory import *  # noqa: F403
    from ngraph_rewrite.runtime.cuda.simulated_scalars import *  # noqa: F403
    from ngraph_rewrite.runtime.cuda.simulated_tiles import *  # noqa: F403
    from ngraph_rewrite.runtime.cuda.simulated_warps import *  # noqa: F403
else:
    from ngraph_rewrite.runtime.cuda.device_ahead import *  # noqa: F403
    from ngraph_rewrite.runtime.cuda.device_bounds import *  # noqa: F403
    from ngraph_rewrite.runtime.cuda.device_division import *  # noqa: F403
    from ngraph_rewrite.runtime.cuda.device_fused import *  # noqa: F403
    from ngraph_rewrite.runtime.cuda.device_matrices import *  # noqa: F403
    from ngraph_rewrite.runtime.cuda.device_memory import *  # noqa: F403
    from ngraph_rewrite.runtime.cuda.device_scalars import *  # noqa: F403
    from ngraph_rewrite.runtime.cuda.device_tiles import *  # noqa: F403
    from ngraph_rewrite.runtime.cuda.device_warps import *  # noqa: F403
