# SPDX-License-Identifier: Apache-2.0
"""`ng.rules()` lists every rule where it stands; a rule that is off does not fire."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import ngraph_rewrite as ng
from ngraph_rewrite.data import data_folder
from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.rewriting.rule import CLASSES
from ngraph_rewrite.terms.op import Op

FILES = sorted(data_folder("rules").glob("*.rules"))
HEAD = re.compile(r"^rule\s+(\w+)", re.MULTILINE)


def computed(root: Op, x: Op, **options: object) -> str:
    """The derivation of `root`, on a transformer made with `options`."""
    with ng.make_transformer("cpu", **options) as transformer:  # type: ignore[arg-type]
        computation = transformer.computation(root, x)
        assert np.isfinite(computation(np.float32(0.5))).all()
        return computation.explain(root)


def test_a_rule_stands_where_it_says() -> None:
    lines = {f"rules/{path.name}": path.read_text(encoding="utf-8").splitlines() for path in FILES}
    for rule in ng.rules():
        head = re.match(r"rule\s+(\w+)", lines[rule.file][rule.line - 1])
        assert head is not None
        stem = Path(rule.file).stem
        assert rule.name == f"{stem}.{head[1]}" or rule.name.startswith(f"{stem}.{head[1]}.")


def test_every_rule_of_every_file_is_listed() -> None:
    places = {rule.place for rule in ng.rules()}
    for path in FILES:
        content = path.read_text(encoding="utf-8")
        for match in HEAD.finditer(content):
            line = content.count("\n", 0, match.start()) + 1
            assert f"rules/{path.name}:{line}" in places


def test_the_listing_shows_each_rule_on_a_line_with_file_and_line() -> None:
    shown = repr(ng.rules()).splitlines()
    assert len(shown) == len(ng.rules())
    for line, rule in zip(shown, ng.rules(), strict=True):
        assert line.startswith(f"{rule.file}:{rule.line}: {rule.name} @{rule.grade}:  ")
        assert "=>" in line


def test_names_are_unique_and_find_their_rule() -> None:
    names = [rule.name for rule in ng.rules()]
    assert len(set(names)) == len(names)
    assert all(ng.rules().find(rule.name) is rule for rule in ng.rules())
    assert ng.rules().find("no.such") is None


def test_the_library_is_read_once_and_not_changed_by_adding() -> None:
    size = len(ng.rules())
    assert len(ng.rules() + ng.rule("x * 1 => x")) == size + 1
    assert len(ng.rules()) == size and ng.rules() is ng.rules()


@pytest.fixture
def x() -> Op:
    return ng.placeholder([], name="x")


def test_a_disabled_rule_does_not_fire(x: Op) -> None:
    root = ng.log(ng.exp(x))
    assert "semi.log_exp " in computed(root, x)
    assert "semi.log_exp " not in computed(root, x, disabled=["semi.log_exp"])


def test_a_name_without_its_alternative_stands_for_all_of_them(x: Op) -> None:
    every = ng.rules()
    alternatives = [r.name for r in every if r.name.startswith("semi.rounded.")]
    assert len(alternatives) == 3
    assert len(every.without(["semi.rounded"])) == len(every) - 3
    assert len(every.without(alternatives[:1])) == len(every) - 1
    assert len(every.without(["semi.round"])) == len(every)
    root = ng.floor(ng.floor(x))
    assert "semi.rounded.floor " in computed(root, x)
    assert "semi.rounded" not in computed(root, x, disabled=["semi.rounded"])


def test_classes_choose_which_rules_fire(x: Op) -> None:
    root = ng.log(ng.exp(x)) + 0.0
    everything = computed(root, x)
    assert "semi.log_exp " in everything and "semi.add_zero " in everything
    without = computed(root, x, classes=["exact", "real"])
    assert "semi.log_exp " not in without and "semi.add_zero " in without
    assert {rule.grade for rule in ng.rules().of_class(["exact"])} == {"exact"}
    assert sum(len(ng.rules().of_class([c])) for c in CLASSES) == len(ng.rules())


def test_unknown_rules_and_classes_are_refused() -> None:
    with pytest.raises(ArgumentError, match="no rule is called semi.nothing\n.*\n  ng.rules\\(\\) lists them"):
        ng.make_transformer("cpu", disabled=["semi.log_exp", "semi.nothing"])
    with pytest.raises(ArgumentError, match="are not all classes of rules"):
        ng.make_transformer("cpu", classes=["exact", "quick"])


def test_few_rules_are_named_where_none_is_like_the_one_that_is_asked_for() -> None:
    own = ng.rule("x * 1 => x", name="times_one")
    with pytest.raises(ArgumentError, match=r"no rule is called other(?s:.*)there are times_one\.times_one"):
        own.named("other")


@pytest.mark.parametrize("blank", ["", "  \n"])
def test_a_rule_that_says_nothing_is_a_mistake_at_its_place(blank: str) -> None:
    with pytest.raises(ng.RuleFileError, match="^<mine>:3:18: the rule has no `=>`"):
        ng.rule(blank, name="mine")


def test_a_rule_of_ones_own_fires_and_is_shown_with_its_place(x: Op) -> None:
    own = ng.rule("tanh(x) => x", grade="real", name="mine")
    root = ng.tanh(x)
    assert "mine.mine  (<mine>:3)" in computed(root, x, rules=own)
    assert "mine" not in computed(root, x)
