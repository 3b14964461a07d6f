# SPDX-License-Identifier: Apache-2.0
"""A walk may stop after any row and go on there; interrupted, its table can be run from the beginning again."""

from __future__ import annotations

import ctypes
import signal
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ngraph_rewrite.runtime import machine
from ngraph_rewrite.runtime.compiler import Kernel
from ngraph_rewrite.runtime.engine import load_functions
from ngraph_rewrite.runtime.machine import NEVER, Launch, LaunchTable, Repeat

# The first argument is the address of a log: its length, then its entries. One kernel writes its second argument and
# its chunk there; the second one interrupts the process if a flag is set, and takes it back. The last two are given two
# words: one makes the first of them what the second is, the other one takes 1 from it.
_KERNELS = """
declare i32 @raise(i32)

define void @test_walker_log(i64 %args, i64 %chunk, i64 %nchunks, i64 %thread) {
  %words = inttoptr i64 %args to ptr
  %log = load ptr, ptr %words
  %value_at = getelementptr i64, ptr %words, i64 1
  %value = load i64, ptr %value_at
  %length = load i64, ptr %log
  %longer = add i64 %length, 1
  store i64 %longer, ptr %log
  %place = getelementptr i64, ptr %log, i64 %longer
  %tens = mul i64 %value, 10
  %entry = add i64 %tens, %chunk
  store i64 %entry, ptr %place
  ret void
}

define void @test_walker_interrupt(i64 %args, i64 %chunk, i64 %nchunks, i64 %thread) {
  %words = inttoptr i64 %args to ptr
  %flag = load ptr, ptr %words
  %set = load i64, ptr %flag
  %now = icmp eq i64 %set, 1
  br i1 %now, label %interrupt, label %end
interrupt:
  store i64 0, ptr %flag
  %raised = call i32 @raise(i32 2)
  br label %end
end:
  ret void
}

define void @test_walker_set(i64 %args, i64 %chunk, i64 %nchunks, i64 %thread) {
  %words = inttoptr i64 %args to ptr
  %left = load ptr, ptr %words
  %times_at = getelementptr i64, ptr %left, i64 1
  %times = load i64, ptr %times_at
  store i64 %times, ptr %left
  ret void
}

define void @test_walker_count(i64 %args, i64 %chunk, i64 %nchunks, i64 %thread) {
  %words = inttoptr i64 %args to ptr
  %left = load ptr, ptr %words
  %now = load i64, ptr %left
  %less = sub i64 %now, 1
  store i64 %less, ptr %left
  ret void
}
"""
LOG, FLAG, COUNTS = np.zeros(5000, np.int64), np.zeros(1, np.int64), np.zeros((1000, 2), np.int64)
Row = Launch | Repeat


@cache
def kernels() -> tuple[Kernel, ...]:
    names = ("log", "interrupt", "set", "count")
    addresses = load_functions(_KERNELS, [f"test_walker_{name}" for name in names])
    return tuple([Kernel(name, address, Path(), False) for name, address in zip(names, addresses, strict=True)])


def logging() -> st.SearchStrategy[Launch]:
    numbers = st.tuples(st.integers(0, 9), st.integers(0, 3), st.integers(0, 5))
    return numbers.map(lambda n: Launch(kernels()[0], [LOG.ctypes.data, n[0]], n[1], n[2]))


@st.composite
def repeats(draw: st.DrawFn, rows: st.SearchStrategy[Row]) -> Repeat:
    inside = draw(st.lists(rows, max_size=3))
    slots = sum(arguments(row) for row in inside) // 2
    steps = draw(st.lists(st.tuples(st.integers(0, slots - 1), st.integers(-3, 3)), max_size=2)) if slots else []
    return Repeat(inside, draw(st.integers(0, 3)), [(2 * slot + 1, step) for slot, step in steps])


@st.composite
def flagged(draw: st.DrawFn, rows: st.SearchStrategy[Row]) -> Repeat:
    """Rows that are repeated while a count is not 0, which is set before and goes down somewhere in each time."""
    inside, words = draw(st.lists(rows, max_size=3)), COUNTS[next(NUMBERS) % len(COUNTS)]
    words[1] = draw(st.integers(0, 3))
    counting = [Launch(kernels()[n], [words.ctypes.data, 0], 1, draw(st.integers(0, 5))) for n in (2, 3)]
    inside.insert(draw(st.integers(0, len(inside))), counting[1])
    return Repeat([counting[0], Repeat(inside, NEVER, [], words.ctypes.data)], 1)


def times_of(row: Repeat) -> int:
    return row.times if not row.flag else int(ctypes.c_int64.from_address(row.flag + 8).value)


def arguments(row: Row) -> int:
    return sum(map(arguments, row.launches)) if isinstance(row, Repeat) else len(row.arguments)


NUMBERS = count()
tables = st.lists(st.recursive(logging(), lambda rows: repeats(rows) | flagged(rows), max_leaves=6), max_size=4)


def told(rows: Sequence[Row], values: list[int]) -> Iterator[int]:
    """What rows log, one after the other, as their values grow: the meaning of a table."""
    at = 0
    for row in rows:
        end = at + arguments(row) // 2
        if isinstance(row, Repeat):
            own = values[at:end]
            for _ in range(times_of(row)):
                yield from told(row.launches, own)
                for slot, step in row.steps:
                    own[slot // 2] += step
        elif row.kernel.name == "log":
            yield from (10 * values[at] + chunk for chunk in range(row.chunks or 1))  # of no chunks it runs once
        at = end


@pytest.fixture(autouse=True, scope="module")
def heard() -> Iterator[None]:
    """What runs in the background may have been told to ignore SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def meaning(rows: Sequence[Row]) -> list[int]:
    def values(row: Row) -> list[int]:
        return [v for inner in row.launches for v in values(inner)] if isinstance(row, Repeat) else [row.arguments[1]]

    return list(told(rows, [v for row in rows for v in values(row)]))


def logged() -> list[int]:
    found = LOG[1 : 1 + LOG[0]].tolist()
    LOG[0] = 0
    return found


@given(rows=tables, budget=st.integers(0, 10))
@settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_slices_add_up_to_the_whole(rows: list[Row], budget: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "SLICE", budget)
    table = LaunchTable(rows)
    before = table.arguments.copy()
    for _ in range(2):
        LOG[0] = 0
        table.run()
        assert logged() == meaning(rows)
        assert np.array_equal(table.arguments, before)


@given(first=tables, rows=tables, times=st.integers(1, 3), budget=st.integers(0, 10))
@settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_an_interrupt_leaves_a_table_that_can_be_run(
    first: list[Row], rows: list[Row], times: int, budget: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes in a row that is repeated, and is noticed when the budget is used up: rows after that have not run."""
    monkeypatch.setattr(machine, "SLICE", budget)
    interrupting = Launch(kernels()[1], [FLAG.ctypes.data], 1, 1)
    middle = [Repeat([*first, interrupting, *rows], times), Launch(kernels()[0], [LOG.ctypes.data, 5], 1, 100)]
    table = LaunchTable([*middle, *rows, Launch(kernels()[0], [LOG.ctypes.data, 7])])
    before, whole = table.arguments.copy(), [*meaning([*first, *rows]) * times, 50, *meaning(rows), 70]
    LOG[0], FLAG[0] = 0, 1
    with pytest.raises(KeyboardInterrupt):
        table.run()
    begun = logged()
    assert begun == whole[: len(begun)] and len(begun) < len(whole)
    table.rewind()
    assert np.array_equal(table.arguments, before)
    table.run()
    assert logged() == whole
