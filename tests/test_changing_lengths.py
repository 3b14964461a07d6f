# SPDX-License-Identifier: Apache-2.0
"""Computations whose lengths change from call to call: right for all, in any order, and ready again without a plan."""

from __future__ import annotations

import threading
from functools import cache
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ngraph_rewrite as ng
from ngraph_rewrite.plan.binding import bind_graph, closed_terms
from ngraph_rewrite.preparation import MOST_PLANS, Preparation
from ngraph_rewrite.targets import cpu

N = ng.Length.symbol("N")
# Lengths at which plans change: of one, of part of a vector, of vectors and a rest, of some blocks.
LENGTHS = st.integers(1, 40) | st.sampled_from([63, 64, 65, 127, 129, 255, 257, 513, 1000])
MANY = 3 * MOST_PLANS


def softmax(x: Any, library: Any) -> Any:
    e = library.exp(x - library.max(x, axis=-1, keepdims=True))
    return e / library.sum(e, axis=-1, keepdims=True)


def attended(query: Any, keys: Any, values: Any, key: Any, value: Any, library: Any = ng.numpy) -> Any:
    """A step of a model that writes token by token: keys and values of one more, and what they give to a query."""
    keys, values = library.concatenate([keys, key], axis=1), library.concatenate([values, value], axis=1)
    scores = library.matmul(query, library.swapaxes(keys, 1, 2))
    return library.matmul(softmax(scores, library), values), keys, values


def summed(x: Any, library: Any = ng.numpy) -> Any:
    """What is found along rows and columns, with an intermediate value that two kernels read."""
    sums = library.cumsum(x, axis=1)
    return library.sort(sums, axis=1), library.mean(sums, axis=1), library.argmax(x, axis=1), library.sum(x, axis=0)


@cache
def step() -> ng.Computation:
    shapes = [(2, 1, 8), (2, N, 8), (2, N, 8), (2, 1, 8), (2, 1, 8)]
    inputs = [ng.placeholder(shape) for shape in shapes]
    return ng.make_transformer("cpu").computation(attended(*inputs), *inputs)


@cache
def along() -> ng.Computation:
    x = ng.placeholder((3, N))
    return ng.make_transformer("cpu").computation(summed(x), x)


def drawn(shape: tuple[int, ...]) -> Any:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


def close(found: Any, wanted: Any) -> None:
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


def of_length(n: int) -> list[Any]:
    return [drawn((2, length, 8)) for length in (1, n, n, 1, 1)]


@settings(max_examples=15)
@given(st.lists(LENGTHS, min_size=1, max_size=6))
def test_lengths_in_any_order_are_right(lengths: list[int]) -> None:
    for n in lengths:
        arrays, x = of_length(n), drawn((3, n))
        close(step()(*arrays), attended(*[a.astype(np.float64) for a in arrays], library=np))
        close(along()(x), summed(x.astype(np.float64), np))


def test_terms_that_no_length_has_a_part_in_are_bound_to_themselves() -> None:
    """And what comes to be equal to one of them is it."""
    x, y = ng.placeholder((N,)), ng.placeholder((5,))
    known, number = ng.numpy.tanh(y) * y, ng.numpy.tanh(y[:1])
    wide, other = ng.numpy.broadcast_to(number, (5,)), ng.numpy.broadcast_to(number, (N,))
    lowering = ng.make_transformer("cpu").computation((x * known[0], known, wide, other), x, y).lowering
    closed = closed_terms(lowering.order)
    bound = [bind_graph(lowering.roots, {"N": 5}, lowering.order, closed=closed)[root] for root in lowering.roots]
    same = [new is old for new, old in zip(bound, lowering.roots, strict=True)]
    assert same == [False, True, True, False] and bound[3] is bound[2]
    assert [term.shape for term in bound] == [(5,)] * 4


def test_constants_are_the_same_for_all_lengths() -> None:
    x, w = ng.placeholder((N, 4)), np.arange(12, dtype=np.float32).reshape(4, 3)
    computation = ng.make_transformer("cpu").computation(ng.numpy.matmul(x, ng.constant(w)), x)
    for n in (2, 3):
        assert computation(np.ones((n, 4), np.float32)).tolist() == [[18.0, 22.0, 26.0]] * n
    held = [found.ready.executable._arguments._constants for found in computation._prepared._ready.values()]
    assert len(held) == 2 and held[0] and all(a is b for a, b in zip(*held, strict=True))


def test_many_lengths_in_turns_are_planned_once_and_share_memory() -> None:
    """Of each length one may be ready; memory grows by half, so that there are few pieces of it."""
    x = ng.placeholder((3, N))
    computation = ng.make_transformer("cpu").computation(summed(x), x)
    arrays = [np.ones((3, n), np.float32) for n in range(2, 2 + MANY)]
    with mock.patch.object(Preparation, "made", autospec=True, side_effect=Preparation.made) as made:
        for x in 2 * arrays:
            assert computation(x)[-1].tolist() == [3.0] * x.shape[1]
    assert made.call_count == computation.stats()["plans"] == MANY
    plans = [found.ready.executable for found in computation._prepared._ready.values()]
    memory = {plan._arguments.arena.base.ctypes.data for plan in plans}
    assert 1 < len(memory) < MANY // 8


def test_a_call_that_is_stepped_through_shares_no_memory() -> None:
    x, other = drawn((3, 9)), drawn((3, 12))
    stepping = along().step(x)
    for _ in stepping:
        along()(other)
    close(stepping.results(), summed(x.astype(np.float64), np))


@pytest.mark.parametrize("inner", [9, 12])
def test_a_call_inside_a_call_shares_no_memory(inner: int) -> None:
    """Such as one of a listener's, or of a signal's handler."""
    x, array, other, inside = ng.placeholder((3, N)), drawn((3, 9)), drawn((3, inner)) + 1, list[str]()
    computation = ng.make_transformer("cpu").computation(summed(x), x)
    for one in (drawn((3, 12)), array - 1):  # the longer one first: the other then takes the same memory
        computation(one)

    def say(line: str) -> None:
        if not inside:
            inside.append(line)
            close(computation(other), summed(other.astype(np.float64), np))
            inside.clear()

    with ng.trace_calls(say):
        close(computation(array), summed(array.astype(np.float64), np))


def test_what_ran_last_is_told_whoever_called_it() -> None:
    short, long = drawn((3, 9)), drawn((3, 12))
    along()(short)
    plan, entry = along().plan(), along().entry((3, 9))
    assert along()(long) is not None and along().plan() != plan
    assert entry(short) is not None and along().plan() == plan


def test_lengths_without_machine_code_become_the_latest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu, "SLICE", 3000)
    x = ng.placeholder((3, N))
    computation = ng.make_transformer("cpu").computation(summed(x), x)
    short, long = drawn((3, 9)), drawn((3, 1000))
    for x in (short, long, short, long, short):
        computation(x)
        assert computation._prepared.latest.given == (x.shape,)
    assert sorted(found.entry is None for found in computation._prepared._ready.values()) == [False, True]


def test_lengths_of_an_entry_may_be_integers_of_numpy() -> None:
    x = ng.placeholder({"H": N})
    computation = ng.make_transformer("cpu").computation(x + x, x)
    assert computation.entry((np.int64(3),))(np.ones(3, np.float32)).tolist() == [2.0] * 3
    for wrong in (3.5, "3", -1):
        with pytest.raises(ng.errors.AxesError, match="length"):
            computation.entry((wrong,))


@pytest.mark.parametrize("short", [-1, 10**9])
def test_threads_with_other_lengths_do_not_meet(short: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether calls let go of the interpreter's lock while kernels run or not."""
    monkeypatch.setattr(cpu, "SHORT", short)
    x = ng.placeholder((3, N))
    computation, found = ng.make_transformer("cpu").computation(summed(x), x), dict[int, list[Any]]()
    arrays = {n: drawn((3, n)) for n in (600, 700, 800)}

    def call(n: int) -> None:
        found[n] = [computation(arrays[n]) for _ in range(30)]

    threads = [threading.Thread(target=call, args=(n,)) for n in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for n, every in found.items():
        wanted = summed(arrays[n].astype(np.float64), np)
        for results in every:
            close(results, wanted)
