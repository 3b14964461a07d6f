# SPDX-License-Identifier: Apache-2.0
"""Promotion is NumPy's, Python scalars are weak, and other dtypes are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ngraph_rewrite.errors import DTypeError, NGraphRewriteError
from ngraph_rewrite.types.dtypes import (
    BFLOAT16,
    DTYPES,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    as_dtype,
    can_cast,
    finfo,
    holds,
    is_float,
    kind_of,
    promote,
    scalar_dtype,
)

# The dtypes that NumPy knows itself, and says how they promote.
NUMPYS = [d for d in DTYPES if d != BFLOAT16]
SCALARS = [True, 1, -1, 300, 0.5, float("nan")]


@given(st.lists(st.sampled_from([*NUMPYS, *SCALARS]), min_size=1, max_size=4))
def test_promotion_is_numpys(operands: list[Any]) -> None:
    assert promote(*operands) == np.result_type(*operands)


@given(st.sampled_from(NUMPYS), st.sampled_from(NUMPYS))
def test_promotion_is_that_of_arrays_that_meet(left: np.dtype[Any], right: np.dtype[Any]) -> None:
    assert promote(left, right) == (np.zeros(1, left) + np.zeros(1, right)).dtype


@given(st.lists(st.sampled_from([*DTYPES, *SCALARS]), max_size=4), st.randoms())
def test_bfloat16_is_kept_beside_what_is_no_other_float(operands: list[Any], random: Any) -> None:
    """As in JAX: beside float16 it becomes float32, and beside wider floats what NumPy makes of a float32 there."""
    found = promote(BFLOAT16, *operands)
    floats = [d for d in operands if isinstance(d, np.dtype) and d.kind == "f"]
    assert found == (np.result_type(FLOAT32, *floats) if floats else BFLOAT16)
    mixed = [BFLOAT16, *operands]
    random.shuffle(mixed)
    assert promote(*mixed) == found


def test_bfloat16_is_a_float_of_its_own() -> None:
    assert is_float(BFLOAT16) and kind_of(BFLOAT16) == "f" and as_dtype("bfloat16") is BFLOAT16
    assert as_dtype(BFLOAT16.newbyteorder()) == BFLOAT16
    assert scalar_dtype(BFLOAT16.type(1)) == BFLOAT16
    assert (finfo(BFLOAT16).nmant, float(finfo(BFLOAT16).max)) == (7, (2 - 2**-7) * 2.0**127)
    for other in (FLOAT16, FLOAT32, FLOAT64):
        assert can_cast(BFLOAT16, other, "same_kind") and can_cast(other, BFLOAT16, "same_kind")
        assert holds(other, BFLOAT16) == can_cast(BFLOAT16, other) == (other != FLOAT16)
        assert not holds(BFLOAT16, other)
    assert not can_cast(BFLOAT16, np.dtype("int64"), "same_kind")


@pytest.mark.parametrize("dtype", NUMPYS, ids=str)
def test_every_spelling_is_one_dtype(dtype: np.dtype[Any]) -> None:
    for spelling in (dtype, dtype.type, dtype.name, dtype.str, dtype.newbyteorder(">"), dtype.newbyteorder("<")):
        assert as_dtype(spelling) is dtype or as_dtype(spelling) == dtype
        assert as_dtype(spelling).isnative
    assert is_float(dtype) == (dtype.kind == "f")


def test_the_default_is_float32() -> None:
    assert as_dtype(None) == np.float32


@pytest.mark.parametrize("dtype", ["complex64", object, "U3", "datetime64[s]", "i4,i4", np.void])
def test_an_unsupported_dtype_is_named_with_those_that_are(dtype: Any) -> None:
    with pytest.raises(DTypeError, match="is not supported\n  use one of bool, int8") as raised:
        as_dtype(dtype)
    assert isinstance(raised.value, NGraphRewriteError) and isinstance(raised.value, TypeError)


@pytest.mark.parametrize("thing", ["", "float33", 3, {"a": 1}, "float32[", "float32, flaot64", "i4,,"], ids=repr)
def test_what_is_not_a_dtype_is_named(thing: Any) -> None:
    with pytest.raises(DTypeError, match="is not a dtype"):
        as_dtype(thing)


@pytest.mark.parametrize("dtype", [np.dtype(">f4"), np.dtype(">i8")])
def test_what_lies_in_another_order_promotes_to_a_dtype_of_terms(dtype: np.dtype[Any]) -> None:
    for operands in ((dtype, 1), (dtype, dtype), (dtype, True)):
        assert promote(*operands) in DTYPES


def test_a_complex_number_does_not_promote() -> None:
    with pytest.raises(DTypeError, match="complex64 is not supported"):
        promote(np.dtype("float32"), 1j)


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(True, "bool"), (3, "int64"), (0.5, "float32"), (np.float64(0.5), "float64"), (np.int8(3), "int8")],
    ids=repr,
)
def test_a_scalar_on_its_own(value: Any, dtype: str) -> None:
    assert scalar_dtype(value) == dtype
