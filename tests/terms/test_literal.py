# SPDX-License-Identifier: Apache-2.0
"""A literal is its bits: equality, uniformity, the numbers it is, casts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from ngraph_rewrite.errors import DTypeError, NGraphRewriteError
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.types.dtypes import BFLOAT16, DTYPES, is_float

SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)


def _arrays(dtype: np.dtype[Any]) -> st.SearchStrategy[NDArray[Any]]:
    if dtype == BFLOAT16:  # which Hypothesis does not know
        return hnp.arrays(np.uint16, SHAPES).map(lambda bits: bits.view(dtype))
    return hnp.arrays(dtype, SHAPES)


ARRAYS: st.SearchStrategy[NDArray[Any]] = st.sampled_from(DTYPES).flatmap(_arrays)


@given(ARRAYS, ARRAYS)
def test_equality_is_of_bits(a: NDArray[Any], b: NDArray[Any]) -> None:
    x, y = Literal(a), Literal(b)
    assert x == Literal(a.copy()) and hash(x) == hash(Literal(a.copy()))
    if a.shape == b.shape:
        assert (x == y) == (a.dtype == b.dtype and a.tobytes() == b.tobytes())
    assert x != x.scalar


def test_zeros_of_two_signs_differ_and_a_nan_is_itself() -> None:
    assert Literal(0.0) != Literal(-0.0)
    assert Literal([1.0, 0.0]) != Literal([1.0, -0.0])
    assert Literal(math.nan) == Literal(math.nan)
    assert Literal(np.float32(1)) != Literal(np.float64(1))
    assert Literal(True) != Literal(1) != Literal(1.0)


@given(ARRAYS)
def test_a_uniform_array_is_one_number(a: NDArray[Any]) -> None:
    bits = {element.tobytes() for element in a.reshape(-1)}
    literal = Literal(a)
    assert (literal.scalar is not None) == (len(bits) == 1)
    assert literal.array(a.shape).tobytes() == a.tobytes()
    assert literal.array(a.shape).shape == a.shape
    if len(bits) == 1:
        assert literal == Literal(a.reshape(-1)[0])
        assert literal.array((2, 2)).tobytes() == a.reshape(-1)[:1].tobytes() * 4


def test_a_literal_does_not_change_with_its_array() -> None:
    own = np.array([1.0, 2.0])
    literal = Literal(own)
    own[0] = 5.0
    assert literal == Literal([1.0, 2.0])
    with pytest.raises(ValueError, match="read-only"):
        literal.array((2,))[0] = 5.0


def test_what_bytes_hold_is_not_copied_unless_something_else_could_be_changed() -> None:
    """A read-only view of an array that is not, or a part of bytes, which would keep the rest."""
    held = np.arange(6.0).tobytes()
    whole = np.frombuffer(held).reshape(2, 3)
    literal = Literal(whole)
    assert np.shares_memory(literal.array((2, 3)), whole)
    whole.shape = (3, 2)
    assert literal.shape == (2, 3)
    own = np.arange(6.0).reshape(2, 3)
    fixed = own.view()
    fixed.setflags(write=False)
    for one in (fixed, whole.T, whole[1:], np.frombuffer(b"." + held, offset=1)):
        assert not np.shares_memory(Literal(one).array(one.shape), one)
        assert Literal(one) == Literal(one.copy())


def test_large_literals_differ_wherever_they_do() -> None:
    """Also where their hashes do not look."""
    a = np.arange(2**18)
    for place in (0, 1, 2**17 + 1, 2**18 - 1):
        b = a.copy()
        b[place] += 1
        assert Literal(a) != Literal(b) and Literal(b) == Literal(b.copy())


@given(st.sampled_from(DTYPES), st.one_of(st.booleans(), st.integers(-128, 255), st.floats()))
def test_a_literal_is_the_number_it_was_made_of(dtype: np.dtype[Any], number: float) -> None:
    try:
        literal = Literal(number, dtype)
    except DTypeError:
        return
    lost = not math.isnan(number) and literal.scalar != number
    if isinstance(number, bool) == (dtype.kind == "b") and is_float(dtype) == isinstance(number, float) and not lost:
        assert literal.is_number(number)


@pytest.mark.parametrize(
    ("value", "number", "expected"),
    [
        (np.float32(0.1), 0.1, True),  # a number is rounded as the constant was
        (np.float32(0), 0, True),
        (np.float32(0), 0.0, True),
        (np.float32(0), -0.0, False),
        (np.float32(-0.0), 0, False),
        (np.float32(-0.0), -0.0, True),
        (np.int32(0), 0, True),
        (np.int32(0), -0.0, False),
        (np.int32(3), 3.0, True),
        (np.int32(3), math.nan, False),
        (np.int64(2**53 + 1), float(2**53), False),
        (np.uint8(255), -1, False),
        (True, True, True),
        (True, 1, False),
        (1, True, False),
        (1.0, True, False),
        (math.nan, math.nan, True),
        (math.inf, math.inf, True),
        (math.inf, -math.inf, False),
        (np.float16(math.inf), 1e10, False),  # too large is not infinite,
        (np.float32(0), 1e-60, False),  # and too small is not zero
        (np.float32(1), 2**70, False),
        ([1.0, 2.0], 1.0, False),
        ([], 0.0, False),
    ],
    ids=repr,
)
def test_which_number_it_is(value: Any, number: float, expected: bool) -> None:
    assert Literal(value).is_number(number) is expected


@example(np.array([-1.5, 0.5]), np.dtype("int8"))
@given(ARRAYS, st.sampled_from(DTYPES))
def test_a_cast_is_numpys(a: NDArray[Any], dtype: np.dtype[Any]) -> None:
    """Of floats that are integers of the dtype without their fractions: of others NumPy has no say, nor has C."""
    if is_float(a.dtype) and dtype.kind in "iu":
        least, most = float(np.iinfo(dtype).min), float(np.iinfo(dtype).max)
        assume(np.all((a.astype(float) > least - 1) & (a.astype(float) < most + 1)))
    with np.errstate(all="ignore"):
        assert Literal(a).cast(dtype) == Literal(a.astype(dtype))


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(300, "uint8"), (-1, "uint8"), ([300], "uint8"), (2**70, "int64"), (math.nan, "int32")],
    ids=repr,
)
def test_what_does_not_fit_is_refused(value: Any, dtype: Any) -> None:
    with pytest.raises(DTypeError, match="cannot be a constant.*\n  choose a wider dtype") as raised:
        Literal(value, dtype)
    assert isinstance(raised.value, NGraphRewriteError) and isinstance(raised.value, TypeError)


@pytest.mark.parametrize(
    ("value", "advice"), [([1, [2]], "lists of equal length"), (1j, "no complex ones"), ("a", "real numbers")], ids=repr
)
def test_what_is_no_array_of_numbers_is_told_why(value: Any, advice: str) -> None:
    with pytest.raises(DTypeError, match=f"(?s)cannot be a constant.*{advice}"):
        Literal(value, "float32" if isinstance(value, complex | str) else None)


@pytest.mark.parametrize("value", ["a", None, 1j, 2**70], ids=repr)
def test_what_is_not_a_number_is_refused(value: Any) -> None:
    with pytest.raises(DTypeError, match="is not supported"):
        Literal(value)


def test_an_overflow_is_an_infinity_as_numpys() -> None:
    assert Literal(1e300, "float16").scalar == math.inf


def test_a_foreign_byte_order_is_read() -> None:
    assert Literal(np.array([1, 2], ">i4")) == Literal(np.array([1, 2], "int32"))


@pytest.mark.parametrize(
    "value", ["3", b"3", ["3", "4"], np.array("3"), np.datetime64(3, "D"), np.array([3j])], ids=repr
)
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_what_only_looks_like_a_number_is_none(value: object, dtype: str) -> None:
    with pytest.raises(DTypeError, match=f"cannot be a constant of {dtype}"):
        Literal(value, dtype)
