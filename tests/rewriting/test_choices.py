# SPDX-License-Identifier: Apache-2.0
"""Alternatives, optional wrappers, classes of types, guards that decision trees ask: all mean what the rule says."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.errors import RewriteError, RuleFileError
from ngraph_rewrite.lowering.driver import normalise
from ngraph_rewrite.lowering.table import ReplacementTable
from ngraph_rewrite.rewriting.asked_target import Target
from ngraph_rewrite.rewriting.checks import check_rules_static
from ngraph_rewrite.rewriting.conditions import parts
from ngraph_rewrite.rewriting.emit import emit
from ngraph_rewrite.rewriting.instances import instances
from ngraph_rewrite.rewriting.interpret import Application
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.rule import RuleSet
from ngraph_rewrite.rewriting.rulefile import parse_rules
from ngraph_rewrite.rewriting.trial_bank import TrialBank
from ngraph_rewrite.rewriting.typeclasses import CLASSES
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import anonymous
from ngraph_rewrite.types.dtypes import DTYPES, kind_of
from ngraph_rewrite.types.tensor import TensorType


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Cache:
    return Cache(tmp_path_factory.mktemp("choices"))


def rules_of(*equations: str) -> RuleSet:
    text = "\n".join(f"rule r{i} @real: {equation}" for i, equation in enumerate(equations))
    return parse_rules(f"simplify semi\n{text}\n", "my.rules", "my")


def made(bank: TrialBank, name: str, *args: Op, attrs: tuple[object, ...] = ()) -> Op:
    return bank.make(lookup(f"semi.{name}"), args, attrs)


def leaf(bank: TrialBank, name: str = "x", dtype: object = "float32", rank: int = 2) -> Op:
    return bank.leaf(name, TensorType(dtype, anonymous([2, 3, 4, 5][:rank])))


# -- alternatives -----------------------------------------------------------------------------------------


def test_alternatives_are_rules_in_the_order_written() -> None:
    rules = rules_of("exp(either(log(x), maybe(negative(absolute(x))))) => x")
    assert [(r.name, str(r.left)) for r in rules] == [
        ("my.r0.1", "exp(log(x))"),
        ("my.r0.2", "exp(negative(absolute(x)))"),
        ("my.r0.3", "exp(absolute(x))"),
    ]


def test_choices_multiply_and_a_rule_for_several_ops_has_all_of_them() -> None:
    text = "simplify semi\nrule r for f in exp tanh: f(maybe(-x)) + f(either(-y, y)) => x + y\n"
    names = [r.name for r in parse_rules(text, "my.rules", "my")]
    assert names == [f"my.r.{f}.{i}" for f in ("exp", "tanh") for i in (1, 2, 3, 4)]


WRAPPED = "tan(maybe(transpose(atan(x), perm=p), p=identity(x.rank))) => transpose(x, perm=p)"


def test_an_absent_wrapper_gives_the_values_it_would_have_bound(folder: Cache) -> None:
    rules, bank = rules_of(WRAPPED), TrialBank()
    check_rules_static(rules)
    matcher, x = Matcher(rules, folder), leaf(bank)
    inner = made(bank, "atan", x)
    turned = made(bank, "tan", made(bank, "transpose", inner, attrs=((1, 0),)))
    for term, name, perm in ((turned, "my.r0.1", (1, 0)), (made(bank, "tan", inner), "my.r0.2", (0, 1))):
        step = matcher.step(term, bank.make, Target())
        assert step is not None
        assert (step[0].name, step[1]) == (name, made(bank, "transpose", x, attrs=(perm,)))


def test_an_attribute_that_is_bound_elsewhere_too_is_compared_with_the_value(folder: Cache) -> None:
    equation = "transpose(x, perm=p) + exp(maybe(transpose(y, perm=p), p=identity(y.rank))) => transpose(x, perm=p)"
    rules, bank = rules_of(equation), TrialBank()
    matcher, x = Matcher(rules, folder), leaf(bank, rank=1)
    other = leaf(bank, "y", rank=1)
    still = made(bank, "add", made(bank, "transpose", x, attrs=((0,),)), made(bank, "exp", other))
    step = matcher.step(still, bank.make, Target())
    assert step is not None
    assert step[0].name == "my.r0.2"
    square = TensorType("float32", anonymous([2, 2]))
    x, other = bank.leaf("x", square), bank.leaf("y", square)
    moved = made(bank, "add", made(bank, "transpose", x, attrs=((1, 0),)), made(bank, "exp", other))
    assert matcher.step(moved, bank.make, Target()) is None


@pytest.mark.parametrize(
    ("equation", "message"),
    [
        ("exp(either(x)) => x", "two patterns or more"),
        ("exp(maybe(x)) => x", "one op applied to patterns"),
        ("exp(maybe(-x, p=1)) => x", "binds no attribute"),
        ("exp(maybe(transpose(x, perm=p))) => x", "`p` is bound by some alternatives, and not by exp"),
        ("exp(either(-x, y)) => 1", "`x` is bound by some alternatives"),
        ("maybe(-x) => x", "must be an op"),
        (" + ".join(["either(x, -x)"] * 7) + " => x", "more than 64"),
        ("exp(matrix(-x)) => x", "asked of one variable"),
        ("exp(matrix(x...)) => x", "asked of one variable"),
    ],
)
def test_what_means_nothing_is_refused_where_it_stands(equation: str, message: str) -> None:
    with pytest.raises(RuleFileError, match=message):
        rules_of(equation)


def test_alternatives_of_an_adjoint_bind_the_same_variables_in_one_order() -> None:
    with pytest.raises(RuleFileError, match="different orders"):
        parse_rules("derive semi\nrule r: add(either(x - y, y - x), z) => d, d, d\n", "my.rules", "my")


# -- classes of types -------------------------------------------------------------------------------------

KINDS = {"floating": "f", "integer": "iu", "unsigned": "u", "boolean": "b", "number": "iuf"}
RANKS = {"scalar": 0, "vector": 1, "matrix": 2}


@pytest.mark.parametrize("name", CLASSES)
def test_a_restricted_variable_matches_its_class_of_types_alone(name: str, folder: Cache) -> None:
    rules, bank = rules_of(f"equal({name}(x), y) => equal(y, x)"), TrialBank()
    matcher = Matcher(rules, folder)
    for dtype in DTYPES:
        for rank in range(4):
            in_class = kind_of(dtype) in KINDS[name] if name in KINDS else RANKS.get(name, str(dtype)) in (rank, name)
            x = leaf(bank, "x", dtype, rank)
            fires = matcher.step(made(bank, "equal", x, x), bank.make, Target()) is not None
            assert fires is in_class, (dtype, rank)
    found = list(instances(rules.rules[0], 3))
    assert found
    assert all(matcher.step(term, bank.make, Target()) for term in found)


def test_classes_join_with_each_other_and_with_the_guard() -> None:
    (rule,) = rules_of("floating(scalar(x)) + y => x\n    if y.rank == 0 or y.rank == 1")
    assert str(rule.guard) == "x.rank == 0 and is_float(x.dtype) and (y.rank == 0 or y.rank == 1)"


# -- guards in decision trees -------------------------------------------------------------------------------

EQUATIONS = ("-x => x", "transpose(x, perm=p) => x", "-transpose(x, perm=p) => x", "x + y => x", "x + -y => x")
OF_RANK = ("x.rank == 2", "x.rank == 2 and x.shape[1] == 3")
OF_X = (*OF_RANK, "not is_float(x.dtype)", "is_float(x.dtype)", "x.dtype != 'bool'")
OF_P = ("rank(p) == 2", "rank(p) == 2 and p[0] == 1", "rank(p) != 2", "rank(p) > 0 and p[0] == 0", "not is_identity(p)")
OF_TARGET = ("target.name == 'cpu'", "target.name == 'cpu' and x.dtype == 'float32'", "target.name == 'no'")


def drawn_rules(random: Random) -> RuleSet:
    equations = []
    for _ in range(random.randint(2, 8)):
        equation = random.choice(EQUATIONS)
        options = (*OF_X, *OF_TARGET, *(OF_P * 2 if "perm" in equation else ()))
        guard = " and ".join(random.sample(options, random.randint(0, 3)))
        equations.append(f"{equation}\n    if {guard}" if guard else equation)
    return rules_of(*equations)


def drawn_term(random: Random, bank: TrialBank) -> Op:
    rank, dtype = random.randrange(4), random.choice(("float32", "int32", "bool", "float64"))
    x = leaf(bank, "x", dtype, rank)
    turned = made(bank, "transpose", x, attrs=(tuple(random.sample(range(rank), rank)),))
    same = bank.leaf("z", turned.type)
    plain = [turned, made(bank, "add", turned, same), made(bank, "add", turned, turned)]
    if dtype == "bool":
        return random.choice(plain)
    negated = made(bank, "negative", random.choice((x, turned)))
    return random.choice([*plain, negated, negated, made(bank, "add", negated, negated)])


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1))
def test_the_first_rule_whose_guard_holds_fires_wherever_the_guard_is_asked(folder: Cache, seed: int) -> None:
    """Interpretation asks whole guards, rule by rule and match by match; trees share parts of them."""
    random, bank = Random(seed), TrialBank()
    rules = drawn_rules(random)
    matcher = Matcher(rules, folder)
    for _ in range(4):
        term = drawn_term(random, bank)
        expected = None
        for rule, bindings in matcher.matches(term):
            if expected is None and Application(rule, term, bindings, bank.make, Target()).guard_holds():
                expected = rule
        step = matcher.step(term, bank.make, Target())
        assert (step and step[0]) is expected


def test_rows_that_ask_the_same_of_the_same_place_share_the_question() -> None:
    shared = [f"-transpose(x, perm=p) - y => x\n    if is_identity(p) and x.rank == {n}" for n in (1, 2, 3)]
    floats = ("-x - y => x\n    if not is_float(x.dtype)", "-x - y => y\n    if is_float(x.dtype)")
    source = emit(rules_of(*shared, *floats))
    rules, _, steps = source.partition("def apply_0")[2].partition("def step_semi_subtract")
    assert "is_identity" not in rules
    assert "is_float" not in rules
    assert steps.count("fn_is_identity(arg_0.args[0].attrs[0])") == 1
    assert ("if fn_is_float(" in steps) is not ("not (fn_is_float(" in steps)


def test_what_reads_a_clause_or_the_target_is_left_to_the_rule() -> None:
    guard = "x.rank == 1 and n == 2 and target.name == 'cpu' and p[0] == 1 and x.dtype == 'bool'"
    (rule,) = rules_of(f"-transpose(x, perm=p) => x\n    where n = rank(p)\n    if {guard}")
    found, rest = parts(rule)
    assert [str(part.expression) for part in found] == ["x.rank == 1", "x.dtype == 'bool'"]
    assert rest is not None
    assert rest.names == ("n", "target", "p")


@pytest.mark.parametrize("others", [(), ("-x => x\n    if x.shape[1] == 0 and x.rank == 7",)])
def test_a_part_of_a_guard_that_fails_names_the_rule(others: tuple[str, ...], folder: Cache) -> None:
    bank, table = TrialBank(), ReplacementTable()
    matcher = Matcher(rules_of("-x => x\n    if x.shape[1] == 0", *others), folder)
    with pytest.raises(RewriteError, match=r"rule my\.r0 fails on .*index out of range"):
        normalise([made(bank, "negative", leaf(bank, rank=1))], matcher, table, bank, Target(), "test")
