# SPDX-License-Identifier: Apache-2.0
"""Library calls on a GPU: what kernels store is what the ops mean, bit for bit but where rounding is told of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from gpu_examples import examples
from hypothesis import given
from hypothesis import strategies as st

import ngraph_rewrite as ng
from ngraph_rewrite import semi
from ngraph_rewrite.plan.cuda import factors as device_factors
from ngraph_rewrite.plan.cuda import order, running
from ngraph_rewrite.types.dtypes import DTYPES, is_float

pytest.importorskip("numba_cuda", reason="needs numba-cuda, which the extra `test` installs")
pytestmark = pytest.mark.cuda

Array = np.ndarray[Any, Any]
NUMBERS = DTYPES[1:]
FLOATS = [d for d in DTYPES if is_float(d)]
INDICES = ["int8", "int32", "int64", "uint8", "uint64"]
TARGETS = ("cuda", "reference")
few = examples(25)
LENGTHS, WIDTHS, SEEDS = st.integers(0, 11), st.integers(0, 3), st.integers(0, 2**32)


def numbers(shape: tuple[int, ...], dtype: Any, seed: int, low: int = -3, high: int = 4) -> Array:
    """Small whole numbers, exact in every dtype, many alike; of floats also NaN, infinities and zeros of both signs."""
    rng, kind = np.random.default_rng(seed), np.dtype(dtype)
    if kind.kind == "b":
        return rng.random(shape) < 0.5
    array = rng.integers(0 if kind.kind == "u" else low, high, shape).astype(kind)
    edges = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0])
    return np.where(rng.random(shape) < 0.4, rng.choice(edges, shape).astype(kind), array) if is_float(kind) else array


def same(found: Array, wanted: Array) -> bool:
    """Whether all is equal bit for bit, any NaN being one NaN."""
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    if not is_float(found.dtype):
        return np.array_equal(found, wanted)
    bits = [np.where(np.isnan(a), 1, np.ascontiguousarray(a).view(f"u{a.itemsize}")) for a in (found, wanted)]
    return np.array_equal(*bits)


def computed(function: Callable[..., ng.Op], *arrays: Array, target: str = "cuda") -> tuple[Array, list[str]]:
    """What a function of placeholders gives, and the kernels that ran."""
    terms = [ng.placeholder(a.shape, a.dtype) for a in arrays]
    with ng.make_transformer(target) as transformer:
        computation = transformer.computation(function(*terms), *terms)
        value = np.asarray(computation(*arrays))
        names = computation.stats()["kernels"] if target == "cuda" else []
    return value, [name.rpartition("_")[0] for name in names]


def agrees(function: Callable[..., ng.Op], *arrays: Array) -> list[str]:
    """Demand the meaning, and return the kernels that ran."""
    found, names = computed(function, *arrays)
    assert same(found, computed(function, *arrays, target="reference")[0])
    return names


# -- order -------------------------------------------------------------------------------------------------------------


@few
@given(st.sampled_from(DTYPES), WIDTHS, LENGTHS, WIDTHS, st.booleans(), st.sampled_from([2, 4, 1024]), SEEDS)
def test_a_sort_is_stable_with_nan_last(
    dtype: np.dtype, outer: int, n: int, inner: int, descending: bool, tile: int, seed: int
) -> None:
    x = numbers((outer, n, inner), dtype, seed)
    with patch.object(order, "TILE", tile):
        for sort in (semi.sort, semi.argsort):
            agrees(lambda x, sort=sort: sort(x, axis=1, descending=descending), x)


def test_a_long_line_is_sorted_in_passes() -> None:
    x = numbers((2, 3 * order.TILE), "float32", 0)[:, : 2 * order.TILE + 7]
    assert agrees(lambda x: semi.argsort(x, axis=1), x) == ["sort", "merge", "merge"]


@pytest.mark.parametrize("n, dtype", [(9, "int32"), (10, "int64")])
def test_positions_of_a_line_too_long_for_int32_are_int64_on_the_way(
    n: int, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There may be 2**32 of them on a large GPU; here int32 is for 9."""
    monkeypatch.setattr(order, "TILE", 4)
    monkeypatch.setattr(order, "_LARGE", 9)
    x = ng.placeholder((2, n), "float64")
    with ng.make_transformer("cuda") as transformer:
        computation = transformer.computation(semi.argsort(x, axis=1), x)
        found = computation(array := numbers((2, n), "float64", 0))
        assert f"places = shared_{dtype}(8)" in computation.source()
        assert f"places[number] = load_{dtype}(first_order, at, 1)" in computation.source()
    assert found.tolist() == np.argsort(array, axis=1, kind="stable").tolist()


@few
@given(st.sampled_from(DTYPES), LENGTHS, LENGTHS, st.booleans(), SEEDS)
def test_places_in_a_vector_are_found(dtype: np.dtype, length: int, count: int, right: bool, seed: int) -> None:
    x, v = numbers((length,), dtype, seed), numbers((count, 2), dtype, seed + 1)
    ordered = computed(lambda x: semi.sort(x, axis=0), x, target="reference")[0]
    agrees(lambda x, v: semi.searchsorted(x, v, right=right), ordered, v)


# -- indices -----------------------------------------------------------------------------------------------------------


def indices(shape: tuple[int, ...], dtype: str, length: int, seed: int) -> Array:
    """Indices of an axis, some from its end and some outside."""
    low = 0 if dtype[0] == "u" else -length - 2
    return np.random.default_rng(seed).integers(low, length + 2, shape).astype(dtype)


@few
@given(st.sampled_from(DTYPES), st.sampled_from(INDICES), WIDTHS, LENGTHS, LENGTHS, WIDTHS, SEEDS)
def test_elements_are_taken(
    dtype: np.dtype, index: str, outer: int, length: int, count: int, inner: int, seed: int
) -> None:
    x, along = numbers((outer, length, inner), dtype, seed), indices((outer, count, inner), index, length, seed)
    agrees(lambda x, i: semi.take_along(x, i, axis=1), x, along)
    agrees(lambda x, i: semi.gather(x, i, axis=1), x, indices((count, 2), index, length, seed))


HOW = ["set", "add", "multiply", "max", "min"]


@few
@given(
    st.sampled_from(HOW),
    st.sampled_from(NUMBERS),
    st.sampled_from(INDICES),
    WIDTHS,
    LENGTHS,
    WIDTHS,
    st.sampled_from([0, 64]),
    SEEDS,
)
def test_what_goes_to_one_place_is_put_there_in_order(
    how: str, dtype: np.dtype, index: str, outer: int, count: int, inner: int, few: int, seed: int
) -> None:
    x, updates = numbers((outer, 4, inner), dtype, seed), numbers((outer, count, inner), dtype, seed + 1)
    along = indices((outer, count, inner), index, 4, seed)
    with patch.object(order, "FEW", few), patch.object(order, "TILE", 4):
        agrees(lambda x, i, u: semi.put_along(x, i, u, axis=1, how=how), x, along, updates)
        agrees(lambda x, i, u: semi.scatter(x, i, u, 1, how), x, indices((count,), index, 4, seed), updates)


def test_rounding_shows_the_order_of_additions() -> None:
    updates = np.random.default_rng(0).normal(size=(200, 2)).astype(np.float32)
    at = np.random.default_rng(1).integers(-3, 3, 200)
    names = agrees(semi.scatter_add, np.zeros((3, 2), np.float32), at, updates)
    assert names == ["map", "places", "sort", "segments"]


# -- along lines -------------------------------------------------------------------------------------------------------


@few
@given(st.sampled_from(NUMBERS), WIDTHS, LENGTHS, WIDTHS, st.booleans(), SEEDS)
def test_a_recurrence_rounds_each_step(
    dtype: np.dtype, outer: int, n: int, inner: int, reverse: bool, seed: int
) -> None:
    a, b = (numbers((outer, n, inner), dtype, seed + k) for k in range(2))
    agrees(lambda a, b: semi.recurrence(a, b, axis=1, reverse=reverse), a, b)


FORMS = [(32, 4096), (0, 4096), (0, 3)]  # a thread for a line, a block, several blocks


@few
@given(
    st.sampled_from(NUMBERS),
    st.sampled_from([semi.cumsum, semi.cumprod, semi.cummax, semi.cummin]),
    st.tuples(st.integers(0, 2), st.integers(0, 40), st.integers(0, 2)),
    st.booleans(),
    st.sampled_from(FORMS),
    SEEDS,
)
def test_a_line_is_gone_along(
    dtype: np.dtype, function: Any, shape: tuple[int, ...], reverse: bool, form: tuple[int, int], seed: int
) -> None:
    x = numbers(shape, dtype, seed, -1, 2)
    with patch.object(running, "SHORT", form[0]), patch.object(running, "STRETCH", form[1]):
        found, wanted = (
            computed(lambda x: function(x, axis=1, reverse=reverse), x, target=target)[0] for target in TARGETS
        )
    zero = found.dtype.type(0)  # the sign of a zero that is an extremum is not specified
    assert same(found + zero, wanted + zero)


@few
@given(
    st.sampled_from(NUMBERS),
    st.sampled_from([semi.cumsum, semi.cumprod, semi.cummax, semi.cummin]),
    st.tuples(st.integers(0, 2), st.integers(0, 40), st.integers(1, 3)),
    st.booleans(),
    st.integers(1, 7),
    SEEDS,
)
def test_lines_that_lie_side_by_side_are_gone_along_in_parts(
    dtype: np.dtype, function: Any, shape: tuple[int, ...], reverse: bool, least: int, seed: int
) -> None:
    """A thread for each part, which begins with what those before have together."""
    x = numbers(shape, dtype, seed, -1, 2)
    with patch.multiple(running, SHORT=0, LEAST=least, _BESIDE=1, _LINES=1):
        found, wanted = (
            computed(lambda x: function(x, axis=1, reverse=reverse), x, target=target)[0] for target in TARGETS
        )
    zero = found.dtype.type(0)
    assert same(found + zero, wanted + zero)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("first, then", [(0.0, 1e300), (np.inf, 1e-300), (-2.0, 1.0)])
def test_a_product_out_of_range_on_the_way_leaves_zeros_and_infinities(
    form: tuple[int, int], first: float, then: float
) -> None:
    x = np.array([first] + [then] * 24)
    with patch.object(running, "SHORT", form[0]), patch.object(running, "STRETCH", form[1]):
        agrees(lambda x: semi.cumprod(x, axis=0), x)


@pytest.mark.parametrize("form", FORMS)
def test_sums_of_many_are_as_good_as_sums_in_float64(form: tuple[int, int]) -> None:
    x = np.random.default_rng(0).normal(size=60).astype(np.float32)
    with patch.object(running, "SHORT", form[0]), patch.object(running, "STRETCH", form[1]):
        found, _ = computed(lambda x: semi.cumsum(x, axis=0), x)
    np.testing.assert_allclose(found, np.cumsum(x.astype(np.float64)), rtol=6e-8, atol=1e-13)


# -- windows, copies, draws --------------------------------------------------------------------------------------------


@few
@given(st.sampled_from(NUMBERS), st.permutations([1, 2]), st.data(), SEEDS)
def test_windows_are_added_up_where_they_overlap(
    dtype: np.dtype, axes: list[int], data: st.DataObject, seed: int
) -> None:
    steps = st.tuples(st.integers(1, 3), st.integers(1, 3))
    sizes, strides, dilations = data.draw(steps), data.draw(steps), data.draw(steps)
    spare = data.draw(st.tuples(st.integers(0, 4), st.integers(0, 4)))
    lengths = [(n - 1) * d + 1 + more for n, d, more in zip(sizes, dilations, spare, strict=True)]
    shape = [2, 0, 0]
    for axis, n in zip(axes, lengths, strict=True):
        shape[axis] = n
    windows = semi.windows(ng.placeholder(shape, dtype), axes, sizes, strides, dilations)
    x = numbers(tuple(int(n) for n in windows.shape), dtype, seed)
    x = x + np.zeros_like(x)  # without -0: what stands alone keeps its sign by a rule of class real, a sum loses it
    agrees(lambda x: semi.fold(x, axes, lengths, strides, dilations), x)


@few
@given(st.sampled_from(DTYPES), st.tuples(*[st.sampled_from([1, 2, 8, 9, 33])] * 3), st.permutations(range(3)), SEEDS)
def test_rows_become_columns(dtype: np.dtype, shape: tuple[int, ...], perm: list[int], seed: int) -> None:
    agrees(lambda x: semi.copy(semi.transpose(x, perm)), numbers(shape, dtype, seed))


def test_a_copy_that_turns_rows_goes_by_tiles() -> None:
    x = numbers((40, 33), "float32", 0)
    assert agrees(lambda x: semi.copy(semi.transpose(x, (1, 0))), x) == ["copy"]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("count", [0, 1, 4, 11])
def test_draws_are_those_of_other_targets(dtype: np.dtype, count: int) -> None:
    def draws() -> ng.Op:
        return semi.concat([semi.uniform((count,), -1, 2, dtype), semi.normal((count,), 1, 2, dtype)])

    found, wanted = (computed(draws, target=target)[0] for target in TARGETS)
    assert same(found[:count], wanted[:count])
    ulps = 4 * np.spacing(np.abs(wanted.astype(dtype))).astype(np.float64)
    assert np.all(np.abs(found.astype(np.float64) - wanted.astype(np.float64)) <= ulps)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_numbers_of_distributions_are_those_of_other_targets(dtype: str) -> None:
    size, u = np.exp(np.linspace(-3, 9, 64)).astype(dtype), np.linspace(0, 0.999, 64).astype(dtype)
    found, wanted = (computed(semi.gamma_draw, size + 1, u, target=target)[0] for target in TARGETS)
    np.testing.assert_allclose(found, wanted, rtol=1e-6 if dtype == "float32" else 1e-13)
    found, wanted = (computed(semi.vonmises_draw, size, u, target=target)[0] for target in TARGETS)
    np.testing.assert_allclose(found, wanted, rtol=1e-6 if dtype == "float32" else 1e-12)
    agrees(semi.poisson_draw, size, u)
    agrees(semi.zipf_draw, size + 1.5, u)
    agrees(semi.binomial_draw, np.floor(size), u[::-1].copy(), u)


# -- factors -----------------------------------------------------------------------------------------------------------


@few
@given(st.sampled_from(["float32", "float64"]), WIDTHS, LENGTHS, st.booleans(), st.booleans(), SEEDS)
def test_factors_are_those_of_numpy(dtype: str, count: int, n: int, shared: bool, edges: bool, seed: int) -> None:
    """Also of several panels, by one block for each matrix, or by several blocks and a launch for each panel."""
    x = numbers((count, n, n), dtype, seed) if edges else whole((count, n, n), dtype, seed)
    agrees(lambda x: semi.qr(x), x[:, :5, :3] if n >= 3 else x)
    with patch.multiple(device_factors, WIDTH=4, COLUMNS=2, _WHOLE=0 if shared else n, _ROWS=3):
        agrees(lambda x: semi.lu(x), x)
        positive = (x.swapaxes(1, 2) @ x + np.eye(n)).astype(dtype) if not edges else x
        agrees(lambda x: semi.cholesky(ng.numpy.matrix_transpose(x)), positive)


@few
@given(st.sampled_from(["float32", "float64"]), WIDTHS, LENGTHS, WIDTHS, st.booleans(), st.booleans(), SEEDS)
def test_solutions_for_triangles_are_those_of_numpy(
    dtype: str, count: int, n: int, m: int, lower: bool, unit: bool, seed: int
) -> None:
    a, b = whole((count, n, n), dtype, seed), numbers((count, n, m), dtype, seed + 1)
    with patch.multiple(device_factors, WIDTH=4, SIDE=2):
        agrees(lambda a, b: semi.triangular_solve(a, b, lower=lower, unit=unit), a, b)


def whole(shape: tuple[int, ...], dtype: str, seed: int) -> Array:
    """Small whole numbers, of which many are alike."""
    return np.random.default_rng(seed).integers(-2, 3, shape).astype(dtype)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("op", ["cholesky", "lu", "triangular_solve"])
def test_factors_of_more_columns_than_a_panel_has(op: str, shared: bool) -> None:
    n = device_factors.WIDTH + 3
    x = np.random.default_rng(0).normal(size=(1, n, n))
    x = (x @ x.swapaxes(1, 2)).astype("float32")
    with patch.object(device_factors, "_WHOLE", 0 if shared else n):
        if op == "triangular_solve":
            agrees(lambda a, b: semi.triangular_solve(a, b, lower=shared, unit=False), x, x[:, :, :1].copy())
        else:
            assert (
                agrees(lambda x: ng.make_op(f"semi.{op}", x), x) == [op] * [1, 2, 4][shared + (shared and op == "lu")]
            )
