# SPDX-License-Identifier: Apache-2.0
"""The coverage table of docs/numpy.rst says of every function whether there is one."""

import re
from pathlib import Path

import pytest

import ngraph_rewrite as ng

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE = (DOCS / "numpy.rst").read_text(encoding="utf-8").partition(".. _coverage:")[2]
TABLE = dict(re.findall(r"^``(\w+)``\s+(yes|no)\b", PAGE, re.MULTILINE))
# The functions, constants and dtypes of the standard 2024.12, and its extensions.
STANDARD = """
    e inf nan newaxis pi
    __array_api_version__ __array_namespace_info__
    bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128
    astype can_cast finfo iinfo isdtype result_type
    arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like tril triu zeros
    zeros_like
    abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_invert bitwise_or
    bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh divide equal exp expm1 floor floor_divide greater
    greater_equal hypot imag isfinite isinf isnan less less_equal log log1p log2 log10 logaddexp logical_and logical_not
    logical_or logical_xor maximum minimum multiply negative nextafter not_equal positive pow real reciprocal remainder
    round sign signbit sin sinh square sqrt subtract tan tanh trunc
    take take_along_axis argmax argmin count_nonzero nonzero searchsorted where
    matmul matrix_transpose tensordot vecdot linalg fft
    broadcast_arrays broadcast_to concat expand_dims flip moveaxis permute_dims repeat reshape roll squeeze stack tile
    unstack
    unique_all unique_counts unique_inverse unique_values argsort sort
    cumulative_prod cumulative_sum max mean min prod std sum var all any diff
""".split()


@pytest.mark.parametrize("name", TABLE)
def test_the_table_is_true(name: str) -> None:
    assert hasattr(ng.numpy, name) == (TABLE[name] == "yes")


@pytest.mark.parametrize("name", [n for n, said in TABLE.items() if said == "yes"])
def test_what_is_there_is_listed_and_documented(name: str) -> None:
    found = getattr(ng.numpy, name)
    assert name in ng.numpy.__all__
    assert not callable(found) or ">>>" in (found.__doc__ or "")


def test_the_table_names_every_function_of_the_standard() -> None:
    assert set(STANDARD) == set(TABLE)
    assert len(TABLE) == len(re.findall(r"^``\w+``", PAGE, re.MULTILINE))
