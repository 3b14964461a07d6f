# SPDX-License-Identifier: Apache-2.0
"""What a rule file must pass when it is loaded: order, duplicates, and equal types on drawn instances."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from ngraph_rewrite.errors import RuleFileError
from ngraph_rewrite.lowering.passes import library
from ngraph_rewrite.rewriting.checks import THOROUGH, check_rules_static, checked_rules
from ngraph_rewrite.rewriting.domain import SYMBOLIC
from ngraph_rewrite.rewriting.domains import argument_types
from ngraph_rewrite.rewriting.instances import fitting_matches, instances, matches
from ngraph_rewrite.rewriting.rule import Rule, RuleSet
from ngraph_rewrite.rewriting.rule_errors import GUARD, LEFT, RIGHT, place_of, rule_error
from ngraph_rewrite.rewriting.rulefile import parse_rules
from ngraph_rewrite.rewriting.trial_bank import TrialBank
from ngraph_rewrite.terms.catalogue import definitions
from ngraph_rewrite.testing import WrongRule, check_rule
from ngraph_rewrite.types.lengths import Length


def rules_of(text: str, header: str = "simplify semi") -> RuleSet:
    return parse_rules(f"{header}\n{text}\n", "rules/bad.rules", "bad")


def untested(rules: Iterable[Rule]) -> list[Rule]:
    """The rules for which no instance is found: nothing is known about their types."""
    bank = TrialBank()
    return [rule for rule in rules if next(fitting_matches(rule, 20, bank), None) is None]


def complaint(text: str, header: str = "simplify semi") -> str:
    with pytest.raises(RuleFileError) as caught:
        check_rules_static(rules_of(text, header))
    return str(caught.value)


# -- types ----------------------------------------------------------------------------------------------


def test_a_right_side_of_another_dtype_is_shown_with_the_instance() -> None:
    said = complaint("rule add_zero: x + 0 => x", "simplify axes")
    assert re.match(
        r"rules/bad.rules:2:25: rule bad.add_zero rewrites (\w+)\[.*\] to (?!\1)\w+\[.*\]: axes.add\(", said
    )
    shown = "\n    rule add_zero: x + 0 => x\n                            ^\n"
    assert said.endswith(f"{shown}  guard it, or give the right side the type of the left")


def test_a_right_side_of_another_shape_is_shown_with_the_instance() -> None:
    assert complaint("rule a: transpose(x, perm=p) => x").startswith(
        "rules/bad.rules:2:33: rule bad.a rewrites float32[b, a] to float32[a, b]: "
        "semi.transpose(x, perm=(1, 0)) with x: float32[a, b]\n"
    )


def test_a_right_side_that_does_not_build_says_why() -> None:
    said = complaint("rule a: sign(x) => x / absolute(x)", "lower axes -> semi")
    assert said.startswith("rules/bad.rules:2:20: rule bad.a fails on axes.sign(x) with x: float32[H:H, W:3]: expected")
    shown = "\n    rule a: sign(x) => x / absolute(x)\n                       ^\n"
    assert "anonymous axes" in said and said.endswith(f"{shown}  guard or mend the rule")


def test_a_guard_that_fails_is_the_rules_mistake() -> None:
    said = complaint("rule a: -(-x) => x\n    if x.shape[5] == 1")
    assert said == (
        "rules/bad.rules:3:8: rule bad.a fails on semi.negative(semi.negative(x)) with x: float32[a, b]: "
        "IndexError: tuple index out of range\n        if x.shape[5] == 1\n           ^\n  guard or mend the rule"
    )


def test_a_number_must_fit_the_dtype() -> None:
    assert "the number 0.5 does not fit int32" in complaint("rule a: select(c, x, x) => x * 0.5")


def test_a_length_may_be_unknown_when_a_guard_compares_it() -> None:
    said = complaint("rule a: sum(x, axes=k) => x\n    if k == () and x.rank > 0 and x.shape[0] > 1")
    assert "whether the length a is more than 1 is not known" in said and said.endswith("ask `is_known` of it first")


@pytest.mark.parametrize(
    "text",
    [
        "rule a: x + 0 => x",
        "rule a: transpose(x, perm=p) => x\n    if is_identity(p)",
        "rule a: cast(x, dtype=t) => x\n    if t == x.dtype",
        "rule a: concat(concat(x..., axis=k), axis=k) => concat(x..., axis=k)",
        "rule a: tanh(strip(x)) => strip(x)\n    if x.dtype == 'float32'",
    ],
)
def test_rules_whose_types_agree_pass(text: str) -> None:
    check_rules_static(rules_of(text))


@pytest.mark.parametrize(
    ("text", "of", "why"),
    [
        ("maximum(x, y) => -minimum(-x, -y)", "bool", "expected numbers, got bool[a, b]"),
        ("maximum(x, y) => maximum(x, y - 300 * 0)", "int8", "300 cannot be a constant of int8"),
        ("logical_not(x < y) => -x >= -y", "bool", "expected numbers, got bool[a, b]"),
    ],
)
def test_a_right_side_builds_for_each_class_of_dtypes(text: str, of: str, why: str) -> None:
    said = complaint(f"rule a: {text}", "explore semi")
    assert " fails on semi." in said and f"with x: {of}[a, b], y: {of}[a, b]: {why}\n" in said
    check_rules_static(rules_of(f"rule a: {text}\n    if is_float(x.dtype)", "explore semi"))


def test_a_dtype_counts_though_another_variable_never_has_it() -> None:
    text = "rule a: gather(x, i, axis=k) => -(-gather(x, i, axis=k))\n    if i.dtype in ('int32', 'int64')"
    assert "with x: bool[a, b], i: int64[a]: expected numbers, got bool[a, b]\n" in complaint(text, "explore semi")


def test_a_dtype_counts_though_many_instances_lack_it() -> None:
    guard = "c.axes == self.axes and x.type == self.type and y.dtype != 'bool'"
    text = f"rule a: select(c, x, y) => select(c, x, y - 300 * 0)\n    if {guard}"
    assert "x: int8[H:H, W:3], y: int8[H:H" in complaint(text, "explore axes")


def test_an_adjoint_must_fit_its_argument() -> None:
    said = complaint("rule a: pad(x, before=b, after=c) => d", "derive axes")
    assert "rule bad.a gives float32[H:H, W:3] the adjoint float32[H:H + 1, W:6]: axes.pad(" in said


def test_an_adjoint_per_term_of_a_sequence() -> None:
    own = "constant(value=i, axes=d.axes)...\n    where i... = (literal(0, d.dtype),)"
    said = complaint(f"rule a: stack(x..., axis=a, pos=p) => {own}", "derive axes")
    assert "rule bad.a gives 1 adjoints to the 2 terms of x\n" in said


# -- order and duplicates -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "rule a: exp(x) => tanh(x)\nrule b: tanh(x) => exp(x)",
            "it uses semi.tanh, which is declared after semi.exp, and there is no other order in which it goes down "
            "together with bad.b (rules/bad.rules:3)",
        ),
        (
            "rule a: x + y => y + x",
            "its right side is not smaller than its left in the order of declaration (semi.add at the root)",
        ),
        (
            "rule a: (x + y) * z => x * z + y * z\nrule b: x * z + y * z => (x + y) * z",
            "it uses semi.multiply, which is declared after semi.add, and there is no other order in which it goes "
            "down together with bad.a (rules/bad.rules:2)",
        ),
    ],
)
def test_a_rule_goes_down(text: str, says: str) -> None:
    assert f"does not go down: {says}\n" in complaint(text)


def test_a_rule_may_go_down_in_another_order_than_that_of_declaration() -> None:
    check_rules_static(rules_of("rule a: exp(x) => tanh(x)"))


def test_a_recognize_rule_makes_terms_smaller() -> None:
    said = complaint("rule a: exp(x) => reciprocal(exp(negative(x)))", "recognize axes")
    assert "the right side has 3 ops and the left 1" in said


def test_a_rule_written_twice_is_refused() -> None:
    said = complaint("rule a: -(-x) => x\nrule b: -(-x) => x")
    assert said.startswith("rules/bad.rules:3:9: rule bad.b is the same as bad.a (rules/bad.rules:2)\n    rule b: ")


def test_another_guard_makes_another_rule() -> None:
    check_rules_static(rules_of("rule a: -(-x) => x\n    if x.rank == 0\nrule b: -(-x) => x"))


def test_a_file_is_checked_when_it_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "bad.rules"
    path.write_text("simplify semi\nrule a: transpose(x, perm=p) => x\n")
    with pytest.raises(RuleFileError, match=r"^my/bad.rules:2:33: rule bad.a rewrites"):
        checked_rules(path, "my/bad.rules")


# -- places -------------------------------------------------------------------------------------------


WRITTEN = """simplify semi

define half(x) = x / 2

rule left for f in sin cos:
    f(
        half(x))  # of a half
    =>  half(  # or so
        f(x))
    where n = x.rank
    if n == 1 and (
        x.size == 2)
"""


@pytest.mark.parametrize(
    ("part", "at", "line"),
    [(LEFT, "6:5", "    f("), (RIGHT, "8:9", "    =>  half(  # or so"), (GUARD, "11:8", "    if n == 1 and (")],
)
def test_each_part_of_a_rule_has_a_place(part: str, at: str, line: str) -> None:
    for rule, name in zip(parse_rules(WRITTEN, "my.rules", "my"), ("sin", "cos"), strict=True):
        caret = " " * (int(at.partition(":")[2]) - 1) + "^"
        assert place_of(rule, part) == (f"my.rules:{at}", (line, caret, f"[f = {name}]"))


def test_a_guard_that_is_written_on_the_left_stands_there() -> None:
    (rule,) = rules_of("rule a: exp(floating(x)) => log(x)")
    assert place_of(rule, GUARD).at == "rules/bad.rules:2:9"


def test_each_of_several_left_sides_is_told_from_the_others() -> None:
    (_, second) = rules_of("rule a: exp(either(sin(x), cos(x))) => x")
    assert place_of(second).lines[2] == "[exp(cos(x))]"


def test_a_rule_is_shown_by_its_file_or_without_a_column(tmp_path: Path) -> None:
    (rule,) = (replace(r, source=None, file=str(tmp_path / "my.rules")) for r in rules_of("rule a: exp(x) => x"))
    without = (f"{tmp_path}/my.rules:2", ("exp(x) => x",))
    assert place_of(rule) == without
    for text, found in (("rule a:  exp(x) => x", ":10"), ("rule a: log(x) => x", ""), ("rle", ""), ("\n\n", "")):
        (tmp_path / "my.rules").write_text(f"simplify semi\n{text}\n")
        assert place_of(rule).at == without[0] + found
    assert (
        str(rule_error(replace(rule, file="my\x1b.rules"), "is odd"))
        == "my\ufffd.rules:2: rule bad.a is odd\n    exp(x) => x"
    )


# -- instances ------------------------------------------------------------------------------------------


def test_instances_are_the_same_every_time() -> None:
    (rule,) = rules_of("rule a: transpose(transpose(x, perm=p), perm=q) => x")
    assert [t.type for t in instances(rule)] == [t.type for t in instances(rule)]


def test_instances_differ_in_dtype_rank_and_attributes() -> None:
    (rule,) = rules_of("rule a: transpose(x, perm=p) => x")
    found = list(instances(rule, 20))
    assert len(found) == 20
    assert len({t.dtype for t in found}) > 5
    assert {t.rank for t in found} >= {0, 1, 2, 3}
    assert len({t.attribute("perm") for t in found}) > 3


def test_instances_have_unknown_lengths() -> None:
    (rule,) = rules_of("rule a: -x => x")
    assert any(isinstance(n, Length) for t in instances(rule) for n in t.shape)


def test_instances_satisfy_the_guard_and_match() -> None:
    (rule,) = rules_of("rule a: cast(x, dtype=t) => x\n    if t == 'int8' and x.rank == 2")
    for found in matches(rule):
        assert (found.bindings["t"], found.bindings["x"].rank) == ("int8", 2)
        assert found.term.args[0] is found.bindings["x"]


def test_a_guard_may_ask_the_target() -> None:
    (rule,) = rules_of("rule a: -(-x) => x\n    if target.sample == 'first'")
    assert {found.target.sample for found in matches(rule, 3)} == {"first"}


def test_a_rule_that_never_fires_is_listed() -> None:
    rules = rules_of("rule never: -(-x) => x\n    if x.rank == 9\nrule a: -(-x) => x")
    assert [rule.name for rule in untested(rules)] == ["bad.never"]


LONG = "max(sort(x, axis=j, descending=d), axes=k) => max(x, axes=k)\n    if x.rank == 1 and k == (0,) and "


@pytest.mark.parametrize(
    "guard",
    [
        "is_known(x.shape[0]) and x.shape[0] >= 64",
        "x.shape == (17,)",
        "size(x.axes) == 100",
        "is_known(x.shape[0]) and x.shape[0] > 1000",
        "is_known(x.shape[0]) and x.shape[0] // 16 >= 2",
    ],
)
def test_a_guard_may_ask_for_long_axes(guard: str) -> None:
    (rule,) = parse_rules(f"simplify semi\nrule a: {LONG}{guard}\n", "my.rules", "my")
    check_rules_static(RuleSet([rule]), THOROUGH)
    assert untested([rule]) == []
    assert check_rule(rule, 10) > 0
    wrong = parse_rules(f"simplify semi\nrule a: {LONG}{guard}\n".replace("=> max", "=> min"), "my.rules", "my")
    with pytest.raises(WrongRule):
        check_rule(wrong.rules[0], 10)


FILLED = "constant(value=v, axes=a) - x => constant(value=v, axes=a) + -x\n    "


@pytest.mark.parametrize(
    "guard", ["if v.scalar == 17", "if v.scalar is not None and v.scalar > 250", "where n = v.scalar\n    if n == -5.5"]
)
def test_a_guard_may_ask_for_a_constant_of_an_odd_value(guard: str) -> None:
    (rule,) = parse_rules(f"simplify semi\nrule a: {FILLED}{guard} and x.dtype == 'float32'\n", "my.rules", "my")
    check_rules_static(RuleSet([rule]), THOROUGH)
    assert untested([rule]) == []
    assert check_rule(rule, 10) > 0
    wrong = parse_rules(f"simplify semi\nrule a: {FILLED}{guard}\n".replace("+ -x", "+ x"), "my.rules", "my")
    with pytest.raises(WrongRule):
        check_rule(wrong.rules[0], 10)


# -- the rules that ship --------------------------------------------------------------------------------


def test_every_shipped_rule_has_an_instance() -> None:
    """Those of which values are compared have some, or their own tests would fail (`test_rules`)."""
    assert untested(rule for rule in library() if any(waiver.check == "values" for waiver in rule.waivers)) == []


def test_every_shipped_rule_keeps_the_type_on_many_instances() -> None:
    """Those of which values are compared keep it on all of which they are (`test_rules`)."""
    own = [rule for rule in library() if any(waiver.check == "values" for waiver in rule.waivers)]
    check_rules_static(RuleSet(own), (2, THOROUGH[1] // 3))


@pytest.mark.parametrize("family", ["semi", "axes"])
def test_every_op_has_arguments_to_try(family: str) -> None:
    """A rule for any op of a family can be tested: plain applications of it are found."""
    skipped = []
    for definition in definitions(family):
        names = [f"x{i}" for i in range(definition.arity if definition.arity is not None else 1)]
        attributes = [f"{a}=a{i}" for i, a in enumerate(definition.attributes)]
        pattern = f"{definition.short}({', '.join([*names, *attributes])})"
        (rule,) = parse_rules(f"simplify {family}\nrule a: {pattern} => self\n", "my.rules", "my")
        if next(instances(rule), None) is None:
            skipped.append(definition.name)
    assert skipped == []


def test_instances_have_one_value_for_a_name_that_stands_twice_among_the_attributes_of_an_op() -> None:
    (rule,) = parse_rules("simplify semi\nrule a: pad(x, before=b, after=b, interior=b, value=v) => x", "my.rules", "m")
    found = list(instances(rule))
    assert found and all(t.attribute("before") == t.attribute("after") == t.attribute("interior") for t in found)


def test_what_is_not_known_is_left_open() -> None:
    (gather,) = (d for d in definitions("semi") if d.short == "reshape")
    assert argument_types(gather, 0, {}, None, SYMBOLIC) is None
