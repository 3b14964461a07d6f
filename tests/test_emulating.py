# SPDX-License-Identifier: Apache-2.0
"""The command ``emulate`` and the device behind it: kernels for GPUs run as they were compiled, where there is none."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

import numpy as np
import pytest
from processes import with_programs

import ngraph_rewrite as ng
from ngraph_rewrite import emulating
from ngraph_rewrite.cli import main
from ngraph_rewrite.codegen.source import Source
from ngraph_rewrite.cuda_planning import Planned
from ngraph_rewrite.runtime.cuda.device import EMULATOR, SIMULATOR
from ngraph_rewrite.runtime.ptx.counting import Counts

compiles = pytest.mark.skipif(importlib.util.find_spec("numba_cuda") is None, reason="needs numba-cuda")


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """Python with these words, on an emulated GPU: no process has both that and Numba's simulator."""
    environment = {name: value for name, value in os.environ.items() if name != SIMULATOR} | {EMULATOR: "1"}
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, env=environment, check=False)


@compiles
def test_a_line_for_each_kernel_and_the_verdict_last() -> None:
    done = run("-c", with_programs("searched int32", "emulate", "searchsorted", "--budget", "100000"))
    head, *lines, verdict = done.stdout.splitlines()
    assert done.returncode == 0 and head.split() == list(emulating.HEAD)
    assert {line.partition("_")[0] for line in lines} == {"searchsorted"}
    assert verdict == f"{len(lines)} kernels ran in {len(lines)} launches of {len(lines)} programs"


def test_without_a_compiler_for_gpus_it_is_said_what_is_missing() -> None:
    """Numba alone has a module numba.cuda, and no more of it."""
    hide = "import sys, importlib.util as u; sys.modules['numba.cuda.core'] = None; u.find_spec = lambda name: None"
    done = run("-c", f"{hide}\nfrom ngraph_rewrite.cli import main\nsys.exit(main(['emulate']))")
    assert done.returncode == 1 and "needs the package numba-cuda" in done.stderr and "Traceback" not in done.stderr


GRAPH = """
import numpy as np, ngraph_rewrite as ng
from ngraph_rewrite.runtime.cuda.device import find_device
x = ng.placeholder((5, 40))
X = np.random.default_rng(0).standard_normal((5, 40)).astype(np.float32)
with ng.make_transformer("cuda") as transformer:
    found = transformer.computation(ng.numpy.sum(ng.numpy.exp(x), axis=1), x)(X)
np.testing.assert_allclose(found, np.exp(X.astype(float)).sum(1), rtol=1e-6)
print(find_device().name, find_device().warp)
"""
TURNED = """
import numpy as np
from ngraph_rewrite.cache import Cache
from ngraph_rewrite.codegen.source import imports
from ngraph_rewrite.errors import KernelError
from ngraph_rewrite.runtime.cuda.device import Launched, find_device

text = '''
def turned(x, y):
    room = shared_float32(64)
    room[lane()] = load_float32(x, lane(), 0)
    barrier()
    store_float32(y, lane(), room[63 - lane()], 1)
'''
device, x = find_device(), np.arange(64, dtype=np.float32)
addresses = [device.allocate(x.nbytes, "a test") for _ in range(2)]
device.upload(addresses[0], x)
for one in (text, text.replace("    barrier()\\n", "")):
    function = device.load({"turned": imports(one, "cuda") + one}, Cache(), 1)["turned"]
    try:
        device.record([Launched(function, 1, 64, True, addresses)]).run()
    except KernelError as error:
        print(str(error).replace(chr(10), " "))
    else:
        device.download(x, addresses[1])
        print(x[:3].tolist())
"""


@pytest.fixture(scope="module")
def ran() -> list[str]:
    """What both programs print, in one process."""
    done = run("-c", GRAPH + TURNED)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@compiles
def test_a_graph_runs_by_what_was_compiled(ran: list[str]) -> None:
    assert ran[0] == "the emulator of PTX 32"


@compiles
def test_a_race_is_told_with_the_instruction_that_met_another(ran: list[str]) -> None:
    _, right, told = ran
    assert right == "[63.0, 62.0, 61.0]"
    assert (
        "kernel turned: thread 0 reads shared memory at 0xfc, which thread 63 wrote with no barrier between (ld."
        in told
    )


def test_what_is_wrong_fails_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    launch = emulating.Launch("gather_1", (8, 1, 1), 256, Counts())
    monkeypatch.setattr(emulating, "check_compiler", lambda: None)
    monkeypatch.setattr(emulating, "launched", lambda question: ([launch], "thread 1 reads what thread 0 wrote"))
    monkeypatch.setattr(emulating, "planned", lambda cache: [Planned("taken", (Source("gather_1", "", ()),))])
    assert main(["emulate", "gather", "--jobs", "1"]) == 1
    *_, row, told, verdict = capsys.readouterr().out.splitlines()
    assert row.split() == ["gather_1", told.partition(":")[0], "8", "x", "1", "x", "1", "256", "0", *["1.00"] * 3]
    assert told.endswith("thread 1 reads what thread 0 wrote") and verdict.endswith("; failed: 1")


def test_a_kernel_that_there_is_not(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(emulating, "check_compiler", lambda: None)
    monkeypatch.setattr(emulating, "planned", lambda cache: [Planned("taken", (Source("gather_1", "", ()),))])
    assert main(["emulate", "no_such_kernel"]) == 1
    assert "no kernel is called no_such_kernel" in capsys.readouterr().err


@pytest.mark.parametrize("dtype", ["bool", "int64", "uint8", "float32", "bfloat16"])
def test_whole_numbers_that_are_drawn_may_be_places(dtype: str) -> None:
    x = ng.placeholder((100,), dtype)
    found = emulating.drawn(x, 0)
    assert found.dtype == x.dtype and found.shape == (100,)
    assert "float" in dtype or (0 <= found.astype(int)).all() and (found.astype(int) < 6).all()
    np.testing.assert_array_equal(found, emulating.drawn(x, 0))
