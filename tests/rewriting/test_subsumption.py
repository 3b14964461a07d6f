# SPDX-License-Identifier: Apache-2.0
"""Rules that can never fire: found among all pairs, of which most are never looked at."""

from __future__ import annotations

from random import Random

import pytest

from ngraph_rewrite.lowering.passes import library
from ngraph_rewrite.rewriting import subsumption
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.rewriting.rulefile import parse_rules
from ngraph_rewrite.rewriting.subsumption import subsumed, subsumes


def among_all_pairs(rules: list[Rule]) -> list[tuple[Rule, Rule]]:
    found = []
    for i, rule in enumerate(rules):
        before = [o for o in rules[:i] if (o.kind, o.left.definition) == (rule.kind, rule.left.definition)]
        found += [(rule, other) for other in before if subsumes(other, rule)][:1]
    return found


@pytest.mark.parametrize("seed", range(3))
def test_those_that_are_found_are_those_among_all_pairs(seed: int) -> None:
    """The rules that ship, in another order: general ones come before special ones then."""
    rules = [rule for rule in library() if rule.kind in ("simplify", "derive", "lower")]
    Random(seed).shuffle(rules)
    found = subsumed(rules)
    assert found == among_all_pairs(rules) and len(found) > 5


@pytest.mark.parametrize("count", [50, 200])
def test_rules_that_differ_in_a_number_are_not_compared(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    compared: list[tuple[Rule, Rule]] = []

    def noted(general: Rule, special: Rule) -> bool:
        compared.append((general, special))
        return subsumes(general, special)

    monkeypatch.setattr(subsumption, "subsumes", noted)
    equations = "\n".join(f"rule r{i}: sin(x * {i}.5) + cos(y) => x" for i in range(count))
    again = "rule last: cos(y) + sin(x * 7.5) => y"
    rules = parse_rules(f"simplify semi\n{equations}\n{again}\n", "f.rules", "f")
    assert [(rule.name, other.name) for rule, other in subsumed(rules)] == [("f.last", "f.r7")]
    assert len(compared) == 1


def test_rules_with_other_numbers_in_their_guards_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each was with each: a thousand rules at one op, whose guards ask for one number each, took 20 s to load."""
    asked: list[Rule] = []
    monkeypatch.setattr(subsumption, "_takes", lambda general, special, part: asked.append(general) or False)
    equations = (f"rule r{i}: exp(x) => x\n    if x.rank == {i}\n" for i in range(50))
    assert subsumption.subsumed(parse_rules("simplify semi\n" + "".join(equations), "my.rules", "my")) == []
    assert not asked


def test_a_rule_that_asks_for_the_same_number_and_more_is_taken() -> None:
    text = """
simplify semi
rule other: exp(x) => x
    if x.rank == 3
rule first: exp(x) => x
    if x.rank == 2
rule then:  exp(x) => x
    where n = 2
    if x.dtype == 'int8' and x.rank == n
"""
    rules = parse_rules(text, "my.rules", "my")
    assert [(a.name, b.name) for a, b in subsumption.subsumed(rules)] == [("my.then", "my.first")]
