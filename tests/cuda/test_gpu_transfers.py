# SPDX-License-Identifier: Apache-2.0
"""What goes to a GPU and back is said by the graph, moved once, and told; what is independent has no order."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from gpu_examples import examples
from hypothesis import given

import ngraph_rewrite as ng
from ngraph_rewrite.runtime.cuda import host_device
from ngraph_rewrite.runtime.cuda.device import find_device
from ngraph_rewrite.terms.walking import topological

pytest.importorskip("numba_cuda", reason="needs numba-cuda, which the extra `test` installs")
pytestmark = pytest.mark.cuda

H = ng.Axis("H", 3)
X, Y, Z = (np.arange(3, dtype=np.float32) + n for n in range(3))
x, y, z = (ng.placeholder([H], name=name) for name in "xyz")
w = ng.variable([H], initial_value=1.0, name="w")
both = ng.exp(x) + y
EACH = X.nbytes


@pytest.fixture(scope="module")
def mixed() -> Iterator[Any]:
    """A computation of what a kernel gives, twice, an argument as it is, and a variable; one argument is not read."""
    with ng.make_transformer("cuda") as transformer:
        yield transformer.computation([both, both, y, w], x, y, z)


def transfers(roots: Sequence[ng.Op]) -> list[str]:
    found = [t for t in topological(roots) if t.definition.name == "semi.transfer"]
    return [f"{t.attribute('to')} {t.args[0]!r}" for t in found]


def test_a_graph_for_a_gpu_has_its_transfers_once(mixed: Any) -> None:
    roots = mixed.lowering.roots
    assert transfers(roots) == [
        "device strip(x)",
        "device strip(y)",
        "host semi.add(semi.exp(semi.transfer(..., to='device')), semi.transfer(strip(y), to='device'))",
        "host strip(w)",
    ]
    assert roots[0] is roots[1] and roots[2].definition.name == "core.placeholder"
    with ng.make_transformer("cpu") as transformer:
        assert transfers(transformer.computation([both, y, w], x, y).lowering.roots) == []


@examples(12)
@given(st.tuples(*[st.booleans()] * 3), st.booleans())
def test_only_what_is_elsewhere_is_moved(mixed: Any, on_device: tuple[bool, ...], stays: bool) -> None:
    given_ = [ng.to_device(a) if there else a for a, there in zip((X, Y, Z), on_device, strict=True)]
    mixed(X, Y, Z)  # from here on the variable is there
    found = (mixed.on_device if stays else mixed)(*given_)
    for result, expected in zip(found, (np.exp(X) + Y, np.exp(X) + Y, Y, np.ones(3)), strict=True):
        np.testing.assert_allclose(np.asarray(result), expected, rtol=1e-6)
    stats = mixed.stats()
    to_device = EACH * (not on_device[0]) + EACH * (not on_device[1]) * (2 if stays else 1)
    to_host = 0 if stays else EACH * (2 + on_device[1])
    assert (stats["bytes_to_device"], stats["bytes_to_host"]) == (to_device, to_host)


def test_results_that_are_one_value_are_arrays_of_their_own(mixed: Any) -> None:
    one, other, *_ = mixed.on_device(X, Y, Z)
    assert one.address != other.address
    first, second, same, _ = mixed(X, Y, Z)
    first[0] = -1
    assert second[0] == 2 and not np.shares_memory(same, Y)


def test_the_peak_counts_what_a_call_has_on_the_device() -> None:
    with ng.make_transformer("cuda") as transformer:
        a, weights = ng.placeholder((3,)), ng.variable((3,), initial_value=1.0)
        computation = transformer.computation(ng.numpy.sort(ng.numpy.exp(a)) + weights, a)
        computation(X)
        stats = computation.stats()
        assert stats["device_bytes"] == stats["arena_bytes"] + 2 * EACH + 8  # and the number of the call
        assert stats["peak_bytes"] == stats["device_bytes"] + EACH
        computation.on_device(ng.to_device(X))
        assert computation.stats()["peak_bytes"] == stats["peak_bytes"] + 2 * EACH


def test_an_argument_that_is_not_read_may_be_of_any_length() -> None:
    lines = ng.placeholder([ng.Axis("N")], name="lines")
    with ng.make_transformer("cuda") as transformer:
        computation = transformer.computation([ng.exp(x), lines], lines, x)
        for length in (2, 5):
            found, same = computation(np.arange(length, dtype=np.float32), X)
            np.testing.assert_allclose(found, np.exp(X), rtol=1e-6)
            assert same.tolist() == list(range(length))
            stay = computation.on_device(ng.to_device(np.arange(length, dtype=np.float32)), X)
            assert computation.stats()["peak_bytes"] >= sum(result.nbytes for result in stay)


def test_constants_are_moved_once_and_count_from_the_first_call_on() -> None:
    with ng.make_transformer("cuda") as transformer:
        a = ng.placeholder((3,))
        computation = transformer.computation(a + np.array([1, 2, 4], np.float32), a)
        for moved in (2 * EACH, EACH):
            computation(X)
            stats = computation.stats()
            assert stats["peak_bytes"] == stats["device_bytes"] == 3 * EACH + 8  # and the number of the call
            assert stats["bytes_to_device"] == moved


def test_explanations_say_what_moves_and_where_it_lies(mixed: Any) -> None:
    mixed(X, Y, Z)
    text = mixed.explain(both)
    assert "transfers: to the device  (12 bytes, unless the argument is there)" in text
    assert "transfers: to the host  (12 bytes, unless it is to stay on the device)" in text
    assert "12 bytes in the memory of result 0 and 1, transferred to the host, unless it is to stay" in text
    assert mixed.explain(z).endswith("is not part of this computation")
    assert "argument 0, 12 bytes, transferred to the device" in mixed.explain(x)
    assert mixed.explain(w).endswith("a variable of 12 bytes, which stays on the device")
    plan = mixed.plan().splitlines()
    assert plan[:2] == ["arena: 0 bytes for 0 values", "variable: w, 12 bytes"]
    assert plan[2:4] == [f"to the device: argument {n}, {'xy'[n]}, 12 bytes, unless it is there" for n in (0, 1)]
    assert plan[-4:-1] == [
        "to the host: result 0, 12 bytes, unless it is to stay",
        "result 1: as result 0",
        "result 2: argument 1, 12 bytes, from where it is",
    ]


def test_transfers_of_unknown_lengths_say_so() -> None:
    batch = ng.placeholder([ng.Axis("N"), H], name="batch")
    assert "(12*N bytes" in ng.explain(ng.exp(batch), "cuda")


def test_transfers_that_were_written_are_as_good_as_none() -> None:
    a = ng.placeholder((3,), name="a")
    there = ng.semi.transfer(ng.semi.exp(ng.semi.transfer(a, "device")), "host")
    with ng.make_transformer("cuda") as transformer:
        computation = transformer.computation([ng.semi.negative(there), ng.semi.transfer(a, "host")], a)
        assert [line.split()[0] for line in transfers(computation.lowering.roots)] == ["device", "host"]
        negative, same = computation(X)
    np.testing.assert_allclose(negative, -np.exp(X), rtol=1e-6)
    assert same.tolist() == X.tolist()


def test_one_arena_serves_all_lengths_of_a_computation() -> None:
    batch, device = ng.placeholder((ng.Axis("N").length, 3)), find_device()
    with ng.make_transformer("cuda") as transformer:
        computation = transformer.computation(ng.numpy.sort(ng.numpy.exp(batch)) * 2, batch)
        small, large = np.ones((2, 3), np.float32), np.ones((50, 3), np.float32)
        for array in (small, large, small, large):
            np.testing.assert_allclose(computation(array), 2 * np.exp(array), rtol=1e-6)
        stats = computation.stats()
        assert stats["plans"] == 2 and stats["arena_bytes"] >= large.nbytes
        assert stats["device_bytes"] < 4 * stats["arena_bytes"] and device.memory()[0] > 0


# -- order -------------------------------------------------------------------------------------------------------------


def _step() -> tuple[Any, list[ng.Op]]:
    """A step of training: values with several readers, weights read and written, and an arena that is used again."""
    n, k = ng.Axis("N", 2), ng.Axis("K", 2)
    data, want = ng.placeholder([H, n]), ng.placeholder([k, n])
    first = ng.variable([ng.Axis("C", 3), H], initial_value=np.linspace(-1, 1, 9).reshape(3, 3))
    second = ng.variable([k, first.axes[0]], initial_value=np.linspace(0, 1, 6).reshape(2, 3))
    hidden = ng.tanh(ng.dot(first, data))
    loss = ng.sum(ng.square(ng.dot(second, hidden) - want), out_axes=[])
    steps = [ng.assign(v, v - 0.1 * ng.deriv(loss, v)) for v in (first, second)]
    return [loss, ng.doall(steps), ng.sum(hidden, out_axes=[n]), ng.softmax(hidden, [n]), first, second], [data, want]


def _stepped(order: Callable[[Sequence[Sequence[int]]], Sequence[int]]) -> tuple[list[Any], str]:
    """What a step gives where launches run in some order, and its plan."""
    returns, inputs = _step()
    arrays = [np.linspace(-1, 1, 6).reshape(3, 2), np.linspace(0, 1, 4).reshape(2, 2)]
    with pytest.MonkeyPatch.context() as patch, ng.make_transformer("cuda") as transformer:
        patch.setattr(host_device, "latest_first", order)
        step = transformer.computation(returns, *inputs)
        found = [None if array is None else array.tobytes() for array in step(*arrays)]
        return found, step.plan()


@pytest.fixture(scope="module")
def one_by_one() -> tuple[list[Any], str]:
    """A step whose launches run in the order of the plan."""
    return _stepped(lambda after: range(len(after)))


@examples(3)
@given(st.randoms(use_true_random=False))
def test_a_step_gives_the_same_in_any_order_that_waits(
    one_by_one: tuple[list[Any], str], choice: random.Random
) -> None:
    expected, plan = one_by_one
    rows = [line for line in plan.splitlines() if line[0].isdigit()]
    assert not all(row.startswith(f"{n}, after {n - 1}: ") for n, row in enumerate(rows) if n)  # no chain
    assert _stepped(lambda after: _any_order(after, choice))[0] == expected


def _any_order(after: Sequence[Sequence[int]], choice: random.Random) -> list[int]:
    order: list[int] = []
    while len(order) < len(after):
        order.append(choice.choice([n for n in range(len(after)) if n not in order and {*after[n]} <= {*order}]))
    return order


def test_independent_products_wait_for_nothing() -> None:
    sides = [[ng.Axis("M", 4), ng.Axis("J", 5)], [ng.Axis("J", 5), ng.Axis("P", 3)]]
    pairs = [[ng.placeholder(axes) for axes in sides] for _ in range(8)]
    with ng.make_transformer("cuda") as transformer:
        products = [ng.dot(a, b) for a, b in pairs]
        computation = transformer.computation(products, *(side for pair in pairs for side in pair))
        arrays = [[np.full((4, 5), n, np.float32), np.ones((5, 3), np.float32)] for n in range(8)]
        for n, product in enumerate(computation(*(side for pair in arrays for side in pair))):
            assert (product == 5 * n).all()
        assert not any(", after " in line for line in computation.plan().splitlines())
