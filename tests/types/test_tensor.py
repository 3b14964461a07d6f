# SPDX-License-Identifier: Apache-2.0
"""A tensor type is a value: dtype and axes, equal when both are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ngraph_rewrite.errors import DTypeError, DuplicateAxisNames
from ngraph_rewrite.types.axes import Axes, Axis, anonymous
from ngraph_rewrite.types.dtypes import DTYPES
from ngraph_rewrite.types.lengths import Length
from ngraph_rewrite.types.tensor import TensorType

AXES = st.lists(st.sampled_from([Axis("H", 2), Axis("W", 3), Axis("N")]), unique=True).map(Axes)
TYPES = st.builds(TensorType, st.sampled_from(DTYPES), AXES)


@given(TYPES, TYPES)
def test_types_are_equal_when_dtype_and_axes_are(a: TensorType, b: TensorType) -> None:
    same = a.dtype == b.dtype and a.axes == b.axes
    assert (a == b) == same
    assert not same or hash(a) == hash(b)
    assert a != (a.dtype, a.axes)


@given(TYPES, st.sampled_from(DTYPES), AXES)
def test_parts_can_be_exchanged(a: TensorType, dtype: np.dtype[Any], axes: Axes) -> None:
    assert a.with_dtype(dtype) == TensorType(dtype, a.axes)
    assert a.with_axes(axes) == TensorType(a.dtype, axes)
    assert a.with_dtype(dtype).with_dtype(a.dtype) == a


@given(TYPES)
def test_a_stripped_type_keeps_dtype_and_shape(a: TensorType) -> None:
    plain = a.stripped()
    assert (plain.dtype, plain.shape, plain.rank, plain.size) == (a.dtype, a.shape, a.rank, a.size)
    assert plain.axes == anonymous(a.shape)
    assert plain.stripped() == plain


def test_binding_makes_lengths_known() -> None:
    unknown = TensorType("int8", {"N": None, "H": 2})
    assert unknown.shape == (Length.symbol("N"), 2)
    assert unknown.bound({"N": 3}) == TensorType("int8", [Axis("N", 3), Axis("H", 2)])


def test_a_type_reads_as_dtype_and_axes() -> None:
    assert repr(TensorType(None, {"H": 2, "N": None})) == "float32[H:2, N:N]"
    assert repr(TensorType("bool")) == "bool[]"


def test_mistakes_are_those_of_the_parts() -> None:
    with pytest.raises(DTypeError):
        TensorType("complex64", {"H": 2})
    with pytest.raises(DuplicateAxisNames):
        TensorType("int8", [Axis("H", 2), Axis("H", 2)])
