# SPDX-License-Identifier: Apache-2.0
"""Kernels for GPUs become machine code once, in this process or in a helper, and are read from the cache afterwards."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ngraph_rewrite import helpers
from ngraph_rewrite.cache import Cache
from ngraph_rewrite.errors import KernelError
from ngraph_rewrite.runtime.cuda import compiler
from ngraph_rewrite.runtime.cuda.compiler import code_of, prepare_codes
from ngraph_rewrite.runtime.cuda.device import SIMULATOR
from ngraph_rewrite.runtime.cuda.machine_code import MachineCode, Resources, read_code, write_code
from ngraph_rewrite.runtime.cuda.overlapping import overlapping

pytest.importorskip("numba_cuda", reason="needs numba-cuda, which the extra `test` installs")

OLD, NEW = (8, 0), (9, 0)
SOURCES = {name: f"def {name}(x):\n    pass\n" for name in ("first", "second", "wrong")}


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stands for the compiler, which refuses kernels called wrong; the names that it was given."""
    names = list[str]()

    def compile_ptx(kernel: Callable[..., None], arguments: int, capabilities: Sequence[Any]) -> list[str]:
        names.append(kernel.__name__)
        if kernel.__name__ == "wrong":
            raise ValueError("it is wrong")
        return [f"{kernel.__name__} of {arguments} for {one}" for one in capabilities]

    def assembled(ptx: str, capability: Any, name: str) -> MachineCode:
        return MachineCode(name, Resources(1, 2, 3, 4, 5), ptx.encode(), 13050)

    monkeypatch.setattr(compiler, "compiling", SimpleNamespace(compile_ptx=compile_ptx))
    monkeypatch.setattr(compiler, "linking", SimpleNamespace(assembled=assembled))
    return names


def test_machine_code_is_kept_for_each_kind_of_device(tmp_path: Path, compiled: list[str]) -> None:
    prepare_codes({"first": SOURCES["first"]}, [OLD, NEW], Cache(tmp_path))
    for capability in (OLD, NEW):
        code = code_of(SOURCES["first"], "first", capability, Cache(tmp_path))
        assert code.data.decode() == f"first of 1 for {capability}" and code.entry == "first"
    prepare_codes({"first": SOURCES["first"]}, [NEW], Cache(tmp_path))
    assert compiled == ["first"]


def test_a_kernel_that_does_not_compile_is_told_when_it_is_asked_for(tmp_path: Path, compiled: list[str]) -> None:
    cache = Cache(tmp_path)
    prepare_codes(SOURCES, [NEW], cache)
    assert sorted(compiled) == sorted(SOURCES)
    with pytest.raises(KernelError, match="kernel wrong does not compile for the GPU: it is wrong") as raised:
        code_of(SOURCES["wrong"], "wrong", NEW, cache)
    assert raised.value.where == str(cache.path("wrong", "py"))
    assert code_of(SOURCES["second"], "second", NEW, cache).entry == "second"


def test_what_is_damaged_is_compiled_again(tmp_path: Path, compiled: list[str]) -> None:
    cache = Cache(tmp_path)
    prepare_codes({"first": SOURCES["first"]}, [NEW], cache)
    (entry,) = tmp_path.glob("*.cubin")
    entry.write_bytes(entry.read_bytes()[:-1])
    assert code_of(SOURCES["first"], "first", NEW, cache).entry == "first"
    assert compiled == ["first"] * 2


@pytest.mark.parametrize("content", [b"", b"garbage", b'["first"]\ncode', b"\xff", b"null\n"])
def test_what_is_no_machine_code_is_compiled_again(content: bytes, tmp_path: Path, compiled: list[str]) -> None:
    cache = Cache(tmp_path)
    prepare_codes({"first": SOURCES["first"]}, [NEW], cache)
    (entry,) = tmp_path.glob("*.cubin")
    cache.write(entry.stem, "cubin", content)
    assert code_of(SOURCES["first"], "first", NEW, cache).entry == "first"
    assert compiled == ["first"] * 2


def test_any_bytes_are_machine_code() -> None:
    code = MachineCode("kernel", Resources(32, 0, 8, 4, 9), b"\x7fELF\n\0\n[", 13050)
    assert read_code(write_code(code)) == code


def test_a_helper_compiles_without_a_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a process of its own: in this one there may be a simulator."""
    monkeypatch.delenv(SIMULATOR, raising=False)
    text = "from ngraph_rewrite.runtime.cuda.words import store_float32\n\n\n"
    text += "def filled(x):\n    store_float32(x, 0, 1.5, 0)\n"
    cache = Cache(tmp_path)
    cache.write("filled", "py", text.encode())
    process = helpers._started()
    assert process is not None
    given = str(tmp_path), "[[8, 0], [9, 0]]"
    helper = helpers._Helper(process, helpers.Work(deque(["filled"]), "ngraph_rewrite.runtime.cuda.helping", given, 1))
    helper._thread.join(60)
    helper.end()
    monkeypatch.setattr(compiler, "compile_code", None)
    for capability in (OLD, NEW):
        code = code_of(text, "filled", capability, cache)
        assert "filled" in code.entry and code.data.startswith(b"\x7fELF")
        assert code.resources.code == len(code.data) and code.resources.spilled == 0


@pytest.mark.parametrize("first", ["compiling.warm()", "linking.check_libraries()"])
def test_a_name_that_numpy_has_no_more_is_lent_to_numba(first: str) -> None:
    """As of NumPy 2.5, which has none; of an older one it is taken away, when Numba itself has asked for it."""
    program = f"""
import numpy as np
import numba.np.arrayobj
if hasattr(np, "row_stack"):
    del np.row_stack
    np.__all__.remove("row_stack")
from ngraph_rewrite.runtime.cuda import compiling, linking
{first}
print(hasattr(np, "row_stack"))
"""
    environment = {name: value for name, value in os.environ.items() if name != SIMULATOR}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "False\n"), done.stderr


@pytest.mark.parametrize("kernels", [0, 2])
def test_what_would_launch_a_kernel_that_does_not_wait_is_refused(kernels: int) -> None:
    """Where launches overlap; elsewhere it is as it was."""
    text = ".entry k()\n{\n\tret;\n}\n" * kernels
    assert overlapping(text, (8, 0)) == text
    with pytest.raises(KernelError, match=f"{kernels} kernels begin"):
        overlapping(text, (9, 0))
