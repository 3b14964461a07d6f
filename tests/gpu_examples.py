# SPDX-License-Identifier: Apache-2.0
"""How many examples tests of kernels for GPUs draw: a sixth as many in the simulator, and for an emulated one."""

import os

from hypothesis import settings

from ngraph_rewrite.runtime.cuda.device import EMULATOR

EMULATED = os.environ.get(EMULATOR, "0") not in ("", "0")
SIMULATED = os.environ.get("NUMBA_ENABLE_CUDASIM", "0") == "1"


def examples(count: int) -> settings:
    """So many on a GPU, however long one takes; fewer where one is simulated or emulated, a thousand times as slow."""
    return settings(max_examples=-(-count // (6 if EMULATED or SIMULATED else 1)), deadline=None)
