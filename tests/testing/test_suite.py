# SPDX-License-Identifier: Apache-2.0
"""All checks of a file: every rule has a finding of each check that applies, whatever one rule does to a check."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from ngraph_rewrite.errors import ArgumentError, AxesError, RuleFileError
from ngraph_rewrite.rewriting.rulefile import parse_rules
from ngraph_rewrite.terms.catalogue import op, place_family
from ngraph_rewrite.testing import suite
from ngraph_rewrite.testing.files import check_rules
from ngraph_rewrite.testing.findings import CHECKS, FAILED, NONE, PASSED, WAIVED, Context, Effort, Finding, finding
from ngraph_rewrite.testing.suite import OF_A_RULE, OF_ALL_RULES, Subject, findings
from ngraph_rewrite.testing.typed import check_types
from ngraph_rewrite.types.tensor import TensorType

FILE = """simplify semi

rule turned:
    sign(transpose(x, perm=p))  =>  transpose(sign(x), perm=p)

rule cancels:
    x / y * y  =>  x
waive guard of cancels: this file is an example
"""
DERIVE = "derive semi\nrule mine: square(x) => 2 * d * x\n"
EFFORT = Effort(10, 0.2)
PATIENT = Effort(10, 5.0)  # a check that runs out of time may find less in one run than in another


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "my.rules"
    path.write_text(FILE, encoding="utf-8")
    return path


def by_check(found: list[Finding], rule: str) -> dict[str, Finding]:
    return {f.check: f for f in found if f.rule == rule}


def test_types_are_checked_of_each_class_of_dtypes() -> None:
    """As they are when a file is read: twice a truth value is none."""
    rules = parse_rules("simplify semi\nrule a: x + x => 2 * x\n", "my.rules", "my")
    found = check_types(rules.rules[0], Context(rules))
    assert found.status == FAILED and "x: bool" in found.says


def test_each_check_is_made_of_each_rule(path: Path) -> None:
    found = list(findings(Subject((path,), effort=PATIENT), count=1))
    right, wrong = by_check(found, "my.turned"), by_check(found, "my.cancels")
    assert set(right) == set(wrong) == set(CHECKS) == {*OF_A_RULE, *OF_ALL_RULES}
    assert {c for c, f in right.items() if f.status == FAILED} == set()
    assert right["values"].status == right["proof"].status == right["cpu"].status == PASSED
    assert right["adjoint"].status == NONE
    assert wrong["values"].status == wrong["proof"].status == FAILED
    assert wrong["guard"].status == WAIVED and "waived: this file is an example" in wrong["guard"].says


def test_an_adjoint_is_no_equation(tmp_path: Path) -> None:
    path = tmp_path / "my.rules"
    path.write_text(DERIVE, encoding="utf-8")
    found = by_check(list(findings(Subject((path,), effort=EFFORT), count=1)), "my.mine")
    assert found["adjoint"].status == PASSED
    assert {c for c in CHECKS if found[c].status == NONE} >= {"values", "cpu", "confluence"}


def test_the_same_is_found_by_any_number_of_processes(path: Path) -> None:
    first, second = (sorted(map(str, findings(Subject((path,), effort=PATIENT), count=n))) for n in (1, 2))
    assert first == second


def test_a_rule_that_no_term_was_drawn_for_is_told_what_its_ops_lack() -> None:
    place_family("suite", above="semi")  # an op of a family that ships would be drawn by other tests
    op("suite.left_open", meaning=lambda term, x: x)(lambda x, *, by: x)
    op("suite.narrow", meaning=lambda term, x: x)(_seven)
    for left, says in (
        ("left_open(x, by=k)", "suite.left_open has attributes, and no ng.attribute_domain says which"),
        ("narrow(x)", "its left side matches none: an op that does not take any tensors needs an ng.arg"),
    ):
        rules = parse_rules(f"simplify suite\nrule a: {left} => x", "my.rules", "my")
        found = check_types(rules.rules[0], Context(rules))
        assert found.status == FAILED
        assert found.says.startswith(f"matches none of the terms that were tried: {says}")


def _seven(x: TensorType) -> TensorType:
    if x.rank != 7:
        raise AxesError("this takes seven axes")
    return x


@pytest.mark.parametrize("checks", [("values", "value"), ("",), "values"])
def test_a_check_that_there_is_not_is_refused(path: Path, checks: Sequence[str]) -> None:
    with pytest.raises(ArgumentError, match="no check is called") as caught:
        check_rules(path, checks=checks)
    assert __file__ in str(caught.value) and "choose among types, termination, " in str(caught.value)


@pytest.mark.parametrize(
    ("other", "do"), [("semi.add_zer", "did you mean semi.add_zero"), ("other.nosuch", "`ngraph-rewrite rules` lists")]
)
def test_a_waiver_names_a_rule_that_there_is(other: str, do: str, tmp_path: Path) -> None:
    path = tmp_path / "my.rules"
    path.write_text(f"simplify semi\nrule a: -(-x) => x\nwaive confluence of a and {other}: a typo\n", encoding="utf-8")
    with pytest.raises(RuleFileError) as caught:
        check_rules(path, checks=["types"])
    line = f"waive confluence of a and {other}: a typo"
    what = f"no rule is called {other}, which a waiver names"
    assert f"{path}:3:1: {what}\n    {line}\n    ^\n  {do}" in str(caught.value)


def test_a_waiver_may_name_a_rule_of_a_file_that_is_checked_too(tmp_path: Path) -> None:
    one, two = tmp_path / "one.rules", tmp_path / "two.rules"
    one.write_text("simplify semi\nrule a: -(-x) => x\nwaive confluence of a and two.b: either\n", encoding="utf-8")
    two.write_text("simplify semi\nrule b for f in exp log: f(-(-x)) => f(x)\n", encoding="utf-8")
    assert len(Subject((one, two)).rules) == 3


def test_one_rule_can_be_chosen_and_one_check(path: Path) -> None:
    for name in ("my.cancels", "cancels"):
        found = list(findings(Subject((path,), (name,), EFFORT, ("values",)), count=1))
        assert [(f.rule, f.check) for f in found] == [("my.cancels", "values")]


def test_more_time_draws_other_examples() -> None:
    rules = parse_rules("simplify semi\nrule a: -(-x) => x\n", "my.rules", "my")
    subject = Subject((), None, Effort(5, 0.1), ("types", "values"), rules)
    found = list(findings(subject, seconds=1.0, count=1))
    assert [f.check for f in found][:2] == ["types", "values"] and len(found) > 2
    assert {f.check for f in found[2:]} == {"values"}  # the types are the same for every seed


def broken(rule: object, context: object) -> Finding:
    raise ZeroDivisionError("of all things")


def endless(rule: object, context: object) -> Finding:
    time.sleep(600)
    raise AssertionError


@pytest.mark.parametrize(
    ("check", "says"),
    [
        (broken, f"makes the check values fail: ZeroDivisionError: of all things, at {__file__}:"),
        (endless, "took longer than 1 s: the check values was given up"),
    ],
)
def test_a_check_that_fails_or_finds_no_end_is_told_and_the_others_are_made(
    check: suite.RuleCheck, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = {"values": check, "proof": lambda rule, context: finding(rule, "proof", PASSED)}
    monkeypatch.setattr(suite, "OF_A_RULE", quick)
    monkeypatch.setattr(suite, "PATIENCE", 3.0)
    rules = parse_rules("simplify semi\nrule a: -(-x) => x\n", "my.rules", "my")
    found = by_check(list(findings(Subject((), None, EFFORT, ("values", "proof"), rules), count=1)), "my.a")
    assert found["values"].status == FAILED and found["values"].says.startswith(says)
    assert found["proof"].status == PASSED


def test_the_tools_of_the_checks_are_imported_when_they_are_asked_for() -> None:
    program = """
import sys
import ngraph_rewrite as ng
print(sorted({"hypothesis", "z3", "sympy", "ngraph_rewrite.testing"} & set(sys.modules)))
print(ng.testing.check_rules.__name__, hasattr(ng, "nothing"))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\ncheck_rules False\n"


def test_a_file_may_call_its_rules_as_the_library_calls_some(tmp_path: Path) -> None:
    """Then it is the file's that are checked, in the place of those."""
    (tmp_path / "semi.rules").write_text("simplify semi\nrule add_zero: x * 0 => 0\n", encoding="utf-8")
    found = by_check(list(findings(Subject((tmp_path / "semi.rules",), effort=EFFORT), count=1)), "semi.add_zero")
    assert found["values"].status == FAILED
    assert "KeyError" not in found["confluence"].says


def unable(rules: object, context: object) -> list[Finding]:
    raise ZeroDivisionError("of all things")


def test_a_check_of_all_rules_that_fails_is_told_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "OF_ALL_RULES", {"termination": unable})
    rules = parse_rules("simplify semi\nrule a: -(-x) => x\n", "my.rules", "my")
    (found,) = findings(Subject((), None, EFFORT, ("termination",), rules), count=1)
    says = f"makes the check termination fail: ZeroDivisionError: of all things, at {__file__}:"
    assert found.status == FAILED and found.says.startswith(says)


def test_a_file_is_not_checked_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "OF_A_RULE", {"values": endless})
    monkeypatch.setattr(suite, "PATIENCE", 1.0)
    monkeypatch.setattr(suite, "LEAST", 0.0)
    monkeypatch.setattr(suite, "SHARE", 0.1)
    text = "simplify semi\n" + "\n".join(f"rule r{i}: -(-x) => x" for i in range(9))
    rules = parse_rules(text, "my.rules", "my")
    found = list(findings(Subject((), None, EFFORT, ("values",), rules), count=1))
    assert {f.rule for f in found} == {rule.name for rule in rules} and all(f.status == FAILED for f in found)
    assert "had to wait for rules that took too long: it was not checked" in {f.says for f in found}
