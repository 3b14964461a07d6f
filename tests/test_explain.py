# SPDX-License-Identifier: Apache-2.0
"""What lowering did to an op can be asked: how, why a rule did not fire, how often rules fire, which rule is wrong."""

from __future__ import annotations

import textwrap
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import ANALYTIC, Program, drawn

import ngraph_rewrite as ng
from ngraph_rewrite import semi
from ngraph_rewrite.lowering.attempts import best_attempt
from ngraph_rewrite.rewriting.rule import Rule, RuleSet
from ngraph_rewrite.rewriting.rulefile import parse_rules
from ngraph_rewrite.rewriting.search import matches
from ngraph_rewrite.terms.bank import TermBank

H = ng.Axis("H", 3)
X = ng.placeholder([H], name="x")
Y = ng.placeholder([H], name="y")
VALUES = np.array([0.5, 1.0, 2.0], np.float32)
OWN = parse_rules(
    """simplify semi

rule square_absolute:
    square(absolute(x))  =>  square(x)

rule same:      minimum(x, sin(x))  =>  sin(x)
rule doubled @real:  exp(x * 2)  =>  square(exp(x))
rule whole:
    sum(sin(x), axes=k)  =>  sin(x)
    where n = rank(k)
    if n == 1 and k == (0,) and x.rank > n

rule first:     cos(tanh(x))  =>  tanh(x)
rule second:    cos(tanh(x))  =>  x
rule quick @fast:  erf(x)  =>  tanh(x)
rule nothing @real:  add(x, negative(x), y...)  =>  add(y...)
rule alone @real:    sin(once(exp(x)))  =>  x
rule both @real:     sin(x), cos(x)  =>  x, x
rule turned:    transpose(sin(x), perm=(1, 0))  =>  sin(x)
rule seven:
    sign(x)  =>  x
    where n = rank(x.shape)
    if n == 7
""",
    "own.rules",
    "own",
) + parse_rules("recognize semi\n\nrule mine:  tanh(sin(x))  =>  sin(x)\n", "early.rules", "early")
# Each is wrong; tests switch off those that they do not ask about.
WRONG = parse_rules(
    """simplify semi

rule tanh @real:   tanh(x)  =>  sin(x)
rule twice @real:  x * 2  =>  x
rule sum @real:    sum(x, axes=k)  =>  max(x, axes=k)
""",
    "wrong.rules",
    "wrong",
)


def wrong_but_for(*right: str) -> AbstractContextManager[None]:
    return ng.disable(*(f"wrong.{name}" for name in right), rules=WRONG)


def why(rule: str, op: ng.Op, **options: object) -> str:
    return str(ng.why_not(rule, op, rules=OWN, **options))  # type: ignore[arg-type]


def said(text: str) -> str:
    return textwrap.dedent(text).strip("\n")


# -- derivations ------------------------------------------------------------------------------------

STEPS = parse_rules(
    """simplify axes

rule first:   sin(x)  =>  cos(exp(tanh(x)))
rule second:  exp(tanh(x))  =>  x
rule third:   cos(x)  =>  square(absolute(x))
""",
    "steps.rules",
    "steps",
)


def test_a_derivation_shows_what_rules_say_and_what_that_came_to() -> None:
    term = ng.sin(X)
    found = ng.rewrite(term, ng.strategies.innermost(STEPS))
    assert found.explain(term) == said(
        f"""
        axes.sin(x) : float32[H:3]  built at {term.info.place}
            innermost: steps.first  (steps.rules:3)
                sin(x) => cos(exp(tanh(x)))
                axes.sin(x)
             => axes.cos(axes.exp(axes.tanh(x)))
             -> axes.square(axes.absolute(x))  once its parts are rewritten
            innermost: steps.second  (steps.rules:4)
                exp(tanh(x)) => x
                axes.exp(axes.tanh(x))
             => x
            innermost: steps.third  (steps.rules:5)
                cos(x) => square(absolute(x))
                axes.cos(x)
             => axes.square(axes.absolute(x))
            normal form: axes.square(axes.absolute(x))
        """
    )


@pytest.mark.parametrize("strategy", [ng.strategies.outermost, ng.strategies.worklist])
def test_strategies_that_rewrite_parts_later_are_explained_too(
    strategy: Callable[[RuleSet], ng.strategies.Strategy],
) -> None:
    term = ng.sin(X)
    text = ng.rewrite(term, strategy(STEPS)).explain(term)
    assert "=> axes.cos(axes.exp(axes.tanh(x)))" in text
    assert [line.split()[1] for line in text.splitlines() if "steps." in line and "(" in line] != []
    assert text.endswith("normal form: axes.square(axes.absolute(x))")


def test_each_step_has_its_equation_its_place_and_the_users_line() -> None:
    inner = ng.exp(X)
    term = ng.log(inner)
    text = ng.explain(term)
    rule = ng.rules().find("semi.log_exp")
    assert rule is not None
    assert f"axes.log(axes.exp(x)) : float32[H:3]  built at {term.info.place}" in text
    assert f"axes.exp(x) : float32[H:3]  built at {inner.info.place}" in text
    assert f"    lower: semi.log_exp  ({rule.place})\n        log(exp(x)) => x\n" in text
    assert text.endswith("    normal form: x")


@drawn(25)
@given(data=st.data())
def test_every_step_of_any_program_can_be_taken_again(data: st.DataObject) -> None:
    """The right side that is shown is of the type of what it came to, and each rule that fired is shown."""
    program = Program(data.draw, ("float32", "float64"), {"H": 2, "W": 3})
    program.leaf(st.integers(-3, 3))
    program.leaf(st.integers(-3, 3))
    program.grow(ANALYTIC, data.draw(st.integers(1, 5)))
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.lowered(program.terms[-1])
        seen = [one for one in computation.steps() if isinstance(one.step.why, Rule)]
        fired = {step.why.name for step in computation.lowering.table.redexes() if isinstance(step.why, Rule)}
    assert {one.step.why.name for one in seen} == fired  # type: ignore[union-attr]
    for one in seen:
        assert one.right is not None and one.right.type == one.step.after.type
    assert all(
        len(line) <= 100 for line in computation.explain(program.terms[-1]).splitlines() if "built at" not in line
    )


# -- why not ----------------------------------------------------------------------------------------


def test_a_part_that_is_another_op_is_marked() -> None:
    assert why("own.square_absolute", ng.square(ng.tanh(X))) == said(
        """
        own.square_absolute @exact  (own.rules:3)
        does not match on semi.square(semi.tanh(strip(x))), a form in the pass lower
            square(absolute(x)) => square(x)
                   ^^^^^^^^^^^
                expected semi.absolute, here stands semi.tanh(strip(x))
        """
    )


def test_a_repeated_variable_shows_both_terms() -> None:
    assert why("own.same", ng.minimum(X, ng.sin(Y))).splitlines()[2:] == [
        "    minimum(x, sin(x)) => sin(x)",
        "                   ^",
        "        x is strip(x) already, and here stands strip(y)",
    ]


def test_of_the_orders_of_operands_the_nearest_is_shown() -> None:
    assert why("own.doubled", ng.exp(3 * X)).splitlines()[2:] == [
        "    exp(x * 2) => square(exp(x))",
        "            ^",
        "        expected the number 2, here stands 3.0 of float32",
    ]


def test_a_guard_is_taken_apart() -> None:
    assert why("own.whole", ng.sum(ng.sin(X), out_axes=[])) == said(
        """
        own.whole @exact  (own.rules:8)
        matches, but its guard refuses on semi.sum(semi.sin(strip(x)), axes=(0,)), a form in the pass lower
            sum(sin(x), axes=k) => sin(x)
                k = (0,)
                x = strip(x) : float32[3]
             if n == 1   holds
            and k == (0,)   holds
            and x.rank > n   does not hold
                  x.rank = 1
                  n = 1
        """
    )


def test_attributes_that_differ_are_named() -> None:
    m = ng.placeholder([H, ng.Axis("W", 2), ng.Axis("K", 4)], name="m")
    term = ng.axes_with_order(ng.sin(m), ng.make_axes(m.axes[::-1]))
    assert why("own.turned", term).splitlines()[2:] == [
        "    transpose(sin(x), perm=(1, 0)) => sin(x)",
        "    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^",
        "        expected perm=(1, 0), here perm is (2, 1, 0)",
    ]


def test_an_earlier_rule_is_named() -> None:
    text = why("own.second", ng.cos(ng.tanh(X)))
    assert "but another rule took the term first:" in text
    assert "lower: own.first  (own.rules:13)" in text


def test_a_class_that_may_not_fire_is_named() -> None:
    found = ng.why_not("own.quick", ng.erf(X), rules=OWN)
    assert found.verdict == "is of a class that may not fire"
    assert "takes no part: @fast is not among the classes exact, real, refines" in str(found)
    assert "matches on semi.erf(strip(x))" in str(found)
    assert ng.why_not("own.quick", ng.erf(X), rules=OWN, classes=("exact", "real", "fast")).fired


def test_a_handle_of_another_graph_is_told_of_as_such() -> None:
    part, other = ng.log(ng.exp(X)), ng.log(ng.exp(X))
    says = "axes.log(axes.exp(x)) is not part of this computation; tried on it as it is:"
    with ng.make_transformer("reference") as transformer:
        computation = transformer.computation(part, X)
        assert says in str(computation.why_not("axes.unary.log", other))
        assert says not in str(computation.why_not("axes.unary.log", part))
        assert says not in str(computation.why_not("deriv.log", other))


def test_a_rule_that_is_disabled_is_so_by_name() -> None:
    term = ng.log(ng.exp(X))
    assert ng.why_not("semi.log_exp", term).fired
    with ng.disable("semi.log_exp"):
        found = ng.why_not("semi.log_exp", term)
    assert found.verdict == "is disabled" and "matches on semi.log(semi.exp(strip(x)))" in str(found)


@pytest.mark.parametrize("term", [ng.log(ng.exp(X)), semi.log(semi.exp(ng.placeholder((3,), name="p")))])
def test_of_a_rule_that_is_off_no_other_reason_is_told(term: ng.Op) -> None:
    with ng.disable("semi.log_exp"):
        text = str(ng.why_not("semi.log_exp", term))
    assert "takes no part: semi.log_exp is disabled\notherwise:\nmatches on semi.log(semi.exp(" in text
    assert "but" not in text


def test_a_target_that_executes_the_op_has_no_use_for_the_rule() -> None:
    assert "takes no part: the target reference executes every op as it is" in str(
        ng.why_not("semi.log_exp", ng.log(ng.exp(X)), "reference")
    )
    mine = ng.find_target("cpu").extended("mine", remove=["cpu.gemm"])
    found = ng.why_not("cpu.gemm", ng.dot(X, Y), mine)
    assert found.verdict == "has no use for the target"


@pytest.mark.parametrize(
    ("term", "part"),
    [(ng.exp(ng.log(X)), "square(x)"), (ng.absolute(X), "absolute(x)"), (ng.sin(X) + X, "cos(x)")],
)
def test_of_alternatives_of_the_whole_left_side_the_part_that_fails_is_marked(term: ng.Op, part: str) -> None:
    equation = "either(exp(square(x)), absolute(absolute(x)), cos(x) + x) => x"
    rules = parse_rules(f"simplify semi\nrule one: {equation}\n", "choices.rules", "choices")
    shown, carets = str(ng.why_not("choices.one", term, rules=rules)).splitlines()[2:4]
    assert shown[carets.index("^") : carets.rindex("^") + 1] == part


def test_a_rule_that_fired_inside_says_so_where_it_does_not_match() -> None:
    rules = parse_rules("simplify semi\nrule tanh: x + tanh(x) => x\n", "inside.rules", "inside")
    text = str(ng.why_not("inside.tanh", ng.exp(X) + (X + ng.tanh(X)), rules=rules))
    assert "expected semi.tanh, here stands strip(x)\nit fired once elsewhere, first on semi.add(strip(x)," in text


def test_a_derive_rule_is_asked_as_a_derivative_asks() -> None:
    assert "fires: ng.deriv takes the adjoint from it" in str(ng.why_not("deriv.tanh", ng.tanh(X)))
    found = ng.why_not("deriv.tanh", ng.exp(X))
    assert found.verdict == "does not match"


@pytest.mark.parametrize(
    ("name", "term", "first"),
    [("deriv_semi.tanh", ng.tanh(X), "deriv.tanh"), ("deriv_semi.add", ng.tanh(X) + 1, "deriv.add")],
)
def test_what_a_derive_rule_takes_is_not_lowered_for_another(name: str, term: ng.Op, first: str) -> None:
    found = ng.why_not(name, term)
    assert found.verdict == "matches, and another rule came first"
    assert f"gets its adjoint before it is lowered:\n    {first} (" in str(found)
    with ng.disable(first):
        assert ng.why_not(name, term).fired


def test_a_derive_rule_takes_no_part_where_no_derivative_passes() -> None:
    number = ng.placeholder([H], dtype="int32")
    found = ng.why_not("deriv.multiply", number * number)
    assert found.verdict == "takes no part" and "no derivative passes through axes.multiply" in str(found)
    assert ng.why_not("deriv.multiply", X * Y).fired


def test_an_op_that_nothing_lowers_can_be_asked_about() -> None:
    with ng.disable("axes.unary.erf"):
        found = ng.why_not("axes.unary.erf", ng.erf(X))
    assert "takes no part: axes.unary.erf is disabled" in str(found)


def test_a_rule_of_another_pass_says_which() -> None:
    found = ng.why_not("early.mine", ng.tanh(ng.sin(X)), rules=OWN)
    assert found.verdict == "matches in another pass"
    assert "but it takes part in the pass recognize and not in lower" in str(found)


def test_a_name_with_alternatives_stands_for_the_nearest() -> None:
    found = ng.why_not("axes.unary", ng.tanh(X))
    assert found.fired and found.rule == "axes.unary.tanh"
    assert "rules called axes.unary, this one came nearest" in str(found)


@pytest.mark.parametrize(
    ("name", "near"),
    [("semi.log_ex", "semi.log_exp"), ("log_exp", "semi.log_exp"), ("axes.unary.tan_h", "axes.unary.tanh")],
)
def test_a_name_that_no_rule_has_tells_the_nearest(name: str, near: str) -> None:
    with pytest.raises(ng.ArgumentError, match=rf"no rule is called {name}[\s\S]*{near}"):
        ng.why_not(name, ng.tanh(X))


def test_operands_of_a_nest_are_looked_through() -> None:
    text = why("own.nothing", ng.sin(X) + ng.tanh(Y) + ng.exp(X))
    assert "does not match on semi.add(" in text
    assert "expected semi.negative, here stands" in text


def doubled(times: int) -> ng.Op:
    """A sum of 2**times operands, all the same."""
    term = ng.placeholder((3,), name="p")
    for _ in range(times):
        term = semi.add(term, term)
    return term


@pytest.mark.parametrize("times", [13, 40])
def test_of_a_shared_nest_no_more_operands_are_looked_through_than_rules_do(times: int) -> None:
    found = ng.why_not("own.nothing", doubled(times), rules=OWN)
    assert found.verdict == "does not match"
    assert f"a nest of {2**times} operands stands here, and patterns look through 4096 at most" in str(found)


def test_a_shared_nest_inside_another_is_not_unfolded() -> None:
    term = semi.add(semi.sin(doubled(40)), semi.exp(ng.placeholder((3,), name="q")))
    deep = ng.rule("sin(add(x, -x, some...)) + exp(y) + more... => y", grade="refines", name="deep")
    text = str(ng.why_not("deep.deep", term, rules=deep))
    assert f"a nest of {2**40} operands" in text


def test_a_rule_that_looks_at_the_graph_tells_what_of_it_does_not_fit() -> None:
    shared = ng.exp(X)
    term = ng.sin(shared)
    with ng.make_transformer("cpu", rules=OWN) as transformer:
        computation = transformer.lowered([term, ng.tanh(shared)])
        alone, both = computation.why_not("own.alone", term), computation.why_not("own.both", term)
        assert transformer.lowered(term).why_not("own.alone", term).fired
    assert alone.verdict == both.verdict == "matches a term, and not the graph"
    assert "semi.exp(strip(x)) has 2 users: semi.sin(semi.exp(strip(x)));" in str(alone)
    assert "but no other term of the graph matches the left side number 2:" in str(both)
    assert "there is no other cos in it" in str(both)


@settings(max_examples=36, deadline=None)
@given(data=st.data())
def test_an_attempt_tells_a_part_only_if_nothing_matches(data: st.DataObject) -> None:
    """On drawn terms: the search and the attempts agree on whether a rule matches."""
    bank = TermBank()
    leaves = [bank.adopt(t, ()) for t in (ng.placeholder([H], name="a"), ng.placeholder([H], name="b"))]
    terms = [*leaves]
    for _ in range(6):
        op = data.draw(st.sampled_from(["sin", "absolute", "square", "minimum", "multiply", "add", "negative"]))
        arity = 2 if op in ("minimum", "multiply", "add") else 1
        args = data.draw(st.lists(st.sampled_from(terms), min_size=arity, max_size=arity))
        made = ng.make_op(f"axes.{op}", *args)
        terms.append(bank.adopt(made, tuple(args)))
    axes = parse_rules(
        "simplify axes\nrule a: square(absolute(x)) => square(x)\nrule b: minimum(x, sin(x)) => sin(x)\n"
        "rule c @real: add(x, negative(x), y...) => add(y...)\nrule d: minimum(x, x) => x\n",
        "drawn.rules",
        "drawn",
    )
    for rule in axes:
        found = list(matches(rule.left, terms[-1], {}))
        attempt = best_attempt(rule.left, terms[-1])
        if not found:
            assert attempt.part is not None and attempt.says


LITTLE = parse_rules(
    """simplify axes

rule sine:    sin(x)  =>  cos(exp(tanh(x)))
rule exp:     exp(tanh(x))  =>  x
rule cosine:  cos(square(x))  =>  square(x)
rule zero:    negative(negative(x))  =>  x
rule later:   sin(exp(x))  =>  x
""",
    "little.rules",
    "little",
)
S = ng.strategies


@pytest.mark.parametrize(
    "strategy", [S.innermost, S.outermost, S.worklist, S.top_down_once, S.bottom_up_once, S.one_step]
)
def test_what_any_strategy_made_can_be_asked(strategy: Callable[[RuleSet], ng.strategies.Strategy]) -> None:
    terms = [ng.sin(ng.square(X)), ng.negative(ng.negative(ng.sin(ng.exp(Y)))), ng.tanh(X)]
    for way in (strategy(LITTLE), S.at(terms[0], S.repeat(strategy(LITTLE), 3)), S.fixpoint(strategy(LITTLE))):
        found = ng.rewrite(terms, way)
        fired = {step.why.name for step in found.table.redexes() if isinstance(step.why, Rule)}
        for term in terms:
            for rule in LITTLE:
                answer = found.why_not(rule.name, term)
                own = found.explain(term).rpartition(" built at ")[2]
                assert answer.fired or f": {rule.name}  (" not in own
                assert answer.fired <= (rule.name in fired)
                assert answer.rule == rule.name and str(answer).startswith(f"{rule.name} @exact  ({rule.place})")


def test_rules_may_stand_where_a_target_does() -> None:
    term = ng.cos(ng.tanh(X))
    assert "own.first" in ng.explain(term, OWN)
    assert ng.why_not("own.first", term, OWN).fired


# -- figures ----------------------------------------------------------------------------------------


def test_figures_count_what_fired() -> None:
    term = ng.softmax(ng.log(ng.exp(X)) + 0)
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(term, X)
        stats = computation.rule_stats()
        steps = computation.lowering.table.redexes()
        fired = Counter(step.why.name for step in steps if isinstance(step.why, Rule))
    assert {name: count.matches for name, count in stats.by_rule.items() if count.matches} == fired
    assert all(count.attempts >= count.matches and count.seconds >= 0 for count in stats.by_rule.values())
    assert str(stats).splitlines()[-1] == f"{sum(fired.values())} steps by {len(fired)} of {stats.tried} rules"
    assert ng.rules().stats(term).by_rule["semi.log_exp"].matches == 1


def test_figures_change_nothing_and_are_shared_by_nobody() -> None:
    term = ng.tanh(X) * 1
    first, second = (ng.rules().stats(term) for _ in range(2))
    assert {n: c[:2] for n, c in first.by_rule.items()} == {n: c[:2] for n, c in second.by_rule.items()}


def test_a_guard_that_refuses_is_an_attempt() -> None:
    count = (ng.rules() + OWN).stats(ng.sign(X)).by_rule["own.seven"]
    assert (count.attempts, count.matches) == (1, 0)  # in the pass lower; select knows that it was asked


def test_figures_of_a_rule_that_is_off() -> None:
    with ng.make_transformer("cpu") as transformer, ng.disable("semi.log_exp"):
        stats = transformer.lowered(ng.log(ng.exp(X))).rule_stats()
    assert stats.by_rule["semi.log_exp"].matches == 0


# -- disabling --------------------------------------------------------------------------------------


def test_computations_made_in_a_block_do_without_its_rules() -> None:
    term = ng.log(ng.exp(X))
    with ng.make_transformer("cpu") as transformer:
        with ng.disable("semi.log_exp"):
            inside = transformer.computation(term, X)
        outside = transformer.computation(term, X)
        assert "semi.log_exp" not in inside.explain(term)
        assert "semi.log_exp" in outside.explain(term)
        np.testing.assert_allclose(inside(VALUES), VALUES, rtol=1e-6)  # a few ulps of float32
        np.testing.assert_array_equal(outside(VALUES), VALUES)


def test_blocks_add_up_and_a_name_stands_for_its_alternatives() -> None:
    term = ng.log(ng.exp(X)) + 0
    with ng.make_transformer("cpu") as transformer, ng.disable("semi.log_exp"), ng.disable("axes.unary"):
        text = transformer.lowered(term).explain(term)
    assert "semi.log_exp" not in text and "axes.unary" not in text and "axes.binary_left_alike.add" in text


def test_a_block_is_of_its_thread() -> None:
    term, texts = ng.log(ng.exp(X)), dict[str, str]()
    entered, left = threading.Event(), threading.Event()

    def other() -> None:
        entered.wait()
        texts["other"] = ng.explain(term)
        left.set()

    thread = threading.Thread(target=other)
    thread.start()
    with ng.disable("semi.log_exp"):
        entered.set()
        left.wait()
        texts["own"] = ng.explain(term)
    thread.join()
    assert "semi.log_exp" in texts["other"] and "semi.log_exp" not in texts["own"]


def test_a_block_for_an_unknown_rule_is_refused() -> None:
    with (
        pytest.raises(ng.ArgumentError, match=r"no rule is called semi\.log_ex[\s\S]*semi\.log_exp"),
        ng.disable("semi.log_ex"),
    ):
        pass


# -- bisecting --------------------------------------------------------------------------------------


def model() -> ng.Op:
    return ng.softmax(ng.log(ng.exp(ng.tanh(X)))) * 2 + ng.sin(Y)


@pytest.mark.parametrize(("name", "others"), [("tanh", ("twice", "sum")), ("sum", ("tanh", "twice"))])
def test_a_wrong_rule_is_found_among_many(name: str, others: tuple[str, ...]) -> None:
    rule = WRONG.find(f"wrong.{name}")
    with wrong_but_for(*others):
        found = ng.bisect(model(), inputs=[VALUES, VALUES], rules=WRONG)
    assert found.verdict == "rule" and found.rule is rule
    assert found.step is not None and found.step.why is rule
    assert found.runs < 15
    assert rule is not None and str(found).splitlines()[:3] == [
        f"wrong.{name} @real  ({rule.place})",
        "without it the result is right; it first fired here:",
        f"    lower: wrong.{name}  ({rule.place})",
    ]


def test_rules_that_are_wrong_together_are_found_together() -> None:
    with wrong_but_for("sum"):
        found = ng.bisect(model(), inputs={X: VALUES, Y: VALUES}, rules=WRONG)
    assert found.verdict == "rules"
    assert {rule.name for rule in found.rules} == {"wrong.tanh", "wrong.twice"}


def test_an_oracle_may_be_arrays_or_a_function() -> None:
    arrays = [np.tanh(VALUES), np.exp(VALUES)]
    graph = [ng.tanh(X), ng.exp(X)]
    assert ng.bisect(graph, arrays, inputs=[VALUES], rules=WRONG).rule is WRONG.rules[0]
    right = ng.bisect(graph, lambda result: np.allclose(result[1], arrays[1]), inputs=[VALUES], rules=WRONG)
    assert right.verdict == "right" and right.rules == ()
    with pytest.raises(ng.ArgumentError, match="the oracle has 1 arrays, the graph 2"):
        ng.bisect(graph, arrays[:1], inputs=[VALUES], rules=WRONG)
    with pytest.raises(ng.ArgumentError, match=r"the oracle has shape \(2,\), the result \(3,\)"):
        ng.bisect(graph, [arrays[0][:2], arrays[1]], inputs=[VALUES], rules=WRONG)


def test_a_graph_that_means_something_else_is_not_a_rules_fault() -> None:
    assert ng.bisect(ng.tanh(X), np.sin(VALUES), inputs=[VALUES]).verdict == "graph"


def test_a_fault_of_the_code_is_told_from_one_of_the_rules() -> None:
    """An executable that is wrong although what it is made of is right."""
    cpu = ng.find_target("cpu")

    class Wrong:
        def __init__(self, program: ng.Program) -> None:
            self.inner = cpu.prepare(program)

        def run(self, inputs: object, results: list[np.ndarray], call: int) -> None:
            self.inner.run(inputs, results, call)  # type: ignore[arg-type]
            results[0] += 1

        def __getattr__(self, name: str) -> object:
            return getattr(self.inner, name)

    broken = ng.Target("broken", cpu.base, Wrong, cpu.sample, cpu.recurrent)  # type: ignore[arg-type]
    found = ng.bisect(ng.tanh(X), np.tanh(VALUES), inputs=[VALUES], target=broken)
    assert found.verdict == "code" and "a kernel is wrong, or the plan" in str(found)


def test_a_fault_of_a_pass_in_python_is_no_rules_fault() -> None:
    class Wrong(ng.PeepholePass):
        @ng.PeepholePass.visit_op("axes.tanh")
        def visit_tanh(self, op: ng.Op) -> None:
            self.replace_op(op, ng.make_op("axes.sin", *op.args))

    found = ng.bisect(ng.tanh(X), inputs=[VALUES], passes=[Wrong()])
    assert found.verdict == "passes" and "Wrong" in str(found)


def test_variables_and_writes_start_anew_in_each_run() -> None:
    v = ng.variable([H], initial_value=np.ones(3), name="v")
    step = ng.sequential([ng.assign(v, v * 2), ng.tanh(v)])
    with wrong_but_for("twice", "sum"):
        found = ng.bisect(step, np.tanh(np.full(3, 2.0)), rules=WRONG)
    assert found.verdict == "rule" and found.rule is WRONG.rules[0]


def test_a_view_is_told_from_what_it_looks_at_and_from_a_copy() -> None:
    x = ng.placeholder((3, 4))
    rows = ng.numpy.sort(x)
    columns, copied = ng.numpy.transpose(rows), ng.numpy.transpose(rows, (1, 0)).named("copied")
    with ng.make_transformer("cpu") as transformer:
        total = transformer.computation(ng.numpy.sum(columns * 2), x)
        total(np.ones((3, 4)))
        assert "computed as a view of semi.sort(" in total.explain(columns).splitlines()[-1]
        whole = transformer.computation([ng.numpy.sum(rows), copied], x)
        whole(np.ones((3, 4)))
        assert whole.explain(copied).splitlines()[-1].startswith("computed by copy_")


def test_of_a_deep_graph_only_what_is_asked_about_is_worked_out() -> None:
    """What became of handles further down is theirs, and no term is built for it."""
    term = X
    for _ in range(1200):
        term = ng.tanh(term) + Y
    with ng.make_transformer("cpu") as transformer:
        lowered = transformer.lowered(term)
        before = len(lowered.lowering.bank)
        text = lowered.explain(term)
        assert text.startswith("(1400 ops further down are not shown)")
        assert text.count(" : float32[H:3]  built at ") == 1000
        steps = text.splitlines()
        assert sum(": axes.unary.tanh  (" in line for line in steps) == 500
        assert len(lowered.lowering.bank) - before < 5000
        assert not lowered.why_not("semi.log_exp", term).fired
