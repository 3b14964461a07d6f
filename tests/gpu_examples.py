# SPDX-License-Identifier: Apache-2.0
"""How many examples tests of kernels for GPUs draw: a sixth where each has to be compiled, for an emulated one."""

import os

from hypothesis import settings

from ngraph_rewrite.runtime.cuda.device import EMULATOR

EMULATED = os.environ.get(EMULATOR, "0") not in ("", "0")


def examples(count: int) -> settings:
    """So many, however long one takes: in the simulator a launch is as many threads of Python."""
    return settings(max_examples=-(-count // 6) if EMULATED else count, deadline=None)
