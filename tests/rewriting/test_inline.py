# SPDX-License-Identifier: Apache-2.0
"""Rules in the text of a program: what is given for one is looked at first, and an error names the user's line."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ngraph_rewrite as ng
from ngraph_rewrite.errors import ArgumentError, RuleFileError
from ngraph_rewrite.testing import check_rules

EQUATION = "-(-x) => x"
HERE = rf"\n  at {__file__}:\d+"


@pytest.mark.parametrize("said", ["family", "kind", "grade", "name"])
@pytest.mark.parametrize("given", [3, b"semi", ["semi"]], ids=repr)
def test_what_a_rule_is_made_of_is_text(said: str, given: Any) -> None:
    with pytest.raises(ArgumentError, match=rf"^the {said} of a rule is text, and .* is none{HERE}\n  write ng.rule"):
        ng.rule(EQUATION, **{said: given})


@pytest.mark.parametrize("equation", [None, 3, b"-(-x) => x"], ids=repr)
def test_an_equation_is_text(equation: Any) -> None:
    with pytest.raises(ArgumentError, match=rf"^the equation of a rule is text, and .* is none{HERE}\n  write ng.rule"):
        ng.rule(equation)


@pytest.mark.parametrize(
    "words",
    [
        {"family": "semi -> axes"},
        {"family": "semi\nrule b: -x => x"},
        {"kind": ""},
        {"grade": "exact: -x => x  #"},
        {"name": "a for f in exp log"},
        {"name": "my.rule"},
    ],
    ids=repr,
)
def test_no_more_than_a_word_stands_for_a_word(words: dict[str, str]) -> None:
    """Else it could be the head of another rule, and the equation a comment."""
    with pytest.raises(RuleFileError, match=rf"of a rule is one word, and .* is none{HERE}\n  write what needs more"):
        ng.rule(EQUATION, **words)  # type: ignore[arg-type]


@pytest.mark.parametrize("rules", [3, b"my.rules", [], ["my.rules"], {"a": 1}], ids=repr)
def test_what_is_neither_rules_nor_a_path_is_refused_where_it_is_given(rules: Any) -> None:
    x = ng.placeholder([], name="x")
    for take in (
        ng.checked_rules,
        ng.strategies.innermost,
        ng.signature,
        lambda given: ng.make_transformer("reference", rules=given),
        lambda given: ng.saturate(ng.exp(x), given),
    ):
        with pytest.raises(ArgumentError, match=rf"is no rules, and no path of any{HERE}"):
            take(rules)


def test_a_path_that_no_file_has_is_refused() -> None:
    with pytest.raises(ArgumentError, match="is no rules, and no path of any"):
        ng.checked_rules("my\0.rules")


@pytest.mark.parametrize("given", ["nosuch.rules", "rule a: x * 1 => x"])
@pytest.mark.parametrize("take", [check_rules, lambda given: ng.make_transformer("reference", rules=given)])
def test_a_file_that_cannot_be_read_is_told_with_what_to_give(take: Callable[[str], Any], given: str) -> None:
    says = re.escape(f"{given} cannot be read: No such file or directory\n  give the path of a rule file, or its text")
    with pytest.raises(RuleFileError, match=says):
        take(given)


def test_a_signature_in_another_encoding_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "peano.rules"
    path.write_bytes(b"signature peano  # \xe9\n")
    with pytest.raises(RuleFileError, match="is not text in UTF-8"):
        ng.signature(path)


# -- sets of rules, and names of them -------------------------------------------------------------------


@pytest.mark.parametrize("given", [3, "simplify", ["a"], [None]], ids=repr)
def test_a_set_of_rules_is_made_of_rules(given: Any) -> None:
    with pytest.raises(ArgumentError, match=rf"is not a rule{HERE}\n  write ng.rule"):
        ng.RuleSet(given)


def test_a_set_is_joined_with_a_set() -> None:
    with pytest.raises(TypeError, match="unsupported operand"):
        _ = ng.rules() + "simplify"  # type: ignore[operator]


def test_one_name_is_a_name_and_no_list_of_letters() -> None:
    both = ng.rule(EQUATION, name="a") + ng.rule("x + 0 => x", grade="real", name="b")
    assert [r.name for r in both.without("a.a")] == ["b.b"] == [r.name for r in both.of_class("real")]
    assert [r.name for r in both.without(["a.a", "b.b"])] == []


def test_no_rules_are_of_a_kind_that_there_is_not() -> None:
    with pytest.raises(ArgumentError, match="^no rules are of the kind 'simplfy'\n  any of simplify, select, "):
        ng.rules().of_kind("simplfy")


def test_classes_and_names_of_rules_are_looked_at_wherever_they_are_given() -> None:
    x = ng.placeholder([], name="x")
    rules = ng.rule(EQUATION, family="axes")
    strategy = ng.strategies.innermost(rules)
    wrong: list[tuple[str, Any]] = [
        ("classes is 3", lambda: ng.make_transformer("reference", classes=3)),  # type: ignore[arg-type]
        ("classes is None", lambda: ng.saturate(x, rules, classes=None)),  # type: ignore[arg-type]
        ("not all classes", lambda: ng.rewrite(x, strategy, classes="exakt")),
        ("not all classes", lambda: ng.StrategyPass(strategy, classes=["exakt"])),
        ("disabled is 3", lambda: ng.make_transformer("reference", disabled=3)),  # type: ignore[arg-type]
        ("both_ways is 3", lambda: ng.saturate(x, rules, both_ways=3)),  # type: ignore[arg-type]
        ("passes is 3", lambda: ng.make_transformer("reference", passes=3)),  # type: ignore[arg-type]
        ("3 is not a term", lambda: ng.saturate(3, rules)),  # type: ignore[arg-type]
        ("3 is not a term", lambda: ng.saturate(x, rules).equations(3)),  # type: ignore[arg-type]
        ("3 is not a term", lambda: ng.rewrite(x, strategy).explain(3)),  # type: ignore[arg-type]
        (r"\(3,\) are not all terms", lambda: ng.strategies.at(3, strategy)),  # type: ignore[arg-type]
    ]
    for said, call in wrong:
        with pytest.raises(ArgumentError, match=rf"{said}.*{HERE}"):
            call()
    twice = ng.negative(-x)
    assert repr(ng.rewrite(twice, strategy, classes="exact").root) == "x"
    assert repr(ng.saturate(twice, rules, classes="exact").roots[0]) == "x"
