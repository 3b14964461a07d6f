# SPDX-License-Identifier: Apache-2.0
"""A term that is read in several ways is kept in memory or computed again, whichever the formula of costs says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from math import inf

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from programs import EXACT, Program, assert_same, both, drawn

import ngraph_rewrite as ng
from ngraph_rewrite import semi
from ngraph_rewrite.plan import fusion
from ngraph_rewrite.plan.costs import Costs, Recomputed, Use, costs_of, recomputed
from ngraph_rewrite.plan.kinds import kinds_of
from ngraph_rewrite.plan.shares import GPU, LAUNCH, Speed, op_time, rate


def x_of(*lengths: int) -> ng.Op:
    return ng.placeholder([ng.Axis(name, n) for name, n in zip("HWC", lengths, strict=False)], name="x")


def kernels(returns: list[ng.Op], *inputs: ng.Op) -> list[str]:
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(returns, *inputs)
        computation(*[np.ones(p.shape, p.dtype) for p in inputs])  # type: ignore[type-var]
        return [name.partition("_")[0] for name in computation.stats()["kernels"]]


@contextmanager
def launch_of(nanoseconds: float) -> Iterator[None]:
    """What decides is the launch that keeping a term takes: with an endless one nothing is kept, below 0 everything."""

    def costs(found: Recomputed, uses: Iterable[Use], speed: Speed) -> Costs:
        return costs_of(found, uses, speed._replace(launch=nanoseconds))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fusion, "costs_of", costs)
        yield


# -- the formula ------------------------------------------------------------------------------------


def test_costs_are_those_of_bytes_operations_and_a_launch() -> None:
    x = ng.placeholder(ng.anonymous([1000]))
    z = semi.negative(x)
    y = semi.exp(z)
    computed = recomputed(y, kinds_of([x, y, z]), (), {x: (), z: (), y: ()})
    assert computed == ((y, z), (x,))
    found = costs_of(computed, [(x, (), 1), (y, (), 3)])
    each, bytes_each = op_time("exp") + op_time("negative"), 4000 / rate(8000)
    assert found.again == pytest.approx(1000 * each * (1 + 3) + 2 * bytes_each)
    assert found.kept == pytest.approx(LAUNCH + 1000 * each + bytes_each + bytes_each * (1 + 2))


def test_a_faster_machine_whose_launches_take_long_computes_more_again() -> None:
    """A vector that each of many rows reads, as float32."""
    x = ng.placeholder(ng.anonymous([1024]), dtype="bfloat16")
    y = semi.cast(x, dtype="float32")
    found = recomputed(y, kinds_of([x, y]), (), {x: (), y: ()})
    assert found is not None
    for machine, again in ((Speed(), False), (GPU, True), (GPU._replace(launch=0), False)):
        assert costs_of(found, [(y, (), 65536)], machine).is_cheaper_again == again
    one, other = (costs_of(found, [(y, (), 3)], Speed(50, times, times)) for times in (1, 10))
    assert other.again == pytest.approx(one.again / 10)
    assert other.kept - 50 == pytest.approx((one.kept - 50) / 10)


def test_what_is_not_in_memory_anyway_has_no_costs() -> None:
    x = ng.placeholder(ng.anonymous([10, 10]))
    nobody = dict.fromkeys([x, *(shown := [semi.dot(x, x), semi.sum(x, axes=(0,)), semi.exp(x)])], ())
    kinds = kinds_of([x, *shown])
    assert [recomputed(semi.exp(y), kinds, (), nobody) is None for y in shown] == [True, True, False]
    read = {**nobody, shown[2]: [(x, (), 1)]}
    assert recomputed(semi.exp(shown[2]), kinds, (), read) is None


# -- what it decides --------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "found"), [(4, ["reduce", "reduce"]), (400, ["map", "reduce", "reduce"])])
def test_what_two_kernels_read_is_computed_twice_if_it_is_small(n: int, found: list[str]) -> None:
    y = ng.exp(x_of(n, n))
    assert kernels([ng.sum(y, out_axes=[y.axes[0]]), ng.sum(y, out_axes=[y.axes[1]])], y.args[0]) == found


def test_what_takes_less_than_its_bytes_is_computed_twice_however_large() -> None:
    y = -x_of(1000, 1000)
    sums = [ng.sum(y, out_axes=[axis]) for axis in y.axes]
    assert set(kernels(sums, y.args[0])) == {"reduce"}


@pytest.mark.parametrize(("n", "found"), [(4, ["map"]), (400, ["map", "map"])])
def test_what_is_repeated_is_computed_for_each_time_if_it_is_small(n: int, found: list[str]) -> None:
    x, y = x_of(n), x_of(n, n)
    assert kernels([ng.exp(x) * y], x, y) == found


@pytest.mark.parametrize(("n", "found"), [(4, ["map"]), (4000, ["map", "map"])])
def test_what_is_read_forwards_and_backwards_is_computed_twice_if_it_is_small(n: int, found: list[str]) -> None:
    y = ng.exp(x_of(n))
    assert kernels([y + y[::-1]], y.args[0]) == found


def test_windows_compute_nothing_again() -> None:
    x = ng.placeholder([ng.Axis("C", 1), ng.Axis("H", 4), ng.Axis("W", 4), ng.Axis("N", 1)], name="x")
    assert kernels([ng.pooling(-x, op="max", size={"H": 2, "W": 2}, stride=1)], x)[0] == "map"


def test_a_result_is_kept() -> None:
    y = ng.exp(x_of(4))
    assert len(kernels([y, ng.sin(y), y[::-1] * 2], y.args[0])) == 3


def test_what_a_write_ends_is_read_once() -> None:
    """Else every kernel that computes it again would have to come before the write."""
    v = ng.variable([ng.Axis("H", 3)], initial_value=np.arange(3.0))
    doubled = v * 2
    returns = ng.sequential([ng.assign(v, doubled + 1), ng.sum(doubled, out_axes=[]) + ng.sum(v, out_axes=[])])
    with ng.make_transformer("cpu") as transformer, ng.make_transformer("reference") as reference:
        for _ in range(2):
            assert_same([reference.computation(returns)()], [transformer.computation(returns)()])


# -- the answers are the same -----------------------------------------------------------------------


@pytest.mark.parametrize("launch", [inf, -inf])
@drawn(12)
@given(data=st.data())
def test_either_way_gives_the_same_answers(launch: float, data: st.DataObject) -> None:
    program = Program(data.draw, ("float32", "int32", "bool"), {"H": 2, "W": 3, "K": 3})
    for _ in range(2):
        program.leaf(st.integers(-3, 3))
    program.grow(EXACT, data.draw(st.integers(2, 9)))
    returns = [program.terms[-1], *data.draw(st.lists(st.sampled_from(program.terms), max_size=2))]
    with launch_of(launch):
        expected, found = both(returns, program.inputs, program.arguments)
    assume(all(np.abs(r.astype(float)).max(initial=0) < 1e6 for r in expected[0]))  # sums are exact
    for one, other in zip(expected, found, strict=True):
        assert_same(one, other)


# -- it is explained --------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "where"), [(4, "inside the kernels of "), (4000, "by map_")])
def test_an_explanation_says_what_each_way_costs(n: int, where: str) -> None:
    y = ng.exp(x_of(n))
    returns = [ng.sin(y), ng.sum(y, out_axes=[])]
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(returns, y.args[0])
        computation(np.ones(n, np.float32))
        told = computation.explain(y)
    assert f"computed {where}" in told
    assert "to compute it in each of 2 places takes about" in told and "to keep it in memory" in told
