# SPDX-License-Identifier: Apache-2.0
"""bfloat16: two bytes in memory, arithmetic in float32, and each result rounded to the nearest, to even where two are.

What is right is said in float32 and float64, and by integers that round the bits of a float32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import ngraph_rewrite as ng
from ngraph_rewrite.arguments import as_argument
from ngraph_rewrite.types.dtypes import BFLOAT16

Array = NDArray[Any]
nx = ng.numpy
EVERY = np.arange(2**16, dtype=np.uint16).view(BFLOAT16)
SOME = settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(params=["cpu", "reference"])
def transformer(request: pytest.FixtureRequest) -> Iterator[ng.Transformer]:
    with ng.make_transformer(request.param) as made:
        yield made


def computed(transformer: ng.Transformer, function: Callable[..., Any], *arrays: Array) -> Any:
    inputs = [ng.placeholder(a.shape, a.dtype) for a in arrays]
    return transformer.computation(function(*inputs), *inputs)(*arrays)


def rounded(values: Array) -> Array:
    """Numbers as bfloat16, by way of float32: by the bits, to the nearest and to even."""
    with np.errstate(all="ignore"):
        bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
        near = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
        return np.where(np.isnan(values), np.uint16(0x7FC0), near).astype(np.uint16).view(BFLOAT16)


def assert_same(found: Array, wanted: Array) -> None:
    """The same bits; every NaN is one NaN."""
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    unsigned = f"u{wanted.itemsize}"
    with np.errstate(invalid="ignore"):
        same = (found.view(unsigned) == wanted.view(unsigned)) | (np.isnan(found) & np.isnan(wanted))
    assert same.all(), [x[~same][:4] for x in (found, wanted)]


def numbers(shape: tuple[int, ...], seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(0, 2, shape).astype(BFLOAT16)


# -- conversions ------------------------------------------------------------------------------------------


def test_every_number_becomes_the_float32_that_it_is_and_comes_back(transformer: ng.Transformer) -> None:
    wide = (np.arange(2**16, dtype=np.uint32) << 16).view(np.float32)
    assert_same(computed(transformer, lambda x: nx.astype(x, "float32"), EVERY), wide)
    assert_same(computed(transformer, lambda x: nx.astype(x, "bfloat16"), wide), EVERY)


def test_every_number_is_rounded_to_float16_and_every_float16_to_it(transformer: ng.Transformer) -> None:
    halves = np.arange(2**16, dtype=np.uint16).view(np.float16)
    with np.errstate(all="ignore"):
        wanted = EVERY.astype(np.float32).astype(np.float16)
    assert_same(computed(transformer, lambda x: nx.astype(x, "float16"), EVERY), wanted)
    assert_same(computed(transformer, lambda x: nx.astype(x, "bfloat16"), halves), rounded(halves))


def test_float32_is_rounded_to_the_nearest(transformer: ng.Transformer) -> None:
    """What lies half way between two numbers, and the next ones on both sides; and any others."""
    middle = ((np.arange(2**16, dtype=np.uint32) << 16) + 0x8000).view(np.float32)
    with np.errstate(all="ignore"):
        around = [np.nextafter(middle, np.float32(side)) for side in (-np.inf, np.inf)]
    others = np.random.default_rng(0).integers(0, 2**32, 10**5, dtype=np.uint32).view(np.float32)
    values = np.concatenate([middle, *around, others])
    assert_same(computed(transformer, lambda x: nx.astype(x, "bfloat16"), values), rounded(values))


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "uint64", "float64"])
def test_other_numbers_are_rounded_by_way_of_float32(transformer: ng.Transformer, dtype: str) -> None:
    values = np.random.default_rng(1).integers(-(2**62), 2**62, 1000)
    values = (values >> np.arange(1000) % 63).astype(dtype)
    assert_same(computed(transformer, lambda x: nx.astype(x, "bfloat16"), values), rounded(values))


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "uint64", "float64"])
def test_what_fits_becomes_another_number(transformer: ng.Transformer, dtype: str) -> None:
    limits = np.iinfo(dtype) if "int" in dtype else np.iinfo("int64")
    with np.errstate(invalid="ignore"):
        wide = EVERY.astype(np.float64)
    fits = EVERY[(wide > limits.min) & (wide < limits.max)]
    found = computed(transformer, lambda x: nx.astype(x, dtype), fits)
    assert_same(found, fits.astype(np.float64).astype(dtype))


# -- arithmetic -------------------------------------------------------------------------------------------

EXACT = "negative abs sign square sqrt reciprocal floor ceil round trunc".split()
FUNCTIONS = "exp expm1 log log1p log2 log10 cbrt sin cos tan tanh asin acos atan sinh cosh asinh acosh atanh".split()
NAMES = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh",
         "atanh": "arctanh", "pow": "power", "remainder": "remainder", "atan2": "arctan2"}  # fmt: skip


def test_what_float32_gives_of_every_number_is_rounded(transformer: ng.Transformer) -> None:
    found = computed(transformer, lambda x: [getattr(nx, name)(x) for name in EXACT], EVERY)
    with np.errstate(all="ignore"):
        for name, one in zip(EXACT, found, strict=True):
            assert_same(one, rounded(getattr(np, name)(EVERY.astype(np.float32))))


def test_functions_of_every_number_are_off_by_a_rounding(transformer: ng.Transformer) -> None:
    found = computed(transformer, lambda x: [getattr(nx, name)(x) for name in FUNCTIONS], EVERY)
    with np.errstate(all="ignore"):
        for name, one in zip(FUNCTIONS, found, strict=True):
            right = getattr(np, NAMES.get(name, name))(EVERY.astype(np.float64))
            near = rounded(right)
            off = np.abs(one.astype(np.float64) - right) / np.spacing(np.abs(near)).astype(np.float64)
            assert np.all((off < 0.505) | ~np.isfinite(near)), name
            special = ~np.isfinite(near)
            assert_same(one[special], near[special])


@pytest.mark.sampled
@pytest.mark.parametrize(
    "name", "add subtract multiply divide floor_divide remainder hypot atan2 copysign nextafter".split()
)
def test_what_float32_gives_of_two_is_rounded(transformer: ng.Transformer, name: str) -> None:
    x, y = EVERY, np.random.default_rng(2).permutation(EVERY)
    with np.errstate(all="ignore"):
        if name == "nextafter":
            wanted = np.nextafter(x, y)
        else:
            wanted = rounded(getattr(np, NAMES.get(name, name))(x.astype(np.float32), y.astype(np.float32)))
    assert_same(computed(transformer, getattr(nx, name), x, y), wanted)


@pytest.mark.parametrize("other", ["int64", "uint8", "bool", "float16", "float32", "float64"])
def test_operands_meet_in_the_promoted_dtype(transformer: ng.Transformer, other: str) -> None:
    """Integers become bfloat16 before they are computed with, and compared."""
    x, y = numbers((50,)), np.random.default_rng(3).integers(0, 2, 50).astype(other) * np.asarray(1).astype(other)
    if other == "int64":
        y = y * 257
    total, less = computed(transformer, lambda a, b: (a + b, nx.less(a, b)), x, y)
    meet = nx.result_type("bfloat16", other)
    wide = [a.astype(meet).astype(np.float64) for a in (x, y)]
    assert (
        total.dtype == meet == {"float16": "float32", "float32": "float32", "float64": "float64"}.get(other, BFLOAT16)
    )
    assert (total == (rounded(sum(wide)) if meet == BFLOAT16 else sum(wide).astype(meet))).all()
    assert (less == (wide[0] < wide[1])).all()


def test_parts_of_other_dtypes_are_put_together(transformer: ng.Transformer) -> None:
    """NumPy has no dtype in which bfloat16 and most integers meet."""
    h, k = ng.Axis("H", 3), ng.Axis("K", 3)
    x, y = numbers((3,)), np.array([1, 257, 3], np.uint64)
    p, q, r = (ng.placeholder([axis], a.dtype) for axis, a in ((h, x), (h, y), (k, y)))
    stacked, joined = ng.stack([p, q], ng.Axis("I", 2)), ng.concat_along_axis([p, ng.cast_axes(r, [h])], h)
    found = transformer.computation([stacked, joined], p, q, r)(x, y, y)
    assert_same(found[0], np.stack([x, rounded(y)]))
    assert_same(found[1], np.concatenate([x, rounded(y)]))


# -- sums and products ------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [0, 1])
def test_sums_are_kept_in_more_digits_and_rounded_once(transformer: ng.Transformer, axis: int) -> None:
    """A sum of ones in bfloat16 would stay at 256."""
    ones = np.ones((1000, 1000), BFLOAT16)
    total, mean, most = computed(transformer, lambda x: [f(x, axis=axis) for f in (nx.sum, nx.mean, nx.max)], ones)
    assert total.dtype == mean.dtype == most.dtype == BFLOAT16
    assert (total == 1000).all() and (mean == 1).all() and (most == 1).all()


@SOME
@given(
    st.sampled_from(["cpu", "reference"]),
    st.integers(1, 40),
    st.integers(1, 40),
    st.integers(0, 300),
    st.integers(0, 9),
)
def test_products_of_matrices(target: str, m: int, n: int, k: int, seed: int) -> None:
    x, y = numbers((m, k), seed), numbers((k, n), seed + 1)
    wide = [a.astype(np.float64) for a in (x, y)]
    with ng.make_transformer(target) as transformer:
        found = computed(transformer, nx.matmul, x, y)
        many = computed(transformer, nx.matmul, np.stack([x, x]), y)
    assert found.dtype == many.dtype == BFLOAT16
    bound = (k + 2) * 2.0**-24 * (np.abs(wide[0]) @ np.abs(wide[1])) + np.abs(wide[0] @ wide[1]) * 2.0**-8
    assert (np.abs(found.astype(np.float64) - wide[0] @ wide[1]) <= bound).all()
    assert (np.abs(many.astype(np.float64) - wide[0] @ wide[1]) <= bound).all()


def test_softmax_and_layers_of_networks(transformer: ng.Transformer) -> None:
    """Against float64, which starts from the same numbers."""
    _, c, h, w = axes = [ng.Axis(name, length) for name, length in zip("NCHW", (2, 3, 8, 8), strict=True)]
    filters = [c, ng.Axis("R", 3), ng.Axis("S", 3), ng.Axis("K", 4)]

    def layers(x: ng.Op) -> list[ng.Op]:
        pooled = [ng.pooling(x, op=op, size={h: 2, w: 2}, stride=2) for op in ("max", "avg")]
        weights = ng.constant(numbers((3, 3, 3, 4), 1).astype(x.dtype), filters)
        return [ng.softmax(x, w), ng.layer_norm(x, 1, 0, w), *pooled, ng.convolution(inputs=x, filters=weights)]

    x = numbers((2, 3, 8, 8))
    sides = []
    for dtype in ("bfloat16", "float64"):
        p = ng.placeholder(axes, dtype)
        sides.append(transformer.computation(layers(p), p)(x.astype(dtype)))
    for one, other in zip(*sides, strict=True):
        assert one.dtype == BFLOAT16
        np.testing.assert_allclose(one.astype(np.float64), other, rtol=2**-6, atol=2**-7)


def test_a_derivative_is_of_the_dtype(transformer: ng.Transformer) -> None:
    x = ng.placeholder([ng.Axis("H", 300)], "bfloat16")
    slope = ng.deriv(ng.sum(ng.square(x)), x)
    values = numbers((300,))
    assert slope.dtype == BFLOAT16
    assert_same(transformer.computation(slope, x)(values), rounded(2 * values.astype(np.float32)))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_a_sigmoid_is_rounded_once(transformer: ng.Transformer, dtype: str) -> None:
    x = ng.placeholder((4096,), dtype)
    values = np.random.default_rng(0).normal(size=4096).astype(np.float32).astype(dtype)
    wanted = (1 / (1 + np.exp(-values.astype(np.float64)))).astype(np.float32).astype(dtype)
    assert_same(transformer.computation(nx.sigmoid(x), x)(values), wanted)


# -- in and out -------------------------------------------------------------------------------------------


def test_arrays_are_taken_as_they_are_and_written_into(transformer: ng.Transformer) -> None:
    x = ng.placeholder((100,), "bfloat16")
    values, memory = numbers((100,)), np.empty(100, BFLOAT16)
    assert as_argument(values, x) is values
    computation = transformer.computation(x * 2, x)
    assert computation(values, out=memory) is memory
    assert_same(memory, rounded(2 * values.astype(np.float32)))
    assert_same(computation(values), memory)
    assert_same(computation(values.astype(np.float32)), memory)
    with pytest.raises(ng.ComputationError, match="out for"):
        computation(values, out=np.empty(100, np.float16))


def test_constants_are_of_any_kind(transformer: ng.Transformer) -> None:
    one = ng.constant(ml_dtypes.bfloat16(1.5))
    many = ng.constant(numbers((3,)), [ng.Axis("H", 3)])
    number = nx.asarray(0.1, dtype="bfloat16")
    found = transformer.computation([one, many, number])()
    assert [f.dtype for f in found] == [BFLOAT16] * 3
    assert found[0] == 1.5 and found[2] == ml_dtypes.bfloat16(0.1)
    assert_same(found[1], numbers((3,)))
    assert repr(one.type) == "bfloat16[]"


def test_variables_are_saved_and_restored(transformer: ng.Transformer, tmp_path: Path) -> None:
    w = ng.variable([ng.Axis("H", 4)], "bfloat16", initial_value=0, name="w")
    b = ng.variable([], "bfloat16", initial_value=1, name="b")
    values = numbers((4,))
    computation = transformer.computation([w, b])
    transformer.set(w, values)
    transformer.save(tmp_path / "state.npz")
    transformer.set(w, np.zeros(4))
    transformer.restore(tmp_path / "state.npz")
    found = computation()
    assert_same(found[0], values)
    assert found[1].dtype == BFLOAT16 and found[1] == 1


def test_numbers_are_drawn(transformer: ng.Transformer) -> None:
    drawn = transformer.computation(ng.uniform([ng.Axis("H", 1000)], dtype="bfloat16"))()
    assert drawn.dtype == BFLOAT16 and 0.4 < drawn.astype(np.float64).mean() < 0.6


def test_limits_are_asked_for() -> None:
    assert float(nx.finfo("bfloat16").eps) == 2.0**-7
    assert nx.isdtype("bfloat16", "real floating") and nx.isdtype("bfloat16", "numeric")
    assert nx.can_cast("bfloat16", "float32") and not nx.can_cast("bfloat16", "float16")


@pytest.mark.parametrize("axis", [0, 1, None], ids=str)
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_sums_of_sixteen_bits_are_those_of_float64_rounded(dtype: str, axis: int | None) -> None:
    """Sums in float32 of few of them at a time, alone or beside an extremum, whatever is left of a row."""
    value = np.random.default_rng(8).normal(2, 3, (75, 301)).astype(dtype)
    x = ng.placeholder(value.shape, dtype)
    total, greatest = ng.numpy.sum(x, axis=axis), ng.numpy.max(x, axis=axis)
    with ng.make_transformer("cpu") as transformer:
        alone = transformer.computation(total, x)(value)
        found, most = transformer.computation([total, greatest], x)(value)
    wide = value.astype(np.float64).sum(axis=axis)
    for one in (alone, found):
        off = np.abs(one.astype(np.float64) - wide)
        assert np.all(off <= 0.501 * np.abs(wide) * 2.0 ** (-7 if dtype == "bfloat16" else -10))
    np.testing.assert_array_equal(most, value.max(axis=axis))


@pytest.mark.parametrize("axis", [0, 1])
def test_sums_of_the_greatest_and_of_the_least_bfloat16_are_right(axis: int) -> None:
    """In float32 the first ones would be infinite on the way; of a 256th of the least ones nothing is lost."""
    greatest, least = float(ml_dtypes.finfo(BFLOAT16).max), 2.0**-133
    columns = np.array([[greatest] * 300 + [-greatest] * 299, [least] * 599, [np.inf] + [0.0] * 598], BFLOAT16)
    value = np.ascontiguousarray(np.tile(columns, (9, 1)) if axis else np.tile(columns, (9, 1)).T)
    x = ng.placeholder(value.shape, "bfloat16")
    with ng.make_transformer("cpu") as transformer:
        found = transformer.computation(ng.numpy.sum(x, axis=axis), x)(value)
    expected = np.tile(np.array([greatest, 599 * least, np.inf]).astype(BFLOAT16), 9)
    np.testing.assert_array_equal(found.astype(np.float64), expected.astype(np.float64))
