# SPDX-License-Identifier: Apache-2.0
"""Minimal filtering: the same convolutions with fewer multiplications, within a stated growth of rounding errors."""

from __future__ import annotations

import os
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from filtering_cases import Chooser, Exact, computed, correlated, kernels, normal, run
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sliding_oracle import images

import ngraph_rewrite as ng
from ngraph_rewrite.lowering.deriv import deriv
from ngraph_rewrite.plan.convolution_operands import Convolution
from ngraph_rewrite.plan.minimal_filtering import is_possible, is_worth_it, minimal_calls
from ngraph_rewrite.plan.nests import Load
from ngraph_rewrite.plan.views import row_major
from ngraph_rewrite.runtime.point_values import SPAN, filter_values, image_values, sums_of

EXAMPLES = 2 if "NUMBA_CPU_FEATURES" in os.environ else 12
DRAWN = settings(max_examples=EXAMPLES, deadline=None)
# What errors are at most, over the largest sum of magnitudes: tiles share them.
SMALL = 2e-6


@pytest.fixture
def choose() -> Iterator[Chooser]:
    """Sets which convolutions are computed so, until the end of a test."""
    with pytest.MonkeyPatch.context() as patch:
        yield Chooser(patch, "is_worth_it")


BOTH = ["minimal_filters", "minimal_filtering"]

# -- values ------------------------------------------------------------------------------------------


@DRAWN
@given(data=st.data(), window=st.sampled_from([3, 5]), seed=st.integers(0, 99))
def test_it_is_a_sum_over_windows(data: st.DataObject, window: int, seed: int) -> None:
    """For any number of images, channels, filters and places, with padding and cropping."""
    around = st.tuples(st.integers(-2, 3), st.integers(-2, 3))
    before, after = data.draw(around), data.draw(around)
    lengths = [
        data.draw(st.integers(1, 40).filter(lambda n, b=b, a=a: n + min(b, 0) + min(a, 0) > 0 and n + b + a >= window))
        for b, a in zip(before, after, strict=True)
    ]
    assume(np.prod([n + b + a - window + 1 for n, b, a in zip(lengths, before, after, strict=True)]) > 12)
    count, channels = data.draw(st.integers(1, 7)), data.draw(st.sampled_from([1, 2, 5, 17]))
    filters = data.draw(st.sampled_from([1, 3, 14, 15, 31]))
    x, w = normal(seed, count, channels, *lengths), normal(seed + 1, filters, channels, window, window)
    with pytest.MonkeyPatch.context() as patch:
        Chooser(patch, "is_worth_it")(is_possible)
        found, stats = run(x, w, before, after)
    assert [name for name in kernels(stats) if name in BOTH] == BOTH
    wanted, scale = correlated(x, w, before, after), correlated(abs(x), abs(w), before, after)
    assert abs(found - wanted).max() <= SMALL * scale.max()


@pytest.mark.parametrize("window", [3, 5])
@pytest.mark.parametrize("lengths", [(12, 16), (4, 13), (18, 8), (3, 4)])
def test_rows_of_tiles_over_one_vector_are_taken_in_pairs(
    window: int, lengths: tuple[int, int], choose: Chooser
) -> None:
    """On whatever processor: lines of 16, 8 or 4 places, an odd number of rows of tiles, several images."""
    choose(is_possible)
    x, w = normal(1, 3, 5, *lengths), normal(2, 9, 5, window, window)
    around = (window // 2, window // 2)
    found, wanted = run(x, w, around, around)[0], correlated(x, w, around, around)
    np.testing.assert_allclose(found, wanted, atol=1e-4)


def test_images_may_lie_in_any_way_and_have_zeros_between_places(choose: Chooser) -> None:
    """Channels last, and as the derivative of a convolution with strides along one axis has them."""
    choose(is_possible)
    x, w = normal(1, 2, 9, 11, 4), normal(2, 7, 4, 3, 3)
    a, b = (images(*v.shape, dtype="float32") for v in (x, w))
    for interior in (0, 1):
        around = {"before": (1, 2), "after": (2, 0), "interior": (interior, 0)}
        term = ng.semi.convolution(ng.semi.transpose(a, (0, 3, 1, 2)), b, **around)
        found, stats = computed(term, {a: x, b: w})
        spaced = np.zeros((2, 4, 9 + 8 * interior, 11), np.float32)
        spaced[:, :, :: interior + 1] = x.transpose(0, 3, 1, 2)
        np.testing.assert_allclose(found, correlated(spaced, w, (1, 2), (2, 0)), atol=1e-4)
        assert kernels(stats) == BOTH and stats["layout_copies"] == 0


def test_what_follows_is_done_by_its_kernel(choose: Chooser) -> None:
    choose(is_possible)
    x, w, bias = normal(1, 3, 4, 20, 21), normal(2, 20, 4, 3, 3), normal(3, 20)
    a, b, c = (images(*v.shape, dtype="float32") for v in (x, w, bias))
    term = ng.semi.convolution(a, b, before=1, after=1)
    after = ng.numpy.maximum(ng.semi.add(term, ng.semi.broadcast(c, term.shape, (1,))), 0)
    found, stats = computed(after, {a: x, b: w, c: bias})
    wanted = np.maximum(correlated(x, w, (1, 1), (1, 1)) + bias[:, None, None], 0)
    np.testing.assert_allclose(found, wanted, atol=1e-4)
    assert kernels(stats) == BOTH


@pytest.mark.parametrize("window", [3, 5])
def test_the_derivative_by_images_is_one_too(window: int, choose: Chooser) -> None:
    choose(is_possible)
    x, w = images(2, 6, 9, 14, dtype="float32"), images(10, 6, window, window, dtype="float32")
    term = ng.semi.convolution(x, w, before=1, after=1)
    error = images(*term.shape, dtype="float32")
    (derivative,) = deriv(term, [x], error=error)
    d, v = normal(1, *term.shape), normal(2, *w.shape)
    found, stats = computed(derivative, {error: d, w: v})
    around = (window - 2, window - 2)
    wanted = correlated(d, v[:, :, ::-1, ::-1].swapaxes(0, 1), around, around)
    np.testing.assert_allclose(found, wanted, atol=1e-4)
    assert set(BOTH) <= set(kernels(stats))


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 3e38])
@pytest.mark.parametrize("where", ["image", "filter"])
def test_what_is_not_finite_stays_where_windows_see_it(value: float, where: str, choose: Chooser) -> None:
    """Transforms spread it over whole tiles, which are computed anew: with and without something that follows."""
    choose(is_possible)
    x, w = normal(1, 2, 3, 9, 20), normal(2, 20, 3, 3, 3)
    (x if where == "image" else w)[1, 2, 2, 1] = value
    a, b = (images(*v.shape, dtype="float32") for v in (x, w))
    term = ng.semi.convolution(a, b, before=1, after=1)
    wanted = correlated(x, w, (1, 1), (1, 1))
    with np.errstate(over="ignore"):
        wanted = wanted.astype(np.float32).astype(np.float64)
    for returns, factor in ((term, 1), (ng.semi.negative(term), -1)):
        found, _ = computed(returns, {a: x, b: w})
        seen = np.isfinite(wanted) & (abs(wanted) < 1e30)
        np.testing.assert_allclose(found[seen], factor * wanted[seen], atol=1e-4)
        np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
        np.testing.assert_array_equal(np.isinf(found), np.isinf(wanted))


def test_any_number_of_threads_gives_the_same_bits(choose: Chooser) -> None:
    choose(is_possible)
    x, w = normal(1, 9, 20, 30, 17), normal(2, 33, 20, 3, 3)
    first, *others = [run(x, w, threads=threads)[0] for threads in (1, 2, 3)]
    for other in others:
        np.testing.assert_array_equal(first.view("uint32"), other.view("uint32"))


def test_filters_are_parted_where_there_are_few_tiles(choose: Chooser) -> None:
    """With something that follows too: each part is a piece, which transforms its tiles anew."""
    choose(is_possible)
    x, w = normal(1, 1, 5, 9, 11), normal(2, 300, 5, 3, 3)
    a, b = (images(*v.shape, dtype="float32") for v in (x, w))
    term = ng.semi.convolution(a, b, before=1, after=1)
    wanted = correlated(x, w, (1, 1), (1, 1))
    for returns, factor in ((term, 1), (ng.semi.negative(term), -1)):
        for threads in (1, 3):
            found, _ = computed(returns, {a: x, b: w}, threads)
            np.testing.assert_allclose(found, factor * wanted, atol=1e-4)
    for count, pieces in ((1, 4), (64, 8)):
        one = convolution(count, 64, 512, 7, 3)
        filters = Load(one.w.base, row_major((512, 64 * 9)))
        assert minimal_calls(one._replace(w=filters))[1].share.length == pieces


# -- what is chosen ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("window", "channels"), [(3, 32), (3, 64), (3, 300), (5, 32), (5, 64), (5, 300)])
def test_errors_are_at_most_four_times_those_of_windows(window: int, channels: int, choose: Chooser) -> None:
    """The largest one over the sum of magnitudes, on normal numbers: for every number of channels that is chosen."""
    x, w = normal(1, 2, channels, 40, 40), normal(2, 16, channels, window, window)
    wanted, scale = (correlated(p, q, (1, 1), (1, 1)) for p, q in ((x, w), (abs(x), abs(w))))
    errors = []
    for chooser in (is_possible, lambda _: False):
        choose(chooser)
        errors.append((abs(run(x, w)[0] - wanted) / scale).max())
    assert errors[0] <= 4 * errors[1]


def convolution(count: int, channels: int, filters: int, size: int, side: int, **other: Any) -> Convolution:
    """One that keeps the size of square images."""
    x, w = images(count, channels, size, size), images(filters, channels, side, side)
    loads = [Load(op, row_major(op.shape)) for op in (x, w)]
    plain = Convolution(
        (count, filters, size**2, channels * side**2),
        *loads,
        dtype="float32",
        packed="",
        groups=1,
        lengths=(1, size, size),
        window=(1, side, side),
        places=(1, size, size),
        strides=(1, 1, 1),
        before=(0, side // 2, side // 2),
        interior=(0, 0, 0),
        dilations=(1, 1, 1),
    )
    return plain._replace(**other)


@pytest.mark.parametrize("sizes", [(64, 64, 64, 32, 3), (64, 32, 64, 16, 5), (1, 64, 64, 56, 3), (8, 256, 256, 14, 3)])
def test_convolutions_of_many_channels_are_worth_it(sizes: tuple[int, ...]) -> None:
    assert is_worth_it(convolution(*sizes))


@pytest.mark.parametrize(
    ("sizes", "other"),
    [
        ((64, 3, 64, 32, 3), {}),
        ((64, 16, 64, 32, 3), {}),
        ((64, 64, 1, 32, 3), {}),
        ((1, 512, 512, 7, 3), {}),
        ((64, 64, 64, 32, 4), {}),
        ((64, 64, 64, 32, 1), {}),
        ((64, 64, 64, 32, 3), {"dtype": "float64"}),
        ((64, 64, 64, 32, 3), {"groups": 2}),
        ((64, 64, 64, 32, 3), {"strides": (1, 2, 2)}),
        ((64, 64, 64, 32, 3), {"dilations": (1, 1, 2)}),
        ((64, 64, 64, 32, 3), {"window": (1, 3, 5)}),
        ((64, 64, 64, 32, 3), {"window": (3, 3, 3)}),
        ((64, 64, 64, 32, 3), {"lengths": (4, 32, 32), "places": (4, 32, 32)}),
    ],
)
def test_others_are_not(sizes: tuple[int, ...], other: dict[str, Any]) -> None:
    """Few channels, more filters than tiles, other windows, other numbers, windows that skip places."""
    assert not is_worth_it(convolution(*sizes, **other))


def test_what_is_worth_it_is_done() -> None:
    x, w = normal(1, 4, 64, 16, 16), normal(2, 64, 64, 3, 3)
    found, stats = run(x, w)
    np.testing.assert_allclose(found, correlated(x, w, (1, 1), (1, 1)), atol=1e-3)
    assert kernels(stats) == BOTH and stats["layout_copies"] == 0


# -- transforms --------------------------------------------------------------------------------------


NUMBERS = st.fractions(max_denominator=10)


@pytest.mark.parametrize("window", [2, 3, 4, 5])
@given(image=st.lists(NUMBERS, min_size=SPAN, max_size=SPAN), filters=st.lists(NUMBERS, min_size=5, max_size=5))
def test_values_at_points_decide_the_sums(window: int, image: list[Fraction], filters: list[Fraction]) -> None:
    """In exact arithmetic: as many products as there are points give all sums over windows."""
    count, own = SPAN + 1 - window, filters[:window]
    products = [x * y for x, y in zip(image_values(Exact(), image), filter_values(Exact(), own), strict=True)]
    wanted = [sum(image[i + k] * own[k] for k in range(window)) for i in range(count)]
    assert sums_of(count)(Exact(), products) == wanted
