# SPDX-License-Identifier: Apache-2.0
"""The command ``ptx``: kernels for GPUs are planned and compiled where there is none."""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
from string import Template

import pytest
from processes import with_programs

import ngraph_rewrite as ng
from ngraph_rewrite import cuda_of_packages, cuda_planning, ptx
from ngraph_rewrite.cache import Cache
from ngraph_rewrite.cli import main
from ngraph_rewrite.codegen.opkernel_files import read_kernel
from ngraph_rewrite.codegen.source import Source
from ngraph_rewrite.cuda_of_packages import programs_of_packages
from ngraph_rewrite.cuda_planning import Planned, planned, unused
from ngraph_rewrite.runtime.cuda.device import SIMULATOR
from ngraph_rewrite.runtime.cuda.linking import Resources, read_log


@pytest.fixture(scope="module")
def programs() -> list[Planned]:
    """What the command compiles: it is planned once for all tests."""
    return list(planned(Cache()))


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch, programs: list[Planned]) -> list[str]:
    """Stands for the compiler, which refuses kernels called refused; the names that it was given."""
    given = list[str]()

    def cells(source: Source, capability: tuple[int, int], cache: Cache) -> tuple[str, ...]:
        given.append(source.name)
        return f"sm_{capability[0]}{capability[1]}", "32", "0", "0", "8" if "gather" in source.name else "0", "1000"

    monkeypatch.setattr(ptx, "check_compiler", lambda architectures: None)
    monkeypatch.setattr(ptx, "_cells", cells)
    monkeypatch.setattr(ptx, "planned", lambda cache: iter(programs))
    return given


def test_the_programs_have_every_kernel_file_with_a_body_for_gpus(programs: list[Planned]) -> None:
    assert unused([source for program in programs for source in program.sources]) == []
    assert any(program.sources for program in programs)


def test_a_kernel_file_that_no_program_uses_is_told() -> None:
    assert {"map", "rows", "gather"} <= set(unused([]))


TWICE = """
# Each number twice.
kernel $op
    ptx_shop.$op(x)
where count = self.size
if x.dtype == 'float32' or x.dtype == 'float64'

on cuda:
    $$imports


    def $$name($$parameters):
        i = thread()
        while i < count:
            store_$$x_dtype(self, i, load_$$x_dtype(x, i, 0) + load_$$x_dtype(x, i, 0), 1)
            i += threads()
"""


def test_kernels_of_packages_have_programs_of_what_is_drawn_of_their_ops(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel for each dtype and rank; of an op of which nothing can be drawn has none, and that is said."""
    ng.op("ptx_shop.twice", meaning=lambda term, x: x + x)(lambda x: x)
    ng.op("ptx_shop.open", meaning=lambda term, x: x + x)(lambda x, *, by: x)
    texts = {name: Template(TWICE).substitute(op=name) for name in ("twice", "open")}
    for text in texts.values():
        ng.add_kernel(text)
    kernels = {f"shop/{name}": read_kernel(text) for name, text in texts.items()}
    monkeypatch.setattr(cuda_of_packages, "package_kernels", lambda: kernels)
    monkeypatch.setattr(cuda_planning, "PROGRAMS", {})
    programs_of_packages.cache_clear()
    found = list(planned(Cache()))
    programs_of_packages.cache_clear()
    *twice, lacking = found
    assert len(twice) > 3 and {program.program.split()[0] for program in twice} == {"shop/twice"}
    names = [source.name for program in twice for source in program.sources]
    assert len({*names}) == len(twice) == len(names) and all(name.startswith("twice_") for name in names)
    assert lacking == Planned("shop/open", (), "no instance of ptx_shop.open was found")


def test_a_line_for_each_architecture_and_the_verdict_last(
    compiled: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ptx", "--arch", "sm_80", "--arch", "sm_120", "gather"]) == 0
    head, *lines, verdict = capsys.readouterr().out.splitlines()
    assert head.split() == list(ptx.HEAD)
    assert [line.split()[-6] for line in lines] == ["sm_80", "sm_120"] * (len(lines) // 2)
    assert {name.partition("_")[0] for name in compiled} == {"gather"}
    number = len(set(compiled))
    assert verdict == f"{number} of {number} kernels compile for sm_80 and sm_120; {number} of them spill registers"


def test_one_kernel_can_be_asked_for_by_its_name(compiled: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ptx", "gather"]) == 0
    name = compiled[0]
    compiled.clear()
    assert main(["ptx", name]) == 0
    assert set(compiled) == {name}


def test_a_kernel_that_there_is_not(compiled: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ptx", "no_such_kernel"]) == 1
    assert "no kernel is called no_such_kernel" in capsys.readouterr().err


def test_without_a_compiler_there_is_no_verdict(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(SIMULATOR, raising=False)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert main(["ptx"]) == 1
    assert "needs the package numba-cuda" in capsys.readouterr().err


def test_the_simulator_compiles_nothing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv(SIMULATOR, "1")
    assert main(["ptx"]) == 1
    assert f"unset {SIMULATOR}" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["90", "sm_", "sm_9", "compute_90"])
def test_what_is_no_architecture(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        ptx.architecture(text)


@pytest.mark.skipif(importlib.util.find_spec("numba_cuda") is None, reason="needs numba-cuda")
def test_an_architecture_that_the_assembler_does_not_know() -> None:
    environment = {name: value for name, value in os.environ.items() if name != SIMULATOR}
    command = [sys.executable, "-c", with_programs("taken float32", "ptx", "--arch", "sm_99999", "gather")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 1 and "does not assemble for sm_99999" in done.stderr and "Traceback" not in done.stderr


def test_the_command_compiles_where_the_compiler_is() -> None:
    """With numba-cuda installed to the end; without, it says so."""
    environment = {name: value for name, value in os.environ.items() if name != SIMULATOR}
    command = [sys.executable, "-c", with_programs("taken float32", "ptx", "--arch", "sm_90", "gather")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if importlib.util.find_spec("numba_cuda"):
        assert done.returncode == 0
        assert done.stdout.splitlines()[-1].endswith("kernels compile for sm_90")
    else:
        assert done.returncode == 1
        assert "needs the package numba-cuda" in done.stderr


def test_the_figures_are_read_from_what_the_assembler_tells() -> None:
    told = """ptxas . 16 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads
info : used 34 registers, used 1 barriers, 16 stack, 1024 bytes smem, 384 bytes cmem[0], 0 bytes lmem"""
    assert read_log(told, 5000) == Resources(registers=34, shared=1024, stack=16, spilled=12, code=5000)
    assert read_log("") == Resources(0, 0, 0, 0, 0)
