# SPDX-License-Identifier: Apache-2.0
"""The LLVM IR of a kernel is what Numba makes of it, though types are asked for less, and errors are Numba's own."""

import re
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numba.core import errors

from ngraph_rewrite.runtime import intrinsics, objectcode

# Variables change their types on the way, from integers to floats, and again in loops.
LOADS = ["load_int64(a, 0, 1)", "load_float32(b, 1, 2)"]
VALUES = st.sampled_from(["a + b", "a * 2.5", "b // 3", "float(a) / (b + 1)", "(a, b)[0]", "-a", "c", *LOADS])
NAMES = st.sampled_from("def")
SETS = st.builds("{} = {}".format, NAMES, VALUES)
LOOPS = st.builds("for k in range({}):\n        {} += {}".format, st.sampled_from("abc"), NAMES, VALUES)
BRANCHES = st.builds("if a < {}:\n        {}\n    else:\n        {}".format, st.sampled_from("bc"), SETS, SETS)
BODIES = st.lists(SETS | LOOPS | BRANCHES, min_size=1, max_size=5)


def kernel_of(statements: list[str]) -> Any:
    space: dict[str, Any] = vars(intrinsics).copy()
    stored = [f"store_float64(a, {k}, float({name}), 0)" for k, name in enumerate("def")]
    lines = "\n    ".join(["def drawn(a, b, c):", "d = e = f = a", *statements, *stored])
    exec(lines, space)  # noqa: S102  (a drawn program)
    return space["drawn"]


def written(kernel: Any) -> str:
    """The LLVM IR, without how often a function of this name has been compiled."""
    return re.sub(r"drawnB\d+v\d+", "drawn", objectcode._numba_ir(kernel, counts=False)[0])


@settings(deadline=None)  # the first one is slow
@given(BODIES)
@example(["d = 0", "for k in range(b):\n        d = d * 0.5", "e = d"])  # a float after one round
def test_it_is_what_numba_writes(statements: list[str]) -> None:
    kernel = kernel_of(statements)
    with patch.object(objectcode, "_UNTOLD", {}):
        wanted = written(kernel)
    assert written(kernel) == wanted


@pytest.mark.parametrize("body", ["d = no_such_name", "d = a.real.no_such", "for d in 2.5: e = d"])
def test_an_error_is_numbas(body: str) -> None:
    kernel = kernel_of([body])
    with patch.object(objectcode, "_UNTOLD", {}), pytest.raises(errors.NumbaError) as wanted:
        objectcode.object_code(kernel)
    with pytest.raises(errors.NumbaError) as found:
        objectcode.object_code(kernel)
    assert str(found.value) == str(wanted.value)
