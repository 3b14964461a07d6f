# SPDX-License-Identifier: Apache-2.0
"""Every rule that ships keeps the value its class promises, and the check finds rules that do not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.lowering.passes import library
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.rewriting.rulefile import parse_rules
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.testing import WrongRule, check_rule, check_rules, instances_of
from ngraph_rewrite.testing.compare import same_bits
from ngraph_rewrite.testing.strategies import WILD, Example, values_of
from ngraph_rewrite.types.dtypes import DTYPES, finfo, is_float

EXAMPLES = 4  # one in three is aimed at one way to fire
# So many of rules that fire on few of them, or mostly where there is no element: on two or more each is compared.
SELDOM = dict.fromkeys(
    "bytes.signed_bytes_by_weights.2 bytes.zero_beside_weights.1 cpu.last_elements_turned cpu.last_places_turned"
    " cuda.pooling_avg deriv_factors.cholesky deriv_spectra.svd_of_squares spreading.spread_avg".split(),
    12,
)
SELDOM |= dict.fromkeys(
    "axes_composite.cross_entropy_softmax_empty convolution.convolution_nothing cpu.batch_gemm_of_halves_transposed"
    " cuda.pooling_avg_counted cuda.pooling_min semi_functions.bitwise_invert_twice".split(),
    6,
)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Cache:
    return Cache(tmp_path_factory.mktemp("rules"))


def has_drawn_values(rule: Rule) -> bool:
    """Whether drawn instances can tell; of others a waiver says what does, or why nothing can."""
    return all(waiver.check not in ("values", "adjoint") for waiver in rule.waivers)


@pytest.mark.parametrize("rule", list(filter(has_drawn_values, library())), ids=lambda rule: rule.name)
def test_a_shipped_rule_is_right(rule: Rule, folder: Cache) -> None:
    assert check_rule(rule, SELDOM.get(rule.name, EXAMPLES), folder) > 0


def rule_of(equation: str, header: str = "simplify semi", grade: str = "") -> Rule:
    (rule,) = parse_rules(f"{header}\nrule r{grade and ' @'}{grade}: {equation}\n", "my.rules", "my")
    return rule


# -- the check itself: wrong rules are found --------------------------------------------------------------

# Each is wrong only where the comment says.
WRONG = [
    ("simplify semi", "exact", "x + 0 => x"),  # at -0.0
    ("simplify semi", "exact", "x * 0 => 0"),  # at infinities, NaN and negative numbers
    ("simplify semi", "exact", "x - x => 0"),  # at infinities and NaN
    ("simplify semi", "exact", "x / x => 1"),  # at 0
    ("simplify semi", "exact", "-(x - y) => y - x"),  # where x = y: -0.0
    ("simplify semi", "exact", "sqrt(x * x) => absolute(x)"),  # overflow, underflow
    ("simplify semi", "exact", "x ** 3 => x * x * x"),  # rounding of power
    ("simplify semi", "exact", "maximum(x, minimum(x, y)) => x"),  # NaN in y
    ("simplify semi", "exact", "x < y => logical_not(x >= y)"),  # NaN
    ("simplify semi", "exact", "absolute(negative(x)) => x"),  # negative numbers
    ("simplify semi", "exact", "(x + y) + z => x + (y + z)"),  # rounding
    ("simplify semi", "exact", "argmax(negative(x), axes=k) => argmin(x, axes=k)"),  # the least integer
    ("simplify semi", "exact", "cast(cast(x, dtype=t), dtype=u) => cast(x, dtype=u)"),  # a narrow type between
    ("simplify semi", "exact", "reshape(transpose(x, perm=p), shape=s) => reshape(x, shape=s)"),  # order
    ("simplify semi", "real", "x / x => 1"),  # NaN at 0
    ("simplify semi", "real", "x * 0 => 0"),  # NaN at infinities
    ("simplify semi", "real", "tanh(x) => x"),
    ("simplify semi", "real", "sum(x * y, axes=k) => sum(y, axes=k)"),
    ("simplify semi", "real", "exp(x) => exp(x + x - x + 0.001)"),  # everywhere, by a thousandth
    ("simplify semi", "real", "sqrt(x) * y => sqrt(x * y * y)"),  # negative y
    ("simplify semi", "refines", "log(exp(x)) => absolute(x)"),  # negative x
    ("simplify semi", "exact", "x // y => floor(x / y)"),  # integers have no quotient
    ("simplify semi", "fast", "exp(x) => exp(x + 0.001)"),
    ("recognize axes", "real", "log(x + 1) => log1p(x)"),  # another dtype where x is bool
    ("recognize axes", "real", "1 / (1 + exp(-x)) => sigmoid(x)"),  # another dtype where 1 is float64
    ("derive axes", "real", "exp(x) => d"),
    ("derive axes", "real", "x * y => d * x, d * y"),
    ("derive axes", "real", "sum(x, axes=k) => d * 2"),
]  # fmt: skip


@pytest.mark.parametrize(("header", "grade", "equation"), WRONG)
def test_a_wrong_rule_is_found(header: str, grade: str, equation: str, folder: Cache) -> None:
    with pytest.raises(WrongRule, match=r"^my.rules:[23]:\d+: rule my.r "):
        check_rule(rule_of(equation, header, grade), 50, folder)


@pytest.mark.parametrize(
    ("grade", "equation"),
    [
        ("exact", "x - 0 => x"),
        ("exact", "x * 2 => x + x"),
        ("exact", "-(-x) => x"),
        ("exact", "transpose(transpose(x, perm=p), perm=q) => transpose(x, perm=compose(p, q))"),
        ("refines", "x / x => 1"),
    ],
)
def test_a_right_rule_passes(grade: str, equation: str, folder: Cache) -> None:
    """Rules that are right but for rounding or for special values are in `tests/testing/test_values.py`."""
    assert check_rule(rule_of(equation, grade=grade), 50, folder) == 50


def test_a_counterexample_is_a_program_that_shows_all_there_is_to_see(folder: Cache) -> None:
    with pytest.raises(WrongRule) as caught:
        check_rule(rule_of("x + 0 => x"), 50, folder)
    said = str(caught.value)
    head, _, program = said.partition("\n")
    assert head == "my.rules:2:18: rule my.r is not @exact"
    parts = ["#   x + 0 => x", 'left = term("semi.add", x, c1)', "-0.0", "#   left ", "#   right ", "the first step"]
    assert all(part in program for part in parts)
    with pytest.raises(AssertionError, match="not @exact"):
        exec(program, {})  # noqa: S102


def test_a_rule_that_hardly_fires_is_not_believed(folder: Cache) -> None:
    (rule,) = parse_rules("simplify semi\nrule r: -(-x) => x\n    if x.rank == 9\n", "my.rules", "my")
    with pytest.raises(WrongRule, match="fired on 0 of 20 drawn instances"):
        check_rule(rule, 20, folder)


def test_the_same_examples_are_drawn_every_time(folder: Cache) -> None:
    said = []
    for _ in range(2):
        with pytest.raises(WrongRule) as caught:
            check_rule(rule_of("x * 0 => 0"), 20, folder)
        said.append(str(caught.value))
    assert said[0] == said[1]


def test_a_file_is_checked_whole(tmp_path: Path) -> None:
    path = tmp_path / "my.rules"
    path.write_text("simplify semi\nrule a: floor(ceil(x)) => ceil(x)\nrule b: ceil(floor(x)) => floor(x)\n")
    assert check_rules(path, 10) == 2
    path.write_text("simplify semi\nrule a: x - x => 0\nrule b: x + 0 => x\n")
    with pytest.raises(WrongRule) as caught:
        check_rules(path, 40, checks=("values", "proof"))
    assert "rule my.a is not @exact (values)" in str(caught.value)
    assert "rule my.b is not @exact (values)" in str(caught.value)


# -- what examples are made of ----------------------------------------------------------------------------


@settings(max_examples=20, deadline=None, derandomize=True)
@given(instances_of(rule_of("x * y => y * x", "lower semi")))
def test_an_example_has_a_value_for_every_leaf(example: Example) -> None:
    leaves = {t for t in example.instance.term.args if isinstance(t, Op)}
    for values in example.choices:
        assert set(values) == leaves
        assert all(values[t].dtype == t.dtype and values[t].shape == t.shape for t in leaves)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_wild_values_stand_at_the_edges(dtype: np.dtype) -> None:
    values = values_of(dtype, WILD)
    if is_float(dtype):
        assert np.isnan(values).any() and np.isposinf(values).any() and np.isneginf(values).any()
        assert ((values == 0) & np.signbit(values)).any()
        assert (np.abs(values[np.isfinite(values)]) == finfo(dtype).max).any()
        assert (values == finfo(dtype).smallest_subnormal).any()
    elif dtype.kind in "iu":
        assert {np.iinfo(dtype).min, np.iinfo(dtype).max} <= set(values.tolist())


def test_bits_are_compared_but_for_nans() -> None:
    a = np.array([0.0, 0.0, np.nan, 1.0, np.inf])
    b = np.array([0.0, -0.0, -np.nan, 2.0, np.inf])
    assert same_bits(a, b).tolist() == [True, False, True, False, True]
