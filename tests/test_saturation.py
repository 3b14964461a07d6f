# SPDX-License-Identifier: Apache-2.0
"""Equality saturation: what it finds is equal, is proved by instances of rules, and costs no more."""

from __future__ import annotations

import itertools
import math
import re
import zlib
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from processes import printed, printed_in_any

import ngraph_rewrite as ng
from ngraph_rewrite import semi
from ngraph_rewrite.errors import ArgumentError, RewriteError, RuleFileError
from ngraph_rewrite.lowering.driver import adopt
from ngraph_rewrite.lowering.passes import SAFE_CLASSES, library, passes_of
from ngraph_rewrite.lowering.stage import ARGUMENTS
from ngraph_rewrite.lowering.table import ReplacementTable
from ngraph_rewrite.rewriting.matcher import Cache, Matcher
from ngraph_rewrite.rewriting.rule import CLASSES, EXACT, Rule
from ngraph_rewrite.rewriting.rulefile import parse_rules
from ngraph_rewrite.saturation.candidates import Candidate, Graph
from ngraph_rewrite.saturation.choosing import Chosen
from ngraph_rewrite.saturation.directions import forwards, right_side
from ngraph_rewrite.saturation.exploring import Bounds, Exploration
from ngraph_rewrite.saturation.extraction import extract
from ngraph_rewrite.saturation.nodes import Nodes
from ngraph_rewrite.saturation.proofs import EXCHANGED, Equation, Proofs
from ngraph_rewrite.targets.cpu import CPU
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.testing.evaluate import Undefined
from ngraph_rewrite.testing.strategies.programs import programs
from ngraph_rewrite.testing.strategies.terms import terms
from ngraph_rewrite.testing.whole.checks import different
from ngraph_rewrite.testing.whole.lowered import LoweredProgram, Setup

ASSOCIATIVE = ng.rule("dot(dot(x, y), z) => dot(x, dot(y, z))", kind="explore", name="associative")
EXPLORE = library().of_kind("explore")


def few(examples: int) -> settings:
    """The same few examples in every run."""
    checks = list(HealthCheck)
    return settings(max_examples=examples, deadline=None, database=None, derandomize=True, suppress_health_check=checks)


def matrix(rows: int, columns: int, name: str) -> ng.Op:
    return ng.placeholder((rows, columns), name=name)


def multiplications(term: ng.Op) -> float:
    """What a matrix product costs: that of m by k and k by n is m k n."""
    return math.prod(term.args[0].shape) * term.args[1].shape[1] if term.args else 0.0


def odd(seed: int) -> Callable[[ng.Op], float]:
    """A cost that makes no sense, so that any equal term may be chosen."""
    return lambda t: 1 + zlib.crc32(f"{t.definition} {t.attrs[:1]} {seed}".encode()) % 100 if t.args else 0


# -- what is found -----------------------------------------------------------------------------------


def least_multiplications(lengths: list[int]) -> int:
    """The cheapest order of a chain of products, by dynamic programming (Godbole, 1973)."""
    count = len(lengths) - 1
    best = {(i, i): 0 for i in range(count)}
    for width in range(1, count):
        for i in range(count - width):
            j = i + width
            best[i, j] = min(
                best[i, k] + best[k + 1, j] + lengths[i] * lengths[k + 1] * lengths[j + 1] for k in range(i, j)
            )
    return best[0, count - 1]


@few(12)
@given(st.lists(st.integers(1, 40), min_size=3, max_size=7), st.booleans())
def test_a_chain_of_products_is_put_in_the_cheapest_order(lengths: list[int], left: bool) -> None:
    matrices = [matrix(a, b, f"m{i}") for i, (a, b) in enumerate(itertools.pairwise(lengths))]
    chain = matrices[0] if left else matrices[-1]
    for one in matrices[1:] if left else matrices[-2::-1]:
        chain = semi.dot(chain, one) if left else semi.dot(one, chain)
    found = ng.saturate(chain, ASSOCIATIVE, multiplications, both_ways="associative")
    assert found.stopped == "saturated"
    assert found.cost_after == least_multiplications(lengths)


def test_a_common_factor_is_taken_out() -> None:
    a, x, y = (ng.placeholder((1000,), name=n) for n in "axy")
    rules = ng.rule("a * x + a * y => a * (x + y)", family="numpy", kind="explore", name="factor")
    found = ng.saturate(x * a + a * y, rules)  # in any order of the operands
    assert found.roots[0].same_as(a * (x + y))
    assert found.cost_after < found.cost_before


def test_operands_of_named_axes_are_not_exchanged_where_that_changes_the_type() -> None:
    x, y = ng.placeholder({"H": 2, "N": 3}, name="x"), ng.placeholder({"N": 3, "H": 2}, name="y")
    z = ng.placeholder({"H": 2, "N": 3}, name="z")
    rules = ng.rule("negative(negative(x)) => x", family="axes", kind="explore", name="twice")
    assert ng.saturate([x + y, y + x], rules).classes == 4
    assert ng.saturate([x + z, z + x], rules).classes == 3


def test_a_shared_term_counts_once() -> None:
    """Alone, each root is cheapest without g; both together are cheapest with it."""
    x = ng.placeholder((8,), name="x")
    rules = ng.rule("exp(x) => tanh(sigmoid(x))", kind="explore", name="one")
    rules += ng.rule("log(x) => negative(sigmoid(x))", kind="explore", name="two")
    cost = {"exp": 6.0, "log": 6.0, "sigmoid": 5.0, "tanh": 2.0, "negative": 2.0}
    found = ng.saturate([semi.exp(x), semi.log(x)], rules, lambda t: cost.get(t.definition.short, 0.0))
    assert found.cost_after == 9.0
    assert found.roots[0].args[0] is found.roots[1].args[0]


def test_a_guard_that_does_not_hold_merges_nothing() -> None:
    x = ng.placeholder((8, 8), name="x")
    rules = ng.rule("transpose(transpose(x, perm=p), perm=q) => x\n if p == q", kind="explore", name="twice")
    same = semi.transpose(semi.transpose(x, (1, 0)), (1, 0))
    other = semi.transpose(semi.transpose(x, (1, 0)), (0, 1))
    found = ng.saturate([same, other], rules, lambda t: 1.0)
    assert [len(topological([r])) for r in found.roots] == [1, 3]


def test_attributes_and_numbers_are_compared() -> None:
    x = ng.placeholder((8,), name="x")
    rules = ng.rule("x ** 2 => square(x)", kind="explore", name="square")
    two, three = semi.power(x, ng.constant(np.full(8, 2, "float32"))), semi.power(x, semi.square(x))
    assert ng.saturate(two, rules, lambda t: 1.0).roots[0].definition.short == "square"
    assert ng.saturate(three, rules, lambda t: 1.0).roots[0].definition.short == "power"


def test_the_library_takes_part_as_it_is() -> None:
    x = ng.placeholder((16, 16), name="x")
    y = semi.transpose(semi.exp(semi.transpose(semi.negative(semi.negative(x)), (1, 0))), (1, 0))
    found = ng.saturate(y)
    assert found.roots[0].same_as(semi.exp(x))
    assert all(reason for _, reason in found.left_out)


# -- queries find what the matcher finds ------------------------------------------------------------------


SIMPLIFY = library().of_kind("simplify")
MATCHER = Matcher(SIMPLIFY, Cache())


def explored(roots: list[ng.Op], rules: ng.RuleSet, bounds: Bounds) -> tuple[Exploration, list[int]]:
    """An exploration that has ended, and the class of each term."""
    bank = TermBank()
    shared = adopt(roots, ReplacementTable(), bank)
    nodes = Nodes(bank, shared)
    for root in shared:
        nodes.add(root)
    directions = [d for d in map(forwards, rules) if not isinstance(d, str)]
    exploration = Exploration(nodes, directions, bounds, CPU)
    found = exploration.run()
    exploration.egraph.close()
    return exploration, found.own


@few(60)
@given(terms("semi", 3))
def test_every_match_of_a_rule_is_found(term: ng.Op) -> None:
    exploration, own = explored([term], SIMPLIFY, Bounds(iterations=1, nodes=100_000))
    nodes, taking_part = exploration.nodes, {id(s.direction.rule) for s in exploration.searches}
    for one in adopt(topological([term]), ReplacementTable(), nodes.bank):
        for rule, bindings in MATCHER.matches(one):
            made = right_side(rule, one, bindings, nodes.bank.make, CPU) if id(rule) in taking_part else None
            if made is not None:
                assert nodes.find(made) is not None, (rule, one)
                assert own[nodes.find(one)] == own[nodes.find(made)]


@few(40)
@given(terms("semi", 4), st.integers(0, 5))
def test_egglog_and_the_closure_that_keeps_reasons_say_the_same(term: ng.Op, iterations: int) -> None:
    exploration, own = explored([term], SIMPLIFY + EXPLORE, Bounds(iterations, nodes=400))
    nodes = exploration.nodes
    proofs = Proofs(nodes, exploration.instances)
    for number, first in enumerate(own):
        assert proofs.equal(nodes.terms[number], nodes.terms[first])
        assert nodes.terms[number].type == nodes.terms[first].type
    firsts = sorted(set(own))
    assert not any(proofs.equal(nodes.terms[a], nodes.terms[b]) for a, b in itertools.pairwise(firsts))


# -- values and proofs -----------------------------------------------------------------------------------


def instance(step: Equation) -> bool:
    """Whether a step is an instance of its rule: one of its matches at the left side gives the right side."""
    assert isinstance(step.why, Rule)
    left, right = (step.after, step.before) if step.backwards else (step.before, step.after)
    bank = TermBank()
    left, right = adopt([left, right], ReplacementTable(), bank)
    matches = Matcher(ng.RuleSet([step.why]), Cache()).matches(left)
    return any(right_side(step.why, left, bindings, bank.make, CPU) is right for _, bindings in matches)


def check_proof(steps: list[Equation], start: ng.Op, end: ng.Op) -> None:
    """Each step is an instance of a rule, or stands on steps before it; together they lead from start to end."""
    parent: dict[ng.Op, ng.Op] = {}

    def find(term: ng.Op) -> ng.Op:
        while term in parent:
            term = parent[term]
        return term

    for step in steps:
        if isinstance(step.why, str):
            one, other = step.before.args, step.after.args
            assert step.before.definition is step.after.definition and step.before.attrs == step.after.attrs
            pairs = zip(one, other[::-1] if step.why == EXCHANGED else other, strict=True)
            assert all(find(a) is find(b) for a, b in pairs)
        else:
            assert instance(step), step.lines()
        a, b = find(step.before), find(step.after)
        if a is not b:
            parent[a] = b
    assert find(start) is find(end)


@few(20)
@given(terms("semi", 4), st.integers(0, 1000))
def test_a_proof_is_a_chain_of_instances_of_rules(term: ng.Op, seed: int) -> None:
    found = ng.saturate(term, SIMPLIFY + EXPLORE, odd(seed), classes=CLASSES, iterations=5, nodes=400)
    chosen = [s.why for s in found.table.redexes() if isinstance(s.why, Chosen)]
    for why in chosen:
        check_proof(why.equations, why.before, why.after)
    shared = found.table.stages[0].end(term)
    check_proof(found.equations(term), shared, found.table.stages[found.evidence.stage].end(shared))
    assume(chosen)


class _Odd(Setup):
    """Lowers as cpu does, with saturation by a cost that makes no sense."""

    place: str = "lower"

    @cached_property
    def passes(self) -> object:
        rules = library().of_kind("lower", "simplify", "explore")
        before = {"before": self.place} if self.place != "lower" else {"after": "lower"}
        own = ng.SaturationPass(rules, odd(3), classes=CLASSES, iterations=4, nodes=300, seconds=60, **before)
        return passes_of(self.rules.of_class(SAFE_CLASSES), self.target, self.cache, [own])


class _Graded(LoweredProgram):
    """The class of the rules in proofs counts, too."""

    @property
    def grade(self) -> str:
        steps = [s.why for s in self.lowering.table.redexes()]
        proved = [e.why for why in steps if isinstance(why, Chosen) for e in why.equations]
        return max((w.grade for w in [*steps, *proved] if isinstance(w, Rule)), key=CLASSES.index, default=EXACT)


EARLY, LATE = _Odd(), _Odd()
EARLY.place = "recognize"


@pytest.mark.parametrize("setup", [EARLY, LATE], ids=["first", "after lowering"])
def test_programs_have_the_values_they_had(setup: Setup) -> None:
    """Programs of all families, with effects, draws, scans and functions."""

    @few(6)
    @given(programs(steps=6))
    def check(program: object) -> None:
        lowered = _Graded(program, setup)
        try:
            for call, state in enumerate(lowered.states()):
                values = lowered.call(call, state, [*lowered.before, *lowered.after])
                assert different(lowered, values) is None
        except Undefined:
            assume(False)

    check()


def test_a_transformer_with_the_pass_gives_the_same_answers() -> None:
    x, w = matrix(4, 3, "x"), ng.variable((3, 5), initial_value=np.arange(15, dtype="float32").reshape(3, 5) / 15)
    h = ng.numpy.tanh(x @ w)
    draw = ng.uniform({"H": 4})
    returns = [
        h * (x @ w) + (x @ w) * ng.numpy.exp(x @ w),
        draw * draw + draw * draw,
        ng.sequential([ng.assign(w, w * 2), x @ w]),
        draw,
        ng.deriv(ng.numpy.sum(h), w),
    ]
    argument = np.linspace(-1, 1, 12, dtype="float32").reshape(4, 3)
    results = []
    for passes in ([], [ng.SaturationPass(EXPLORE + SIMPLIFY, classes=CLASSES)]):
        with ng.make_transformer("cpu", seed=5, passes=passes) as transformer:
            computation = transformer.computation(returns, x)
            results.append([*computation(argument), *computation(argument)])
    assert passes[0].last.cost_after < passes[0].last.cost_before
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-6, atol=2e-6)  # products are taken in another order


def test_what_is_chosen_after_lowering_is_what_the_target_executes() -> None:
    x = matrix(4, 4, "x")
    rules = ng.rule("tanh(x) => tanh(x)", to="numpy", kind="explore", name="up")
    only = ng.SaturationPass(rules, lambda t: float(t.definition.family == "semi"))
    with ng.make_transformer("cpu", passes=[only]) as transformer:
        argument = np.ones((4, 4), "float32")
        np.testing.assert_allclose(transformer.computation(semi.tanh(x), x)(argument), np.tanh(argument), rtol=1e-6)


def test_nothing_moves_into_a_scan_or_out_of_it() -> None:
    time = ng.make_axis(3, name="T")
    xs, a = ng.placeholder([time, ng.Axis("H", 2)], name="xs"), ng.placeholder({"H": 2}, name="a")
    outer = ng.negative(ng.negative(a))
    y, _ = ng.scan(lambda s, x: (s + x * outer, None), outer - outer + a, xs, time)
    rules = ng.rule("negative(negative(x)) => x", family="axes", kind="explore", name="twice")
    found = ng.saturate(y, rules, lambda t: 1.0)
    assert not any(t.definition.short == "negative" for t in topological(found.roots))
    values = {xs: np.arange(6, dtype="float32").reshape(3, 2), a: np.array([2, 3], "float32")}
    with ng.make_transformer("reference") as transformer:
        computation = transformer.computation([y, found.roots[0]], xs, a)
        one, other = computation(values[xs], values[a])
    np.testing.assert_array_equal(one, other)


# -- extraction ------------------------------------------------------------------------------------------


@st.composite
def small_graphs(draw: st.DrawFn) -> tuple[Graph, dict[int, int]]:
    """Classes with several e-nodes, cycles among them, and a choice without one."""
    count = draw(st.integers(1, 6))
    nodes, original = [], {}
    for own in range(count):
        below = draw(st.lists(st.integers(0, own - 1), max_size=2)) if own else []
        original[own] = len(nodes)
        nodes.append(Candidate(own, tuple(below), float(draw(st.integers(0, 9)))))
        for _ in range(draw(st.integers(0, 2))):
            children = draw(st.lists(st.integers(0, count), max_size=2))  # the last class has no e-node
            nodes.append(Candidate(own, tuple(children), float(draw(st.integers(0, 9)))))
    return Graph(nodes, [count - 1, draw(st.integers(0, count - 1))]), original


def best_by_hand(graph: Graph) -> float:
    """The least cost of all choices without a cycle."""
    best = math.inf
    possible = {o: [n for n in graph.of[o] if graph.of.keys() >= set(graph.nodes[n].children)] for o in graph.of}
    for numbers in itertools.product(*[possible[own] for own in sorted(graph.of)]):
        choice = dict(zip(sorted(graph.of), numbers, strict=True))
        done: set[int] = set()
        order = graph.used(choice)
        for own in order:
            if done.issuperset(graph.nodes[choice[own]].children):
                done.add(own)
        if len(done) == len(order):
            best = min(best, graph.cost(choice))
    return best


@few(150)
@given(small_graphs())
def test_the_cheapest_graph_is_chosen(drawn: tuple[Graph, dict[int, int]]) -> None:
    graph, original = drawn
    choice = extract(graph, original, 1_000_000)
    assert graph.cost(choice) == pytest.approx(best_by_hand(graph))
    order = graph.used(choice)
    places = {own: i for i, own in enumerate(order)}
    assert all(places[c] < places[own] for own in order for c in graph.nodes[choice[own]].children)


@few(50)
@given(small_graphs(), st.integers(0, 60))
def test_with_little_effort_it_costs_no_more_than_before(drawn: tuple[Graph, dict[int, int]], effort: int) -> None:
    graph, original = drawn
    assert graph.cost(extract(graph, original, effort)) <= graph.cost(original)


# -- bounds ----------------------------------------------------------------------------------------------


def sum_of(count: int) -> ng.Op:
    total = ng.placeholder((4,), "int64", name="x0")
    for i in range(1, count):
        total = total + ng.placeholder((4,), "int64", name=f"x{i}")
    return total


ADD = ng.rule("(x + y) + z => x + (y + z)", family="numpy", kind="explore", grade="fast", name="add")


def test_each_bound_stops_the_search_and_says_so() -> None:
    asked = {"classes": CLASSES, "nodes": 100_000}
    assert ng.saturate(sum_of(5), ADD, **asked).stopped == "saturated"
    assert ng.saturate(sum_of(5), ADD, **asked, iterations=2).stopped == "iterations"
    few_nodes = ng.saturate(sum_of(12), ADD, classes=CLASSES, nodes=500)
    assert few_nodes.stopped == "nodes" and few_nodes.nodes < 2_000
    assert ng.saturate(sum_of(5), ADD, **asked, seconds=0.0).stopped == "seconds"


def test_all_groupings_of_a_sum_are_found() -> None:
    """Of a sum of n operands each class is a set of some of them: there are 2 ** n - 1."""
    assert ng.saturate(sum_of(6), ADD, classes=CLASSES, nodes=100_000).classes == 2**6 - 1


def test_a_rule_that_is_banned_for_a_while_loses_nothing() -> None:
    found = [ng.saturate(sum_of(5), ADD, classes=CLASSES, matches=n, iterations=1000) for n in (1, 1000)]
    assert [f.stopped for f in found] == ["saturated", "saturated"]
    assert (found[0].classes, found[0].nodes) == (found[1].classes, found[1].nodes)
    assert found[0].iterations > found[1].iterations


# -- rules -----------------------------------------------------------------------------------------------


def test_a_rule_that_goes_up_explores_and_takes_part_in_no_pass() -> None:
    both = "rule right: dot(dot(x, y), z) => dot(x, dot(y, z))\nrule left: dot(x, dot(y, z)) => dot(dot(x, y), z)"
    with pytest.raises(RuleFileError, match="does not go down"):
        ng.saturate(sum_of(2), f"simplify semi\n{both}")
    chain = semi.dot(matrix(2, 9, "a"), semi.dot(matrix(9, 9, "b"), matrix(9, 9, "c")))
    assert ng.saturate(chain, f"explore semi\n{both}", multiplications).cost_after == 2 * (2 * 9 * 9)
    with ng.make_transformer("cpu", rules=f"explore semi\n{both}") as transformer:
        inputs = [t for t in topological([chain]) if not t.args]
        assert "rules.left" not in transformer.computation(chain, *inputs).explain(chain)


def test_a_rule_is_read_from_right_to_left_where_its_guard_holds() -> None:
    x = ng.placeholder((2, 3), name="x")
    rules = ng.rule("transpose(exp(x), perm=p) => exp(transpose(x, perm=p))\n if p == (1, 0)", kind="explore", name="t")
    for perm, root in ((1, 0), "transpose"), ((0, 1), "exp"):
        cost = lambda t: float(t.definition.short == "transpose" and t.args[0].definition.short != "exp")  # noqa: E731
        found = ng.saturate(semi.exp(semi.transpose(x, perm)), rules, cost, both_ways="t")
        assert found.roots[0].definition.short == root


@pytest.mark.parametrize(
    ("equation", "why"),
    [
        ("x * 0 => 0\n if not is_float(x.dtype)", "its right side is no op"),
        ("subtract(x, x) + y => negative(negative(y))", "does not say what `x` is"),
        ("sum(x, axes=k) => negative(negative(sum(x, axes=k)))", None),
        ("concat(x..., axis=k) => exp(log(concat(x..., axis=k)))\n if is_float(self.dtype)", "a sequence variable"),
        ("cast(x, dtype=t) => cast(x, dtype=self.dtype)", "does not say what `t` is"),
    ],
)
def test_what_cannot_be_turned_around_is_said(equation: str, why: str | None) -> None:
    rules = ng.rule(equation, kind="explore", name="r")
    if why is None:
        assert ng.saturate(sum_of(2), rules, both_ways="r").stopped == "saturated"
        return
    with pytest.raises(ArgumentError, match=f"r.r cannot be used both ways: .*{why}"):
        ng.saturate(sum_of(2), rules, both_ways="r")


def test_rules_that_take_no_part_are_listed_with_the_reason() -> None:
    found = ng.saturate(sum_of(2), library())
    reasons = {rule.name: reason for rule, reason in found.left_out}
    assert {r.kind for r, why in found.left_out if "of other terms" in why} == {"derive"}
    assert any("function" in why for why in reasons.values())
    assert any("@fast" in why for why in reasons.values())


def test_what_cannot_be_asked_is_refused() -> None:
    x = ng.placeholder((4,), name="x")
    with pytest.raises(ArgumentError, match="not all classes"):
        ng.saturate(x, classes=("quick",))
    with pytest.raises(ArgumentError, match="no rule is called nothing"):
        ng.saturate(x, both_ways="nothing")
    v = ng.variable((4,))
    with pytest.raises(ArgumentError, match="has an effect"):
        ng.saturate(ng.sequential([ng.assign(v, v + 1), v]))


@pytest.mark.parametrize("cost", [math.nan, math.inf, -1.0, None, "1"])
def test_a_cost_is_a_finite_number_that_is_not_negative(cost: Any) -> None:
    def mine(term: ng.Op) -> Any:
        return cost if term.definition.short == "exp" else np.float32(1)

    x = ng.placeholder((4,), name="x")
    assert ng.saturate(-x, cost=mine).cost_before == 2
    says = rf"the cost .*mine of numpy\.exp\(x\) is {re.escape(repr(cost))}\n  at {re.escape(__file__)}"
    with pytest.raises(ArgumentError, match=says):
        ng.saturate(ng.exp(x), cost=mine)


def test_the_cost_of_what_rules_make_is_looked_at_too() -> None:
    a, x, y = (ng.placeholder((4,), name=n) for n in "axy")
    rules = ng.rule("a * x + a * y => a * (x + y)", family="numpy", kind="explore", name="factor")
    with pytest.raises(ArgumentError, match=r"of numpy\.add\(x, y\) is nan"):
        ng.saturate(a * x + a * y, rules, lambda t: math.nan if str(t) == "numpy.add(x, y)" else 1.0)


@pytest.mark.parametrize(
    "asked",
    [{"iterations": "a"}, {"nodes": None}, {"seconds": math.nan}, {"matches": 0.5}, {"effort": -1}, {"cost": 1.0}],
    ids=str,
)
def test_a_bound_is_a_number_and_a_cost_a_function(asked: dict[str, Any]) -> None:
    x = ng.placeholder((4,), name="x")
    ((name, value),) = asked.items()
    says = rf"{name} is {re.escape(repr(value))}\n  at {re.escape(__file__)}"
    for ask in (lambda: ng.saturate(x, **asked), lambda: ng.SaturationPass(**asked)):
        with pytest.raises(ArgumentError, match=says):
            ask()


def test_what_was_chosen_can_be_computed_and_built_on() -> None:
    a, b, c = matrix(5, 5, "a"), matrix(5, 5, "b"), matrix(5, 1, "c")
    product = semi.dot(semi.dot(a, b), c)
    (root,) = ng.saturate(product, ASSOCIATIVE).roots
    values = [np.arange(25, dtype="float32").reshape(5, 5), np.eye(5, dtype="float32"), np.ones((5, 1), "float32")]
    with ng.make_transformer("cpu") as transformer:
        one, other = transformer.computation([product, root + root], a, b, c)(*values)
    np.testing.assert_array_equal(2 * one, other)
    assert root.args[0] is a
    assert root.info.place == product.info.place


def test_a_rule_that_changes_a_type_is_named() -> None:
    rules = parse_rules("explore semi\nrule wrong: exp(x) => isnan(x)", "my.rules", "my")
    with pytest.raises(RewriteError, match=r"rule my\.wrong makes float32\[4\] and bool\[4\] one"):
        ng.saturate(semi.exp(ng.placeholder((4,))), rules)


# -- numbers that are made equal --------------------------------------------------------------------------


def test_two_numbers_that_become_equal_are_an_error_with_the_proof() -> None:
    text = "explore semi\nrule fine: x * 1 => x\nrule wrong: x * y => x + y\n"
    two, one = (ng.constant(np.full(3, n, "int64")) for n in (2, 1))
    rules = parse_rules(text, "my.rules", "my") + SIMPLIFY
    with pytest.raises(RewriteError, match=r"the rules .*my\.wrong.* make .* equal") as raised:
        ng.saturate(semi.multiply(two, one), rules)
    assert "x * y => x + y" in str(raised.value) and "my.rules:3" in str(raised.value)


def test_numbers_that_differ_by_rounding_are_no_contradiction() -> None:
    numbers = [ng.constant(np.full(3, n, "float32")) for n in (0.1, 0.2, 0.7)]
    total = numbers[0]
    for number in numbers[1:]:
        total = semi.add(total, number)
    rules = SIMPLIFY.named("semi.fold_binary.add") + EXPLORE.named("explore.add")
    found = ng.saturate(total, rules, classes=CLASSES)
    assert found.stopped == "saturated" and found.roots[0].definition.name == "core.constant"


# -- explanations, and the package ---------------------------------------------------------------------------


def test_an_explanation_names_each_rule_with_its_line() -> None:
    a, b, c = matrix(9, 9, "a"), matrix(9, 9, "b"), matrix(9, 1, "c")
    chain = semi.dot(semi.dot(a, b), c)
    found = ng.saturate(chain, ASSOCIATIVE)
    assert found.explain(chain).splitlines()[-5:] == [
        "        associative.associative  (<associative>:3)",
        "            dot(dot(x, y), z) => dot(x, dot(y, z))",
        "            semi.dot(semi.dot(a, b), c)",
        "         => semi.dot(a, semi.dot(b, c))",
        "    normal form: semi.dot(a, semi.dot(b, c))",
    ]
    assert [(e.why.name, e.backwards) for e in found.equations(chain)] == [("associative.associative", False)]
    assert ARGUMENTS not in [e.why for e in found.equations(chain)]


def test_the_same_graph_gives_the_same_choice_in_every_process() -> None:
    program = """
import ngraph_rewrite as ng
from ngraph_rewrite import semi
x, y, z = (ng.placeholder((8, 8), name=n) for n in "xyz")
t = semi.transpose(semi.exp(x) * semi.exp(y) + semi.dot(semi.transpose(y, (1, 0)), semi.transpose(z, (1, 0))), (1, 0))
found = ng.saturate(t, '''explore semi
rule product @fast: exp(x) * exp(y) => exp(x + y)
rule transposes: dot(transpose(x, perm=p), transpose(y, perm=p)) => transpose(dot(y, x), perm=p)
rule sums: transpose(x, perm=p) + transpose(y, perm=p) => transpose(x + y, perm=p)
rule twice: transpose(transpose(x, perm=p), perm=p) => x
rule inside: exp(transpose(x, perm=p)) => transpose(exp(x), perm=p)
''', classes=("exact", "real", "refines", "fast"), both_ways="rules.sums")
print(found.roots, found.nodes, found.classes, [e.lines() for e in found.equations(t)])
"""
    assert "semi." in printed_in_any(program)


def test_egglog_is_imported_when_it_is_used_and_missed_with_advice() -> None:
    program = """
import sys
import ngraph_rewrite as ng
assert not any(name.startswith("egglog") for name in sys.modules)
sys.modules["egglog"] = None
try:
    ng.saturate
except ImportError as error:
    print(error)
"""
    assert 'pip install "ngraph_rewrite[saturate]"' in printed(program)
