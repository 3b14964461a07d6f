# SPDX-License-Identifier: Apache-2.0
"""Terms of signatures can be asked what became of them: each step, and why a rule took no part in it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import ngraph_rewrite as ng
from ngraph_rewrite.cli import main
from ngraph_rewrite.lowering import derivation
from ngraph_rewrite.lowering.attempts import attempts, best_attempt
from ngraph_rewrite.lowering.replaying import Replay, Seen
from ngraph_rewrite.rewriting.checks import checked_text
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.rewriting.search import matches
from ngraph_rewrite.rewritten import Rewritten

WORLD = """signature explained unordered
sort Nat Bool Set List
operation zero : -> Nat
operation s : Nat -> Nat
operation plus less : Nat Nat -> Nat
operation true false : -> Bool
operation below : Nat Nat -> Bool
operation same : Nat Nat -> Bool [commutative]
operation empty : -> Set
operation one : Nat -> Set
operation tag : Nat -> Set [attributes letter]
operation union : Set Set -> Set [associative, commutative, identity empty]
operation size : Set -> Nat
operation least : Set -> Nat
operation item : Nat -> List
operation string : List List -> List [associative]
operation head : List -> Nat
operation pick : Bool Nat Nat -> Nat [lazy 1 2]
operation quote : Nat -> List [frozen 0]
operation loop : Nat -> Nat
operation apart : Nat Nat -> Bool

rule plus_zero:   plus(zero(), y)            =>  y
rule plus_next:   plus(s(x), y)              =>  s(plus(x, y))
rule below_zero:  below(zero(), s(y))        =>  true()
rule below_not:   below(x, zero())           =>  false()
rule below_next:  below(s(x), s(y))          =>  below(x, y)
rule same_not:    same(zero(), s(x))         =>  false()
rule same_is:     same(x, x)                 =>  true()
rule same_next:   same(s(x), s(y))           =>  same(x, y)
rule twice:       union(x, x)                =>  x
rule size_zero:   size(empty())              =>  zero()
rule size_next:   size(union(one(x), rest...))  =>  s(size(union(rest...)))
rule size_tag:    size(union(tag(s(s(x)), letter="a"), rest...))  =>  s(zero())
rule least_one:   least(one(x))              =>  x
rule least_low:   least(union(one(x), one(y), rest...))  =>  least(union(one(x), rest...))
    if below(x, y)
rule least_high:  least(union(one(x), one(y), rest...))  =>  least(union(one(y), rest...))
    if not below(x, y) and same(x, y) != true()
rule less:        less(x, y)                 =>  gap
    let gap = plus(x, s(zero()))
    if gap == y
rule apart:       apart(x, y)                =>  true()
    if not below(x, y) and same(x, y) != true()
rule sorted:      string(item(x), item(y))   =>  string(item(y), item(x))
    if below(y, x)
rule head:        head(string(item(x), rest...))  =>  x
rule yes:         pick(true(), x, y)         =>  x
rule no:          pick(false(), x, y)        =>  y
rule none:        pick(below(x, x), y, y)    =>  y
rule literal:     head(quote(s(x)))          =>  x
rule loop:        loop(x)                    =>  loop(s(x))
"""
RULES = checked_text(WORLD, "explained.rules", "explained")
OF = ng.signature("explained")
ZERO = OF["zero"]()


def number(value: int) -> ng.Op:
    return OF["s"](number(value - 1)) if value else ZERO


def numbers(*values: int) -> ng.Op:
    return OF["union"](*(OF["one"](number(value)) for value in values))


def line(rule: str) -> str:
    return next(one.place for one in RULES if one.name == f"explained.{rule}")


def rewritten(term: ng.Op) -> Rewritten:
    return ng.rewrite(term, ng.strategies.innermost(RULES))


def why(rule: str, term: ng.Op) -> str:
    """What is said after the first line, which names the rule."""
    return "\n".join(str(ng.why_not(f"explained.{rule}", term, RULES)).splitlines()[1:])


def lines_of(rule: str, term: ng.Op) -> list[str]:
    """The equation and what is said below it."""
    lines = why(rule, term).splitlines()
    return lines[next(i for i, line in enumerate(lines) if " => " in line) :]


def verdict(rule: str, term: ng.Op) -> str:
    return ng.why_not(f"explained.{rule}", term, RULES).verdict


def said(text: str) -> str:
    return textwrap.dedent(text).strip("\n")


# -- derivations ------------------------------------------------------------------------------------


def test_a_derivation_has_each_step_once_and_parts_before_what_is_built_of_them() -> None:
    term = OF["plus"](number(2), number(1))
    assert ng.explain(term, RULES) == said(
        f"""
        plus(s(s(zero())), s(zero())) : Nat  built at {term.info.place}
            innermost: explained.plus_next  ({line("plus_next")})
                plus(s(x), y) => s(plus(x, y))
                plus(s(s(zero())), s(zero()))
             => s(plus(s(zero()), s(zero())))
             -> s(s(s(zero())))  once its parts are rewritten
            innermost: explained.plus_next  ({line("plus_next")})
                plus(s(x), y) => s(plus(x, y))
                plus(s(zero()), s(zero()))
             => s(plus(zero(), s(zero())))
             -> s(s(zero()))  once its parts are rewritten
            innermost: explained.plus_zero  ({line("plus_zero")})
                plus(zero(), y) => y
                plus(zero(), s(zero()))
             => s(zero())
            normal form: s(s(s(zero())))
        """
    )


def test_parts_to_which_nothing_happened_are_not_listed() -> None:
    lines = ng.explain(OF["size"](numbers(1, 2)), RULES).splitlines()
    assert [line.split(" : ")[0] for line in lines if not line.startswith(" ")] == [
        "size(union(one(s(zero())), one(s(s(zero())))))"
    ]


def test_rules_may_be_a_set_or_a_file_as_everywhere(tmp_path: Path) -> None:
    path = tmp_path / "explained.rules"
    path.write_text(WORLD, encoding="utf-8")
    term = OF["plus"](ZERO, ZERO)
    assert ng.explain(term, path) == ng.explain(term, rules=path).replace("\n\n", "\n")
    assert ng.explain(term, path).replace(str(path), "explained.rules") == ng.explain(term, RULES)


def test_a_term_of_a_signature_needs_rules_and_has_no_target() -> None:
    term = OF["plus"](ZERO, ZERO)
    for ask in (lambda: ng.explain(term), lambda: ng.explain(term, "reference", rules=RULES)):
        with pytest.raises(ng.ArgumentError, match=r"is a term of a signature[\s\S]*ng\.explain\(term, rules\)"):
            ask()
    with pytest.raises(ng.ArgumentError, match=r"no rule is called explained\.plus_zer[\s\S]*explained\.plus_zero"):
        ng.why_not("explained.plus_zer", term, RULES)


def test_steps_inside_steps_are_shown_at_any_depth() -> None:
    term = OF["plus"](number(150), ZERO)
    text = ng.explain(term, RULES)
    assert text.count("explained.plus_next") == 150
    assert text.count("explained.plus_zero") == 1


def test_a_long_derivation_says_how_long_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(derivation, "MOST_STEPS", 3)
    lines = ng.explain(OF["plus"](number(4), ZERO), RULES).splitlines()
    assert sum("innermost: " in line for line in lines) == 3
    assert lines[-2] == "    (the first 3 steps; the table has all, 5 in this run)"


NATS = st.deferred(
    lambda: st.one_of(
        st.integers(0, 3).map(number),
        st.tuples(NATS, NATS).map(lambda two: OF["plus"](*two)),
        st.tuples(NATS, NATS).map(lambda two: OF["less"](*two)),
        SETS.map(OF["size"]),
        SETS.map(OF["least"]),
        st.tuples(BOOLS, NATS, NATS).map(lambda three: OF["pick"](*three)),
        LISTS.map(OF["head"]),
    )
)
BOOLS = st.deferred(
    lambda: st.tuples(st.sampled_from(["below", "same"]), NATS, NATS).map(lambda drawn: OF[drawn[0]](*drawn[1:]))
)
SETS = st.deferred(lambda: st.lists(NATS.map(OF["one"]), max_size=4).map(lambda terms: OF["union"](*terms)))
LISTS = st.deferred(
    lambda: st.one_of(
        NATS.map(OF["quote"]),
        st.lists(NATS.map(OF["item"]), min_size=1, max_size=4).map(lambda terms: OF["string"](*terms)),
    )
)


def steps_of(found: Rewritten, term: ng.Op, besides: Sequence[ng.Op] = ()) -> list[Seen]:
    """What is seen of a term beside what is seen of others: the steps of what conditions compare as well."""
    replay = Replay(found.table, found.bank, found.replay.matchers, found.replay.target, conditions=True)
    replay.shown.update(step.before for one in besides for step in found.table.history(one))
    return [one for one in replay.steps(term) if isinstance(one.step.why, Rule)]


@given(term=NATS)
@settings(max_examples=24, deadline=None)
def test_what_is_seen_of_a_term_are_the_steps_that_were_taken(term: ng.Op) -> None:
    """All of them, but for those of conditions that did not hold."""
    plain = ng.RuleSet(rule for rule in RULES if not rule.conditions)
    for rules in (plain, RULES):
        found = ng.rewrite(term, ng.strategies.innermost(rules))
        seen = steps_of(found, term)
        taken = {(step.before, step.after) for step in found.table.redexes()}
        shown = {(one.step.before, one.step.after) for one in seen}
        assert shown == taken if rules is plain else shown <= taken
        for one in seen:
            assert one.right is not None and one.right.type.fits(one.step.before.type)  # type: ignore[attr-defined]


def same_in_a_condition() -> ng.Op:
    """The least of two numbers, one of which is a part of the other: a condition compares them."""
    part = OF["head"](OF["quote"](number(1)))
    return OF["least"](OF["union"](OF["one"](part), OF["one"](OF["head"](OF["quote"](part)))))


def alike_built_apart() -> ng.Op:
    """What is quoted is no form of any pass: its parts, which are alike, were built by themselves."""
    return OF["head"](OF["quote"](OF["size"](OF["union"](*[OF["one"](OF["zero"]()) for _ in range(3)]))))


@given(term=NATS)
@example(term=same_in_a_condition())
@example(term=alike_built_apart())
@settings(max_examples=12, deadline=None)
def test_a_rule_fired_or_it_is_told_why_it_did_not(term: ng.Op) -> None:
    found = rewritten(term)
    fired, anywhere = (
        {one.step.why.name for one in steps_of(found, term, besides)}  # type: ignore[union-attr]
        for besides in (ng.topological(term.args), ())
    )
    for rule in RULES:
        answer = found.why_not(rule.name, term)
        # a condition may look at what is a part of the term as well
        assert (rule.name in fired) <= answer.fired <= (rule.name in anywhere)
        if answer.verdict == "matches, and another rule came first":
            assert "but another rule took the term first:" in str(answer)
        elif answer.verdict == "matches what was never tried":
            assert "lazy" in str(answer) or "frozen" in str(answer) or "arguments were rewritten first" in str(answer)
        else:
            assert answer.verdict in ("fired", "does not match", "matches, and its guard refuses")


@given(term=NATS)
@settings(max_examples=36, deadline=None)
def test_attempts_and_the_search_agree_on_what_matches(term: ng.Op) -> None:
    """With laws, identities and sequences: a part is told if, and only if, nothing matches."""
    found = rewritten(term)
    every = {t for stage in found.table.stages[1:] for t in (*stage.normal.values(), *stage.forward)}
    for rule in RULES:
        for one in every:
            if one.definition is not rule.left.definition or len(one.args) > 4:
                continue
            matching = next(matches(rule.left, one, {}), None) is not None
            assert any(attempt.part is None for attempt in attempts(rule.left, one)) == matching
            if not matching:
                attempt = best_attempt(rule.left, one)
                assert attempt.part is not None and attempt.says


# -- why not ----------------------------------------------------------------------------------------


def test_a_free_operation_that_is_another_one_is_marked() -> None:
    term = OF["pick"](OF["true"](), ZERO, ZERO)
    answer = ng.why_not("explained.no", term, RULES)
    assert answer.verdict == "does not match"
    assert str(answer).startswith(
        f"explained.no @exact  ({line('no')})\ndoes not match on pick(true(), zero(), zero()), a form in the pass "
    )
    assert lines_of("no", term) == [
        "    pick(false(), x, y) => y",
        "         ^^^^^^^",
        f"        expected false, here stands true(), built at {term.args[0].info.place}",
    ]


def test_arguments_that_may_be_exchanged_are_tried_in_both_orders() -> None:
    stuck = OF["least"](OF["empty"]())
    for term in (OF["same"](stuck, number(1)), OF["same"](number(1), stuck)):
        lines = lines_of("same_not", term)
        assert lines[:2] == ["    same(zero(), s(x)) => false()", "         ^^^^^^"]
        assert lines[2].startswith("        expected zero, here stands least(empty())")


def test_a_variable_that_stands_twice_shows_both_operands() -> None:
    text = " ".join(why("twice", numbers(0, 1)).split())
    assert "x is one(zero()) (from " in text and "already, and here stands one(s(zero())) (from " in text


def test_of_many_operands_the_nearest_is_shown() -> None:
    """Of 200 operands one has the attribute, and half of what stands below."""
    others = [OF["tag"](ZERO, letter=f"b{i}") for i in range(200)]
    term = OF["size"](OF["union"](*others[:100], OF["tag"](number(1), letter="a"), *others[100:]))
    lines = lines_of("size_tag", term)
    assert lines[1] == " " * 21 + "^^^^"
    assert lines[2].startswith("        expected s, here stands zero()")


def test_an_identity_stands_for_no_operand() -> None:
    assert "expected at least 1 operand, here are 0: empty()" in why("size_next", OF["size"](OF["empty"]()))
    assert verdict("size_next", OF["size"](numbers(1))) == "fired"  # and one operand alone is a union too


def test_operands_in_order_are_not_exchanged() -> None:
    text = why("sorted", OF["string"](OF["quote"](ZERO), OF["item"](ZERO)))
    assert "expected item, here stands quote(zero())" in text


def test_too_few_operands_are_counted() -> None:
    text = why("least_low", OF["least"](numbers(1)))
    assert "expected at least 2 operands, here are 1: one(s(zero()))" in " ".join(text.split())


def test_a_condition_shows_the_normal_forms_of_both_sides() -> None:
    assert lines_of("sorted", OF["string"](OF["item"](number(0)), OF["item"](number(1)))) == [
        "    string(item(x), item(y)) => string(item(y), item(x))",
        "        x = zero() : Nat",
        "        y = s(zero()) : Nat",
        "     if below(y, x)   does not hold",
        "          below(y, x) = false()",
    ]


def test_conditions_are_asked_in_order_and_a_let_has_its_value() -> None:
    assert lines_of("less", OF["less"](number(1), number(3))) == [
        "    less(x, y) => gap",
        "        x = s(zero()) : Nat",
        "        y = s(s(s(zero()))) : Nat",
        "     let gap = plus(x, s(zero()))   is s(s(zero()))",
        "     if gap == y   does not hold",
        "          gap = s(s(zero()))",
        "          y = s(s(s(zero())))",
    ]
    stuck = OF["string"](OF["item"](number(2)), OF["item"](OF["least"](OF["empty"]())))
    assert "     if below(y, x)   does not hold\n          below(y, x) = below(least(empty()), " in why("sorted", stuck)
    assert lines_of("apart", OF["apart"](number(1), number(1)))[3:] == [
        "     if not below(x, y)   holds",
        "          below(x, y) = false()",
        "    and not same(x, y)   does not hold",
        "          same(x, y) = true()",
    ]


def test_a_condition_that_never_ends_says_so() -> None:
    text = "rule ends: size(one(x)) => s(zero())\n    if loop(x) == x\nrule loop: loop(x) => loop(x)"
    rules = OF.rules("rule first: size(one(x)) => x") + OF.rules(text, name="later", unordered=True)
    answer = ng.why_not("later.ends", OF["size"](numbers(1)), rules)
    assert answer.verdict == "matches, and its guard refuses"
    assert "     if loop(x) == x   cannot be compared\n          loop(x) = fails: rewriting" in str(answer)


def test_a_lazy_argument_that_nobody_asked_for() -> None:
    inner = OF["plus"](ZERO, ZERO)
    term = OF["pick"](OF["true"](), ZERO, inner)
    answer = rewritten(term).why_not("explained.plus_zero", inner)
    assert answer.verdict == "matches what was never tried"
    assert "an argument that is lazy, and nothing asked for it: number 2 of pick" in str(answer)


def test_a_frozen_argument_in_which_nothing_is_rewritten() -> None:
    inner = OF["plus"](ZERO, ZERO)
    term = OF["quote"](OF["s"](inner))
    answer = rewritten(term).why_not("explained.plus_zero", inner)
    assert answer.verdict == "matches what was never tried"
    assert "an argument that is frozen, and nothing is rewritten there: number 0 of quote" in str(answer)


def test_what_stands_in_a_held_argument_is_matched_as_it_is() -> None:
    text = why("literal", OF["head"](OF["quote"](OF["plus"](number(1), ZERO))))
    assert "expected s, here stands plus(s(zero()), zero())" in text


def test_an_earlier_rule_is_named() -> None:
    text = why("same_next", OF["same"](number(1), number(1)))
    assert "but another rule took the term first:" in text
    assert f"innermost: explained.same_is  ({line('same_is')})" in text


def test_a_rule_of_a_condition_is_found_there() -> None:
    """What conditions compare is on the way to a normal form as well."""
    term = OF["least"](numbers(0, 2))
    assert "below(zero(), s(s(zero())))" in why("below_zero", term)
    assert verdict("below_zero", term) == "fired"


def test_a_rule_that_is_off_says_what_it_would_do() -> None:
    term = OF["plus"](ZERO, number(1))
    text = str(ng.why_not("explained.plus_zero", term, RULES, disabled="explained.plus_zero"))
    assert "takes no part: explained.plus_zero is disabled\notherwise:\nmatches on plus(zero()," in text


def test_a_rule_to_which_a_strategy_does_not_come() -> None:
    s, term = ng.strategies, OF["plus"](ZERO, number(1))
    first, second = (RULES.named(f"explained.{name}") for name in ("plus_zero", "same_is"))
    found = ng.rewrite(term, s.choice(s.one_step(first), s.one_step(second)))
    assert found.why_not("explained.same_is", term).verdict == "takes no part"
    with pytest.raises(ng.ArgumentError, match="is no term of the graph that was rewritten"):
        found.why_not("explained.same_is", ZERO if ZERO not in term.args else number(5))


# -- from a shell -----------------------------------------------------------------------------------

SHELL = """
import ngraph_rewrite as ng
nat = ng.signature("explained_shell")
nat.sort("Nat")
zero, s = nat.operation("zero", (), "Nat"), nat.operation("s", ("Nat",), "Nat")
plus = nat.operation("plus", ("Nat", "Nat"), "Nat")
rules = nat.rules('''
rule zero:  plus(zero(), y)  =>  y
rule next:  plus(s(x), y)    =>  s(plus(x, y))
''', name="shell")
terms = [plus(s(zero()), s(zero()))]
"""


@pytest.fixture
def shell(tmp_path: Path) -> str:
    path = tmp_path / "terms.py"
    path.write_text(SHELL, encoding="utf-8")
    return f"{path}:terms[0]"


def test_a_shell_asks_about_a_term_with_the_rules_of_its_file(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", shell]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "    innermost: shell.next  (<shell>:3)"
    assert lines[-2:] == ["    normal form: s(s(zero()))", "2 steps by 2 rules"]
    assert main(["explain", shell, "--why-not", "shell.next"]) == 0
    assert main(["explain", shell, "--why-not", "shell.next", "--disable", "shell.next"]) == 1
    assert capsys.readouterr().out.rstrip().splitlines()[-1] == "shell.next is disabled"


def test_a_term_has_no_plan(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", shell, "--plan"]) == 1
    assert "a term of a signature has no plan" in capsys.readouterr().err


def test_a_shell_may_give_the_rules_in_a_file(shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "own.rules"
    path.write_text("signature explained_shell\n\nrule own: plus(s(x), y) => plus(x, s(y))\n", encoding="utf-8")
    assert main(["explain", shell, "--rules", str(path)]) == 0
    assert "normal form: plus(zero(), s(s(zero())))" in capsys.readouterr().out
    assert main(["explain", shell, "--target", "reference"]) == 1
    assert "has no target: rules come to its normal form\n  at --target reference\n" in capsys.readouterr().err


# -- conditions that match, sorts and several sequences -------------------------------------------------------

SPLITS = """signature explained_splits unordered
sort Small Nat Set Pair
sort Digit < Nat
operation zero : -> Digit
operation s : Nat -> Nat
operation pair : Nat Nat -> Pair
operation empty : -> Set
operation one : Nat -> Set
operation union : Set Set -> Set [associative, commutative, identity empty]
operation halved : Nat -> Pair
operation half tell digit : Nat -> Nat
operation twins parts : Set -> Nat
operation chosen : Set -> Nat

rule halved_zero: halved(zero())    =>  pair(zero(), zero())
rule halved_one:  halved(s(zero())) =>  pair(zero(), s(zero()))
rule halved_two:  halved(s(s(x)))   =>  pair(s(q), r)
    if pair(q, r) := halved(x)
rule half:        half(x)           =>  q
    if pair(q, zero()) := halved(x) and q != zero()
rule tell:        tell(x)           =>  y
    if s(y) := x and zero() := y
rule digit:       digit(Digit(x))   =>  x
rule twins:       twins(union(xs..., xs...))  =>  zero()
rule chosen:      chosen(u)         =>  x
    if union(one(s(x)), rest...) := u and zero() := x
"""


@pytest.fixture(scope="module")
def splits() -> tuple[ng.Signature, ng.RuleSet]:
    rules = checked_text(SPLITS, "splits.rules", "splits")
    return ng.signature("explained_splits"), rules


def told(splits: tuple[ng.Signature, ng.RuleSet], rule: str, term: ng.Op) -> list[str]:
    lines = str(ng.why_not(f"splits.{rule}", term, splits[1])).splitlines()
    return lines[next(i for i, line in enumerate(lines) if " => " in line) :]


def test_a_condition_that_matches_shows_what_it_binds_and_one_that_does_not_the_part(
    splits: tuple[ng.Signature, ng.RuleSet],
) -> None:
    of, _ = splits
    lines = told(splits, "half", of["half"](of["s"](of["zero"]())))
    assert lines[:4] == [
        "    half(x) => q",
        "        x = s(zero()) : Nat",
        "     if pair(q, zero()) := halved(x)   does not match",
        "          halved(x) = pair(zero(), s(zero()))",
    ]
    assert lines[4].startswith("          at zero(): expected zero, here stands s(zero())")
    assert told(splits, "half", of["half"](of["zero"]()))[2:] == [
        "     if pair(q, zero()) := halved(x)   matches",
        "          halved(x) = pair(zero(), zero())",
        "            q = zero() : Digit",
        "    and q != zero()   does not hold",
        "          q = zero()",
    ]


def test_of_the_ways_in_which_a_condition_matches_the_one_that_comes_furthest_is_shown(
    splits: tuple[ng.Signature, ng.RuleSet],
) -> None:
    of, rules = splits
    two = of["s"](of["s"](of["zero"]()))
    lines = told(splits, "chosen", of["chosen"](of["union"](of["one"](two), of["one"](of["zero"]()))))
    assert "     if union(one(s(x)), rest...) := u   matches" in lines
    assert lines[-2:] == ["    and zero() == x   does not hold", "          x = s(zero())"]
    assert ng.why_not("splits.chosen", of["chosen"](of["one"](of["s"](of["zero"]()))), rules).fired


def test_the_steps_of_a_condition_that_matches_are_those_of_the_term(splits: tuple[ng.Signature, ng.RuleSet]) -> None:
    of, rules = splits
    four = of["s"](of["s"](of["s"](of["s"](of["zero"]()))))
    term = of["half"](four)
    found = ng.rewrite(term, ng.strategies.innermost(rules))
    assert str(found.root) == "s(s(zero()))"
    assert found.why_not("splits.halved_zero", term).fired
    assert f"=> {found.root}" in found.explain(term)


def test_a_variable_of_a_lower_sort_says_so(splits: tuple[ng.Signature, ng.RuleSet]) -> None:
    of, _ = splits
    said = " ".join(" ".join(told(splits, "digit", of["digit"](of["s"](of["zero"]())))[2:]).split())
    assert said.startswith("expected Digit, here stands s(zero())") and "of sort Nat" in said


def test_operands_that_cannot_be_shared_out(splits: tuple[ng.Signature, ng.RuleSet]) -> None:
    of, rules = splits
    zero, one = of["one"](of["zero"]()), of["one"](of["s"](of["zero"]()))
    assert ng.why_not("splits.twins", of["twins"](of["union"](zero, one, zero, one)), rules).fired
    said = " ".join(told(splits, "twins", of["twins"](of["union"](zero, one, zero)))[-2:])
    assert "here are left (one(zero()), one(zero()), one(s(zero()))), which cannot be shared out" in said


def test_a_derivation_shows_conditions_and_clauses_below_the_equation() -> None:
    lines = ng.explain(OF["less"](number(1), number(2)), RULES).splitlines()
    assert lines[1:7] == [
        f"    innermost: explained.less  ({line('less')})",
        "        less(x, y) => gap",
        "            let gap = plus(x, s(zero()))",
        "            if gap == y",
        "        less(s(zero()), s(s(zero())))",
        "     => plus(s(zero()), s(zero()))",
    ]


def test_a_derivation_shows_conditions_that_match(splits: tuple[ng.Signature, ng.RuleSet]) -> None:
    of, rules = splits
    text = ng.explain(of["half"](of["s"](of["s"](of["zero"]()))), rules)
    assert "        half(x) => q\n            if pair(q, zero()) := halved(x) and q != zero()\n" in text
