# SPDX-License-Identifier: Apache-2.0
"""Rows are multiplied by reciprocals instead of being divided: where that is right; special values are the same."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import ngraph_rewrite as ng
from ngraph_rewrite.types.dtypes import BFLOAT16
from tests.programs import drawn

N, C = ng.Axis("N", 3), ng.Axis("C", 5)
Build = Callable[[ng.Op], ng.Op]


def softmax(x: ng.Op) -> ng.Op:
    return ng.softmax(x, normalization_axes=["C"])


def plain_softmax(x: ng.Op) -> ng.Op:
    """As it is written in a hurry: the greatest element is taken off, whatever it is."""
    e = ng.exp(x - ng.max(x, ["C"]))
    return e / ng.sum(e, ["C"])


def of_unit_length(x: ng.Op) -> ng.Op:
    return x / ng.sqrt(ng.sum(x * x, ["C"]))


MULTIPLIED: dict[str, Build] = {"softmax": softmax, "plain softmax": plain_softmax, "of unit length": of_unit_length}


def by_exponentials_less(top: Build) -> Build:
    """Divided by the sum of ``exp(x - top)``."""
    return lambda x: x / ng.sum(ng.exp(x - top(x)), ["C"])


def greatest(x: ng.Op) -> ng.Op:
    return ng.max(x, ["C"])


DIVIDED: dict[str, Build] = {
    "a sum": lambda x: x / ng.sum(x, ["C"]),
    "the sum of other exponentials": lambda x: ng.exp(x) / ng.sum(ng.exp(x * 2), ["C"]),
    "less more than the greatest": by_exponentials_less(lambda x: greatest(x) + 1),
    "less the greatest of another": by_exponentials_less(lambda x: greatest(x * x)),
    "less the least": by_exponentials_less(lambda x: ng.min(x, ["C"])),
    "less the greatest where it is infinite": by_exponentials_less(
        lambda x: ng.select(ng.isfinite(greatest(x)), 0, greatest(x))
    ),
    "less another number than 0": by_exponentials_less(lambda x: ng.select(ng.isfinite(greatest(x)), greatest(x), 100)),
    "less the greatest where another is finite": by_exponentials_less(
        lambda x: ng.select(ng.isfinite(greatest(x * x)), greatest(x), 0)
    ),
    "the greatest": lambda x: x / greatest(x),
    "another root at each place": lambda x: x / ng.sqrt(x + ng.sum(x, ["C"])),
    "one root of one number": lambda x: greatest(x) / ng.sqrt(ng.sum(x, ["C"])),
}


def computed(build: Build, x: np.ndarray) -> tuple[np.ndarray, str]:
    """The value on the CPU, and the kernels."""
    given_ = ng.placeholder([N, C], x.dtype)
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(build(given_), given_)
        return computation(x), computation.source()


def divides_elements(source: str) -> bool:
    """Whether a loop over a row divides: what is computed once for each row is not as deep."""
    return re.search(r"^ {12,}v\d+ = v\d+ / v\d+$", source, re.MULTILINE) is not None


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", MULTIPLIED)
def test_rows_are_multiplied(name: str, dtype: str) -> None:
    x = np.random.default_rng(0).normal(size=(3, 5)).astype(dtype)
    found, source = computed(MULTIPLIED[name], x)
    assert not divides_elements(source) and re.search(r"= \S*1\.0\)? / v", source), source
    given_ = ng.placeholder([N, C], dtype)
    with ng.make_transformer("reference") as transformer:
        right = transformer.computation(MULTIPLIED[name](given_), given_)(x)
    np.testing.assert_allclose(found, right, rtol=8 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", ["float16", BFLOAT16], ids=str)
def test_rows_of_16_bits_are_multiplied_in_32(dtype: Any) -> None:
    """The reciprocal is not rounded to 16 bits, and the product is so once: each number is that of the quotient."""
    x = np.random.default_rng(0).normal(size=(3, 5)).astype(dtype)
    found, source = computed(of_unit_length, x)
    assert re.search(r"= \S*1\.0\)? / v", source) and not re.search(r"\(v\d+ / v\d+\)$", source, re.MULTILINE), source
    total = np.sum((x * x).astype(np.float64), axis=1, keepdims=True).astype(dtype)
    length = np.sqrt(total.astype(np.float32)).astype(dtype)
    np.testing.assert_array_equal(found, (x.astype(np.float32) / length.astype(np.float32)).astype(dtype))


@pytest.mark.parametrize(("dtype", "bits"), [("float16", 11), (BFLOAT16, 8)], ids=str)
def test_quotients_of_all_significands_are_products(dtype: Any, bits: int) -> None:
    """Rounded to 16 bits from the product in float32, and from the quotient in float64."""
    every = np.arange(2 ** (bits - 1), 2**bits, dtype=np.float32)
    products = (every[:, None] * (np.float32(1) / every)).astype(dtype)
    significand, exponent = np.frexp(every[:, None].astype(np.float64) / every)
    rounded = np.ldexp(np.rint(np.ldexp(significand, bits)), exponent - bits)
    np.testing.assert_array_equal(products.astype(np.float64), rounded)


@pytest.mark.parametrize("name", DIVIDED)
def test_a_divisor_that_may_be_anything_divides(name: str) -> None:
    x = np.random.default_rng(0).uniform(1, 2, size=(3, 5)).astype(np.float32)
    _, source = computed(DIVIDED[name], x)
    assert re.search(r"v\d+ = v\d+ / v\d+$", source, re.MULTILINE) and "1.0) / v" not in source, source


def test_terms_that_many_share_are_asked_once() -> None:
    """What a divisor is made of is a graph whose paths double at each level."""
    x = ng.placeholder([N, C])
    s = ng.sum(x * x, ["C"])
    for depth in range(40):
        s = ng.maximum(s * s, ng.absolute(s)) if depth % 2 else ng.minimum(s + s, -s)
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation((x - ng.max(x, ["C"])) / ng.sqrt(s), x)
        computation(np.zeros((3, 5), np.float32))
        assert computation.stats()["launches"] < 40


INF, NAN = float("inf"), float("nan")
SPECIAL = st.sampled_from([0.0, -0.0, 1.0, -3.0, 88.0, 1e-45, 1e-38, -1e-20, 1e19, 3e38, -3e38, INF, -INF, NAN])


@pytest.fixture(scope="module", params=MULTIPLIED)
def multiplied(request: pytest.FixtureRequest) -> Iterator[tuple[str, ng.Computation]]:
    """The name of what is multiplied, and its computation in float32: one for all rows."""
    x = ng.placeholder([N, C], "float32")
    with ng.make_transformer("cpu") as transformer:
        yield request.param, transformer.computation(MULTIPLIED[request.param](x), x)


@drawn(300)
@example([INF, 1.0, -INF, 0.0, 3e38])
@example([-INF] * 5)
@example([1e-45] * 5)
@example([0.0] * 5)
@given(st.lists(SPECIAL, min_size=5, max_size=5))
def test_what_is_special_stays_so(multiplied: tuple[str, ng.Computation], row: list[float]) -> None:
    """NaN, infinities, zeros and their signs are those of the quotient that NumPy computes, in float32."""
    x, (name, computation) = np.array([row] * 3, np.float32), multiplied
    found = computation(x)
    with np.errstate(all="ignore"):
        top = np.max(x, axis=1, keepdims=True)
        if name == "softmax":
            top = np.where(np.isfinite(top), top, np.float32(0))
        e = np.exp(x - top)
        total = np.sum(e, axis=1, keepdims=True, dtype=np.float64).astype(np.float32)
        length = np.sqrt(np.sum((x * x).astype(np.float64), axis=1, keepdims=True).astype(np.float32))
        right = x / length if name == "of unit length" else e / total
    assert np.array_equal(np.isnan(found), np.isnan(right))
    known = ~np.isnan(right)
    np.testing.assert_allclose(found[known], right[known], rtol=1e-6, atol=3e-45)
    assert np.array_equal(np.signbit(found[known]), np.signbit(right[known]))
