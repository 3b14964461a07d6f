# SPDX-License-Identifier: Apache-2.0
"""Rules in the text of a program: what is given for one is looked at first, and an error names the user's line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ngraph_rewrite as ng
from ngraph_rewrite.errors import ArgumentError, RuleFileError

EQUATION = "-(-x) => x"
HERE = rf"\n  at {__file__}:\d+"


@pytest.mark.parametrize("said", ["family", "kind", "grade", "name"])
@pytest.mark.parametrize("given", [3, b"semi", ["semi"]], ids=repr)
def test_what_a_rule_is_made_of_is_text(said: str, given: Any) -> None:
    with pytest.raises(ArgumentError, match=rf"^the {said} of a rule is text, and .* is none{HERE}$"):
        ng.rule(EQUATION, **{said: given})


@pytest.mark.parametrize("equation", [None, 3, b"-(-x) => x"], ids=repr)
def test_an_equation_is_text(equation: Any) -> None:
    with pytest.raises(ArgumentError, match=rf"^the equation of a rule is text, and .* is none{HERE}$"):
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
    with pytest.raises(RuleFileError, match="'my\\\\x00.rules' is no path of a file"):
        ng.checked_rules("my\0.rules")


def test_a_signature_in_another_encoding_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "peano.rules"
    path.write_bytes(b"signature peano  # \xe9\n")
    with pytest.raises(RuleFileError, match="is not text in UTF-8"):
        ng.signature(path)
