# SPDX-License-Identifier: Apache-2.0
"""Where two rules meet, both outcomes have one normal form, or the rules' file says why that need not be."""

from __future__ import annotations

import pytest
from processes import printed_in_any

import ngraph_rewrite as ng
from ngraph_rewrite.cache import Cache
from ngraph_rewrite.lowering.passes import PASSES, library
from ngraph_rewrite.rewriting.rule import RuleSet
from ngraph_rewrite.rewriting.rulefile import parse_rules
from ngraph_rewrite.testing.confluence import check_confluence, confluence_of
from ngraph_rewrite.testing.confluence_meetings import met
from ngraph_rewrite.testing.confluence_pairs import system_of
from ngraph_rewrite.testing.confluence_terms import numbered
from ngraph_rewrite.testing.findings import FAILED, NONE, PASSED, WAIVED, Context, Effort, Finding

NEGATION = "rule undo: -(-x) => x"
DIFFERENCE = "rule difference: x + -y => x - y"
QUICK = Effort(examples=8)


def parsed(*lines: str, header: str = "simplify semi") -> RuleSet:
    return parse_rules("\n".join([header, *lines]), "my.rules", "my")


def found(*lines: str, effort: Effort = QUICK, header: str = "simplify semi") -> dict[str, Finding]:
    rules = parsed(*lines, header=header)
    return {f.rule: f for f in check_confluence(rules, Context(rules, effort))}


def test_rules_that_never_meet() -> None:
    assert {f.status for f in found("rule a: exp(log(x)) => x", "rule b: sin(x) => sin(x)").values()} == {NONE}


def test_both_outcomes_have_one_normal_form() -> None:
    one = found(NEGATION, "rule even: cos(-x) => cos(x)")["my.undo"]
    assert one.status == PASSED, one


def test_two_normal_forms_fail_and_both_are_shown() -> None:
    one = found(NEGATION, DIFFERENCE)["my.undo"]
    assert (one.status, one.other) == (FAILED, "my.difference")
    assert "bring one term to two normal forms" in str(one)
    assert "rules:2: my.undo: -(-x) => x" in one.shown
    assert "rules:3: my.difference: x + -y => x - y" in one.shown


@pytest.mark.parametrize(
    "right", ["rule right: floor(trunc(x)) => trunc(x)", "rule right: trunc(floor(trunc(x))) => floor(trunc(x))"]
)
def test_a_rule_that_fails_is_named_where_another_one_is_checked(right: str) -> None:
    fails = "rule fails: trunc(ceil(x)) => ceil(x)\n    if x.shape[0] * 8 == x.shape[1] and x.shape[1] == 512"
    says = found(right, "rule joins: floor(trunc(ceil(x))) => trunc(ceil(x))", fails)["my.right"].says
    assert says.startswith("fails where it meets another rule: my.rules:5:8: rule my.fails fails on semi.trunc(")
    assert says.endswith(": IndexError: tuple index out of range")


def test_a_rule_that_fails_on_the_way_to_a_normal_form_is_named() -> None:
    fails = "rule fails: floor(ceil(x)) => ceil(x)\n    if x.shape[0] * 8 == x.shape[1] and x.shape[1] == 512"
    says = found("rule right: exp(log(x)) => ceil(x)", "rule other: floor(exp(x)) => exp(x)", fails)["my.right"].says
    assert says.startswith("fails where it meets another rule: rule my.fails fails on semi.floor(semi.ceil(")
    assert says.endswith(", at my.rules:4")


def test_what_is_shown_is_a_program_that_fails() -> None:
    names: dict[str, ng.Op] = {}
    with pytest.raises(AssertionError):
        exec(found(NEGATION, DIFFERENCE)["my.undo"].shown, names)  # noqa: S102
    assert not names["first"].same_as(names["second"])
    assert names["left"].type == names["first"].type == names["second"].type


def test_a_pair_belongs_to_the_rule_that_stands_first() -> None:
    """So that each pair is looked at once, and the rules of a stranger's file, which stand first, with all others."""
    for lines in ([NEGATION, DIFFERENCE], [DIFFERENCE, NEGATION]):
        first, second = found(*lines).values()
        assert first.status == FAILED
        assert second.other is None or second.other == second.rule


def test_a_rule_may_meet_itself_in_another_order() -> None:
    one = found(DIFFERENCE)["my.difference"]
    assert (one.status, one.other) == (FAILED, "my.difference")
    assert "itself" in one.says


def test_a_rule_may_meet_itself_inside() -> None:
    assert found(NEGATION)["my.undo"].status == PASSED
    one = found("rule turn: transpose(transpose(x, perm=p), perm=q) => transpose(x, perm=compose(p, q))")["my.turn"]
    assert one.status == PASSED


def test_operands_of_a_commutative_op_may_end_in_any_order() -> None:
    one = found("rule square: x * x => square(x)", "rule swap: (x + y) * (x - y) => square(x) - square(y)")
    assert one["my.square"].status != FAILED
    x, y = ng.placeholder([], name="x"), ng.placeholder([], name="y")
    assert numbered([x + y, x - y])[0] == numbered([y + x, x - y])[0]
    assert len(set(numbered([x - y, y - x, x + y, x + x]))) == 4


def test_there_is_one_nan_and_one_array_without_elements() -> None:
    nan = float("nan")
    x, y = ng.placeholder([ng.Axis("H", 0)], name="x"), ng.placeholder([ng.Axis("H", 0)], name="y")
    assert len(set(numbered([x, y, x + y, -x]))) == 1
    made = [ng.constant(n, dtype="float32") for n in (nan, -nan, 0.0, -0.0)]
    assert [len(set(numbered(made[i : i + 2]))) for i in (0, 2)] == [1, 2]


@pytest.mark.parametrize(
    "waiver",
    [
        "waive confluence of undo and difference: the double negation goes first",
        "waive confluence of difference and undo: the double negation goes first",
        "waive confluence of undo: the double negation goes first",
    ],
)
def test_a_file_waives_a_pair_with_a_reason(waiver: str) -> None:
    one = found(NEGATION, DIFFERENCE, waiver)["my.undo"]
    assert (one.status, one.other) == (WAIVED, "my.difference")
    assert "the double negation goes first" in one.says


def test_a_waiver_covers_its_pair_alone() -> None:
    waiver = "waive confluence of undo and difference: the double negation goes first"
    one = found(NEGATION, DIFFERENCE, "rule half: negative(x) * y => negative(x * y)", waiver)
    assert one["my.undo"].status == WAIVED
    assert one["my.difference"].status == FAILED  # it meets itself


def test_a_waiver_that_waives_nothing_fails_in_full() -> None:
    lines = NEGATION, "rule even: cos(-x) => cos(x)", "waive confluence of undo and even: nobody knows"
    assert found(*lines)["my.undo"].status == PASSED
    one = found(*lines, effort=Effort(examples=40))["my.undo"]
    assert one.status == FAILED
    assert "waives confluence of my.undo and my.even: nothing is waived" in one.says


def test_a_waiver_of_alternatives_needs_one_that_it_waives() -> None:
    lines = (
        "rule away for f in negative absolute: f(f(x)) => f(x)",
        "rule even: negative(x) + y => y - x",
        "waive confluence of away: either is wrong anyway",
    )
    assert "nothing is waived" not in found(*lines, effort=Effort(examples=40))["my.away.negative"].says


def test_another_value_is_never_waived() -> None:
    """Two forms that have two values: one of the rules is wrong, and the check of values says which."""
    wrong = "rule wrong: cos(-x) => sin(x)"
    lines = NEGATION, wrong, "waive confluence of undo and wrong: who cares", "waive confluence of undo: who cares"
    one = found(*lines)["my.undo"]
    assert (one.status, one.other) == (FAILED, None)
    assert "two values" in one.says
    with pytest.raises(AssertionError):
        exec(one.shown, {})  # noqa: S102


def test_guards_may_keep_rules_apart() -> None:
    lines = "rule a: max(x, axes=k) => x\n    if k == () and x.dtype == 'bool'", "rule b: max(x, axes=k) => x\n    if k == () and x.dtype != 'bool'"  # fmt: skip  # noqa: E501
    one = found(*lines)["my.a"]
    assert one.status == NONE
    assert "no term in which both rules fire" in one.says


def test_the_target_is_part_of_where_they_meet() -> None:
    lines = "rule a: exp(x) => x\n    if target.sample == 'first'", "rule b: exp(x) => log(x)\n    if target.sample == 'first'"  # fmt: skip  # noqa: E501
    assert found(*lines)["my.a"].status == FAILED


def test_lengths_of_one_may_stand_anywhere() -> None:
    """Two rules that join wherever no length is 1 join: with one there are many ways to say what is the same."""
    turn = "rule turn: transpose(transpose(x, perm=p), perm=q) => transpose(x, perm=compose(p, q))"
    ones = "rule ones: transpose(x, perm=p) => reshape(x, shape=self.shape)\n    if moves_only_ones(x.shape, p)"
    same = "rule same: transpose(x, perm=p) => x\n    if is_identity(p)"
    rules = parsed(turn, ones, same, "rule shape: reshape(x, shape=s) => x\n    if s == x.shape")
    system = system_of(rules, Cache().folder)
    pairs = [p for p in system.with_rule(rules.rules[0]) if p.other(rules.rules[0]) is rules.rules[1] and p.position]
    seen = met(system, pairs[0], 40, 0)
    assert any(not m.joins for m in seen.meetings)
    assert all(m.has_ones for m in seen.meetings if not m.joins)
    assert seen.apart == []


def test_passes_are_looked_at_apart() -> None:
    """What is recognized never meets what is lowered; algebra takes part in lowering and in a target's choices."""
    rules = library()
    system = system_of(rules, Cache().folder)
    kinds = {(p.stage, p.outer.kind, p.inner.kind) for rule in rules for p in system.partners(rule)}
    assert kinds <= {(stage, a, b) for stage, own in PASSES.items() for a in own for b in own}
    assert ("select", "simplify", "simplify") not in kinds  # they have met in the pass before


def test_an_adjoint_meets_nothing() -> None:
    one = found("rule tanh: tanh(x) => d * (1 - self * self)", header="derive axes")["my.tanh"]
    assert one.status == NONE


def test_a_rule_that_fails_where_it_meets_another_is_a_finding() -> None:
    broken = "rule broken: exp(x) => log(x)\n    if x.shape[9] == 1"
    one = found(broken, "rule fine: exp(log(x)) => x")["my.broken"]
    assert one.status == FAILED
    assert "IndexError" in one.says


def test_the_same_in_any_process() -> None:
    program = (
        "from ngraph_rewrite.rewriting.rulefile import parse_rules\n"
        "import ngraph_rewrite.ops.semi\n"
        "from ngraph_rewrite.testing.confluence import check_confluence\n"
        "from ngraph_rewrite.testing.findings import Context, Effort\n"
        f"rules = parse_rules('simplify semi\\n{NEGATION}\\n{DIFFERENCE}', 'my.rules', 'my')\n"
        "for one in check_confluence(rules, Context(rules, Effort(examples=8))): print(one)\n"
    )
    assert printed_in_any(program)


@pytest.mark.parametrize("file", ["tuples", "update", "functions", "diagonal", "recognize", "semi_composite"])
def test_rules_that_ship_join_or_say_why_not(file: str) -> None:
    rules = library()
    for rule in rules:
        if rule.file == f"rules/{file}.rules":
            one = confluence_of(rule, Context(rules, QUICK))
            assert one.status != FAILED, str(one)


def test_each_waiver_is_told_with_what_it_covers() -> None:
    said = found(
        "rule undo: -(-x) => x",
        "rule minus: x + -y => x - y",
        "rule decay @real: exp(-x) => reciprocal(exp(x))",
        "waive confluence of minus and undo: it is gone before",
        "waive confluence of decay and undo: either is right",
        "waive confluence of minus and minus: either may be subtracted",
    )["my.undo"]
    assert said.status == WAIVED
    first, second = said.says.split("; does not join with ")
    assert first == "does not join with my.minus; waived: it is gone before"
    assert second == "my.decay; waived: either is right"
