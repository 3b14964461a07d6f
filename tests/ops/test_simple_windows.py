# SPDX-License-Identifier: Apache-2.0
"""Simple convolution and pooling: what the loops over windows say, wherever N and R stand and a target wants them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from drawn import apply, value
from hypothesis import given, settings
from hypothesis import strategies as st
from sliding_oracle import both, check_gradients, correlate, pool, whole_numbers

import ngraph_rewrite as ng
from ngraph_rewrite import errors
from ngraph_rewrite.ops.simple_marks import keys
from ngraph_rewrite.plan.plan import make_plan
from ngraph_rewrite.terms.walking import topological

s, N, R = ng.simple, ng.simple.N, ng.simple.R
DRAWN = settings(max_examples=15, deadline=None)
PLACES = [("first", "first"), ("last", "first"), ("last", "last"), ("any", "any")]
# Where the axes of images stand: features by number.
ORDERS: list[tuple[Any, ...]] = [
    (0, 1, 2, N),
    (N, 0, 1, 2),
    (0, 1, 2),
    (R, 0, 1, 2, N),
    (0, N, 1, R, 2),
    (N, R, 0, 1, 2),
]
ORDERS += [(0, 1, N), (R, 0, N)]
orders = st.sampled_from(ORDERS)
LENGTHS = {N: 2, R: 3}
NONE: list[tuple[int, ...]] = [()] * 4
# Stride, before, after and dilation along one axis.
SLIDES = st.tuples(st.integers(1, 3), st.integers(0, 2), st.integers(0, 2), st.integers(1, 2))


def standing(order: Sequence[Any], shape: Sequence[int], dtype: str = "float64") -> ng.Op:
    """A placeholder of these features, in this order."""
    return s.placeholder([k(LENGTHS[k]) if isinstance(k, s.Marker) else shape[k] for k in order], dtype)


def lined_up(array: Any, order: Sequence[Any]) -> Any:
    """An array as (N, C, spatial...), with N and R, as the outer of both, as one."""
    marks = [k for k in (R, N) if k in order]
    own = sorted(k for k in order if isinstance(k, int))
    moved = np.transpose(array, [order.index(k) for k in (*marks, *own)])
    return moved.reshape((math.prod(moved.shape[: len(marks)]), *moved.shape[len(marks) :]))


def put_back(images: Any, order: Sequence[Any]) -> Any:
    """Images (N, C, spatial...) in this order."""
    marks = [k for k in (R, N) if k in order]
    whole = images.reshape((*(LENGTHS[m] for m in marks), *images.shape[1:]))
    lies = [*marks, *sorted(k for k in order if isinstance(k, int))]
    return np.transpose(whole, [lies.index(k) for k in order])


def windows_fit(lengths: Any, sizes: Any, strides: Any, before: Any, after: Any, dilations: Any) -> bool:
    """Whether there is a window along every axis."""
    every = zip(lengths, sizes, before, after, dilations, strict=True)
    return all(n + b + a >= ((r - 1) * e + 1 if r else 0) for n, r, b, a, e in every)


def ranks(order: Sequence[Any]) -> int:
    return sum(isinstance(k, int) for k in order) - 1


@DRAWN
@given(data=st.data(), order=orders, groups=st.sampled_from([1, 2]), seed=st.integers(0, 99))
def test_a_convolution_is_a_sum_over_windows_for_each_sample_and_step(
    data: st.DataObject, order: tuple[Any, ...], groups: int, seed: int
) -> None:
    rank = ranks(order)
    strides, before, after, dilations = (
        zip(*(data.draw(SLIDES) for _ in range(rank)), strict=True) if rank else [()] * 4
    )
    lengths = [data.draw(st.integers(0, 5)) for _ in range(rank)]
    x = standing(order, [2 * groups, *lengths])
    w = s.placeholder((2, *(data.draw(st.integers(0, 3)) for _ in range(rank)), 3 * groups), "float64")
    arrays = {x: whole_numbers(seed, x.shape), w: whole_numbers(seed + 1, w.shape)}
    images, filters = lined_up(arrays[x], order), np.moveaxis(arrays[w], -1, 0)
    found = correlate(images, filters, strides, before, after, (0,) * rank, dilations, groups)
    how: dict[str, Any] = {"stride": strides, "padding": list(zip(before, after, strict=True)), "dilation": dilations}
    if 0 in found.shape[2:]:
        with pytest.raises(errors.AxesError, match="places is longer than feature"):
            s.convolution(x, w, **how, groups=groups)
        return
    term, wanted = s.convolution(x, w, **how, groups=groups), put_back(found, order)
    assert term.shape == wanted.shape
    np.testing.assert_array_equal(value(term, arrays), wanted)


@DRAWN
@given(data=st.data(), order=orders, groups=st.sampled_from([1, 2]), seed=st.integers(0, 99))
def test_the_three_ops_are_each_others_adjoints(
    data: st.DataObject, order: tuple[Any, ...], groups: int, seed: int
) -> None:
    rank = ranks(order)
    strides, before, after, dilations = zip(*(data.draw(SLIDES) for _ in range(rank)), strict=True) if rank else NONE
    lengths = [data.draw(st.integers(1, 5)) for _ in range(rank)]
    x = standing(order, [4, *lengths])
    w = s.placeholder((4 // groups, *(data.draw(st.integers(1, 3)) for _ in range(rank)), 6), "float64")
    how = {"strides": strides, "before": before, "after": after, "dilations": dilations, "groups": groups}
    if not windows_fit(lengths, w.shape[1:-1], strides, before, after, dilations):
        with pytest.raises(errors.AxesError, match="places is longer than feature"):
            apply("simple.convolution", x, w, **how)
        return
    y = apply("simple.convolution", x, w, **how)
    d = standing(order, [int(n) for k, n in zip(order, y.shape, strict=True) if isinstance(k, int)])
    back = apply("simple.deconvolution", d, w, lengths=tuple(lengths), **how)
    update = apply("simple.convolution_update", x, d, sizes=w.shape[1:-1], **how)
    assert (back.type, update.type) == (x.type, w.type)
    arrays = {t: whole_numbers(seed + i, t.shape) for i, t in enumerate((x, w, d))}
    product = (value(y, arrays) * arrays[d]).sum()
    assert product == (arrays[x] * value(back, arrays)).sum() == (arrays[w] * value(update, arrays)).sum()


@DRAWN
@given(data=st.data(), order=orders, kind=st.sampled_from(["max", "min", "sum", "avg"]), counted=st.booleans())
def test_pooling_combines_what_each_window_sees(
    data: st.DataObject, order: tuple[Any, ...], kind: str, counted: bool
) -> None:
    x = standing(order, [data.draw(st.integers(0, 5)) for _ in range(ranks(order) + 1)])
    over = data.draw(st.lists(st.sampled_from(range(ranks(order) + 1)), unique=True, max_size=2))
    rows = [(data.draw(st.integers(1, 3)), *data.draw(SLIDES)) for _ in over]
    sizes, strides, before, after, dilations = zip(*rows, strict=True) if rows else [()] * 5
    array = whole_numbers(data.draw(st.integers(0, 99)), x.shape)
    how: dict[str, Any] = {
        "size": dict(zip(over, sizes, strict=True)), "stride": strides, "dilation": dilations,
        "padding": list(zip(before, after, strict=True)), "counted": counted,
    }  # fmt: skip
    places = [order.index(k) for k in over]
    if not windows_fit([x.shape[k] for k in places], sizes, strides, before, after, dilations):
        with pytest.raises(errors.AxesError, match="places is longer than feature"):
            s.pooling(x, kind, **how)
        return
    term = s.pooling(x, kind, **how)
    wanted = pool(array, places, sizes, strides, before, after, dilations, kind, counted)
    assert term.shape == wanted.shape
    # an average of small whole numbers is rounded once
    np.testing.assert_allclose(value(term, {x: array}), wanted, rtol=1e-15)


@DRAWN
@given(data=st.data(), order=orders, seed=st.integers(0, 99))
def test_folding_is_the_adjoint_of_taking_windows(data: st.DataObject, order: tuple[Any, ...], seed: int) -> None:
    x = standing(order, [data.draw(st.integers(0, 5)) for _ in range(ranks(order) + 1)])
    over = sorted(data.draw(st.sets(st.sampled_from(range(ranks(order) + 1)), max_size=2)))
    rows = [tuple(data.draw(st.integers(low, 3)) for low in (0, 1, 1)) for _ in over]
    sizes, strides, dilations = zip(*rows, strict=True) if rows else [()] * 3
    lengths, nothing = [x.shape[order.index(k)] for k in over], (0,) * len(over)
    if not windows_fit(lengths, sizes, strides, nothing, nothing, dilations):
        with pytest.raises(errors.AxesError, match="longer than feature"):
            s.windows(x, over, sizes, strides, dilations)
        return
    seen = s.windows(x, over, sizes, strides, dilations)
    other = ng.placeholder(seen.axes, "float64")
    folded = s.fold(other, over, lengths, strides, dilations)
    given_ = {x: whole_numbers(seed, x.shape), other: whole_numbers(seed + 1, seen.shape)}
    same = np.transpose(value(folded, given_), [keys(folded.axes).index(k) for k in keys(x.axes)])
    assert (value(seen, given_) * given_[other]).sum() == (given_[x] * same).sum()


# -- targets and their preferences ----------------------------------------------------------------------


def network(order: tuple[Any, ...], deep: bool = True) -> tuple[ng.Op, list[ng.Op]]:
    """Convolutions, two of them if deep, pooling and a batch norm; the outputs, the loss and all gradients."""
    rng = np.random.default_rng(0)

    def weights(*shape: int) -> ng.Op:
        return s.variable(shape, "float64", initial_value=rng.normal(size=shape))

    x = standing(order, [2, 6, 5])
    h = s.relu(s.batch_norm(s.convolution(x, weights(2, 3, 2, 4), padding=1), weights(4), weights(4)))
    h = s.pooling(h, "max", size=2)
    h = s.tanh(s.convolution(h, weights(2, 2, 3, 4), groups=2, padding=1) if deep else h)
    h = s.pooling(h, "avg", size=2, padding=1)
    loss = s.mean(s.squared_L2(h), keep=())
    return x, [h, loss, *ng.deriv(loss, loss.variables())]


@pytest.mark.parametrize("order", [(N, 0, 1, 2), (R, 0, 1, N, 2)])
def test_a_network_has_the_same_values_for_every_preference(order: tuple[Any, ...]) -> None:
    x, results = network(order, deep=False)
    array = np.random.default_rng(1).normal(size=x.shape)
    with ng.make_transformer("reference") as oracle:
        wanted = oracle.computation(results, x)(array)
    for sample, recurrent in PLACES[1::2] if R in order else PLACES[::2]:
        with ng.make_transformer("cpu", sample=sample, recurrent=recurrent) as transformer:
            for left, right in zip(transformer.computation(results, x)(array), wanted, strict=True):
                np.testing.assert_allclose(left, right, rtol=1e-9, atol=1e-10)


def moved(results: Sequence[ng.Op], x: ng.Op, **places: str) -> list[ng.Op]:
    """What is copied into another order, but for the columns that windows become and parts of filters."""
    with ng.make_transformer("cpu", **places) as transformer:  # type: ignore[arg-type]
        roots = transformer.computation(list(results), x).lowering.roots
        images = {t for t in topological(roots) if t.definition.name == "semi.windows"}
        copies = [c.term for c in make_plan(roots, []).copies]
    return [t for t in copies if not (t.args and t.args[0] in images)]


@pytest.mark.parametrize("order", [(0, 1, 2, N), (N, 0, 1, 2), (R, 0, 1, 2, N), (R, N, 0, 1, 2)])
@pytest.mark.parametrize("places", PLACES)
def test_nothing_is_moved_between_the_layers(order: tuple[Any, ...], places: tuple[str, str]) -> None:
    x, results = network(order)
    found = moved(results[:2], x, sample=places[0], recurrent=places[1])
    border = [t for t in found if t.definition.name == "core.label" or t.args[0].definition.name == "core.strip"]
    assert found == border and len(found) <= 2  # the input, and the result


@pytest.mark.parametrize("order", [(0, 1, 2, N), (0, 1, 2, R, N)])
def test_gradients_move_no_images_where_samples_are_last(order: tuple[Any, ...]) -> None:
    x, results = network(order)
    largest = max(int(w.size) for w in results[1].variables())  # type: ignore[arg-type]
    assert all(int(t.size) <= largest for t in moved(results[1:], x, sample="last", recurrent="last"))  # type: ignore[arg-type]


@pytest.mark.parametrize("place", ["first", "last"])
def test_lengths_of_n_and_r_may_be_known_only_in_a_call(place: str) -> None:
    x, w = s.placeholder((2, R, 5, N), "float64"), s.placeholder((2, 3, 4), "float64")
    y = s.pooling(s.convolution(x, w, stride=2, padding=1), "max", size=2)
    results = [y, *ng.deriv(s.sum(y * y, keep=()), [x, w])]
    with ng.make_transformer("reference") as oracle, ng.make_transformer("cpu", sample=place) as transformer:
        computations = [t.computation(results, x, w) for t in (oracle, transformer)]
        for samples in (0, 1, 3):
            arrays = whole_numbers(1, (2, 2, 5, samples)), whole_numbers(2, w.shape)
            one, two = (computation(*arrays) for computation in computations)
            for a, b in zip(one, two, strict=True):
                np.testing.assert_array_equal(a, b)


def test_the_named_family_agrees() -> None:
    x, w = s.placeholder((N(2), 4, 5, 6), "float64"), s.placeholder((2, 3, 2, 6), "float64")
    how: dict[str, Any] = {"stride": 2, "padding": (1, (0, 1)), "dilation": 1, "groups": 2}
    named = ng.label(ng.strip(x), ng.make_axes([ng.Axis(a, n) for a, n in zip("NCHW", (2, 4, 5, 6), strict=True)]))
    filters = ng.label(ng.strip(w), ng.make_axes([ng.Axis(a, n) for a, n in zip("CRSK", (2, 3, 2, 6), strict=True)]))
    pairs = [(s.convolution(x, w, **how), ng.convolution(named, filters, **how))]
    for kind in ("max", "avg"):
        pairs.append((s.pooling(x, kind, size=2, stride=1), ng.pooling(named, kind, size=2, stride=1)))
    arrays = {x: whole_numbers(1, x.shape), w: whole_numbers(2, w.shape)}
    for left, right in pairs:
        np.testing.assert_array_equal(value(left, arrays), value(right, arrays))


def test_a_stride_and_a_padding_may_be_given_by_feature() -> None:
    x, w = s.placeholder((2, 8, 8, N)), s.placeholder((2, 3, 3, 4))
    assert s.convolution(x, w, stride={2: 2}, padding={1: 1, -1: (0, 1)}).shape[:3] == (4, 8, 4)
    assert s.pooling(x, "sum", size={0: 2}).shape[:3] == (1, 8, 8)
    assert s.pooling(x, "min", size=2, spatial=1).shape[:3] == (2, 4, 8)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "float16", "float32"])
def test_every_dtype(dtype: str) -> None:
    x, w = s.placeholder((2, 5, N(2)), dtype), s.placeholder((2, 3, 3), dtype)
    arrays = {x: whole_numbers(1, x.shape, dtype), w: whole_numbers(2, w.shape, dtype)}
    terms = [s.convolution(x, w), *(s.pooling(x, kind, size=2) for kind in ("max", "min", "sum"))]
    for one, two in zip(*both(terms, arrays), strict=True):
        assert one.dtype == two.dtype == dtype
        np.testing.assert_array_equal(one, two)


def test_windows_and_paddings_may_be_given_by_feature() -> None:
    x = s.placeholder((2, 8, 8, N))
    assert s.windows(x, [1, 2], {1: 3, 2: 4}, strides={-1: 2}).shape[:5] == (2, 6, 3, 3, 4)
    assert s.pad(x, {1: 1, -1: (0, 2)}).shape[:3] == (2, 10, 10) and s.pad(x, 1).shape[:3] == (4, 10, 10)


# -- derivatives ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [(0, 1, N), (N, 0, 1), (R, 0, 1, N)])
@pytest.mark.parametrize("function", [s.convolution, s.deconvolution])
def test_first_and_second_derivatives_of_convolutions(function: Any, order: tuple[Any, ...]) -> None:
    x, w = standing(order, [2, 4]), s.placeholder((2, 3, 2), "float64")
    rng = np.random.default_rng(1)
    values = {x: rng.normal(size=x.shape), w: rng.normal(size=w.shape)}
    term = function(x, w, stride=2, padding=1)
    check_gradients(term, values, [x, w])
    slope = ng.deriv(s.sum(term * term, keep=()), [x, w])
    whole = s.sum(slope[0] * slope[0], keep=()) + s.sum(slope[1] * slope[1], keep=())
    check_gradients(whole, values, [x, w], 1e-6)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("kind", "order"),
    [
        *[("max", order) for order in ((0, 1, N), (N, 0, 1), (R, 0, 1, N), (0, N, 1))],
        *[("avg", order) for order in ((N, 0, 1), (R, 0, 1, N))],
        ("min", (R, 0, 1, N)),  # as a maximum, and a sum as an average
        ("sum", (0, N, 1)),
    ],
)
def test_derivatives_of_pooling(kind: str, order: tuple[Any, ...]) -> None:
    x = standing(order, [3, 7])
    distinct = np.random.default_rng(0).permutation(np.linspace(-1, 1, int(x.size))).reshape(x.shape)  # type: ignore[arg-type]
    for counted in (False, True) if kind == "avg" else (False,):  # by which sums alone are divided
        term = s.pooling(x, kind, size=3, stride=2, padding=(1,), dilation=1, counted=counted)
        check_gradients(term, {x: distinct}, [x])
    check_gradients(s.pooling(x, kind, size={0: 2, 1: 2}, stride=1, dilation=[1, 2]), {x: distinct}, [x])


def test_equal_greatest_elements_share_evenly() -> None:
    x = s.placeholder((1, 5, N(1)), "float64")
    slope = ng.deriv(s.sum(s.pooling(x, "max", size=3, stride=1, padding=1), keep=()), x)
    for found in both(slope, {x: np.array([1.0, 1.0, 0.0, 2.0, 2.0]).reshape(1, 5, 1)}):
        np.testing.assert_array_equal(found.ravel(), [1.0, 1.0, 0.0, 2.0, 1.0])


def test_an_image_without_samples_meets_an_adjoint_that_has_them() -> None:
    x, w = s.placeholder((2, 4), "float64"), s.placeholder((2, 3, 2), "float64")
    scale = s.placeholder((2, 2, N(3)), "float64")
    term = s.convolution(x, w) * scale
    check_gradients(term, {t: whole_numbers(i, t.shape) for i, t in enumerate((x, w, scale))}, [x, w, scale])


# -- wrong calls ----------------------------------------------------------------------------------------

X, F = s.placeholder((4, 5, 4, N)), s.placeholder((4, 3, 2, 6))
WRONG: dict[str, tuple[Any, type[Exception], str]] = {
    "a stride of 0": (lambda: s.convolution(X, F, stride=0), errors.AttributeValueError, "at least 1"),
    "three strides": (lambda: s.convolution(X, F, stride=[1, 1, 1]), errors.AttributeValueError, "each of feature 1"),
    "a pair of paddings for one feature": (
        lambda: s.convolution(s.placeholder((4, 5)), s.placeholder((4, 3, 6)), padding=(2, 1)),
        errors.AttributeValueError,
        r"padding is \(2, 1\)\n.*\n  give one number, or .* each of feature 1, or by axis, such as \{1: \(2, 1\)\}"),
    "paddings for one of two features": (lambda: s.pad(X, [1, 1]), errors.AttributeValueError, r"as \{2: \(1, 1\)"),
    "a padding of a feature beyond": (lambda: s.pad(X, {3: 1}), errors.OutOfRangeError, "feature axis 3"),
    "no list of features": (lambda: s.windows(X, 1, 2), errors.AttributeValueError, "over is 1"),
    "no list of axes": (
        lambda: s.pooling(X, "max", size=2, spatial=1.5), errors.AttributeValueError, "spatial is 1.5"),
    "a stride of channels": (lambda: s.convolution(X, F, stride={0: 2}), errors.UnmatchedAxesError, "feature 0"),
    "a stride beyond": (lambda: s.convolution(X, F, stride={3: 2}), errors.OutOfRangeError, "feature axis 3"),
    "a negative padding": (lambda: s.convolution(X, F, padding=-1), errors.LengthError, "padding is -1"),
    "three paddings": (lambda: s.convolution(X, F, padding={1: (1, 2, 3)}), errors.AttributeValueError, "pair"),
    "groups that do not divide": (lambda: s.convolution(X, F, groups=3), errors.AxesError, "4 channels"),
    "results that do not divide": (
        lambda: s.convolution(X, s.placeholder((2, 3, 2, 5)), groups=2), errors.AxesError, "cannot be split"),
    "no groups": (lambda: s.convolution(X, F, groups=0), errors.AttributeValueError, "groups is 0"),
    "wrong channels": (lambda: s.deconvolution(X, F), errors.AxesError, "4 channels"),
    "filters of other axes": (lambda: s.convolution(X, s.placeholder((4, 3, 6))), errors.AxesError, "one axis more"),
    "filters of samples": (
        lambda: s.convolution(X, s.placeholder((4, 3, 2, 6, N))), errors.FamilyError, "neither N nor R"),
    "no channels": (lambda: s.convolution(s.placeholder((N,)), s.placeholder((3,))), errors.AxesError, "channels"),
    "other lengths": (
        lambda: s.deconvolution(s.placeholder((6, 5)), s.placeholder((4, 3, 6)), [9]), errors.AxesError, "7 windows"),
    "truth": (lambda: s.convolution(X > 0, F > 0), errors.DTypeError, "expected numbers"),
    "an adjoint without samples": (
        lambda: apply("simple.convolution_update", s.placeholder((4, 5, N)), s.placeholder((6, 3)), sizes=(3,),
                      strides=(1,), before=(0,), after=(0,), dilations=(1,), groups=1),
        errors.UnmatchedAxesError, "broadcast the other"),
    "places that windows have not": (
        lambda: apply("simple.convolution_update", s.placeholder((4, 5)), s.placeholder((6, 4)), sizes=(3,),
                      strides=(1,), before=(0,), after=(0,), dilations=(1,), groups=1), errors.AxesError, "3"),
    "another kind": (lambda: s.pooling(X, "median", size=2), errors.AttributeValueError, "max, min, sum, avg"),
    "no size": (lambda: s.pooling(X, "max"), errors.ArgumentError, "no size"),
    "a size of 0": (lambda: s.pooling(X, "max", size=0), errors.AttributeValueError, "at least 1"),
    "a feature that is not there": (lambda: s.pooling(X, "max", size={3: 2}), errors.OutOfRangeError, "feature axis 3"),
    "a feature twice": (lambda: s.pooling(X, "max", size=2, spatial=[1, 1]), errors.AttributeValueError, "twice"),
    "pooled truth": (lambda: s.pooling(X > 0, "max", size=2), errors.DTypeError, "expected numbers"),
    "windows over a feature twice": (lambda: s.windows(X, [0, 0], 2), errors.AttributeValueError, "twice"),
    "windows that do not fit": (lambda: s.fold(s.placeholder((3, 2)), [0], 9), errors.AxesError, "9 elements have 8"),
    "no windows to fold": (
        lambda: s.fold(s.placeholder((0, 2)), [0], 1), errors.AxesError, "2 places is longer than feature 0"),
    "windows longer than a feature": (
        lambda: s.windows(X, [2], 3, dilations=2), errors.AxesError, "5 places is longer than feature 2, .* length 4"),
    "windows longer than images": (
        lambda: s.convolution(X, s.placeholder((4, 3, 5, 6))), errors.AxesError, "5 places .* feature 2, .* length 4"),
    "windows longer than padded images": (
        lambda: s.pooling(X, "max", size=7, padding=[1, (1, 0)]), errors.AxesError,
        r"feature 2, .* length 4 with 1 before and 0 behind it\n.*\n  use a smaller window, or pad more"),
    "no places to put windows in": (
        lambda: s.deconvolution(s.placeholder((6, 0)), s.placeholder((4, 3, 6))), errors.AxesError, "feature 1 has no"),
    "no windows at the end": (lambda: s.fold(s.placeholder((3,)), [0], 3), errors.AttributeValueError, "at its end"),
    "folding out of order": (
        lambda: s.fold(s.placeholder((3, 3, 2, 2)), [1, 0], 4), errors.AttributeValueError, "in order"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_call_says_what_is_wrong(name: str) -> None:
    call, kind, message = WRONG[name]
    with pytest.raises(kind, match=message) as caught:
        call()
    assert type(caught.value) is kind
