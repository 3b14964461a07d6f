# SPDX-License-Identifier: Apache-2.0
"""Convolutions and pooling by kernels of their own: exact on whole numbers, without copies, the same on any threads."""

from __future__ import annotations

import os
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import sliding_window_view
from sliding_oracle import both, correlate, images, pool, whole_numbers

import ngraph_rewrite as ng
from ngraph_rewrite.lowering.deriv import deriv

EXAMPLES = 2 if "NUMBA_CPU_FEATURES" in os.environ else 6
NAMES = ("strides", "before", "after", "interior", "dilations")
PLAIN = (1, 1, 1, 0, 1)
# Stride, before, after, interior and dilation along one axis; lines longer than a panel, and windows as long as they.
ROWS = st.one_of(
    st.just(PLAIN),
    st.tuples(st.integers(1, 3), st.integers(-1, 2), st.integers(-1, 2), st.integers(0, 2), st.integers(1, 2)),
)
LONGEST = {1: 70, 2: 19, 3: 6}


def run(returns: Any, values: dict[ng.Op, Any], threads: int = 1) -> tuple[Any, dict[str, Any]]:
    """The results on the cpu target, and what is said of the computation."""
    with ng.make_transformer("cpu", threads=threads) as transformer:
        computation = transformer.computation(returns, *values)
        return computation(*values.values()), computation.stats()


def example(shape: tuple[int, ...], filters: tuple[int, ...], dtype: str = "float32") -> tuple[Any, ...]:
    """A convolution that keeps the size of images, its derivatives, and values of what they are of."""
    a, b = images(*shape, dtype=dtype), images(*filters, dtype=dtype)
    around = tuple(n // 2 for n in filters[2:])
    term = ng.semi.convolution(a, b, before=around, after=around)
    error = images(*term.shape, dtype=dtype)
    values = {a: whole_numbers(1, shape, dtype), b: whole_numbers(2, filters, dtype)}
    values[error] = whole_numbers(3, term.shape, dtype)
    return term, deriv(term, [a, b], error=error), values


def kernels(stats: dict[str, Any]) -> list[str]:
    """The kinds of kernels that run."""
    return [name.rpartition("_")[0] for name in stats["kernels"]]


# -- values ------------------------------------------------------------------------------------------


@settings(max_examples=EXAMPLES, deadline=None)
@given(data=st.data(), rank=st.integers(1, 3), groups=st.sampled_from([1, 1, 2, 3]), seed=st.integers(0, 99))
def test_a_convolution_and_its_derivatives_are_sums(data: st.DataObject, rank: int, groups: int, seed: int) -> None:
    how: dict[str, Any] = dict(zip(NAMES, zip(*[data.draw(ROWS) for _ in range(rank)], strict=True), strict=True))
    lengths = [data.draw(st.integers(1, LONGEST[rank])) for _ in range(rank)]
    window = [data.draw(st.one_of(st.integers(1, 4), st.integers(1, LONGEST[rank]))) for _ in range(rank)]
    n, inner, outer = (data.draw(st.sampled_from(some)) for some in ([1, 2, 3], [1, 2, 5], [1, 3, 17, 33]))
    dtype = data.draw(st.sampled_from(["float32", "float64"]))
    x = whole_numbers(seed, [n, inner * groups, *lengths], dtype)
    w = whole_numbers(seed + 1, [outer * groups, inner, *window], dtype)
    a, b = images(*x.shape, dtype=dtype), images(*w.shape, dtype=dtype)
    term = ng.semi.convolution(a, b, groups=groups, **how)
    error = images(*term.shape, dtype=dtype)
    values = {a: x, b: w, error: whole_numbers(seed + 2, term.shape, dtype)}
    np.testing.assert_array_equal(run(term, values)[0], correlate(x, w, **how, groups=groups))
    for wanted, found in zip(*both(deriv(term, [a, b], error=error), values), strict=True):
        np.testing.assert_array_equal(found, wanted)


@settings(max_examples=EXAMPLES, deadline=None)
@given(
    data=st.data(), rank=st.integers(1, 3), groups=st.sampled_from([1, 2]), seed=st.integers(0, 99),
    dtype=st.sampled_from(["int8", "uint16", "int32", "uint64"]),
)  # fmt: skip
def test_convolutions_of_integers_wrap(data: st.DataObject, rank: int, groups: int, seed: int, dtype: str) -> None:
    how: dict[str, Any] = dict(zip(NAMES, zip(*[data.draw(ROWS) for _ in range(rank)], strict=True), strict=True))
    rng, ends = np.random.default_rng(seed), np.iinfo(dtype)
    lengths = [data.draw(st.integers(1, LONGEST[rank])) for _ in range(rank)]
    window = [data.draw(st.one_of(st.integers(1, 4), st.integers(1, LONGEST[rank]))) for _ in range(rank)]
    shapes = (2, 2 * groups, *lengths), (17 * groups, 2, *window)
    x, w = (rng.integers(ends.min, ends.max, s, dtype, endpoint=True) for s in shapes)
    a, b = images(*x.shape, dtype=dtype), images(*w.shape, dtype=dtype)
    found, _ = run(ng.semi.convolution(a, b, groups=groups, **how), {a: x, b: w})
    wanted = correlate(x.astype("int64"), w.astype("int64"), **how, groups=groups)
    np.testing.assert_array_equal(found, wanted.astype(dtype))


# Several blocks of everything: places, filters, channels, elements of a window; packed filters; many channels to sum.
LARGE: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "many filters": ((1, 3, 6, 40), (300, 3, 3, 3)),
    "long windows": ((1, 130, 9, 9), (5, 130, 3, 3)),
    "packed filters": ((1, 64, 8, 9), (20, 64, 4, 4)),
    "bands of images": ((1, 31, 120, 50), (6, 31, 3, 3)),
    "many images": ((70, 4, 12, 12), (20, 4, 5, 5)),
    "one line": ((2, 3, 3000), (7, 3, 9)),
    "one channel": ((3, 1, 28, 28), (32, 1, 5, 5)),
    "lines of whole vectors": ((1, 90, 9, 32), (17, 90, 5, 4)),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", LARGE)
def test_what_takes_several_blocks_is_exact_too(name: str, dtype: str) -> None:
    term, derivatives, values = example(*LARGE[name], dtype)
    for wanted, found in zip(*both([term, *derivatives], values), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_infinities_and_nan_are_where_the_meaning_has_them() -> None:
    term, derivatives, values = example((2, 3, 9, 20), (20, 3, 3, 3))
    x, _, error = values.values()
    x[0, 1, 4, 5], x[1, 2, 0, 0], error[0, 3, 8, 19] = np.inf, np.nan, -np.inf
    for wanted, found in zip(*both([term, *derivatives], values), strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_padding_is_multiplied_with_filters_that_are_not_finite(value: float) -> None:
    """Lines of windows that see zeros only are left out, but for the sake of these."""
    term, _, values = example((1, 2, 7, 16), (3, 2, 5, 3))
    _, w, _ = values.values()
    w[1, 0, 0, 2] = value
    for wanted, found in zip(*both([term], values), strict=True):
        np.testing.assert_array_equal(found, wanted)
        assert np.isnan(found[0, 1, :2]).all() and np.isfinite(found[0, 0]).all()


@pytest.mark.parametrize("value", [0.5, np.inf, np.nan])
@pytest.mark.parametrize("count", [1, 5])
def test_so_it_is_by_windows_as_large_as_images(count: int, value: float) -> None:
    """Their sums leave out what meets padding only, line by line, and for many images column by column."""
    a, b = images(count, 3, 12, 14, dtype="float32"), images(5, 3, 10, 12, dtype="float32")
    term = ng.semi.convolution(a, b, before=(3, 2), after=(1, 2))
    values = {a: whole_numbers(1, a.shape, "float32"), b: whole_numbers(2, b.shape, "float32")}
    values[b][1, 0, 0, 2] = value
    assert kernels(run(term, values)[1]) == ["convolution_across", "convolution_sums"]
    for wanted, found in zip(*both([term], values), strict=True):
        np.testing.assert_array_equal(found, wanted)
        assert np.isfinite(found[:, 1]).all() == np.isfinite(value)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_numbers_that_an_earlier_kernel_left_in_memory_change_no_bit(dtype: str) -> None:
    """Whether filters are finite decides what is added to what, and they alone are asked: a panel has room for more."""
    a, b = images(2, 12, 3, 5, dtype=dtype), images(24, 1, 3, 5, dtype=dtype)
    term = ng.semi.convolution(a, b, strides=(1, 3), before=(0, 1), after=(2, 2), groups=12)
    random = np.random.default_rng(1)
    values = [random.normal(size=op.shape).astype(dtype) for op in (a, b)]
    with ng.make_transformer("cpu", threads=1) as transformer:
        computation = transformer.computation(term, a, b)
        first = computation(*values)
        assert kernels(computation.stats()) == ["convolution_across", "convolution_sums"]
        memory = computation._ready().executable._arguments.arena  # type: ignore[attr-defined]
        for byte in (0, 255):  # of zeros, and of NaN
            memory[:] = byte
            np.testing.assert_array_equal(computation(*values), first)


@pytest.mark.parametrize(("channels", "filters", "window"), [(4, 6, 3), (16, 8, 5), (1, 20, 5)])
def test_a_batch_that_comes_last_is_copied_first(channels: int, filters: int, window: int) -> None:
    """A matrix of windows would have channels times elements of a window for each place."""
    x = ng.placeholder({"C": channels, "H": 10, "W": 12, "N": 3})
    w = ng.placeholder({"C": channels, "R": window, "S": window, "K": filters})
    y = ng.convolution(x, w, padding=1)
    values = {op: whole_numbers(seed, op.shape, "float32") for seed, op in enumerate((x, w))}
    found, stats = run(y, values)
    assert "convolution" in kernels(stats) and "gemm" not in kernels(stats)
    images, windows = values[x].transpose(3, 0, 1, 2), values[w].transpose(3, 0, 1, 2)
    wanted = correlate(images, windows, (1, 1), (1, 1), (1, 1), (0, 0), (1, 1), groups=1)
    np.testing.assert_array_equal(found, wanted.transpose(1, 2, 3, 0))


@pytest.mark.parametrize("threads", [1, 3])
def test_filters_are_parted_where_there_are_few_images(threads: int) -> None:
    """An image of few places is not cut into bands that leave vectors empty."""
    term, _, values = example((1, 30, 7, 7), (300, 30, 3, 3))
    ((wanted,), _) = both([term], values)
    for one in (term, ng.numpy.maximum(term, 0)):
        with ng.make_transformer("cpu", threads=threads) as transformer:
            a, b, _ = values
            computation = transformer.computation(one, a, b)
            found = computation(values[a], values[b])
            assert kernels(computation.stats()) == ["convolution"]
        np.testing.assert_array_equal(found, wanted if one is term else np.maximum(wanted, 0))


# -- plans -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LARGE)
def test_windows_are_not_copied(name: str) -> None:
    """Only filters are, to turn them and to exchange their axes."""
    term, (dx, dw), values = example(*LARGE[name])
    a, b, error = values
    _, forward = run(term, {a: values[a], b: values[b]})
    assert forward["layout_copies"] == 0 and kernels(forward) == ["convolution"]
    filters = values[b].nbytes
    for derivative, of in ((dx, b), (dw, a)):
        _, stats = run(derivative, {of: values[of], error: values[error]})
        assert stats["layout_copy_bytes"] <= filters
        assert {"convolution", "convolution_across"} & set(kernels(stats))


def test_images_whose_size_a_call_says_have_the_kernel_too() -> None:
    a = ng.placeholder((None, 3, ng.Length.symbol("rows"), ng.Length.symbol("columns")))
    b = images(8, 3, 3, 3, dtype="float32")
    values = {a: whole_numbers(1, (2, 3, 9, 11), "float32"), b: whole_numbers(2, b.shape, "float32")}
    found, stats = run(ng.semi.convolution(a, b, 2, 1, 1), values)
    assert kernels(stats) == ["convolution"]
    wanted = correlate(*values.values(), (2, 2), (1, 1), (1, 1), (0, 0), (1, 1), groups=1)
    np.testing.assert_array_equal(found, wanted)


def test_images_that_a_call_cuts_to_less_than_nothing_run_no_kernel() -> None:
    """It wrote beside its workspace."""
    a, b = ng.placeholder((2, 1, 7, ng.Length.symbol("columns"))), images(2, 1, 5, 1, dtype="float32")
    values = {a: whole_numbers(1, (2, 1, 7, 2), "float32"), b: whole_numbers(2, b.shape, "float32")}
    found, stats = run(ng.semi.convolution(a, b, 2, (3, -1), (2, -2)), values)
    assert found.shape == (2, 2, 4, 0) and kernels(stats) == []


@pytest.mark.parametrize(
    ("count", "stride", "multiplied"), [(1, 1, "gemm"), (64, 1, "convolution_across"), (8, 2, "convolution_across")]
)
def test_some_places_of_a_few_images_are_not_worth_the_kernel(count: int, stride: int, multiplied: str) -> None:
    """Vectors would be empty but for these places: a matrix of their windows is small, unless they are apart."""
    a = images(count, 16, 2 * stride, 2 * stride, dtype="float32")
    b = images(32, 16, 3, 3, dtype="float32")
    term = ng.semi.convolution(a, b, strides=stride, before=1, after=1)
    values = {op: whole_numbers(seed, op.shape, "float32") for seed, op in enumerate((a, b))}
    ((wanted,), _) = both([term], values)
    found, stats = run(term, {a: values[a], b: values[b]})
    np.testing.assert_array_equal(found, wanted)
    assert multiplied in kernels(stats)


def test_columns_are_convolved_as_lines() -> None:
    a, b = images(2, 3, 20, 1, dtype="float32"), images(4, 3, 5, 1, dtype="float32")
    values = {op: whole_numbers(seed, op.shape, "float32") for seed, op in enumerate((a, b))}
    term = ng.semi.convolution(a, b, (2, 3), (1, 0), (2, 0), 0, (1, 2))
    with ng.make_transformer("cpu", threads=1) as transformer:
        computation = transformer.computation(term, a, b)
        found = computation(*values.values())
        assert "convolution_of_columns" in str(computation.explain(term))
    wanted = correlate(*values.values(), (2, 3), (1, 0), (2, 0), (0, 0), (1, 2), groups=1)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    ("window", "after", "channels", "multiplied"),
    # Zeros are put around products; each class of places has a convolution, or one has all if windows are whole steps
    # and filters are few.
    [(1, 0, 5, ["gemm"]), (3, 1, 5, ["convolution"] * 4), (4, 1, 5, ["convolution"]), (4, 1, 8, ["convolution"] * 4)],
)
def test_zeros_between_points_are_not_multiplied(window: int, after: int, channels: int, multiplied: list[str]) -> None:
    """The derivative by images of windows that are two places apart."""
    x, w = images(2, channels, 15, 16, dtype="float32"), images(6, channels, window, window, dtype="float32")
    term = ng.semi.convolution(x, w, strides=2, before=1, after=after)
    error = images(*term.shape, dtype="float32")
    (derivative,) = deriv(term, [x], error=error)
    values = {w: whole_numbers(1, w.shape, "float32"), error: whole_numbers(2, error.shape, "float32")}
    for wanted, found in zip(*both([derivative], values), strict=True):
        np.testing.assert_array_equal(found, wanted)
    ran = kernels(run(derivative, values)[1])
    assert [name for name in ran if name in ("gemm", "convolution")] == multiplied


@settings(max_examples=2 * EXAMPLES, deadline=None)
@given(data=st.data(), rank=st.integers(1, 3), groups=st.sampled_from([1, 2]), seed=st.integers(0, 99))
def test_windows_of_whole_steps_between_elements_are_more_filters(
    data: st.DataObject, rank: int, groups: int, seed: int
) -> None:
    """As deconvolutions have them: images of any length, any step along each axis, one that each call says too."""
    drawn = [
        [data.draw(st.integers(*ends)) for _ in range(rank)] for ends in ((1, 4), (0, 3), (1, 2), (-2, 4), (-2, 4))
    ]
    lengths, interior, parts, before, after = drawn
    assume(any(interior))
    window = [(i + 1) * k for i, k in zip(interior, parts, strict=True)]
    x = whole_numbers(seed, [2, 2 * groups, *lengths], "float64")
    w = whole_numbers(seed + 1, [3 * groups, 2, *window], "float64")
    a = ng.placeholder((2, 2 * groups, ng.Length.symbol("first"), *lengths[1:]), "float64")
    b = images(*w.shape)
    every = zip(lengths, interior, before, after, window, strict=True)
    assume(all((n - 1) * (i + 1) + 1 + s + e >= k for n, i, s, e, k in every))
    how = {"before": before, "after": after, "interior": interior}
    wanted = correlate(x, w, [1] * rank, before, after, interior, [1] * rank, groups=groups)
    with ng.make_transformer("cpu", threads=1) as transformer:
        for image in (a, images(*x.shape)):
            term = ng.semi.convolution(image, b, groups=groups, **how)
            found = transformer.computation(term, image, b)(x, w)
            np.testing.assert_array_equal(found, wanted)


@settings(max_examples=4 * EXAMPLES, deadline=None)
@given(data=st.data(), groups=st.sampled_from([1, 1, 2]), seed=st.integers(0, 99))
def test_images_with_zeros_between_elements_are_seen_by_parts_of_windows(
    data: st.DataObject, groups: int, seed: int
) -> None:
    """As the derivative by images of windows two places apart sees them; any padding, odd and even lengths."""
    drawn = [[data.draw(st.integers(*ends)) for _ in range(2)] for ends in ((2, 9), (2, 7), (-2, 4), (-2, 4))]
    lengths, window, before, after = drawn
    x = whole_numbers(seed, [2, 2 * groups, *lengths], "float64")
    w = whole_numbers(seed + 1, [3 * groups, 2, *window], "float64")
    a, b = images(*x.shape), images(*w.shape)
    how: dict[str, Any] = {"strides": (1, 1), "before": before, "after": after, "interior": (1, 1), "dilations": (1, 1)}
    wanted = correlate(x, w, **how, groups=groups)
    assume(wanted.shape[2] * wanted.shape[3] >= 32)
    found, _ = run(ng.semi.convolution(a, b, groups=groups, **how), {a: x, b: w})
    np.testing.assert_array_equal(found, wanted)


def test_padding_of_unknown_length_is_left_to_windows() -> None:
    length = ng.placeholder(ng.anonymous([ng.Axis("n", None).length]), dtype="float32")
    a, b = images(2, 2, 5, 6, dtype="float32"), images(3, 2, 3, 3, dtype="float32")
    around = {"before": (length.shape[0], 1), "after": (2 - length.shape[0], 1)}
    term = ng.semi.convolution(a, b, interior=1, **around)
    values = {op: whole_numbers(i, op.shape, "float32") for i, op in enumerate((a, b))}
    for wanted, found in zip(*both([term, length], {**values, length: np.ones(1, "float32")}), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_what_follows_a_convolution_is_done_by_its_kernel() -> None:
    term, _, values = example((2, 3, 20, 20), (8, 3, 3, 3))
    (a, b, _), bias = values, images(8, dtype="float32")
    after = ng.numpy.maximum(ng.semi.add(term, ng.semi.broadcast(bias, term.shape, (1,))), 0)
    given_ = {a: values[a], b: values[b], bias: whole_numbers(4, (8,), "float32")}
    found, stats = run(after, given_)
    plain, _ = run(term, {a: values[a], b: values[b]})
    np.testing.assert_array_equal(found, np.maximum(plain + given_[bias][:, None, None], 0))
    assert kernels(stats) == ["convolution"]


@pytest.mark.parametrize("name", LARGE)
def test_any_number_of_threads_gives_the_same_bits(name: str) -> None:
    term, derivatives, values = example(*LARGE[name])
    random = np.random.default_rng(5)
    values = {op: random.normal(size=array.shape).astype("float32") for op, array in values.items()}
    first, *others = [run([term, *derivatives], values, threads)[0] for threads in (1, 2, 3)]
    for other in others:
        for one, two in zip(first, other, strict=True):
            np.testing.assert_array_equal(one.view("uint32"), two.view("uint32"))


# -- pooling -----------------------------------------------------------------------------------------


@settings(max_examples=EXAMPLES // 4 + 1, deadline=None)  # each compiles kernels of its own
@given(
    rank=st.integers(1, 3),
    kind=st.sampled_from(["max", "min", "sum", "avg"]),
    dtype=st.sampled_from(["float32", "float64", "float16", "bfloat16"]),
    rows=st.tuples(*[st.tuples(st.integers(1, 4), st.integers(1, 3), st.integers(0, 1), st.integers(1, 2))] * 3),
    seed=st.integers(0, 99),
)
def test_pooling_and_its_derivative(rank: int, kind: str, dtype: str, rows: Any, seed: int) -> None:
    sizes, strides, around, dilations = zip(*rows[:rank], strict=True)
    lengths, axes = {1: (300,), 2: (13, 140), 3: (8, 9, 10)}[rank], tuple(range(2, 2 + rank))
    x, eps = whole_numbers(seed, (2, 3, *lengths), dtype), float(ml_dtypes.finfo(dtype).eps)
    a = images(*x.shape, dtype=dtype)
    term = ng.semi.pooling(a, kind, axes, sizes, strides, around, around, dilations)
    error = images(*term.shape, dtype=dtype)
    values = {a: x, error: whole_numbers(seed + 1, term.shape, dtype)}
    found, stats = run(term, {a: x})
    wanted = pool(x.astype("float64"), axes, sizes, strides, around, around, dilations, kind)
    np.testing.assert_allclose(found.astype("float64"), wanted, rtol=eps)  # an average is rounded once
    assert "pooling" in kernels(stats) or max(sizes) == 1
    (wide,) = deriv(
        ng.semi.pooling(ng.cast(a, dtype="float64"), kind, axes, sizes, strides, around, around, dilations),
        [a],
        error=ng.cast(error, dtype="float64"),
    )
    (two,), (one,) = run(deriv(term, [a], error=error), values)[0], both([wide], values)[0]
    # shares of ties are rounded, and their sums: of at most 64 numbers below 4
    np.testing.assert_allclose(two.astype("float64"), one, rtol=32 * eps, atol=32 * eps)


@settings(max_examples=EXAMPLES, deadline=None)
@given(
    kind=st.sampled_from(["max", "min", "sum"]),
    dtype=st.sampled_from(["int8", "uint16", "int32", "uint64"]),
    rows=st.tuples(*[st.tuples(st.integers(1, 4), st.integers(1, 3), st.integers(1, 2))] * 2),
    seed=st.integers(0, 99),
)
def test_pooling_of_integers_wraps(kind: str, dtype: str, rows: Any, seed: int) -> None:
    sizes, strides, dilations = zip(*rows, strict=True)
    ends, shape = np.iinfo(dtype), (2, 3, 13, 140)
    x = np.random.default_rng(seed).integers(ends.min, ends.max, shape, dtype, endpoint=True)
    a = images(*shape, dtype=dtype)
    found, stats = run(ng.semi.pooling(a, kind, (2, 3), sizes, strides, 0, 0, dilations), {a: x})
    reach = tuple((n - 1) * e + 1 for n, e in zip(sizes, dilations, strict=True))
    steps = tuple(slice(None, None, step) for step in (*strides, *dilations))
    windows = sliding_window_view(x, reach, (2, 3))[..., *steps]
    wanted = windows.sum((4, 5), dtype) if kind == "sum" else getattr(windows, kind)((4, 5))
    np.testing.assert_array_equal(found, wanted)
    assert "pooling" in kernels(stats) or max(sizes) == 1


def test_a_maximum_and_its_derivative_are_a_launch_each() -> None:
    a, error = images(4, 3, 20, 20, dtype="float32"), images(4, 3, 10, 10, dtype="float32")
    term = ng.semi.pooling(a, "max", [2, 3], 2, 2)
    (derivative,) = deriv(term, [a], error=error)
    values = {a: whole_numbers(1, (4, 3, 20, 20), "float32"), error: whole_numbers(2, (4, 3, 10, 10), "float32")}
    _, stats = run([term, derivative], values)
    assert kernels(stats) == ["pooling", "unpooling"]


@settings(max_examples=EXAMPLES // 4 + 1, deadline=None)
@given(
    axes=st.sampled_from([(1,), (1, 2), (0, 2), (0, 1, 2), (1, 3)]),
    kind=st.sampled_from(["max", "min"]),
    sizes=st.tuples(*[st.integers(1, 3)] * 3),
    strides=st.tuples(*[st.integers(1, 2)] * 3),
    padding=st.integers(0, 1),
    seed=st.integers(0, 99),
)
def test_the_derivative_of_maxima_over_any_axes(
    axes: tuple[int, ...], kind: str, sizes: tuple[int, ...], strides: tuple[int, ...], padding: int, seed: int
) -> None:
    count, x = len(axes), images(5, 6, 7, 4, dtype="float32")
    term = ng.semi.pooling(x, kind, axes, sizes[:count], strides[:count], padding, padding)
    error = images(*term.shape, dtype="float32")
    values = {x: whole_numbers(seed, x.shape, "float32"), error: whole_numbers(seed + 1, term.shape, "float32")}
    for one, two in zip(*both(deriv(term, [x], error=error), values), strict=True):
        np.testing.assert_allclose(two, one, rtol=1e-5, atol=1e-5)


def test_the_derivative_of_maxima_over_axes_before_the_last_goes_by_lines() -> None:
    x = images(4, 20, 20, 3, dtype="float32")
    term = ng.semi.pooling(x, "max", [1, 2], 3, 2)
    error = images(*term.shape, dtype="float32")
    values = {x: whole_numbers(1, x.shape, "float32"), error: whole_numbers(2, term.shape, "float32")}
    _, stats = run(deriv(term, [x], error=error), values)
    assert sorted(set(kernels(stats))) == ["copy", "unpooling"]


def around(lines: int) -> tuple[Any, Any, dict[ng.Op, Any]]:
    """The maxima of windows over a padded image, the derivative by it, and values: many equal ones."""
    a, error = images(2, 3, lines, 40, dtype="float32"), images(2, 3, -(-lines // 2), 20, dtype="float32")
    term = ng.semi.pooling(a, "max", [2, 3], 3, 2, 1, lines % 2)
    (derivative,) = deriv(term, [a], error=error)
    return term, derivative, {a: whole_numbers(1, a.shape, "float32"), error: whole_numbers(2, error.shape, "float32")}


def test_the_derivative_of_maxima_needs_neither_padding_nor_maxima() -> None:
    _, derivative, values = around(9)
    _, stats = run(derivative, values)
    assert kernels(stats) == ["unpooling"] and stats["layout_copies"] == 0


def test_windows_of_padding_and_infinities_and_windows_that_see_nan() -> None:
    _, derivative, values = around(8)
    a, _ = values.values()
    a[0, 0, :4], a[1, 2, 5, 7], a[0, 1, 3, 3] = -np.inf, np.nan, np.inf
    for wanted, found in zip(*both([derivative], values), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)  # shares of ties are rounded
