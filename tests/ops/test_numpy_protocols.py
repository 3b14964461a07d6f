# SPDX-License-Identifier: Apache-2.0
"""NumPy's own functions take terms: what they build computes what they compute of arrays."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ngraph_rewrite as ng
from ngraph_rewrite import errors

FLOATS = np.arange(6, dtype=np.float32).reshape(2, 3) + np.float32(0.5)
WHOLE = np.array([[3, 1, 2], [0, 5, 4]], np.int32)

# Called with two arrays, of floats and of integers, or with two terms.
CALLS: list[Callable[[Any, Any], Any]] = [
    lambda x, i: np.sin(x),
    lambda x, i: np.add(x, 1),
    lambda x, i: np.add(x, i, dtype="float64"),
    lambda x, i: (np.add(x, i, dtype="float32"), np.less(x, i, dtype=bool), np.divmod(i, 2, dtype="int64")),
    lambda x, i: np.multiply(np.astype(i, np.int8), 100, dtype=np.int64),
    lambda x, i: np.multiply.outer(np.astype(i, np.int8), np.astype(i, np.int8) + np.int8(90), dtype=np.int64),
    lambda x, i: np.add.outer(i, 3, dtype="float64"),
    lambda x, i: np.arctan2(x, i),
    lambda x, i: np.power(x, i),
    lambda x, i: np.ones(3) * x,
    lambda x, i: np.float64(2) * x,
    lambda x, i: x - [1, 2, 3],
    lambda x, i: np.divmod(x, 2),
    lambda x, i: np.positive(x),
    lambda x, i: np.rint(x),
    lambda x, i: np.invert(i),
    lambda x, i: (i & 3, i | 4, i ^ 5, ~i, i << 2, i >> 1, 1 << i, 64 >> i, 6 & i),
    lambda x, i: ((x > 1) & (i > 1), (x > 1) | (i > 1), ~(x > 1)),
    lambda x, i: (-x, +x, abs(-x), x**2, 2**x, x % 2, i // 2, 7 // (i + 1), i / 2),
    lambda x, i: np.sum(i[0]) & 3,
    lambda x, i: (np.sum(x) * np.ones(2), np.ones(2) - np.sum(x), np.cosh(np.sum(x)), np.sum(i) << 1),
    lambda x, i: np.add.reduce(x),
    lambda x, i: np.minimum.reduce(x, axis=None),
    lambda x, i: np.maximum.reduce(x, axis=1, initial=2, where=i[0] > 0),
    lambda x, i: np.logical_and.reduce(i, axis=1, keepdims=True),
    lambda x, i: np.multiply.outer(x, i),
    lambda x, i: np.concatenate([x, i]),
    lambda x, i: np.concatenate([x, np.ones((1, 3))], axis=0),
    lambda x, i: np.stack([x, i], axis=1),
    lambda x, i: np.unstack(x),
    lambda x, i: np.sum(x, axis=0),
    lambda x, i: np.sum(x, 1, keepdims=True),
    lambda x, i: np.max(x, 0),
    lambda x, i: (np.mean(i), np.any(i), np.all(i, axis=0), np.prod(x)),
    lambda x, i: np.mean(np.astype(x, np.float16) * np.float16(1.1), dtype=np.float32),
    lambda x, i: (np.mean(i, 0, np.float32), np.mean(x, dtype=int)),
    lambda x, i: np.std(x, axis=1, ddof=1),
    lambda x, i: np.var(x, correction=0.5, keepdims=True),
    lambda x, i: np.count_nonzero(i, axis=0),
    lambda x, i: np.where(x > 1, x, 0),
    lambda x, i: (np.clip(x, 1, 3), np.clip(x, None, 3), np.clip(x, min=1)),
    lambda x, i: (np.transpose(x), np.transpose(x, (1, 0)), x.T, x.mT),
    lambda x, i: np.reshape(x, (3, -1)),
    lambda x, i: (np.ravel(x), np.expand_dims(x, 1), np.squeeze(x[:1], 0), np.flip(x, 0)),
    lambda x, i: (np.roll(x, 1, 0), np.moveaxis(x, 0, 1), np.swapaxes(x, 0, 1)),
    lambda x, i: (np.tile(x, (2, 1)), np.repeat(x, 2), np.repeat(x, [1, 0, 2], axis=1)),
    lambda x, i: np.diff(x, 1, 0),
    lambda x, i: (np.tril(x), np.triu(x, 1)),
    lambda x, i: (np.zeros_like(x), np.ones_like(i), np.full_like(i, 3, dtype="int8")),
    lambda x, i: np.round(x, 1),
    lambda x, i: np.meshgrid(x[0], i[0]),
    lambda x, i: np.broadcast_to(x, (4, 2, 3)),
    lambda x, i: np.astype(x, np.int64),
    lambda x, i: (np.sort(i), np.sort(i, 0, "stable"), np.sort(i, None), np.argsort(i, 1, kind="mergesort")),
    lambda x, i: (np.argsort(i, None, stable=True), np.einsum("ij,kj,lj->ikl", x, i, x, optimize="greedy")),
]  # fmt: skip


def leaves(found: Any) -> list[Any]:
    return [x for part in found for x in leaves(part)] if isinstance(found, tuple | list) else [found]


def test_numpy_functions_of_terms() -> None:
    x, i = ng.placeholder(FLOATS.shape), ng.placeholder(WHOLE.shape, "int32")
    terms = [t for call in CALLS for t in leaves(call(x, i))]
    wanted = [np.asarray(w) for call in CALLS for w in leaves(call(FLOATS, WHOLE))]
    assert all(isinstance(t, ng.Op) for t in terms) and len(terms) == len(wanted)
    with ng.make_transformer("reference") as transformer:  # kernels of all that is built here are tested by its ops
        found = transformer.computation(terms, x, i)(FLOATS, WHOLE)
    for term, one, other in zip(terms, found, wanted, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype), term
        np.testing.assert_allclose(one, other, rtol=1e-6, err_msg=str(term))


def test_what_numpy_asks_of_shapes_and_dtypes() -> None:
    x = ng.placeholder((2, 3), "int8")
    assert (np.shape(x), np.ndim(x), np.size(x), x.ndim) == ((2, 3), 2, 6, 2)
    assert np.result_type(x, 1.5) == np.float64 and np.can_cast(x, "int16")


def test_terms_with_names_keep_them_where_each_element_is_by_itself() -> None:
    h = ng.placeholder({"H": 3}, name="h")
    made = [np.sin(h), np.float32(2) * h, np.where(h > 0, h, 0), np.clip(h, 0, 1), np.maximum(h, 0)]
    made.append(np.add(h, 1, dtype="float64"))
    assert {t.definition.family for t in made} == {"axes"} and {t.axes for t in made} == {h.axes}


# Of two arrays of floats, or of integers: ops that the named family has, that it lacks, formulas and loops.
BY_NAME: dict[str, list[Any]] = {
    "float64": [
        np.sinh, np.arctan, np.log10, np.trunc, np.fix, np.cbrt, np.spacing, np.signbit, np.exp2, np.sinc, np.i0,
        np.hypot, np.arctan2, np.copysign, np.nextafter, np.fmod, np.logaddexp, np.heaviside, np.fmax, np.add,
    ],
    "int16": [
        np.invert, np.bitwise_count, np.gcd, np.lcm, np.bitwise_xor, np.right_shift, np.left_shift, np.fmod, np.hypot,
        np.power, np.float_power,
    ],
}  # fmt: skip
EVERY = [(f, dtype) for dtype, functions in BY_NAME.items() for f in functions]


@pytest.mark.parametrize(("function", "dtype"), EVERY, ids=lambda p: getattr(p, "__name__", p))
def test_elements_by_themselves_are_matched_by_name_and_by_marks(function: Any, dtype: str) -> None:
    """Whether or not the family has an op for it, in any order of axes, and beside numbers and terms without axes."""
    a, b, c = np.arange(1, 7).reshape(2, 3).astype(dtype), np.array([2, 1], dtype), np.array(3, dtype)
    named = [ng.placeholder(x, dtype) for x in ({"N": 2, "H": 3}, {"N": 2}, {})]
    marked = [ng.simple.placeholder(x, dtype) for x in ((ng.simple.N(2), 3), (ng.simple.N(2),), ())]
    for x, y, z in (named, marked):
        if getattr(function, "nin", 1) == 1:
            made, wanted = [function(x), function(y)], [function(a), function(b)]
        else:
            made = [function(x, y), function(y, x), function(x, 2), function(2, x), function(x, z), function(z, y)]
            rows = b[:, None]
            wanted = [function(a, rows), function(rows, a), function(a, 2), function(2, a), function(a, c)]
            wanted.append(function(c, b))
        assert {a.name for t in made for a in t.axes} == {a.name for a in x.axes}
        with ng.make_transformer("reference") as transformer:
            found = transformer.computation(made, x, y, z)(a, b, c)
        for term, one, other in zip(made, found, wanted, strict=True):
            assert one.dtype == other.dtype == term.dtype
            at = [k.name for k in x.axes if k in term.axes]
            turned = np.moveaxis(one, [term.axes.index(k) for k in x.axes if k in term.axes], range(len(at)))
            np.testing.assert_allclose(turned, other, rtol=1e-14)


def test_slopes_pass_through_ops_that_go_by_position() -> None:
    h, n = ng.placeholder({"H": 3}, "float64"), ng.placeholder({"N": 2}, "float64")
    slopes = ng.deriv(np.hypot(h, n), [h, n], error=1.0)
    with ng.make_transformer("cpu") as transformer:
        found = transformer.computation(list(slopes), h, n)([3.0, 0.0, 6.0], [4.0, 8.0])
    np.testing.assert_allclose(found[0], [3 / 5 + 3 / np.hypot(3, 8), 0, 6 / np.hypot(6, 4) + 0.6])
    np.testing.assert_allclose(found[1], [4 / 5 + 1 + 4 / np.hypot(6, 4), 8 / np.hypot(3, 8) + 1 + 0.8])


H, X = ng.placeholder({"H": 3}, name="h"), ng.placeholder((2, 3), name="x")
WRONG: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: np.sum(H, axis=0), errors.FamilyError, "np.sum goes by position, and h has the names H"),
    (lambda: np.concatenate([X[0], H]), errors.FamilyError, "np.concatenate goes by position"),
    (lambda: np.add.reduce(H), errors.FamilyError, "add.reduce goes by position"),
    (lambda: np.bitwise_and(H, 1), errors.DTypeError, "numpy.bitwise_and.*expected bool or integers"),
    (lambda: np.isnat(H), errors.FamilyError, "the axes family has no op isnat"),
    (lambda: np.hypot(H, np.ones(3)), errors.FamilyError, "hypot: an array of shape .3,. has no axes to match by"),
    (lambda: np.isnat(X), errors.FamilyError, "(?s)the numpy family has no op isnat.*ops --family numpy"),
    (lambda: np.sort(X, kind="bubble"), errors.AttributeValueError, "(?s)sort: kind is 'bubble'.*stable"),
    (lambda: np.add(X, 1, out=np.ones((2, 3))), errors.ArgumentError, "np.add: out has no meaning"),
    (lambda: np.multiply.outer(X, X, out=np.ones(36)), errors.ArgumentError, "np.multiply: out has no meaning"),
    (lambda: np.add(X, 1, dtype=int), errors.DTypeError, "np.add: float32 does not cast to int64"),
    (lambda: np.less(X, 1, dtype=float), errors.DTypeError, "np.less does not give float64"),
    (lambda: np.sin(X, where=FLOATS > 1), errors.ArgumentError, "np.sin: where has no meaning"),
    (lambda: np.add.at(X, 0, 1), errors.ArgumentError, r"(?s)np.add.at has no meaning.*ng.numpy.at\(x\)\[index\].add"),
    (lambda: np.unique(X), errors.ArgumentError, "(?s)np.unique has no meaning.*use ng.numpy.unique, and.*size="),
    (lambda: np.add.reduceat(X, [0]), errors.ArgumentError, "np.add.reduceat has no meaning"),
    (lambda: np.logical_or.reduce(X, initial=2), errors.ArgumentError, "logical_or.reduce: initial has no meaning"),
    (lambda: np.max(X, 0, np.ones(3)), errors.ArgumentError, "np.max.. takes from 1 to 2 positional arguments"),
    (lambda: np.sum(X, where=X == 0), errors.DTypeError, "sum: the condition is False, of Python"),
    (lambda: np.sum(X, out=np.ones(3)), errors.ArgumentError, "unexpected keyword argument 'out'"),
    (lambda: np.linalg.eig(X), errors.ArgumentError, "np.linalg.eig has no meaning for terms"),
    (lambda: np.asarray(X), errors.ArgumentError, "x is a term and has no value to put into an array"),
    (lambda: np.take(np.ones(3), X), errors.ArgumentError, "x is a term and has no value to put into an array"),
    (lambda: np.full(2, X), errors.ArgumentError, "x is a term and has no value to put into an array"),
    (lambda: operator.setitem(X, 0, 1), errors.ArgumentError, r"(?s)immutable.*ng.numpy.at\(x\)\[index\].set"),
    (lambda: float(X), errors.ArgumentError, "x is a term and has no value to make a number of"),
    (lambda: int(X), errors.ArgumentError, "x is a term and has no value to make a number of"),
    (lambda: X + np.ones((2, 2)), errors.IncompatibleAxesError, "axis -1 has the lengths 3 and 2"),
    (lambda: H + np.ones(3), errors.FamilyError, "no axes to match by"),
    (lambda: X & 1, errors.DTypeError, "expected bool or integers"),
    (lambda: X + [1, [2]], errors.DTypeError, "(?s)cannot be a constant.*lists of equal length"),
    (lambda: X + np.ones(3, complex), errors.DTypeError, "dtype complex128 is not supported"),
    (
        lambda: np.where(X == 0, 1.0, X),
        errors.DTypeError,
        "(?s)where: the condition is False.*compare terms with equal",
    ),
    (lambda: ng.numpy.where(X != 0, 1.0, X), errors.DTypeError, "where: the condition is True, of Python"),
    (lambda: ng.select(H == 0, 1.0, H), errors.DTypeError, "select: the condition is False, of Python"),
    (lambda: ng.simple.where(X == 0, 1.0, X), errors.DTypeError, "select: the condition is False, of Python"),
    (lambda: ng.semi.select(X == 0, X, X), errors.DTypeError, "select: the condition is False, of Python"),
    (lambda: X.mT.mT[0].T, errors.ArgumentError, "expected two axes"),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_what_numpy_cannot_do_with_terms_is_refused(number: int) -> None:
    call, expected, message = WRONG[number]
    with pytest.raises(expected, match=message) as caught:
        call()
    assert type(caught.value) is expected and isinstance(caught.value, TypeError | ValueError)
    assert __file__ in str(caught.value)


def test_a_term_knows_the_namespace_of_the_standard() -> None:
    assert X.__array_namespace__() is X.__array_namespace__(api_version="2024.12") is ng.numpy
    with pytest.raises(errors.AttributeValueError, match="standard '2020.01'"):
        X.__array_namespace__(api_version="2020.01")


METHODS: list[tuple[Any, str, str | None]] = [
    (X, "sum", "ng.numpy.sum(x)"),
    (X, "astype", "ng.numpy.astype(x)"),
    (X, "flatten", "ng.numpy.ravel(x)"),
    (X, "item", "compute it"),
    (X, "at", "ng.numpy.at(x)"),
    (X, "strides", None),
    (ng.make_tuple(X, X), "sum", "op[i]"),
    (H, "sum", "ng.sum(x)"),
    (ng.simple.placeholder((3, ng.simple.N), name="s"), "mean", "ng.simple.mean(x)"),
]


@pytest.mark.parametrize(("term", "name", "told"), METHODS, ids=[name for _, name, _ in METHODS])
def test_a_method_of_arrays_is_told_as_a_function(term: ng.Op, name: str, told: str | None) -> None:
    assert not hasattr(term, name)
    with pytest.raises(errors.MissingMethodError) as caught:
        getattr(term, name)
    assert isinstance(caught.value, AttributeError) and __file__ in str(caught.value)
    assert caught.value.do is None if told is None else told in str(caught.value.do)


def test_what_arrays_do_not_have_is_plainly_missing() -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(X, "nonsense")  # noqa: B009
    assert not isinstance(caught.value, errors.NGraphRewriteError)
    assert not hasattr(ng.Op, "sum") and "sum" not in dir(X) and "named" in dir(X)
