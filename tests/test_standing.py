# SPDX-License-Identifier: Apache-2.0
"""What constants alone make is computed once; whoever asks cannot tell it from what is computed in each call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ngraph_rewrite as ng
from ngraph_rewrite import standing
from ngraph_rewrite.lowering.passes import Lowering
from ngraph_rewrite.preparation import Preparation
from ngraph_rewrite.standing import Standing, worth_once
from ngraph_rewrite.targets.evaluation import evaluate
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological

xp = ng.numpy
Array = np.ndarray[Any, Any]
NUMBERS = np.linspace(0, 1, 40_000, dtype=np.float32).reshape(200, 200)


def table() -> Op:
    """Sines of 40,000 numbers: dear enough."""
    return xp.sin(ng.constant(NUMBERS))


# -- the graph ------------------------------------------------------------------------------------------

STEPS = (
    lambda x, y: xp.add(x, y),
    lambda x, y: xp.multiply(x, y),
    lambda x, y: xp.matmul(x, y),
    lambda x, y: xp.where(xp.less(x, y), x, y),
    lambda x, y: xp.sort(x, axis=0),
    lambda x, y: xp.permute_dims(x, (1, 0)),
    lambda x, y: xp.broadcast_to(xp.sum(x, axis=0), (3, 3)),
    lambda x, y: xp.reshape(xp.cumulative_sum(xp.reshape(x, (9,)), axis=0), (3, 3)),
)
PROGRAMS = st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 99), st.integers(0, 99)), min_size=1, max_size=12)


def lowered(returns: Sequence[Op], *inputs: Op) -> Lowering:
    with ng.make_transformer("cpu") as transformer:
        return transformer.computation(list(returns), *inputs).lowering


def once(returns: Sequence[Op], *inputs: Op) -> list[str]:
    return list(map(str, worth_once(lowered(returns, *inputs).order)))


def by_meanings(terms: Sequence[Op]) -> list[Array]:
    found = evaluate(terms, {})
    return [found[term] for term in terms]


@settings(max_examples=40, deadline=None)
@given(PROGRAMS)
def test_a_graph_with_constants_has_the_values_of_the_graph(program: list[Any]) -> None:
    x, numbers = ng.placeholder((3, 3), "int64"), np.arange(9).reshape(3, 3) % 5
    pool: list[Op] = [x, ng.constant(numbers - 2), xp.reshape(xp.arange(9), (3, 3))]
    for step, one, other in program:
        pool.append(step(pool[one % len(pool)], pool[other % len(pool)]))
    lowering = lowered(pool, x)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(standing, "LEAST_TIME", 0)
        patch.setattr(standing, "rate", lambda size: 10**9)  # as if it took no time to read
        found = Standing(lowering.roots, [], lowering.order, by_meanings)
        assert not worth_once(topological(found.roots)), "nothing is left to be computed once"
    (given,) = [t for t in lowering.order if t.definition.name == "core.placeholder"]
    values, expected = evaluate(found.roots, {given: numbers}), evaluate(pool, {x: numbers})
    for new, old in zip(found.roots, pool, strict=True):
        assert values[new].dtype == expected[old].dtype
        np.testing.assert_array_equal(values[new], expected[old])


def test_the_largest_of_what_is_dear_is_computed_and_nothing_else() -> None:
    x = ng.placeholder((200, 200))
    dear, mask = xp.tan(table()), xp.less(xp.arange(200)[:, None], xp.arange(200))
    roots = [xp.add(x, xp.permute_dims(dear, (1, 0))), xp.where(mask, x, dear)]
    assert once(roots, x) == ["semi.tan(semi.sin(array[200, 200]))"]


def test_what_is_large_is_computed_of_its_small_parts() -> None:
    x, row = ng.placeholder((200, 3000)), xp.sum(table(), axis=1)
    wide = xp.broadcast_to(xp.reshape(row, (200, 1)), (200, 3000))
    assert once([xp.add(x, wide)], x) == ["semi.sum(semi.sin(array[200, 200]), axes=(1,))"]


def test_what_is_no_work_in_a_map_is_work_before_a_product() -> None:
    x, y = ng.placeholder((1000, 200)), ng.placeholder((10, 1000))
    scaled = xp.multiply(ng.constant(np.resize(NUMBERS, (1000, 200))), ng.constant(NUMBERS[0]))
    assert not once([xp.add(x, scaled)], x)
    assert len(once([xp.add(x, scaled), xp.matmul(y, scaled)], x, y)) == 1


def test_numbers_of_a_call_are_no_constants() -> None:
    x, w = ng.placeholder((200, 200)), ng.variable((), initial_value=1.0)
    n = ng.placeholder((None, 200))
    assert not once([xp.sin(x), w * xp.sin(w + NUMBERS), xp.sin(n) + xp.sin(xp.zeros_like(n)), table()], x, n)


# -- computations ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["cpu", pytest.param("cuda", marks=pytest.mark.cuda)])
def test_calls_have_the_values_and_not_the_work(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = NUMBERS if target == "cpu" else NUMBERS[:20, :20].copy()  # of many, a simulated GPU takes seconds
    monkeypatch.setattr(standing, "LEAST_TIME", standing.LEAST_TIME * numbers.size // NUMBERS.size)
    x, sines = ng.placeholder(numbers.shape, name="x"), xp.sin(ng.constant(numbers))
    result = xp.add(x, xp.tan(sines))
    with ng.make_transformer(target) as transformer:
        computation = transformer.computation(result, x)
        found = computation(numbers)
        np.testing.assert_allclose(found, numbers + np.tan(np.sin(numbers)), rtol=1e-6)
        assert "tan(" not in computation.source()
        assert computation.stats()["once_bytes"] == numbers.nbytes
        assert f"once, before the first call: semi.tan(semi.sin(...)), {numbers.nbytes:,} bytes" in computation.plan()
        np.testing.assert_array_equal(numbers + computation.value(result.args[1]), found)


def test_explanations_tell_that_it_was_once() -> None:
    x, sines = ng.placeholder((200, 200), name="x"), table()
    tangents = xp.tan(sines)
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(x + tangents, x)
        computation(NUMBERS)
        assert computation.explain(tangents).endswith("computed once, before the first call")
        with pytest.raises(ng.InvalidHandleError, match="computed once, before the first call, on the way to a const"):
            computation.value(sines)
        np.testing.assert_allclose(computation.value(sines, recompute=True), np.sin(NUMBERS), rtol=1e-6)


def test_once_is_once_for_all_lengths_and_again_when_memory_was_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    compute = Preparation._computed
    monkeypatch.setattr(Preparation, "_computed", lambda self, terms: asked.append(len(terms)) or compute(self, terms))
    x = ng.placeholder((None, 200), name="x")
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(x + xp.sum(table(), axis=0), x)
        for count in (2, 3, 2):
            wanted = NUMBERS[:count] + np.sin(NUMBERS).sum(axis=0)
            np.testing.assert_allclose(computation(NUMBERS[:count]), wanted, rtol=1e-5)
        assert asked == [1]
        computation.forget_executables()
        computation(NUMBERS[:2])
        assert asked == [1, 1]


def test_writes_and_steps_read_it_too() -> None:
    w = ng.variable((200, 200), initial_value=0.0)
    with ng.make_transformer("cpu") as transformer:
        step = transformer.computation(ng.assign(w, w + table()))
        step()
        step()
        np.testing.assert_allclose(transformer.computation(w)(), 2 * np.sin(NUMBERS), rtol=1e-6)
    x = ng.placeholder((200, 200), name="x")
    with ng.make_transformer("cpu") as transformer:
        call = transformer.computation(xp.matmul(x, table()), x).step(NUMBERS)
        for _ in call:
            pass
        np.testing.assert_allclose(call.results(), NUMBERS @ np.sin(NUMBERS), rtol=1e-4)


def test_draws_differ_from_call_to_call_and_results_alone_are_computed_by_each() -> None:
    drawn = xp.sin(xp.random.uniform(size=(200, 200)))
    with ng.make_transformer("cpu", seed=1) as transformer:
        computation = transformer.computation([drawn, table()])
        (first, alone), (second, _) = computation(), computation()
        assert (first != second).any()
        np.testing.assert_allclose(alone, np.sin(NUMBERS), rtol=1e-6)
        assert computation.stats()["once_bytes"] == 0
