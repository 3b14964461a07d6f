# SPDX-License-Identifier: Apache-2.0
"""Compiles kernels for GPUs, where none need be: JSON of their texts by name is read, JSON of their PTX is written.

A process of its own: one in which Numba simulates a device compiles nothing for any.
"""

import json
import sys
from inspect import signature

from cuda_kernels import function

from ngraph_rewrite.runtime.cuda.compiling import compile_ptx

CAPABILITIES = ((8, 0), (9, 0))
OLDER = (7, 5)


def compiled(text: str) -> list[str]:
    """The PTX of a kernel for each of the capabilities, and for an older one with fewer instructions if it says so."""
    kernel = function(text)
    given = (*CAPABILITIES, OLDER) if "OLDER" in text else CAPABILITIES
    return compile_ptx(kernel, len(signature(kernel).parameters), given)


if __name__ == "__main__":
    json.dump({name: compiled(text) for name, text in json.load(sys.stdin).items()}, sys.stdout)
