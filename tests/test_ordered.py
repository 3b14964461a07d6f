# SPDX-License-Identifier: Apache-2.0
"""In an ordered block what is built after a modification sees it; effects keep their order through every rewrite."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from programs import drawn

import ngraph_rewrite as ng

TARGETS = ng.transformer_choices()


@pytest.fixture(params=TARGETS)
def value(request: pytest.FixtureRequest) -> Callable[..., Any]:
    return lambda returns: run(returns, request.param)


def run(returns: Any, target: str) -> Any:
    with ng.make_transformer(target) as transformer:
        return transformer.computation(returns)()


def scalar(number: float, name: str = "x") -> ng.Op:
    return ng.variable([], "float64", initial_value=number, name=name)


# -- what a read sees -------------------------------------------------------------------------------


def test_what_is_built_later_sees_the_modification(value: Callable[..., Any]) -> None:
    x = scalar(1.0)
    with ng.ordered():
        before = x + 1
        ng.assign(x, 5)
        after = x + 1
    outside = x + 1
    assert value((before, after, outside, x)) == (2, 6, 2, 5)


def test_only_what_is_needed_runs(value: Callable[..., Any]) -> None:
    """A modification that nothing depends on does not happen."""
    x = scalar(1.0)
    with ng.ordered():
        before = x + 1
        ng.assign(x, 5)
    assert value((before, x)) == (2, 1)


def test_modifications_of_a_variable_follow_each_other(value: Callable[..., Any]) -> None:
    x = scalar(1.0)
    with ng.ordered():
        ng.assign(x, x * 10)
        ng.assign(x, x + 1)
        last = ng.assign(x, x * 2)
    assert value((last, x)) == (22, 22)


def test_a_modification_uses_what_was_read_before(value: Callable[..., Any]) -> None:
    """The value was built before the first modification: it is what it was then."""
    x = scalar(1.0)
    with ng.ordered():
        first = x + 1
        ng.fill(x, 100)
        ng.assign(x, first)
        last = x * 1
    assert value((last, x)) == (2, 2)


def test_every_modification_counts(value: Callable[..., Any]) -> None:
    x = ng.variable({"H": 4}, "int64", initial_value=[0, 1, 2, 3], name="x")
    with ng.ordered():
        ng.fill(x[0], 9)
        ng.set_item(x, slice(2, None), x[:2][::-1])
        x[::-1] + 0
        ng.assign(x[1], ng.sum(x, out_axes=[]))
        last = x + 0
    assert value(last).tolist() == [9, 20, 1, 9]


def test_two_variables_exchange_by_the_state_of_their_places(value: Callable[..., Any]) -> None:
    """Not as in `doall`: the second read sees the first write."""
    x, y = scalar(1.0, "x"), scalar(2.0, "y")
    with ng.ordered():
        ng.assign(x, y)
        ng.assign(y, x)
        both = x * 10 + y
    assert value((both, x, y)) == (22, 2, 2)


def test_a_temporary_is_read_after_it_was_written(value: Callable[..., Any]) -> None:
    t = ng.temporary([], "float64")
    with ng.ordered():
        ng.assign(t, 3)
        ng.assign(t, t * t)
        result = t + 1
    assert value(result) == 10


def test_sequences_say_more(value: Callable[..., Any]) -> None:
    """A sequence inside orders its items; what is built later sees its writes."""
    x = scalar(1.0)
    with ng.ordered():
        inner = ng.sequential([ng.assign(x, x + 1), ng.assign(x, x * 10), x])
        later = x + 5
    assert value((inner, later)) == (20, 25)


# -- user deps and other deps -----------------------------------------------------------------------


def test_the_last_modification_is_what_later_terms_wait_for() -> None:
    x, y = scalar(1.0, "x"), scalar(2.0, "y")
    assert x.user_deps == ()
    with ng.ordered():
        first = ng.assign(x, 5)
        assert x.user_deps == (first,)
        second = ng.assign(x, x + 1)
        part = ng.fill(y, 0)
        both = x * y
        assert (x.user_deps, y.user_deps) == ((second,), (part,))
    assert x.user_deps == ()
    assert (second.other_deps, both.other_deps, (both + 1).other_deps) == ((first,), (second, part), ())


def test_a_block_inside_begins_with_the_outer_one_and_is_forgotten() -> None:
    x, y = scalar(1.0, "x"), scalar(2.0, "y")
    with ng.ordered():
        outer = ng.assign(x, 5)
        with ng.ordered():
            assert x.user_deps == (outer,)
            ng.assign(x, 6)
            ng.assign(y, 6)
        assert (x.user_deps, y.user_deps) == ((outer,), ())


def test_a_block_that_fails_is_left() -> None:
    x = scalar(1.0)
    with pytest.raises(ZeroDivisionError), ng.ordered():
        ng.assign(x, 1)
        1 / 0  # noqa: B018
    assert x.user_deps == () and (x + 1).other_deps == ()


def test_a_modification_that_is_refused_changes_nothing() -> None:
    x = ng.variable([], "int64")
    with ng.ordered():
        with pytest.raises(ng.DTypeError):
            ng.assign(x, 0.5)
        assert x.user_deps == ()


def test_other_threads_are_not_affected() -> None:
    x = scalar(1.0)
    seen = []
    with ng.ordered():
        ng.assign(x, 5)
        thread = threading.Thread(target=lambda: seen.append((x + 1).other_deps))
        thread.start()
        thread.join()
    assert seen == [()]


def test_tasks_have_blocks_of_their_own() -> None:
    x = scalar(1.0)

    async def build(number: float) -> tuple[ng.Op, ...]:
        with ng.ordered():
            ng.assign(x, number)
            await asyncio.sleep(0)
            return (x + 0).other_deps

    async def both() -> list[tuple[ng.Op, ...]]:
        return await asyncio.gather(build(1), build(2))

    first, second = asyncio.run(both())
    assert len(first) == len(second) == 1 and first[0] is not second[0]


def test_many_modifications_are_no_limit() -> None:
    x = scalar(0.0)
    with ng.ordered():
        for _ in range(2000):
            last = ng.assign(x, x + 1)
    assert run(last, "reference") == 2000


# -- derivatives ------------------------------------------------------------------------------------


def test_a_derivative_is_by_the_value_that_is_read(value: Callable[..., Any]) -> None:
    x = scalar(3.0)
    with ng.ordered():
        ng.assign(x, 5)
        loss = x * x
    assert value(ng.deriv(loss, x)) == 10


def test_a_derivative_reads_what_its_dependent_read(value: Callable[..., Any]) -> None:
    rows = ng.variable([ng.Axis("REC", 3)], "float64", initial_value=[2.0, 3.0, 4.0])
    x, w = scalar(1.0), scalar(0.5, "w")
    with ng.ordered():
        product, _ = ng.scan(lambda state, row: (state * row * w, None), x, rows)
        ng.assign(rows, 7)
        ng.assign(w, 9)
        found = ng.deriv(product, [x, w])
    assert value(found) == [24 / 8, 3 * 24 / 4]


def test_an_error_is_read_where_the_derivative_is_built(value: Callable[..., Any]) -> None:
    x, error = scalar(1.0), scalar(1.0, "error")
    with ng.ordered():
        y = x * 3
        ng.assign(error, 10)
        assert value(ng.deriv(y, x, error=error)) == 30


# -- drawn programs ---------------------------------------------------------------------------------

NAMES = ("x", "y")
AXES = [ng.Axis("H", 3), ng.Axis("W", 3)]
State = dict[str, np.ndarray[Any, Any]]


@dataclass
class Block:
    """A drawn ordered block, interpreted line by line as Python would run it on arrays."""

    draw: Callable[[st.SearchStrategy[Any]], Any]
    variables: dict[str, ng.Op]
    state: State
    terms: list[tuple[ng.Op, Any]] = field(default_factory=list)

    def operand(self) -> tuple[ng.Op, Any]:
        now = [(self.variables[n], self.state[n]) for n in NAMES]
        return self.draw(st.sampled_from([*now, *now, *self.terms[-3:]]))

    def expression(self) -> tuple[ng.Op, Any]:
        (x, a), (y, b) = self.operand(), self.operand()
        kind = self.draw(st.sampled_from(["add", "subtract", "flip", "transpose", "sum", "kept"]))
        if kind == "flip":
            return x[::-1] + 1, a[::-1] + 1
        if kind == "transpose":
            return ng.cast_axes(ng.axes_with_order(x, AXES[::-1]), AXES) + y, a.T + b
        if kind == "sum":
            return y - ng.sum(x, out_axes=[AXES[1]]), b - a.sum(0)
        if kind == "kept":
            return ng.value_of(x), a.copy()
        return getattr(ng, kind)(x, y), getattr(np, kind)(a, b)

    def statement(self) -> None:
        kind = self.draw(st.sampled_from(["read", "assign", "part", "fill", "sequence"]))
        name = self.draw(st.sampled_from(NAMES))
        target = self.variables[name]
        if kind == "read":
            self.terms.append(self.expression())
            return
        if kind == "fill":
            row = self.draw(st.integers(-3, 2))
            ng.fill(target[row], 7)
            new = self.state[name].copy()
            new[row] = 7
        elif kind == "part":
            term, array = self.expression()
            step = self.draw(st.sampled_from([1, -1, 2, -2]))
            ng.set_item(target, (slice(None), slice(None, None, step)), term[:, ::step])
            new = self.state[name].copy()
            new[:, ::step] = array[:, ::step]
        elif kind == "assign":
            term, new = self.expression()
            ng.assign(target, term)
        else:
            term, array = self.expression()
            ng.sequential([ng.assign(target, term), ng.assign(target, target + 1)])
            new = array + 1
        self.state = {**self.state, name: np.array(new)}


@drawn(20)
@given(st.data())
def test_a_block_does_what_python_does_line_by_line(data: st.DataObject) -> None:
    start = {n: np.arange(9.0).reshape(3, 3) * (i + 1) for i, n in enumerate(NAMES)}
    variables = {n: ng.variable(AXES, "float64", initial_value=start[n], name=n) for n in NAMES}
    block = Block(data.draw, variables, start)
    with ng.ordered():
        for _ in range(data.draw(st.integers(1, 6))):
            block.statement()
        last = [variables[n] + 0 for n in NAMES]
    for target in TARGETS:
        found = run([*last, *(t for t, _ in block.terms)], target)
        expected = [*(block.state[n] for n in NAMES), *(v for _, v in block.terms)]
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other, err_msg=target)


@dataclass
class Nest:
    """Drawn `sequential` and `doall`, nested, with writes to whole variables and to rows."""

    draw: Callable[[st.SearchStrategy[Any]], Any]
    variables: dict[str, ng.Op]

    def value(self, state: State) -> tuple[ng.Op, Any]:
        x, y = (self.draw(st.sampled_from(NAMES)) for _ in range(2))
        if self.draw(st.booleans()):
            return self.variables[x] - self.variables[y][::-1], state[x] - state[y][::-1]
        return ng.maximum(self.variables[x], self.variables[y]) + 1, np.maximum(state[x], state[y]) + 1

    def write(self, state: State, memory: State) -> tuple[ng.Op, set[str]]:
        """One write: its value sees `state`, what it leaves alone is what `memory` has by then."""
        name, (term, array) = self.draw(st.sampled_from(NAMES)), self.value(state)
        if self.draw(st.booleans()):
            memory[name] = array.copy()
            return ng.assign(self.variables[name], term), {name}
        row = self.draw(st.integers(0, 2))
        memory[name] = memory[name].copy()
        memory[name][row] = array[row]
        return ng.set_item(self.variables[name], row, term[row]), {name}

    def group(self, state: State, memory: State, depth: int) -> tuple[ng.Op, set[str]]:
        """Writes in order, each seeing those before it in its own group; or all seeing `state`. And what they wrote."""
        ordered, items, written = self.draw(st.booleans()), [], set()
        for _ in range(self.draw(st.integers(1, 3))):
            inner = depth and self.draw(st.booleans())
            item, names = self.group(state, memory, depth - 1) if inner else self.write(state, memory)
            items.append(item)
            written |= names
            if ordered:
                state = {**state, **{n: memory[n] for n in names}}
        return ng.doall([ng.sequential(items)] if ordered else items), written


@drawn(26)
@given(st.data())
def test_nested_sequences_and_doalls_keep_their_order(data: st.DataObject) -> None:
    start = {n: np.arange(9.0).reshape(3, 3) * (i + 1) for i, n in enumerate(NAMES)}
    variables = {n: ng.variable(AXES, "float64", initial_value=start[n], name=n) for n in NAMES}
    memory = dict(start)
    effects = Nest(data.draw, variables).group(start, memory, 2)[0]
    for target in TARGETS:
        found = run([effects, *(variables[n] for n in NAMES)], target)[1:]
        for one, n in zip(found, NAMES, strict=True):
            np.testing.assert_array_equal(one, memory[n], err_msg=f"{n} on {target}")


@given(st.lists(st.integers(0, 5), max_size=40))
def test_of_many_variables_the_last_write_of_each_is_waited_for(numbers: list[int]) -> None:
    variables = [ng.variable([], name=f"v{i}") for i in range(6)]
    last: dict[int, ng.Op] = {}
    with ng.ordered():
        for number in numbers:
            last[number] = ng.assign(variables[number], float(number))
            assert (variables[number] + 1).other_deps == (last[number],)
        assert [v.user_deps for v in variables] == [(last[i],) if i in last else () for i in range(6)]
