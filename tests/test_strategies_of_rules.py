# SPDX-License-Identifier: Apache-2.0
"""Strategies: what order, where and how often means on graphs, on record step by step, for graphs of any depth."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from processes import printed_in_any

import ngraph_rewrite as ng
from ngraph_rewrite.cache import Cache
from ngraph_rewrite.rewriting.asked_target import Target
from ngraph_rewrite.rewriting.checks import checked_text
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.rule import Rule, RuleSet
from ngraph_rewrite.rewriting.rulefile import parse_rules
from ngraph_rewrite.terms.bank import TermBank

s = ng.strategies
H = ng.Axis("H", 3)
X = ng.placeholder([H], name="x")
Y = ng.placeholder([H], name="y")


def rules(text: str) -> RuleSet:
    """Rules that nobody checked: some of them never end."""
    return parse_rules(f"simplify axes\n{textwrap.dedent(text)}\n", "own.rules", "own")


# They end, and every order of steps comes to the same.
CONFLUENT = rules(
    """
    rule twice: negative(negative(x)) => x
    rule even: absolute(negative(x)) => absolute(x)
    rule once: absolute(absolute(x)) => absolute(x)
    rule square: square(negative(x)) => square(x)
    rule squared: square(absolute(x)) => square(x)
    rule same: maximum(x, x) => x
    rule least: minimum(x, x) => x
    """
)
# One step of each is another term, and a step may make a redex of what stands above or below it.
CHAIN = rules(
    """
    rule a: sin(x) => cos(exp(x))
    rule b: cos(cos(x)) => tanh(x)
    rule c: exp(tanh(x)) => x
    rule d: maximum(x, y) => minimum(y, x)
    """
)
NORMALISING: dict[str, Callable[[RuleSet], s.Strategy]] = {
    "innermost": s.innermost,
    "outermost": s.outermost,
    "worklist": s.worklist,
    "bottom_up": lambda r: s.fixpoint(s.bottom_up_once(r)),
    "top_down": lambda r: s.fixpoint(s.top_down_once(r)),
    "one_step": lambda r: s.fixpoint(s.one_step(r)),
}
EVERY = [s.innermost, s.outermost, s.worklist, s.top_down_once, s.bottom_up_once, s.one_step]
UNARY = (ng.negative, ng.absolute, ng.square, ng.sin, ng.cos, ng.exp, ng.tanh)
BINARY = (ng.maximum, ng.minimum, ng.multiply)


@st.composite
def graphs(draw: st.DrawFn) -> ng.Op:
    """Small graphs, in which terms are shared."""
    terms = [X, Y]
    for _ in range(draw(st.integers(1, 10))):
        function = draw(st.sampled_from((*UNARY, *BINARY)))
        args = draw(st.lists(st.sampled_from(terms[-4:]), min_size=2, max_size=2))
        terms.append(function(*args[: 1 if function in UNARY else 2]))
    return terms[-1]


# -- normal forms -----------------------------------------------------------------------------------


@settings(max_examples=36, deadline=None)
@example(term=ng.negative(Y) * ng.negative(ng.negative(X)))
@given(term=graphs())
def test_every_order_of_confluent_rules_comes_to_one_normal_form(term: ng.Op) -> None:
    expected = ng.rewrite(term, s.innermost(CONFLUENT)).root
    for name, made in NORMALISING.items():
        assert ng.rewrite(term, made(CONFLUENT)).root.same_as(expected), name


@settings(max_examples=24, deadline=None)
@given(term=graphs(), name=st.sampled_from(list(NORMALISING)))
def test_a_normal_form_stays(term: ng.Op, name: str) -> None:
    once = ng.rewrite(term, NORMALISING[name](CHAIN_THAT_ENDS))
    again = ng.rewrite(once.root, NORMALISING[name](CHAIN_THAT_ENDS))
    assert again.root.same_as(once.root)
    assert not list(again.table.redexes())


CHAIN_THAT_ENDS = RuleSet(rule for rule in CHAIN if rule.name != "own.d")


# -- the definitions, on trees ------------------------------------------------------------------------


def stepped(matcher: Matcher, term: ng.Op, bank: TermBank) -> ng.Op | None:
    found = matcher.step(term, bank.make, Target())
    return None if found is None else found[1]


def bottom_up(matcher: Matcher, term: ng.Op, bank: TermBank) -> ng.Op:
    """Visser's ``bottomup(try(s))``."""
    args = tuple(bottom_up(matcher, a, bank) for a in term.args)
    built = bank.make(term.definition, args, term.attrs)
    found = stepped(matcher, built, bank)
    return built if found is None else found


def once_from_top(matcher: Matcher, term: ng.Op, bank: TermBank) -> ng.Op | None:
    """Visser's ``oncetd(s)``: the term after a step at the first redex; None if there is none."""
    found = stepped(matcher, term, bank)
    for i, arg in enumerate(term.args if found is None else ()):
        new = once_from_top(matcher, arg, bank)
        if new is not None:
            return bank.make(term.definition, (*term.args[:i], new, *term.args[i + 1 :]), term.attrs)
    return found


@st.composite
def trees(draw: st.DrawFn) -> ng.Op:
    """Small terms without equal parts: what is true of trees is true of them."""
    leaves = iter([X, Y, *(ng.placeholder([H], name=f"x{i}") for i in range(20))])

    def grown(depth: int) -> ng.Op:
        if not depth:
            return next(leaves)
        function = draw(st.sampled_from((*UNARY, *BINARY)))
        return function(*(grown(depth - 1) for _ in range(1 if function in UNARY else 2)))

    return grown(draw(st.integers(1, 4)))


@settings(max_examples=24, deadline=None)
@given(term=trees())
def test_on_trees_sweeps_and_steps_are_what_their_definitions_say(term: ng.Op) -> None:
    matcher = Matcher(CHAIN, Cache())
    assert ng.rewrite(term, s.bottom_up_once(CHAIN)).root.same_as(bottom_up(matcher, term, TermBank()))
    expected = once_from_top(matcher, term, TermBank())
    assert ng.rewrite(term, s.one_step(CHAIN)).root.same_as(term if expected is None else expected)


@settings(max_examples=18, deadline=None)
@given(term=trees())
def test_on_trees_outermost_repeats_the_first_step_from_the_top(term: ng.Op) -> None:
    expected = ng.rewrite(term, s.fixpoint(s.one_step(CHAIN_THAT_ENDS)))
    found = ng.rewrite(term, s.outermost(CHAIN_THAT_ENDS))
    assert found.root.same_as(expected.root)
    assert len(list(found.table.redexes())) == len(list(expected.table.redexes()))


def test_top_down_does_not_look_at_what_it_builds() -> None:
    grow = rules("rule grow: sin(x) => exp(sin(x))")
    assert ng.rewrite(ng.sin(X), s.top_down_once(grow)).root.same_as(ng.exp(ng.sin(X)))
    inside = ng.rewrite(ng.sin(ng.sin(X)), s.top_down_once(grow)).root
    assert inside.same_as(ng.exp(ng.sin(ng.exp(ng.sin(X)))))


def test_a_shared_redex_is_rewritten_once() -> None:
    shared = ng.sin(X)
    term = ng.tanh(shared) * ng.square(shared) + shared
    for strategy in EVERY:
        table = ng.rewrite(term, strategy(rules("rule a: sin(x) => cos(x)"))).table
        assert len(list(table.redexes())) == 1, strategy.__name__


# -- what outermost is for ----------------------------------------------------------------------------

LAZY = rules(
    """
    rule loop: sin(x) => sin(exp(x))
    rule first: minimum(exp(x), y) => x
    rule ready: cos(x) => exp(x)
    """
)


def test_outermost_ends_where_the_rest_is_dropped() -> None:
    term = ng.tanh(ng.minimum(ng.exp(X), ng.sin(Y)))
    assert ng.rewrite(term, s.outermost(LAZY)).root.same_as(ng.tanh(X))
    with pytest.raises(ng.RewriteError, match=r"own\.loop"):
        ng.rewrite(term, s.budget(s.innermost(LAZY), 100))


def test_a_step_below_is_seen_above_before_anything_beside_it_is_touched() -> None:
    found = ng.rewrite(ng.minimum(ng.cos(X), ng.sin(Y)), s.outermost(LAZY))
    assert found.root.same_as(X)
    assert [step.why.name for step in found.table.redexes() if isinstance(step.why, Rule)] == ["own.ready", "own.first"]


# -- strategies of strategies -------------------------------------------------------------------------

SIN, COS = rules("rule a: sin(x) => cos(x)"), rules("rule b: cos(x) => tanh(x)")


def test_a_sequence_runs_all_and_a_choice_the_first_that_changes_something() -> None:
    both = s.sequence(s.innermost(SIN), s.innermost(COS))
    assert ng.rewrite(ng.sin(X), both).root.same_as(ng.tanh(X))
    either = s.choice(s.innermost(SIN), s.innermost(COS))
    assert ng.rewrite(ng.sin(X), either).root.same_as(ng.cos(X))
    assert ng.rewrite(ng.cos(X), either).root.same_as(ng.tanh(X))
    assert ng.rewrite(X, either).root.same_as(X)


def test_what_a_choice_gave_up_leaves_no_trace() -> None:
    table = ng.rewrite(ng.cos(X), s.choice(s.innermost(SIN), s.innermost(COS))).table
    assert [stage.name for stage in table.stages] == ["sequence", "share", "innermost 2"]


def test_repeat_stops_after_so_many_times_or_when_nothing_changes() -> None:
    grow = s.bottom_up_once(rules("rule grow: sin(x) => sin(exp(x))"))
    assert ng.rewrite(ng.sin(X), s.repeat(grow, 0)).root.same_as(ng.sin(X))
    assert ng.rewrite(ng.sin(X), s.repeat(grow, 2)).root.same_as(ng.sin(ng.exp(ng.exp(X))))
    assert len(ng.rewrite(X, s.repeat(grow, 5)).table.stages) == 2


def test_a_fixpoint_that_comes_back_is_an_error_that_names_the_rules() -> None:
    swap = rules("rule swap: x + y => y + x")
    with pytest.raises(ng.RewriteError, match=r"never ends[\s\S]*own\.swap \(own\.rules:2\)"):
        ng.rewrite(ng.sin(X) + X, s.fixpoint(s.top_down_once(swap)))


def test_a_budget_counts_the_steps_of_all_that_it_holds() -> None:
    two = s.sequence(s.innermost(SIN), s.innermost(COS))
    assert ng.rewrite(ng.sin(X), s.budget(two, 2)).root.same_as(ng.tanh(X))
    with pytest.raises(ng.RewriteError, match=r"^1 steps[\s\S]*own\.a \(own\.rules:2\)") as caught:
        ng.rewrite(ng.sin(X), s.budget(s.sequence(s.worklist(SIN), s.worklist(COS)), 1))
    assert "own.b (own.rules:2)" in str(caught.value)


@pytest.mark.parametrize("strategy", EVERY)
def test_every_strategy_keeps_to_its_budget(strategy: Callable[[RuleSet], s.Strategy]) -> None:
    with pytest.raises(ng.RewriteError, match=r"own\.a \(own\.rules:2\)"):
        ng.rewrite(ng.sin(X), s.budget(strategy(SIN), 0))


def test_at_rewrites_given_terms_and_what_is_below_them() -> None:
    inside, outside = ng.exp(ng.sin(X)), ng.square(ng.sin(X))
    term = ng.sin(inside * outside)
    found = ng.rewrite(term, s.at(inside, s.innermost(SIN)))
    assert found.root.same_as(ng.sin(ng.exp(ng.cos(X)) * ng.square(ng.sin(X))))
    assert found.table.snap(inside).same_as(ng.exp(ng.cos(X)))
    by_predicate = s.at(lambda t: t.definition.short == "exp", s.innermost(SIN))
    assert ng.rewrite(term, by_predicate).root is not term
    assert ng.rewrite(term, by_predicate).root.same_as(found.root)
    assert ng.rewrite(term, s.at(lambda t: False, s.innermost(SIN))).root.same_as(term)


def test_at_does_not_take_terms_of_another_graph() -> None:
    with pytest.raises(ng.ArgumentError, match="is not a term of the graph"):
        ng.rewrite(ng.sin(X), s.at(ng.sin(Y), s.innermost(SIN)))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: s.sequence(CONFLUENT),
        lambda: s.repeat(s.innermost(SIN), -1),
        lambda: s.budget(s.innermost(SIN), True),
        lambda: s.at([1], s.innermost(SIN)),
        lambda: s.innermost(ng.rules().of_kind("derive")),
        lambda: ng.rewrite(3, s.innermost(SIN)),
        lambda: ng.rewrite(X, SIN),
        lambda: ng.rewrite(X, s.innermost(SIN), classes=["none"]),
        lambda: ng.rewrite(X, s.innermost(SIN), target="none"),
        lambda: ng.StrategyPass(SIN),
    ],
)
def test_what_is_no_strategy_is_refused_at_the_users_line(wrong: Callable[[], object]) -> None:
    with pytest.raises(ng.ArgumentError, match=r"test_strategies_of_rules\.py"):
        wrong()


def test_rules_are_given_as_everywhere(tmp_path: Path) -> None:
    text = "simplify axes\nrule a: sin(x) => cos(y)\n"
    path = tmp_path / "mine.rules"
    path.write_text("simplify axes\nrule a:  absolute(absolute(x))  =>  absolute(x)\n", encoding="utf-8")
    with pytest.raises(ng.RuleFileError):
        s.innermost(text)  # it is checked
    found = ng.rewrite(ng.absolute(ng.absolute(X)), s.innermost(str(path)))
    assert found.root.same_as(ng.absolute(X))
    assert repr(s.at([X], s.repeat(s.innermost(path), 2))) == "at(x, repeat(innermost(1 rule), 2))"


def test_classes_that_may_not_fire_do_not() -> None:
    fast = parse_rules("simplify axes\nrule a @fast: sin(x) => cos(x)\n", "own.rules", "own")
    assert ng.rewrite(ng.sin(X), s.innermost(fast)).root.same_as(ng.sin(X))
    assert ng.rewrite(ng.sin(X), s.innermost(fast), classes=["fast"]).root.same_as(ng.cos(X))


def test_rules_that_look_at_the_graph_take_part_in_innermost_alone() -> None:
    both = rules("rule both @real: sin(x), cos(x) => tanh(x), exp(x)")
    found = ng.rewrite([ng.sin(X), ng.cos(X)], s.innermost(both)).roots
    assert found[0].same_as(ng.tanh(X)) and found[1].same_as(ng.exp(X))
    with pytest.raises(ng.ArgumentError, match="only innermost takes such rules"):
        ng.rewrite(X, s.outermost(both))


@pytest.mark.parametrize("strategy", EVERY)
def test_terms_of_signatures_are_terms(strategy: Callable[[RuleSet], s.Strategy]) -> None:
    bits = ng.signature(f"bits_{strategy.__name__}")
    bits.sort("Bit")
    one, flip = bits.operation("one", (), "Bit"), bits.operation("flip", ("Bit",), "Bit")
    twice = bits.rules("rule twice: flip(flip(x)) => x")
    assert ng.rewrite(flip(flip(flip(one()))), strategy(twice)).root.same_as(flip(one()))


# -- what is the same for all ---------------------------------------------------------------------------


@settings(max_examples=24, deadline=None)
@given(term=graphs(), strategy=st.sampled_from(EVERY))
def test_every_step_is_on_record_and_leads_on(term: ng.Op, strategy: Callable[[RuleSet], s.Strategy]) -> None:
    """From each handle its history leads, step by step, to what it is now; the graph itself stays as it is."""
    before = [(t, t.args, t.attrs, t.type, t.info) for t in ng.topological([term])]
    found = ng.rewrite(term, strategy(RuleSet((*CHAIN_THAT_ENDS, *CONFLUENT))))
    assert [(t, t.args, t.attrs, t.type, t.info) for t in ng.topological([term])] == before
    for handle in ng.topological([term]):
        at = handle
        for step in found.table.history(handle):
            assert step.before.same_as(at)
            assert step.after.type == step.before.type
            at = step.after
        assert at.same_as(found.table.snap(handle))
    assert found.table.snap(term) is found.root


def test_histories_do_not_run_into_each_other() -> None:
    """A term may become another term of the graph, which becomes the first one."""
    swap = s.bottom_up_once(rules("rule swap: x + y => y + x"))
    one, other = X + Y, Y + X
    found = ng.rewrite([one, other], swap)
    assert found.roots[0].same_as(other) and found.roots[1].same_as(one)
    for handle in (one, other):
        assert len([step for step in found.table.history(handle) if isinstance(step.why, Rule)]) == 1
    assert found.explain(one).count("own.swap") == 1


@pytest.mark.parametrize("strategy", [s.innermost, s.outermost, s.worklist])
@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("rule there: sin(x) => cos(x)\nrule back: cos(x) => sin(x)", [r"own\.there", r"own\.back"]),
        ("rule wrap: sin(x) => exp(sin(x))", [r"own\.wrap"]),
        ("rule grow: sin(x) => sin(exp(x))", [r"own\.grow"]),
    ],
)
def test_rules_that_never_end_are_named(strategy: Callable[[RuleSet], s.Strategy], text: str, named: list[str]) -> None:
    with pytest.raises(ng.RewriteError) as caught:
        ng.rewrite(ng.exp(ng.sin(X)), s.budget(strategy(rules(text)), 300))
    assert any(part.replace("\\", "") in str(caught.value) for part in named)


@pytest.mark.parametrize("strategy", EVERY)
@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("rule wrong: sin(x) => cast(x, dtype='float64')", "own.wrong rewrites float32"),
        ("rule wrong: sin(x) => axes_with_order(x, axes=axes_of())", "own.wrong fails on axes.sin"),
        ("rule wrong: sin(x) => cos(x)\n    if x.shape[3] == 1", "own.wrong fails on axes.sin.*IndexError"),
    ],
)
def test_rules_that_fail_are_named(strategy: Callable[[RuleSet], s.Strategy], text: str, what: str) -> None:
    with pytest.raises(ng.RewriteError, match=rf"{what}[\s\S]*own\.rules:2"):
        ng.rewrite(ng.sin(X), strategy(rules(text)))


@pytest.mark.parametrize("strategy", EVERY)
def test_rules_of_a_signature_whose_guard_fails_are_named(strategy: Callable[[RuleSet], s.Strategy]) -> None:
    text = """\
    signature divided unordered
    sort A
    operation a : -> A
    operation n : -> A [attributes v]
    operation f : A -> A
    rule wrong: f(n(v=k)) => a()
        if 7 // k > 0
    """
    checked, of = checked_text(textwrap.dedent(text), "divided.rules", "divided"), ng.signature("divided")
    with pytest.raises(ng.RewriteError, match=r"divided\.wrong fails on f\(n\(v=0\)\)[\s\S]*divided\.rules:6"):
        ng.rewrite(of["f"](of["n"](v=0)), strategy(checked))


@pytest.fixture(scope="module")
def deep() -> ng.Op:
    """Thirty thousand ops, one on the other; every fiftieth is a sine."""
    term = X
    for i in range(30_000):
        term = ng.sin(term) if i % 50 == 0 else ng.exp(term)
    return term


@pytest.mark.parametrize("strategy", EVERY)
def test_depth_is_no_limit(strategy: Callable[[RuleSet], s.Strategy], deep: ng.Op) -> None:
    steps = list(ng.rewrite(deep, strategy(SIN)).table.redexes())
    assert len(steps) == (1 if strategy is s.one_step else 600)


def test_a_worklist_looks_again_only_at_what_others_made(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[ng.Op] = []
    step = Matcher.step

    def counted(self: Matcher, term: ng.Op, make: object, target: object) -> object:
        looked.extend([term] if self.rules.rules[0].name == "own.a" else [])
        return step(self, term, make, target)  # type: ignore[arg-type]

    monkeypatch.setattr(Matcher, "step", counted)
    wide = X
    for _ in range(50):
        wide = ng.exp(wide)
    normal = s.worklist(SIN)
    ng.rewrite(ng.cos(X) * wide, s.sequence(normal, s.one_step(COS), normal))
    assert len(looked) == 53 + 2  # the new tanh and the product above it


def test_hash_seeds_change_nothing() -> None:
    program = """
        import ngraph_rewrite as ng
        from test_strategies_of_rules import CHAIN, CONFLUENT, EVERY, X, Y
        term = ng.maximum(ng.sin(ng.cos(X)), ng.absolute(-Y)) * ng.sin(ng.sin(X))
        for strategy in EVERY:
            for step in ng.rewrite(term, ng.strategies.repeat(strategy(CONFLUENT + CHAIN), 1)).table.redexes():
                print(step.stage, step.before, step.after, step.why)
    """
    program = textwrap.dedent(program.replace("CONFLUENT + CHAIN", "CONFLUENT"))
    assert "own.even" in printed_in_any(program, PYTHONPATH=str(Path(__file__).parent))


# -- as a pass ----------------------------------------------------------------------------------------


def test_a_strategy_is_a_pass_of_a_transformer() -> None:
    mine = ng.rule("tanh(tanh(x)) => tanh(x)", grade="fast", name="flat")
    once = ng.StrategyPass(s.bottom_up_once(mine), "flatten", after="lower", classes=["fast"])
    term, value = ng.tanh(ng.tanh(ng.tanh(X))), np.array([1.0, 2.0, 3.0], np.float32)
    with ng.make_transformer("cpu", passes=[once]) as transformer:
        computation = transformer.computation(term, X)
        np.testing.assert_allclose(computation(value), np.tanh(value), rtol=1e-6)  # a few ulps of float32
        assert "flatten: flat.flat  (<flat>:3)" in computation.explain(term)
        with ng.disable("flat.flat", rules=mine):
            assert "flat.flat" not in transformer.computation(term, X).explain(term)


def test_effects_keep_their_order() -> None:
    v = ng.variable([], initial_value=1.0, name="v")
    step = ng.sequential([ng.assign(v, ng.negative(ng.negative(v + 1))), ng.sin(v)])
    found = ng.rewrite(step, s.innermost(rules("rule twice: negative(negative(x)) => x\nrule a: sin(x) => cos(x)")))
    assert found.root.definition.short == "cos"
    assert found.writes[0].args[1].definition.short == "add"
