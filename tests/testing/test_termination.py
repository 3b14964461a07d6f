# SPDX-License-Identifier: Apache-2.0
"""Rules that run in a cycle are named with the term that comes back, and so are rules that can never fire."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from processes import printed_in_any

import ngraph_rewrite as ng
from ngraph_rewrite.errors import RuleFileError
from ngraph_rewrite.lowering.passes import library
from ngraph_rewrite.rewriting.loops import find_loop
from ngraph_rewrite.rewriting.order import DECLARED, Order, why_not_down
from ngraph_rewrite.rewriting.precedence import Conflict, find_order
from ngraph_rewrite.rewriting.rule import RuleSet
from ngraph_rewrite.rewriting.rulefile import parse_rules
from ngraph_rewrite.testing import termination
from ngraph_rewrite.testing.findings import FAILED, NONE, PASSED, Context, Finding
from ngraph_rewrite.testing.limits import too_large
from ngraph_rewrite.testing.subsumption import check_subsumption
from ngraph_rewrite.testing.termination import assert_ends, check_termination, print_order

TWO_WAYS = "rule there: log(x) => log1p(x)\nrule back: log1p(x) => log(x)"


def rules_of(text: str, header: str = "simplify semi") -> RuleSet:
    return parse_rules(f"{header}\n{text}\n", "my.rules", "my")


def terminates(own: RuleSet, beside: RuleSet | None = None) -> dict[str, Finding]:
    every = own + (library() if beside is None else beside)
    return {f.rule.removeprefix("my."): f for f in check_termination(own, Context(every))}


def fires(own: RuleSet) -> dict[str, Finding]:
    return {f.rule.removeprefix("my."): f for f in check_subsumption(own, Context(own + library()))}


def ordered(text: str, header: str = "simplify semi") -> Order | Conflict:
    return find_order(rules_of(text, header))


# -- orders ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "rule a: exp(x) => tanh(x)",
        "rule a: exp(x) => tanh(tanh(x))\nrule b: tanh(log(x)) => log(tanh(x))",
        "rule a: tanh(x) => (exp(x) - exp(-x)) / (exp(x) + exp(-x))",
        "rule a: x - (y - z) => (x - y) - exp(z)",  # arguments compared from the right
        "rule a: x - exp(y) => y - x",  # arguments compared as multisets
        "rule a: x + y => axes.dot(x, y)",
        "rule a: exp(log(exp(x))) => log(log(x))\nrule b: log(exp(log(x))) => exp(exp(x))",  # both make terms smaller
        "rule a: exp(exp(log(x))) => log(log(log(x)))\nrule b: log(log(log(exp(x)))) => exp(exp(x))",
        "rule a: exp(exp(x)) => log(log(log(x)))\nrule b: log(log(log(log(x)))) => exp(x)",  # log weighs less than exp
    ],
)
def test_an_order_is_found_in_which_every_rule_goes_down(text: str) -> None:
    found = ordered(text)
    assert isinstance(found, Order)
    assert found != DECLARED
    assert [why_not_down(rule, found) for rule in rules_of(text) if why_not_down(rule, found) is not None] == []


def test_the_order_of_declaration_is_tried_first() -> None:
    assert find_order(library().of_kind("lower", "simplify")) is DECLARED


def test_an_order_is_found_for_a_rule_and_the_whole_library() -> None:
    every = rules_of("rule a: exp(x) => tanh(x)\nrule b: log(x) + log(y) => log(x * y)") + library()
    found = find_order(every.of_kind("lower", "simplify"))
    assert isinstance(found, Order)
    assert all(why_not_down(rule, found) is None for rule in every.of_kind("lower", "simplify"))


@pytest.mark.parametrize(
    ("text", "together"),
    [
        ("rule a: x + y => y + x\nrule b: exp(x) => x", "a"),
        (TWO_WAYS + "\nrule other: exp(x) => tanh(x)", "there back"),
        ("rule a: exp(x) => log(x)\nrule b: log(x) => tanh(x)\nrule c: tanh(x) => exp(x)", "a b c"),
        ("rule a: (x + y) * z => x * z + y * z\nrule b: x * z + y * z => (x + y) * z", "a b"),
    ],
)
def test_where_there_is_no_order_the_fewest_rules_are_named_that_have_none(text: str, together: str) -> None:
    found = ordered(text)
    assert isinstance(found, Conflict)
    assert [rule.name for rule in found.rules] == [f"my.{name}" for name in together.split()]
    assert all(isinstance(find_order(r for r in found.rules if r is not one), Order) for one in found.rules)


STRINGS = st.lists(st.sampled_from(["exp", "log", "tanh"]), min_size=1, max_size=3)


def nested(ops: list[str]) -> str:
    return "x" if not ops else f"{ops[0]}({nested(ops[1:])})"


@settings(max_examples=36, deadline=None)
@given(
    st.lists(st.tuples(STRINGS, st.lists(st.sampled_from(["exp", "log", "tanh"]), max_size=4)), min_size=1, max_size=3)
)
def test_rules_with_an_order_run_in_no_loop(pairs: list[tuple[list[str], list[str]]]) -> None:
    """Rules of nested calls are string rewriting: most sets of them have an order or a short loop."""
    rules = rules_of("\n".join(f"rule r{i}: {nested(a)} => {nested(b)}" for i, (a, b) in enumerate(pairs)))
    found = find_order(rules)
    if isinstance(found, Order):
        assert all(why_not_down(rule, found) is None for rule in rules)
        assert find_loop(rules.rules) is None


# -- loops -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "says", "other"),
    [
        ("rule a: x + y => y + x", "runs in a cycle: semi.add(x, y) comes back as semi.add(y, x)", None),
        ("rule a: log(x) => exp(log(x))", "runs in a cycle: semi.log(x) comes back", None),
        ("rule a: x - y => negative(y - x)", "runs in a cycle: semi.subtract(x, y) comes back as", None),
        ("rule a: concat(x..., axis=k) => concat(x..., x..., axis=k)", "steps and more follow semi.concat(", None),
        (
            "rule a: negative(x) => x * (-1)",
            "runs in a cycle with semi.multiply_minus_one (rules/semi.rules:",
            "semi.multiply_minus_one",
        ),
        (
            "rule a: (x + y) * z => x * z + y * z\nrule b: x * z + y * z => (x + y) * z",
            "runs in a cycle with my.b (my.rules:3): semi.multiply(semi.add(x, y), z) comes back",
            "my.b",
        ),
        (
            "rule a: exp(x) => tanh(x)\nrule b: tanh(log(x)) => exp(log(x))",  # only where x is a logarithm
            "runs in a cycle with my.b (my.rules:3): semi.tanh(semi.log(x)) comes back",
            "my.b",
        ),
        (
            "rule a: exp(x) => log(x)\nrule b: log(x) => tanh(x)\nrule c: tanh(x) => exp(x)",
            "runs in a cycle with my.b (my.rules:3) and my.c (my.rules:4): semi.exp(x) comes back",
            "my.b",
        ),
        (
            "rule a: x + y => axes.add(x, y)",
            "runs in a cycle with axes.binary_alike.add (rules/axes.rules:",
            "axes.binary_alike.add",
        ),
    ],
)
def test_a_rule_that_runs_in_a_cycle_is_told_with_which_and_what_comes_back(
    text: str, says: str, other: str | None
) -> None:
    found = terminates(rules_of(text))["a"]
    assert found.status == FAILED
    assert says in found.says
    assert found.other == other
    assert "\n" not in found.says


def test_rules_without_an_order_fail_though_no_loop_is_seen() -> None:
    """From the inside out exp(x) is gone before tanh(exp(x)) is looked at: but nothing proves that."""
    found = terminates(rules_of("rule a: exp(x) => tanh(x)\nrule b: tanh(exp(x)) => exp(exp(x))"))
    assert {f.status for f in found.values()} == {FAILED}
    assert found["a"].says == "goes down in no order with my.b (my.rules:3)"
    assert "# my.rules:3: tanh(exp(x)) => exp(exp(x))" in found["a"].shown


def test_a_loop_is_shown_as_a_program_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my.rules").write_text(f"simplify semi\n{TWO_WAYS}\n", encoding="utf-8")
    found = terminates(rules_of(TWO_WAYS))["there"]
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssertionError, match=r"semi\.log\(x\) comes back"):
        exec(found.shown, {})  # noqa: S102 (it is what a user would paste)
    assert_ends(ng.semi.log(ng.semi.exp(ng.placeholder([2]).named("x"))), ["my.there"], ["my.rules"])


def test_a_rule_is_told_in_which_order_it_goes_down() -> None:
    text = "rule a: exp(x) => tanh(x)\nrule b: -(-x) => x"
    found = terminates(rules_of(text))
    assert {(name, f.status, f.says) for name, f in found.items()} == {
        ("a", PASSED, "goes down in an order that was found"),
        ("b", PASSED, "goes down in an order that was found"),
    }
    assert terminates(rules_of("rule b: -(-x) => x"))["b"].says == "goes down in the order of declaration"
    assert terminates(rules_of("rule b: exp(exp(x)) => exp(x)", "recognize axes"))["b"].says == "makes terms smaller"
    assert terminates(rules_of("rule b: exp(x) => d * self", "derive semi"))["b"].status == NONE


def test_a_loop_does_not_hide_another_nor_spoil_the_rest() -> None:
    found = terminates(rules_of(f"{TWO_WAYS}\nrule a: x + y => y + x\nrule b: -(-x) => x"))
    expected = {"there": FAILED, "back": FAILED, "a": FAILED, "b": PASSED}
    assert {name: f.status for name, f in found.items()} == expected


def test_rules_that_go_down_are_not_taken_out_for_those_that_do_not() -> None:
    """The search for an order may miss the one of declaration, and name rules that have that one."""
    own = rules_of("rule a: exp(x) => tanh(x)\nrule b: -(-x) => x\nrule c: absolute(absolute(x)) => absolute(x)")
    missed = Conflict(tuple(own)[1:])
    with patch.object(termination, "find_order", lambda rules: missed if len(rules) == 3 else find_order(rules)):
        found = terminates(own, RuleSet())
    assert {name: f.status for name, f in found.items()} == {"a": FAILED, "b": PASSED, "c": PASSED}


def test_rewriting_with_the_library_ends() -> None:
    wrong = [f for f in check_termination(library(), Context(library())) if f.status == FAILED]
    assert wrong == []


# -- rules that run beside each other ----------------------------------------------------------------------


def test_a_transformer_takes_rules_that_go_down_in_another_order() -> None:
    x = ng.placeholder([ng.Axis("H", 2)])
    with ng.make_transformer("cpu", rules="simplify semi\nrule a: cos(x) => tan(x)\n") as transformer:
        y = ng.cos(x)
        assert "rules.a" in transformer.computation(y, x).explain(y)


def test_a_transformer_refuses_rules_that_run_in_a_cycle_with_the_library() -> None:
    rules = "recognize axes\nrule a: log1p(floating(x)) => log(1 + x)\n"
    with pytest.raises(RuleFileError, match=r"no other order.* together with recognize\.log1p"):
        ng.make_transformer("cpu", rules=rules)
    ng.make_transformer("cpu", rules=rules, disabled="recognize.log1p").close()


# -- rules that never fire ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("general", "special"),
    [
        ("exp(x) + y => y", "exp(log(x)) + y => y"),
        ("exp(x) + y => y", "y + exp(log(x)) => y"),
        ("x * exp(y) => x", "2 * exp(y) => y"),
        ("exp(x) - y => y\n if x.rank == 0", "exp(y) - x => x\n if y.rank == 0 and y.dtype == 'float32'"),
        (
            "exp(x) - y => y\n if r == 0\n where r = x.rank",
            "exp(x) - y => x\n if 'float32' == t and x.rank == 0\n where t = x.dtype",
        ),
        ("sum(x, axes=k) - x => x\n if k == (1,)", "sum(x, axes=(1,)) - x => x"),
        ("concat(x..., axis=k) => x...[0]\n if k == 0", "concat(exp(y), z..., axis=j) => y\n if j == 0"),
    ],
)
def test_a_rule_all_of_whose_terms_an_earlier_one_takes_never_fires(general: str, special: str) -> None:
    found = fires(rules_of(f"rule a: {general}\nrule b: {special}"))
    assert found["a"].status == PASSED
    assert found["b"].says == "can never fire: my.a (my.rules:2) takes all its terms"
    assert found["b"].other == "my.a"


@pytest.mark.parametrize(
    ("general", "special"),
    [
        ("exp(x) - y => y\n if x.rank == 0", "exp(y) - x => x\n if x.rank == 0"),
        ("exp(x) - y => y\n if x.rank == 0", "exp(log(x)) - y => y"),
        ("exp(x) - y => y\n if x.rank == 0 and y.rank == 0", "exp(x) - y => x\n if x.rank == 0"),
        ("exp(x) - y => y\n if target.sample == 'last'", "exp(x) - y => x"),
        ("sum(x, axes=k) - x => x\n if k == (1,)", "sum(x, axes=(0,)) - x => x"),
        ("exp(x) - exp(x) => x", "exp(x) - exp(y) => x"),
        ("2 * exp(y) => y", "x * exp(y) => y"),
        ("2 * exp(y) => y", "2.0 * exp(y) => y"),
    ],
)
def test_a_rule_that_says_something_else_may_fire(general: str, special: str) -> None:
    found = fires(rules_of(f"rule a: {general}\nrule b: {special}"))
    assert {f.status for f in found.values()} == {PASSED}


def test_a_rule_may_fire_where_the_other_is_turned_off() -> None:
    found = fires(rules_of("rule a @fast: exp(x) - y => y\nrule b: exp(log(x)) - y => y"))
    assert found["b"].status == PASSED


def test_a_rule_whose_inside_is_rewritten_first_never_fires() -> None:
    inside = "rule a: exp(tanh(x)) => x\nrule b: log(exp(tanh(x)) + y) => y"
    assert fires(rules_of(inside))["b"].says == (
        "can never fire: my.a (my.rules:2) rewrites exp(tanh(x)) inside it first"
    )
    guarded = "rule a: exp(tanh(x)) => x\n  if x.rank == 0\nrule b: log(exp(tanh(x)) + y) => y"
    assert fires(rules_of(guarded))["b"].status == PASSED
    assert fires(rules_of(f"{guarded}\n  if x.rank == 0 and y.rank == 0"))["b"].status == FAILED
    itself = "rule a: exp(tanh(x)) => x\n  if self.rank == 0\nrule b: log(exp(tanh(x)) + y) => y\n  if self.rank == 0"
    assert fires(rules_of(itself))["b"].status == PASSED


def test_a_word_that_a_targets_name_depends_on_is_none() -> None:
    guard = "target.name == ('cpu' if x.dtype == 'float32' else 'cuda')"
    assert fires(rules_of(f"rule a: exp(x) - y => y\n    if {guard}"))["a"].status == PASSED


@pytest.mark.parametrize("guard", ["target.name == 'cpus'", "target.name != 'cpus'", "target.name in ('cpu', 'cpus')"])
def test_a_target_of_a_name_that_none_has_is_told(guard: str) -> None:
    found = fires(rules_of(f"rule a: exp(x) - y => y\n    if {guard}"))["a"]
    assert found.says.startswith("asks for a target called 'cpus', and there are cpu, cuda, reference")
    assert found.line.splitlines()[0].strip() == f"if {guard}"
    assert fires(rules_of(f"rule a: exp(x) - y => y\n    if {guard.replace('cpus', 'cuda')}"))["a"].status == PASSED


def test_a_rule_that_selects_what_was_lowered_before_never_fires() -> None:
    """No target that has `cpu.gemm` executes `semi.solve`, and rules that lower it come before those that select."""
    for gone in ("solve(x, y, transposed=True)", "dot(solve(x, x, transposed=True), y)"):
        found = fires(rules_of(f"rule a: {gone} => cpu.gemm(x, y, ta=True, tb=False)", "select semi"))
        assert found["a"].says.startswith("can never fire: semi_factors.solve")
        assert found["a"].says.endswith(
            " lowers semi.solve first, and no target with a use for this rule executes that"
        )
    made = "rule a: dot(cpu.gemm(x, x, ta=True, tb=True), y) => cpu.gemm(x, y, ta=True, tb=False)"
    assert fires(rules_of(made, "select semi"))["a"].status == PASSED


@pytest.mark.parametrize(
    ("header", "equation", "by"),
    [
        ("simplify semi", "isnan(logaddexp(x, y)) => isnan(maximum(x, y))", "semi_composite.logaddexp"),
        ("simplify axes", "log(softmax(x, axes=k)) => x - logsumexp(x, axes=k)\n    if is_float(x.dtype)", "axes"),
    ],
)
def test_what_is_lowered_before_a_rule_is_asked_is_no_use_to_it(header: str, equation: str, by: str) -> None:
    """No pass has it: it is lowered inside of others, and not there any more in the last one."""
    rules = parse_rules(f"{header}\nrule a @real: {equation}\n", "my.rules", "my")
    (found,) = check_subsumption(rules, Context(rules + library()))
    assert found.status == FAILED and found.says.startswith(f"can never fire: {by}")


def test_a_logarithm_of_a_shifted_sum_of_exponentials_is_recognised() -> None:
    """What is inside was taken for a log-sum-exp of its own before the whole was looked at."""
    h = ng.Axis("H", 3)
    x = ng.placeholder([h])
    top = ng.max(x, reduction_axes=h)
    y = ng.log(ng.sum(ng.exp(x - top), reduction_axes=h)) + top
    with ng.make_transformer("cpu") as transformer:
        assert "recognize.logsumexp_shifted" in transformer.computation(y, x).explain(y)


# -- the order as text -------------------------------------------------------------------------------------


def test_the_order_is_printed_from_the_highest_op_to_the_lowest() -> None:
    text = print_order(rules_of("rule a: exp(x) => tanh(tanh(x))\nrule b: x - (y - z) => (x - y) - exp(z)"))
    assert text == (
        "recognize: no rules\n"
        "lower: 2 rules in an order that was found\n"
        "    semi: subtract > exp > tanh\n"
        "    arguments of semi.subtract are compared from the right\n"
        "select: 2 rules in an order that was found\n"
        "    semi: subtract > exp > tanh\n"
        "    arguments of semi.subtract are compared from the right"
    )


def test_the_same_order_is_found_in_every_process() -> None:
    program = (
        "from ngraph_rewrite.lowering.passes import library\n"
        "from ngraph_rewrite.rewriting.rulefile import parse_rules\n"
        "from ngraph_rewrite.testing.termination import print_order\n"
        "own = parse_rules('simplify semi\\nrule a: exp(x) => tanh(x)\\n', 'm', 'm')\n"
        "print(print_order(own + library().of_kind('simplify')))\n"
    )
    assert printed_in_any(program)


# -- sizes of terms ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("length", "large"), [(10, False), (10**4, True), (10**9, True)])
def test_a_term_that_takes_too_many_elements_is_not_evaluated(length: int, large: bool) -> None:
    x = ng.placeholder([])
    wide = ng.semi.broadcast(x, (length, length))
    assert too_large(wide) == large
    assert too_large(ng.semi.sum(wide, (0, 1))) == large
    assert not too_large(x)
