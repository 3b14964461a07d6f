# SPDX-License-Identifier: Apache-2.0
"""Conversions of float16 where the processor has no instructions for them: NumPy's, bit for bit."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys

import numpy as np

from ngraph_rewrite.runtime.engine import load_functions
from ngraph_rewrite.runtime.half_code import HALF

# Each in a loop over memory: ctypes has no float16.
_LOOP = """
define void @test_half_{name}(ptr %from, ptr %to, i64 %count) {{
entry:
  br label %one
one:
  %i = phi i64 [0, %entry], [%next, %one]
  %next = add i64 %i, 1
  %from_at = getelementptr {source}, ptr %from, i64 %i
  %to_at = getelementptr {target}, ptr %to, i64 %i
  %value = load {source}, ptr %from_at
  %found = call {target} @ngraph_rewrite__{name}({source} %value)
  store {target} %found, ptr %to_at
  %more = icmp slt i64 %next, %count
  br i1 %more, label %one, label %end
end:
  ret void
}}
"""


def converted(values: np.ndarray, name: str, source: str, target: str) -> np.ndarray:
    """What the conversion gives for all values, as unsigned integers."""
    text = HALF.replace("define ", "define internal ") + _LOOP.format(name=name, source=source, target=target)
    (address,) = load_functions(text, [f"test_half_{name}"])
    found = np.empty(values.size, np.uint32 if target == "float" else np.uint16)
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(address)
    function(values.ctypes.data, found.ctypes.data, values.size)
    return found


def test_every_float16_becomes_the_float32_that_it_is() -> None:
    halves = np.arange(2**16, dtype=np.uint16).view(np.float16)
    with np.errstate(invalid="ignore"):
        expected = halves.astype(np.float32)
    found = converted(halves, "extendhfsf2", "half", "float").view(np.float32)
    nan = np.isnan(expected)
    assert np.array_equal(np.isnan(found), nan)
    assert np.array_equal(found.view(np.uint32)[~nan], expected.view(np.uint32)[~nan])


def test_float32_is_rounded_to_the_nearest_float16() -> None:
    """Every float16, what lies half way between two, and the next ones on both sides; and any others."""
    with np.errstate(all="ignore"):
        halves = np.arange(2**16, dtype=np.uint16).view(np.float16).astype(np.float32)
        middle = (halves[:-1].astype(np.float64) + halves[1:]).astype(np.float32) / np.float32(2)
        around = [np.nextafter(m, np.float32(side)) for m in (halves, middle) for side in (-np.inf, np.inf)]
        others = np.random.default_rng(0).integers(0, 2**32, 10**6, dtype=np.uint32).view(np.float32)
        values = np.concatenate([halves, middle, *around, others]).astype(np.float32)
        expected = values.astype(np.float16)
    found = converted(values, "truncsfhf2", "float", "half").view(np.float16)
    nan = np.isnan(expected)
    assert np.array_equal(np.isnan(found), nan)
    assert np.array_equal(found.view(np.uint16)[~nan], expected.view(np.uint16)[~nan])


PLAIN = """
import numpy as np, ngraph_rewrite as ng
x = ng.placeholder([ng.Axis("H", 40)], dtype="float16")
values = np.linspace(-3, 3, 40).astype("float16")
transformer = ng.make_transformer("cpu")
for expected, term in ((values * values, x * x), (np.abs(values), ng.absolute(x)), (values.sum(), ng.sum(x))):
    found = transformer.computation(term, x)(values)
    assert np.allclose(found.astype("float64"), np.asarray(expected, "float64"), atol=0.02), (found, expected)
print("right")
"""


def test_a_processor_without_them_computes_with_float16() -> None:
    """One of the first with 64 bits has no instructions for float16: kernel after kernel calls the conversions."""
    environment = {**os.environ, "NUMBA_CPU_NAME": "generic"}
    done = subprocess.run([sys.executable, "-c", PLAIN], env=environment, capture_output=True, text=True)
    assert done.stdout == "right\n", done.stderr
