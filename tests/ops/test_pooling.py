# SPDX-License-Identifier: Apache-2.0
"""Pooling takes the greatest or the average element of each window; padding neither wins nor, unless asked, counts."""

from typing import Any

import numpy as np
import pytest
from drawn import apply, value
from hypothesis import given, settings
from hypothesis import strategies as st
from sliding_oracle import both, check_gradients, images, pool, whole_numbers

import ngraph_rewrite as ng
from ngraph_rewrite.plan.binding import bind_graph

DRAWN = settings(max_examples=15, deadline=None)
# Size, stride, before, after and dilation along one axis.
SLIDES = st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(0, 2), st.integers(0, 2), st.integers(1, 2))
NAMES = ("sizes", "strides", "before", "after", "dilations")


@DRAWN
@given(data=st.data(), kind=st.sampled_from(["max", "min", "sum", "avg"]), counted=st.booleans())
def test_pooling_combines_what_each_window_sees(data: st.DataObject, kind: str, counted: bool) -> None:
    shape = data.draw(st.lists(st.integers(0, 5), min_size=1, max_size=3))
    axes = tuple(data.draw(st.permutations(range(len(shape)))))[: data.draw(st.integers(1, 2))]
    rows = [data.draw(SLIDES) for _ in axes]
    how = dict(zip(NAMES, zip(*rows, strict=True), strict=True))
    x, array = images(*shape), whole_numbers(data.draw(st.integers(0, 99)), shape)
    term = apply("semi.pooling", x, axes=axes, **how, kind=kind, counted=counted)
    wanted = pool(array, axes, **how, kind=kind, counted=counted)
    assert term.shape == wanted.shape
    # an average of small whole numbers is rounded once
    np.testing.assert_allclose(value(term, {x: array}), wanted, rtol=1e-15)


SHAPE = (2, 7, 5, 2)
CASES: dict[str, dict[str, Any]] = {
    "halves": {"axes": (1, 2), "sizes": 2, "strides": 2},
    "overlapping, padded": {"axes": (1, 2), "sizes": 3, "strides": 2, "before": 1, "after": (1, 0)},
    "a stride larger than the window": {"axes": (1,), "sizes": 2, "strides": 3},
    "dilated": {"axes": (1, 2), "sizes": 2, "dilations": 2},
    "across channels": {"axes": (0,), "sizes": 2},
    "one dimension": {"axes": (2,), "sizes": 4, "before": 3, "after": 3},
    "three dimensions": {"axes": (0, 1, 2), "sizes": (2, 3, 2), "strides": (1, 2, 2), "before": 1, "after": 1},
    "nothing but padding": {"axes": (1,), "sizes": 2, "strides": 2, "before": 4, "after": 4},
    "no windows": {"axes": (1,), "sizes": 8},
}


def filled(case: dict[str, Any]) -> dict[str, Any]:
    """The case with a value for each axis."""
    count = len(case["axes"])
    full = {"strides": 1, "before": 0, "after": 0, "dilations": 1, **case}
    return {k: v if isinstance(v, tuple) else (v,) * count for k, v in full.items()}


@pytest.mark.sampled
@pytest.mark.parametrize("name", CASES)
def test_both_targets_agree_with_the_loops(name: str) -> None:
    case = filled(CASES[name])
    x, array = images(*SHAPE, dtype="float32"), whole_numbers(1, SHAPE, "float32")
    kinds = [("max", False), ("min", False), ("sum", False), ("avg", True), ("avg", False)]
    terms = [ng.semi.pooling(x, kind, counted=counted, **case) for kind, counted in kinds]
    for found in both(terms, {x: array}):
        for result, (kind, counted) in zip(found, kinds, strict=True):
            wanted = pool(array, **case, kind=kind, counted=counted)
            np.testing.assert_array_equal(result, wanted.astype("float32"))


@pytest.mark.parametrize("dtype", ["int8", "uint16", "float16"])
def test_every_dtype(dtype: str) -> None:
    x, array = images(*SHAPE, dtype=dtype), whole_numbers(2, SHAPE, dtype)
    case = filled(CASES["nothing but padding"])
    for kind in ("max", "min", "sum"):
        limits = np.iinfo(dtype) if dtype[0] in "iu" else np.finfo(dtype)
        ends = (limits.min, limits.max) if dtype[0] in "iu" else (-np.inf, np.inf)
        wanted = np.clip(pool(array, **case, kind=kind), *ends)
        for found in both(ng.semi.pooling(x, kind, **case), {x: array}):
            np.testing.assert_array_equal(found, wanted.astype(dtype))


def test_nan_is_the_greatest_of_its_windows_only() -> None:
    x = images(6)
    array = np.array([1.0, np.nan, 2.0, 3.0, -np.inf, -np.inf])
    for found in both(ng.semi.pooling(x, "max", [0], 2, 2), {x: array}):
        np.testing.assert_array_equal(found, [np.nan, 3.0, -np.inf])


def test_what_comes_before_a_maximum_of_large_separate_windows_is_computed_in_its_kernel() -> None:
    x = images(2, 18, 18, dtype="int32")
    with ng.make_transformer("cpu") as transformer:
        pooled = ng.semi.pooling(ng.semi.absolute(x), "max", [1, 2], 9, 9)
        computation = transformer.computation(pooled, x)
        computation(whole_numbers(1, (2, 18, 18), "int32"))
        assert computation.stats()["launches"] == 1


# -- named axes ---------------------------------------------------------------------------------------

X = ng.placeholder({"C": 4, "H": 5, "W": 6, "N": 2})
FIVE = ng.placeholder({"C": 4, "D": 3, "H": 5, "W": 6, "N": 2})
FULL = {"op": "max", "J": 1, "T": 1, "R": 2, "S": 3}
FULL |= {f"{kind}_{axis}": int(kind == "str") for kind in ("str", "pad") for axis in "cdhw"}


def test_windows_slide_over_the_axes_named() -> None:
    array = whole_numbers(3, (4, 5, 6, 2), "float32")
    spatial = ng.pooling(X, "avg", size=(2, 3), stride=1, padding={"W": (0, 2)})
    channels = ng.pooling(X, "max", size={"C": 3}, stride=1)
    one, two = both([spatial, channels], {X: array})[1]
    average = pool(array, (1, 2), (2, 3), (1, 1), (0, 0), (0, 2), (1, 1), "avg")
    # float32 rounds twice
    np.testing.assert_allclose(one, average, rtol=3e-7)
    np.testing.assert_array_equal(two, pool(array, (0,), (3,), (1,), (0,), (0,), (1,), "max"))
    assert spatial.axes.names == channels.axes.names == ("C", "H", "W", "N")


def test_the_stride_is_the_size_unless_given() -> None:
    assert ng.pooling(X, "max", size=2).shape == (4, 2, 3, 2)


def test_an_average_of_integers_is_float64() -> None:
    x = ng.placeholder({"H": 4}, "int32")
    array = np.array([1, 2, 4, 4], "int32")
    for found in both(ng.pooling(x, "avg", size=2), {x: array}):
        assert found.dtype == "float64"
        np.testing.assert_array_equal(found, [1.5, 4.0])


def test_the_form_of_ngraph_python() -> None:
    given_ = {**FULL, "op": "avg", "J": 2, "str_h": 2, "pad_h": 1, "pad_c": 1}
    out = ng.make_axes([ng.Axis(a, n) for a, n in zip("KMPQN", (5, 3, 3, 4, 2), strict=True)])
    term = ng.pooling(given_, FIVE, axes=out)
    assert term.axes == out
    array = whole_numbers(4, FIVE.shape, "float32")
    wanted = pool(array, (0, 1, 2, 3), (2, 1, 2, 3), (1, 1, 2, 1), (1, 0, 1, 0), (1, 0, 1, 0), (1,) * 4, "avg")
    for found in both(term, {FIVE: array}):
        # float32 rounds the sum exactly, and the quotient once
        np.testing.assert_allclose(found, wanted, rtol=2e-7)


@pytest.mark.parametrize("batch", [0, 3])
def test_the_batch_may_be_known_only_in_a_call(batch: int) -> None:
    x = ng.placeholder({"C": 2, "H": 5, "N": None})
    array = whole_numbers(5, (2, 5, batch), "float32")
    loss = ng.pooling(x, "avg", size=2, padding=1)
    slope = ng.deriv(ng.sum(loss * loss, out_axes=()), x)
    one, two = both([loss, slope], {x: array})
    for a, b in zip(one, two, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


# -- derivatives --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["overlapping, padded", "dilated", "three dimensions"])
def test_derivatives(name: str) -> None:
    x = images(*SHAPE)
    array = np.random.default_rng(0).permutation(np.linspace(-1, 1, x.size)).reshape(SHAPE)  # type: ignore[arg-type]
    case = filled(CASES[name])
    kinds = {"overlapping, padded": ("max", "avg"), "dilated": ("min", "sum"), "three dimensions": ("max",)}[name]
    parts = [ng.semi.pooling(x, kind, **case) for kind in kinds]
    check_gradients(ng.semi.concat(parts), {x: array}, [x])


def test_equal_greatest_elements_share_evenly() -> None:
    x = ng.placeholder({"H": 5}, "float64")
    slope = ng.deriv(ng.sum(ng.pooling(x, "max", size=3, stride=1, padding=1), out_axes=()), x)
    for found in both(slope, {x: np.array([1.0, 1.0, 0.0, 2.0, 2.0])}):
        np.testing.assert_array_equal(found, [1.0, 1.0, 0.0, 2.0, 1.0])


WRONG: dict[str, tuple[Any, type[Exception], str]] = {
    "windows longer than images": (
        lambda: ng.pooling(ng.placeholder({"C": 2, "H": 5}), "max", size=6), ng.AxesError,
        "window of 6 places is longer than H, .*length 5"),
    "another kind": (lambda: ng.pooling(X, "median", size=2), ng.AttributeValueError, "only max and avg"),
    "another kind in parameters": (
        lambda: ng.pooling({**FULL, "op": "min"}, FIVE), ng.AttributeValueError, "unsupported pooling type 'min'"),
    "a missing parameter": (lambda: ng.pooling({"op": "max"}, FIVE), ng.AttributeValueError, "parameter J"),
    "an unknown parameter": (lambda: ng.pooling({**FULL, "U": 1}, FIVE), ng.AttributeValueError, "'U'"),
    "four axes": (lambda: ng.pooling(FULL, X), ng.AttributeValueError, "length 5, found 4"),
    "no inputs": (lambda: ng.pooling(FULL), ng.ArgumentError, "no inputs"),
    "options twice": (lambda: ng.pooling(FULL, FIVE, size=2), ng.ArgumentError, "stand in the parameters"),
    "no size": (lambda: ng.pooling(X, "max"), ng.ArgumentError, "no size"),
    "a size of 0": (lambda: ng.pooling(X, "max", size=0), ng.AttributeValueError, "at least 1"),
    "a size in words": (
        lambda: ng.pooling(X, "max", size="all"), ng.AttributeValueError, r"size is 'all'\n.*\n.*such as \{'W': 2\}"),
    "no list of axes": (lambda: ng.pooling(X, "max", size=2, spatial=1), ng.AttributeValueError, "spatial is 1"),
    "a size for one of two": (lambda: ng.pooling(X, "max", size=[2]), ng.AttributeValueError, "each of H, W"),
    "an axis that is not there": (lambda: ng.pooling(X, "max", size={"Z": 2}), ng.UnmatchedAxesError, "'Z'"),
    "a negative padding": (lambda: ng.pooling(X, "max", size=2, padding=-1), ng.LengthError, "padding is -1"),
    "axes of other lengths": (lambda: ng.pooling(X, "max", {"C": 4}, size=2), ng.AxesError, "cast"),
    "truth": (lambda: ng.pooling(X > 0, "max", size=2), ng.DTypeError, "expected numbers"),
    "semi: another kind": (lambda: ng.semi.pooling(images(4), "avgs", [0], 2), ng.AttributeValueError, "kind"),
    "semi: integers": (
        lambda: ng.semi.pooling(images(4, dtype="int8"), "avg", [0], 2), ng.DTypeError, "expected a float dtype"),
    "semi: an axis twice": (lambda: ng.semi.pooling(images(4), "max", [0, -1], 2), ng.AttributeValueError, "twice"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_call_says_what_is_wrong(name: str) -> None:
    call, kind, message = WRONG[name]
    with pytest.raises(kind, match=message) as caught:
        call()
    assert type(caught.value) is kind and __file__ in str(caught.value)


def test_an_axis_that_is_as_long_as_before_by_chance_is_no_longer_made_of_others() -> None:
    """Else what it is made of would depend on what an unknown length turns out to be."""
    joined = ng.Axis.flattened([ng.Axis("H"), ng.Axis("W", 3)])
    x = ng.placeholder([joined])
    how = {"over": (joined.name,), "sizes": (1,), "dilations": (1,), "kind": "sum", "counted": False}
    strided = apply("axes.pooling", x, **how, strides=(2,), before=(1,), after=(2,))
    bound = bind_graph([strided], {"H": 1})[strided]
    assert bound.shape == (3,) and bound.type == strided.type.bound({"H": 1})
    same = apply("axes.pooling", x, **how, strides=(1,), before=(0,), after=(0,))
    assert same.type == x.type
