# SPDX-License-Identifier: Apache-2.0
"""The rule that makes a normal form wrong is found, by what operations mean or by what is expected."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ngraph_rewrite as ng
from ngraph_rewrite.cli import main

NAT = ng.signature("bisected_nat")
NAT.sort("Nat")
ZERO = NAT.operation("zero", (), "Nat", meaning=lambda: 0)()
NEXT = NAT.operation("s", ("Nat",), "Nat", meaning=lambda x: x + 1)
PLUS = NAT.operation("plus", ("Nat", "Nat"), "Nat", meaning=lambda x, y: x + y)
TIMES = NAT.operation("times", ("Nat", "Nat"), "Nat", meaning=lambda x, y: x * y)
HALF = NAT.operation("half", ("Nat",), "Nat")
RIGHT = {
    "plus_zero": "plus(zero(), y) => y",
    "plus_next": "plus(s(x), y) => s(plus(x, y))",
    "times_zero": "times(zero(), y) => zero()",
    "times_next": "times(s(x), y) => plus(y, times(x, y))",
}
WRONG = {
    "plus_zero": "plus(zero(), y) => s(y)",
    "plus_next": "plus(s(x), y) => plus(x, y)",
    "times_zero": "times(zero(), y) => y",
    "times_next": "times(s(x), y) => plus(x, times(x, y))",
}


def rules_of(equations: dict[str, str]) -> ng.RuleSet:
    text = "\n".join(f"rule {name}: {equation}" for name, equation in equations.items())
    return NAT.rules(text, name="nat", unordered=True)


def number(value: int) -> ng.Op:
    return NEXT(number(value - 1)) if value else ZERO


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_rule_is_found_by_what_operations_mean(wrong: str) -> None:
    rules = rules_of({**RIGHT, wrong: WRONG[wrong]})
    found = ng.bisect(TIMES(number(3), PLUS(number(2), number(2))), rules=rules)
    assert found.verdict == "rule"
    assert found.rule is rules.find(f"nat.{wrong}")
    assert str(found).splitlines()[1] == "without it the result is right; it first fired here:"


@given(names=st.sets(st.sampled_from(sorted(WRONG)), min_size=1), a=st.integers(1, 3), b=st.integers(1, 3))
@settings(max_examples=8, deadline=None)
def test_without_what_is_found_the_result_is_right(names: set[str], a: int, b: int) -> None:
    """Of several wrong rules one may be without effect while another one is off; a single one is found itself."""
    rules = rules_of({**RIGHT, **{name: WRONG[name] for name in names}})
    term = TIMES(number(a), PLUS(number(b), number(1)))
    found = ng.bisect(term, rules=rules)
    if found.verdict == "right":
        return
    assert found.verdict in ("rule", "rules")
    assert len(names) > 1 or {rule.name.partition(".")[2] for rule in found.rules} == names
    with ng.disable(*(rule.name for rule in found.rules), rules=rules):
        assert ng.bisect(term, rules=rules).verdict == "right"


def test_an_expected_normal_form_is_enough() -> None:
    """The rule for an odd number is in the way of the two others."""
    rules = NAT.rules(
        """
        rule odd:   half(s(s(s(x))))  =>  zero()
        rule two:   half(s(s(x)))     =>  s(half(x))
        rule none:  half(zero())      =>  zero()
        rule one:   half(s(zero()))   =>  zero()
        """,
        name="halves",
    )
    for oracle in (number(2), lambda found: found.definition.short == "s"):
        found = ng.bisect(HALF(number(5)), oracle, rules=rules)
        assert found.verdict == "rule" and found.rule is rules.find("halves.odd")
    assert ng.bisect(HALF(number(2)), number(1), rules=rules).verdict == "right"
    assert ng.bisect(HALF(number(2)), number(7), rules=rules).verdict == "graph"


def test_something_has_to_say_what_is_right() -> None:
    with pytest.raises(ng.ArgumentError, match=r"the operation half has no meaning[\s\S]*give the expected"):
        ng.bisect(HALF(ZERO), rules=rules_of(RIGHT))


def test_rules_that_never_end_are_an_error() -> None:
    loop = NAT.rules("rule loop: half(x) => half(x)", name="loop", unordered=True)
    with pytest.raises(ng.RewriteError, match="cycle"):
        ng.bisect(HALF(ZERO), ZERO, rules=loop)


def test_a_shell_bisects_by_what_operations_mean(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "terms.py"
    path.write_text(
        "import ngraph_rewrite as ng\n"
        "nat = ng.signature('bisected_shell')\nnat.sort('Nat')\n"
        "zero = nat.operation('zero', (), 'Nat', meaning=lambda: 0)\n"
        "s = nat.operation('s', ('Nat',), 'Nat', meaning=lambda x: x + 1)\n"
        "double = nat.operation('double', ('Nat',), 'Nat', meaning=lambda x: 2 * x)\n"
        "text = 'rule none: double(zero()) => zero()\\nrule some: double(s(x)) => s(double(x))'\n"
        "rules = nat.rules(text, name='own')\n"
        "term = double(s(zero()))\n",
        encoding="utf-8",
    )
    assert main(["bisect", f"{path}:term"]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "rule: own.some"


def test_arrays_say_nothing_of_a_term(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "terms.py"
    path.write_text("import ngraph_rewrite as ng\nterm = ng.signature('bisected_nat')['zero']()\n", encoding="utf-8")
    assert main(["bisect", f"{path}:term", "--expect", "x.npy"]) == 1
    assert "judged by what its operations mean" in capsys.readouterr().err
    assert main(["bisect", f"{path}:term"]) == 1
    assert "the file has no set of rules of the signature bisected_nat" in capsys.readouterr().err
