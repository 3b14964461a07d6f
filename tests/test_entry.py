# SPDX-License-Identifier: Apache-2.0
"""Machine code makes small calls: what it does is what Python code does for the same arguments, or it does nothing."""

from __future__ import annotations

import ctypes
import gc
import inspect
import os
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ngraph_rewrite as ng
from ngraph_rewrite import calls as calls_module
from ngraph_rewrite import preparation
from ngraph_rewrite.errors import ClosedError, ComputationError
from ngraph_rewrite.runtime.aligned import result_array
from ngraph_rewrite.runtime.array_api import array_api
from ngraph_rewrite.runtime.entry_parts import API
from ngraph_rewrite.runtime.pool import process_pool
from ngraph_rewrite.targets import cpu
from ngraph_rewrite.types.dtypes import kind_of
from tests.programs import drawn

H, W = ng.Axis("H", 3), ng.Axis("W", 4)
DTYPES = "bool int8 uint16 int32 int64 float16 bfloat16 float32 float64".split()
SHAPES: dict[tuple[int, ...], list[ng.Axis]] = {
    (): [], (3,): [H], (3, 4): [H, W], (0,): [ng.Axis("Z", 0)], (0, 4): [ng.Axis("Z", 0), W],
}  # fmt: skip


@pytest.fixture(params=["short", "long"], autouse=True)
def whole(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """All of it twice: calls that hold the interpreter's lock, and those that let go of it while kernels run."""
    made.cache_clear()
    monkeypatch.setattr(cpu, "SHORT", 10**9 if request.param == "short" else -1)
    yield
    made.cache_clear()


def is_quick(computation: ng.Computation) -> bool:
    """Whether machine code stands ready for calls as the latest one."""
    return computation._entry is not computation._by_python


@cache
def made(dtype: str, shape: tuple[int, ...], structure: type | None = None) -> ng.Computation:
    """x and y, stored under other operations, so that each result shows which argument went where."""
    x, y = (ng.placeholder(SHAPES[shape], dtype=dtype) for _ in range(2))
    first, second = (ng.logical_and, ng.logical_or) if dtype == "bool" else (ng.subtract, ng.multiply)
    returns = first(x, y) if structure is None else structure([first(x, y), second(y, x)])
    return ng.make_transformer("cpu").computation(returns, x, y)


def array(dtype: str, shape: tuple[int, ...], start: int) -> np.ndarray:
    return (np.arange(start, start + np.prod(shape, dtype=int)) % 7).astype(dtype).reshape(shape)


class Own(np.ndarray):
    """A subclass with nothing of its own."""


def misaligned(a: np.ndarray) -> np.ndarray:
    raw = np.zeros(a.nbytes + 1, np.uint8)
    view = raw[1:].view(a.dtype).reshape(a.shape)
    view[...] = a
    return view


def strided(a: np.ndarray) -> np.ndarray:
    wide = np.zeros((*a.shape, 2), a.dtype)
    wide[..., 0] = a
    return wide[..., 0]


def frozen(a: np.ndarray) -> np.ndarray:
    a.flags.writeable = False
    return a


# How a value may be given: as an array that needs nothing, or as something that Python code has to look at.
FORMS: dict[str, Callable[[np.ndarray], Any]] = {
    "array": lambda a: a,
    "read-only": frozen,
    "a view of bytes": lambda a: np.ndarray(a.shape, a.dtype, a.tobytes() + bytes(8)),
    "subclass": lambda a: a.view(Own),
    "swapped bytes": lambda a: a.astype(a.dtype.newbyteorder()),
    "other order": lambda a: a.copy(order="F"),
    "strided": strided,
    "misaligned": misaligned,
    "list": lambda a: a.tolist() if a.size and a.dtype.str in ("<f4", "<f8", "<i8", "|b1") else a,
    "other dtype": lambda a: a.astype(np.int8) if kind_of(a.dtype) in "if" else a,
    "backwards twice": lambda a: a[::-1][::-1] if a.ndim else a,
}  # fmt: skip


def same(a: Any, b: Any) -> bool:
    """The same structure of arrays of the same dtype, shape and bits."""
    if isinstance(a, np.ndarray):
        kinds = type(a), a.dtype, a.shape
        return kinds == (type(b), b.dtype, b.shape) and a.tobytes() == b.tobytes()
    return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))


@drawn(90)
@given(
    dtype=st.sampled_from(DTYPES),
    shape=st.sampled_from(list(SHAPES)),
    structure=st.sampled_from([None, tuple, list]),
    forms=st.tuples(*[st.sampled_from(list(FORMS))] * 2),
)
def test_a_call_gives_what_python_code_gives(
    dtype: str, shape: tuple[int, ...], structure: type | None, forms: tuple[str, str]
) -> None:
    computation = made(dtype, shape, structure)
    x, y = (FORMS[form](array(dtype, shape, i)) for i, form in enumerate(forms))
    before = np.array(x), np.array(y)
    expected = computation._run([x, y], None, result_array)
    assert same(computation(x, y), expected)
    entry = computation.entry(shape, shape)
    assert same(entry(x, y), expected)
    fresh = [np.zeros(r.shape, r.dtype) for r in ([expected] if structure is None else expected)]
    out = fresh[0] if structure is None else structure(fresh)
    for call in (computation, entry):
        found = call(x, y, out=out)
        assert same(found, expected) and (structure is not None or found is out)
        assert all(a is b for a, b in zip(found, fresh, strict=True)) if structure is not None else True
    assert np.array_equal(before[0], x) and np.array_equal(before[1], y)


def test_small_calls_are_made_by_machine_code() -> None:
    """On CPython with its lock, and NumPy 2: everywhere else all of these tests are of Python code."""
    assert array_api() is not None or sys.implementation.name != "cpython" or np.__version__ > "3"
    computation = made("float32", (3,))
    computation(np.ones(3, np.float32), np.ones(3, np.float32))
    assert is_quick(computation) == (array_api() is not None)


CONVERTED = [1.5, 2, np.float64(1.5), np.float32(1.5), np.array(1.5), np.int8(2)]


@pytest.mark.parametrize("number", CONVERTED)
def test_what_had_to_be_converted_is_taken_by_machine_code(number: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = ng.placeholder((3,)), ng.placeholder(())
    with ng.make_transformer("cpu") as transformer:
        scaled = transformer.computation(x * y, x, y)
        scaled([1, 2, 3], number)
        assert is_quick(scaled) == (array_api() is not None)
        with monkeypatch.context() as patch:
            if is_quick(scaled):
                patch.setattr(ng.Computation, "_run", lambda *_: pytest.fail("Python code"))
            given, out = np.array([1.0, 2, 3]), np.empty(3, np.float32)
            np.testing.assert_array_equal(scaled(given, number), given * number)
            assert scaled(given, number, out=out) is out and scaled(feed_dict={x: given, y: number})[2] == out[2]
        assert scaled.value(y) == number
        with pytest.raises(ComputationError, match="complex128 does not cast to float32"):
            scaled(given, 1j)


@pytest.mark.parametrize("name", ["argument", "part", "transposed"])
def test_so_are_those_that_give_back_a_small_argument(name: str) -> None:
    """As it is or in another order: a copy that Python asked NumPy for would take thirty times as long."""
    h, w = ng.Axis("H", 3), ng.Axis("W", 4)
    x, value = ng.placeholder([h, w]), np.arange(12, dtype=np.float32).reshape(3, 4)
    results = {"argument": x, "part": x[1:], "transposed": ng.axes_with_order(x, [w, h])}
    expected = {"argument": value, "part": value[1:], "transposed": value.T}
    computation = ng.make_transformer("cpu").computation(results[name], x)
    for _ in range(2):
        found = computation(value)
        assert np.array_equal(found, expected[name]) and not np.shares_memory(found, value)
    assert is_quick(computation) == (array_api() is not None)


def test_long_calls_are_left_to_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """In which signals have to be looked at."""
    monkeypatch.setattr(cpu, "SLICE", 1000)
    x = ng.placeholder([ng.Axis("H", 3000)])
    computation = ng.make_transformer("cpu").computation(ng.tanh(x), x)
    computation(np.ones(x.axes.lengths, np.float32))
    assert not is_quick(computation)


def test_a_loop_that_may_not_end_is_left_to_python_in_a_branch_too() -> None:
    count = ng.placeholder([], dtype="int64")
    looped = ng.cond(count < 5, lambda n: ng.while_loop(lambda m: m < 7, lambda m: m + 1, n), lambda n: n, count)
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(looped, count)
        assert [computation(3), computation(6)] == [7, 6] and not is_quick(computation)


class Pair(NamedTuple):
    first: Any
    second: Any


STRUCTURES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "dict": lambda a, b, effect: {"b": b, "a": a, "effect": effect, "none": None},
    "nested": lambda a, b, effect: [(a, {"x": [b, a]}), effect, ()],
    "named": lambda a, b, effect: Pair(Pair(a, effect), b),
}


@pytest.mark.parametrize("name", STRUCTURES)
def test_machine_code_makes_what_is_in_any_structure(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = ng.placeholder((3,))
    structure, one = STRUCTURES[name], np.ones(3, np.float32)
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(structure(x + 1, x * 3, ng.doall([])), x)
        entry = computation.entry((3,))
        computation([1, 1, 1])
        assert is_quick(computation) == (array_api() is not None)
        with monkeypatch.context() as patch:
            if is_quick(computation):
                patch.setattr(ng.Computation, "_run", lambda *_: pytest.fail("Python code"))
            for call in (computation, entry, lambda x: computation(feed_dict={computation.inputs[0]: x}, out=None)):
                for given in (one, [1, 1, 1]):
                    assert repr(call(given)) == repr(structure(one + 1, one * 3, None))
        out = np.empty(3, np.float32)
        where = structure(out, None, None) if name != "nested" else [(out, None), None, ()]
        found = entry(one, out=where)
        assert repr(found) == repr(structure(one + 1, one * 3, None)) and out[0] == 2
        with pytest.raises(ComputationError, match="1 inputs"):
            entry()


@pytest.mark.parametrize("quick", [True, False])
def test_results_lie_where_the_last_ones_did_only_if_nobody_has_these(quick: bool) -> None:
    x = ng.placeholder((100_000,))
    computation, value = ng.make_transformer("cpu").computation(x + 1, x), np.zeros(100_000, np.float32)
    computation(value)
    call = computation if quick else computation._call
    places = set()
    for _ in range(6):
        places.add(call(value).ctypes.data)
    assert len(places) < 6
    first = call(value)
    view, second = first[5:], call(value + 1)
    assert not np.shares_memory(first, second) and np.all(first == 1) and np.all(second == 2)
    del first
    third = call(value + 2)
    assert not np.shares_memory(view, third) and np.all(view == 1) and np.all(third == 3)


def test_large_arguments_that_are_returned_are_copied_by_kernels() -> None:
    x = ng.placeholder([ng.Axis("H", 300_000)])
    computation, value = ng.make_transformer("cpu").computation([x, x + 1], x), np.arange(300_000, dtype=np.float32)
    same_as, more = computation(value)
    assert np.array_equal(same_as, value) and not np.shares_memory(same_as, value) and np.array_equal(more, value + 1)
    assert is_quick(computation) == (array_api() is not None)


# -- results in arrays of one's own --------------------------------------------------------------------


@pytest.mark.parametrize("where", [0, 1, 4, 8, 12, 20, 24])
def test_arguments_may_lie_where_results_go(where: int) -> None:
    """Wholly, in part, or not at all."""
    computation = made("float32", (3,), list)
    for overlapping in range(2):
        memory = np.arange(100, dtype=np.uint8)
        memory[:] = np.random.default_rng(where).integers(0, 60, 100)
        out = [memory[16:28].view(np.float32), np.zeros(3, np.float32)]
        arguments = [np.ones(3, np.float32), np.full(3, 2, np.float32)]
        place = memory[where + 4 : where + 16]
        arguments[overlapping] = place.view(np.float32)
        expected = computation._call(*[a.copy() for a in arguments])
        assert same(computation(*arguments, out=out), expected)


def wrong_outs() -> Iterator[tuple[str, Any]]:
    right = np.zeros(3, np.float32)
    yield "dtype", np.zeros(3, np.float64)
    yield "shape", np.zeros(4, np.float32)
    yield "rank", np.zeros((3, 1), np.float32)
    yield "order", np.zeros((3, 2), np.float32)[:, 0]
    yield "read-only", frozen(right.copy())
    yield "misaligned", misaligned(right)
    yield "swapped bytes", right.astype(">f4")
    yield "no array", [0.0, 0.0, 0.0]


@pytest.mark.parametrize("what, out", list(wrong_outs()), ids=lambda v: v if isinstance(v, str) else "")
def test_results_go_into_fitting_arrays_only(what: str, out: Any) -> None:
    ones = np.ones(3, np.float32)
    for computation, given_ in ((made("float32", (3,)), out), (made("float32", (3,), list), [ones.copy(), out])):
        computation(ones, ones)
        for call in (computation, computation.entry((3,), (3,))):
            with pytest.raises(ComputationError):
                call(ones, ones, out=given_)


def test_out_has_the_structure_of_what_is_returned() -> None:
    ones, computation = np.ones(3, np.float32), made("float32", (3,), tuple)
    expected, one = computation(ones, ones), np.zeros(3, np.float32)
    assert same(computation(ones, ones, out=[one, None]), expected) and np.array_equal(one, expected[0])
    other = one.copy()
    assert same(computation(ones, ones, out=[one, other]), expected)
    for wrong in ([one], (one, one.copy(), one.copy()), one, {"a": one}, [one, one], [one[:2], other]):
        with pytest.raises(ComputationError):
            computation(ones, ones, out=wrong)


def test_what_has_no_value_is_none() -> None:
    w = ng.variable([H], initial_value=1.0)
    x = ng.placeholder([H])
    computation = ng.make_transformer("cpu").computation([ng.doall([ng.assign(w, w + x)]), w * 2], x)
    ones = np.ones(3, np.float32)
    assert [computation(ones)[0] for _ in range(3)] == [None] * 3
    assert is_quick(computation) == (array_api() is not None)
    assert np.array_equal(computation(ones, out=[None, np.zeros(3, np.float32)])[1], [8, 8, 8])


# -- what machine code must not miss -------------------------------------------------------------------


def test_arguments_are_counted_and_looked_at() -> None:
    computation, ones = made("float32", (3,)), np.ones(3, np.float32)
    entry = computation.entry(ones, ones)
    for call in (computation, entry):
        for wrong in ((ones,), (ones, ones, ones), (ones, np.ones(4, np.float32)), (ones, "one"), (ones, None)):
            with pytest.raises(ComputationError):
                call(*wrong)
        with pytest.raises(ComputationError, match="nothing by the name into"):
            call(ones, ones, into=ones)
    with pytest.raises(ComputationError):
        computation.entry((3,))


def test_other_shapes_are_prepared_as_they_come() -> None:
    n = ng.placeholder([ng.Axis("N")])
    computation = ng.make_transformer("cpu").computation(n + 1, n)
    entry = computation.entry((2,))
    for length in [2, 5, 2, 7, 5, 2]:
        for call in (computation, entry):
            assert np.array_equal(call(np.zeros(length, np.float32)), np.ones(length))


def test_plans_that_are_dropped_are_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparation, "MOST_PLANS", 2)
    monkeypatch.setattr(preparation, "MOST_TERMS", 0)
    n = ng.placeholder([ng.Axis("N")])
    computation = ng.make_transformer("cpu").computation(n + 1, n)
    entry = computation.entry((1,))
    for length in [1, 2, 3, 4, 1, 3]:
        assert np.array_equal(computation(np.zeros(length, np.float32)), np.ones(length))
        assert np.array_equal(entry(np.zeros(1, np.float32)), np.ones(1))
        assert len(computation._prepared) <= 2


def test_the_state_is_the_one_that_python_code_has(tmp_path: Any) -> None:
    """Variables, draws, what was saved and restored, what is closed."""
    w, x = ng.variable([H], initial_value=0.0), ng.placeholder([H])
    with ng.make_transformer("cpu", seed=5) as transformer:
        step = transformer.computation([ng.assign(w, w + x), ng.uniform([H], dtype="float32")], x)
        ones = np.ones(3, np.float32)
        entry = step.entry(ones)
        calls = [step(ones)[1], entry(ones)[1], step._call(ones)[1], step(ones)[1], entry(ones)[1]]
        assert len({c.tobytes() for c in calls}) == 5 and np.array_equal(transformer.get(w), [5, 5, 5])
        transformer.save(tmp_path / "state")
        after = [entry(ones)[1], step(ones)[1]]
        transformer.restore(tmp_path / "state")
        assert same([entry(ones)[1], step(ones)[1]], after) and np.array_equal(transformer.get(w), [7, 7, 7])
        transformer.set(w, [1, 2, 3])
        entry(ones)
        assert np.array_equal(transformer.get(w), [2, 3, 4])
        transformer.initialize()
        assert same(entry(ones)[1], calls[0]) and np.array_equal(transformer.get(w), ones)
        later = ng.variable([H], initial_value=ng.uniform([H], dtype="float32"))
        transformer.computation(later + 1)
        assert same(entry(ones)[1], calls[1])
    for call in (step, entry):
        with pytest.raises(ClosedError):
            call(ones)


def test_values_of_the_last_call_are_known() -> None:
    x, y = ng.placeholder([H]), ng.placeholder([H])
    inner = x * y
    computation = ng.make_transformer("cpu").computation(inner + 1, x, y, keep=[inner])
    for factor in (1, 2, 3):
        computation(np.full(3, factor, np.float32), np.arange(3, dtype=np.float32))
        assert np.array_equal(computation.value(inner), factor * np.arange(3))
        assert np.array_equal(computation.value(x), np.full(3, factor))


def test_who_listens_is_told() -> None:
    lines: list[str] = []
    computation, ones = made("float32", (3,)), np.ones(3, np.float32)
    computation(ones, ones)
    with ng.trace_calls(lines.append):
        computation(ones, ones)
        computation.entry((3,), (3,))(ones, ones)
    assert len(lines) >= 2
    told = len(lines)
    computation(ones, ones)
    assert len(lines) == told


def test_calls_wait_for_whoever_has_the_state() -> None:
    x = ng.placeholder([H])
    transformer = ng.make_transformer("cpu")
    computation = transformer.computation(x + 1, x)
    ones, found = np.ones(3, np.float32), list[Any]()
    computation(ones)
    thread = threading.Thread(target=lambda: found.append(computation(ones)))
    with transformer._state.lock:
        thread.start()
        thread.join(0.05)
        assert not found
    thread.join()
    assert same(found, [np.full(3, 2, np.float32)])


def test_threads_that_call_at_once_lose_nothing() -> None:
    w, x = ng.variable([], initial_value=0.0, dtype="float64"), ng.placeholder([], dtype="float64")
    transformer = ng.make_transformer("cpu")
    step = transformer.computation(ng.assign(w, w + x), x)
    one, times = np.ones(()), 2000
    step(one)
    entry, slow = step.entry(one), step._call
    ways = [step, entry, slow, entry]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=lambda way=way: [way(one) for _ in range(times)]) for way in ways]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert transformer.get(w) == 1 + times * len(ways)


def test_a_call_gets_through_though_others_always_come_between(monkeypatch: pytest.MonkeyPatch) -> None:
    """With other shapes: machine code and Python would hand it to each other for ever."""
    x, find = ng.placeholder([None]), ng.Computation._executable

    def find_and_lose(computation: ng.Computation, shapes: Any) -> Any:
        ready = find(computation, shapes)
        find(computation, ((4,),))
        return ready

    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(x + 1, x)
        computation(np.ones(4, np.float32))
        monkeypatch.setattr(ng.Computation, "_executable", find_and_lose)
        for _ in range(2):
            assert same([computation(np.ones(3, np.float32))], [np.full(3, 2, np.float32)])


def test_who_asks_while_others_call_is_told_of_a_whole_call() -> None:
    """Not of the one that is being made, which has let go of the last results."""
    n = 30_000
    x, value = ng.placeholder([ng.Axis("H", n)]), np.ones(n, np.float32)
    computation = ng.make_transformer("cpu").computation(x + 1, x)
    computation(value)
    ended = threading.Event()

    def call() -> None:
        while not ended.is_set():
            computation(value)

    thread = threading.Thread(target=call)
    thread.start()
    try:
        for _ in range(20):
            assert computation.value(x)[0] == 1
            assert computation.stats()["launches"] == 1
            assert "def " in computation.source()
    finally:
        ended.set()
        thread.join()


@pytest.mark.parametrize("out", [None, np.zeros(3, np.float32)])
def test_a_call_that_was_not_finished_has_no_values(out: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x, ones = ng.placeholder([H]), np.ones(3, np.float32)
    computation = ng.make_transformer("cpu").computation(x + 1, x)
    computation(ones)
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(cpu.CpuExecutable, "run", mock.Mock(side_effect=KeyboardInterrupt))
        computation._call(ones, out=out)
    for ask in (lambda: computation.value(x), computation.stats, computation.source):
        with pytest.raises(ng.InvalidHandleError, match="the last call was not finished"):
            ask()
    assert np.array_equal(computation(ones), [2, 2, 2]) and np.array_equal(computation.value(x), ones)


def test_other_threads_run_while_kernels_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though nobody takes the interpreter's lock from who has it: in long calls, that is."""
    n = 2_000_000
    x, value = ng.placeholder([ng.Axis("H", n)]), np.ones(n, np.float32)
    computation = ng.make_transformer("cpu", threads=1).computation(ng.tanh(ng.exp(ng.sin(x))), x)
    computation(value)
    began, ended = threading.Event(), list[bool]()

    def call() -> None:
        began.set()
        computation(value)
        ended.append(True)

    before, found = sys.getswitchinterval(), set[bool]()
    sys.setswitchinterval(1000)
    try:
        for _ in range(10):
            began.clear(), ended.clear()
            thread = threading.Thread(target=call)
            thread.start()
            began.wait()
            found.add(not ended)
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert (True in found) == (cpu.SHORT < 0 or array_api() is None)


# -- memory ---------------------------------------------------------------------------------------------


@pytest.mark.skipif(array_api() is None, reason="there is no machine code for calls")
@pytest.mark.parametrize("structure", [None, list])
def test_where_machine_code_gets_no_memory_python_code_tries_again(structure: type | None) -> None:
    """And nobody keeps the lock."""
    computation, ones = made("float32", (3,), structure), np.ones(3, np.float32)
    expected = computation(ones, ones)
    found, place = array_api(), API.index("empty")
    assert found is not None
    nothing = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int, *[ctypes.c_void_p] * 2, ctypes.c_int)(lambda *_: None)
    before = found.words[place]
    found.words[place] = ctypes.cast(nothing, ctypes.c_void_p).value
    try:
        results = [computation(ones, ones) for _ in range(3)]
    finally:
        found.words[place] = before
    assert all(same(result, expected) for result in results)
    thread = threading.Thread(target=lambda: results.append(computation(ones, ones)), daemon=True)
    thread.start()
    thread.join(10)
    assert len(results) == 4 and is_quick(computation)


def test_no_reference_is_lost_or_kept() -> None:
    """In all ways through the machine code: those that end in Python code and those that fail included."""
    computation, ones = made("float32", (3,), list), np.ones(3, np.float32)
    other, out = ones.copy(), [np.zeros(3, np.float32) for _ in range(2)]
    entry, wrong = computation.entry(ones, ones), [out[0], np.zeros(4, np.float32)]
    watched = [ones, other, *out, wrong[1], out, wrong, ones.dtype, None, "out", computation, computation._kept]

    def run() -> None:
        for call in (computation, entry):
            call(ones, other), call(ones, other, out=out), call(ones, [1, 2, 3]), call(ones, other, out=None)
            call(ones, other, out=[out[0], None])
            for bad in (lambda call=call: call(ones), lambda call=call: call(ones, other, out=wrong)):
                with pytest.raises(ComputationError):
                    bad()
        computation(other, other)

    run()
    gc.collect()
    before = [sys.getrefcount(thing) for thing in watched]
    for _ in range(200):
        run()
    gc.collect()
    differences = [sys.getrefcount(thing) - was for thing, was in zip(watched, before, strict=True)]
    assert all(abs(difference) < 100 for difference in differences), differences


@pytest.mark.parametrize("n", [1023, 1024, 1025, 100_000])
def test_results_of_a_page_begin_at_cache_lines(n: int) -> None:
    """As they do where Python code makes the call: NumPy's own do not."""
    x, value = ng.placeholder([ng.Axis("H", n)]), np.arange(n, dtype=np.float32)
    computation = ng.make_transformer("cpu").computation((x + x, x * 3), x)
    computation(value)
    entry = computation.entry((n,))
    results = [*computation(value), *entry(value), *computation._call(value)]
    assert all(np.array_equal(found, value * factor) for found, factor in zip(results, [2, 3] * 3, strict=True))
    assert all(found.flags.carray and found.flags.writeable for found in results)
    if n >= 1024:
        assert all(found.ctypes.data % 64 == 0 and found.base is not None for found in results)
    assert len({found.ctypes.data for found in results}) == len(results)


def test_results_go_when_nobody_has_them() -> None:
    computation, ones = made("float32", (3,)), np.ones(3, np.float32)
    first = weakref.ref(computation(ones, ones))
    assert first() is not None  # the computation knows the values of its last call
    computation(ones, ones)
    assert first() is None


def test_an_entry_outlives_what_it_was_made_of() -> None:
    x = ng.placeholder([H])
    entry = ng.make_transformer("cpu").computation(x * 3, x).entry((3,))
    gc.collect()
    assert np.array_equal(entry(np.ones(3, np.float32)), [3, 3, 3])


def test_what_a_computation_calls_keeps_it() -> None:
    """Whoever has only the function still calls it, in all ways, and is told once the transformer is closed."""
    x = ng.placeholder([H])
    transformer = ng.make_transformer("cpu")
    computation = transformer.computation(x * 3, x)
    computation(np.ones(3, np.float32))
    call = computation.__call__
    del computation
    gc.collect()
    assert np.array_equal(call(np.ones(3, np.float32)), [3, 3, 3]) and np.array_equal(call([1, 2, 3]), [3, 6, 9])
    transformer.close()
    with pytest.raises(ClosedError):
        call([1, 2, 3])


def test_a_computation_that_ends_is_whole() -> None:
    """Another thread may close the transformer meanwhile."""
    x = ng.placeholder([H])
    transformer = ng.make_transformer("cpu")
    computation = transformer.computation(x * 3, x)
    computation.__del__()
    assert np.array_equal(computation([1, 2, 3]), [3, 6, 9])
    transformer.close()
    with pytest.raises(ClosedError):
        computation([1, 2, 3])


class Late:
    """A cycle whose end takes time, in which another thread makes a call."""

    def __init__(self) -> None:
        self.itself = self

    def take(self, computation: ng.Computation, results: list[Any]) -> threading.Thread:
        call, self.computation = computation.__call__, computation
        self.thread = threading.Thread(target=lambda: results.append(call([1, 2, 3])))
        return self.thread

    def __del__(self) -> None:
        self.thread.start()
        time.sleep(0.1)


def test_a_call_waits_for_the_garbage_collector() -> None:
    """Weak references to what he has found are gone before its ``__del__`` is called."""
    x = ng.placeholder([H])
    transformer = ng.make_transformer("cpu")
    late, results = Late(), list[Any]()  # before the computation: it ends in this order
    thread = late.take(transformer.computation(x * 3, x), results)
    del late
    gc.collect()
    thread.join()
    assert len(results) == 1 and np.array_equal(results[0], [3, 6, 9])


def test_a_computation_is_a_function_like_others() -> None:
    x = ng.placeholder([H])
    computation, ones = ng.make_transformer("cpu").computation(x * 3, x), np.ones(3, np.float32)
    assert list(inspect.signature(computation).parameters) == ["args", "feed_dict", "out"]
    assert isinstance(computation, ng.Computation)
    for call in (lambda *a: ng.Computation.__call__(computation, *a), computation):
        assert np.array_equal(call(ones), [3, 3, 3])


def test_a_computation_is_freed_with_its_machine_code() -> None:
    x = ng.placeholder([H])
    computation = ng.make_transformer("cpu").computation(x * 3, x)
    entry = computation.entry((3,))
    entry(np.ones(3, np.float32))
    gone = weakref.ref(computation)
    del computation, entry
    gc.collect()
    assert gone() is None


# -- elsewhere ------------------------------------------------------------------------------------------

WITHOUT = """
import sys
import numpy as np
from ngraph_rewrite.runtime import array_api, entry
entry.array_api = lambda: None
import ngraph_rewrite as ng
x = ng.placeholder([ng.Axis("H", 3)])
computation = ng.make_transformer("cpu").computation([x + x, x * 3], x)
ones = np.ones(3, np.float32)
made = computation.entry((3,))
print(*(made(ones)[1], computation(ones)[0], made(ones, out=[ones, None])[0]))
"""


def test_without_machine_code_all_is_the_same() -> None:
    """As on other implementations of Python, or with another NumPy."""
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, env={**os.environ})
    assert done.stdout.split("\n")[0] == "[3. 3. 3.] [2. 2. 2.] [2. 2. 2.]", done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_process_calls_on() -> None:
    computation, ones = made("float32", (3,)), np.ones(3, np.float32)
    computation(ones, ones)
    child = os.fork()
    if not child:
        os._exit(0 if np.array_equal(computation(ones, ones), [0, 0, 0]) else 1)
    assert os.waitpid(child, 0)[1] == 0


SHARED = 200_000  # numbers whose sum with 1 is shared out, in little time


@pytest.mark.parametrize("threads", [1, 2])
def test_short_launches_are_shared_out_as_well(threads: int) -> None:
    x, values = ng.placeholder([ng.Axis("H", SHARED)]), np.arange(SHARED, dtype=np.float32)
    computation = ng.make_transformer("cpu", threads=threads).computation(x + 1, x)
    expected = computation._call(values)
    assert max(computation.stats()["chunks"]) > 1 and np.array_equal(expected, values + 1)
    for _ in range(20):
        assert same(computation(values), expected)
    assert is_quick(computation) == (array_api() is not None)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_process_shares_out_what_it_calls() -> None:
    """Its pool is another one: machine code leaves what was made ready before the fork to Python code."""
    x, values = ng.placeholder([ng.Axis("H", SHARED)]), np.arange(SHARED, dtype=np.float32)
    transformer = ng.make_transformer("cpu", threads=2)
    computation = transformer.computation(x + 1, x)
    computation(values)
    child = os.fork()
    if not child:
        right = all(np.array_equal(computation(values), values + 1) for _ in range(3))
        again = transformer.computation(x + 2, x)
        right = right and all(np.array_equal(again(values), values + 2) for _ in range(3))
        with mock.patch.object(ng.Computation, "_run", lambda *_: "Python code"):
            left = computation(values) == "Python code"
        shared = process_pool().workers == 1
        os._exit(0 if right and left and shared and is_quick(again) == (array_api() is not None) else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_function_whose_computation_never_comes_back_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls_module, "_PATIENCE", 0.0)
    x = ng.placeholder([H])
    calls = calls_module.Calls(ng.make_transformer("cpu").computation(x + 1, x))
    gc.collect()
    with pytest.raises(ng.InvalidHandleError, match=r"is gone\n.*\n  keep the computation beside it"):
        calls._call(np.zeros(3))
