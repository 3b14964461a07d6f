# SPDX-License-Identifier: Apache-2.0
"""Kernels compute the same on processors that have less than this one: tests of other files once more, compiled so."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest
from llvmlite import binding

MACHINE = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine())
AVX2 = "+avx,+avx2,+fma,+f16c,+sse4.2,+sse3"
# What one without AVX-512 computes with AVX2 all other tests see.
LESS = [""] if MACHINE != "x86_64" or not binding.get_host_cpu_features().get("avx512f", False) else ["", AVX2]
# Which tests, by their file.
CHOSEN = {
    "test_products.py": "a_product_is_numpys or epilogue_changes or special_values or inner_loop or one_sum",
    "test_bfloats.py": "test",
    "test_row_dots.py": "few_rows_are or may_be_computed",
    "test_bytes.py": "a_product_is_numpys or saturates or that_of_int32",
    "ops/test_attention.py": "special_values or same_bits or packed or found_without",
    "ops/test_blocked_factors.py": "hard",
    "ops/test_tall_matrices.py": "hard and (33 or 104)",
    "ops/test_direct_convolution.py": "several_blocks or (its_derivative and not launch)",
    "ops/test_long_lines.py": "parts_badly or 66000",
    "ops/test_middle_elements.py": "(parts_badly or threads) and processor",
    "ops/test_minimal_across.py": "over_windows or in_pairs",
    "ops/test_minimal_filtering.py": "over_windows or in_pairs",
    "codegen/test_window_rows.py": "test",
    "runtime/test_vector_math.py": "(remainders or stands) and processor",
    # Of integers those of the smallest and of the largest size; reductions over all are those of rows.
    "codegen/test_rows.py": "(any_length or special or first_place) and not (float16 or uint or int16 or int32)",
    "codegen/test_loops.py": "(first_place or at_least_as_accurate) and not (float16 or all)",
}
# What every processor has is asked of by fewer: vectors of it are the smallest, and nothing else is special.
FEWER = {file: CHOSEN[file] for file in ("test_products.py", "ops/test_attention.py", "runtime/test_vector_math.py")}
FEWER["codegen/test_rows.py"] = "(any_length or special or first_place) and not (float16 or integer or columns)"


def program(chosen: dict[str, str]) -> str:
    """One process has them all, which imports what they need once."""
    return f"""
import sys, pytest
for file, chosen in {chosen!r}.items():
    failed = pytest.main(["-q", "-x", "-p", "no:cacheprovider", "-k", chosen, file])
    if failed:
        sys.exit(f"{{file}}: {{failed!r}}")
"""


@pytest.mark.parametrize("features", LESS)
def test_other_processors_compute_the_same(features: str) -> None:
    chosen = CHOSEN if features or MACHINE != "x86_64" else FEWER
    cpu = "x86-64" if MACHINE == "x86_64" else "generic"
    told = os.environ | {"NUMBA_CPU_NAME": cpu, "NUMBA_CPU_FEATURES": features}
    done = subprocess.run(
        [sys.executable, "-c", program(chosen)], env=told, cwd=Path(__file__).parent, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(re.findall(r"^\d+ passed", done.stdout, re.MULTILINE)) == len(chosen)
