# SPDX-License-Identifier: Apache-2.0
"""A report is a table, the failures with their counterexamples, what is open, and the verdict."""

from __future__ import annotations

import json

import pytest

from ngraph_rewrite.rewriting.rulefile import parse_rules
from ngraph_rewrite.testing.findings import (
    FAILED,
    LISTED_IF_QUICK,
    NONE,
    OPEN,
    PASSED,
    WAIVED,
    Finding,
    finding,
    waived,
)
from ngraph_rewrite.testing.report import LONGEST, Report, report_of

TEXT = """simplify semi
rule a: -(-x) => x
rule b: x + 0 => x
rule c: exp(log(x)) => x
waive guard of c: it asks for speed alone
"""
A, B, C = parse_rules(TEXT, "my.rules", "my")


def sample() -> Report:
    found = [
        finding(B, "values", PASSED, "50 instances"),
        finding(B, "values", FAILED, "is not @exact", "x = [-0.0]"),
        finding(B, "values", PASSED, "50 other instances"),
        finding(B, "guard", FAILED, "is not @exact", "x = [-0.0]"),
        finding(A, "values", PASSED, "50 instances"),
        finding(A, "proof", PASSED, "bit by bit"),
        finding(B, "proof", PASSED, "over the reals"),
        finding(C, "proof", OPEN, "sympy finds no answer"),
        finding(C, "cpu", OPEN, "no kernel"),
        finding(C, "values", OPEN, "fired on 3 of 50"),
        finding(C, "adjoint", NONE),
        waived(finding(C, "guard", FAILED, "fires without it"), C),
    ]
    return report_of([A, B, C], found, "order: a > b", 2.4)


def test_the_text_has_all_there_is_to_say_and_the_verdict_last() -> None:
    assert sample().text() == (
        "order: a > b\n\n"
        "rule  values  adjoint  cpu   guard   proof\n"
        "my.a  ok      -        -     -       ok\n"
        "my.b  WRONG   -        -     WRONG   ok\n"
        "my.c  open    -        open  waived  open\n\n"
        "my.rules:3:18: rule my.b is not @exact (values)\n"
        "#   rule b: x + 0 => x\n#                    ^\nx = [-0.0]\n\n"
        "my.rules:3:9: rule my.b is not @exact (guard)\n#   rule b: x + 0 => x\n#           ^\n\n"
        "waived (1):\n  my.c: guard: fires without it; waived: it asks for speed alone\n\n"
        "not decided (2):\n  my.c: values: fired on 3 of 50\n  my.c: cpu: no kernel\n\n"
        "not proved, but drawn (1):\n  my.c: sympy finds no answer\n\n"
        "1 of 3 rules are right, 1 of them proved (33 %), 1 not decided; 2 s"
    )


def test_a_rule_is_right_if_every_check_but_the_proof_says_so() -> None:
    report = sample()
    assert not report.right and report.wrong_rules() == {("my.rules:3", "my.b")}
    found = [f for f in report.found if f.rule == "my.c"]
    assert not report_of([C], found).right
    decided = [f for f in found if f.check not in ("values", "cpu")]
    assert report_of([C], decided).right
    assert not report_of([C], [*decided, finding(C, "confluence", OPEN, "the time was over")]).right
    assert report_of([C], [*decided, finding(C, "confluence", OPEN, "the time")], listed=LISTED_IF_QUICK).right


def test_what_is_not_decided_may_be_waived_as_what_is_wrong() -> None:
    assert waived(finding(C, "guard", OPEN, "no instance was drawn"), C).status == WAIVED
    assert waived(finding(C, "guard", PASSED, "12 neighbours"), C).status == PASSED


def test_many_rules_have_a_line_for_each_file() -> None:
    text = "simplify semi\n" + "\n".join(f"rule r{i}: -(-x) => x" for i in range(LONGEST + 1))
    rules = parse_rules(text, "many.rules", "many")
    found = [finding(r, "values", FAILED if i == 3 else PASSED) for i, r in enumerate(rules)]
    found += [finding(r, "proof", OPEN if i < 5 else PASSED) for i, r in enumerate(rules)]
    head, line = report_of(rules, found).table().splitlines()
    assert head.split() == ["file", "rules", "values", "proof"]
    assert line.split() == ["many.rules", "41", "40/41", "1", "WRONG", "36/41", "5", "open"]


def test_the_json_can_be_read_again() -> None:
    report = sample()
    read = json.loads(report.as_json())
    assert (read["right"], read["rules"]) == (False, 3)
    assert read["counts"]["values failed"] == 1
    assert [Finding(**one) for one in read["findings"]] == [f for f in report.found if f.status != NONE]


@pytest.mark.parametrize(("check", "status"), [("guard", WAIVED), ("values", FAILED)])
def test_a_waiver_covers_the_check_it_names(check: str, status: str) -> None:
    assert waived(finding(C, check, FAILED), C).status == status
