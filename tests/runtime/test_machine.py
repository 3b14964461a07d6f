# SPDX-License-Identifier: Apache-2.0
"""A launch table runs its rows in order, with arguments that may change between runs."""

import threading

import numpy as np
import pytest

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.codegen.loops import MapNest, Operand, Step, render_map
from ngraph_rewrite.errors import KernelError
from ngraph_rewrite.runtime.compiler import Kernel, compile_kernel
from ngraph_rewrite.runtime.machine import DEEPEST, Launch, LaunchTable, Repeat, Row

VECTOR = Operand("int64", ("1",))


@pytest.fixture(scope="module")
def add(tmp_path_factory: pytest.TempPathFactory) -> Kernel:
    """y += x"""
    nest = MapNest(1, (VECTOR, VECTOR), (Step("add", "int64", (0, 1)),), ((2, VECTOR),), (0, 1, 1))
    source = render_map(nest)
    return compile_kernel(source.text, source.name, Cache(tmp_path_factory.mktemp("kernels")))


def arrays() -> tuple[np.ndarray, np.ndarray]:
    return np.arange(5), np.zeros(5, "int64")


def arguments(x: np.ndarray, y: np.ndarray) -> list[int]:
    return [len(x), x.ctypes.data, y.ctypes.data, y.ctypes.data]


def test_rows_run_in_order(add: Kernel) -> None:
    x, y = arrays()
    table = LaunchTable([Launch(add, arguments(x, y)), Launch(add, arguments(y, x), 3)])
    table.run()
    assert len(table) == 2
    assert np.array_equal(y, np.arange(5))
    assert np.array_equal(x, 2 * np.arange(5))


def test_one_row_can_run_alone(add: Kernel) -> None:
    x, y = arrays()
    table = LaunchTable([Launch(add, arguments(x, y)), Launch(add, arguments(y, x))])
    table.step(1)
    assert np.array_equal(x, np.arange(5))
    table.step(0)
    table.step(-1)
    assert np.array_equal(x, 2 * np.arange(5))
    with pytest.raises(IndexError):
        table.step(2)


def test_one_argument_can_be_patched(add: Kernel) -> None:
    x, y = arrays()
    other = np.full(5, 10)
    table = LaunchTable([Launch(add, arguments(x, x)), Launch(add, arguments(x, y))])
    table.arguments[table.slot(1, 1)] = other.ctypes.data
    table.step(1)
    assert np.array_equal(y, other)
    with pytest.raises(IndexError, match="4 arguments"):
        table.slot(0, 4)


def test_an_empty_table_runs() -> None:
    LaunchTable([]).run()


def test_copies_have_arguments_of_their_own(add: Kernel) -> None:
    x, y = arrays()
    table = LaunchTable([Launch(add, arguments(x, y))])
    targets = [np.zeros(5, "int64") for _ in range(4)]

    def work(target: np.ndarray) -> None:
        own = table.copy()
        for number in (2, 3):
            own.arguments[own.slot(0, number)] = target.ctypes.data
        for _ in range(100):
            own.run()

    threads = [threading.Thread(target=work, args=(target,)) for target in targets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for target in targets:
        assert np.array_equal(target, 100 * np.arange(5))
    assert not y.any()


# -- rows that repeat others ------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1, 4])
def test_rows_repeat_while_addresses_move(add: Kernel, count: int) -> None:
    """y[k] += x[k] for each row k, two kernels a time, the second one standing still."""
    x, y, z = np.arange(20).reshape(4, 5), np.ones((4, 5), "int64"), np.zeros(5, "int64")
    rows = [Launch(add, arguments(x[0], y[0])), Launch(add, arguments(x[0], z))]
    table = LaunchTable([Repeat(rows, count, [(1, 40), (2, 40), (3, 40), (5, 40)]), Launch(add, arguments(z, y[0]))])
    before = table.arguments.copy()
    table.run()
    assert np.array_equal(y[1:count], 1 + x[1:count])
    assert (y[max(count, 1) :] == 1).all()
    assert np.array_equal(z, x[:count].sum(0))
    assert np.array_equal(y[0], 1 + z + (x[0] if count else 0))
    assert np.array_equal(table.arguments, before)


def test_repeated_rows_repeat(add: Kernel) -> None:
    """Three times over four rows, and backwards: all steps are taken back."""
    x, y = np.arange(20).reshape(4, 5), np.zeros((3, 5), "int64")
    inner = Repeat([Launch(add, arguments(x[3], y[0]))], 4, [(1, -40)])
    table = LaunchTable([Repeat([inner], 3, [(2, 40), (3, 40)])])
    table.run()
    table.copy().step(0)
    assert np.array_equal(y, np.tile(2 * x.sum(0), (3, 1)))


def test_slots_are_numbered_through_repeated_rows(add: Kernel) -> None:
    x, y = arrays()
    other = np.full(5, 10)
    twice = Repeat([Launch(add, arguments(x, x)), Launch(add, arguments(x, y))], 2)
    table = LaunchTable([twice, Launch(add, arguments(x, y))])
    table.arguments[table.slot(0, 1)] = other.ctypes.data
    table.arguments[table.slot(2, 1)] = other.ctypes.data
    table.run()
    assert np.array_equal(x, np.arange(5) + 20) and np.array_equal(y, 2 * np.arange(5) + 40)


def test_rows_in_each_other_are_deep_or_refused() -> None:
    def rows(depth: int) -> Row:
        row: Row = Repeat([], 2)
        for _ in range(depth):
            row = Repeat([row], 1)
        return row

    table, before = LaunchTable([rows(DEEPEST - 1)]), threading.stack_size(512 * 1024)
    try:
        thread = threading.Thread(target=table.run)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    with pytest.raises(KernelError, match="in each other more than 4,000 deep"):
        LaunchTable([rows(DEEPEST)])
