# SPDX-License-Identifier: Apache-2.0
"""Processes that fork: a child of one that uses the GPU is told that it cannot, and leaves what is not its own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytest.importorskip("numba_cuda", reason="needs numba-cuda, which the extra `test` installs")
pytestmark = pytest.mark.cuda

PROGRAM = """
import os
import sys
import numpy as np
import ngraph_rewrite as ng

def end_of(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

x, ones = ng.placeholder(ng.anonymous((3,))), np.ones(3, np.float32)
transformer = ng.make_transformer("cuda")
unused = transformer.computation(x + x, x)

child = os.fork()
if child == 0:  # nothing was done with the GPU yet
    print(unused(ones).tolist(), ng.make_transformer("cuda").computation(x * 3, x)(ones).tolist())
    sys.exit(7)
assert end_of(child) == 7

w = ng.variable(ng.anonymous((3,)), initial_value=1)
double, step = transformer.computation(x + x, x), transformer.computation(ng.assign(w, w + 1))
there, _ = double.on_device(ones), step()

child = os.fork()
if child == 0:
    another = ng.make_transformer("cuda")
    tried = {
        "its computation": lambda: double(ones),
        "its computation of what is there": lambda: double.on_device(there),
        "its array": lambda: np.asarray(there),
        "its array in another library": lambda: there.__cuda_array_interface__,
        "its array by DLPack": lambda: there.__dlpack__(),
        "its variables": lambda: transformer.get(w),
        "its transformer": lambda: transformer.computation(x - 1, x)(ones),
        "another one": lambda: another.computation(x - 1, x)(ones),
        "an array": lambda: ng.to_device(ones),
    }
    for what, use in tried.items():
        try:
            use()
        except ng.DeviceError as error:
            assert "forked" in str(error) and 'get_context("spawn")' in str(error), error
        else:
            print(what, "is used")
    del double
    transformer.close()
    there = None
    print(ng.make_transformer("cpu").computation(x + 1, x)(ones).tolist())
    sys.exit(8)
assert end_of(child) == 8

print(np.asarray(there).tolist(), double(there).tolist(), transformer.get(w).tolist())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_process_uses_the_gpu_if_its_parent_did_not() -> None:
    quiet = "-Wignore:This process:DeprecationWarning"  # Python 3.12 warns of threads, which Numba's libraries have
    done = subprocess.run([sys.executable, quiet, "-c", PROGRAM], capture_output=True, text=True, check=False)
    told = ["[2.0, 2.0, 2.0] [3.0, 3.0, 3.0]", "[2.0, 2.0, 2.0]", "[2.0, 2.0, 2.0] [4.0, 4.0, 4.0] [2.0, 2.0, 2.0]"]
    assert (done.returncode, done.stderr, done.stdout.splitlines()) == (0, "", told)
