# SPDX-License-Identifier: Apache-2.0
"""Minimal filtering with windows as large as images: derivatives by filters with fewer multiplications."""

from __future__ import annotations

import os
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from filtering_cases import Chooser, Exact, computed, correlated, kernels, normal, run
from hypothesis import given, settings
from hypothesis import strategies as st
from sliding_oracle import images

import ngraph_rewrite as ng
from ngraph_rewrite.lowering.deriv import deriv
from ngraph_rewrite.plan import minimal_across
from ngraph_rewrite.plan.convolution_operands import Convolution
from ngraph_rewrite.plan.minimal_across import is_possible_across, is_worth_it_across, segments
from ngraph_rewrite.plan.nests import Load
from ngraph_rewrite.plan.views import row_major
from ngraph_rewrite.runtime.minimal_across import IMAGE_VALUES, window_values

EXAMPLES = 2 if "NUMBA_CPU_FEATURES" in os.environ else 15
DRAWN = settings(max_examples=EXAMPLES, deadline=None)
# What errors are at most, over the largest sum of magnitudes: segments share them.
SMALL = 2e-6
BOTH = ["minimal_across", "minimal_across_sums"]


@pytest.fixture
def choose() -> Iterator[Chooser]:
    """Sets which convolutions are computed so, until the end of a test."""
    with pytest.MonkeyPatch.context() as patch:
        yield Chooser(patch, "is_worth_it_across")


# -- values ------------------------------------------------------------------------------------------


@DRAWN
@given(data=st.data(), seed=st.integers(0, 99))
def test_it_is_a_sum_over_windows(data: st.DataObject, seed: int) -> None:
    """For any number of images, channels, filters and places, odd windows, with padding and cropping."""
    window = data.draw(st.tuples(st.integers(5, 40), st.integers(4, 40)))
    places = [data.draw(st.integers(2, max(2, min(8, n // 3)))) for n in window]
    before = data.draw(st.tuples(st.integers(-2, 3), st.integers(-2, 3)))
    lengths = [n + p - 1 - b + data.draw(st.integers(-2, 2)) for n, p, b in zip(window, places, before, strict=True)]
    after = [n + p - 1 - b - i for n, p, b, i in zip(window, places, before, lengths, strict=True)]
    count, channels = data.draw(st.sampled_from([1, 3, 15, 31, 70])), data.draw(st.sampled_from([1, 2, 5, 17]))
    filters = data.draw(st.sampled_from([1, 3, 17, 33, 65]))
    x, w = normal(seed, count, channels, *lengths), normal(seed + 1, filters, channels, *window)
    with pytest.MonkeyPatch.context() as patch:
        Chooser(patch, "is_worth_it_across")(is_possible_across)
        found, stats = run(x, w, before, after)
    assert kernels(stats) == BOTH
    wanted, scale = correlated(x, w, before, after), correlated(abs(x), abs(w), before, after)
    assert abs(found - wanted).max() <= SMALL * scale.max()


@pytest.mark.parametrize("across", [4, 7, 8, 16, 24, 33])
@pytest.mark.parametrize("places", [(2, 2), (3, 3), (2, 5), (5, 2), (4, 7)])
def test_rows_of_tiles_of_half_a_vector_are_taken_in_pairs(
    across: int, places: tuple[int, int], choose: Chooser
) -> None:
    """On whatever processor: lines of 4, 8 or 16 tiles and others, an odd number of rows of tiles, several images."""
    choose(is_possible_across)
    window = (18, 2 * across)
    x, w = normal(1, 3, 5, *(n + p - 1 for n, p in zip(window, places, strict=True))), normal(2, 9, 5, *window)
    found, stats = run(x, w, (0, 0), (0, 0))
    np.testing.assert_allclose(found, correlated(x, w, (0, 0), (0, 0)), atol=2e-3)
    assert kernels(stats) == BOTH


@pytest.mark.parametrize("small", [{"_TILES": 8}, {"_TILES": 100}, {"_KEPT": 40_000}, {"_COLUMNS": 32}], ids=str)
def test_however_it_is_cut_up(small: dict[str, int], choose: Chooser, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bands of some rows of tiles, several channels at once, blocks of images, and sides of filters."""
    for name, value in small.items():
        monkeypatch.setattr(minimal_across, name, value)
    choose(is_possible_across)
    x, w = normal(1, 37, 6, 15, 13), normal(2, 70, 6, 13, 11)
    found, _ = run(x, w, (1, 1), (0, 1))
    np.testing.assert_allclose(found, correlated(x, w, (1, 1), (0, 1)), atol=2e-3)


def test_images_may_lie_in_any_way(choose: Chooser) -> None:
    """Channels last, of images; windows have to be one stretch for each channel, or are copied."""
    choose(is_possible_across)
    x, w = normal(1, 2, 14, 15, 4), normal(2, 7, 4, 12, 13)
    a, b = (images(*v.shape, dtype="float32") for v in (x, w))
    around = {"before": (1, 2), "after": (2, 0)}
    found, stats = computed(ng.semi.convolution(ng.semi.transpose(a, (0, 3, 1, 2)), b, **around), {a: x, b: w})
    np.testing.assert_allclose(found, correlated(x.transpose(0, 3, 1, 2), w, (1, 2), (2, 0)), atol=1e-3)
    assert kernels(stats) == BOTH and stats["layout_copies"] == 0


@pytest.mark.parametrize("window", [2, 3, 4, 5, 7])
def test_the_derivative_by_filters_is_one(window: int, choose: Chooser) -> None:
    choose(is_possible_across)
    x, w = images(6, 5, 19, 22, dtype="float32"), images(10, 5, window, window, dtype="float32")
    term = ng.semi.convolution(x, w, before=window // 2, after=window // 2)
    error = images(*term.shape, dtype="float32")
    (derivative,) = deriv(term, [w], error=error)
    d, v = normal(1, *term.shape), normal(2, *x.shape)
    found, stats = computed(derivative, {error: d, x: v})
    around = (window // 2, window // 2)
    wanted = correlated(v.swapaxes(0, 1), d.swapaxes(0, 1), around, around).swapaxes(0, 1)
    np.testing.assert_allclose(found, wanted, atol=2e-3)
    assert set(BOTH) <= set(kernels(stats))


def in_place(found: Any, wanted: Any) -> None:
    """What is not finite is so in both, and what is finite is about the same."""
    with np.errstate(over="ignore"):
        wanted = wanted.astype(np.float32).astype(np.float64)
    seen = np.isfinite(wanted) & (abs(wanted) < 1e30)
    np.testing.assert_allclose(found[seen], wanted[seen], atol=1e-3)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
    np.testing.assert_array_equal(np.isinf(found), np.isinf(wanted))


WHERE: dict[str, tuple[str, tuple[int, ...]]] = {
    "corner of an image": ("image", (1, 2, 12, 13)),
    "inside of an image": ("image", (1, 2, 5, 6)),
    "inside of a window": ("window", (3, 1, 6, 5)),
    "first line of a window": ("window", (3, 1, 0, 5)),
    "last line of a window": ("window", (3, 1, 11, 5)),
    "first column of a window": ("window", (3, 1, 6, 0)),
    "last column of a window": ("window", (3, 1, 6, 12)),
}


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 3e38])
@pytest.mark.parametrize("where", WHERE)
def test_what_is_not_finite_stays_where_windows_see_it(value: float, where: str, choose: Chooser) -> None:
    """Transforms spread it over segments, which are computed anew; zeros of padding count where windows meet them."""
    choose(is_possible_across)
    x, w = normal(1, 3, 4, 13, 14), normal(2, 5, 4, 12, 13)
    which, place = WHERE[where]
    (x if which == "image" else w)[place] = value
    wanted = correlated(x, w, (2, 2), (2, 2))
    assert np.isfinite(wanted).any()
    found, stats = run(x, w, (2, 2), (2, 2))
    assert kernels(stats) == BOTH
    in_place(found, wanted)


@pytest.mark.parametrize("value", [np.inf, np.nan])
@pytest.mark.parametrize("column", [0, 6, 12])
def test_so_it_does_in_images_that_are_narrower_than_windows(value: float, column: int, choose: Chooser) -> None:
    """Some places see none of an image of two columns, and all meet padding on both sides."""
    choose(is_possible_across)
    x, w = normal(1, 2, 3, 11, 2), normal(2, 4, 3, 9, 13)
    w[1, 2, 4, column] = value
    x[0, 1, 3, 1] = value
    wanted = correlated(x, w, (1, 13), (1, 3))
    found, stats = run(x, w, (1, 13), (1, 3))
    assert kernels(stats) == BOTH
    in_place(found, wanted)


def test_so_it_does_however_images_lie(choose: Chooser) -> None:
    """Channels last and turned round, so that no element of a line is behind the one before."""
    choose(is_possible_across)
    x, w = normal(1, 2, 14, 15, 4), normal(2, 7, 4, 12, 13)
    x[1, 3, 4, 2], w[5, 3, 11, 0] = np.nan, np.inf
    a, b = (images(*v.shape, dtype="float32") for v in (x, w))
    backwards = slice(None, None, -1)
    turned = ng.semi.tensor_slice(ng.semi.transpose(a, (0, 3, 1, 2)), (slice(None), slice(None), backwards, backwards))
    found, stats = computed(ng.semi.convolution(turned, b, before=(1, 2), after=(2, 0)), {a: x, b: w})
    assert kernels(stats) == BOTH
    in_place(found, correlated(x.transpose(0, 3, 1, 2)[..., ::-1, ::-1], w, (1, 2), (2, 0)))


def test_lines_of_windows_are_computed_anew_in_parts(choose: Chooser) -> None:
    """More than a thousand elements, of which the last are not finite."""
    choose(is_possible_across)
    x, w = normal(1, 1, 2, 6, 1100), normal(2, 2, 2, 5, 1099)
    w[1, 1, 2, 1090], x[0, 0, 1, 5] = np.nan, np.inf
    found, stats = run(x, w, (0, 0), (0, 0))
    assert kernels(stats) == BOTH
    in_place(found, correlated(x, w, (0, 0), (0, 0)))


def test_any_number_of_threads_gives_the_same_bits(choose: Chooser) -> None:
    choose(is_possible_across)
    x, w = normal(1, 33, 20, 32, 32), normal(2, 40, 20, 30, 30)
    first, *others = [run(x, w, 0, 0, threads=threads)[0] for threads in (1, 2, 3)]
    for other in others:
        np.testing.assert_array_equal(first.view("uint32"), other.view("uint32"))


# -- what is chosen ----------------------------------------------------------------------------------


@pytest.mark.parametrize("places", [2, 3, 5, 7])
@pytest.mark.parametrize(("count", "size"), [(1, 8), (1, 33), (8, 16), (64, 16)])
def test_errors_are_at_most_four_times_those_of_windows(places: int, count: int, size: int, choose: Chooser) -> None:
    """The largest one over the sum of magnitudes, on normal numbers."""
    size = max(size, 2 * places)
    x, w = normal(1, 16, count, size + places - 1, size + places - 1), normal(2, 32, count, size, size)
    wanted, scale = (correlated(p, q, (0, 0), (0, 0)) for p, q in ((x, w), (abs(x), abs(w))))
    errors = []
    for chooser in (is_possible_across, lambda _: False):
        choose(chooser)
        errors.append((abs(run(x, w, 0, 0)[0] - wanted) / scale).max())
    assert errors[0] <= 4 * errors[1]


def convolution(images_: int, channels: int, filters: int, size: int, side: int, **other: Any) -> Convolution:
    """The derivative by filters of one that keeps the size of square images."""
    x, w = images(images_, channels, size, size), images(filters, channels, size, size)
    pad = side // 2
    plain = Convolution(
        (images_, filters, side**2, channels * size**2),
        *(Load(op, row_major(op.shape)) for op in (x, w)),
        dtype="float32",
        packed="",
        groups=1,
        lengths=(1, size, size),
        window=(1, size, size),
        places=(1, side, side),
        strides=(1, 1, 1),
        before=(0, pad, pad),
        interior=(0, 0, 0),
        dilations=(1, 1, 1),
    )
    return plain._replace(**other)


@pytest.mark.parametrize("sizes", [(64, 64, 64, 32, 3), (32, 64, 64, 16, 5), (256, 32, 256, 14, 3), (32, 2, 64, 56, 7)])
def test_derivatives_by_filters_of_many_channels_are_worth_it(sizes: tuple[int, ...]) -> None:
    assert is_worth_it_across(convolution(*sizes))


@pytest.mark.parametrize(
    ("sizes", "other"),
    [
        ((1, 64, 20, 28, 5), {}),
        ((3, 64, 64, 32, 3), {}),
        ((128, 32, 128, 7, 3), {}),
        ((64, 64, 64, 32, 3), {"dtype": "float64"}),
        ((64, 64, 64, 32, 3), {"groups": 2}),
        ((64, 64, 64, 32, 3), {"strides": (1, 2, 2)}),
        ((64, 64, 64, 32, 3), {"dilations": (1, 1, 2)}),
        ((64, 64, 64, 32, 3), {"interior": (0, 1, 1)}),
        ((64, 64, 64, 32, 3), {"places": (1, 1, 3)}),
        ((64, 1, 64, 600, 3), {}),
        ((64, 64, 0, 32, 3), {}),
        ((0, 64, 64, 32, 3), {}),
        ((64, 0, 64, 32, 3), {}),
    ],
)
def test_others_are_not(sizes: tuple[int, ...], other: dict[str, Any]) -> None:
    """Few channels, small or wide images, other numbers, windows that skip places, a line of places, nothing to sum."""
    assert not is_worth_it_across(convolution(*sizes, **other))


def test_what_is_worth_it_is_done() -> None:
    x, w = normal(1, 64, 4, 18, 18), normal(2, 64, 4, 16, 16)
    found, stats = run(x, w, 0, 0)
    np.testing.assert_allclose(found, correlated(x, w, (0, 0), (0, 0)), atol=2e-3)
    assert kernels(stats) == BOTH and stats["layout_copies"] == 0


# -- transforms --------------------------------------------------------------------------------------


NUMBERS = st.fractions(max_denominator=10)


@pytest.mark.parametrize("places", [2, 3])
@given(image=st.lists(NUMBERS, min_size=4, max_size=4), window=st.lists(NUMBERS, min_size=2, max_size=2))
def test_values_decide_the_sums(places: int, image: list[Fraction], window: list[Fraction]) -> None:
    """In exact arithmetic: three or four products give all sums over windows, as the second kernel adds them up."""
    ways = Exact()
    values, points = IMAGE_VALUES[places](ways, image[: places + 1]), window_values(ways, window)
    if places == 2:
        one, two, three = (x * y for x, y in zip(values, [points[0], points[1], points[3]], strict=True))
        found = [one + two, two + three]
    else:
        one, two, three, four = (x * y for x, y in zip(values, points, strict=True))
        found = [one + two + three, two - three, two + three + four]
    assert found == [image[i] * window[0] + image[i + 1] * window[1] for i in range(places)]


@given(st.integers(2, 100))
def test_segments_are_two_or_three_places(places: int) -> None:
    assert sum(segments(places)) == places and set(segments(places)) <= {2, 3} and segments(places).count(2) < 3
