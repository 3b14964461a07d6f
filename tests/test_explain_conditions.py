# SPDX-License-Identifier: Apache-2.0
"""A derivation shows how conditions were decided: what they asked, and the steps of that."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ngraph_rewrite as ng
from ngraph_rewrite.lowering import step_lines
from ngraph_rewrite.lowering.layout import WIDTH
from ngraph_rewrite.lowering.replaying import Decision, Replay, Seen
from ngraph_rewrite.lowering.strategies import Strategy
from ngraph_rewrite.rewriting.checks import checked_text
from ngraph_rewrite.rewriting.interpret import Application
from ngraph_rewrite.rewriting.rule import Condition, Matching, Rule
from ngraph_rewrite.rewriting.search import matches
from ngraph_rewrite.rewritten import Rewritten

WORLD = """signature asked unordered
sort Nat Bool Set Pair
operation zero : -> Nat
operation s : Nat -> Nat
operation n : -> Nat [attributes value]
operation plus : Nat Nat -> Nat
operation true false : -> Bool
operation even : Nat -> Bool
operation alike : Nat Nat -> Bool
operation three : Nat Nat Nat -> Bool
operation empty : -> Set
operation one : Nat -> Set
operation union : Set Set -> Set [associative, commutative, identity empty]
operation pair : Nat Nat -> Pair
operation halved : Nat -> Pair
operation half : Nat -> Nat
operation sum : Set -> Nat
operation pick : Bool Nat Nat -> Nat [lazy 1 2]

rule plus_zero:    plus(zero(), y)  =>  y
rule plus_next:    plus(s(x), y)    =>  s(plus(x, y))
rule even_zero:    even(zero())     =>  true()
rule even_next:    even(s(x))       =>  false()
    if even(x)
rule even_after:   even(s(x))       =>  true()
    if not even(x)
rule alike:        alike(x, y)      =>  true()
    if plus(x, x) == plus(x, y)
rule three:        three(x, y, z)   =>  true()
    if plus(x, zero()) == x and plus(y, zero()) == y and plus(z, zero()) == z
rule halved_zero:  halved(zero())   =>  pair(zero(), zero())
rule halved_one:   halved(s(zero()))  =>  pair(zero(), s(zero()))
rule halved_two:   halved(s(s(x)))  =>  pair(s(q), r)
    if pair(q, r) := halved(x)
rule half:         half(x)          =>  q
    let twice = plus(q, q)
    if pair(q, r) := halved(x) and plus(twice, r) == x and r != s(zero())
rule sum:          sum(u)           =>  n(value=a + b)
    if union(one(n(value=a)), one(n(value=b)), rest...) := u and a < b and union(rest...) == empty()
rule yes:          pick(true(), x, y)   =>  x
rule no:           pick(false(), x, y)  =>  y
"""
RULES = checked_text(WORLD, "asked.rules", "asked")
OF = ng.signature("asked")


def number(value: int) -> ng.Op:
    return OF["s"](number(value - 1)) if value else OF["zero"]()


def line(rule: str) -> str:
    return next(one.place for one in RULES if one.name == f"asked.{rule}")


def explained(term: ng.Op) -> str:
    """The derivation after the line that names the term."""
    return ng.explain(term, RULES).partition("\n")[2]


def said(text: str) -> str:
    places = re.sub(r"<(\w+)>", lambda found: f"asked.{found[1]}  ({line(found[1])})", text)
    return textwrap.indent(textwrap.dedent(places).strip("\n"), "    ")


# -- what is shown ------------------------------------------------------------------------------------


def test_a_condition_stands_below_the_step_and_its_steps_further_in_each_once() -> None:
    assert explained(OF["even"](number(2))) == said(
        """
        innermost: <even_after>
            even(s(x)) => true()
                if not even(x)
            even(s(s(zero())))
         => true()
         if not even(s(zero()))   holds
            even(s(zero())) : Bool
                conditions: <even_next>
                    even(s(x)) => false()
                        if even(x)
                    even(s(zero()))
                 => false()
                 if even(zero())   holds
                    even(zero()) : Bool
                        conditions: <even_zero>
                            even(zero()) => true()
                            even(zero())
                         => true()
                        normal form: true()
                normal form: false()
        normal form: true()
        """
    )


def test_both_sides_are_shown_and_a_step_that_stands_above_is_not_again() -> None:
    term = OF["alike"](number(1), number(1))
    text = explained(term)
    assert text.startswith(
        said(
            """
            innermost: <alike>
                alike(x, y) => true()
                    if plus(x, x) == plus(x, y)
                alike(s(zero()), s(zero()))
             => true()
             if plus(s(zero()), s(zero())) == plus(s(zero()), s(zero()))   holds
                plus(s(zero()), s(zero())) : Nat
                    conditions: <plus_next>
            """
        )
    )
    assert text.count(" : Nat") == 1  # one term stands on both sides
    twice = OF["alike"](OF["half"](number(0)), OF["half"](number(0)))
    lines = explained(twice).splitlines()
    first, second = (i for i, line in enumerate(lines) if line == "        halved(zero()) : Pair")
    assert lines[first + 1] == f"            conditions: asked.halved_zero  ({line('halved_zero')})"
    assert lines[second + 1 : second + 3] == [
        "            (its steps stand above)",
        "            normal form: pair(zero(), zero())",
    ]


def test_what_a_condition_binds_is_shown_and_what_the_later_ones_make_of_it() -> None:
    assert explained(OF["half"](number(0))) == said(
        """
        innermost: <half>
            half(x) => q
                let twice = plus(q, q)
                if pair(q, r) := halved(x) and plus(twice, r) == x and r != s(zero())
            half(zero())
         => zero()
         if pair(q, r) := halved(zero())   matches
                q = zero() : Nat
                r = zero() : Nat
            halved(zero()) : Pair
                conditions: <halved_zero>
                    halved(zero()) => pair(zero(), zero())
                    halved(zero())
                 => pair(zero(), zero())
                normal form: pair(zero(), zero())
        and plus(plus(zero(), zero()), zero()) == zero()   holds
            plus(plus(zero(), zero()), zero()) : Nat
                conditions: <plus_zero>
                    plus(zero(), y) => y
                    plus(zero(), zero())
                 => zero()
                normal form: zero()
        and zero() != s(zero())   holds
        normal form: zero()
        """
    )


def test_a_condition_that_computes_is_shown_as_it_is_written() -> None:
    term = OF["sum"](OF["union"](OF["one"](OF["n"](value=5)), OF["one"](OF["n"](value=2))))
    assert explained(term) == said(
        """
        innermost: <sum>
            sum(u) => n(value=a + b)
                if union(one(n(value=a)), one(n(value=b)), rest...) := u and a < b and union(rest...) ==
                empty()
            sum(union(one(n(value=2)), one(n(value=5))))
         => n(value=7)
         if union(one(n(value=a)), one(n(value=b)), rest...) := union(one(n(value=2)), one(n(value=5)))
            matches
                rest = ()
                a = 2
                b = 5
        and a < b   holds
        and empty() == empty()   holds
        normal form: n(value=7)
        """
    )


# -- how much is shown --------------------------------------------------------------------------------


def test_conditions_inside_each_other_are_shown_to_a_depth() -> None:
    text = explained(OF["halved"](number(12)))
    assert text.count("asked.halved_two") == 1 + step_lines.MOST_NESTED
    assert text.count("(1 step is not shown here: inside 3 conditions)") == 1
    assert text.count("normal form: ") == 2 + step_lines.MOST_NESTED  # all of them have their normal forms


def test_of_many_steps_of_a_condition_the_first_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_lines, "MOST_STEPS_OF_TERM", 2)
    monkeypatch.setattr(step_lines, "MOST_COUNTED", 5)
    cases = (1, None), (2, "(1 more step is"), (4, "(3 more steps are"), (9, "(more than 5 more steps are")
    for value, omitted in cases:
        text = explained(OF["alike"](number(value), number(value)))
        assert text.count("conditions: ") == 2
        assert (f"{omitted} not shown here)" in text) if omitted else "not shown" not in text


def told_and_said(numbers: tuple[int, ...], bounds: tuple[int, int, int]) -> list[tuple[int, str]]:
    """How many steps of `plus(x, zero())` are shown for each number, what is said of the others, and the last line.

    Args:
        bounds: Of steps of a term, of steps of all of them, and of those that are counted.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name, bound in zip(("STEPS_OF_TERM", "STEPS_OF_CONDITIONS", "COUNTED"), bounds, strict=True):
            patch.setattr(step_lines, f"MOST_{name}", bound)
        text = explained(OF["three"](*map(number, numbers)))
    parts = re.split(r", zero\(\)\) : Nat\n", text)[1:]
    said = ["".join(re.findall(r"^ +\((.* (?:shown|here|above))\)$", part, re.MULTILINE)) for part in parts]
    last = [(0, words) for words in re.findall(r"^\((.*)\)$", text, re.MULTILINE)]
    return [(part.count("conditions: "), words) for part, words in zip(parts, said, strict=True)] + last


def test_of_many_conditions_the_first_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_lines, "MOST_STEPS_OF_CONDITIONS", 3)
    text = explained(OF["pick"](OF["alike"](number(2), number(2)), OF["half"](number(4)), number(0)))
    assert text.count("conditions: ") == 3


NOT_ALL = "those of its steps that do not stand above are not shown"


def test_of_steps_that_stand_above_in_part_the_others_are_shown_and_counted() -> None:
    assert told_and_said((7, 5, 5), (3, 99, 9)) == [
        (3, "5 more steps are not shown here"),  # 7, 6 and 5 are shown, and not 4, 3, 2, 1 and 0
        (3, "2 more steps are not shown here"),  # 4, 3, 2
        (2, ""),  # 1, 0
    ]
    assert told_and_said((2, 7, 1), (3, 99, 2)) == [
        (3, ""),
        (3, "2 more steps are not shown here"),
        (0, "its steps stand above"),
    ]


def test_when_no_more_steps_may_be_shown_that_is_said_of_each_term_that_may_have_some() -> None:
    last = "8 steps inside conditions were taken again, and 3 of them are shown"
    assert told_and_said((7, 5, 2), (3, 3, 9)) == [(3, NOT_ALL), (0, NOT_ALL), (0, NOT_ALL), (0, last)]
    assert told_and_said((2, 2, 1), (3, 3, 9)) == [(3, ""), (0, "its steps stand above"), (0, "its steps stand above")]


@given(
    numbers=st.tuples(*[st.integers(0, 9)] * 3),
    bounds=st.tuples(st.integers(1, 5), st.integers(1, 15), st.integers(1, 5)),
)
@settings(max_examples=24, deadline=None)
def test_what_is_said_of_steps_that_are_not_shown_is_true(
    numbers: tuple[int, ...], bounds: tuple[int, int, int]
) -> None:
    of_term, of_all, counted = bounds
    told: set[int] = set()
    for value, (here, words) in zip(numbers, told_and_said(numbers, bounds)[:3], strict=True):
        untold = [one for one in range(value, -1, -1) if one not in told]
        assert here == min(len(untold), of_term, of_all - len(told))
        told.update(untold[:here])
        left = len(untold) - here
        if words == NOT_ALL:
            assert len(told) == of_all
        elif left:
            count = f"more than {counted}" if left > counted else left
            assert re.fullmatch(f"{count} more steps? (is|are) not shown here", words)
        else:
            assert words == ("" if here else "its steps stand above")


# -- wherever steps are shown -------------------------------------------------------------------------


def test_why_not_tells_how_the_conditions_of_a_rule_that_fired_were_decided() -> None:
    term = OF["even"](number(1))
    step = said("    if even(zero())   holds\n        even(zero()) : Bool").replace("         if", "     if")
    for name in ("even_next", "even_after"):  # it fired, or it does not come to its turn
        answer = ng.why_not(f"asked.{name}", term, RULES)
        assert (step in str(answer)) == answer.fired == (name == "even_next")


def test_bisection_tells_how_the_conditions_of_the_wrong_rule_were_decided() -> None:
    rules = OF.rules("rule wrong: half(x) => s(x)\n    if even(x)", name="wrong", unordered=True) + RULES
    text = str(ng.bisect(OF["half"](number(2)), number(1), rules=rules))
    assert "     if even(s(s(zero())))   holds\n        even(s(s(zero()))) : Bool\n            conditions: " in text


def test_a_condition_that_failed_has_the_normal_forms_of_its_sides() -> None:
    answer = str(ng.why_not("asked.alike", OF["alike"](number(1), number(2)), RULES))
    assert answer.endswith(
        "     if plus(x, x) == plus(x, y)   does not hold\n"
        "          plus(x, x) = s(s(zero()))\n"
        "          plus(x, y) = s(s(s(zero())))"
    )


# -- what is shown is true ----------------------------------------------------------------------------

NATS = st.deferred(
    lambda: st.one_of(
        st.integers(0, 3).map(number),
        st.tuples(NATS, NATS).map(lambda two: OF["plus"](*two)),
        NATS.map(OF["half"]),
        st.tuples(BOOLS, NATS, NATS).map(lambda three: OF["pick"](*three)),
    )
)
BOOLS = st.one_of(NATS.map(OF["even"]), st.tuples(NATS, NATS).map(lambda two: OF["alike"](*two)))
ORDERS = st.sampled_from([order(RULES) for order in (ng.strategies.innermost, ng.strategies.outermost)])


def instances(seen: Seen, found: Rewritten) -> Iterator[ng.Op]:
    """What the rule of a step makes of the term before it, whatever its conditions say, by the search alone."""
    before, rule = seen.step.before, seen.step.why
    assert isinstance(rule, Rule)
    for bound in matches(rule.left, before, {}):
        known = {name: seen.names[name] for name in seen.names if name not in bound} if seen.names else {}
        yield Application(rule, before, {**known, **bound}, found.bank.make).right()[0]  # type: ignore[misc]


def normal(term: ng.Op) -> str:
    return ng.written(ng.normal_form(term, RULES))


def holds(decision: Decision) -> bool:
    """Whether a condition is true of normal forms that are worked out anew."""
    condition = decision.condition
    forms = [normal(side) for side, _ in decision.sides]
    if isinstance(condition, Condition):
        return (forms[0] == forms[1]) == condition.equal
    if not isinstance(condition, Matching):
        return True
    known = {name: decision.names[name] for name in decision.binds}
    return any(
        all(bound[name] is value for name, value in known.items())
        for bound in matches(condition.pattern, decision.sides[0][1], {})
    )


def check(replay: Replay, term: ng.Op, found: Rewritten, depth: int) -> int:
    """Each step on the way of a term is an instance of its rule, and each condition of it holds; how many there are."""
    count = 0
    for seen in [one for one in replay.steps(term) if isinstance(one.step.why, Rule)]:
        assert any(made is seen.right for made in instances(seen, found))
        assert normal(seen.step.before) == normal(seen.step.after) == normal(seen.right)  # type: ignore[arg-type]
        decisions = replay.decisions(seen)
        assert [one.condition for one in decisions] == list(seen.step.why.conditions)  # type: ignore[union-attr]
        for decision in decisions:
            count += 1
            assert holds(decision)
            inner = replay.of_conditions(decision.matcher)
            for side, form in decision.sides:
                assert ng.written(form) == normal(side)
                steps = list(replay.of_conditions(decision.matcher).steps(side))
                assert bool(steps) == (form is not side)
                count += check(inner, side, found, depth - 1) if depth else 0
    return count


@given(term=NATS, order=ORDERS)
@settings(max_examples=15, deadline=None)
def test_every_step_is_an_instance_of_its_rule_and_every_condition_holds(term: ng.Op, order: Strategy) -> None:
    found = ng.rewrite(term, order)
    counted = check(found.replay.again(), term, found, 2)
    text = found.explain(term)
    assert bool(counted) == bool(re.search(r" (holds|matches)$", text, re.MULTILINE))
    # what names a file is as long as that name, and a term without a space as long as it is
    lines = [line for line in text.splitlines() if not re.search(r"  (built at|for) |\S{70}", line)]
    assert all(len(line) <= WIDTH for line in lines)
