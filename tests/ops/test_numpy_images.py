# SPDX-License-Identifier: Apache-2.0
"""Convolution and pooling by position are what the loops over windows say, for each image before the channels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from on_targets import check_gradient, computed, meaning
from sliding_oracle import correlate, pool

import ngraph_rewrite as ng
from ngraph_rewrite import errors

nx = ng.numpy
DRAWN = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
# Stride, before, after and dilation along one axis.
SLIDES = st.tuples(st.integers(1, 3), st.integers(0, 2), st.integers(0, 2), st.integers(1, 2))


def some(shape: Any, seed: int, dtype: str = "float64") -> Any:
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(dtype)


def fits(lengths: Any, sizes: Any, before: Any, after: Any, dilations: Any) -> bool:
    every = zip(lengths, sizes, before, after, dilations, strict=True)
    return all(n + b + a >= (r - 1) * e + 1 for n, r, b, a, e in every)


@DRAWN
@given(
    lead=st.sampled_from([(), (2,), (0,), (2, 3)]), lengths=st.lists(st.integers(1, 6), max_size=2), data=st.data(),
    groups=st.sampled_from([1, 2]), seed=st.integers(0, 99),
    dtypes=st.sampled_from([("float64", "float64"), ("float32", "float64"), ("int32", "int8")]),
)  # fmt: skip
def test_a_convolution_is_a_sum_over_windows(
    lead: Any, lengths: Any, data: Any, groups: int, dtypes: Any, seed: int
) -> None:
    strides, before, after, dilations = zip(*(data.draw(SLIDES) for _ in lengths), strict=True) if lengths else [()] * 4
    sizes = tuple(data.draw(st.integers(1, 3)) for _ in lengths)
    if fits(lengths, sizes, before, after, dilations):
        x = some((*lead, 2 * groups, *lengths), seed, dtypes[0])
        w = some((3 * groups, 2, *sizes), seed + 1, dtypes[1])
        how = {"stride": strides, "padding": [*zip(before, after, strict=True)], "dilation": dilations}
        found = meaning(lambda x, w: nx.convolution(x, w, groups=groups, **how), x, w)
        wanted = correlate(
            x.reshape(-1 if x.size else 0, *x.shape[len(lead) :]), w, strides, before, after, (0,) * len(sizes),
            dilations, groups,
        )  # fmt: skip
        assert found.dtype == np.result_type(*dtypes)
        np.testing.assert_array_equal(found, wanted.reshape(*lead, *wanted.shape[1:]))


@DRAWN
@given(
    n=st.integers(1, 7), size=st.integers(1, 3), slide=SLIDES, groups=st.sampled_from([1, 2]), seed=st.integers(0, 99)
)
def test_a_deconvolution_is_the_adjoint_of_a_convolution(n: int, size: int, slide: Any, groups: int, seed: int) -> None:
    """<convolution(x), y> is <x, deconvolution(y)>."""
    stride, before, after, dilation = slide
    if fits([n], [size], [before], [after], [dilation]):
        how: Any = {"stride": stride, "padding": [(before, after)], "dilation": dilation, "groups": groups}
        x, w = some((2, 2 * groups, n), seed), some((2 * groups, 2, size), seed + 1)
        there = meaning(lambda x, w: nx.convolution(x, w, **how), x, w)
        y = some(there.shape, seed + 2)
        back = meaning(lambda y, w: nx.deconvolution(y, w, [n], **how), y, w)
        assert back.shape == x.shape
        assert (there * y).sum() == (x * back).sum()


@DRAWN
@given(
    kind=st.sampled_from(["max", "min", "avg", "sum"]), lengths=st.lists(st.integers(1, 6), min_size=1, max_size=2),
    data=st.data(), counted=st.booleans(), dtype=st.sampled_from(["float64", "float32", "int32"]),
    seed=st.integers(0, 9),
)  # fmt: skip
def test_pooling_combines_each_window(kind: str, lengths: Any, data: Any, counted: bool, dtype: str, seed: int) -> None:
    strides, before, after, dilations = zip(*(data.draw(SLIDES) for _ in lengths), strict=True)
    sizes = tuple(data.draw(st.integers(1, 3)) for _ in lengths)
    if fits(lengths, sizes, before, after, dilations):
        x = some((2, 3, *lengths), seed, dtype)
        pads = [*zip(before, after, strict=True)]
        found = meaning(
            lambda x: nx.pooling(
                x, kind, size=sizes, stride=strides, padding=pads, dilation=dilations, counted=counted
            ),
            x,
        )
        over = tuple(range(2, x.ndim))
        own = x.astype("float64") if kind == "avg" else x
        wanted = pool(own, over, sizes, strides, before, after, dilations, kind, counted)
        assert found.dtype == ("float64" if kind == "avg" and dtype == "int32" else dtype)
        if dtype == "int32":  # of padding alone it is the least, or greatest, integer
            wanted = np.clip(wanted, *(np.iinfo(dtype).min, np.iinfo(dtype).max))
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_targets_agree_on_batches_of_any_size() -> None:
    x, w = some((3, 2, 6, 5), 0, "float32"), some((4, 2, 3, 3), 1, "float32")

    def network(x: ng.Op) -> ng.Op:
        hidden = nx.relu(nx.convolution(x, w, stride=[2, 1], padding=1))
        return nx.deconvolution(nx.pooling(hidden, "max", size=2, stride=1), w, stride=2)

    (one,), (other,) = computed(network, x, unknown=True)
    np.testing.assert_array_equal(one, other)
    assert one.shape == (3, 2, 5, 9)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, w: nx.convolution(x, w, stride=2, padding=[(1, 2)], dilation=2),
        lambda x, w: nx.convolution(x[0], w, padding=1),
        lambda x, w: nx.convolution(x, w[:, :1], groups=2),
        lambda x, w: nx.deconvolution(x, w[:2], stride=2, padding=1),
    ],
)
def test_slopes_are_differences(function: Callable[..., Any]) -> None:
    rng = np.random.default_rng(5)
    check_gradient(function, rng.normal(size=(2, 2, 5)), rng.normal(size=(4, 2, 3)))


def test_axes_are_chosen_by_numbers() -> None:
    x = ng.placeholder((5, 8, 12, 12))
    assert nx.pooling(x, "max", size=2).shape == (5, 8, 6, 6)
    assert nx.pooling(x, "max", size=[3]).shape == (5, 8, 12, 4)
    assert nx.pooling(x, "max", size=2, axis=(0, 1)).shape == (2, 4, 12, 12)
    assert nx.pooling(x, "max", size={1: 4, -1: 2}).shape == (5, 2, 12, 6)
    assert nx.convolution(x, np.ones((3, 8, 1, 1)), stride={-1: 3}).shape == (5, 3, 12, 4)


def test_sizes_and_strides_are_in_the_order_of_the_axes_that_are_named() -> None:
    x = ng.placeholder((12, 20), name="x")
    wanted = nx.pooling(x, "max", size=(2, 3), stride=(2, 4), padding=[(0, 1), 0], dilation=(1, 2))
    turned = {"stride": (4, 2), "padding": [0, (0, 1)], "dilation": (2, 1)}
    assert nx.pooling(x, "max", size=(3, 2), axis=(1, 0), **turned).same_as(wanted)
    assert nx.pooling(x, "max", size={-1: 3, 0: 2}, **turned).same_as(wanted)


def test_it_is_the_convolution_of_the_other_families() -> None:
    x, w = some((2, 3, 7, 7), 0), some((5, 3, 3, 2), 1)
    image = ng.placeholder({"C": 3, "H": 7, "W": 7, "N": 2}, "float64")
    simple = ng.simple.placeholder((3, 7, 7, ng.simple.N(2)), "float64")
    term = ng.simple.convolution(simple, np.moveaxis(w, 0, -1), stride=2, padding=1)
    with ng.make_transformer("cpu") as transformer:
        marked = transformer.computation(term, simple)(np.moveaxis(x, 0, -1))
    assert image.rank == 4
    (found,), _ = computed(lambda x, w: nx.convolution(x, w, stride=2, padding=1), x, w)
    np.testing.assert_array_equal(np.moveaxis(found, 0, -1), marked)


X, W = ng.placeholder((2, 3, 5, 5)), ng.placeholder((4, 3, 3, 3))
Y = ng.placeholder((2, 4, 3, 3))
WRONG: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: nx.convolution(nx.moveaxis(X, 1, -1), W), errors.AxesError, r"(?s)has 5 channels \(axis 1\).*moveaxis"),
    (lambda: nx.convolution(X, W, groups=2), errors.AxesError, "takes 6 in 2 groups"),
    (lambda: nx.convolution(X, W, groups=3), errors.AxesError, "the 4 filters of .* are not 3 groups"),
    (lambda: nx.convolution(X, W, groups=0), errors.AttributeValueError, "convolution: groups is 0"),
    (lambda: nx.convolution(X[0, 0], W), errors.AxesError, "expected images"),
    (lambda: nx.convolution(X, W, stride=0), errors.AttributeValueError, r"convolution: stride \(0, 0\)"),
    (lambda: nx.convolution(X, W, stride=[1]), errors.AttributeValueError, r"(?s)stride is \[1\].*axis 2, axis 3"),
    (lambda: nx.convolution(X, W, stride={1: 2}), errors.UnmatchedAxesError, "(?s)names the axis axis 1.*use axis 2"),
    (lambda: nx.convolution(X, W, padding=-1), errors.LengthError, "convolution: padding is -1"),
    (lambda: nx.convolution(X, W, padding=[1, (1, 2, 3)]), errors.AttributeValueError, "padding"),
    (lambda: nx.convolution(X, W, dilation=3), errors.AxesError, "a window of 7 places is longer than axis 2"),
    (lambda: nx.convolution(X > 0, W > 0), errors.DTypeError, "expected numbers"),
    (lambda: nx.deconvolution(X, W), errors.AxesError, r"has 3 channels \(axis 1\).*takes 4"),
    (lambda: nx.deconvolution(Y, W, [9, 9]), errors.AxesError, r"(?s)a length 9 has 7 windows.*such as \[5, 5\]"),
    (lambda: nx.deconvolution(Y, W, padding=9), errors.AxesError, "(?s)a length 0 has .*less padding"),
    (lambda: nx.deconvolution(Y, W, [5]), errors.AttributeValueError, "lengths"),
    (lambda: nx.pooling(X, "mean", size=2), errors.AttributeValueError, "(?s)op is 'mean'.*max, min, sum, avg"),
    (lambda: nx.pooling(X, "max"), errors.ArgumentError, r"(?s)no size.*axis \{2: 2\}"),
    (lambda: nx.pooling(X, "max", size=6), errors.AxesError, "a window of 6 places is longer than axis 2"),
    (lambda: nx.pooling(X, "max", size=0), errors.AttributeValueError, "pooling: size"),
    (lambda: nx.pooling(X, "max", size={7: 2}), errors.OutOfRangeError, "axis 7"),
    (lambda: nx.pooling(X > 0, "max", size=2), errors.DTypeError, "expected numbers"),
    (
        lambda: nx.convolution(ng.placeholder({"N": 2, "C": 3, "H": 5, "W": 5}), W),
        errors.FamilyError,
        "convolution goes by position",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), WRONG)
def test_what_is_wrong_is_said(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
