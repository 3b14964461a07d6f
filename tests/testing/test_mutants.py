# SPDX-License-Identifier: Apache-2.0
"""Rules are broken in one place each, in the language of rule files; the checks refuse what is made, or it is right."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.lowering.passes import library
from ngraph_rewrite.rewriting.rule import Rule, RuleSet
from ngraph_rewrite.rewriting.rulefile import parse_rules
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.testing import term
from ngraph_rewrite.testing.draws import other_draw
from ngraph_rewrite.testing.findings import Context, Effort
from ngraph_rewrite.testing.mutation import Mutant, MutantVerdict, Report, mutants, mutation_findings, score, spread
from ngraph_rewrite.testing.mutation.equivalence import Instances, right_at_every_half
from ngraph_rewrite.testing.mutation.expressions import broken, read, weakened
from ngraph_rewrite.testing.mutation.judge import Judge
from ngraph_rewrite.testing.mutation.verdicts import share
from ngraph_rewrite.testing.notation import header, written
from ngraph_rewrite.testing.suite import Subject


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Cache:
    return Cache(tmp_path_factory.mktemp("rules"))


def rule_of(text: str, head: str = "simplify semi") -> Rule:
    (rule,) = parse_rules(f"{head}\n\nrule r:\n    {text}\n", "my.rules", "my")
    return rule


def context_of(rule: Rule, cache: Cache) -> Context:
    return Context(RuleSet([rule]), Effort(30, 1.0), cache)


def made(rule: Rule, what: str) -> Mutant:
    return next(m for m in mutants(rule) if m.what == what)


def parts(rule: Rule) -> tuple[object, ...]:
    return rule.kind, rule.left, rule.right, rule.clauses, rule.guard, rule.grade


# -- notation -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", range(2))
def test_what_is_written_reads_back_as_the_same_rule(start: int) -> None:
    """Of every seventy-second shipped rule, and of all that is made of it: no mutant says what no file could say."""
    for rule in library().rules[start * 72 :: 144]:
        for one in (rule, *(m.rule for m in mutants(rule))):
            (back,) = parse_rules(f"{header(one)}\n{written(one)}\n", "my.rules", "my")
            assert parts(back) == parts(one)


# -- what mutants there are -----------------------------------------------------------------------------


def test_mutants_are_all_different_and_the_same_every_time() -> None:
    for rule in library().rules[::16]:
        found = [m.rule for m in mutants(rule)]
        assert len({parts(m) for m in [rule, *found]}) == len(found) + 1
        assert [m.text for m in found] == [m.rule.text for m in mutants(rule)]


def test_every_shipped_rule_has_mutants_but_those_that_call_a_function_of_terms() -> None:
    without = [rule.name for rule in library() if next(mutants(rule), None) is None]
    assert without == ["functions.call", "inlining.call"]


@pytest.mark.parametrize(
    ("head", "text", "what", "becomes"),
    [
        ("simplify semi", "x - 0 => x", "any term for 0", "subtract(x, other) => x"),
        ("simplify semi", "x - x => 0", "x need not be the same again", "subtract(x, other) => 0"),
        ("simplify semi", "x * 1 => x", "2 for 1 on the left", "multiply(x, 2) => x"),
        ("simplify semi", "concat(concat(x..., axis=k), axis=k) => concat(x..., axis=k)",
         "axis of concat need not be k", "concat(concat(x..., axis=k), axis=other) => concat(x..., axis=k)"),
        ("simplify semi", "sum(x, axes=(0,)) => sum(x, axes=(0,))", "axes of sum need not be (0,)",
         "sum(x) => sum(x, axes=(0,))"),
        ("simplify semi", "-(x - y) => y - x", "arguments of subtract exchanged",
         "negative(subtract(x, y)) => subtract(x, y)"),
        ("simplify semi", "-(x - y) => y - x", "add for subtract", "negative(subtract(x, y)) => add(y, x)"),
        ("simplify semi", "x * 2 => x + x", "argument 1 of add for all of it", "multiply(x, 2) => x"),
        ("simplify semi", "square(x) => x * x * 0.5", "0.5005 for 0.5",
         "square(x) => multiply(multiply(x, x), 0.5005)"),
        ("simplify semi", "transpose(x, perm=p) => transpose(x, perm=p)", "inverse in perm of transpose",
         "transpose(x, perm=p) => transpose(x, perm=inverse(p))"),
        ("simplify semi",
         "pad(x, before=b, after=a, interior=i, value=v) => pad(x, before=b, after=a, interior=i, value=v)",
         "before and after of pad exchanged",
         "pad(x, before=b, after=a, interior=i, value=v) => pad(x, before=a, after=b, interior=i, value=v)"),
        ("simplify semi", "cast(x, dtype=t) => cast(x, dtype=t)", "float16 in dtype of cast",
         "cast(x, dtype=t) => cast(x, dtype='float16')"),
        ("lower numpy", "max(x, axis=k, keepdims=d) => max(x, axis=k, keepdims=True)",
         "False for True in keepdims of max",
         "max(x, axis=k, keepdims=d) => max(x, axis=k, keepdims=False)"),
        ("derive semi", "x * y => d * y, d * x", "adjoints 1 and 2 exchanged",
         "multiply(x, y) => multiply(d, x), multiply(d, y)"),
        ("derive semi", "x * y => d * y, d * x", "argument 2 of multiply for all of it",
         "multiply(x, y) => y, multiply(d, x)"),
        ("derive semi", "x * y => d * y, d * x", "adjoint 1 forgotten", "multiply(x, y) => none, multiply(d, x)"),
        ("derive semi", "exp(x) => d * self", "negated", "exp(x) => negative(multiply(d, self))"),
        ("derive semi", "floor(x) => none", "d for no adjoint 1", "floor(x) => d"),
    ],
)  # fmt: skip
def test_a_mistake_is_made_in_one_place(head: str, text: str, what: str, becomes: str) -> None:
    _, _, equation = written(made(rule_of(text, head), what).rule).partition("\n")
    assert " ".join(equation.split()) == becomes


def test_conditions_are_dropped_one_by_one_and_those_about_the_target_stay() -> None:
    guard = read("x.rank == 2 and p < q and target.sample == 'last'")
    found = {what: None if e is None else str(e) for what, e in weakened(guard, [])}
    assert found["condition 1 dropped"] == "p < q and target.sample == 'last'"
    assert found["condition 2 dropped"] == "x.rank == 2 and target.sample == 'last'"
    assert found["<= for <"] == "x.rank == 2 and p <= q and (target.sample == 'last')"
    assert "condition 3 dropped" not in found and "guard dropped" not in found


def test_no_guard_is_made_that_only_lets_fewer_terms_pass() -> None:
    assert not [what for what, _ in weakened(read("not p < q"), []) if what == "<= for <"]
    assert not [what for what, _ in weakened(read("p <= q"), []) if what == "< for <="]


@pytest.mark.parametrize(
    ("text", "variants"),
    [
        ("a + 1", {"a + 2", "a + 0", "a - 1", "a", "b + 1"}),
        ("compose(a, b)", {"compose(b, b)", "compose(a, a)", "compose(b, a)", "a"}),
        ("(a, b)", {"(b, b)", "(a, a)", "(b, a)"}),
        ("-a", {"a", "-b"}),
        ("a if x else b", {"b if x else b", "a if x else a", "b if x else a"}),
        ("a[1:]", {"a[2:]", "a[0:]", "a", "b[1:]"}),
        ("x.dtype == 'float32'", {"x.dtype == 'float64'"}),
    ],
)
def test_an_expression_is_broken_in_every_place(text: str, variants: set[str]) -> None:
    assert {str(e) for _, e in broken(read(text), [["a", "b"]])} == variants


# -- judgement ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("head", "text"),
    [
        ("simplify semi", "-(-x)  =>  x"),
        ("simplify semi", "x - 0  =>  x"),
        ("simplify semi", "transpose(transpose(x, perm=p), perm=q)  =>  transpose(x, perm=compose(p, q))"),
        ("simplify semi", "transpose(x, perm=p)  =>  x\n    if is_identity(p)"),
        ("derive semi", "x * y  =>  d * y,  d * x"),
    ],
)
def test_every_mistake_in_a_right_rule_is_refused_or_is_none(head: str, text: str, cache: Cache) -> None:
    rule = rule_of(text, head)
    report = score([rule], context_of(rule, cache))
    assert report.refused.total() >= 2
    assert [f"{v.what}: {v.text}" for v in report.survivors] == []


def test_of_nothing_all_is_refused() -> None:
    assert Report([]).score == 1.0


def test_alternatives_of_one_equation_share_its_mutants_out() -> None:
    rules = parse_rules("simplify semi\nrule r for f in sin tanh expm1: f(-x) => -f(x)", "my.rules", "my")
    shares = [[m.what for m in share(rule, rules)] for rule in rules]
    assert sum(map(len, shares)) == len(list(mutants(rules.rules[0])))
    assert all(shares)


def test_a_mutant_that_makes_the_same_terms_is_as_right(cache: Cache) -> None:
    rule = rule_of("-(-x)  =>  x\n    if x.rank == 2 and x.shape == self.shape")
    (verdict,) = mutation_findings(rule, context_of(rule, cache), [made(rule, "condition 2 dropped in the guard")])
    assert verdict.equivalent


@pytest.mark.parametrize(
    ("text", "right"),
    [("cos(-x)  =>  cos(x)", True), ("x - 0  =>  x", True), ("-(0 - x)  =>  x", False), ("x + 0  =>  x", False)],
)
def test_a_function_is_tried_at_every_number_of_float16(text: str, right: bool, cache: Cache) -> None:
    rule = rule_of(text)
    assert right_at_every_half(rule, context_of(rule, cache)) is right


@pytest.mark.parametrize(
    ("head", "text", "mistake"),
    [
        ("derive semi", "maximum(x, y)  =>  select(x > y, d, select(x == y, d * 0.5, 0)), "
         "select(y > x, d, select(x == y, d * 0.5, 0))", "0.5005 for 0.5"),
        ("derive axes", "relu(x)  =>  select(x > 0, d, select(x == 0, d * 0.5, 0))", "greater_equal for greater"),
        ("derive axes", "relu(x)  =>  select(x > 0, d, select(x == 0, d * 0.5, 0))",
         "argument 1 of multiply for all of it"),
    ],
)  # fmt: skip
def test_where_slopes_are_a_convention_another_one_is_refused(head: str, text: str, mistake: str, cache: Cache) -> None:
    rule = rule_of(text, head)
    mistakes = [m for m in mutants(rule) if m.what == mistake]
    verdicts = mutation_findings(rule, context_of(rule, cache), mistakes)
    assert verdicts and {v.refused for v in verdicts} == {"adjoint"}


def test_what_is_about_to_be_called_right_is_tried_at_length(cache: Cache) -> None:
    """Floats added up in another order differ in few of their values: fifty examples may have none of them."""
    prod = library().find("semi.add_up_transposed.prod")
    judge = Judge(prod, context_of(prod, cache))
    wrong = judge.at_length(replace(prod, grade="exact"))
    assert wrong is not None and wrong.check == "values"
    assert judge.at_length(prod) is None


def test_positions_beyond_narrow_integers_are_tried(cache: Cache) -> None:
    """Positions as int8 are right up to an axis of 128."""
    rule = library().find("semi.gather_all")
    mutant = made(rule, "condition 2 dropped in the guard").rule
    wrong = Judge(rule, context_of(rule, cache)).at_length(mutant)
    assert wrong is not None and wrong.check == "values"


def test_where_there_is_no_element_nothing_can_be_wrong(cache: Cache) -> None:
    rule = rule_of("x - 0  =>  x\n    if 0 in x.shape")
    instances = Instances(rule, context_of(rule, cache))
    assert instances.empty(rule_of("x - 0  =>  x\n    if 0 in x.shape and x.rank == 2")) is not None
    assert instances.empty(rule_of("x - 0  =>  x\n    if x.rank == 2")) is None


@pytest.mark.parametrize(
    ("name", "mistake"),
    [
        ("normalisation.standardize", "mean for variance"),
        ("normalisation.standardize", "subtract for add"),
        ("simple_composite.cross_entropy_softmax", "expm1 for exp"),
    ],
)
def test_what_only_a_condition_asks_for_is_seen_where_numbers_are_few(name: str, mistake: str, cache: Cache) -> None:
    """A row of variance 1 and an eps of 1, a constant row and an eps of 0; a weight of 0 where there is an infinity."""
    rule = library().find(name)
    mistakes = [m for m in mutants(rule) if m.what == mistake]
    verdicts = mutation_findings(rule, context_of(rule, cache), mistakes)
    assert verdicts and all(v.refused is not None for v in verdicts)


class Dawdling(spread.Mutation):
    """Judges mutants one at a time; of several it finds no end."""

    def __call__(self, question: spread.Some) -> list[MutantVerdict]:
        index, first, last = question
        if last - first > 1:
            time.sleep(60)
        rule = self.subject.rules.rules[index]
        return [MutantVerdict(rule.name, rule.place, m.what, "", "values") for m in [*mutants(rule)][first:last]]


def test_mutants_that_take_too_long_together_are_judged_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spread, "Mutation", Dawdling)
    monkeypatch.setattr(spread, "PATIENCE", 1.0)
    rules = parse_rules("simplify semi\nrule a: -(-x) => x\n", "my.rules", "my")
    told: list[tuple[int, int]] = []
    report = spread.mutation_score(Subject((), None, Effort(), (), rules), 1, lambda *n: told.append(n))
    count = len(list(mutants(rules.rules[0])))
    assert [v.refused for v in report.verdicts] == ["values"] * count
    assert told == [(k, count) for k in range(1, count + 1)]


def test_a_table_is_updated_by_what_has_three_axes_in_a_cycle(cache: Cache) -> None:
    """Permutations of two axes are their own inverses."""
    rule = library().find("axes_windows.lookuptable_update")
    mutant = made(rule, "inverse in perm of transpose in rows").rule
    assert Judge(rule, context_of(rule, cache)).thorough(mutant) is not None


def test_a_guard_that_lets_fewer_terms_pass_is_no_mistake(cache: Cache) -> None:
    rule = rule_of("transpose(x, perm=p)  =>  x\n    if is_identity(p)")
    narrower = rule_of("transpose(x, perm=p)  =>  x\n    if is_identity(p) and x.rank == 2")
    wider = rule_of("transpose(x, perm=p)  =>  x\n    if is_identity(p) or x.rank == 2")
    instances = Instances(rule, context_of(rule, cache))
    assert instances.same(narrower) is not None
    assert instances.same(wider) is None


def test_a_file_may_say_why_mistakes_in_a_rule_need_not_be_found() -> None:
    text = """simplify semi

rule r: -(-x)  =>  x

waive mutation of r: nobody makes any here
"""
    (rule,) = parse_rules(text, "my.rules", "my")
    (waiver,) = rule.waivers
    survivor = MutantVerdict("my.r", "my.rules:3", "w", "t", waived=waiver.reason)
    report = Report([survivor, MutantVerdict("my.r", "my.rules:3", "w", "t", refused="values")])
    assert not report.survivors and report.score == 1.0
    assert "waived in its file: nobody makes any here" in str(report)
    assert "1 waived in their files, 0 left" in str(report)


def test_a_guard_that_is_not_needed_is_said_to_be_none(cache: Cache) -> None:
    """No check can refuse what is right, and no proof shows that it is."""
    rule = rule_of("maximum(tanh(x), tanh(y))  =>  tanh(maximum(x, y))\n    if x.rank >= 1")
    report = Report(mutation_findings(rule, context_of(rule, cache), [made(rule, "guard dropped")]))
    assert not report.survivors and report.score == 1.0
    assert "guard dropped: right on " in str(report) and " terms that the guard keeps out: is it needed?" in str(report)
    assert "1 right without a guard that may not be needed" in str(report)


def test_a_guard_that_is_needed_is_found_to_be(cache: Cache) -> None:
    rule = rule_of("maximum(tanh(x), tanh(y))  =>  tanh(minimum(x, y))\n    if x is y")
    assert Judge(rule, context_of(rule, cache)).right_beyond(made(rule, "guard dropped").rule) == 0


def test_a_waiver_hides_nothing_that_is_refused_or_right() -> None:
    refused = MutantVerdict("my.r", "my.rules:3", "w", "t", refused="values", waived="because")
    right = MutantVerdict("my.r", "my.rules:3", "w", "t", says="proved: x", equivalent=True, waived="because")
    assert Report([refused, right]).waived == []


def test_the_report_says_how_rules_were_shown_to_be_right() -> None:
    said = ("proved: element by element: 3 instances", "proved: over the reals, by normal form: 2 instances",
            "makes the same terms as the rule of 7 instances")  # fmt: skip
    report = Report([MutantVerdict("my.r", "my.rules:3", "w", "t", says=s, equivalent=True) for s in said])
    assert "3 as right as the rule (makes the same terms as the rule 1, proved bit by bit 1" in str(report)
    assert "proved over the reals, and by values 1)" in str(report)


def test_instances_tell_permutations_from_their_inverses(cache: Cache) -> None:
    """Three axes are needed: two permutations of two axes are their own inverses."""
    rule = rule_of("transpose(transpose(x, perm=p), perm=q)  =>  transpose(x, perm=compose(p, q))")
    other = rule_of("transpose(transpose(x, perm=p), perm=q)  =>  transpose(x, perm=compose(q, p))")
    instances = Instances(rule, context_of(rule, cache))
    assert instances.same(rule) is not None
    assert instances.same(other) is None


def test_the_score_is_never_rounded_up_to_a_hundred() -> None:
    refused = MutantVerdict("my.r", "my.rules:3", "w", "t", refused="values")
    survivor = MutantVerdict("my.r", "my.rules:3", "w", "t")
    assert str(Report([refused] * 9999 + [survivor])).endswith("mutation score 99.9 %")
    assert str(Report([refused] * 9999)).endswith("mutation score 100 %")


# -- draws ----------------------------------------------------------------------------------------------


def test_a_draw_keeps_its_distribution_but_not_its_shape() -> None:
    one = term("semi.uniform", shape=(2,), dtype="float32", low=0, high=1)
    bank = TermBank()
    same = bank.make(one.definition, (), ((3,), *one.attrs[1:]))
    other = bank.make(one.definition, (), (*one.attrs[:3], one.attrs[2], one.attrs[4]))
    assert other_draw(one, same) is None
    assert other_draw(one, other) == "semi.uniform draws from another distribution"
    assert np.shape(one.shape) == (1,)
