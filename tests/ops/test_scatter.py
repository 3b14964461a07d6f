# SPDX-License-Identifier: Apache-2.0
"""Reading at indices and putting something there: negative ones wrap, those outside take no part."""

from typing import Any

import numpy as np
import pytest
from drawn import apply, leaf, value
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from on_targets import agrees, apart, check_gradient, computed, numbers, slopes

import ngraph_rewrite as ng
from ngraph_rewrite import errors
from ngraph_rewrite.types.axes import anonymous
from ngraph_rewrite.types.tensor import TensorType

nx = ng.numpy
FEW = settings(max_examples=24, deadline=None, suppress_health_check=list(HealthCheck))
INDICES = hnp.arrays(
    np.int64, hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=4), elements=st.integers(-6, 6)
)


def run(name: str, *arrays: Any, **attributes: Any) -> Any:
    """The meaning of an op of placeholders."""
    terms = [leaf(TensorType(a.dtype, anonymous(a.shape))) for a in arrays]
    return value(apply(name, *terms, **attributes), dict(zip(terms, arrays, strict=True)))


# What is at a place where `b` is put and `a` was.
HOW: dict[str, Any] = {
    "set": lambda a, b: b,
    "add": np.add,
    "multiply": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}
every_how = pytest.mark.parametrize("how", HOW)


def added(x: Any, indices: Any, updates: Any, axis: int) -> Any:
    """scatter_add in plain loops."""
    return scattered("add", x, indices, updates, axis)


@np.errstate(all="ignore")
def scattered(how: str, x: Any, indices: Any, updates: Any, axis: int) -> Any:
    """Scatter in plain loops."""
    result, length = x.copy(), x.shape[axis]
    for place in np.ndindex(indices.shape):
        at = int(indices[place])
        at += length if at < 0 else 0
        if 0 <= at < length:
            line = (slice(None),) * axis
            result[(*line, at)] = HOW[how](result[(*line, at)], updates[(*line, *place)])
    return result


@np.errstate(all="ignore")
def put(how: str, x: Any, indices: Any, updates: Any, axis: int) -> Any:
    """Put_along in plain loops."""
    result, length = x.copy(), x.shape[axis]
    for place in np.ndindex(*indices.shape):
        at = list(place)
        at[axis] = int(indices[place]) + (length if indices[place] < 0 else 0)
        if 0 <= at[axis] < length:
            result[tuple(at)] = HOW[how](result[tuple(at)], updates[place])
    return result


@FEW
@given(indices=INDICES, axis=st.integers(0, 2))
def test_scatter_add_adds_one_after_the_other(indices: Any, axis: int) -> None:
    x = np.arange(24.0).reshape(2, 4, 3)
    updates = np.random.default_rng(0).normal(size=(*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]))
    found = run("semi.scatter_add", x, indices, updates, axis=axis)
    np.testing.assert_array_equal(found, added(x, indices, updates, axis))


@FEW
@given(data=st.data(), axis=st.integers(0, 1))
def test_lines_are_read_and_added_to_by_their_own_indices(data: st.DataObject, axis: int) -> None:
    x = np.arange(1.0, 13.0).reshape(3, 4)
    shape = list(x.shape)
    shape[axis] = data.draw(st.integers(0, 5))
    indices = data.draw(hnp.arrays(np.int64, tuple(shape), elements=st.integers(-6, 6)))
    updates = np.random.default_rng(1).normal(size=shape)
    taken, total = np.zeros(shape), x.copy()
    for place in np.ndindex(*shape):
        at = list(place)
        at[axis] = indices[place] + (x.shape[axis] if indices[place] < 0 else 0)
        if 0 <= at[axis] < x.shape[axis]:
            taken[place] = x[tuple(at)]
            total[tuple(at)] += updates[place]
    np.testing.assert_array_equal(run("semi.take_along", x, indices, axis=axis), taken)
    np.testing.assert_array_equal(run("semi.add_along", x, indices, updates, axis=axis), total)


@every_how
@FEW
@given(indices=INDICES, axis=st.integers(0, 2))
def test_rows_are_put_one_after_the_other(how: str, indices: Any, axis: int) -> None:
    x = np.arange(24.0).reshape(2, 4, 3) - 8
    updates = np.random.default_rng(0).integers(-9, 9, (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])) * 1.0
    wanted = scattered(how, x, indices, updates, axis)
    for found in computed(lambda x, i, u: ng.semi.scatter(x, i, u, axis, how), x, indices, updates):
        np.testing.assert_array_equal(found[0], wanted)


@every_how
@FEW
@given(data=st.data(), axis=st.integers(0, 2))
def test_elements_are_put_one_after_the_other(how: str, data: st.DataObject, axis: int) -> None:
    x = np.arange(24.0).reshape(2, 4, 3) - 8
    shape = [*x.shape[:axis], data.draw(st.integers(0, 6)), *x.shape[axis + 1 :]]
    indices = data.draw(hnp.arrays(np.int64, tuple(shape), elements=st.integers(-6, 6)))
    updates = np.random.default_rng(1).integers(-9, 9, shape) * 1.0
    wanted = put(how, x, indices, updates, axis)
    for found in computed(lambda x, i, u: ng.semi.put_along(x, i, u, axis, how), x, indices, updates):
        np.testing.assert_array_equal(found[0], wanted)


@pytest.mark.parametrize("how", ["max", "min"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_a_nan_that_meets_others_stays(how: str, dtype: str) -> None:
    x, i = np.array([np.nan, 1, 2, 3], dtype), np.array([0, 1, 1, 1, 2])
    u = np.array([9, 4, np.nan, -5, -7], dtype)
    for found in computed(lambda x, i, u: ng.semi.scatter(x, i, u, 0, how), x, i, u):
        assert np.isnan(found[0].astype("float64")).tolist() == [True, True, False, False]


@pytest.mark.parametrize("axis", [0, 1])
def test_bools_are_set(axis: int) -> None:
    x, i = np.array([[True, False, True], [False, False, True]]), np.array([[1, 0, -1], [1, 1, 1]])
    agrees(
        lambda x, i, u: ng.semi.put_along(x, i, u, axis),
        lambda x, i, u: put("set", x, i, u, axis),
        x, i, ~x,
    )  # fmt: skip


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("dtype", "index_dtype"),
    [("uint64", "uint8"), ("float16", "int8")],  # float64 at int64 is drawn above
)
def test_both_targets_read_and_add_alike(dtype: str, index_dtype: str) -> None:
    x, rows, lines = (numbers(dtype, s, k) for k, s in enumerate([(2, 4, 3), (2, 3, 2, 3), (2, 5, 3)]))
    i = np.array([[0, 3], [-1, -4], [4, 3]]).astype(index_dtype)
    j = np.random.default_rng(0).integers(-5, 5, (2, 5, 3)).astype(index_dtype)

    def function(*t: Any) -> tuple[Any, ...]:
        x, i, j, rows, lines = t
        s = ng.semi
        put = [each for how in HOW for each in (s.scatter(x, i, rows, 1, how), s.put_along(x, j, lines, 1, how))]
        return s.gather(x, i, 1), s.take_along(x, j, 1), s.scatter_add(x, i, rows, 1), s.add_along(x, j, lines, 1), *put

    reference, cpu = computed(function, x, i, j, rows, lines)
    for ours, theirs in zip(cpu, reference, strict=True):
        np.testing.assert_array_equal(ours, theirs, strict=True)
    np.testing.assert_array_equal(cpu[2], added(x, i.astype(np.int64), rows, 1))


def test_an_unsigned_index_never_counts_from_the_end() -> None:
    x, i = np.arange(4.0), np.array([2**64 - 1, 3], np.uint64)
    agrees(lambda t, k: nx.take(t, k), lambda a, k: np.array([0.0, 3.0]), x, i)


def test_nothing_is_read_from_an_axis_of_no_length() -> None:
    x, i, rows = np.zeros((0, 2)), np.array([0, -1]), np.ones((2, 2))
    agrees(
        lambda t, k, u: (ng.semi.gather(t, k), ng.semi.scatter_add(t, k, u)),
        lambda a, k, u: (np.zeros((2, 2)), a),
        x,
        i,
        rows,
    )


def test_lengths_may_be_unknown() -> None:
    x, i, rows = apart(5, 2), np.array([1, 1, -1]), apart(3, 2)
    n, m = ng.Axis("n").length, ng.Axis("m").length
    t, k, u = ng.placeholder([n, 2], "float64"), ng.placeholder([m], "int64"), ng.placeholder([m, 2], "float64")
    with ng.make_transformer("cpu") as transformer:
        found = transformer.computation(ng.semi.scatter_add(t, k, u), t, k, u)(x, i, rows)
    np.testing.assert_array_equal(found, added(x, i, rows, 0))


def test_what_is_added_to_may_be_computed_in_the_same_job() -> None:
    x, i, rows = apart(4, 2), np.array([0, 0, 3]), apart(3, 2)
    agrees(
        lambda t, k, u: ng.semi.scatter_add(ng.semi.multiply(t, t), k, ng.semi.exp(u)),
        lambda a, k, b: added(a * a, k, np.exp(b), 0),
        x, i, rows, rtol=1e-14,
    )  # fmt: skip


@pytest.mark.parametrize("known", [True, False])
def test_numbers_in_a_chain_of_gathers_stay_where_they_are(known: bool) -> None:
    """Each went down all that is scattered in its gradient, one sweep of the graph for each step: 800 were refused."""
    x, i = ng.placeholder((4 if known else None,)), ng.placeholder((4 if known else None,), "int64")
    y = x
    for _ in range(12):
        y = y[i] * 1.01
    with ng.make_transformer("cpu") as transformer:
        lowering = transformer.computation(ng.deriv(nx.sum(y), x), x, i).lowering
    assert len(lowering.table.stages) < 12


@pytest.mark.parametrize("length", [2, 9, None])
def test_a_multiple_of_what_is_scattered_is_added_where_it_lies(length: int | None) -> None:
    """However much is scattered: a gradient times a rate, or a part of messages between nodes."""
    i, u, rate = ng.placeholder((length,), "int64"), ng.placeholder((length,)), ng.placeholder(())
    found = nx.at(nx.zeros((3,)))[i].add(u)
    for result in (X[0] - 0.1 * found, X[0] + 0.1 * found, X[0] - rate * found, X[0] + rate * found):
        with ng.make_transformer("cpu") as transformer:
            root = transformer.computation(result, "all").lowering.roots[0]
            assert root.definition.name == "semi.scatter_add"
            assert root.args[0].definition.name != "core.constant"


# -- gradients --------------------------------------------------------------------------------------------

PLACES = np.array([0, 2, 2, -1, 7])


def test_gradients_are_central_differences() -> None:
    lines = np.array([[0, 0, -1], [2, 5, 1]])
    check_gradient(lambda x, i: ng.semi.gather(x, i, 0), apart(3, 2), PLACES)
    check_gradient(lambda x, i, u: ng.semi.scatter_add(x, i, u, 1), apart(2, 3), PLACES, apart(2, 5))
    check_gradient(lambda x, i: ng.semi.take_along(x, i, 1), apart(2, 3), lines)
    check_gradient(lambda x, i, u: ng.semi.add_along(x, i, u, 1), apart(2, 3), lines, apart(2, 3))
    check_gradient(lambda x: nx.take_along_axis(x, np.array([[0, 1]]), axis=1), apart(3, 3))
    check_gradient(lambda x: nx.take(x, [[1, 1], [0, -1]], axis=1), apart(2, 3))


@every_how
def test_gradients_of_what_is_put_are_central_differences(how: str) -> None:
    lines, x, rows = np.array([[0, 0, -1], [2, 5, 1]]), apart(2, 3), apart(2, 5) + 0.03
    check_gradient(lambda x, i, u: ng.semi.scatter(x, i, u, 1, how), x, PLACES, rows)
    check_gradient(lambda x, i, u: ng.semi.put_along(x, i, u, 1, how), x, lines, rows[:, :3])


@pytest.mark.parametrize("shape", [(), (2, 0), (2, 2)])
def test_indices_of_any_rank_have_gradients(shape: tuple[int, ...]) -> None:
    i, x, u = np.ones(shape, np.int64), apart(3, 2), apart(*shape, 2) + 0.03
    for how in HOW:
        check_gradient(lambda x, i, u, how=how: ng.semi.scatter(x, i, u, 0, how), x, i, u)


ERROR = np.array([1.0, 10.0, 100.0])


def shared(how: str, x: Any, i: Any, u: Any) -> list[Any]:
    """The gradients of what is put at the places of a vector, by rows and by elements, which agree."""
    both = [
        slopes(function, np.array(x), np.array(i), np.array(u), error=ERROR)
        for function in (
            lambda x, i, u: ng.semi.scatter(x, i, u, 0, how),
            lambda x, i, u: ng.semi.put_along(x, i, u, 0, how),
        )
    ]
    assert [found.tolist() for found in both[0]] == [found.tolist() for found in both[1]]
    return [found.tolist() for found in both[0]]


def test_only_what_is_set_last_has_a_gradient() -> None:
    assert shared("set", [1.0, 2.0, 3.0], [1, 0, 1, 5], [4.0, 4.0, 4.0, 4.0]) == [[0, 0, 100], [0, 1, 10, 0]]


def test_equal_extrema_share_the_gradient() -> None:
    found = shared("max", [4.0, 2.0, 3.0], [0, 0, 0, 1], [4.0, 4.0, 1.0, 5.0])
    assert found == [[1 / 3, 0, 100], [1 / 3, 1 / 3, 0, 10]]


def test_a_factor_has_the_gradient_of_the_others_where_some_are_zero() -> None:
    found = shared("multiply", [2.0, 0.0, 3.0], [0, 0, 1, 2, 2], [0.0, 5.0, 7.0, 0.0, 0.0])
    assert found == [[0, 70, 0], [10, 0, 0, 0, 0]]


def test_reads_of_one_row_add_up() -> None:
    (found,) = slopes(lambda x, i: ng.semi.gather(x, i), np.ones((3, 1)), PLACES, error=np.arange(1.0, 6.0)[:, None])
    assert found[:, 0].tolist() == [1.0, 0.0, 2.0 + 3.0 + 4.0]


def test_the_gradient_of_a_gradient() -> None:
    def twice(x: Any, i: Any) -> Any:
        (slope,) = ng.deriv(nx.sum(nx.pow(ng.semi.gather(x, i), 3)), [x])
        return slope

    check_gradient(twice, apart(3, 2), PLACES)


# -- NumPy's take -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_take_is_numpys(axis: int | None) -> None:
    x, i = numbers("int32", (3, 4), 0), np.array([[0, 2], [-1, 1]])
    agrees(lambda t, k: nx.take(t, k, axis=axis), lambda a, k: np.take(a, k, axis), x, i)
    agrees(lambda t, k: np.take(t, k, axis), lambda a, k: np.take(a, k, axis), x, i)


@pytest.mark.parametrize(
    ("shape", "indices"), [((3, 4), (1, 2)), ((1, 4), (3, 4)), ((3, 4), (3, 0)), ((2, 1, 4), (1, 3, 5))]
)
def test_take_along_axis_broadcasts(shape: tuple[int, ...], indices: tuple[int, ...]) -> None:
    x, i = numbers("float32", shape, 0), np.random.default_rng(1).integers(-4, 4, indices)
    agrees(nx.take_along_axis, lambda a, k: np.take_along_axis(a, k, axis=-1), x, i)


X, PAIR = ng.placeholder((2, 3)), ng.placeholder((2,), "int64")
WRONG = [
    (lambda: nx.take(X, X, axis=0), errors.DTypeError, "expected integers"),
    (lambda: nx.take(X, PAIR, axis=2), errors.OutOfRangeError, "axis 2 is outside"),
    (lambda: nx.take(X, [9], axis=0), errors.OutOfRangeError, "index 9 is out of range for axis 0"),
    (lambda: nx.take_along_axis(X, [[9]]), errors.OutOfRangeError, "index 9 is out of range for axis 1"),
    (lambda: nx.put_along_axis(X, [[-9]], 0), errors.OutOfRangeError, "index -9 is out of range for axis 1"),
    (lambda: nx.take_along_axis(X, PAIR), errors.AxesError, "indices of rank 2"),
    (
        lambda: nx.take_along_axis(X, ng.placeholder((5, 3), "int64")),
        errors.IncompatibleAxesError,
        "the lengths 2 and 5",
    ),
    (lambda: ng.semi.scatter_add(X, PAIR, ng.placeholder((3, 3))), errors.AxesError, r"updates of shape \(2, 3\)"),
    (
        lambda: ng.semi.scatter_add(X, PAIR, ng.placeholder((2, 3), "float64")),
        errors.DTypeError,
        "expected equal dtypes",
    ),
    (
        lambda: ng.semi.scatter_add(ng.placeholder((2,), "bool"), PAIR, ng.placeholder((2,), "bool")),
        errors.DTypeError,
        "numbers",
    ),
    (lambda: ng.semi.scatter(X, PAIR, X, how="last"), errors.AttributeValueError, "set, multiply, max, min"),
    (lambda: ng.semi.put_along(X, X, X), errors.DTypeError, "expected integers"),
    (
        lambda: ng.semi.scatter(*[ng.placeholder((2,), t) for t in ("bool", "int64", "bool")], how="max"),
        errors.DTypeError,
        "numbers",
    ),
    (lambda: ng.semi.take_along(X, ng.placeholder((3, 3), "int64")), errors.AxesError, "but along axis 1"),
    (lambda: ng.semi.add_along(X, ng.placeholder((2, 1), "int64"), X), errors.AxesError, "updates of the shape"),
]


@pytest.mark.parametrize(("call", "error", "says"), WRONG)
def test_a_wrong_call_is_refused(call: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        call()
