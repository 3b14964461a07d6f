# SPDX-License-Identifier: Apache-2.0
"""Meanings run on symbols say what they say of numbers: with numbers put in, the expressions have the same values."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ngraph_rewrite.lowering.passes import library
from ngraph_rewrite.ops import functions, gammas
from ngraph_rewrite.ops.checks import tensor
from ngraph_rewrite.rewriting.instances import first_match
from ngraph_rewrite.rewriting.interpret import Application
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.rewriting.trial_bank import TrialBank
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.op import Op, build
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.testing import evaluate as numeric
from ngraph_rewrite.testing.proof.arrays import Symbols, symbolic, symbols
from ngraph_rewrite.testing.proof.comparing import elements, leaf_values
from ngraph_rewrite.testing.proof.elementary import Undecided
from ngraph_rewrite.testing.proof.meanings import evaluate
from ngraph_rewrite.testing.proof.symbols import NUMBER, SYMBOL, Scalar, apply, number, parts, symbol
from ngraph_rewrite.testing.strategies import begin, random_domain
from ngraph_rewrite.types.dtypes import BFLOAT16, DTYPES, finfo, is_float
from ngraph_rewrite.types.tuples import TupleType

LOWERED = [r for r in library() if r.kind in ("lower", "recognize", "select")]

# -- expressions ----------------------------------------------------------------------------------------


def test_equal_expressions_are_one_object() -> None:
    x = symbol("x", "float32")
    assert apply("exp", "float32", x) is apply("exp", "float32", symbol("x", np.float32))
    assert symbol("x", "float32") is not symbol("x", "float64")
    assert number(2**64 - 1, "uint64") is number(np.ulonglong(2**64 - 1), np.dtype("Q"))


def test_numbers_are_told_apart_by_their_bits_and_there_is_one_nan() -> None:
    assert number(0.0, "float32") is not number(-0.0, "float32")
    assert number(np.nan, "float32") is number(-np.nan, "float32")
    assert number(1, "int8") is not number(1, "int16")


def test_parts_come_before_what_they_are_in_and_once() -> None:
    x = symbol("x", "float32")
    e = apply("exp", "float32", x)
    assert list(parts([apply("add", "float32", e, e)])) == [x, e, apply("add", "float32", e, e)]


# -- values of expressions ------------------------------------------------------------------------------

_UFUNCS = {
    "round": np.rint, "mod": np.remainder, "floordivide": np.floor_divide, "bitwise_invert": np.invert,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh, "cbrt": functions.cbrt, "erf": functions.erf, "erfinv": functions.erfinv,
    "lgamma": gammas.lgamma, "digamma": gammas.digamma, "trigamma": gammas.trigamma,
    "sigmoid": functions.sigmoid,
    "reciprocal": functions.reciprocal, "power": functions.power, "select": np.where,
}  # fmt: skip
_REDUCE = {
    "sum": np.add, "dot": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum, "any": np.logical_or,
    "all": np.logical_and,
}  # fmt: skip


def value_of(term: Scalar, known: Mapping[Scalar, Any]) -> Any:
    args = [known[a] for a in term.args]
    op, _, which = term.op.partition(".")
    if op == "cast":
        return np.asarray(args[0]).astype(term.dtype)[()]
    if op == "bitcast":
        return np.asarray(args[0]).view(term.dtype)[()]
    if op == "pick":
        return args[1 + int(args[0])]
    if op in _REDUCE:
        return _REDUCE[op].reduce(np.array(args, term.dtype), dtype=term.dtype)
    if op in ("argmax", "argmin"):
        return getattr(np, op)(np.array(args))
    if op == "argsort":
        return np.argsort(np.array(args), kind="stable")[int(which)]
    if op == "searchsorted":
        return np.searchsorted(np.array(args[1:]), args[0], which)
    return np.asarray(_UFUNCS.get(op, getattr(np, op, None))(*map(np.asarray, args))).astype(term.dtype)[()]


def values_of(value: Symbols | tuple[Any, ...], at: Mapping[Scalar, Any]) -> list[Any]:
    known: dict[Scalar, Any] = dict(at)
    with np.errstate(all="ignore"):
        for term in parts(elements(value)):
            if term.op == NUMBER:
                known[term] = term.value
            elif term.op != SYMBOL:
                known[term] = value_of(term, known)
    return [known[s] for s in elements(value)]


ITERATED = {f"semi.{name}" for name in ("eigh", "eigvalsh", "svd", "svdvals", "pinv")}


def terms_of(rule: Rule, seed: int) -> list[Op]:
    """Both sides of an instance."""
    random, bank = Random(seed), TrialBank()
    found = first_match(rule, random_domain(random), begin(random), bank, 100)
    if found is None:
        return []
    return [found.term, Application(rule, found.term, found.bindings, bank.make, found.target).right()[0]]


@pytest.mark.parametrize("part", range(8))
def test_every_meaning_says_of_symbols_what_it_says_of_numbers(part: int) -> None:
    """Of both sides of all rules, in which all ops are, with arrays put in for the symbols."""
    compared = 0
    for rule in LOWERED[part::8]:
        for term in terms_of(rule, 3):
            compared += same_values(term)
    assert compared > len(LOWERED) / 8  # at least one side of each, on average


def same_values(term: Op) -> bool:
    leaves = leaf_values(term)
    random = np.random.default_rng(7)
    arrays = {k: number_array(random, v) for k, v in leaves.items()}
    try:
        found = evaluate(term, leaves)
    except Undecided:  # indices that must be known: they are, then
        if any(t.definition.name in ITERATED for t in topological([term])):  # how often, numbers decide
            return False
        kept = {k: symbolic(arrays[k]) if v.dtype.kind in "biu" else v for k, v in leaves.items()}
        found = evaluate(term, kept)
    at = {s: a for k, v in leaves.items() for s, a in zip(v.items(), arrays[k].flat, strict=True)}
    try:
        known = numeric.evaluate(term, arrays, strict=False)[term]
    except numeric.Undefined:
        return False
    wanted = [np.asarray(v) for v in (known if isinstance(known, tuple) else (known,))]
    flat = np.array([v for w in wanted for v in w.flat], np.float64)
    got = np.array(values_of(found, at), np.float64)
    kinds = {t.dtype for t in topological([term]) if not isinstance(t.type, TupleType) and is_float(t.dtype)}
    digits = max((float(finfo(d).eps) for d in kinds), default=0.0)
    np.testing.assert_allclose(got, flat, rtol=32 * digits, atol=64 * digits, err_msg=repr(term))
    return True


def number_array(random: np.random.Generator, like: Symbols) -> np.ndarray:
    if is_float(like.dtype):
        return random.uniform(0.1, 0.9, like.shape).astype(like.dtype)
    return random.integers(0, 2 if like.dtype.kind == "b" else 3, like.shape).astype(like.dtype)


# The dtypes that NumPy knows itself, and says how they promote.
NUMPYS = [d for d in DTYPES if d != BFLOAT16]


# -- arrays of expressions ------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.sampled_from(NUMPYS), st.sampled_from(NUMPYS), st.sampled_from([np.add, np.multiply, np.maximum, np.less]))
def test_ufuncs_of_known_elements_are_numpys(one: np.dtype, other: np.dtype, ufunc: np.ufunc) -> None:
    x, y = np.array([[0], [1], [3]]).astype(one), np.array([1, 2]).astype(other)
    found, wanted = ufunc(symbolic(x), symbolic(y)), ufunc(x, y)
    assert found.dtype == wanted.dtype
    assert (found.numbers() == wanted).all()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.maximum, np.logical_or])
def test_reductions_of_known_elements_are_numpys(ufunc: np.ufunc, dtype: np.dtype) -> None:
    x = np.array([[0, 1, 2], [2, 0, 1]]).astype(dtype)
    for axis in (0, 1, (0, 1), ()):
        found, wanted = ufunc.reduce(symbolic(x), axis=axis), np.asarray(ufunc.reduce(x, axis=axis))
        assert found.dtype == wanted.dtype
        assert (found.numbers() == wanted).all()


def test_what_asks_for_an_unknown_value_says_so() -> None:
    x = symbols("x", "int64", (2,))
    with pytest.raises(Undecided, match=r"the value of x\[0\] is asked for") as caught:
        np.arange(3)[x.numbers()]
    assert caught.value.on == tuple(x.items())
    with pytest.raises(Undecided, match=r"numpy\.gcd \(reduce\) is not known|by numpy\.gcd are not known"):
        np.gcd.reduce(x)


def test_a_gather_at_an_unknown_index_is_a_choice() -> None:
    x, i = symbols("x", "float32", (2,)), symbols("i", "int64", ())
    leaves = [TrialBank().leaf("leaf", tensor(v.dtype, v.shape)) for v in (x, i)]
    found = evaluate(build(lookup("semi.gather"), tuple(leaves), axis=0), dict(zip(leaves, (x, i), strict=True)))
    for index, wanted in ((0, 0.5), (1, 0.25), (-1, 0.25), (-2, 0.5), (2, 0.0), (-3, 0.0)):
        at = dict(zip([*x.items(), *i.items()], [np.float32(0.5), np.float32(0.25), np.int64(index)], strict=True))
        assert values_of(found, at) == [wanted]
