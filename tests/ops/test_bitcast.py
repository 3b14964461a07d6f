# SPDX-License-Identifier: Apache-2.0
"""`semi.bitcast` and `ng.numpy.bitcast`: the bits of numbers as another dtype, by NumPy's ``view``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from programs import drawn

import ngraph_rewrite as ng
from ngraph_rewrite import semi
from ngraph_rewrite.cache import Cache
from ngraph_rewrite.errors import DTypeError
from ngraph_rewrite.lowering.passes import SAFE_CLASSES, Passes, library, lower, passes_of
from ngraph_rewrite.targets.cpu import CPU
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.types.dtypes import BFLOAT16, BOOL, DTYPES, FLOAT16, DType, is_float

Array = np.ndarray[Any, Any]
PAIRS = [(a, b) for a in DTYPES for b in DTYPES if BOOL not in (a, b) and a.itemsize == b.itemsize]
HALVES = FLOAT16, BFLOAT16


def words(dtype: DType) -> st.SearchStrategy[Array]:
    """Any bits at all; of 8 and 16 all."""
    bits = f"uint{8 * dtype.itemsize}"
    if dtype.itemsize <= 2:
        return st.just(np.arange(256**dtype.itemsize, dtype=bits).view(dtype))
    return hnp.arrays(bits, st.integers(0, 70)).map(lambda array: array.view(dtype))


def is_open(array: Array) -> Array:
    """Where there is a NaN of 16 bits, of which the bits are open."""
    with np.errstate(invalid="ignore"):
        return np.isnan(array) if array.dtype in HALVES else np.zeros(array.shape, bool)


def run(target: str, term: Op, x: Op, value: Array) -> Array:
    with ng.make_transformer(target) as transformer:
        return np.asarray(transformer.computation(term, x)(value))


@pytest.fixture(scope="module")
def passes(tmp_path_factory: pytest.TempPathFactory) -> Passes:
    return passes_of(library().of_class(SAFE_CLASSES), CPU, Cache(tmp_path_factory.mktemp("rules")))


def names(term: Op, passes: Passes) -> list[str]:
    """The ops that a term is lowered to, arguments first."""
    return [t.definition.short for t in topological(lower([term], CPU, passes).roots) if t.args]


@pytest.mark.sampled
@pytest.mark.parametrize("target", ["reference", "cpu"])
@pytest.mark.parametrize(("source", "dtype"), PAIRS, ids=str)
@drawn(8)
@given(data=st.data())
def test_bits_are_read_as_numpy_reads_them(target: str, source: DType, dtype: DType, data: st.DataObject) -> None:
    value = data.draw(words(source))
    x = ng.placeholder((None,), source)
    found = run(target, semi.bitcast(x, dtype), x, value)
    assert found.dtype == dtype and found.shape == value.shape
    wanted, bits = value.view(dtype), f"uint{8 * dtype.itemsize}"
    assert is_open(found)[is_open(wanted) & ~is_open(value)].all()
    told = ~is_open(value) & ~is_open(wanted)
    np.testing.assert_array_equal(found.view(bits)[told], wanted.view(bits)[told])


def sign_cleared(x: Op) -> Op:
    """The size of a float, by its bits."""
    bits = semi.bitcast(x, f"uint{8 * x.dtype.itemsize}")
    most = np.array(2 ** (8 * x.dtype.itemsize - 1) - 1, bits.dtype)
    return semi.bitcast(semi.bitwise_and(bits, ng.constant(most, x.axes)), x.dtype)


@pytest.mark.parametrize("dtype", [d for d in DTYPES if is_float(d)], ids=str)
def test_they_are_computed_with_between_other_steps_of_one_kernel(dtype: DType) -> None:
    value = np.linspace(-8, 8, 1001).astype(dtype)
    x = ng.placeholder(ng.anonymous([1001]), dtype)
    found = run("cpu", semi.negative(sign_cleared(semi.add(x, x))), x, value)
    np.testing.assert_array_equal(found, -np.abs(value + value))


def test_what_is_rounded_to_16_bits_has_the_bits_of_that() -> None:
    value = np.linspace(-8, 8, 1001, dtype="float32")
    x = ng.placeholder(ng.anonymous([1001]))
    for dtype in HALVES:
        found = run("cpu", semi.bitcast(semi.cast(x, dtype), "int16"), x, value)
        np.testing.assert_array_equal(found, value.astype(dtype).view("int16"))


def test_a_cast_between_is_one_or_none(passes: Passes) -> None:
    x = ng.placeholder(ng.anonymous([3]), "int32", name="x")
    number = ng.placeholder(ng.anonymous([3]), name="number")
    assert names(semi.bitcast(semi.bitcast(x, "float32"), "int32"), passes) == []
    assert names(semi.bitcast(x, "uint32"), passes) == ["cast"]
    assert names(semi.cast(semi.bitcast(number, "uint32"), "int32"), passes) == ["bitcast"]
    assert names(semi.bitcast(semi.cast(semi.bitcast(number, "uint32"), "int32"), "float32"), passes) == []
    assert names(semi.bitcast(semi.broadcast(number, (2, 3), (1,)), "int32"), passes) == ["bitcast", "broadcast"]


def test_of_a_constant_it_is_one_unless_that_is_a_nan(passes: Passes) -> None:
    numbers = ng.constant(np.array([1.0, -0.0], "float32"), ng.anonymous([2]))
    assert names(semi.bitcast(numbers, "int32"), passes) == []
    given = ng.constant(np.array(-0x3FFFFF, "int32").view("float32"), ng.anonymous([2]))
    with ng.make_transformer("cpu") as transformer:
        assert transformer.computation(semi.bitcast(given, "int32"))().tolist() == [-0x3FFFFF] * 2
    bits = np.array([0x7FC00001, 0x7F800001], "int32")
    nan = ng.constant(bits, ng.anonymous([2]))
    assert names(semi.bitcast(nan, "float32"), passes) == ["bitcast"]
    with ng.make_transformer("cpu") as transformer:
        found = transformer.computation(semi.bitcast(nan, "float32"))()
    np.testing.assert_array_equal(found.view("int32"), bits)


def test_axes_keep_their_names() -> None:
    x = ng.placeholder({"H": 2, "W": 3}, "float64")
    bits = ng.numpy.bitcast(x, "int64")
    assert bits.axes == x.axes
    value = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(run("cpu", bits, x, value), value.view("int64"))
    np.testing.assert_array_equal(ng.numpy.bitcast(np.float32(1), "int32").type.dtype, "int32")


@pytest.mark.parametrize(
    ("dtype", "other", "says"),
    [("float32", "int16", "numbers of 32 bits, int16 of 16"), ("bool", "int8", "cast from or to uint8"),
     ("uint8", "bool", "cast from or to uint8"), ("float32", "complex64", "complex64")],
)  # fmt: skip
def test_what_has_no_bits_for_it_is_refused(dtype: str, other: str, says: str) -> None:
    for function in (semi.bitcast, ng.numpy.bitcast):
        with pytest.raises(DTypeError, match=says):
            function(ng.placeholder(ng.anonymous([3]), dtype), other)


def test_no_derivative_passes_but_that_of_a_number_itself() -> None:
    x = ng.placeholder(ng.anonymous([3]), "float64")
    whole = semi.cast(semi.bitcast(x, "int64"), "float64")
    own = semi.bitcast(x, "float64")
    value = np.array([1.0, 2.0, -3.0])
    for term, slope in ((whole, 0.0), (own, 1.0)):
        found = run("reference", ng.deriv(semi.sum(term, (0,)), x), x, value)
        np.testing.assert_array_equal(found, np.full(3, slope))
