# SPDX-License-Identifier: Apache-2.0
"""What is said of two scalar expressions is true: a proof holds for drawn values, a model tells them apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import z3
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ngraph_rewrite.testing.compare import same_bits
from ngraph_rewrite.testing.proof.elementary import bitcast
from ngraph_rewrite.testing.proof.numeric import (
    FUNCTIONS,
    REDUCTIONS,
    evaluate,
    every,
    moderate,
    special,
    symbols_of,
)
from ngraph_rewrite.testing.proof.ring import equal_in_ring
from ngraph_rewrite.testing.proof.scalar import Verdict, decide
from ngraph_rewrite.testing.proof.signs import without_signs
from ngraph_rewrite.testing.proof.smt import Translation
from ngraph_rewrite.testing.proof.smt_ops import MAKERS, literal
from ngraph_rewrite.testing.proof.symbols import Scalar, apply, number, symbol
from ngraph_rewrite.types.dtypes import BOOL, DTYPES, DType, is_float, kind_of

NAMES = {str(d): d for d in DTYPES}
TRUTHS = frozenset(
    "isnan isinf isfinite signbit equal not_equal less less_equal greater greater_equal logical_not logical_and"
    " logical_or logical_xor any all".split()
)
QUICK = 0.2


class Words:
    """Expressions of one dtype, in few letters."""

    def __init__(self, dtype: str) -> None:
        self.dtype = NAMES[dtype]
        self.x, self.y, self.z = (symbol(name, self.dtype) for name in "xyz")
        self.c = symbol("c", BOOL)

    def __call__(self, op: str, *args: Scalar | float) -> Scalar:
        operands = [a if isinstance(a, Scalar) else number(a, self.dtype) for a in args]
        return apply(op, BOOL if op in TRUTHS else self.dtype, *operands)

    def n(self, value: float) -> Scalar:
        return number(value, self.dtype)


Law = Callable[[Words], tuple[Scalar, Scalar]]


def verdict(law: Law, dtype: str, grade: str = "exact") -> Verdict:
    return decide(*law(Words(dtype)), grade, 1.0)


# -- laws that hold, and laws that do not ------------------------------------------------------------------

INTEGERS: dict[str, Law] = {
    "x * 0 = 0": lambda w: (w("multiply", w.x, 0), w.n(0)),
    "x - x = 0": lambda w: (w("subtract", w.x, w.x), w.n(0)),
    "x * (y + x) = x * y + x ** 2": lambda w: (
        w("multiply", w.x, w("add", w.y, w.x)),
        w("add", w("multiply", w.x, w.y), w("power", w.x, 2)),
    ),
    "not x < y = x >= y": lambda w: (w("logical_not", w("less", w.x, w.y)), w("greater_equal", w.x, w.y)),
    "maximum(x, minimum(x, y)) = x": lambda w: (w("maximum", w.x, w("minimum", w.x, w.y)), w.x),
    "x // 1 = x": lambda w: (w("floordivide", w.x, 1), w.x),
    "x ^ x = 0": lambda w: (w("bitwise_xor", w.x, w.x), w.n(0)),
    "invert x = -1 - x": lambda w: (w("bitwise_invert", w.x), w("subtract", w("negative", w.n(1)), w.x)),
    "sum of three": lambda w: (w("sum", w.x, w.y, w.z), w("add", w.z, w("add", w.y, w.x))),
}
FALSE_INTEGERS: dict[str, Law] = {
    "x // y * y = x": lambda w: (w("multiply", w("floordivide", w.x, w.y), w.y), w.x),
    "y - x = x - y": lambda w: (w("subtract", w.y, w.x), w("subtract", w.x, w.y)),
    "absolute(x ** 2) = x ** 2 + 1": lambda w: (w("absolute", w("square", w.x)), w("add", w("square", w.x), 1)),
    "x << 1 >> 1 = x": lambda w: (w("right_shift", w("left_shift", w.x, 1), 1), w.x),
}
FLOATS: dict[str, Law] = {
    "x + -0.0 = x": lambda w: (w("add", w.x, -0.0), w.x),
    "-x * y = -(x * y)": lambda w: (w("multiply", w("negative", w.x), w.y), w("negative", w("multiply", w.x, w.y))),
    "x + -y = x - y": lambda w: (w("add", w.x, w("negative", w.y)), w("subtract", w.x, w.y)),
    "absolute(x ** 2) = x ** 2": lambda w: (w("absolute", w("square", w.x)), w("square", w.x)),
    "floor(ceil(x)) = ceil(x)": lambda w: (w("floor", w("ceil", w.x)), w("ceil", w.x)),
    "x != x is isnan(x)": lambda w: (w("not_equal", w.x, w.x), w("isnan", w.x)),
    "exp(x + y) = exp(y + x)": lambda w: (w("exp", w("add", w.x, w.y)), w("exp", w("add", w.y, w.x))),
    "x ** 0 = 1": lambda w: (w("power", w.x, 0), w.n(1)),
}
FALSE_FLOATS: dict[str, Law] = {
    "x + 0.0 = x": lambda w: (w("add", w.x, 0.0), w.x),
    "x * 0 = 0": lambda w: (w("multiply", w.x, 0), w.n(0)),
    "x - x = 0": lambda w: (w("subtract", w.x, w.x), w.n(0)),
    "y - x = -(x - y)": lambda w: (w("subtract", w.y, w.x), w("negative", w("subtract", w.x, w.y))),
    "maximum(x, minimum(x, y)) = x": lambda w: (w("maximum", w.x, w("minimum", w.x, w.y)), w.x),
    "not x < y = x >= y": lambda w: (w("logical_not", w("less", w.x, w.y)), w("greater_equal", w.x, w.y)),
    "x // 1 = x": lambda w: (w("floordivide", w.x, 1), w.x),
    "log(exp(x)) = x": lambda w: (w("log", w("exp", w.x)), w.x),
    "(x + y) + z = x + (y + z)": lambda w: (w("add", w("add", w.x, w.y), w.z), w("add", w.x, w("add", w.y, w.z))),
    "x / y * y = x": lambda w: (w("multiply", w("divide", w.x, w.y), w.y), w.x),
}
REALS: dict[str, Law] = {
    "x * 0 = 0": FALSE_FLOATS["x * 0 = 0"],
    "x / y * y = x": FALSE_FLOATS["x / y * y = x"],
    "log(exp(x)) = x": FALSE_FLOATS["log(exp(x)) = x"],
    "exp(log(x)) = x": lambda w: (w("exp", w("log", w.x)), w.x),
    "not x < y = x >= y": FALSE_FLOATS["not x < y = x >= y"],
    "tanh by sigmoid": lambda w: (
        w("tanh", w.x),
        w("subtract", w("multiply", 2, w("sigmoid", w("multiply", 2, w.x))), 1),
    ),
    "logaddexp taken apart": lambda w: (
        w("logaddexp", w.x, w.y),
        w(
            "add",
            w("maximum", w.x, w.y),
            w(
                "select",
                w("equal", w.x, w.y),
                0.6931471805599453,
                w("log1p", w("exp", w("negative", w("absolute", w("subtract", w.x, w.y))))),
            ),
        ),
    ),
    "softmax less its maximum": lambda w: (_softmax(w, lambda a: w("subtract", a, w("max", w.x, w.y))), _softmax(w)),
    "sqrt(x ** 2) = |x|": lambda w: (w("sqrt", w("square", w.x)), w("absolute", w.x)),
    "|x y| = |x| |y|": lambda w: (
        w("absolute", w("multiply", w.x, w.y)),
        w("multiply", w("absolute", w.x), w("absolute", w.y)),
    ),
    "the maximum of three": lambda w: (w("max", w.x, w.y, w.z), w("maximum", w("maximum", w.z, w.x), w.y)),
    "1 + tan ** 2 = 1 / cos ** 2": lambda w: (
        w("add", w("square", w("tan", w.x)), 1),
        w("reciprocal", w("square", w("cos", w.x))),
    ),
    "x / |x| = sign(x)": lambda w: (w("divide", w.x, w("absolute", w.x)), w("sign", w.x)),
}
FALSE_REALS: dict[str, Law] = {
    "x = x / y * y": lambda w: (w.x, w("multiply", w("divide", w.x, w.y), w.y)),
    "x = exp(log(x))": lambda w: (w.x, w("exp", w("log", w.x))),
    "sqrt(x ** 2) = x": lambda w: (w("sqrt", w("square", w.x)), w.x),
    "log(x y) = log x + log y": lambda w: (w("log", w("multiply", w.x, w.y)), w("add", w("log", w.x), w("log", w.y))),
    "x < y = x <= y": lambda w: (w("less", w.x, w.y), w("less_equal", w.x, w.y)),
    "floor(x) = x": lambda w: (w("floor", w.x), w.x),
    "sign(x) = x / |x|": lambda w: (w("sign", w.x), w("divide", w.x, w("absolute", w.x))),
    "x - y = y - x": lambda w: (w("subtract", w.x, w.y), w("subtract", w.y, w.x)),
}


def _softmax(w: Words, of: Callable[[Scalar], Scalar] = lambda a: a) -> Scalar:
    parts = [w("exp", of(a)) for a in (w.x, w.y)]
    return w("divide", parts[0], w("sum", *parts))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64"])
@pytest.mark.parametrize("law", INTEGERS)
def test_laws_of_integers_are_proved(law: str, dtype: str) -> None:
    assert verdict(INTEGERS[law], dtype).proved is True


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint16"])
@pytest.mark.parametrize("law", FALSE_INTEGERS)
def test_what_is_no_law_of_integers_is_refuted(law: str, dtype: str) -> None:
    assert_refuted(FALSE_INTEGERS[law](Words(dtype)), "exact")


def test_minus_the_least_integer_is_itself() -> None:
    w = Words("int32")
    assert decide(w("absolute", w("negative", w.x)), w("absolute", w.x), "exact", 2.0).proved
    assert_refuted((w("sign", w("absolute", w.x)), w("sign", w("square", w.x))), "exact")


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("law", FLOATS)
def test_laws_of_floats_are_proved_to_the_bit(law: str, dtype: str) -> None:
    assert verdict(FLOATS[law], dtype).proved is True


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("law", FALSE_FLOATS)
def test_what_is_no_law_of_floats_is_refuted(law: str, dtype: str) -> None:
    assert_refuted(FALSE_FLOATS[law](Words(dtype)), "exact")


@pytest.mark.parametrize("grade", ["real", "refines", "fast"])
@pytest.mark.parametrize("law", REALS)
def test_laws_of_real_numbers_are_proved(law: str, grade: str) -> None:
    found = verdict(REALS[law], "float32", grade)
    assert found.proved is True
    assert found.how.startswith("over the reals")


@pytest.mark.parametrize("law", FALSE_REALS)
def test_what_is_no_law_of_real_numbers_is_refuted(law: str) -> None:
    assert_refuted(FALSE_REALS[law](Words("float64")), "real")


def test_the_sign_of_the_maximum_of_two_zeros_is_nobodys_business() -> None:
    w = Words("float32")
    assert decide(w("maximum", w.x, w.y), w("maximum", w.y, w.x), "exact", 1.0).proved is not True
    assert decide(w("absolute", w("maximum", w.x, w.y)), w("absolute", w("maximum", w.y, w.x)), "exact", 1.0).proved


def test_the_order_of_a_sum_of_floats_is_not_told_by_values() -> None:
    """NumPy adds up in an order of its own, so no values of it can refute another order; nor is one proved."""
    w = Words("float32")
    assert decide(w("sum", w.x, w.y, w.z), w("sum", w.z, w.y, w.x), "exact", QUICK).proved is None


def test_signed_and_unsigned_integers_are_compared_as_numbers() -> None:
    x, y = symbol("x", "int64"), symbol("y", "uint64")
    below = apply("less", BOOL, x, number(0, "int64"))
    assert decide(apply("logical_and", BOOL, below, apply("less", BOOL, x, y)), below, "exact", 1.0).proved


def test_casts() -> None:
    x, wide = symbol("x", "int8"), symbol("w", "int64")
    there = apply("cast", "int8", apply("cast", "int64", x))
    assert decide(there, x, "exact", 1.0).proved
    assert decide(apply("cast", "int64", apply("cast", "int8", wide)), wide, "exact", 1.0).proved is False
    half = symbol("h", "float16")
    assert decide(apply("cast", "float16", apply("cast", "float32", half)), half, "exact", 1.0).proved
    # what does not fit is undefined: there both sides may be anything
    again = apply("cast", "float32", apply("cast", "int32", symbol("f", "float32")))
    assert decide(again, apply("trunc", "float32", symbol("f", "float32")), "exact", 1.0).proved is False  # -0.0
    assert (
        decide(
            apply("absolute", "float32", again),
            apply("absolute", "float32", apply("trunc", "float32", symbol("f", "float32"))),
            "exact",
            5.0,
        ).proved
        is not False
    )


def test_bits_of_numbers() -> None:
    """Of a NaN it is only known that its bits are the same ones each time they are read."""
    x = symbol("x", "float32")
    bits = apply("bitcast", "uint32", x)
    cleared = apply("bitwise_and", "uint32", bits, number(2**31 - 1, "uint32"))
    same = decide(apply("bitcast", "float32", cleared), apply("absolute", "float32", x), "exact", 5.0)
    assert same.proved is not False
    assert decide(apply("bitcast", "int32", x), apply("cast", "int32", bits), "exact", 5.0).proved
    assert decide(apply("cast", "int32", x), apply("cast", "int32", bits), "exact", 5.0).proved is False
    assert bitcast(bitcast(x, np.dtype("int32")), np.dtype("float32")) is x
    assert bitcast(number(1, "float32"), np.dtype("int32")) is number(0x3F800000, "int32")
    nan = bitcast(number(np.nan, "float32"), np.dtype("int32"))
    assert (nan.op, nan.args) == ("bitcast", (number(np.nan, "float32"),))


def assert_refuted(pair: tuple[Scalar, Scalar], grade: str) -> None:
    """Refuted, by values for which NumPy gives two results."""
    found = decide(*pair, grade, 1.0)
    assert found.proved is False
    assert found.model is not None
    assert differ(pair, found.model, grade)


def differ(pair: tuple[Scalar, Scalar], model: Any, grade: str) -> bool:
    at = {s: np.asarray([model[s.name]], s.dtype) for s in symbols_of(pair)}
    one, other = (evaluate(side, at)[0] for side in pair)
    if grade == "exact" or not is_float(one.dtype):
        return not same_bits(one, other).all()
    return not np.isclose(one.astype(float), other.astype(float), rtol=1e-7, atol=1e-7, equal_nan=True).all()


# -- drawn expressions ---------------------------------------------------------------------------------------

ARITHMETIC = ["add", "subtract", "multiply", "maximum", "minimum"]
UNARY = {"i": ["negative", "absolute", "sign", "square"], "f": ["negative", "absolute", "sign", "square", "floor"]}
BINARY = {"i": [*ARITHMETIC, "floordivide", "mod", "bitwise_and"], "f": [*ARITHMETIC, "divide"]}
REAL_UNARY = [*UNARY["f"], "exp", "log", "sqrt", "tanh", "sigmoid", "log1p", "reciprocal", "cos"]
# Rewrites, some of them wrong: pairs that are alike are the ones on which a prover may err.
REWRITES: list[Callable[[Scalar], Scalar | None]] = [
    lambda t: Scalar(t.op, t.dtype, t.args[::-1]) if len(t.args) == 2 else None,
    lambda t: t.args[0] if len(t.args) == 1 else None,
    lambda t: apply("negative", t.dtype, apply("negative", t.dtype, t)),
    lambda t: apply("add", t.dtype, t, number(0, t.dtype)),
    lambda t: apply("multiply", t.dtype, t, number(1, t.dtype)),
    lambda t: apply("subtract", t.dtype, t.args[0], apply("negative", t.dtype, t.args[1])) if t.op == "add" else None,
    lambda t: apply("maximum", t.dtype, t, number(0, t.dtype)),
    lambda t: apply("exp", t.dtype, apply("log", t.dtype, t)) if is_float(t.dtype) else None,
    lambda t: apply("multiply", t.dtype, *t.args * 2) if t.op == "square" else None,
]


@st.composite
def expressions(draw: st.DrawFn, dtype: DType, unary: list[str], depth: int) -> Scalar:
    kind = draw(st.integers(0, 5)) if depth else 0
    if kind <= 1:
        leaf = draw(st.sampled_from(["x", "y", 0, 1, 2, -1]))
        known = leaf if dtype.kind != "u" else abs(leaf) if isinstance(leaf, int) else leaf
        return symbol(known, dtype) if isinstance(known, str) else number(known, dtype)
    below = expressions(dtype, unary, depth - 1)
    if kind == 2:
        return apply(draw(st.sampled_from(unary)), dtype, draw(below))
    if kind == 3:
        compared = apply(draw(st.sampled_from(["less", "equal", "greater_equal"])), BOOL, draw(below), draw(below))
        return apply("select", dtype, compared, draw(below), draw(below))
    return apply(draw(st.sampled_from(BINARY["f" if is_float(dtype) else "i"])), dtype, draw(below), draw(below))


@st.composite
def pairs(draw: st.DrawFn, dtype: DType, unary: list[str]) -> tuple[Scalar, Scalar]:
    left = draw(expressions(dtype, unary, 3))
    if draw(st.booleans()):
        return left, draw(expressions(dtype, unary, 2))
    return left, draw(rewritten(left))


@st.composite
def rewritten(draw: st.DrawFn, term: Scalar) -> Scalar:
    """The expression with one part rewritten."""
    if term.args and term.dtype.kind != "b" and draw(st.booleans()):
        numbers = [i for i, a in enumerate(term.args) if a.dtype == term.dtype]
        place = draw(st.sampled_from(numbers))
        inside = draw(rewritten(term.args[place]))
        return Scalar(term.op, term.dtype, (*term.args[:place], inside, *term.args[place + 1 :]))
    return draw(st.sampled_from(REWRITES))(term) or term


SETTINGS = settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "float16", "bfloat16", "float32"])
def test_what_is_decided_to_the_bit_is_true(dtype: str) -> None:
    @SETTINGS
    @given(pairs(NAMES[dtype], UNARY["f" if is_float(NAMES[dtype]) else "i"]))
    def true(pair: tuple[Scalar, Scalar]) -> None:
        found = decide(*pair, "exact", QUICK)
        symbols = symbols_of(pair)
        at = every(symbols, 1 << 16) or special(symbols, 3000)
        value, defined, _ = evaluate(pair[0], at)
        same = same_bits(value, evaluate(pair[1], at)[0]) | ~defined
        if found.proved:
            assert same.all(), found
        if found.proved is False:
            assert differ(pair, found.model, "exact"), found

    true()


def test_what_is_decided_over_the_reals_is_true() -> None:
    dtype = NAMES["float64"]
    x = symbol("x", dtype)

    @SETTINGS
    @given(pairs(dtype, REAL_UNARY))
    @example((x, apply("exp", dtype, apply("log", dtype, x))))
    @example((apply("square", dtype, apply("sqrt", dtype, x)), x))
    def true(pair: tuple[Scalar, Scalar]) -> None:
        found = decide(*pair, "real", QUICK)
        at = moderate(symbols_of(pair), 500)
        value, _, finite = evaluate(pair[0], at)
        other = evaluate(pair[1], at)[0]
        with np.errstate(all="ignore"):
            # Rounding at the edge of a floor, of a comparison or of a domain: few points, unless it is no law.
            near = np.isclose(value, other, rtol=1e-6, atol=1e-6) | ~finite
        if found.proved:
            assert near.mean() > 0.9, found
        if found.proved is False:
            assert differ(pair, found.model, "real"), found

    true()


@SETTINGS
@given(pairs(NAMES["int16"], ["negative", "square", "absolute"]))
def test_polynomials_that_are_equal_are_equal_for_all_integers(pair: tuple[Scalar, Scalar]) -> None:
    if equal_in_ring(*pair):
        at = special(symbols_of(pair), 3000)
        assert (evaluate(pair[0], at)[0] == evaluate(pair[1], at)[0]).all()


@SETTINGS
@given(expressions(NAMES["float32"], [*UNARY["f"], "reciprocal"], 4))
def test_taking_signs_out_changes_no_bit(term: Scalar) -> None:
    at = special(symbols_of([term]), 3000)
    assert same_bits(evaluate(term, at)[0], evaluate(without_signs(term), at)[0]).all()


# -- z3 computes what NumPy computes -------------------------------------------------------------------------

# What NumPy leaves open, or a power that is a function of which nothing is known.
OPEN = frozenset("maximum minimum max min signbit copysign".split())


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", [str(d) for d in DTYPES])
def test_each_op_of_z3_gives_what_numpy_gives(dtype: str) -> None:
    for op in MAKERS[kind_of(NAMES[dtype])]:
        for term in applications(op, NAMES[dtype]):
            at = special(symbols_of([term]), 12)
            wanted = evaluate(term, at)[0]
            for place in range(12):
                values = {s: v[place] for s, v in at.items()}
                check_value(term, values, wanted[place])


def applications(op: str, dtype: DType) -> list[Scalar]:
    """An op of symbols, as often as it has ways to compute."""
    result = BOOL if op in TRUTHS else dtype
    x, y = symbol("x", dtype), symbol("y", dtype)
    if op == "select":
        return [apply(op, result, symbol("c", BOOL), x, y)]
    if op == "power":
        exponents = {"f": [0, 1], "u": [0, 1, 5], "i": [0, 1, 5, -1, -2]}[kind_of(dtype)]
        return [apply(op, result, x, number(e, dtype)) for e in exponents]
    if op in REDUCTIONS:
        return [apply(op, result, x), apply(op, result, x, y)]
    both = getattr(FUNCTIONS[op], "nin", 1 if op in ("reciprocal", "sign") else 2) == 2
    return [apply(op, result, x, y) if both else apply(op, result, x)]


def check_value(term: Scalar, values: dict[Scalar, Any], wanted: Any) -> None:
    """What NumPy gives is what z3 gives; or one of the results that are possible."""
    translation = Translation()
    made = translation.of(term)
    given_values = [(translation.symbols[s], literal(v, s.dtype)) for s, v in values.items()]
    same = z3.simplify(z3.substitute(made, *given_values) == literal(wanted, term.dtype))
    if term.op in OPEN and (is_float(term.dtype) or term.op == "signbit"):
        solver = z3.Solver()
        assert solver.check(same) == z3.sat, (term, values, wanted)
    else:
        assert z3.is_true(same), (term, values, wanted)
