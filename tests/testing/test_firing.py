# SPDX-License-Identifier: Apache-2.0
"""Rules that match, and never fire: what comes first is told, where equations alone do not show it."""

from __future__ import annotations

import pytest

import ngraph_rewrite as ng
from ngraph_rewrite.cache import Cache
from ngraph_rewrite.lowering.passes import usable
from ngraph_rewrite.rewriting.rule import Rule, RuleSet
from ngraph_rewrite.rewriting.rulefile import parse_rules
from ngraph_rewrite.targets.choices import find_target, transformer_choices
from ngraph_rewrite.testing.findings import PASSED, Context, Finding
from ngraph_rewrite.testing.firing import Firing
from ngraph_rewrite.testing.subsumption import check_subsumption

NEVER = [
    ("simplify semi", "tanh(cast(cast(x, dtype='float32'), dtype='float32')) => tanh(x)", "semi.cast_same"),
    ("simplify axes", "tanh(tanh(x)) => tanh(x)", "axes.unary.tanh"),
    (
        "simplify semi",
        "tanh(once(cast(cast(x, dtype='float32'), dtype='float32'))) => tanh(cast(x, dtype='float32'))",
        "semi.cast_same",
    ),
]
EVER = [
    ("simplify semi", "tanh(cast(cast(x, dtype='int8'), dtype='float32')) => tanh(x)"),
    ("simplify semi", "square(once(tanh(x))) => tanh(x)"),
    ("recognize axes", "square(tanh(x)) => tanh(x)"),
    ("simplify semi", "sin(x), cos(x) => cos(x), sin(x)"),
    ("select semi", "erf(tanh(x)) => tanh(x)\n    if x.rank == 2"),
]


# Each is taken by another rule, or has nothing to do, in all but a few of its terms: unknown lengths show none of them.
SELDOM = [
    "attention.mixture.5",
    "bytes.signed_bytes_by_weights.3",
    "bytes.zero_beside_weights.1",
    "cpu.gemm_of_halves_transposed",
    "numpy.above_signed.greater",
    "semi.bitcast_cast",
    "semi.label_plain",
    "semi.strip_label",
    "semi.sum_ones",
]


def tried(rule: Rule) -> str:
    bases = [base for name in transformer_choices() if (base := find_target(name).base) is not None]
    return Firing([usable(ng.rules(), base) for base in bases], Cache()).never(rule)


def found(header: str, equation: str) -> Finding:
    (rule,) = parse_rules(f"{header}\nrule r @real: {equation}\n", "my.rules", "my")
    (finding,) = check_subsumption([rule], Context(RuleSet([rule]) + ng.rules()))
    return finding


@pytest.mark.parametrize(("header", "equation", "first"), NEVER)
def test_a_rule_that_fires_on_no_term_is_told_with_what_came_first(header: str, equation: str, first: str) -> None:
    finding = found(header, equation)
    assert finding.status == PASSED  # a term that nobody tried may be another case
    assert finding.unjudged.startswith("whether it ever fires: it did on none of ")
    assert first in finding.unjudged


@pytest.mark.parametrize(("header", "equation"), EVER)
def test_of_a_rule_that_fires_nothing_is_said(header: str, equation: str) -> None:
    assert not found(header, equation).unjudged


def test_a_rule_whose_guard_fails_is_not_tried_and_the_next_one_is() -> None:
    """All rules of a file were wrong because one asked for the length of an axis that is not known."""
    text = "simplify semi\nrule a: erf(x) => x\n    if x.rank == 1 and x.shape[0] > 5\nrule b @real: " + NEVER[0][1]
    rules = parse_rules(text, "my.rules", "my")
    findings = list(check_subsumption(rules, Context(RuleSet(rules) + ng.rules())))
    assert [finding.status for finding in findings] == [PASSED, PASSED]
    assert not findings[0].unjudged and NEVER[0][2] in findings[1].unjudged


@pytest.mark.parametrize("name", SELDOM)
def test_a_rule_that_seldom_fires_is_found_to(name: str) -> None:
    """Nine that ship seemed to be taken by others, with no more than these terms were tried of them."""
    (rule,) = ng.rules().named(name)
    assert tried(rule) == ""


def test_a_rule_that_bolder_ones_come_before_is_said_to_fire_without_them() -> None:
    """``x + 0 => x`` of integers is for those who want no rule that is less than exact."""
    (rule,), (bolder,) = (ng.rules().named(f"semi.{name}") for name in ("add_zero_integer", "add_zero"))
    assert tried(rule).endswith(
        f"where semi.add_zero ({bolder.place}) came first; where rules bolder than @exact may not fire, it does"
    )


def test_the_rule_that_takes_the_term_is_named_and_not_one_that_its_parts_need() -> None:
    """``semi.reshape_same`` was named, which changed what the rule that came first had made."""
    guard = "not meet_exactly(x.dtype, y.dtype) and is_unsigned(x.dtype)"
    text = f"lower numpy\nrule r @exact: not_equal(x, y) => logical_not(equal(y, x))\n    if {guard}"
    (rule,) = parse_rules(text, "my.rules", "my")
    bases = [base for name in transformer_choices() if (base := find_target(name).base) is not None]
    usables = [usable(ng.rules() + RuleSet([rule]), base) for base in bases]
    assert "where numpy.signed_below.not_equal" in Firing(usables, Cache()).never(rule)


def test_rules_of_the_library_are_not_tried_here() -> None:
    """They were: what they do is tested by what they make of programs."""
    rule = ng.rules().find("semi.add_zero_integer")
    assert rule is not None
    assert [finding.unjudged for finding in check_subsumption([rule], Context(ng.rules()))] == [""]
