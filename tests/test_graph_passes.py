# SPDX-License-Identifier: Apache-2.0
"""Passes written in Python: what they see, what they may replace, where they stand, and what is on record."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ngraph_rewrite as ng

H = ng.Axis("H", 3)
VALUES = np.array([1.0, -2.0, 0.5], np.float32)


class DoubleByAdding(ng.PeepholePass):
    """``2 * x`` becomes ``x + x``."""

    @ng.PeepholePass.visit_op("semi.multiply")
    def double(self, op: ng.Op) -> None:
        for x, factor in (op.args, op.args[::-1]):
            if factor.definition.name == "core.constant" and factor.attribute("value").is_number(2):
                self.replace_op(op, ng.make_op("semi.add", x, x))
                return


class TanhOnce(ng.GraphPass):
    """All but the first tanh of a graph become the first: no equation says so."""

    def run(self, roots: Sequence[ng.Op]) -> None:
        found = [t for t in ng.topological(roots) if t.definition.short == "tanh"]
        for other in found[1:]:
            self.replace_op(other, found[0])


def x_of(name: str = "x") -> ng.Op:
    return ng.placeholder([H], name=name)


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_a_graph_pass_replaces_terms_on_every_target(target: str) -> None:
    x = x_of()
    y = ng.tanh(x) + ng.tanh(x * 3)
    with ng.make_transformer(target, passes=[TanhOnce()]) as transformer:
        computation = transformer.computation(y, x)
        np.testing.assert_allclose(computation(VALUES), 2 * np.tanh(VALUES), rtol=1e-6)


def test_a_peephole_pass_visits_lowered_terms() -> None:
    x = x_of()
    y = ng.exp(x * 2) * 2
    with ng.make_transformer("cpu", passes=[DoubleByAdding(after="lower")]) as transformer:
        computation = transformer.computation(y, x)
        np.testing.assert_allclose(computation(VALUES), 2 * np.exp(2 * VALUES), rtol=1e-6)
        ops = {t.definition.name for t in ng.topological([computation.lowering.table.snap(y)])}
        assert "semi.add" in ops and "semi.multiply" not in ops
        explained = computation.explain(y)
    assert f"DoubleByAdding: DoubleByAdding  ({__file__}:" in explained
    assert "=> semi.add(" in explained


def test_the_handle_of_a_replaced_term_finds_its_value() -> None:
    x = x_of()
    doubled = x * 2
    y = ng.exp(doubled)
    with ng.make_transformer("cpu", passes=[DoubleByAdding(after="lower")]) as transformer:
        computation = transformer.computation(y, x, keep=[doubled])
        computation(VALUES)
        np.testing.assert_array_equal(computation.value(doubled), 2 * VALUES)


def test_metadata_moves_to_the_replacement() -> None:
    x = x_of()
    with ng.metadata(layer="last"):
        y = ng.tanh(x * 3)
    with ng.make_transformer("reference", passes=[TanhOnce()]) as transformer:
        table = transformer.computation(ng.tanh(x) + y, x).lowering.table
        assert table.metadata(table.snap(y))["layer"] == "last"


def test_the_graph_of_the_frontend_stays_as_it_is() -> None:
    x = x_of()
    y = ng.tanh(x) + ng.tanh(x * 3)
    before = ng.call_descriptions([y])
    with ng.make_transformer("reference", passes=[TanhOnce()]) as transformer:
        transformer.computation(y, x)
    assert ng.call_descriptions([y]) == before


# -- peephole passes are rules: to the normal form, linear, on record ---------------------------------


class Countdown(ng.PeepholePass):
    """An addition of n becomes two of less, until none is left."""

    @ng.PeepholePass.visit_op("axes.add")
    def step(self, op: ng.Op) -> None:
        x, number = op.args
        if number.definition.name == "core.constant" and number.attribute("value").scalar:
            less = ng.constant(number.attribute("value").scalar - 1, dtype=number.dtype)
            self.replace_op(op, ng.make_op("axes.add", x, less) if less.attribute("value").scalar else x)


@given(st.lists(st.integers(0, 20), max_size=6))
@settings(max_examples=12, deadline=None)
def test_what_replaces_is_visited_until_nothing_changes(numbers: list[int]) -> None:
    x = y = ng.placeholder([], "int32", name="x")
    for n in numbers:
        y = ng.tanh(y) if n % 7 == 6 else ng.add(y, ng.constant(n, dtype=y.dtype))
    with ng.make_transformer("reference", passes=[Countdown()]) as transformer:
        normal = transformer.computation(y, x).lowering.roots[0]
    left = [t.args[1].attribute("value").scalar for t in ng.topological([normal]) if t.definition.short == "add"]
    assert left == [0] * len(left)


class Every(ng.PeepholePass):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def visit(self, op: ng.Op) -> None:
        self.seen.append(op.definition.name)


def test_overriding_visit_sees_every_term_once_arguments_first() -> None:
    x = x_of()
    every = Every()
    with ng.make_transformer("reference", passes=[every]) as transformer:
        transformer.computation(ng.exp(x) + ng.exp(x), x)
    assert every.seen == ["core.placeholder", "axes.exp", "axes.add"]


def test_a_deep_graph_is_no_problem() -> None:
    x = y = x_of()
    for _ in range(20_000):
        y = -y
    every = Every()
    with ng.make_transformer("reference", passes=[every]) as transformer:
        transformer.computation(y, x)
    assert len(every.seen) == 20_001


def test_an_overriding_method_needs_its_own_mark() -> None:
    class Silent(DoubleByAdding):
        def double(self, op: ng.Op) -> None:
            raise AssertionError

    x = x_of()
    with ng.make_transformer("cpu", passes=[Silent(after="lower")]) as transformer:
        np.testing.assert_array_equal(transformer.computation(x * 2, x)(VALUES), 2 * VALUES)


# -- where passes stand -------------------------------------------------------------------------------


def noting(label: str, order: list[str], **place: str) -> ng.GraphPass:
    class Noting(ng.GraphPass):
        name = label

        def run(self, roots: Sequence[ng.Op]) -> None:
            order.append(label)

    return Noting(**place)


def test_passes_run_where_they_were_put() -> None:
    order: list[str] = []
    passes = [
        noting("f", order, after="e"),
        noting("a", order),
        noting("b", order),
        noting("d", order, after="lower"),
        noting("e", order, after="lower"),
        noting("c", order, before="lower"),
        noting("g", order, after="select"),
    ]
    x = x_of()
    with ng.make_transformer("cpu", passes=passes) as transformer:
        computation = transformer.computation(ng.exp(x), x)
    assert "".join(order) == "abcdefg"
    stages = [s.name for s in computation.lowering.table.stages if s.name in (*"abcdefg", "lower")]
    assert stages == ["a", "b", "c", "lower", "d", "e", "f", "g"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: [TanhOnce(after="nothing")], "no pass is called nothing"),
        (lambda: [TanhOnce(before="A"), noting("A", [], before="TanhOnce")], "no pass is called"),
        (lambda: [TanhOnce(), TanhOnce()], "two passes are called TanhOnce"),
        (lambda: [noting("lower", [])], "two passes are called lower"),
        (lambda: [TanhOnce(before="lower", after="select")], "cannot stand before lower and after select"),
        (lambda: [TanhOnce], "is not a pass"),
    ],
)
def test_a_pass_without_a_place_is_refused(make: object, message: str) -> None:
    with pytest.raises(ng.ArgumentError, match=message):
        ng.make_transformer("cpu", passes=make())  # type: ignore[operator]


def test_an_unknown_op_is_refused_when_the_pass_is_made() -> None:
    class Wrong(ng.PeepholePass):
        @ng.PeepholePass.visit_op("semi.ad")
        def visit_add(self, op: ng.Op) -> None: ...

    with pytest.raises(ng.UnknownOpError, match="semi.add") as found:
        Wrong()
    assert __file__ in str(found.value)


# -- what a pass may not do ---------------------------------------------------------------------------


def refused(work: object, y: ng.Op, *inputs: ng.Op) -> str:
    """The message with which a graph pass that does `work` on the graph fails."""

    class Bad(ng.GraphPass):
        def run(self, roots: Sequence[ng.Op]) -> None:
            work(self, {t.definition.short: t for t in ng.topological(roots)})  # type: ignore[operator]

    with ng.make_transformer("reference", passes=[Bad()]) as transformer, pytest.raises(ng.RewriteError) as caught:
        transformer.computation(y, *inputs)
    return str(caught.value)


@pytest.mark.parametrize(
    ("work", "message"),
    [
        (lambda p, t: p.replace_op(t["exp"], ng.cast(t["exp"], "float64")), "replaces float32[H:3] by float64[H:3]"),
        (lambda p, t: p.replace_op(t["exp"], ng.tanh(t["exp"])), "replace a term by one that does not come back to it"),
        (lambda p, t: (p.replace_op(t["exp"], t["tanh"]), p.replace_op(t["tanh"], t["exp"])), "runs in a cycle"),
        (lambda p, t: p.replace_op(x_of("z"), t["exp"]), "is not a term of this graph"),
        (lambda p, t: [p.replace_op(t["exp"], t["tanh"]) for _ in "12"], "was replaced already"),
        (lambda p, t: p.replace_op(t["exp"], x_of("z")), "brings in z"),
        (lambda p, t: p.replace_op(t["exp"], ng.exp(ng.variable([H], name="w"))), "brings in w"),
        (lambda p, t: p.replace_op(t["exp"], ng.uniform([H])), "brings in"),
        (lambda p, t: p.replace_op(t["variable"], t["exp"]), "has a place of its own"),
        (lambda p, t: p.replace_op(t["assign"], t["exp"]), "has a place of its own"),
        (lambda p, t: p.replace_op("exp", t["exp"]), "cannot replace 'exp'"),
        (lambda p, t: t["none"], "the pass Bad fails: KeyError: 'none'"),
    ],
)
def test_a_pass_may_not_break_a_graph(work: object, message: str) -> None:
    x, v = x_of(), ng.variable([H], name="v", initial_value=0.0)
    y = ng.sequential([ng.assign(v, ng.exp(x)), v + ng.tanh(x)])
    found = refused(work, y, x)
    assert message in found
    assert __file__ in found or "cycle" in found or "fails" in found


def test_replace_op_belongs_to_a_running_pass() -> None:
    x = x_of()
    with pytest.raises(ng.RewriteError, match="TanhOnce is not running"):
        TanhOnce().replace_op(x, x)


def test_a_peephole_pass_replaces_what_it_visits_only() -> None:
    class Reaching(ng.PeepholePass):
        @ng.PeepholePass.visit_op("axes.tanh")
        def reach(self, op: ng.Op) -> None:
            self.replace_op(op.args[0], ng.constant(np.zeros(3, np.float32), [H]))

    x = x_of()
    with ng.make_transformer("reference", passes=[Reaching()]) as transformer:
        with pytest.raises(ng.RewriteError, match="write a GraphPass"):
            transformer.computation(ng.tanh(ng.exp(x)), x)


def test_a_peephole_pass_that_never_ends_is_stopped() -> None:
    class Forever(ng.PeepholePass):
        @ng.PeepholePass.visit_op("axes.add")
        def swap(self, op: ng.Op) -> None:
            self.replace_op(op, ng.make_op("axes.add", *op.args[::-1]))

    x, y = x_of(), x_of("y")
    with ng.make_transformer("reference", passes=[Forever()]) as transformer:
        with pytest.raises(ng.RewriteError, match=r"in a cycle: Forever \("):
            transformer.computation(x + y, x, y)


def test_a_pass_without_run_says_so() -> None:
    x = x_of()
    with ng.make_transformer("reference", passes=[ng.GraphPass()]) as transformer:
        with pytest.raises(ng.RewriteError, match="GraphPass has no method run"):
            transformer.computation(x + 1, x)


# -- effects ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_effects_keep_their_order(target: str) -> None:
    """The value that a write stores is replaced; the write stays where it was."""
    x, v = x_of(), ng.variable([H], name="v", initial_value=1.0)
    first = v + 0.0
    program = ng.sequential([ng.assign(v, ng.tanh(x * 3)), ng.tanh(x) + v])
    with ng.make_transformer(target, passes=[TanhOnce()]) as transformer:
        before, after = transformer.computation([first, program], x)(VALUES)
        np.testing.assert_array_equal(before, np.ones(3, np.float32))
        stored = transformer.get(v)
    assert (after == pytest.approx(2 * stored)) and (
        stored == pytest.approx(np.tanh(VALUES)) or stored == pytest.approx(np.tanh(3 * VALUES))
    )


def test_one_pass_serves_several_threads() -> None:
    shared = DoubleByAdding(after="lower")

    def work(seed: int) -> bool:
        x = x_of()
        with ng.make_transformer("cpu", passes=[shared]) as transformer:
            return bool((transformer.computation(x * 2, x)(VALUES * seed) == 2 * VALUES * seed).all())

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(8)))


class Seeing(ng.GraphPass):
    """Notes the ops that it sees."""

    def __init__(self, **where: str) -> None:
        super().__init__(**where)
        self.seen: set[str] = set()

    def run(self, roots: Sequence[ng.Op]) -> None:
        self.seen = {term.definition.name for term in ng.topological(roots)}


def test_a_target_has_passes_of_its_own_after_all_others() -> None:
    x = ng.placeholder((3,))
    early, late = Seeing(after="select"), Seeing(after="transfers")
    late.name = "late"
    with ng.make_transformer("cuda", passes=[early, late]) as transformer:
        transformer.computation(ng.semi.exp(x), x)
    assert "semi.transfer" not in early.seen and "semi.transfer" in late.seen
    with pytest.raises(ng.ArgumentError, match="no pass is called transfers"):
        ng.make_transformer("cpu", passes=[Seeing(after="transfers")])
    early.name = "transfers"
    with pytest.raises(ng.ArgumentError, match="two passes are called transfers"):
        ng.make_transformer("cuda", passes=[early])
