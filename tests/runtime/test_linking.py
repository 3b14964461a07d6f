# SPDX-License-Identifier: Apache-2.0
"""Object files are put into memory as LLVM would do it, or left to LLVM; a process that only loads does not need it."""

from __future__ import annotations

import ctypes
import os
import struct
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from llvmlite import binding

from ngraph_rewrite.errors import ArgumentError, KernelError
from ngraph_rewrite.runtime import engine, features, linking
from ngraph_rewrite.runtime.engine import Loaded, ObjectCode, host_machine, load_objects
from ngraph_rewrite.runtime.linking import Unlinkable, linked, links, outside

pytestmark = pytest.mark.skipif(not links(), reason="object files are of another kind here: LLVM loads them all")

# Constants, a table of jumps, functions of the file, of C and of its mathematical library.
_MODULE = """
declare double @cos(double)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
@numbers = internal constant [4 x double] [double 1.5, double -2.0, double 0.125, double 40.0]

define internal double @number(i64 %n) noinline {
  %at = getelementptr [4 x double], ptr @numbers, i64 0, i64 %n
  %found = load double, ptr %at
  ret double %found
}

define double @test_linking_jump(i64 %n, double %x) {
  switch i64 %n, label %other [i64 0, label %a i64 1, label %b i64 2, label %c i64 3, label %d i64 4, label %e]
a:
  %y = fmul double %x, 7.25
  ret double %y
b:
  %z = call double @cos(double %x)
  ret double %z
c:
  %i = fptosi double %x to i64
  %v = call double @number(i64 %i)
  ret double %v
d:
  %w = fadd double %x, 1000.5
  ret double %w
e:
  %u = fdiv double %x, 3.0
  ret double %u
other:
  ret double 0.0
}

define void @test_linking_clear(ptr %memory, i64 %size) {
  call void @llvm.memset.p0.i64(ptr %memory, i8 0, i64 %size, i1 false)
  ret void
}
"""
_VARIABLE = """
@count = internal global i64 5
define i64 @test_linking_next(i64 %step) {
  %before = load i64, ptr @count
  %after = add i64 %before, %step
  store i64 %after, ptr @count
  ret i64 %after
}
"""
_MISSING = """
declare i64 @test_linking_that_nobody_has(i64)
define i64 @test_linking_calls(i64 %x) {
  %y = call i64 @test_linking_that_nobody_has(i64 %x)
  ret i64 %y
}
"""


def object_file(text: str) -> bytes:
    machine = host_machine()
    return bytes(machine.emit_object(binding.parse_assembly(text)))


def function(address: int, *types: type) -> ctypes._CFuncPtr:
    return ctypes.CFUNCTYPE(*types)(address)


@pytest.fixture(scope="module")
def loaded() -> Loaded:
    return Loaded(*linked(object_file(_MODULE), ["test_linking_jump", "test_linking_clear"]))


@given(n=st.integers(-1, 6), x=st.integers(0, 3))
def test_functions_find_constants_tables_and_each_other(loaded: Loaded, n: int, x: int) -> None:
    jump = function(loaded.addresses[0], ctypes.c_double, ctypes.c_int64, ctypes.c_double)
    ways = [x * 7.25, np.cos(float(x)), [1.5, -2.0, 0.125, 40.0][x], x + 1000.5, x / 3.0]
    assert jump(n, float(x)) == (ways[n] if 0 <= n < len(ways) else 0.0)


@given(size=st.integers(0, 300))
def test_functions_call_those_of_the_process(loaded: Loaded, size: int) -> None:
    memory = np.ones(301, np.uint8)
    function(loaded.addresses[1], None, ctypes.c_void_p, ctypes.c_int64)(memory.ctypes.data, size)
    assert memory.tolist() == [0] * size + [1] * (301 - size)
    assert outside("memset") and outside("sinhf") and outside("test_linking_that_nobody_has") is None


def test_what_has_variables_is_left_to_llvm() -> None:
    code = ObjectCode("test_linking_next", (), object_file(_VARIABLE))
    with pytest.raises(Unlinkable, match="variables"):
        linked(code.data, [code.entry])
    step = function(load_objects(code, [code.entry]).addresses[0], ctypes.c_int64, ctypes.c_int64)
    assert [step(2), step(3)] == [7, 10]


def test_near_addresses_are_left_to_llvm() -> None:
    """Those of another model of code, which memory anywhere does not suit."""
    host_machine()
    near = binding.Target.from_default_triple().create_target_machine(codemodel="small", reloc="pic")
    data = bytes(near.emit_object(binding.parse_assembly(_MODULE)))
    with pytest.raises(Unlinkable, match="another kind"):
        linked(data, ["test_linking_jump"])


def test_conversions_of_float16_are_those_of_this_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the process has by their names, which may take a float16 in another way."""
    text = """
declare float @__extendhfsf2(i16)
define float @test_linking_half(i16 %x) {
  %y = call float @__extendhfsf2(i16 %x)
  ret float %y
}
"""
    code = ObjectCode("test_linking_half", (), object_file(text))
    monkeypatch.setattr(engine, "linked", lambda *_: pytest.fail("not by a name of the process"))
    load_objects(code, [code.entry])


@pytest.mark.parametrize("length", [0, 30, 400, 1000])
def test_a_file_that_is_cut_off_is_refused(length: int) -> None:
    with pytest.raises(Unlinkable):
        linked(object_file(_MODULE)[:length], ["test_linking_jump"])


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Which memory was taken of the system, and which was given back."""
    system, taken, given = linking._libc(), [], []

    def take(*arguments: Any) -> int:
        taken.append((system.mmap(*arguments), arguments[1]))
        return int(taken[-1][0])

    def give(base: int, size: int) -> None:
        given.append((base, size))
        system.munmap(base, size)

    monkeypatch.setattr(linking, "_libc", lambda: SimpleNamespace(mmap=take, munmap=give, mprotect=system.mprotect))
    return taken, given


def test_a_function_that_the_file_does_not_define_leaves_no_memory_behind(memory: Any) -> None:
    taken, given = memory
    with pytest.raises(Unlinkable, match="without a function"):
        linked(object_file(_MODULE), ["test_linking_other"])
    assert len(taken) == 1 and given == taken


def test_machine_code_is_there_as_long_as_somebody_has_it(memory: Any) -> None:
    taken, given = memory
    loaded = load_objects(ObjectCode("test_linking_jump", (), object_file(_MODULE)), ["test_linking_jump"])
    jump = function(loaded.addresses[0], ctypes.c_double, ctypes.c_int64, ctypes.c_double)
    assert (jump(0, 2.0), len(taken), given) == (14.5, 1, [])
    del loaded
    assert given == taken


def test_a_function_that_is_nowhere_is_an_error() -> None:
    code = ObjectCode("test_linking_calls", ("test_linking_that_nobody_has",), object_file(_MISSING))
    with pytest.raises(Unlinkable):
        linked(code.data, [code.entry])
    with pytest.raises(KernelError, match="test_linking_that_nobody_has, which this process does not have"):
        load_objects(code, [code.entry])


@pytest.mark.parametrize("at, value", [(0, 0x7E), (4, 1), (16, 2), (18, 183)], ids=["magic", "32", "program", "arm"])
def test_other_files_are_refused(at: int, value: int) -> None:
    data = bytearray(object_file(_MODULE))
    struct.pack_into("<B", data, at, value)
    with pytest.raises(Unlinkable, match="another kind of file"):
        linked(bytes(data), ["test_linking_jump"])


@pytest.mark.parametrize("feature", ["+avx", "+avx2", "+avx512f", "+fma"])
def test_linux_tells_the_features_that_llvm_finds(feature: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES"):
        monkeypatch.delenv(name, raising=False)
    assert (feature in features.features()) == (feature in features.host_processor()[1].split(","))
    monkeypatch.setenv("NUMBA_CPU_FEATURES", "+sse2,+avx")
    assert features.features() == ["+sse2", "+avx"]


@pytest.mark.parametrize(
    ("told", "can"), [("+avx,+avx2", True), ("+avx512f", True), ("+avx", False), ("+avx2", False), ("+sse2", False)]
)
def test_a_table_compresses_only_vectors_of_256_bits(told: str, can: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who tells of AVX2 alone has kernels with vectors of 128."""
    monkeypatch.setenv("NUMBA_CPU_FEATURES", told)
    assert features.compresses() == can


_PROCESS = """
import ngraph_rewrite as ng
x = ng.placeholder(ng.anonymous((40, 300)))
step = ng.make_transformer("cpu", threads=2).computation(ng.numpy.sum(ng.numpy.exp(x), axis=1), x)
import numpy as np
assert np.allclose(step(np.zeros((40, 300), np.float32)), 300)
print(*{line.split("/")[-1].strip() for line in open("/proc/self/maps") if ".so" in line})
"""


def test_a_process_that_finds_its_kernels_does_not_load_llvm(tmp_path: Path) -> None:
    environment = {**os.environ, "NGRAPH_REWRITE_CACHE": str(tmp_path)}
    loaded = []
    for _ in range(2):
        found = subprocess.run(
            [sys.executable, "-c", _PROCESS], env=environment, capture_output=True, text=True, check=True
        )
        loaded.append("llvmlite" in found.stdout)
    assert loaded == [True, False]


@pytest.mark.parametrize("told", ["garbage", "+avx,avx2", "+avx, +avx2", "+"])
def test_features_that_llvm_would_not_read_are_refused(told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """LLVM ends the process instead."""
    monkeypatch.setenv("NUMBA_CPU_FEATURES", told)
    with pytest.raises(ArgumentError, match="NUMBA_CPU_FEATURES is"):
        features.processor()
