# SPDX-License-Identifier: Apache-2.0
"""Rules are proved on symbols: a right one for all its small instances, a wrong one never."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from processes import printed_in_any

from ngraph_rewrite.lowering.passes import library
from ngraph_rewrite.ops.checks import tensor
from ngraph_rewrite.rewriting.rule import EXACT, REAL, Rule, RuleSet
from ngraph_rewrite.rewriting.rulefile import parse_rules
from ngraph_rewrite.rewriting.trial_bank import TrialBank
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.testing.findings import FAILED, OPEN, PASSED, Context, Effort, Finding
from ngraph_rewrite.testing.proof.comparing import leaf_values
from ngraph_rewrite.testing.proof.elementary import Undecided
from ngraph_rewrite.testing.proof.exhaustive import LENGTHS, PatientBank, Tired, every_dtype, instances, levels, small
from ngraph_rewrite.testing.proof.meanings import evaluate
from ngraph_rewrite.testing.proof.normal import Normal
from ngraph_rewrite.testing.proof.numeric import every
from ngraph_rewrite.testing.proof.pairs import SAME, Prover
from ngraph_rewrite.testing.proof.prove import check_proof
from ngraph_rewrite.testing.proof.rebinding import Rebinding
from ngraph_rewrite.testing.proof.symbols import Scalar, apply, number, symbol
from ngraph_rewrite.types.dtypes import DTYPES, FLOAT32


def rule_of(equation: str, header: str = "simplify semi", grade: str = "") -> Rule:
    (rule,) = parse_rules(f"{header}\nrule r{grade and ' @'}{grade}: {equation}\n", "my.rules", "my")
    return rule


def proved(rule: Rule, seconds: float = 0.5) -> Finding:
    return check_proof(rule, Context(RuleSet([rule]), Effort(seconds=seconds)))


# -- right rules ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "grade", "equation"),
    [
        ("simplify semi", "exact", "transpose(transpose(x, perm=p), perm=q) => transpose(x, perm=compose(p, q))"),
        ("simplify semi", "exact", "reshape(reshape(x, shape=r), shape=s) => reshape(x, shape=s)"),
        ("simplify semi", "exact", "concat(concat(x..., axis=k), y..., axis=k) => concat(x..., y..., axis=k)"),
        ("simplify semi", "exact", "maximum(x, y) => maximum(y, x)"),
        ("simplify semi", "exact", "max(max(x, axes=i), axes=k) => max(x, axes=nested(i, k, x.rank))"),
        ("simplify semi", "exact", "-(-x) => x"),
        ("simplify semi", "exact", "select(logical_not(c), x, y) => select(c, y, x)"),
        ("simplify semi", "real", "sum(sum(x, axes=i), axes=k) => sum(x, axes=nested(i, k, x.rank))"),
        ("simplify semi", "real", "(x + y) * (x - y) => x * x - y * y"),
        ("simplify semi", "real", "dot(negative(x), y) => negative(dot(x, y))"),
        ("simplify semi", "refines", "log(exp(x)) => x"),
        ("recognize axes", "real", "exp(x) / sum(exp(x), axes=k) => softmax(x, axes=k)\n    if is_float(x.dtype)"),
    ],
)
def test_a_right_rule_is_proved(header: str, grade: str, equation: str) -> None:
    found = proved(rule_of(equation, header, grade))
    assert (found.check, found.status) == ("proof", PASSED), str(found)
    assert "instances" in found.says


def test_the_bound_of_a_proof_is_told() -> None:
    found = proved(rule_of("transpose(x, perm=p) => x\n    if is_identity(p)"), 2.0)
    assert found.status == PASSED
    assert found.says.startswith("element by element: ") and "of lengths 0-3, all up to rank" in found.says


def test_dtypes_are_tried_here_and_there_where_there_is_no_time_for_all() -> None:
    """The rule is wrong for uint64 alone, which comes late."""
    equation = "cast(cast(x, dtype=t), dtype=u) => cast(x, dtype=u)\n    if t == 'int64' and not is_float(x.dtype)"
    assert proved(rule_of(equation), 0.15).status == FAILED
    right = "cast(cast(x, dtype=t), dtype=u) => cast(x, dtype=u)\n    if t == x.dtype"
    assert proved(rule_of(right), 0.15).says.endswith(", of some dtypes")
    assert "dtypes" not in proved(rule_of("-(-x) => x"), 0.15).says


def test_the_values_of_many_symbols_are_too_many() -> None:
    assert every([symbol(f"x{i}", np.dtype("int8")) for i in range(200)], 100) is None


def test_more_effort_covers_more() -> None:
    rule = rule_of("transpose(transpose(x, perm=p), perm=q) => transpose(x, perm=compose(p, q))")
    few, many = proved(rule, 0.05).says, proved(rule, 2.0).says
    assert few != many and "up to rank" in many


def test_indices_that_must_be_known_are_tried() -> None:
    rule = next(r for r in library() if r.name == "axes_windows.lookuptable_update")
    found = check_proof(rule, Context(library(), Effort(seconds=0.3)))
    assert found.status == PASSED and "index" in found.says


# -- wrong rules ----------------------------------------------------------------------------------------

# Each is wrong only where the comment says.
WRONG = [
    ("simplify semi", "exact", "transpose(transpose(x, perm=p), perm=q) => transpose(x, perm=compose(q, p))"),  # order
    ("simplify semi", "exact", "transpose(transpose(x, perm=p), perm=q) => x\n    if p == q"),  # a cycle of three
    ("simplify semi", "exact", "reshape(transpose(x, perm=p), shape=s) => reshape(x, shape=s)"),  # order
    ("simplify semi", "exact", "argmax(negative(x), axes=k) => argmin(x, axes=k)"),  # the least integer
    ("simplify semi", "exact", "x + 0 => x"),  # at -0.0
    ("simplify semi", "exact", "x * 0 => 0"),  # at infinities, NaN and negative numbers
    ("simplify semi", "exact", "(x + y) + z => x + (y + z)"),  # rounding
    ("simplify semi", "exact", "x < y => logical_not(x >= y)"),  # NaN
    ("simplify semi", "exact", "maximum(x, minimum(x, y)) => x"),  # NaN in y
    ("simplify semi", "exact", "cast(cast(x, dtype=t), dtype=u) => cast(x, dtype=u)"),  # a narrow type between
    ("simplify semi", "real", "x - y => y - x"),
    ("simplify semi", "real", "sum(x * y, axes=k) => sum(y, axes=k)"),
    ("simplify semi", "real", "sum(broadcast(x, shape=s, dims=d), axes=k) => x\n    if self.shape == x.shape"),  # count
    ("simplify semi", "real", "dot(x, y) => dot(y, x)\n    if x.shape == y.shape"),
    ("simplify semi", "refines", "log(exp(x)) => absolute(x)"),
    ("simplify semi", "exact", "x // y * y => x\n    if not is_float(x.dtype)"),
]  # fmt: skip


@pytest.mark.parametrize(("header", "grade", "equation"), WRONG)
def test_a_wrong_rule_is_not_proved(header: str, grade: str, equation: str) -> None:
    assert proved(rule_of(equation, header, grade)).status in (FAILED, OPEN)


@pytest.mark.parametrize(
    ("grade", "equation"),
    [
        ("exact", "transpose(transpose(x, perm=p), perm=q) => transpose(x, perm=compose(q, p))"),
        ("exact", "x + 0 => x"),
        ("real", "x - y => y - x"),
    ],
)
def test_a_counterexample_of_a_proof_can_be_run(grade: str, equation: str) -> None:
    found = proved(rule_of(equation, grade=grade))
    assert found.status == FAILED and found.says == f"is not @{grade}"
    with pytest.raises(AssertionError, match=f"not @{grade}"):
        exec(compile(found.shown, "shown", "exec"), {})  # noqa: S102  (that it runs is the claim)


def test_a_rule_without_instances_is_open() -> None:
    found = proved(rule_of("-(-x) => x\n    if x.rank == 9"))
    assert (found.status, found.says) == (OPEN, "no instance was found")


def test_a_rule_that_cannot_be_applied_is_no_crash() -> None:
    assert proved(rule_of("transpose(x, perm=p) => x\n    if p[7] == 0")).status == OPEN


def test_a_meaning_that_symbols_cannot_run_through_is_no_crash() -> None:
    definition = replace(lookup("semi.tanh"), meaning=lambda term, x: np.fft.fft(x))
    (x,) = [TrialBank().leaf("x", tensor("float32", (2,)))]
    with pytest.raises(Undecided, match="^semi.tanh cannot be run on symbols: NumPy.s fft is not known"):
        evaluate(Op(definition, (x,), (), x.type), leaf_values(x))


# -- the same every time ---------------------------------------------------------------------------------

_PROGRAM = """
from ngraph_rewrite.lowering.passes import library
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.testing.findings import Context, Effort
from ngraph_rewrite.testing.proof.prove import check_proof
for rule in [r for r in library() if r.kind != 'derive'][::120]:
    print(check_proof(rule, Context(library(), Effort(seconds=0.05))))
"""


def test_findings_do_not_depend_on_the_process() -> None:
    assert printed_in_any(_PROGRAM).count("\n") >= 5


# -- instances -------------------------------------------------------------------------------------------


def test_all_shapes_of_a_rank_are_tried() -> None:
    rule = rule_of("-(-x) => x")
    level = next(lv for lv in levels("semi", (FLOAT32,)) if lv.rank == 2)
    found = {i.term.shape for d in level.domains for i in instances(rule, d, PatientBank(10**5))}
    assert found == {(), *((n,) for n in LENGTHS), *((n, m) for n in LENGTHS for m in LENGTHS)}


def test_all_orders_of_named_axes_are_tried() -> None:
    rule = rule_of("tanh(x) => tanh(x) * 1", "recognize axes")
    found = {i.term.axes.names for i in instances(rule, small((2, 3, 1, 2), (FLOAT32,), 3), PatientBank(10**5))}
    assert {n for n in found if set(n) == {"H", "W", "N"}} >= {("H", "W", "N"), ("N", "W", "H"), ("W", "N", "H")}


def test_all_operands_that_broadcast_are_tried() -> None:
    rule = rule_of("x + y => y + x", "recognize numpy")
    found = {
        tuple(a.shape for a in i.term.args)
        for i in instances(rule, small((2, 3, 1, 2), (FLOAT32,), 1), PatientBank(10**5))
    }
    fit = {((n,), (m,)) for n in LENGTHS for m in LENGTHS if n == m or 1 in (n, m)}
    assert found == fit | {((n,), ()) for n in LENGTHS} | {((), (n,)) for n in LENGTHS} | {((), ())}


def test_every_dtype_is_tried() -> None:
    found = {i.term.dtype for i in instances(rule_of("absolute(x) => x"), every_dtype(), PatientBank(10**5))}
    assert found == set(DTYPES)


def test_patience_ends() -> None:
    with pytest.raises(Tired):
        list(instances(rule_of("-(-x) => x"), every_dtype(), PatientBank(5)))


# -- pairs of expressions ----------------------------------------------------------------------------------

X, Y = symbol("x", FLOAT32), symbol("y", FLOAT32)


def f(op: str, *args: Scalar) -> Scalar:
    return apply(op, args[0].dtype, *args)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.permutations([X, Y, f("exp", X), number(2, FLOAT32)]), st.sampled_from([EXACT, REAL]))
def test_sets_have_no_order_in_any_class_and_sums_have_none_over_the_reals(items: list[Scalar], grade: str) -> None:
    normal = Normal(grade)
    plain = [X, Y, f("exp", X), number(2, FLOAT32)]
    assert normal(f("max", *items)) is normal(f("maximum", f("max", *plain[:3]), plain[3]))
    same = normal(f("sum", *items)) is normal(f("add", f("sum", *plain[:2]), f("add", *plain[2:])))
    assert same == (grade == REAL)


def test_sums_of_integers_have_no_order_in_any_class() -> None:
    a, b = symbol("a", "int8"), symbol("b", "int8")
    assert Normal(EXACT)(f("sum", a, b)) is Normal(EXACT)(f("add", b, a))


@pytest.mark.parametrize(
    ("first", "middle", "last", "same"),
    [
        ("float16", "float32", "float64", True),
        ("float32", "float16", "float64", False),  # rounds
        ("int8", "int64", "uint8", True),
        ("int8", "float32", "uint8", False),  # a negative number wraps, and does not fit as a float
        ("int8", "float32", "float64", True),
        ("int32", "float32", "float64", False),  # 2 ** 24 + 1
        ("float32", "float64", "float32", True),
    ],
)
def test_casts_go_through_what_holds_every_value(first: str, middle: str, last: str, same: bool) -> None:
    x = symbol("x", first)
    direct = x if first == last else apply("cast", last, x)
    assert (Normal(EXACT)(apply("cast", last, apply("cast", middle, x))) is direct) is same


def test_a_question_is_asked_without_what_both_sides_share() -> None:
    prover = Prover(EXACT, 1.0)
    shared = f("sum", *(f("exp", symbol(f"x[{i}]", FLOAT32)) for i in range(60)))
    answer = prover.equal(f("negative", f("negative", shared)), shared)
    assert answer.proved and answer.how != SAME


def test_what_holds_part_by_part_holds() -> None:
    inside = f("negative", f("negative", X))
    assert Prover(EXACT, 1.0).equal(f("unheard_of", inside, Y), f("unheard_of", X, Y)).proved


def test_a_model_has_the_symbols_own_names() -> None:
    answer = Prover(EXACT, 1.0).equal(f("subtract", X, Y), f("subtract", Y, X))
    assert answer.proved is False and set(answer.model) == {"x", "y"}


# -- rebinding -----------------------------------------------------------------------------------------------


def _inner(x: float) -> float:
    return abs(x)


def _outer(x: float, *, twice: bool = True) -> float:
    return _inner(x) * (2 if twice else 1)


def test_a_rebound_function_calls_the_others_and_the_plain_one_does_not() -> None:
    rebound = Rebinding({_inner: lambda x: 100.0})(_outer)
    assert (rebound(-3.0), rebound(-3.0, twice=False), _outer(-3.0)) == (200.0, 100.0, 6.0)


# -- what a proof covers --------------------------------------------------------------------------------


def test_values_without_elements_prove_nothing() -> None:
    found = proved(rule_of("dot(x, y) => dot(x, negative(y))\n    if x.shape[0] == 0"))
    assert found.status == OPEN and found.says.startswith("only values without elements")


def test_a_rule_about_values_without_elements_is_proved_by_them() -> None:
    found = proved(rule_of("dot(x, y) => dot(x, negative(y))\n    if 0 in self.shape"))
    assert found.status == PASSED and "up to rank" not in found.says


def test_ranks_at_which_a_rule_never_fires_are_not_counted() -> None:
    found = proved(rule_of("transpose(x, perm=p) => x\n    if x.rank == 3 and is_identity(p)"), 0.1)
    assert "up to rank 1" not in found.says and "up to rank 2" not in found.says


def test_dtypes_that_a_guard_asks_for_are_found() -> None:
    """The guard cuts the search over dtypes short."""
    guard = "x.dtype == 'uint64' and t == 'int8' and u == 'int16'"
    equation = f"cast(cast(cast(x, dtype=t), dtype=u), dtype=v) => cast(cast(x, dtype=t), dtype=v)\n    if {guard}"
    assert proved(rule_of(equation)).status == PASSED
