# SPDX-License-Identifier: Apache-2.0
"""Strides along axes whose lengths only calls give: what NumPy says for each length, and so for derivatives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from sliding_oracle import correlate, images, whole_numbers

import ngraph_rewrite as ng
from ngraph_rewrite.types.lengths import Length

TARGETS: list[Any] = ["cpu", "reference"]
H = Length.symbol("H")
FAMILIES: dict[str, Callable[[], ng.Op]] = {
    "axes": lambda: ng.placeholder({"C": 2, "H": None}, "float64"),
    "simple": lambda: ng.simple.placeholder((2, H), "float64"),
    "numpy": lambda: ng.placeholder(ng.anonymous([2, H]), "float64"),
}
# A slice, and the least length that it has positions of its own for.
SLICES = [
    (slice(None, None, 2), 0),
    (slice(None, None, 5), 0),
    (slice(1, None, 2), 0),
    (slice(2, None, 3), 0),
    (slice(3, None, 2), 2),
    (slice(None, -1, 2), 0),
    (slice(1, -2, 3), 1),
    (slice(None, None, -2), 0),
    (slice(-2, None, -2), 0),
    (slice(-2, 0, -3), 0),
    # cut off where the axis ends
    (slice(None, 3), 0),
    (slice(-3, None), 0),
    (slice(2, 5), 0),
    (slice(1, 5, 2), 0),
    (slice(0, 4, 3), 0),
    (slice(-4, -1), 0),
    (slice(-5, -2, 2), 0),
    (slice(5, 2, -1), 0),
    (slice(5, 0, -2), 0),
    (slice(-2, -5, -2), 0),
    (slice(-4, 5), 0),
    (slice(5, None, -2), 0),
    (slice(None, -4, -1), 0),
]


def total(x: ng.Op) -> ng.Op:
    """The sum of all elements, in the family of `x`."""
    if x.axes.named:
        return ng.sum(x, out_axes=())
    return ng.numpy.sum(x)


@pytest.mark.sampled
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("part", "least"), SLICES, ids=str)
def test_every_kth_element_and_two_derivatives(family: str, part: slice, least: int) -> None:
    x = FAMILIES[family]()
    y = x[:, part]
    slope = ng.deriv(total(y * y), x)
    bend = ng.deriv(total(slope * slope), x)
    for target in TARGETS:
        with ng.make_transformer(target) as transformer:
            call = transformer.computation([y, slope, bend], x)
            for n in range(least, 12):
                array = whole_numbers(n, (2, n))
                chosen = np.zeros_like(array)
                chosen[:, part] = array[:, part]
                for found, wanted in zip(call(array), [array[:, part], 2 * chosen, 8 * chosen], strict=True):
                    np.testing.assert_array_equal(found, wanted)


# A place, and the least length that it is inside of.
PLACES: list[tuple[Callable[[ng.Op], ng.Op], int]] = [
    (lambda x: x[:, 2], 3),
    (lambda x: x[:, -3], 3),
    (lambda x: x[:, 2:][:, -1], 3),
    (lambda x: x[:, :-2][:, 0], 3),
    (lambda x: x[:, ::-2][:, 1], 3),
]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("place", "least"), PLACES, ids=range(len(PLACES)))
def test_a_place_outside_of_what_a_call_gives_is_refused(
    family: str, place: Callable[[ng.Op], ng.Op], least: int
) -> None:
    """Also where two slices become one, in which it would be inside; and -3 is not -1 of two elements."""
    x = FAMILIES[family]()
    y = place(x)
    for target in TARGETS:
        with ng.make_transformer(target) as transformer:
            call = transformer.computation(y * 2, x)
            for n in range(least):
                with pytest.raises((ng.OutOfRangeError, ng.AxesError), match=r"is out of range|, which is -") as found:
                    call(np.ones((2, n)))
                assert __file__ in str(found.value)
            for n in range(least, least + 3):
                array = whole_numbers(n, (2, n))
                np.testing.assert_array_equal(call(array), 2 * np.asarray(place(array)))  # type: ignore[arg-type]


nx = ng.numpy
# What takes or changes elements at known places of the first axis of three columns, and the least length that has them.
KNOWN_PLACES: dict[str, tuple[Callable[[Any, Any], Any], int]] = {
    "taken": (lambda xp, x: x[[2, 0, -1]], 3),
    "from the end": (lambda xp, x: x[[-3, 0]], 3),
    "in two axes": (lambda xp, x: x[[-2, 1], [0, 2]], 2),
    "beside a slice": (lambda xp, x: x[[1, 0], 1:], 2),
    "take": (lambda xp, x: xp.take(x, np.array([2]), axis=0), 3),
    "take of all": (lambda xp, x: xp.take(x, [3, -4]), 2),
    "along an axis": (lambda xp, x: xp.take_along_axis(x, np.array([[1, 1, -2]]), axis=0), 2),
}
PUT: dict[str, tuple[Callable[[Any, Any], Any], Any, int]] = {
    "an integer": (lambda at, x: at(x)[2].set(9.0), 2, 3),
    "an integer from the end": (lambda at, x: at(x)[-3].set(9.0), -3, 3),
    "a list": (lambda at, x: at(x)[[2, 0]].set(9.0), [2, 0], 3),
    "two lists": (lambda at, x: at(x)[[1], [0]].set(9.0), ([1], [0]), 2),
    "along": (lambda at, x: nx.put_along_axis(x, np.array([[1, 1, 1]]), 9.0, axis=0), 1, 2),
}


def refused_below(least: int, term: ng.Op, x: ng.Op, wanted: Callable[[Any], Any]) -> None:
    for target in TARGETS:
        with ng.make_transformer(target) as transformer:
            call = transformer.computation(term, x)
            for n in range(least):
                with pytest.raises(ng.OutOfRangeError, match=r"index -?\d is out of range .* of length \d") as found:
                    call(np.ones((n, 3)))
                assert __file__ in str(found.value)
            array = whole_numbers(least, (least, 3))
            np.testing.assert_array_equal(call(array), wanted(array))


@pytest.mark.parametrize("name", KNOWN_PLACES)
def test_known_places_outside_of_what_a_call_gives_are_refused(name: str) -> None:
    function, least = KNOWN_PLACES[name]
    x = ng.placeholder((None, 3), "float64")
    refused_below(least, function(nx, x), x, lambda array: function(np, array))


@pytest.mark.parametrize("name", PUT)
def test_nothing_is_put_outside_of_what_a_call_gives(name: str) -> None:
    function, index, least = PUT[name]

    def wanted(array: Any) -> Any:
        array[index] = 9.0
        return array

    x = ng.placeholder((None, 3), "float64")
    refused_below(least, function(nx.at, x), x, wanted)


def test_no_place_is_outside_where_nothing_is_taken_and_a_term_reads_zeros_there() -> None:
    x, i = ng.placeholder((None, 3), "float64"), ng.placeholder((1,), "int64")
    with ng.make_transformer("cpu") as transformer:
        call = transformer.computation([x[[]], x[[5], np.zeros((0, 1), int)], x[i]], x, i)
        none, neither, zeros = call(np.zeros((0, 3)), [5])
    assert (none.shape, neither.shape, zeros.tolist()) == ((0, 3), (0, 1), [[0.0, 0.0, 0.0]])


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("part", "least"), [(slice(4, None), 4), (slice(2, -1), 3), (slice(-2, 1, -3), 1)], ids=str)
def test_a_part_of_less_than_no_elements_is_refused(family: str, part: slice, least: int) -> None:
    """It was empty, and a mean of it and of others was divided by another number."""
    x = FAMILIES[family]()
    y = x[:, part]
    for target in TARGETS:
        with ng.make_transformer(target) as transformer:
            call = transformer.computation(y, x)
            assert call(np.ones((2, least))).shape == (2, 0)
            for n in range(least):
                with pytest.raises(ng.AxesError, match=r"has the length .*H.*, which is -\d where H is \d") as found:
                    call(np.ones((2, n)))
                assert __file__ in str(found.value)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    "part",
    [
        lambda n: slice(n // 2),
        lambda n: slice(n - 2, None),
        lambda n: slice(2, n),
        lambda n: slice(-(n // 2), None, 2),
        lambda n: slice(n // 2, None, -1),
    ],
    ids=["first half", "last two", "but two", "second half", "reversed"],
)
def test_lengths_are_starts_and_stops(family: str, part: Callable[[Any], slice]) -> None:
    x = FAMILIES[family]()
    y = x[:, part(x.shape[1])]
    for target in TARGETS:
        with ng.make_transformer(target) as transformer:
            call = transformer.computation(y + y, x)
            for n in range(2, 7):
                array = whole_numbers(n, (2, n))
                np.testing.assert_array_equal(call(array), 2 * array[:, part(n)])


def test_a_part_of_a_known_length_is_as_long_as_an_argument() -> None:
    x, table = ng.placeholder((None, 3), name="x"), ng.placeholder((5, 3), name="table")
    places = table[: x.shape[0]]
    terms = [x + places, ng.deriv(ng.numpy.sum(x * places), table), ng.set_slice(table, slice(x.shape[0]), x)]
    rows = whole_numbers(1, (5, 3))
    for target in TARGETS:
        with ng.make_transformer(target) as transformer:
            call = transformer.computation(terms, x, table)
            for n in (0, 2, 5):
                array = whole_numbers(2, (n, 3))
                taken, slope, put = call(array, rows)
                np.testing.assert_array_equal(taken, array + rows[:n])
                np.testing.assert_array_equal(slope, np.concatenate([array, np.zeros((5 - n, 3))]))
                np.testing.assert_array_equal(put, np.concatenate([array, rows[n:]]))
            with pytest.raises(ng.OutOfRangeError, match=r"range\(0, 6, 1\) leaves an axis of length 5") as found:
                call(np.ones((6, 3)), rows)
            assert __file__ in str(found.value)


def test_what_is_computed_again_has_its_places_looked_at() -> None:
    x = ng.placeholder((None,), name="x")
    with ng.make_transformer("cpu") as transformer:
        call = transformer.computation(x + 1, x)
        call(np.zeros(2))
        with pytest.raises(ng.OutOfRangeError, match="index -3 is out of range for axis 0 of length 2"):
            call.value(x[-3], recompute=True)


# -- windows ------------------------------------------------------------------------------------------

# Size, stride, before, after and dilation.
SLIDES = [(3, 2, 1, 1, 1), (2, 3, 0, 1, 1), (1, 2, 0, 0, 1), (3, 2, 0, 2, 2), (2, 2, 3, 0, 1), (4, 3, 2, 1, 1)]


def seen(n: int, places: int, slide: tuple[int, ...]) -> Iterator[tuple[int, int, int]]:
    """Each place, element of the window and element of an axis of `n` that meet."""
    size, stride, before, _, dilation = slide
    for p in range(places):
        for r in range(size):
            at = p * stride + r * dilation - before
            if 0 <= at < n:
                yield p, r, at


def lengths(slide: tuple[int, ...]) -> range:
    """Lengths that such windows fit into."""
    size, _, before, after, dilation = slide
    return range(max((size - 1) * dilation + 1 - before - after, 0), 12)


@pytest.mark.sampled
@pytest.mark.parametrize(("slide", "order"), [*zip(SLIDES, ["CHN", "NCH"] * 3, strict=True)], ids=str)
def test_convolutions_and_their_derivatives(order: str, slide: tuple[int, ...]) -> None:
    size, stride, before, after, dilation = slide
    x = ng.placeholder([ng.Axis(a, {"C": 2}.get(a)) for a in order], "float64")
    w = ng.placeholder({"C": 2, "R": size, "K": 3}, "float64")
    y = ng.convolution(x, w, stride=stride, padding={"H": (before, after)}, dilation=dilation)
    results = [y, *ng.deriv(ng.sum(y * y, out_axes=()), [x, w])]
    inner = [order.index(a) for a in "NCH"]
    for target in TARGETS:
        with ng.make_transformer(target) as transformer:
            call = transformer.computation(results, x, w)
            for n in lengths(slide):
                for batch in (0, 1, 3):
                    image, filters = whole_numbers(n, (batch, 2, n)), whole_numbers(n + 1, (2, size, 3))
                    wanted = _convolved(image, filters, slide)
                    found = call(np.transpose(image, np.argsort(inner)), filters)
                    found = [*(np.transpose(array, inner) for array in found[:2]), found[2]]
                    for one, other in zip(found, wanted, strict=True):
                        np.testing.assert_array_equal(one, other)


def _convolved(image: Any, filters: Any, slide: tuple[int, ...]) -> tuple[Any, Any, Any]:
    """A convolution, and the derivatives of the sum of its squares."""
    _, stride, before, after, dilation = slide
    y = correlate(image, np.moveaxis(filters, 2, 0), [stride], [before], [after], [0], [dilation])
    dx, dw = np.zeros_like(image), np.zeros_like(filters)
    for p, r, at in seen(image.shape[2], y.shape[2], slide):
        dx[:, :, at] += 2 * y[:, :, p] @ filters[:, r].T
        dw[:, r] += image[:, :, at].T @ (2 * y[:, :, p])
    return y, dx, dw


@pytest.mark.parametrize("slide", [s for s in SLIDES if s[0] + s[1] > s[2] + s[3]], ids=str)
def test_deconvolutions_and_their_derivatives(slide: tuple[int, ...]) -> None:
    size, stride, before, after, dilation = slide
    x = ng.placeholder({"K": 3, "H": None, "N": None}, "float64")
    w = ng.placeholder({"C": 2, "R": size, "K": 3}, "float64")
    how: dict[str, Any] = {"stride": stride, "padding": [(before, after)], "dilation": dilation}
    y = ng.deconvolution(x, w, channel="K", **how)
    results = [y, *ng.deriv(ng.sum(y * y, out_axes=()), [x, w])]
    for target in TARGETS:
        with ng.make_transformer(target) as transformer:
            call = transformer.computation(results, x, w)
            for n in range(2, 7):
                given, filters = whole_numbers(n, (3, n, 2)), whole_numbers(n + 1, (2, size, 3))
                whole = (n - 1) * stride + (size - 1) * dilation + 1 - before - after
                wanted = np.zeros((2, whole, 2))
                for p, r, at in seen(whole, n, slide):
                    wanted[:, at] += filters[:, r] @ given[:, p]
                dx, dw = np.zeros_like(given), np.zeros_like(filters)
                for p, r, at in seen(whole, n, slide):
                    dx[:, p] += filters[:, r].T @ (2 * wanted[:, at])
                    dw[:, r] += 2 * wanted[:, at] @ given[:, p].T
                for one, other in zip(call(given, filters), (wanted, dx, dw), strict=True):
                    np.testing.assert_array_equal(one, other)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("kind", "slide"), [*(("max", s) for s in SLIDES), *(("avg", s) for s in SLIDES[3:5])], ids=str
)
def test_poolings_and_their_derivatives(slide: tuple[int, ...], kind: str) -> None:
    size, stride, before, after, dilation = slide
    x = ng.placeholder({"H": None, "N": None}, "float64")
    y = ng.pooling(x, kind, size={"H": size}, stride=stride, padding=[(before, after)], dilation=dilation)
    slope = ng.deriv(ng.sum(y, out_axes=()), x)
    for target in TARGETS:
        with ng.make_transformer(target) as transformer:
            call = transformer.computation([y, slope], x)
            for n in lengths(slide):
                for batch in (0, 2):
                    array = whole_numbers(n, (n, batch))
                    for one, other in zip(call(array), _pooled(array, slide, kind), strict=True):
                        np.testing.assert_allclose(one, other, rtol=1e-14)


def _pooled(array: Any, slide: tuple[int, ...], kind: str) -> tuple[Any, Any]:
    """Pooling along the first axis, and the derivative of its sum."""
    size, stride, before, after, dilation = slide
    n = len(array)
    places = (n + before + after - (size - 1) * dilation - 1) // stride + 1
    y, slope = np.zeros((places, array.shape[1])), np.zeros_like(array)
    for place in range(places):
        ats = [at for p, _, at in seen(n, places, slide) if p == place]
        own = array[ats]
        if kind == "avg":
            y[place] = own.sum(axis=0) / max(len(ats), 1)
            share = np.full_like(own, 1 / max(len(ats), 1))
        else:
            y[place] = own.max(axis=0, initial=-np.inf)
            best = (own == y[place]).astype(float)
            share = best / np.maximum(best.sum(axis=0), 1)
        slope[ats] += share
    return y, slope


@pytest.mark.parametrize("family", ["axes", "simple"])
def test_both_lengths_of_images_and_second_derivatives(family: str) -> None:
    """As where the lengths are known."""

    def results(x: ng.Op, w: ng.Op) -> list[ng.Op]:
        own: Any = ng if family == "axes" else ng.simple
        y = own.convolution(x, w, stride=[2, 3], padding=[1, (0, 2)])
        first = ng.deriv(total(y * y * y), [x, w])
        return [y, *first, *ng.deriv(total(first[0] * first[0]) + total(first[1] * first[1]), [x, w])]

    w = ng.placeholder({"C": 2, "R": 3, "S": 2, "K": 2} if family == "axes" else ng.anonymous([2, 3, 2, 2]), "float64")

    def image(h: Any, v: Any) -> ng.Op:
        axes = {"C": 2, "H": h, "W": v} if family == "axes" else ng.anonymous([2, h, v])
        return ng.placeholder(axes, "float64")

    x = image(Length.symbol("H"), Length.symbol("W"))
    with ng.make_transformer("cpu") as transformer, ng.make_transformer("reference") as oracle:
        call = transformer.computation(results(x, w), x, w)
        for shape in [(1, 1), (2, 5), (4, 3), (5, 4), (7, 6)]:
            known, arrays = image(*shape), (whole_numbers(1, (2, *shape)), whole_numbers(2, w.shape))
            for one, other in zip(call(*arrays), oracle.computation(results(known, w), known, w)(*arrays), strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize("gap", [1, 2])
def test_zeros_between_elements_that_may_be_none(gap: int) -> None:
    """There are as many gaps as there are elements, less one, but none where there is no element."""
    x, w = images(1, 2, None), images(3, 2, 2)
    y = ng.semi.convolution(x, w, interior=gap, before=1, after=gap)
    slopes = ng.deriv(ng.numpy.sum(y * y), [x, w])
    for target in TARGETS:
        with ng.make_transformer(target) as transformer:
            call = transformer.computation([y, *slopes], x, w)
            for n in range(5):
                image, filters = whole_numbers(n, (1, 2, n)), whole_numbers(9, (3, 2, 2))
                found = call(image, filters)
                wanted = correlate(image, filters, [1], [1], [gap], [gap], [1])
                np.testing.assert_array_equal(found[0], wanted)
                spread = np.zeros((1, 2, wanted.shape[2] + 1))
                taken = slice(1, 1 + (gap + 1) * n, gap + 1)
                spread[:, :, taken] = image
                dx, dw = np.zeros_like(spread), np.zeros_like(filters)
                for p, r in np.ndindex(wanted.shape[2], 2):
                    dx[:, :, p + r] += 2 * wanted[:, :, p] @ filters[:, :, r]
                    dw[:, :, r] += 2 * wanted[:, :, p].T @ spread[:, :, p + r]
                np.testing.assert_array_equal(found[1], dx[:, :, taken])
                np.testing.assert_array_equal(found[2], dw)
