# SPDX-License-Identifier: Apache-2.0
"""What ops mean, against NumPy: semi ops by position, axes ops by name."""

import string
from typing import Any

import numpy as np
import pytest
from drawn import apply, leaf, value
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.types.axes import Axes, Axis
from ngraph_rewrite.types.tensor import TensorType

SLOW = settings(max_examples=36, deadline=None)
H, W, N = Axis("H", 2), Axis("W", 3), Axis("N", 4)
INDICES = hnp.basic_indices((4, 3, 2), allow_newaxis=False)


def named(array: Any, *axes: Axis) -> tuple[Any, Any]:
    """A placeholder with these axes, and its value."""
    array = np.asarray(array)
    return leaf(TensorType(array.dtype, axes)), array


def run(name: str, *pairs: tuple[Any, Any], **attributes: Any) -> Any:
    """The value of an op of placeholders."""
    term = apply(name, *(x for x, _ in pairs), **attributes)
    return value(term, dict(pairs))


def plain(array: Any) -> tuple[Any, Any]:
    """A placeholder without names, and its value."""
    return named(array, *(Axis(None, n) for n in np.shape(array)))


subsets = st.permutations([H, W, N]).flatmap(lambda p: st.integers(0, 3).map(lambda n: p[:n]))


@SLOW
@given(left=subsets, right=subsets, seed=st.integers(0, 1000))
def test_operands_meet_by_name(left: list[Axis], right: list[Axis], seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = (named(rng.normal(size=[a.length for a in axes]), *axes) for axes in (left, right))
    term = apply("axes.subtract", x[0], y[0])
    letters = dict(zip("HWN", string.ascii_lowercase, strict=False))
    l_, r_, o_ = ("".join(letters[a.name] for a in axes) for axes in (left, right, term.axes))
    ones = np.ones(term.shape)
    wanted = np.einsum(f"{l_},{o_}->{o_}", x[1], ones) - np.einsum(f"{r_},{o_}->{o_}", y[1], ones)
    np.testing.assert_array_equal(value(term, dict([x, y])), wanted)


@SLOW
@given(left=subsets, right=subsets, seed=st.integers(0, 1000))
def test_dot_contracts_every_shared_name(left: list[Axis], right: list[Axis], seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = (named(rng.integers(-9, 9, [a.length for a in axes]), *axes) for axes in (left, right))
    term = apply("axes.dot", x[0], y[0])
    l_, r_, o_ = ("".join(a.name or "" for a in axes) for axes in (left, right, term.axes))
    np.testing.assert_array_equal(value(term, dict([x, y])), np.einsum(f"{l_},{r_}->{o_}", x[1], y[1]))


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [
        ((H, W), (W, H), (H, W)),
        ((H,), (W, H), (W, H)),
        ((H, W), (W, N), (H, W, N)),
        ((), (N,), (N,)),
        ((W, N), (H,), (W, N, H)),
    ],
)
def test_the_axes_of_a_result(left: tuple[Axis, ...], right: tuple[Axis, ...], result: tuple[Axis, ...]) -> None:
    x, y = (leaf(TensorType("float32", axes)) for axes in (left, right))
    assert apply("axes.add", x, y).axes == Axes(result)


@pytest.mark.parametrize("family", ["semi", "axes"])
@SLOW
@given(index=INDICES)
def test_basic_indexing_is_that_of_numpy(family: str, index: Any) -> None:
    array = np.arange(24).reshape(4, 3, 2)
    x = plain(array) if family == "semi" else named(array, N, W, H)
    np.testing.assert_array_equal(run(f"{family}.tensor_slice", x, items=index), array[index])


@SLOW
@given(index=INDICES)
def test_unslice_puts_back_what_tensor_slice_took(index: Any) -> None:
    x = named(np.arange(24).reshape(4, 3, 2), N, W, H)
    part = apply("axes.tensor_slice", x[0], items=index)
    wanted = np.zeros((4, 3, 2), int)
    wanted[index] = x[1][index]
    np.testing.assert_array_equal(
        value(apply("axes.unslice", part, items=part.attrs[0], axes=x[0].axes), dict([x])), wanted
    )


@SLOW
@given(indices=hnp.arrays(np.int64, hnp.array_shapes(min_dims=0, max_dims=2), elements=st.integers(-7, 6)))
def test_gather_wraps_once_and_reads_zeros_outside(indices: Any) -> None:
    table = np.arange(1, 13).reshape(4, 3)
    inside = (indices >= -4) & (indices < 4)
    wanted = np.where(inside[..., None], table[np.where(inside, indices, 0)], 0)
    np.testing.assert_array_equal(run("semi.gather", plain(table), plain(indices), axis=0), wanted)


@SLOW
@given(classes=hnp.arrays(st.sampled_from(["int8", "int64", "uint8"]), 4, elements=st.integers(0, 7)))
def test_one_hot_is_one_at_the_class_and_zero_outside(classes: Any) -> None:
    wanted = (np.arange(3)[:, None] == classes).astype("float32")
    result = run("axes.one_hot", named(classes, N), axis=Axis("C", 3), dtype="float32")
    np.testing.assert_array_equal(result, wanted)


def test_one_hot_of_a_negative_class_counts_from_the_end() -> None:
    result = run("axes.one_hot", named(np.array([-1, -3, -4, 5]), N), axis=Axis("C", 3), dtype="int64")
    np.testing.assert_array_equal(result.T, [[0, 0, 1], [1, 0, 0], [0, 0, 0], [0, 0, 0]])


@SLOW
@given(axes=st.sets(st.sampled_from([0, 1, 2])), seed=st.integers(0, 100))
def test_argmax_is_the_first_in_row_major_order_over_the_axes(axes: set[int], seed: int) -> None:
    array = np.random.default_rng(seed).integers(0, 3, (2, 3, 4))
    kept = [k for k in range(3) if k not in axes]
    lines = np.transpose(array, [*kept, *sorted(axes)]).reshape([*(array.shape[k] for k in kept), -1])
    np.testing.assert_array_equal(run("semi.argmax", plain(array), axes=tuple(axes)), lines.argmax(-1))
    by_name = run("axes.argmin", named(array, H, W, N), axes=[[H, W, N][k] for k in axes])
    np.testing.assert_array_equal(by_name, lines.argmin(-1))


def test_nan_wins() -> None:
    x = named(np.array([1.0, np.nan, 3.0]), W)
    assert np.isnan(run("axes.max", x, axes=W)) and run("axes.argmax", x, axes=W) == 1


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "uint64", "float16", "float32"])
@pytest.mark.parametrize("name", ["sum", "prod", "mean", "variance"])
def test_reductions_have_the_dtypes_and_values_of_numpy(name: str, dtype: str) -> None:
    array = np.array([[1, 0, 3], [1, 5, 1]]).astype(dtype)
    wanted = {"variance": np.var}.get(name, getattr(np, name, None))(array, axis=1)  # type: ignore[misc]
    result = run(f"axes.{name}", named(array, H, W), axes=W)
    assert result.dtype == wanted.dtype
    # two roundings at most separate the two orders of summation
    np.testing.assert_allclose(result, wanted, rtol=2 * np.finfo(np.result_type(dtype, "float16")).eps)


@pytest.mark.parametrize("name", ["tanh", "exp", "sqrt", "sin"])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int32", "uint64", "float16", "float64"])
def test_functions_promote_integers_as_numpy_does(name: str, dtype: str) -> None:
    array = np.array([1, 0, 1]).astype(dtype)
    wanted = getattr(np, name)(array)
    result = run(f"axes.{name}", named(array, W))
    assert result.dtype == wanted.dtype
    np.testing.assert_array_equal(result, wanted)


@pytest.mark.parametrize(
    ("name", "x", "y"),
    [("divide", "int8", "int8"), ("add", "int8", "uint8"), ("multiply", "float32", "int32"), ("power", "bool", "int8")],
)
def test_binary_ops_promote_as_numpy_does(name: str, x: str, y: str) -> None:
    left, right = np.array([1, 0, 1]).astype(x), np.array([1, 2, 1]).astype(y)
    wanted = getattr(np, name)(left, right)
    result = run(f"axes.{name}", named(left, W), named(right, W))
    assert result.dtype == wanted.dtype
    np.testing.assert_array_equal(result, wanted)


def test_pad_puts_a_value_around_and_between() -> None:
    result = run("semi.pad", plain([1, 2, 3]), before=(1,), after=(2,), interior=(1,), value=9)
    np.testing.assert_array_equal(result, [9, 1, 9, 2, 9, 3, 9, 9])


def test_softmax_and_logsumexp_do_not_overflow() -> None:
    x = named(np.array([1000.0, 1000.0, -np.inf]), W)
    np.testing.assert_array_equal(run("axes.softmax", x, axes=W), [0.5, 0.5, 0.0])
    assert run("axes.logsumexp", x, axes=W) == pytest.approx(1000 + np.log(2), rel=1e-15)
    assert run("axes.logsumexp", named(np.full(3, -np.inf), W), axes=W) == -np.inf


def test_zero_times_the_logarithm_of_zero_is_zero() -> None:
    y, t = named(np.array([0.0, 1.0, 0.0]), W), named(np.array([0.0, 1.0, 0.0]), W)
    assert run("axes.cross_entropy_multi", y, t, axes=W, usebits=False) == 0
    assert run("axes.cross_entropy_binary", y, t, axes=W, usebits=True) == 0


def test_a_certain_error_costs_infinity_as_a_probability_but_not_as_a_logit() -> None:
    x, t = named(np.array([1000.0, 0.0, 0.0]), W), named(np.array([0.0, 1.0, 0.0]), W)
    y = (apply("axes.softmax", x[0], axes=W), None)
    whole = apply("axes.cross_entropy_multi", y[0], t[0], axes=W, usebits=False)
    assert value(whole, dict([x, t])) == np.inf
    assert run("axes.cross_entropy_softmax", x, t, normalized=W, axes=W, usebits=False) == 1000.0
    assert (
        run("axes.cross_entropy_sigmoid", named(np.array(-800.0)), named(np.array(1.0)), axes=(), usebits=False) == 800
    )


def test_bits_are_nats_over_log_two() -> None:
    y, t = named(np.array([0.5, 0.25, 0.25]), W), named(np.array([0.5, 0.25, 0.25]), W)
    assert run("axes.cross_entropy_multi", y, t, axes=W, usebits=True) == pytest.approx(1.5, rel=1e-15)


def test_safelog_stays_above_its_limit() -> None:
    result = run("axes.safelog", named(np.array([0.0, 1.0]), H), limit=-50.0)
    np.testing.assert_array_equal(result, [-50.0, 0.0])


def test_random_draws_keep_their_parameters_in_their_dtype() -> None:
    from_ints = apply(
        "axes.uniform", axes=Axes(W), dtype="float16", low=0, high=1, uid=leaf(TensorType("bool")).attrs[0]
    )
    assert from_ints.attribute("high") == Literal(1.0, "float16")
