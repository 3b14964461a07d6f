# SPDX-License-Identifier: Apache-2.0
"""Rows that are only read, and large results: explicit vectors do what one number after the other would."""

import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from loops_in_code import OTHER_PROCESSORS, innermost_loops, pretending
from running import Array, Runner, contiguous, nest_arguments

from ngraph_rewrite.codegen.loops import MapNest, Operand, RowNest, Source, Step, render_map, render_rows
from ngraph_rewrite.plan.told_loops import is_streamed
from ngraph_rewrite.runtime.compiler import assembly

drawn = settings(max_examples=24, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
MATRIX = contiguous("float32", 2)
ONCE = Operand("float32", ("1", "0"))
KINDS = ["sum", "max", "min"]


@cache
def map_of(dtype: str, streamed: bool) -> Source:
    wide = contiguous(dtype, 2)
    steps = (Step("multiply", dtype, (0, 0)), Step("add", dtype, (1, 0)))
    return render_map(MapNest(2, (wide,), steps, ((2, wide), (1, wide)), (0, 1, 2), streamed=streamed))


@cache
def norm(streamed: bool) -> Source:
    steps = (Step("sum", "float32", (0,)), Step("subtract", "float32", (0, 1)))
    return render_rows(RowNest(2, (MATRIX,), steps, ((2, MATRIX),), (0, 1), (False, True), streamed=streamed))


@cache
def reduction() -> Source:
    steps = tuple(Step(kind, "float32", (0,)) for kind in KINDS) + (Step("argmax", "int64", (0,)),)
    stores = tuple((i + 1, replace(ONCE, dtype=step.dtype)) for i, step in enumerate(steps))
    return render_rows(RowNest(2, (MATRIX,), steps, stores, tuple(range(5)), (False, True)))


def spread(shape: tuple[int, int], dtype: str, start: int) -> Array:
    """Rows with room between them, which begin so many bytes into a page; all is 7."""
    rows, columns = shape
    size = np.dtype(dtype).itemsize
    pitch = columns + 5
    raw = np.zeros(rows * pitch * size + 2 * 4096, np.uint8)
    begin = -raw.ctypes.data % 4096 + start
    flat = raw[begin : begin + rows * pitch * size].view(dtype)
    flat[:] = 7
    return flat.reshape(rows, pitch)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@drawn
@given(
    shape=st.tuples(st.integers(0, 4), st.one_of(st.integers(0, 40), st.integers(900, 3000))),
    starts=st.tuples(*[st.one_of(st.integers(0, 16).map(lambda n: 8 * n), st.integers(0, 70))] * 2),
    chunks=st.integers(1, 3),
)
def test_what_goes_past_the_caches_arrives(
    run: Runner, dtype: str, shape: tuple[int, int], starts: tuple[int, int], chunks: int
) -> None:
    """Wherever it begins, and nothing beside it is written."""
    x = np.random.default_rng(1).normal(size=shape).astype(dtype)
    found = []
    for streamed in (False, True):
        whole = [spread(shape, dtype, start) for start in starts]
        stores = [rows[:, : shape[1]] for rows in whole]
        run(map_of(dtype, streamed), nest_arguments(shape, [x], stores), chunks)
        found.append([rows.tobytes() for rows in whole])
    assert found[0] == found[1]


@drawn
@given(shape=st.tuples(st.integers(1, 3), st.integers(1, 2500)), start=st.integers(0, 20).map(lambda n: 4 * n))
def test_the_last_pass_over_rows_may_go_past_the_caches(run: Runner, shape: tuple[int, int], start: int) -> None:
    x, found = np.random.default_rng(1).normal(size=shape).astype(np.float32), []
    for streamed in (False, True):
        rows = spread(shape, "float32", start)
        run(norm(streamed), nest_arguments(shape, [x], [rows[:, : shape[1]]]), 2)
        found.append(rows.tobytes())
    assert found[0] == found[1]


def check_rows(run: Runner, rows: int, columns: int, seed: int) -> None:
    """Sums are as good as NumPy's, extrema are exact, NaN and infinities are where they belong."""
    rng = np.random.default_rng(seed)
    x = (rng.normal(size=(rows, columns)) * 10.0 ** rng.integers(-3, 4)).astype(np.float32)
    for row in x[::2]:
        row[rng.integers(0, columns, 2)] = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0, 3e38], 2)
    found = [np.full((rows, 1), 5, np.float32) for _ in KINDS] + [np.full((rows, 1), 5, np.int64)]
    stores = [np.lib.stride_tricks.as_strided(f, (rows, columns), (f.itemsize, 0)) for f in found]
    run(reduction(), nest_arguments((rows, columns), [x], stores), 2)
    total, largest, smallest, place = (f[:, 0] for f in found)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(largest, x.max(axis=1))
        np.testing.assert_array_equal(smallest, x.min(axis=1))
        np.testing.assert_array_equal(place, x.argmax(axis=1))
        exact, size = x.astype(np.float64).sum(axis=1), np.abs(x.astype(np.float64)).sum(axis=1)
        rounded = exact.astype(np.float32)
    whole = np.isfinite(rounded)
    np.testing.assert_array_equal(total[~whole], rounded[~whole])
    # 16 additions of float32, then of float64, then one rounding
    total, exact, size = total[whole], exact[whole], size[whole]
    assert np.all(np.abs(total - exact) <= 16 * 2.0**-24 * size + np.spacing(np.abs(rounded[whole])))


@drawn
@given(rows=st.integers(1, 4), columns=st.one_of(st.integers(1, 150), st.integers(900, 3000)), seed=st.integers(0, 99))
def test_rows_that_are_only_read(run: Runner, rows: int, columns: int, seed: int) -> None:
    check_rows(run, rows, columns, seed)


def test_no_row_has_no_numbers(run: Runner) -> None:
    found = [np.zeros((3, 1), np.float32) for _ in KINDS] + [np.zeros((3, 1), np.int64)]
    stores = [np.lib.stride_tricks.as_strided(f, (3, 1), (f.itemsize, 0)) for f in found]
    run(reduction(), nest_arguments((3, 0), [np.zeros((3, 0), np.float32)], stores))
    assert [float(f[1, 0]) for f in found] == [0.0, -np.inf, np.inf, 0.0]


@pytest.mark.parametrize("features", OTHER_PROCESSORS)
def test_other_processors_read_and_write_the_same(features: str) -> None:
    folder = str(Path(__file__).parent)
    program = f"""
import sys, tempfile
sys.path[:0] = [{folder!r}, {str(Path(__file__).parents[2])!r}]
from pathlib import Path
import numpy as np
from running import Runner, nest_arguments
from test_streams import check_rows, map_of, spread
from ngraph_rewrite.cache import Cache
run = Runner(Cache(Path(tempfile.mkdtemp())))
for columns in (1, 3, 4, 15, 16, 17, 31, 33, 63, 64, 65, 129, 1024, 1025, 2100):
    check_rows(run, 3, columns, columns)
    x = np.random.default_rng(1).normal(size=(2, columns)).astype(np.float32)
    for start in (0, 4, 32, 60):
        found = []
        for streamed in (False, True):
            rows = spread(x.shape, "float32", start), spread(x.shape, "float32", 8)
            run(map_of("float32", streamed), nest_arguments(x.shape, [x], [r[:, :columns] for r in rows]), 2)
            found.append([r.tobytes() for r in rows])
        assert found[0] == found[1], (columns, start)
print("right")
"""
    found = subprocess.run(
        [sys.executable, "-c", program], env=pretending(features), capture_output=True, text=True, check=False
    )
    assert found.stdout == "right\n", found.stderr


def test_stores_past_the_caches_are_whole_vectors(run: Runner) -> None:
    """Where the processor has such stores; elsewhere they are ordinary ones."""
    source = map_of("float32", True)
    loops = list(innermost_loops(assembly(source.text, source.name, run.cache)))
    assert any("movnt" in loop or "stnp" in loop or "stp" in loop for loop in loops)


def test_only_large_results_that_lie_as_they_are_computed_go_past_the_caches() -> None:
    large, small, across = (1 << 12, 1 << 12), (1 << 10, 1 << 10), Operand("float32", ("1", "s"))
    assert is_streamed(large, [MATRIX], [MATRIX]) and is_streamed(large, [], [MATRIX])
    assert not is_streamed(small, [MATRIX], [MATRIX])
    assert not is_streamed(large, [MATRIX], [across]) and not is_streamed(large, [MATRIX], [ONCE])


def test_results_that_caches_hold_beside_what_they_come_of_stay_there() -> None:
    """Of 16 MiB each, two operands and a result are too much for caches."""
    sizes = (1 << 11, 1 << 11)
    assert not is_streamed(sizes, [MATRIX], [MATRIX]) and not is_streamed(sizes, [MATRIX, ONCE], [MATRIX])
    assert is_streamed(sizes, [MATRIX, MATRIX], [MATRIX])
    assert is_streamed(sizes, [MATRIX], [MATRIX], scattered=True)  # as channels of images in a batch norm
