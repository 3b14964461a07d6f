# SPDX-License-Identifier: Apache-2.0
"""`Computation.step`: a call kernel by kernel gives what a call gives, and any handle has its value in between."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ngraph_rewrite as ng
from ngraph_rewrite.stepping import Stepped
from ngraph_rewrite.targets.cpu import CpuExecutable
from ngraph_rewrite.targets.target import Program

H, N = ng.Axis("H", 3), ng.Axis("N")
TARGETS = ["reference", "cpu", pytest.param("cuda", marks=pytest.mark.cuda)]


def layers() -> tuple[ng.Op, list[ng.Op]]:
    """Two products: kernels with something between them."""
    x = ng.placeholder([H, N], name="x")
    w = ng.placeholder([ng.Axis("H1", 3), H], name="w")
    first = ng.tanh(ng.dot(w, x))
    return ng.sum(ng.exp(first) * 2, out_axes=[N]), [x, w]


def arguments(n: int = 2) -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape).astype(np.float32) for shape in ((3, n), (3, 3))]


@pytest.mark.parametrize("target", TARGETS)
def test_each_kernel_runs_when_it_is_asked_for(target: str) -> None:
    y, inputs = layers()
    with ng.make_transformer(target) as transformer:
        computation = transformer.computation(y, *inputs)
        expected = computation(*arguments())
        call = computation.step(*arguments())
        steps = list(call)
        np.testing.assert_array_equal(call.results(), expected)
        assert [s.number for s in steps] == list(range(len(steps))) and len(steps) >= 2
        np.testing.assert_array_equal(next(reversed(steps[-1].values.values())).ravel(), expected.ravel())
        if target != "reference":
            assert [k for s in steps for k in s.kernels] == computation.stats()["kernels"]
        assert list(call) == [] and call.results() is call.results()


def test_a_step_is_one_line() -> None:
    x = ng.placeholder([H], name="x")
    with ng.make_transformer("reference") as transformer:
        (step,) = transformer.computation(ng.tanh(x), x).step([1, 2, 3])
    assert str(step).startswith(f"0: meaning computes axes.tanh(x), from {__file__}:")


@pytest.mark.parametrize("target", TARGETS)
def test_variables_have_what_was_written_last(target: str) -> None:
    v, x = ng.variable([H], initial_value=1.0, name="v"), ng.placeholder([H], name="x")
    before, total = v * 3, ng.sum(x, out_axes=[])
    program = ng.sequential([ng.assign(v, v + total), ng.assign(v, v * total), v - 1])
    with ng.make_transformer(target) as transformer:
        computation = transformer.computation([program, before], x)
        call = computation.step([1, 2, 3])
        seen = [call.value(v).tolist()]
        for _ in call:
            seen.append(call.value(v).tolist())
            np.testing.assert_array_equal(call.value(before), [3, 3, 3])  # as it was when the call began
        changes = [b for a, b in zip([None, *seen], seen, strict=False) if a != b]
        assert changes[0] == [1, 1, 1] and changes[-1] == [42, 42, 42]
        assert changes in ([[1] * 3, [7] * 3, [42] * 3], [[1] * 3, [42] * 3])
        np.testing.assert_array_equal(call.results()[0], [41, 41, 41])
        np.testing.assert_array_equal(transformer.get(v), [42, 42, 42])


@pytest.mark.parametrize("target", ["reference", "cpu"])
def test_draws_are_those_of_a_call_and_others_draw_on(target: str) -> None:
    noise = ng.uniform([H])
    with ng.make_transformer(target, seed=3) as transformer:
        computation = transformer.computation(noise * 2)
        calls = [computation() for _ in range(3)]
    with ng.make_transformer(target, seed=3) as transformer:
        computation = transformer.computation(noise * 2)
        call = computation.step()
        np.testing.assert_array_equal(computation(), calls[1])
        np.testing.assert_array_equal(call.value(noise * 2), calls[0])
        np.testing.assert_array_equal(call.results(), calls[0])
        np.testing.assert_array_equal(computation(), calls[2])


@pytest.mark.parametrize("target", TARGETS)
def test_other_calls_may_be_made_meanwhile(target: str) -> None:
    y, inputs = layers()
    one, other = arguments(2), [2 * a for a in arguments(2)]
    with ng.make_transformer(target) as transformer:
        computation = transformer.computation(y, *inputs)
        wanted = computation(*one), computation(*other)
        calls = computation.step(*one), computation.step(*other)
        next(calls[0])
        np.testing.assert_array_equal(computation(*other), wanted[1])
        next(calls[1])
        threads = [threading.Thread(target=call.results) for call in calls]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for call, values in zip(calls, wanted, strict=True):
            np.testing.assert_array_equal(call.results(), values)


def test_a_call_that_has_ended_is_the_last_call() -> None:
    x = ng.placeholder([H], name="x")
    y, out = ng.exp(x), np.empty(3, np.float32)
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(y * 1.0, x)
        call = computation.step(feed_dict={x: [0, 0, 0]}, out=out)
        with pytest.raises(ng.InvalidHandleError, match="nothing has run yet"):
            computation.value(y)
        assert call.results() is out
        np.testing.assert_array_equal(computation.value(y), [1, 1, 1])


def test_a_scan_is_one_step_and_tuples_have_a_value_for_each_part() -> None:
    x = ng.placeholder([ng.Axis("REC", 4), H], name="x")
    last, outputs = ng.scan(lambda s, t: (ng.tanh(s + t), s * t), ng.constant(0.0, [H]), x)
    pair = ng.make_tuple(ng.exp(last), outputs)
    with ng.make_transformer("reference") as transformer:
        right = transformer.computation(pair, x)(np.ones((4, 3)))
    with ng.make_transformer("cpu") as transformer:
        call = transformer.computation(ng.sum(last, out_axes=[]), x).step(np.ones((4, 3)))
        steps = list(call)
        for found, wanted in zip(call.value(pair), right, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-6)
        assert len(steps) < 4


# -- memory that is written more than once ---------------------------------------------------------------


def written_again(v: ng.Op, value: ng.Op, x: ng.Op) -> tuple[ng.Op, ng.Op]:
    """A value is written to a variable, which is read, and another one then; and what was read."""
    read = ng.exp(v)
    last = ng.assign(v, v * 2 + ng.sum(x, out_axes=[]))
    return ng.sequential([ng.assign(v, value), read, last, v * 3]), read


@pytest.mark.parametrize("target", TARGETS)
def test_what_was_read_between_two_writes_stays_what_it_was(target: str) -> None:
    """Of a variable that a loop writes, and of two to which one value is written."""
    v, w = (ng.variable([H], initial_value=0.5, name=name) for name in "vw")
    xs, x = ng.placeholder([ng.Axis("REC", 6), H], name="xs"), ng.placeholder([H], name="x")
    last, _ = ng.scan(lambda s, t: (ng.tanh(s + t), s * t), ng.constant(0.0, [H]), xs)
    shared = ng.tanh(x) * ng.sum(x, out_axes=[])
    of_loop, of_both = written_again(v, last, xs), written_again(w, shared, x)
    both = ng.sequential([ng.assign(v, shared), of_both[0]])
    for program, read, given in ((of_loop[0], of_loop[1], xs), (both, of_both[1], x)):
        value = np.linspace(0.2, 1, int(np.prod(given.shape))).reshape(given.shape)
        expected = []
        for one in ("reference", target):
            with ng.make_transformer(one) as transformer:
                computation = transformer.computation([program, ng.tanh(read) * ng.sum(given, out_axes=[])], given)
                call = computation.step(value)
                list(call)
                expected.append([*call.results(), call.value(read)])
        for found, right in zip(*expected, strict=True):
            np.testing.assert_allclose(found, right, rtol=1e-5)


@pytest.mark.parametrize("target", ["cpu", pytest.param("cuda", marks=pytest.mark.cuda)])
def test_what_was_written_is_there_for_all_at_once(target: str) -> None:
    """For other calls, if others set a variable meanwhile, and if the call is let go."""
    v, w = (ng.variable([H], initial_value=i, name=n) for i, n in ((1.0, "v"), (5.0, "w")))
    x = ng.placeholder([H], name="x")
    total = ng.sum(x, out_axes=[])
    program = ng.sequential([ng.assign(v, v + total), ng.exp(ng.sum(v, out_axes=[]) * 0) + v])
    with ng.make_transformer(target) as transformer:
        computation, read = transformer.computation(program, x), transformer.computation([v * 1, w * 1])
        read()
        call = computation.step([1, 2, 3])
        next(step for step in call if any(t.definition.name == "core.assign" for t in step.terms))
        transformer.set(w, [0, 0, 0])
        assert [r.tolist() for r in read()] == [[7] * 3, [0] * 3]
        assert call.results().tolist() == [8] * 3 and transformer.get(v).tolist() == [7] * 3
        call = computation.step([1, 2, 3])
        next(step for step in call if any(t.definition.name == "core.assign" for t in step.terms))
        del call
        assert transformer.get(v).tolist() == [13] * 3 == read()[0].tolist()


def test_a_call_begins_with_its_first_kernel() -> None:
    v, x = ng.variable([H], initial_value=1.0, name="v"), ng.placeholder([H], name="x")
    before, array = v * 3, np.ones(3, np.float32)
    with ng.make_transformer("cpu") as transformer:
        program = ng.sequential([ng.assign(v, v + ng.sum(x, out_axes=[])), v - 1])
        call = transformer.computation([program, before + x], x).step(array)
        array[:] = 9  # what was given is what it was
        transformer.set(v, [10, 10, 10])
        next(call)
        assert call.value(before).tolist() == [30] * 3 and call.results()[1].tolist() == [31] * 3
        assert call.value(x).tolist() == [1] * 3


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_written_has_the_shape_of_its_variable(target: str) -> None:
    v, x = ng.variable(ng.anonymous((2, 3)), name="v"), ng.placeholder(ng.anonymous((6,)), name="x")
    with ng.make_transformer(target) as transformer:
        call = transformer.computation(ng.assign(v, ng.numpy.reshape(ng.tanh(x), (2, 3))), x).step(np.zeros(6))
        (step, *_) = [s for s in call if any(t.definition.name == "core.assign" for t in s.terms)]
        assert call.value(v).shape == (2, 3)
        assert [a.shape for t, a in step.values.items() if t.definition.name == "core.assign"] == [(2, 3)]
        with pytest.raises(ValueError, match="read-only"):
            next(iter(step.values.values()))[:] = 1  # `value` tells of these


@pytest.mark.parametrize("target", ["reference", "cpu"])
def test_parts_of_tuples_are_what_they_are_at_their_place(target: str) -> None:
    v, x = ng.variable([H], initial_value=1.0, name="v"), ng.placeholder([H, N], name="x")
    pair = ng.make_tuple(v + 1, ng.sum(x, out_axes=[]) + v)
    program = ng.sequential([ng.assign(v, v * 10), pair])
    with ng.make_transformer(target) as transformer:
        call = transformer.computation([program], x).step(np.ones((3, 2)))
        results = call.results()[0]
        for found, right in zip((*call.value(program), *call.value(pair)), (*results, *results), strict=True):
            np.testing.assert_array_equal(found, right)


# -- what is refused -----------------------------------------------------------------------------------


def test_wrong_arguments_are_refused_before_anything_runs() -> None:
    y, inputs = layers()
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(y, *inputs)
        with pytest.raises(ng.ComputationError, match="2 arguments|wants 2|inputs"):
            computation.step(arguments()[0])
        call = computation.step(*arguments())
        with pytest.raises(ng.ComputationError, match="is not an op"):
            call.value(3.0)  # type: ignore[arg-type]
        with pytest.raises(ng.InvalidHandleError, match="was not an input"):
            call.value(ng.exp(ng.placeholder([H], name="foreign")))


def test_what_is_closed_or_restored_goes_no_further(tmp_path: Path) -> None:
    y, inputs = layers()
    transformer = ng.make_transformer("cpu")
    computation = transformer.computation(y, *inputs)
    transformer.save(tmp_path / "state")
    call, ended = computation.step(*arguments()), computation.step(*arguments())
    results = ended.results()
    transformer.restore(tmp_path / "state")
    with pytest.raises(ng.ComputationError, match="restored"):
        next(call)
    call = computation.step(*arguments())
    transformer.close()
    with pytest.raises(ng.ClosedError):
        next(call)
    np.testing.assert_array_equal(ended.results(), results)


class Failing(CpuExecutable):
    """Its first kernel is interrupted."""

    def run_rows(self, inputs: Sequence[Any], results: Sequence[Any], call: int) -> Any:
        raise KeyboardInterrupt
        yield


class Whole:
    """A target of somebody's own, which knows of no rows."""

    def __init__(self, program: Program) -> None:
        self._does = CpuExecutable(program)
        self.run, self.source, self.stats, self.where = (
            self._does.run,
            self._does.source,
            self._does.stats,
            self._does.where,
        )


def test_an_interrupted_call_has_no_results() -> None:
    y, inputs = layers()
    target = ng.Target("failing", ng.find_target("cpu").base, Failing)
    with ng.make_transformer(target) as transformer:
        call = transformer.computation(y, *inputs).step(*arguments())
        with pytest.raises(KeyboardInterrupt):
            next(call)
        with pytest.raises(ng.ComputationError, match="interrupted"):
            call.results()


def test_a_target_without_rows_runs_at_once() -> None:
    y, inputs = layers()
    target = ng.Target("whole", ng.find_target("cpu").base, Whole)
    with ng.make_transformer(target) as transformer:
        computation = transformer.computation(y, *inputs)
        call = computation.step(*arguments())
        steps: list[Stepped] = list(call)
        assert steps == []
        np.testing.assert_array_equal(call.results(), computation(*arguments()))
        np.testing.assert_array_equal(call.value(y), call.results())
