# SPDX-License-Identifier: Apache-2.0
"""The order of effects: what each read of a variable sees, against an interpreter of drawn effect programs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from programs import drawn

import ngraph_rewrite as ng
from ngraph_rewrite.lowering import sequencing
from ngraph_rewrite.lowering.reads import Reads
from ngraph_rewrite.lowering.sequencing import sequence
from ngraph_rewrite.lowering.versions import Versions
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.op import build

TARGETS = ng.transformer_choices()


def scalar(value: float, name: str = "x") -> ng.Op:
    return ng.variable([], "float64", initial_value=value, name=name)


def run(returns: Any, calls: int = 1, target: str = "cpu") -> Any:
    with ng.make_transformer(target) as transformer:
        computation = transformer.computation(returns)
        return [computation() for _ in range(calls)][-1]


@pytest.fixture(params=TARGETS)
def value(request: pytest.FixtureRequest) -> Callable[..., Any]:
    return lambda returns, calls=1: run(returns, calls, request.param)


# -- the examples of the documents ------------------------------------------------------------------


def test_a_listed_handle_has_its_value_at_its_place(value: Callable[..., Any]) -> None:
    """x0 and x1 are the same expression; x0 stands before the assignment, and runs once although listed twice."""
    x = scalar(0.0)
    x0, x1 = x + x, x + x
    assert value((x0, x1, ng.sequential([x0, ng.assign(x, 2), x1, x0]))) == (0, 4, 0)


def test_a_returned_sequence_keeps_its_value(value: Callable[..., Any]) -> None:
    """`a` is 2 where it stands; a later assignment does not show in it."""
    x = scalar(1.0)
    a = ng.sequential([ng.assign(x, x * 2), x])
    b = ng.sequential([a, ng.assign(x, x + 1), x, a])
    assert value((a, b, x)) == (2, 2, 3)


def test_an_unsequenced_read_sees_the_state_at_the_start(value: Callable[..., Any]) -> None:
    x = scalar(0.0)
    assert value((x + 1, ng.assign(x, 5.0))) == (1, 5)


def test_a_returned_variable_is_its_state_at_the_end(value: Callable[..., Any]) -> None:
    x = scalar(1.0)
    assert value((x, ng.sequential([ng.assign(x, x + 1), ng.assign(x, x * 10)]))) == (20, 20)


def test_value_of_copies_at_its_place(value: Callable[..., Any]) -> None:
    x = scalar(1.0)
    old = ng.value_of(x)
    assert value((ng.sequential([old, ng.assign(x, x + 1), old]), x)) == (1, 2)


def test_what_was_stored_can_be_read_after_it_was_overwritten(value: Callable[..., Any]) -> None:
    x = scalar(1.0)
    first = ng.assign(x, 5)
    assert value(ng.sequential([first, ng.assign(x, 7), first + x])) == 12


def test_an_effect_in_an_argument_runs_once(value: Callable[..., Any]) -> None:
    """All arguments see the same state."""
    x = scalar(1.0)
    stepped = ng.sequential([ng.assign(x, x + 1), x])
    assert value((stepped * 10 + x, x)) == (21, 2)


def test_after_waits_for_its_effects(value: Callable[..., Any]) -> None:
    x = scalar(1.0)
    assert value((ng.after(x * 3, ng.assign(x, 5), ng.assign(x, x + 1)), x)) == (18, 6)


def test_doall_exchanges(value: Callable[..., Any]) -> None:
    x, y = scalar(1.0, "x"), scalar(2.0, "y")
    exchange = ng.doall([ng.assign(x, y), ng.assign(y, x)])
    assert value([exchange, x, y]) == [None, 2, 1]
    assert value([exchange, x, y], calls=2) == [None, 1, 2]


def test_an_assignment_that_ran_says_so_when_its_value_was_not_kept() -> None:
    x = scalar(1.0)
    first, last = ng.assign(x, x + 1), ng.assign(x, x * 10)
    with ng.make_transformer("reference") as transformer:
        computation = transformer.computation(ng.sequential([first, last, x + 0]))
        assert computation() == 20.0
        with pytest.raises(ng.InvalidHandleError, match="has no value: it ran, and what it wrote is not kept"):
            computation.value(first)


def test_what_ends_in_doall_has_no_value_either(value: Callable[..., Any]) -> None:
    x, y = scalar(1.0, "x"), scalar(2.0, "y")
    both = ng.doall([ng.assign(x, x + 10), ng.assign(y, y + 20)])
    assert value([ng.sequential([ng.assign(x, 5), both]), x, y]) == [None, 15, 22]
    assert value([ng.after(both, ng.assign(y, 7)), x]) == [None, 11]


def test_effects_outside_a_sequence_exchange_too(value: Callable[..., Any]) -> None:
    x, y = scalar(1.0, "x"), scalar(2.0, "y")
    assert value([ng.assign(x, y + 10), ng.assign(y, x + 20), x, y]) == [12, 21, 12, 21]


def test_state_is_kept_between_calls(value: Callable[..., Any]) -> None:
    x = scalar(1.0)
    assert value(ng.sequential([ng.assign(x, x * 2), x]), calls=5) == 32


def test_a_temporary_does_not_outlive_the_call(value: Callable[..., Any]) -> None:
    t = ng.temporary([], "float64", name="t")
    assert value(ng.sequential([ng.assign(t, 3), ng.assign(t, t * t), t + 1]), calls=2) == 10


@pytest.mark.parametrize("target", TARGETS)
def test_an_array_is_reversed_in_place(target: str) -> None:
    """The new value reads the old one out of step: it cannot be written where it is read."""
    x = ng.variable([ng.Axis("H", 5)], "int64", initial_value=np.arange(5))
    assert list(run((ng.assign(x, x[::-1]), x), 1, target)[1]) == [4, 3, 2, 1, 0]


@pytest.mark.parametrize("target", TARGETS)
def test_a_matrix_is_transposed_in_place(target: str) -> None:
    axes = [ng.Axis("H", 3), ng.Axis("W", 3)]
    x = ng.variable(axes, "int64", initial_value=np.arange(9).reshape(3, 3))
    flipped = ng.cast_axes(ng.axes_with_order(x, axes[::-1]), axes)
    assert run(ng.sequential([ng.assign(x, flipped), x]), 1, target).tolist() == np.arange(9).reshape(3, 3).T.tolist()


# -- errors -----------------------------------------------------------------------------------------


def test_a_temporary_read_before_it_is_written_is_an_error() -> None:
    t = ng.temporary([], name="t")
    with pytest.raises(ng.SequencingError, match="t is read before it is assigned"):
        run((t + 1, ng.assign(t, 5)))


def test_only_storage_can_be_assigned() -> None:
    with pytest.raises(ng.SequencingError, match="not storage"):
        ng.assign(ng.constant(1.0), 2.0)
    p = ng.placeholder([], name="p")
    unchecked = build(lookup("core.assign"), (p, ng.constant(1.0)), uid=Uid())
    with pytest.raises(ng.SequencingError, match="p, which is not storage"):
        sequence([unchecked])


def test_an_empty_sequence_is_an_error() -> None:
    with pytest.raises(ng.SequencingError):
        ng.sequential([])


def writes() -> tuple[ng.Op, ng.Op, ng.Op]:
    x = scalar(1.0)
    return x, ng.assign(x, x + 1), ng.assign(x, x * 10)


def test_sequences_that_contradict_each_other_are_an_error() -> None:
    """The message names both writes, and where both sequences stand."""
    x, one, ten = writes()
    first, second = ng.sequential([one, ten]), ng.after(x + 0, ten, ng.doall([one]))
    with pytest.raises(ng.SequencingError, match="contradict each other: .* comes before") as caught:
        run([first, second])
    assert all(str(t.info.place) in str(caught.value) for t in (one, ten, first, second))


def test_orders_that_lead_in_a_circle_are_an_error() -> None:
    x, one, ten = writes()
    hundred = ng.assign(x, x + 100)
    with pytest.raises(ng.SequencingError, match="that one happens earlier, in another sequence"):
        run([ng.sequential(pair) for pair in ([one, ten], [ten, hundred], [hundred, one])])


# -- one order for several sequences ----------------------------------------------------------------


def test_what_is_met_first_waits_for_what_a_sequence_lists_before_it(value: Callable[..., Any]) -> None:
    x, one, ten = writes()
    assert value((ten + 0, ng.sequential([one, ten]), x)) == (20, 20, 20)
    x, one, ten = writes()
    assert value((ng.sequential([ten, x + 0]), ng.sequential([one, ten]))) == (20, 20)
    x, one, ten = writes()
    assert value((ten + 0) + ng.sequential([one, ten])) == 40


def test_what_is_listed_again_is_no_contradiction(value: Callable[..., Any]) -> None:
    x, one, ten = writes()
    again = [one, ten, one], [one + 0, ten, one], [one, ng.sequential([ten, one])], [one, ng.after(one, ten)]
    assert value((*map(ng.sequential, again), x)) == (2, 2, 2, 2, 20)


def test_a_value_may_be_used_after_later_writes(value: Callable[..., Any]) -> None:
    """What an item is computed of is not listed: `total` is what it was at its place."""
    x, one, ten = writes()
    w, total = scalar(0.0, "w"), ng.sequential([one, x * 2])
    assert value((ng.sequential([total, ten]), ng.sequential([ten, ng.assign(w, total * 2)]), x)) == (20, 8, 20)


def test_writes_of_arguments_are_seen_afterwards_in_their_order(value: Callable[..., Any]) -> None:
    x, one, ten = writes()
    more = ng.assign(x, x + 100)
    assert value(ng.sequential([ng.sequential([one, ten, more]) + ten, x + 0])) == 120


def test_what_is_computed_once_is_followed_by_its_writes_everywhere(value: Callable[..., Any]) -> None:
    x = scalar(1.0)
    shared = ng.sequential([ng.assign(x, 5.0), x + 0]) * 10
    assert value((shared + 1, ng.sequential([shared + 2, x + 0]))) == (51, 5)


def test_of_two_writes_in_doall_the_later_in_the_list_counts(value: Callable[..., Any]) -> None:
    x, one, ten = writes()
    assert value((ng.doall([one, ten]), x)) == (None, 10)


# -- derivatives ------------------------------------------------------------------------------------


def test_a_derivative_reads_the_state_its_term_reads(value: Callable[..., Any]) -> None:
    """The slope of v * w by w is v, as it is behind the writes."""
    v, w = scalar(3.0, "v"), scalar(2.0, "w")
    assert value(ng.deriv(ng.sequential([ng.assign(v, 5.0), v * w]), [v, w])) == [2, 5]
    assert value(ng.deriv(ng.after(v * w, ng.assign(v, 5.0)), w)) == 5


def test_the_adjoint_that_comes_in_reads_the_state_of_its_own_place(value: Callable[..., Any]) -> None:
    v, w = scalar(3.0, "v"), scalar(2.0, "w")
    loss = v * ng.sequential([ng.assign(v, 5.0), v * w * w])
    both = ng.make_tuple(v * w, v + w)
    part = v * ng.sequential([ng.assign(v, 5.0), ng.make_tuple(both[1] * v, v * w)])[1]
    assert value([ng.deriv(loss, w), ng.deriv(part, w)]) == [3 * 5 * 2 * 2, 3 * 5]


def test_sequences_in_sequences_have_the_derivatives_of_their_places(value: Callable[..., Any]) -> None:
    """The write of w stands inside; v is read there in the state of the outer sequence."""
    v, w, x = scalar(3.0, "v"), scalar(2.0, "w"), scalar(7.0)
    inner = ng.sequential([ng.assign(w, v + 6), v * w * x])
    loss = ng.sequential([ng.assign(v, 5.0), v * inner])
    assert value([loss, ng.deriv(loss, x), v, w]) == [5 * 5 * 11 * 7, 5 * 5 * 11, 5, 11]


def test_what_a_derivative_waits_for_happens_once(value: Callable[..., Any]) -> None:
    v, w = scalar(3.0, "v"), scalar(2.0, "w")
    loss = ng.sequential([ng.assign(v, v + 1), v * w])
    assert value([loss, *ng.deriv(loss, [v, w]), v]) == [8, 2, 4, 4]


def test_a_derivative_reads_what_its_term_read_after_later_writes_too(value: Callable[..., Any]) -> None:
    x, one, ten = writes()
    w = scalar(3.0, "w")
    loss = ng.sequential([one, x * w])
    assert value((ng.sequential([loss, ten, ng.deriv(loss, w) + 0]), ng.sequential([loss, ten, x * w]), x)) == (
        2,
        60,
        20,
    )


def test_what_was_read_before_a_write_has_the_slope_that_it_had_there(value: Callable[..., Any]) -> None:
    v, x = scalar(3.0, "v"), scalar(2.0)
    early, write = v * x * x, ng.assign(v, 5.0)
    here = ng.sequential([early, write, early * v * x])
    outside = ng.sequential([early, ng.sequential([write, early * v * x])])
    inside = ng.sequential([ng.sequential([early, write]), early * v * x])
    for loss in here, outside, inside:
        assert value([loss, ng.deriv(loss, x)]) == [3 * 5 * 8, 3 * 5 * 3 * 4]
    again = ng.sequential([early, write, early])
    assert value([again, ng.deriv(again, x), v]) == [3 * 4, 3 * 2 * 2, 5]


@pytest.mark.parametrize("same", [True, False])
def test_the_factors_of_a_product_write_each_for_itself(value: Callable[..., Any], same: bool) -> None:
    """Both read the state at the start beside their own writes, and so do first and second derivatives."""
    x, one, ten = writes()
    y, w = scalar(7.0, "y"), scalar(3.0, "w")
    other = x if same else y
    second = ten if same else ng.assign(y, y + 1)
    product = ng.sequential([one, x * y * w]) * ng.sequential([second, x * y * w * w])
    slope = ng.deriv(product, w)
    factor = 2 * 7 * (10 * 7 if same else 1 * 8)
    found = value((product, slope, ng.deriv(slope, w), other))
    assert found == (factor * 27, factor * 27, factor * 18, 10 if same else 8)


# -- size -------------------------------------------------------------------------------------------


def test_nesting_is_no_limit(value: Callable[..., Any]) -> None:
    x = scalar(0.0)
    whole = ng.assign(x, x + 1)
    for _ in range(300):
        whole = ng.sequential([whole, ng.assign(x, x + 1), x])
    assert value((whole, x)) == (301, 301)


def test_nesting_is_no_limit_to_derivatives() -> None:
    """Each sequence is swept inside the one around it."""
    v, x = scalar(1.0, "v"), scalar(1.0)
    whole, levels = v * 1, 3000
    for _ in range(levels):
        whole = ng.sequential([ng.assign(v, v + 1), whole * x])
    assert run([whole, ng.deriv(whole, x)], 1, "reference") == [levels + 1, levels * (levels + 1)]


def test_depth_is_no_limit() -> None:
    x = scalar(1.0)
    deep = ng.sequential([ng.assign(x, 2.0), x])
    for _ in range(100_000):
        deep = ng.negative(deep)
    assert len(sequence([ng.sequential([deep, x])]).writes) == 1


def test_a_shared_graph_is_not_walked_once_per_path() -> None:
    """200 levels of t + t have 2**200 paths."""
    x = scalar(1.0)
    t = ng.sequential([ng.assign(x, 2.0), x])
    for _ in range(200):
        t = t + t
    assert len(sequence([ng.sequential([ng.assign(x, 3.0), t, t + x])]).writes) == 2


# -- drawn programs ---------------------------------------------------------------------------------

NAMES = ("x", "y", "z")
SQUARE = [ng.Axis("H", 3), ng.Axis("W", 3)]
Values = dict[str, np.ndarray[Any, Any]]


@dataclass
class Effects:
    """A drawn program as terms, interpreted as it is built: numbers are integers, so everything is exact."""

    draw: Callable[[st.SearchStrategy[Any]], Any]
    variables: dict[str, ng.Op]
    start: Values
    placed: list[tuple[ng.Op, Any]] = field(default_factory=list)

    def expression(self, state: Values) -> tuple[ng.Op, Any]:
        """A pure term over variables in `state`, and its value there."""
        terms = [(self.variables[n], state[n]) for n in NAMES] + self.placed[-2:]
        x, y = (self.draw(st.sampled_from(terms)) for _ in range(2))
        kind = self.draw(
            st.sampled_from(["read", "add", "subtract", "reverse", "transpose", "sum", "maximum", "number"])
        )
        if kind == "read":
            return ng.value_of(x[0]), x[1]
        if kind == "reverse":
            return x[0][::-1] + 1, x[1][::-1] + 1
        if kind == "transpose":
            return ng.cast_axes(ng.axes_with_order(x[0], SQUARE[::-1]), SQUARE) + y[0], x[1].T + y[1]
        if kind == "sum":
            return y[0] - ng.sum(x[0], out_axes=[SQUARE[1]]), y[1] - x[1].sum(0)
        if kind == "number":
            return ng.constant(3.0, x[0].axes, "float64"), np.full((3, 3), 3.0)
        return getattr(ng, kind)(x[0], y[0]), getattr(np, kind)(x[1], y[1])

    def statement(self, state: Values, depth: int) -> tuple[ng.Op, Any, Values]:
        """A term with effects, its value and the state after it."""
        kind = self.draw(st.sampled_from(["assign", "assign", "assign", "pure", "sequential", "doall", "after"]))
        if kind == "pure" or (depth == 0 and kind != "assign"):
            term, value = self.expression(state)
            return term, value, state
        if kind == "assign":
            name = self.draw(st.sampled_from(NAMES))
            term, value = self.expression(state)
            return ng.assign(self.variables[name], term), value, {**state, name: value.copy()}
        if kind == "doall":
            parts = [self.statement(state, 0) for _ in range(2)]
            both = [{n: v for n, v in after.items() if v is not state[n]} for _, _, after in parts]
            return ng.doall([p[0] for p in parts]), None, {**state, **both[0], **both[1]}
        if kind == "after":
            effect, _, later = self.statement(state, depth - 1)
            term, value = self.expression(later)
            return ng.after(term, effect), value, later
        return self.sequence(state, depth)

    def sequence(self, state: Values, depth: int) -> tuple[ng.Op, Any, Values]:
        items, before = [], len(self.placed)
        value = None
        for _ in range(self.draw(st.integers(1, 3))):
            term, value, state = self.statement(state, depth - 1)
            items.append(term)
            if value is not None:
                self.placed.append((term, value))
        if value is None:  # doall has no value to be the sequence's
            term, value = self.expression(state)
            items.append(term)
        del self.placed[before:]
        return ng.sequential(items), value, state


@drawn(36)
@given(st.data())
def test_every_read_sees_the_writes_before_it(data: st.DataObject) -> None:
    start = {n: np.arange(9.0).reshape(3, 3) + i for i, n in enumerate(NAMES)}
    variables = {n: ng.variable(SQUARE, "float64", initial_value=start[n], name=n) for n in NAMES}
    effects = Effects(data.draw, variables, start)
    term, value, state = effects.sequence(start, 2)
    unsequenced = ng.negative(variables["x"])
    for target in TARGETS:
        result, early, *final = run((term, unsequenced, *(variables[n] for n in NAMES)), 1, target)
        np.testing.assert_array_equal(result, value)
        np.testing.assert_array_equal(early, -start["x"])
        for name, found in zip(NAMES, final, strict=True):
            np.testing.assert_array_equal(found, state[name], err_msg=f"{name} on {target}")


Dual = tuple[int, int]  # a value, and its slope by x


@dataclass
class Slopes:
    """A drawn sequence of products and sums, with the slopes that its terms have where they are read."""

    draw: Callable[[st.SearchStrategy[Any]], Any]
    x: ng.Op
    written: list[ng.Op]
    placed: list[tuple[ng.Op, Dual]] = field(default_factory=list)

    def expression(self, state: list[int]) -> tuple[ng.Op, Dual]:
        stored = [(v, (number, 0)) for v, number in zip(self.written, state, strict=True)]
        (a, (u, du)), (b, (w, dw)) = (
            self.draw(st.sampled_from([(self.x, (2, 1)), *stored, *self.placed[-3:]])) for _ in range(2)
        )
        return (a * b, (u * w, u * dw + du * w)) if self.draw(st.booleans()) else (a - b, (u - w, du - dw))

    def sequence(self, state: list[int], depth: int) -> tuple[ng.Op, Dual]:
        """A sequence that changes the state, and its value."""
        items, before = [], len(self.placed)
        for _ in range(self.draw(st.integers(1, 4))):
            kind = self.draw(st.sampled_from(["assign", "value", "value", "sequence"]))
            if kind == "assign":
                place = self.draw(st.sampled_from(range(len(state))))
                state[place] = self.draw(st.integers(-3, 3))
                items.append(ng.assign(self.written[place], float(state[place]) + 0 * self.written[place]))
            else:
                item = self.expression(state) if kind == "value" or not depth else self.sequence(state, depth - 1)
                self.placed.append(item)
                items.append(item[0])
        term, value = self.expression(state)
        del self.placed[before : len(self.placed) if self.draw(st.booleans()) else before]
        self.placed.append((term, value))
        return ng.sequential([*items, term]), value


@drawn(60)
@given(st.data())
def test_every_derivative_reads_what_its_term_reads(data: st.DataObject) -> None:
    x, written = scalar(2.0), [scalar(3.0, "v"), scalar(-2.0, "w")]
    term, (value, slope) = Slopes(data.draw, x, written).sequence([3, -2], 2)
    assert run((term, ng.deriv(term, x)), 1, "reference") == (value, slope)


def test_what_reads_nothing_that_was_written_is_not_gone_through_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gradients were, by each update after a write of its own moments: with a thousand weights that took minutes."""
    gone, arguments = list[Any](), sequencing._Sequencing.arguments

    def counted(self: Any, term: Any, state: Any) -> Any:
        gone.append(term)
        return arguments(self, term, state)

    monkeypatch.setattr(sequencing._Sequencing, "arguments", counted)
    weights, moments = ([ng.variable([], initial_value=0.5) for _ in range(40)] for _ in range(2))
    loss = ng.sin(sum(weights[1:], weights[0]))
    slopes = ng.deriv(loss, weights)
    steps = [
        ng.sequential([ng.assign(m, m + d), ng.assign(w, w - d * m)])
        for w, m, d in zip(weights, moments, slopes, strict=True)
    ]
    found = sequence([ng.doall(steps)])
    assert len(found.writes) == 80
    assert len(gone) < 40 * 10


@pytest.mark.parametrize("count", [20, 80])
def test_what_is_read_once_is_not_compared(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """All that a term sees was gathered for each partial sum of what was just written: the square of their number."""
    gathered, seen = list[int](), Reads.seen

    def counted(self: Reads, state: Any, bits: int) -> Any:
        gathered.append(bits.bit_count())
        return seen(self, state, bits)

    monkeypatch.setattr(Reads, "seen", counted)
    variables, x = [scalar(0.0) for _ in range(count)], ng.placeholder([], dtype="float64")
    writes = [ng.assign(v, x * i) for i, v in enumerate(variables)]
    at_once = sequence([ng.sequential([*writes, sum(variables[1:], variables[0])])])
    total, items = x, []
    for v in variables:
        items.append(ng.assign(v, total))
        total = total + v
    one_by_one = sequence([ng.sequential([*items, total])])
    assert len(at_once.writes) == len(one_by_one.writes) == count
    assert sum(gathered) <= count


@given(st.lists(st.tuples(st.integers(0, 30), st.dictionaries(st.sampled_from("abcd"), st.integers(0, 9)))))
def test_each_version_of_a_mapping_stays_what_it_was(steps: list[tuple[int, dict[str, int]]]) -> None:
    versions, copies = [Versions[str, int]()], [dict[str, int]()]
    for number, more in steps:
        one = number % len(versions)
        assert dict(versions[one]) == copies[one]
        versions.append(versions[one].after(more))
        copies.append({**copies[one], **more})
    for version, copy in zip(versions, copies, strict=True):
        assert dict(version) == copy and len(version) == len(copy)
        assert {key: version.get(key) for key in "abcd"} == {key: copy.get(key) for key in "abcd"}
