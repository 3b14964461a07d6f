# SPDX-License-Identifier: Apache-2.0
"""`ng.trace_calls`: who listens hears of every op, in an order in which it could be computed, and changes nothing."""

from __future__ import annotations

import io
import re
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ngraph_rewrite as ng

H, N = ng.Axis("H", 3), ng.Axis("N")
LINE = re.compile(r"(%\w+): \S.* = (\w+\.\w+)\((.*)\)")


def told(computation: ng.Computation, *arrays: object, values: bool = False) -> tuple[object, list[str]]:
    """The result of a call, and its lines."""
    lines: list[str] = []
    with ng.trace_calls(lines.append, values=values):
        return computation(*arrays), lines


def check_order(lines: list[str], given: set[str]) -> None:
    """Every value is defined before it is used, and once."""
    known = set(given)
    for line in lines:
        found = LINE.match(line)
        assert found, line
        name, _, inside = found.groups()
        assert set(re.findall(r"%\w+", inside)) <= known, line
        assert name not in known
        known.add(name)


@pytest.mark.parametrize("target", ["reference", "cpu"])
def test_each_op_is_one_line(target: str) -> None:
    x = ng.placeholder([H, N], name="x")
    y = ng.sum(ng.softmax(ng.tanh(x) * 2, normalization_axes=[H]), out_axes=[N])
    with ng.make_transformer(target) as transformer:
        computation = transformer.computation(y, x)
        plain = computation(np.ones((3, 2)))
        found, lines = told(computation, np.ones((3, 2)))
    np.testing.assert_array_equal(found, plain)
    check_order(lines, {"%x"})
    assert any(".tanh(" in line for line in lines) and len(lines) >= 4
    if target == "reference":
        assert [LINE.match(line)[2] for line in lines] == ["axes.tanh", "axes.multiply", "axes.softmax", "axes.sum"]
        assert all(f"# {__file__.rpartition('/')[2]}:" in line for line in lines)


@pytest.mark.parametrize("target", ["reference", "cpu"])
def test_values_are_those_that_were_computed(target: str) -> None:
    x = ng.placeholder([H], name="x")
    big = ng.placeholder([N], name="big")
    with ng.make_transformer(target) as transformer:
        first = transformer.computation(ng.exp(x), x)
        second = transformer.computation([big * 2, big > 3], big)
        _, lines = told(first, [0, 0, 0], values=True)
        assert lines[0].endswith("  -> [1. 1. 1.]") or lines[1].endswith("  -> [1. 1. 1.]")
        _, lines = told(second, [*range(9), np.nan], values=True)
        assert any(line.endswith("  -> 0 to 16, mean 8, 1 not finite") for line in lines)
        assert any(line.endswith("  -> 5 of 10 true") for line in lines)


@pytest.mark.parametrize("target", ["reference", "cpu"])
def test_effects_are_told_in_their_order(target: str) -> None:
    v = ng.variable([H], initial_value=1.0, name="v")
    program = ng.sequential([ng.assign(v, v + 1), ng.assign(v, v * 3), v + 0.5])
    with ng.make_transformer(target) as transformer:
        result, lines = told(transformer.computation(program), values=True)
        np.testing.assert_array_equal(result, [6.5, 6.5, 6.5])
        np.testing.assert_array_equal(transformer.get(v), [6, 6, 6])
    check_order(lines, {"%v"})
    short = [LINE.match(line)[2].partition(".")[2] for line in lines]
    computed = [s for s in short if s in ("add", "multiply", "assign")]
    assert computed == ["add", "assign", "multiply", "assign", "add"]


@pytest.mark.parametrize("target", ["reference", "cpu"])
def test_results_that_need_no_kernel_are_told_too(target: str) -> None:
    x = ng.placeholder([H, N], name="x")
    with ng.make_transformer(target) as transformer:
        result, lines = told(transformer.computation(ng.axes_with_order(x, [N, H]), x), np.eye(3, 2))
    np.testing.assert_array_equal(result, np.eye(2, 3))
    assert lines
    check_order(lines, {"%x"})


@pytest.mark.parametrize("target", ["reference", "cpu"])
@given(ops=st.lists(st.sampled_from(["tanh", "add", "sum", "assign", "reuse"]), max_size=6), n=st.integers(0, 2))
@settings(max_examples=8, deadline=None)
def test_listening_changes_no_value(target: str, ops: list[str], n: int) -> None:
    x, v = ng.placeholder([N], name="x"), ng.variable([], initial_value=1.0, name="v")
    terms, y = [x], x
    steps: list[ng.Op] = []
    for op in ops:
        if op == "assign":
            steps.append(ng.assign(v, v + ng.sum(y, out_axes=[])))
            continue
        y = {"tanh": ng.tanh(y), "add": y + v, "sum": y - ng.sum(y, out_axes=[]), "reuse": y * terms[0]}[op]
        steps.append(y)
        terms.append(y)
    program = ng.sequential([*steps, y + v])
    values = np.linspace(-1, 1, n, dtype=np.float32)
    found = []
    for listening in (False, True):
        with ng.make_transformer(target) as transformer:
            computation = transformer.computation(program, x)
            results = [told(computation, values)[0] if listening else computation(values) for _ in range(2)]
            found.append([*results, transformer.get(v) if "assign" in ops else 0])
    for plain, traced in zip(*found, strict=True):
        np.testing.assert_array_equal(plain, traced)


# -- who listens ---------------------------------------------------------------------------------------


def test_lines_go_to_the_standard_output_or_a_stream(capsys: pytest.CaptureFixture[str]) -> None:
    x, stream = ng.placeholder([H], name="x"), io.StringIO()
    with ng.make_transformer("reference") as transformer:
        computation = transformer.computation(ng.exp(x), x)
        with ng.trace_calls():
            computation([1, 2, 3])
            with ng.trace_calls(stream):  # the inner one hears
                computation([1, 2, 3])
        computation([1, 2, 3])
    printed = capsys.readouterr().out
    assert printed == stream.getvalue() and printed.count("\n") == 1


def test_nothing_is_told_afterwards_nor_to_other_threads() -> None:
    x = ng.placeholder([H], name="x")
    lines: list[str] = []
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(ng.exp(x), x)
        with pytest.raises(ng.ComputationError), ng.trace_calls(lines.append):
            computation()
        computation([1, 2, 3])
        with ng.trace_calls(lines.append):
            other = threading.Thread(target=computation, args=([1, 2, 3],))
            other.start()
            other.join()
    assert lines == []


@pytest.mark.parametrize("wrong", [3, "file.txt"])
def test_it_takes_a_stream_or_a_function(wrong: object) -> None:
    with pytest.raises(ng.ArgumentError, match="neither a stream nor a function"), ng.trace_calls(wrong):  # type: ignore[arg-type]
        pass


@pytest.mark.parametrize("target", ["reference", "cpu"])
def test_a_scan_is_told(target: str) -> None:
    T = ng.Axis("T", 4, "recurrent")
    x = ng.placeholder([T, H], name="x")

    def step(state: ng.Op, row: ng.Op) -> tuple[ng.Op, ng.Op]:
        new = ng.tanh(state + row)
        return new, new

    state, rows = ng.scan(step, ng.constant(np.zeros(3, np.float32), [H]), x, axis=T)
    with ng.make_transformer(target) as transformer:
        computation = transformer.computation([state, rows], x)
        plain = computation(np.ones((4, 3)))
        found, lines = told(computation, np.ones((4, 3)), values=True)
    for a, b in zip(plain, found, strict=True):
        np.testing.assert_array_equal(a, b)
    assert any(".scan(" in line for line in lines) and any(".tanh(" in line for line in lines)
