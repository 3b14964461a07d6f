# SPDX-License-Identifier: Apache-2.0
"""Rules with several roots, or with inner terms that have one user: where they fire, and that no cycle comes of it."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ngraph_rewrite as ng
from ngraph_rewrite.cache import Cache
from ngraph_rewrite.errors import RewriteError, RuleFileError
from ngraph_rewrite.lowering import graph_rules
from ngraph_rewrite.lowering.graph_rules import apply_graph_rules
from ngraph_rewrite.lowering.passes import lower
from ngraph_rewrite.lowering.table import ReplacementTable
from ngraph_rewrite.rewriting.asked_target import Target
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.rule import RuleSet
from ngraph_rewrite.rewriting.rulefile import parse_rules
from ngraph_rewrite.rewriting.search import matches
from ngraph_rewrite.rewriting.trial_bank import TrialBank
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.testing.evaluate import evaluate
from ngraph_rewrite.types.axes import anonymous
from ngraph_rewrite.types.tensor import TensorType

VECTOR = TensorType("int64", anonymous([2]))


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Cache:
    return Cache(tmp_path_factory.mktemp("graph_rules"))


def rules_of(*equations: str) -> RuleSet:
    text = "\n".join(f"rule r{i}: {equation}" for i, equation in enumerate(equations))
    return parse_rules(f"simplify semi\n{text}\n", "my.rules", "my")


class Graph:
    """Terms of integers in one bank, and what rules make of them."""

    def __init__(self, folder: Cache, *equations: str) -> None:
        self.bank, self.table = TrialBank(), ReplacementTable()
        self.matcher = Matcher(rules_of(*equations), folder)

    def leaf(self, name: str) -> Op:
        return self.bank.leaf(name, VECTOR)

    def op(self, name: str, *args: Op) -> Op:
        return self.bank.make(lookup(f"semi.{name}"), args, ())

    def rewritten(self, *roots: Op, budget: int | None = None) -> list[Op]:
        return apply_graph_rules(roots, self.matcher, self.table, self.bank, Target(), "test", budget)


# -- several roots ----------------------------------------------------------------------------------------

PAIR = "absolute(x), negative(x) => maximum(x, 0 - x), 0 - x"


def test_roots_that_share_a_part_are_rewritten_together(folder: Cache) -> None:
    graph = Graph(folder, PAIR)
    x, y = graph.leaf("x"), graph.leaf("y")
    roots = [graph.op("absolute", x), graph.op("negative", y), graph.op("add", graph.op("negative", x), y)]
    first, second, third = graph.rewritten(*roots)
    zero = first.args[1].args[0]
    minus = graph.op("subtract", zero, x)
    assert first is graph.op("maximum", x, minus)
    assert second is roots[1]
    assert third is graph.op("add", minus, y)
    assert [str(step.why) for step in graph.table.redexes()] == ["my.r0 (my.rules:2)"] * 2


def test_the_guard_sees_what_all_roots_bind(folder: Cache) -> None:
    equation = "add(x, y), subtract(x, z) => maximum(x, y), minimum(x, z)"
    graph = Graph(folder, f"{equation}\n    if y.rank == z.rank + 1", f"{equation}\n    if y.rank == 1 and z.rank == 1")
    x, y, z = (graph.leaf(n) for n in "xyz")
    made = graph.rewritten(graph.op("add", x, y), graph.op("subtract", x, z), graph.op("add", y, z))
    assert [t.definition.short for t in made] == ["maximum", "minimum", "add"]
    assert {str(step.why) for step in graph.table.redexes()} == {"my.r1 (my.rules:4)"}


def test_roots_of_different_depth_are_found_through_what_they_share(folder: Cache) -> None:
    graph = Graph(folder, "absolute(x), add(negative(negative(x)), y) => maximum(x, 0 - x), x - (0 - y)")
    x, y = graph.leaf("x"), graph.leaf("y")
    deep = graph.op("add", graph.op("negative", graph.op("negative", x)), y)
    made = graph.rewritten(deep, graph.op("absolute", x))
    assert [t.definition.short for t in made] == ["subtract", "maximum"]
    alone = [deep, graph.op("absolute", y)]
    assert graph.rewritten(*alone) == alone


def test_two_roots_are_two_terms(folder: Cache) -> None:
    graph = Graph(folder, "add(x, y), add(x, z) => y - (0 - x), z - (0 - x)")
    x, y = graph.leaf("x"), graph.leaf("y")
    one = graph.op("add", x, y)
    assert graph.rewritten(one) == [one]
    made = graph.rewritten(one, graph.op("add", x, x))
    assert [t.definition.short for t in made] == ["subtract", "subtract"]


def test_a_root_below_another_is_left_alone(folder: Cache) -> None:
    """Their replacements would need each other."""
    graph = Graph(folder, "add(x, y), subtract(x, z) => y - (z - x) - (0 - z), (x - z) + (y - y)")
    x, y = graph.leaf("x"), graph.leaf("y")
    below = graph.op("add", x, y)
    above = graph.op("subtract", x, graph.op("absolute", below))
    assert graph.rewritten(above, below) == [above, below]


def test_pairs_that_cross_are_not_both_rewritten(folder: Cache) -> None:
    """Each alone is free of cycles: a root of one is below a root of the other, and the other way round."""
    equation = "absolute(x), sign(add(x, y)) => maximum(x, 0 - x) + (y - y), 0 - sign(0 - (x + y))"
    graph = Graph(folder, equation)
    x, y = graph.leaf("x"), graph.leaf("y")
    one, two = graph.op("absolute", x), graph.op("absolute", y)
    over = [graph.op("sign", graph.op("add", t, u)) for t, u in ((x, two), (y, one))]
    roots = [one, two, *over]
    made = graph.rewritten(*roots)
    values = {x: np.array([3, -2]), y: np.array([-5, 0])}
    for old, new in zip(roots, made, strict=True):
        np.testing.assert_array_equal(evaluate(old, values)[old], evaluate(new, values)[new])
    assert made[0] is not one
    assert made[1] is two


def crossing(graph: Graph, random: Random) -> list[Op]:
    """A graph in which roots of all levels share parts, and depend on each other in every way."""
    terms = [graph.leaf(name) for name in "abc"]
    for _ in range(random.randint(2, 18)):
        name = random.choice(("add", "maximum", "add", "maximum", "absolute"))
        args = [random.choice(terms[-8:]) for _ in range(1 if name == "absolute" else 2)]
        terms.append(graph.op(name, *args))
    return random.sample(terms, min(len(terms), random.randint(1, 6))) + terms[-1:]


MERGES = "add(x, y), maximum(x, z) => (x - (0 - y)) - (z - z), (0 - minimum(0 - x, 0 - z)) - (y - y)"


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1))
def test_values_stay_and_no_cycle_comes_whatever_depends_on_what(folder: Cache, seed: int) -> None:
    graph = Graph(folder, MERGES)
    roots = crossing(graph, Random(seed))
    made = graph.rewritten(*roots)
    leaves = [t for t in topological([*roots, *made]) if t.definition.name == "core.placeholder"]
    values = {leaf: np.array([i - 1, 3 - 2 * i]) for i, leaf in enumerate(leaves)}
    for old, new in zip(roots, made, strict=True):
        np.testing.assert_array_equal(evaluate(old, values)[old], evaluate(new, values)[new])
    again = graph.rewritten(*made)
    assert again == made  # and no redex is left


def test_pairs_of_one_level_go_in_one_sweep(folder: Cache) -> None:
    graph = Graph(folder, PAIR)
    leaves = [graph.leaf(f"x{i}") for i in range(100)]
    graph.rewritten(*(graph.op("absolute", x) for x in leaves), *(graph.op("negative", x) for x in leaves))
    assert len(list(graph.table.redexes())) == 200
    assert len(graph.table.stages) == 2


# -- one user ---------------------------------------------------------------------------------------------

ONCE = "absolute(once(negative(x))) => absolute(x)"


def test_an_inner_term_has_no_other_user(folder: Cache) -> None:
    graph = Graph(folder, ONCE)
    x = graph.leaf("x")
    inner = graph.op("negative", x)
    outer = graph.op("absolute", inner)
    plain = graph.op("absolute", x)
    assert graph.rewritten(outer) == [plain]
    assert graph.rewritten(outer, graph.op("sign", inner)) == [outer, graph.op("sign", inner)]
    assert graph.rewritten(outer, inner) == [outer, inner]
    assert graph.rewritten(graph.op("add", outer, graph.op("sign", outer)))[0].args[0] is plain


def test_a_user_that_takes_a_term_twice_is_one_user(folder: Cache) -> None:
    graph = Graph(folder, "add(once(negative(x)), negative(x)) => 0 - x - x")
    double = graph.op("add", graph.op("negative", graph.leaf("x")), graph.op("negative", graph.leaf("x")))
    assert graph.rewritten(double)[0].definition.short == "subtract"


def test_a_chain_of_inner_terms_is_rewritten_to_the_end(folder: Cache) -> None:
    graph = Graph(folder, "negative(once(negative(x))) => x")
    term = x = graph.leaf("x")
    for _ in range(40):
        term = graph.op("negative", term)
    assert graph.rewritten(term) == [x]


def test_terms_that_lack_an_op_of_the_left_side_are_not_searched(
    folder: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of each sum all operands were matched, in both orders: half of the time of lowering a large net."""
    searched = list[Op]()
    monkeypatch.setattr(graph_rules, "matches", lambda p, term, b: searched.append(term) or matches(p, term, b))
    graph = Graph(folder, "x + once(absolute(once(negative(y)))) => x - y")
    x, y = graph.leaf("x"), graph.leaf("y")
    inner = graph.op("absolute", graph.op("negative", y))
    sums = [graph.op("add", inner, x), graph.op("add", x, graph.op("absolute", y))]
    assert graph.rewritten(*sums) == [graph.op("subtract", x, y), sums[1]]
    assert searched == [sums[0]]


def test_a_dead_user_is_no_user(folder: Cache) -> None:
    """Others rewrite first: what is no longer in the graph does not count."""
    graph = Graph(folder, ONCE, "sign(negative(x)) => 0 - sign(x)")
    x = graph.leaf("x")
    inner = graph.op("negative", x)
    lowered = lower([graph.op("add", graph.op("absolute", inner), graph.op("sign", inner))],
                    Target(), {"lower": graph.matcher}, complete=False)  # fmt: skip
    (root,) = lowered.roots
    assert root.args[0].definition.short == "absolute"
    assert root.args[0].args[0].definition.name == "core.placeholder"


# -- the frame --------------------------------------------------------------------------------------------


def test_no_step_on_one_term_takes_such_a_rule(folder: Cache) -> None:
    graph = Graph(folder, ONCE, PAIR)
    x = graph.leaf("x")
    term = graph.op("absolute", graph.op("negative", x))
    assert graph.matcher.step(term, graph.bank.make, Target()) is None
    assert [rule.name for rule, _ in graph.matcher.matches(term)] == ["my.r0"]
    assert [rule.name for rule in graph.matcher.graph_rules] == ["my.r0", "my.r1"]


def test_rules_that_run_in_a_circle_are_stopped(folder: Cache) -> None:
    graph = Graph(folder, "add(x, y), maximum(x, z) => add(y, x), maximum(z, x)")
    x, y = graph.leaf("x"), graph.leaf("y")
    with pytest.raises(RewriteError, match="redexes of rules that look at the graph"):
        graph.rewritten(graph.op("add", x, y), graph.op("maximum", x, y), budget=30)


def test_a_rule_that_changes_a_type_is_stopped(folder: Cache) -> None:
    graph = Graph(folder, "absolute(x), negative(x) => 0 - x, equal(x, x)")
    x = graph.leaf("x")
    with pytest.raises(RewriteError, match=r"my\.r0 rewrites int64"):
        graph.rewritten(graph.op("absolute", x), graph.op("negative", x))


@pytest.mark.parametrize(
    ("equation", "message"),
    [
        ("sin(x), cos(y) => x, y", "shares no variable"),
        ("sin(x), cos(x) => x", "1 right sides for 2 left"),
        ("sin(x) => x, x", "2 right sides for 1 left"),
        ("sin(x), cos(x) => x, x, x", "3 right sides for 2 left"),
        ("sin(x), cos(x) => x, 1", "type of this number"),
        ("sin(x), x => x, x", "an op applied to patterns"),
        ("sin(x), once(cos(x)) => x, x", "an op applied to patterns"),
        ("once(sin(x)) => x", "must be an op"),
        ("sin(once(x)) => x", "takes one op"),
        ("core.make_tuple(once(sin(x)), y) => core.make_tuple(y, y)", "cannot stand in a tuple"),
    ],
)
def test_what_means_nothing_is_refused_where_it_stands(equation: str, message: str) -> None:
    with pytest.raises(RuleFileError, match=message):
        rules_of(equation)


def test_a_derive_file_has_no_such_rules() -> None:
    with pytest.raises(RuleFileError, match="files of recognize, simplify"):
        parse_rules("derive semi\nrule r: sin(once(cos(x))) => d\n", "my.rules", "my")
    assert ng.errors.RuleFileError is RuleFileError


def test_a_root_that_stays_as_it_is_is_no_step(folder: Cache) -> None:
    graph = Graph(folder, "absolute(x), negative(x) => absolute(x), 0 - x")
    x = graph.leaf("x")
    roots = [graph.op("add", graph.op("negative", x), x), graph.op("absolute", x)]
    made = graph.rewritten(*roots)
    assert made[1] is roots[1]
    assert [t.definition.short for t in (made[0], made[0].args[0])] == ["add", "subtract"]
    assert len(list(graph.table.redexes())) == 1
