# SPDX-License-Identifier: Apache-2.0
"""Convolution is a sum over windows, for every stride, padding, dilation and group, and so are its derivatives."""

from typing import Any

import numpy as np
import pytest
import scipy.signal
from drawn import apply, value
from hypothesis import given, settings
from hypothesis import strategies as st
from sliding_oracle import both, check_gradients, correlate, images, whole_numbers

import ngraph_rewrite as ng

DRAWN = settings(max_examples=15, deadline=None)
# Stride, before, after, interior and dilation along one axis; negative padding crops.
SLIDES = st.tuples(st.integers(1, 3), st.integers(-1, 2), st.integers(-1, 2), st.integers(0, 2), st.integers(1, 2))


def columns(rows: list[tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    """The attributes of the semi op, of one row for each axis."""
    names = ("strides", "before", "after", "interior", "dilations")
    return dict(zip(names, zip(*rows, strict=True), strict=True))


@DRAWN
@given(data=st.data(), rank=st.integers(1, 3), groups=st.sampled_from([1, 1, 2, 3]), seed=st.integers(0, 99))
def test_a_convolution_is_a_sum_over_windows(data: st.DataObject, rank: int, groups: int, seed: int) -> None:
    how = columns(data.draw(st.lists(SLIDES, min_size=rank, max_size=rank)))
    lengths = data.draw(st.lists(st.integers(0, 5), min_size=rank, max_size=rank))
    window = data.draw(st.lists(st.integers(0, 3), min_size=rank, max_size=rank))
    n, inner, outer = (data.draw(st.integers(0, 2)) for _ in range(3))
    x = whole_numbers(seed, [n, inner * groups, *lengths])
    w = whole_numbers(seed + 1, [outer * groups, inner, *window])
    a, b = images(*x.shape), images(*w.shape)
    term = apply("semi.convolution", a, b, groups=groups, **how)
    wanted = correlate(x, w, **how, groups=groups)
    assert term.shape == wanted.shape
    np.testing.assert_array_equal(value(term, {a: x, b: w}), wanted)


@pytest.mark.parametrize("mode", ["valid", "full"])
def test_it_is_the_correlation_of_scipy(mode: str) -> None:
    x, w = whole_numbers(1, (1, 1, 6, 7)), whole_numbers(2, (1, 1, 3, 2))
    a, b = images(*x.shape), images(*w.shape)
    around = (2, 1) if mode == "full" else (0, 0)
    found = value(ng.semi.convolution(a, b, before=around, after=around), {a: x, b: w})
    np.testing.assert_array_equal(found[0, 0], scipy.signal.correlate2d(x[0, 0], w[0, 0], mode))


CASES: dict[str, tuple[tuple[int, ...], tuple[int, ...], list[tuple[int, ...]], int]] = {
    "plain": ((2, 3, 5, 6), (4, 3, 3, 2), [(1, 0, 0, 0, 1)] * 2, 1),
    "one by one": ((2, 3, 4, 4), (5, 3, 1, 1), [(2, 0, 0, 0, 1)] * 2, 1),
    "a stride larger than the window": ((2, 2, 9), (3, 2, 2), [(4, 1, 0, 0, 1)], 1),
    "groups": ((2, 4, 5, 5), (6, 2, 2, 2), [(1, 1, 0, 0, 1), (2, 0, 1, 0, 2)], 2),
    "each channel by itself": ((2, 3, 5, 5), (6, 1, 3, 3), [(1, 1, 1, 0, 1)] * 2, 3),
    "cropped and spaced": ((1, 2, 5, 4), (2, 2, 2, 2), [(1, -1, 2, 1, 1), (2, 1, -2, 2, 2)], 1),
    "three dimensions": ((1, 2, 3, 4, 3), (2, 2, 2, 3, 1), [(1, 1, 1, 0, 1), (2, 1, 1, 0, 1), (1, 0, 0, 0, 1)], 1),
    "no images": ((0, 3, 5, 6), (4, 3, 3, 2), [(1, 0, 0, 0, 1)] * 2, 1),
    "no channels": ((2, 0, 5), (4, 0, 3), [(1, 0, 0, 0, 1)], 1),
    "no windows": ((2, 3, 2), (4, 3, 3), [(1, 0, 0, 0, 1)], 1),
    "windows of nothing": ((2, 3, 2), (4, 3, 0), [(1, 0, 0, 0, 1)], 1),
}


@pytest.mark.parametrize("name", CASES)
def test_both_targets_agree_with_the_loops(name: str) -> None:
    shape, filters, rows, groups = CASES[name]
    a, b = images(*shape, dtype="float32"), images(*filters, dtype="float32")
    x, w = whole_numbers(3, shape, "float32"), whole_numbers(4, filters, "float32")
    term = ng.semi.convolution(a, b, **columns(rows), groups=groups)
    for found in both(term, {a: x, b: w}):
        np.testing.assert_array_equal(found, correlate(x, w, **columns(rows), groups=groups))


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "float16", "float64"])
def test_every_dtype(dtype: str) -> None:
    a, b = images(2, 4, 5, dtype=dtype), images(2, 2, 3, dtype=dtype)
    x, w = whole_numbers(5, (2, 4, 5), dtype), whole_numbers(6, (2, 2, 3), dtype)
    wanted = correlate(x, w, (2,), (1,), (1,), (0,), (1,), 2)
    for found in both(ng.semi.convolution(a, b, 2, 1, 1, groups=2), {a: x, b: w}):
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, wanted.astype(dtype))


@pytest.mark.parametrize("batch", [0, 1, 3])
def test_the_batch_may_be_known_only_in_a_call(batch: int) -> None:
    a, b = images(None, 2, 4, 3), images(3, 2, 2, 2)
    x, w = whole_numbers(7, (batch, 2, 4, 3)), whole_numbers(8, (3, 2, 2, 2))
    for found in both(ng.semi.convolution(a, b), {a: x, b: w}):
        np.testing.assert_array_equal(found, correlate(x, w, (1, 1), (0, 0), (0, 0), (0, 0), (1, 1)))


# -- windows and what undoes them ---------------------------------------------------------------------


@DRAWN
@given(data=st.data(), seed=st.integers(0, 99))
def test_folding_is_the_adjoint_of_taking_windows(data: st.DataObject, seed: int) -> None:
    shape = data.draw(st.lists(st.integers(0, 5), min_size=1, max_size=3))
    axes = data.draw(st.permutations(range(len(shape))).flatmap(lambda p: st.just(p[: 1 + len(p) // 2])))
    rows = [tuple(data.draw(st.integers(low, 3)) for low in (0, 1, 1)) for _ in axes]
    sizes, strides, dilations = zip(*rows, strict=True)
    x = images(*shape)
    seen = ng.semi.windows(x, axes, sizes, strides, dilations)
    other = images(*seen.shape)
    folded = ng.semi.fold(other, axes, [shape[k] for k in axes], strides, dilations)
    given_ = {x: whole_numbers(seed, shape), other: whole_numbers(seed + 1, seen.shape)}
    assert (value(seen, given_) * given_[other]).sum() == (given_[x] * value(folded, given_)).sum()


@DRAWN
@given(n=st.integers(0, 9), size=st.integers(1, 4), stride=st.integers(1, 4), dilation=st.integers(1, 3))
def test_a_window_holds_every_dilation_th_element_from_a_multiple_of_the_stride(
    n: int, size: int, stride: int, dilation: int
) -> None:
    x = images(2, n)
    array = np.arange(2 * n, dtype=np.float64).reshape(2, n)
    starts = [s for s in range(0, n, stride) if s + (size - 1) * dilation < n]
    wanted = np.zeros((2, len(starts), size))
    for i, s in enumerate(starts):
        wanted[:, i] = array[:, s : s + (size - 1) * dilation + 1 : dilation]
    np.testing.assert_array_equal(value(ng.semi.windows(x, [1], size, stride, dilation), {x: array}), wanted)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("axes", "dtype"),
    [
        *[(axes, "float32") for axes in ([1], [0], [1, 2], [2, 1], [0, 2])],
        *[(axes, dtype) for dtype in ("float16", "uint8") for axes in ([0], [1, 2])],
    ],
)
def test_windows_and_folds_on_both_targets(axes: list[int], dtype: str) -> None:
    x, array = images(5, 6, 7, dtype=dtype), whole_numbers(9, (5, 6, 7), dtype)
    seen = ng.semi.windows(x, axes, 3, 2, [1, 2][: len(axes)])
    doubled = ng.semi.fold(ng.semi.add(seen, seen), axes, [(5, 6, 7)[k] for k in axes], 2, [1, 2][: len(axes)])
    one, two = both([seen, doubled], {x: array})
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)


# -- named axes ---------------------------------------------------------------------------------------

C, H, W, N, K = (ng.Axis(name, n) for name, n in zip("CHWNK", (4, 5, 4, 2, 6), strict=True))
# ngraph-python's parameters, which all have to be there.
FULL = {f"{kind}_{axis}": int(kind != "pad") for kind in ("pad", "str", "dil") for axis in "dhw"}
FILTERS = [ng.Axis("C", 4), ng.Axis("R", 3), ng.Axis("S", 2), K]


@pytest.mark.parametrize("order", [(C, H, W, N), (N, H, W, C), (H, N, C, W), (C, H, W)])
def test_axes_stand_in_any_order(order: tuple[ng.Axis, ...]) -> None:
    x, w = ng.placeholder(order, "float64"), ng.placeholder(FILTERS, "float64")
    term = ng.convolution(x, w, stride={"H": 2}, padding=(1, (0, 1)), dilation=[1, 2])
    assert term.axes.names == tuple("K" if a is C else a.name for a in order)
    arrays = {x: whole_numbers(1, x.shape), w: whole_numbers(2, w.shape)}
    places = [x.axes.index(a) for a in "CHW"]
    batch = [k for k in range(x.rank) if k not in places]
    image = np.transpose(arrays[x], (*batch, *places)).reshape(-1, 4, 5, 4)
    plain = correlate(image, np.moveaxis(arrays[w], -1, 0), (2, 1), (1, 0), (1, 1), (0, 0), (1, 2))
    wanted = plain.reshape([*(x.shape[k] for k in batch), *plain.shape[1:]])
    wanted = np.transpose(wanted, np.argsort([*batch, *places]))
    for found in both(term, arrays):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("padding", [[(2, 1)], {"H": (2, 1)}, ([2, 1],), np.array([[2, 1]]), {"H": np.array([2, 1])}])
def test_a_pair_of_paddings_for_one_axis_stands_in_a_list_or_a_mapping(padding: Any) -> None:
    x, w = ng.placeholder({"C": 4, "H": 5, "N": 2}, "float64"), ng.placeholder({"C": 4, "R": 3, "K": 6}, "float64")
    arrays = {x: whole_numbers(1, x.shape), w: whole_numbers(2, w.shape)}
    wanted = correlate(np.moveaxis(arrays[x], 2, 0), np.moveaxis(arrays[w], 2, 0), [2], [2], [1], [0], [1])
    found = value(ng.convolution(x, w, padding=padding, stride=np.array(2)), arrays)
    np.testing.assert_array_equal(np.moveaxis(found, 2, 0), wanted)


def test_every_other_axis_is_a_batch() -> None:
    time = ng.Axis("REC", 3)
    x, w = ng.placeholder([C, time, H, N], "float64"), ng.placeholder([FILTERS[0], FILTERS[1], K], "float64")
    arrays = {x: whole_numbers(1, x.shape), w: whole_numbers(2, w.shape)}
    one = ng.placeholder([C, H, N], "float64")
    single = ng.convolution(one, w)
    whole = both(ng.convolution(x, w), arrays)[1]
    for t in range(3):
        np.testing.assert_array_equal(whole[:, t], value(single, {one: arrays[x][:, t], w: arrays[w]}))


def test_the_form_of_ngraph_python() -> None:
    depth, height, width = (ng.Axis(name, n) for name, n in (("D", 3), ("H", 5), ("W", 4)))
    x = ng.placeholder([C, depth, height, width, ng.Axis("N", None)])
    w = ng.placeholder([C, *(ng.Axis(a, 2) for a in "TRS"), K])
    given_ = {**FULL, "pad_d": 1, "pad_w": 1, "str_h": 2, "dil_w": 2}
    out = [K, *(ng.Axis(a, n) for a, n in (("M", 4), ("P", 2), ("Q", 4))), x.axes[4]]
    term = ng.convolution(given_, x, w, axes=out)
    general = ng.convolution(x, w, stride={"H": 2}, padding=[1, 0, 1], dilation=[1, 1, 2])
    assert term.axes == ng.Axes(out) and general.axes.names == ("K", "D", "H", "W", "N")
    arrays = {x: whole_numbers(1, (4, 3, 5, 4, 2), "float32"), w: whole_numbers(2, (4, 2, 2, 2, 6), "float32")}
    np.testing.assert_array_equal(*both(ng.label(ng.strip(general), out), arrays))
    np.testing.assert_array_equal(both(term, arrays)[1], both(general, arrays)[1])


@DRAWN
@given(
    n=st.integers(1, 5), size=st.integers(1, 3), stride=st.integers(1, 3), pad=st.tuples(*[st.integers(0, 2)] * 2),
    dilation=st.integers(1, 2), groups=st.sampled_from([1, 2]), seed=st.integers(0, 99),
)  # fmt: skip
def test_a_deconvolution_is_the_adjoint_of_a_convolution(
    n: int, size: int, stride: int, pad: tuple[int, int], dilation: int, groups: int, seed: int
) -> None:
    options: dict[str, Any] = {"stride": stride, "padding": [pad], "dilation": dilation, "groups": groups}
    x = ng.placeholder({"C": 4, "H": n, "N": 2}, "float64")
    w = ng.placeholder({"C": 4 // groups, "R": size, "K": 6}, "float64")
    if n + sum(pad) < (size - 1) * dilation + 1:
        with pytest.raises(ng.AxesError, match=f"a window of .* places is longer than H, which has length {n}"):
            ng.convolution(x, w, **options)
        return
    y = ng.convolution(x, w, **options)
    d = ng.placeholder(y.axes, "float64")
    back = ng.deconvolution(d, w, axes=x.axes, channel="K", **options)
    arrays = {t: whole_numbers(seed + i, t.shape) for i, t in enumerate((x, w, d))}
    assert back.axes == x.axes
    assert (value(y, arrays) * arrays[d]).sum() == (arrays[x] * value(back, arrays)).sum()


def test_a_deconvolution_takes_the_least_length_unless_told() -> None:
    y, w = ng.placeholder({"K": 3, "H": 4, "N": 1}), ng.placeholder({"C": 2, "R": 3, "K": 3})
    assert ng.deconvolution(y, w, stride=2, channel="K").shape == (2, 9, 1)
    longer = ng.deconvolution(y, w, {"C": 2, "P": 10, "N": 1}, stride=2, channel="K")
    arrays = {y: whole_numbers(1, y.shape, "float32"), w: whole_numbers(2, w.shape, "float32")}
    found = both(longer, arrays)
    assert longer.axes.names == ("C", "P", "N") and not found[0][:, 9].any()
    np.testing.assert_array_equal(*found)
    with pytest.raises(ng.AxesError, match="do not have the lengths of the result"):
        ng.deconvolution(y, w, {"C": 2, "P": 11, "N": 1}, stride=2, channel="K")


@pytest.mark.parametrize("target", ["cpu", "reference"])
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("function", ["convolution", "pooling"])
def test_what_is_refused_of_a_known_length_is_refused_of_one_that_a_call_gives(
    function: str, stride: int, target: Any
) -> None:
    x, w = ng.placeholder({"C": 2, "H": None}, "float64"), ng.constant(np.ones((2, 3, 4)), {"C": 2, "R": 3, "K": 4})

    def slide(x: ng.Op) -> ng.Op:
        if function == "convolution":
            return ng.convolution(x, w, stride=stride)
        return ng.pooling(x, "max", size=3, stride=stride)

    with ng.make_transformer(target) as transformer:
        call = transformer.computation(slide(x), x)
        for n in range(8):
            known, array = ng.placeholder({"C": 2, "H": n}, "float64"), whole_numbers(n, (2, n))
            if n >= 3:
                np.testing.assert_array_equal(call(array), value(slide(known), {known: array}))
                continue
            with pytest.raises(ng.AxesError, match=f"a window of 3 places is longer than H, which has length {n}"):
                slide(known)
            with pytest.raises(ng.AxesError, match=rf"axes.{function}\(.*(longer than H|is -. where H is {n})") as no:
                call(array)
            assert __file__ in str(no.value)


# -- derivatives --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["plain", "groups", "cropped and spaced", "a stride larger than the window"])
def test_the_derivatives_of_a_convolution(name: str) -> None:
    shape, filters, rows, groups = CASES[name]
    rng = np.random.default_rng(0)
    x, w = images(*shape), images(*filters)
    values = {x: rng.normal(size=shape), w: rng.normal(size=filters)}
    check_gradients(ng.semi.convolution(x, w, **columns(rows), groups=groups), values, [x, w])


@pytest.mark.parametrize("function", [ng.convolution, ng.deconvolution])
def test_first_and_second_derivatives_with_names(function: Any) -> None:
    x = ng.placeholder({"C": 2, "H": 4, "N": 2}, "float64")
    w = ng.placeholder({"C": 2, "R": 3, "K": 2}, "float64")
    rng = np.random.default_rng(1)
    values = {x: rng.normal(size=x.shape), w: rng.normal(size=w.shape)}
    term = function(x, w, stride=2, padding=1, channel="C")
    check_gradients(term, values, [x, w])
    slope = ng.deriv(ng.sum(term * term, out_axes=()), [x, w])
    whole = ng.sum(slope[0] * slope[0], out_axes=()) + ng.sum(slope[1] * slope[1], out_axes=())
    check_gradients(whole, values, [x, w], 1e-6)


@pytest.mark.parametrize("batch", [0, 2])
def test_the_derivative_of_an_unknown_batch(batch: int) -> None:
    x = ng.placeholder({"C": 2, "H": 4, "W": 4, "N": None})
    w = ng.placeholder({"C": 2, "R": 3, "S": 3, "K": 3})
    loss = ng.sum(ng.convolution(x, w, stride=2, padding=1), out_axes=())
    arrays = {x: whole_numbers(1, (2, 4, 4, batch), "float32"), w: whole_numbers(2, w.shape, "float32")}
    one, two = both(ng.deriv(loss, [x, w]), arrays)
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)


# -- wrong calls --------------------------------------------------------------------------------------

X = ng.placeholder({"C": 4, "H": 5, "W": 4, "N": 2})
F = ng.placeholder(FILTERS)
FIVE = ng.placeholder({"C": 4, "D": 3, "H": 5, "W": 4, "N": 2})
LINE, LINE_FILTERS = ng.placeholder({"C": 4, "H": 5, "N": 2}), ng.placeholder({"C": 4, "R": 3, "K": 6})
OTHER = ng.placeholder({"Z": 4, "D": 3, "H": 5, "W": 4, "K": 2})
WRONG: dict[str, tuple[Any, type[Exception], str]] = {
    "a missing parameter": (lambda: ng.convolution({"pad_d": 0}, FIVE, FIVE), ng.AttributeValueError, "str_d"),
    "an unknown parameter": (
        lambda: ng.convolution({**FULL, "pad": 1}, FIVE, FIVE), ng.AttributeValueError, "no parameter 'pad'"),
    "four axes": (lambda: ng.convolution(FULL, X, FIVE), ng.AttributeValueError, "length 5, found 4"),
    "four axes of filters": (lambda: ng.convolution(FULL, FIVE, F), ng.AttributeValueError, "filter shape must be"),
    "other channels": (lambda: ng.convolution(FULL, FIVE, OTHER), ng.AxesError, "are not the same"),
    "options twice": (lambda: ng.convolution(FULL, FIVE, FIVE, stride=2), ng.ArgumentError, "in the parameters"),
    "no filters": (lambda: ng.convolution(X), ng.ArgumentError, "no filters"),
    "a stride of 0": (lambda: ng.convolution(X, F, stride=0), ng.AttributeValueError, "at least 1"),
    "two strides of three": (lambda: ng.convolution(X, F, stride=[1, 1, 1]), ng.AttributeValueError, "each of H, W"),
    "a pair of paddings for one axis": (
        lambda: ng.convolution(LINE, LINE_FILTERS, padding=(2, 1)), ng.AttributeValueError,
        r"padding is \(2, 1\)\n.*\n  give one number, or .* for each of H, or by axis, such as \{'H': \(2, 1\)\}"),
    "a padding in words": (
        lambda: ng.convolution(LINE, LINE_FILTERS, padding="same"), ng.AttributeValueError,
        r"padding is 'same'\n.*\n.* such as \{'H': \(1, 1\)\}"),
    "two strides of one": (
        lambda: ng.convolution(LINE, LINE_FILTERS, stride=(3, 3)), ng.AttributeValueError,
        r"stride is \(3, 3\)\n.*\n  give one number, one for each of H, or by axis, such as \{'H': 3\}"),
    "no dilation": (
        lambda: ng.convolution(LINE, LINE_FILTERS, dilation=None), ng.AttributeValueError, "dilation is None"),
    "an array of paddings": (
        lambda: ng.convolution(X, F, padding=np.ones(3)), ng.AttributeValueError, "for each of H, W, or by axis"),
    "a stride by another name": (lambda: ng.convolution(X, F, stride={"D": 2}), ng.UnmatchedAxesError, "axis D"),
    "a negative padding": (lambda: ng.convolution(X, F, padding=-1), ng.LengthError, "padding is -1"),
    "three paddings": (lambda: ng.convolution(X, F, padding={"H": (1, 2, 3)}), ng.AttributeValueError, "pair"),
    "groups that do not divide": (lambda: ng.convolution(X, F, groups=3), ng.AxesError, "channels along C"),
    "no groups": (lambda: ng.convolution(X, F, groups=0), ng.AttributeValueError, "groups is 0"),
    "wrong channels": (lambda: ng.convolution(X, F, channel="H"), ng.AxesError, "5 channels along H"),
    "an axis too many": (
        lambda: ng.convolution(FIVE, F), ng.AxesError, r"has 3 for them\n.*\n  say spatial="),
    "an axis that is not there": (lambda: ng.convolution(X, F, channel="Z"), ng.UnmatchedAxesError, "no axis 'Z'"),
    "too few axes": (lambda: ng.convolution(X, F, spatial=["H"]), ng.AxesError, "give filters of 3 axes"),
    "axes of other lengths": (
        lambda: ng.convolution(X, F, axes={"K": 6, "H": 9, "W": 3, "N": 2}), ng.AxesError, "lengths of the result"),
    "windows longer than images": (
        lambda: ng.convolution(X, F, dilation={"H": 3}), ng.AxesError, "of 7 places is longer than H, .*length 5"),
    "windows longer than padded images": (
        lambda: ng.convolution(X, F, dilation={"W": 6}, padding=1), ng.AxesError,
        r"7 places is longer than W, .* length 4 with 1 before and 1 behind it\n.*\n  use a smaller window"),
    "no places to put windows in": (
        lambda: ng.deconvolution(ng.placeholder({"K": 6, "H": 0, "N": 2}), ng.placeholder({"C": 4, "R": 3, "K": 6})),
        ng.AxesError, "H has no elements"),
    "truth": (lambda: ng.convolution(X > 0, F > 0), ng.DTypeError, "expected numbers"),
    "shapes": (lambda: ng.semi.convolution(images(2, 3, 4), images(2, 3)), ng.AxesError, r"\(K, C, window"),
    "semi channels": (lambda: ng.semi.convolution(images(2, 3, 4), images(2, 2, 2)), ng.AxesError, "3 channels"),
    "semi groups": (
        lambda: ng.semi.convolution(images(2, 4, 4), images(3, 2, 2), groups=2), ng.AxesError, "cannot be split"),
    "semi strides": (
        lambda: ng.semi.convolution(images(2, 3, 4), images(2, 3, 2), (1, 1)), ng.AttributeValueError, "strides"),
    "semi dtypes": (
        lambda: ng.semi.convolution(images(2, 3, 4), images(2, 3, 2, dtype="float32")), ng.DTypeError, "equal dtypes"),
    "an axis twice": (lambda: ng.semi.windows(images(4, 4), [0, 0], 2), ng.AttributeValueError, "twice"),
    "no list of axes": (lambda: ng.semi.windows(images(4, 4), 1, 2), ng.AttributeValueError, "axes is 1"),
    "no such axis": (lambda: ng.semi.windows(images(4, 4), [2], 2), ng.OutOfRangeError, "outside of 2 axes"),
    "a dilation of 0": (lambda: ng.semi.windows(images(4, 4), [0], 2, 1, 0), ng.AttributeValueError, "dilations"),
    "windows that do not fit": (lambda: ng.semi.fold(images(3, 2), [0], 9), ng.AxesError, "9 elements have 8"),
    "no windows at the end": (lambda: ng.semi.fold(images(3), [0], 3), ng.AttributeValueError, "axes of windows"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_call_says_what_is_wrong(name: str) -> None:
    call, kind, message = WRONG[name]
    with pytest.raises(kind, match=message) as caught:
        call()
    assert type(caught.value) is kind and __file__ in str(caught.value)
