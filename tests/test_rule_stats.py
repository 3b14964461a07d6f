# SPDX-License-Identifier: Apache-2.0
"""A block of `ng.stats` counts what rules do in whatever is rewritten inside, and changes nothing of it."""

from __future__ import annotations

import contextvars
import threading
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import ANALYTIC, Program, drawn

import ngraph_rewrite as ng
from ngraph_rewrite.cli import main
from ngraph_rewrite.lowering.table import ReplacementTable
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.rewriting.rulefile import parse_rules

s = ng.strategies
H = ng.Axis("H", 3)
X = ng.placeholder([H], name="x")
TWICE = parse_rules("simplify axes\nrule twice: negative(negative(x)) => x\n", "own.rules", "own")
PAIR = parse_rules("simplify semi\nrule both @real: sin(x), cos(x) => cos(x - 1), cos(x)\n", "pair.rules", "pair")
NAT = ng.signature("counted_nat")
NAT.sort("Nat")
NAT.sort("Bool")
ZERO, NEXT = NAT.operation("zero", (), "Nat")(), NAT.operation("s", ("Nat",), "Nat")
PLUS, HALF = NAT.operation("plus", ("Nat", "Nat"), "Nat"), NAT.operation("half", ("Nat",), "Nat")
ARITHMETIC = NAT.rules(
    """
    rule zero:  plus(zero(), y)  =>  y
    rule next:  plus(s(x), y)    =>  s(plus(x, y))
    rule even:  half(s(s(x)))    =>  s(half(x))
        if plus(x, x) != zero()
    """,
    name="nat",
)


def number(value: int) -> ng.Op:
    return NEXT(number(value - 1)) if value else ZERO


def matched(found: object) -> dict[str, int]:
    """How often each rule fired, of those that did."""
    return {name: count.matches for name, count in found.by_rule.items() if count.matches}  # type: ignore[attr-defined]


def fired(*tables: ReplacementTable) -> dict[str, int]:
    return dict(Counter(step.why.name for table in tables for step in table.redexes() if isinstance(step.why, Rule)))


# -- what is counted ----------------------------------------------------------------------------------------


@drawn(15)
@given(data=st.data())
def test_a_block_counts_the_steps_of_every_lowering(data: st.DataObject) -> None:
    program = Program(data.draw, ("float32", "float64"), {"H": 2, "W": 3})
    program.leaf(st.integers(-3, 3))
    program.leaf(st.integers(-3, 3))
    program.grow(ANALYTIC, data.draw(st.integers(1, 5)))
    with ng.make_transformer("cpu") as transformer, ng.stats() as found:
        tables = [transformer.lowered(term).lowering.table for term in program.terms[-2:]]
    assert matched(found) == fired(*tables)
    assert all(count.attempts >= count.matches and count.seconds >= 0 for count in found.by_rule.values())


@given(a=st.integers(0, 12), b=st.integers(0, 12), n=st.integers(0, 9))
@settings(max_examples=18, deadline=None)
def test_a_block_counts_the_steps_of_normal_forms(a: int, b: int, n: int) -> None:
    """Conditions included: what they compare is rewritten too."""
    table = ReplacementTable()
    with ng.stats() as found:
        ng.normal_form([PLUS(number(a), number(b)), HALF(number(n))], ARITHMETIC, table=table)
    assert matched(found) == fired(table)
    assert found.tried == 3


@pytest.mark.parametrize(
    "strategy", [s.innermost, s.outermost, s.worklist, s.top_down_once, s.bottom_up_once, s.one_step]
)
def test_a_block_counts_the_steps_of_strategies(strategy: object) -> None:
    for rules, term in ((TWICE, ng.negative(ng.negative(ng.exp(X)))), (ARITHMETIC, PLUS(number(2), number(3)))):
        with ng.stats() as found:
            table = ng.rewrite(term, s.fixpoint(strategy(rules))).table  # type: ignore[operator]
        assert matched(found) == fired(table) != {}


def test_a_block_counts_the_rules_of_derivatives() -> None:
    w = ng.variable([], name="w")
    with ng.stats() as found:
        ng.deriv(ng.tanh(ng.tanh(w)) * w, w)
    assert matched(found)["deriv.tanh"] == 2
    assert matched(found)["deriv.multiply"] == 1


def test_a_block_counts_rules_that_look_at_the_graph() -> None:
    with ng.make_transformer("cpu", rules=PAIR) as transformer, ng.stats() as found:
        computation = transformer.lowered([ng.sin(X), ng.cos(X)])
        table = computation.lowering.table
    assert fired(table)["pair.both"] == 1  # the other root stays as it is
    assert found.by_rule["pair.both"][:2] == (1, 1)
    assert computation.rule_stats().by_rule["pair.both"][:2] == (1, 1)


def test_a_block_counts_the_rules_of_saturation() -> None:
    pytest.importorskip("egglog")
    factor = ng.rule("a * x + a * y => a * (x + y)", family="numpy", kind="explore", name="factor")
    a, x, y = (ng.placeholder((1000,), name=n) for n in "axy")
    with ng.stats() as found:
        ng.saturate(a * x + a * y, factor)
    assert matched(found)["factor.factor"] >= 1


def test_a_guard_that_refuses_is_an_attempt() -> None:
    with ng.stats() as found:
        ng.normal_form(HALF(number(2)), ARITHMETIC)
    assert found.by_rule["nat.even"][:2] == (1, 0)


# -- blocks -------------------------------------------------------------------------------------------------


def test_of_blocks_inside_each_other_each_counts() -> None:
    term = PLUS(number(1), ZERO)
    with ng.stats() as outer:
        ng.normal_form(term, ARITHMETIC)
        with ng.stats() as inner:
            ng.normal_form(term, ARITHMETIC)
        ng.normal_form(term, ARITHMETIC)
    assert matched(inner) == {"nat.next": 1, "nat.zero": 1}
    assert matched(outer) == {"nat.next": 3, "nat.zero": 3}


def test_a_block_that_is_closed_counts_no_more() -> None:
    """Not even what was made inside, when it is explained outside."""
    with ng.stats() as found:
        made = ng.rewrite(HALF(number(4)), s.outermost(ARITHMETIC))
    before = dict(found.by_rule)
    made.explain(made.sequenced.roots[0])
    made.why_not("nat.even", made.sequenced.roots[0])
    ng.normal_form(PLUS(number(1), ZERO), ARITHMETIC)
    assert dict(found.by_rule) == before


def test_figures_can_be_read_while_they_are_counted() -> None:
    with ng.stats() as found:
        assert found.by_rule == {} and str(found).endswith("0 steps by 0 of 0 rules")
        ng.normal_form(PLUS(number(1), ZERO), ARITHMETIC)
        assert str(found).splitlines()[-1] == "2 steps by 2 of 3 rules"


def test_the_rules_of_a_set_count_alone() -> None:
    with ARITHMETIC.named("nat.zero").stats() as found:
        ng.normal_form(PLUS(number(2), ZERO), ARITHMETIC)
    assert {name: count[:2] for name, count in found.by_rule.items()} == {"nat.zero": (1, 1)}
    assert found.tried == 1


def test_a_block_is_of_its_thread_and_copies_of_its_context_add_up() -> None:
    def work() -> None:
        for _ in range(20):
            ng.normal_form(PLUS(number(5), ZERO), ARITHMETIC)

    with ng.stats() as found:
        others = [threading.Thread(target=contextvars.copy_context().run, args=(work,)) for _ in range(4)]
        strange = threading.Thread(target=contextvars.Context().run, args=(work,))
        for thread in (*others, strange):
            thread.start()
        for thread in (*others, strange):
            thread.join()
    assert matched(found) == {"nat.next": 5 * 20 * 4, "nat.zero": 20 * 4}


def test_a_failure_inside_leaves_the_block() -> None:
    loop = NAT.rules("rule loop: half(x) => half(s(x))", name="loop", unordered=True)
    with pytest.raises(ng.RewriteError), ng.stats() as found:
        ng.normal_form(HALF(ZERO), loop, budget=10)
    assert found.by_rule["loop.loop"].matches >= 10
    with ng.stats() as after:
        pass
    assert after.by_rule == {}


def test_nothing_that_is_rewritten_is_changed_by_being_counted() -> None:
    term = ng.softmax(ng.log(ng.exp(X)) + 0)
    with ng.make_transformer("cpu") as transformer:
        plain = transformer.lowered(term).lowering
        with ng.stats():
            counted = transformer.lowered(term).lowering
    assert counted.roots[0].same_as(plain.roots[0])
    assert fired(counted.table) == fired(plain.table)


# -- from a shell -------------------------------------------------------------------------------------------


def test_a_shell_shows_the_figures_of_a_term(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "terms.py"
    path.write_text(
        "import ngraph_rewrite as ng\n"
        "nat = ng.signature('counted_shell')\nnat.sort('Nat')\n"
        "zero, flip = nat.operation('zero', (), 'Nat'), nat.operation('flip', ('Nat',), 'Nat')\n"
        "rules = nat.rules('rule twice: flip(flip(x)) => x', name='shell')\n"
        "term = flip(flip(zero()))\n",
        encoding="utf-8",
    )
    assert main(["explain", f"{path}:term", "--stats"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split()[:3] == ["shell.twice", "1", "1"]
    assert lines[-1] == "1 steps by 1 of 1 rules"
