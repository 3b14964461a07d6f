# SPDX-License-Identifier: Apache-2.0
"""Functions of ng.numpy that move elements, reduce or create have the shapes, dtypes and values of NumPy's."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from drawn import value
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import ngraph_rewrite as ng
from ngraph_rewrite.types.dtypes import BFLOAT16, DTYPES

SOME = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
nx = ng.numpy
# The dtypes that NumPy knows itself, and says how they promote.
NUMPYS = [d for d in DTYPES if d != BFLOAT16]
dtypes = st.sampled_from(NUMPYS)
seeds = st.integers(0, 99)


def shapes(least: int = 0) -> st.SearchStrategy[tuple[int, ...]]:
    return hnp.array_shapes(min_dims=least, max_dims=3, min_side=0, max_side=4)


def numbers(dtype: Any, shape: tuple[int, ...], seed: int) -> Any:
    return (np.random.default_rng(seed).integers(-3, 4, shape) * 0.5).astype(dtype)


def agree(term: ng.Op | tuple[ng.Op, ...], wanted: Any, arrays: dict[ng.Op, Any], rtol: float = 0) -> None:
    """The term, or each of several, has the dtype, shape and value that NumPy gives."""
    if isinstance(term, tuple):
        assert len(term) == len(wanted)
        for one, other in zip(term, wanted, strict=True):
            agree(one, other, arrays, rtol)
        return
    wanted = np.asarray(wanted)
    assert (term.dtype, term.shape) == (wanted.dtype, wanted.shape)
    found = value(term, arrays)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_allclose(found, wanted, rtol=rtol, atol=rtol, equal_nan=True)


def place(rank: int) -> st.SearchStrategy[int]:
    return st.integers(-rank, rank - 1)


def some_places(rank: int) -> st.SearchStrategy[Any]:
    several = st.lists(st.sampled_from(range(rank)), unique=True) if rank else st.just([])
    return st.none() | (place(rank) if rank else st.none()) | several.map(tuple)


@SOME
@given(data=st.data(), shape=shapes(), dtype=dtypes, seed=seeds)
def test_orders_and_shapes(data: st.DataObject, shape: tuple[int, ...], dtype: Any, seed: int) -> None:
    array, rank = numbers(dtype, shape, seed), len(shape)
    x = ng.placeholder(shape, dtype)
    given_ = {x: array}
    perm = data.draw(st.permutations(range(rank)))
    agree(nx.permute_dims(x, perm), np.transpose(array, perm), given_)
    agree(nx.transpose(x), np.transpose(array), given_)
    agree(nx.ravel(x), np.ravel(array), given_)
    axis = data.draw(some_places(rank))
    agree(nx.flip(x, axis=axis), np.flip(array, axis), given_)
    new = data.draw(place(rank + 1))
    wide = nx.expand_dims(x, axis=new)
    agree(wide, np.expand_dims(array, new), given_)
    agree(nx.squeeze(wide, axis=new), array, given_)
    agree(nx.squeeze(wide), np.squeeze(np.expand_dims(array, new)), given_)
    agree(nx.broadcast_to(x, (2, *shape)), np.broadcast_to(array, (2, *shape)), given_)
    if rank > 1:
        source, target = data.draw(place(rank)), data.draw(place(rank))
        agree(nx.moveaxis(x, source, target), np.moveaxis(array, source, target), given_)
        agree(nx.moveaxis(x, (0, 1), (-1, 0)), np.moveaxis(array, (0, 1), (-1, 0)), given_)
        agree(nx.swapaxes(x, source, target), np.swapaxes(array, source, target), given_)
        agree(x.mT, np.swapaxes(array, -1, -2), given_)
        k = data.draw(st.integers(-4, 4))
        agree(nx.tril(x, k=k), np.tril(array, k), given_)
        agree(nx.triu(x, k=k), np.triu(array, k), given_)


@SOME
@given(data=st.data(), shape=shapes(1), dtype=dtypes, seed=seeds)
def test_rolls_repetitions_and_parts(data: st.DataObject, shape: tuple[int, ...], dtype: Any, seed: int) -> None:
    array, rank = numbers(dtype, shape, seed), len(shape)
    x = ng.placeholder(shape, dtype)
    given_ = {x: array}
    axis, shift, times = data.draw(place(rank)), data.draw(st.integers(-9, 9)), data.draw(st.integers(0, 3))
    agree(nx.roll(x, shift, axis=axis), np.roll(array, shift, axis), given_)
    agree(nx.roll(x, shift), np.roll(array, shift), given_)
    agree(nx.roll(x, (shift, 1), axis=(0, -1)), np.roll(array, (shift, 1), (0, -1)), given_)
    agree(nx.repeat(x, times, axis=axis), np.repeat(array, times, axis), given_)
    agree(nx.repeat(x, times), np.repeat(array, times), given_)
    counts = data.draw(st.lists(st.integers(0, 3), min_size=shape[axis], max_size=shape[axis]))
    if counts:
        agree(nx.repeat(x, counts, axis=axis), np.repeat(array, counts, axis), given_)
    reps = data.draw(st.lists(st.integers(0, 3), max_size=4).map(tuple))
    agree(nx.tile(x, reps), np.tile(array, reps), given_)
    agree(nx.unstack(x, axis=axis), np.unstack(array, axis=axis), given_)
    if dtype.kind == "f" or shape[axis] > 1:
        n = data.draw(st.integers(0, 3))
        agree(nx.diff(x, axis=axis, n=n), np.diff(array, n, axis), given_)
        ends = {"prepend": array.dtype.type(1), "append": np.flip(array)}
        agree(
            nx.diff(x, axis=axis, prepend=ends["prepend"], append=ends["append"]),
            np.diff(array, axis=axis, **ends),
            given_,
        )


@SOME
@given(data=st.data(), shape=shapes(1), types=st.lists(dtypes, min_size=1, max_size=3), seed=seeds)
def test_joins_promote(data: st.DataObject, shape: tuple[int, ...], types: list[Any], seed: int) -> None:
    axis = data.draw(place(len(shape)))
    arrays = [numbers(d, shape, seed + i) for i, d in enumerate(types)]
    xs = [ng.placeholder(shape, d) for d in types]
    given_ = dict(zip(xs, arrays, strict=True))
    agree(nx.stack(xs, axis=axis), np.stack(arrays, axis=axis), given_)
    agree(nx.concat(xs, axis=axis), np.concatenate(arrays, axis), given_)
    agree(nx.concat(xs, axis=None), np.concatenate(arrays, None), given_)
    longer = np.ones([2 if k == axis % len(shape) else n for k, n in enumerate(shape)], np.int8)
    agree(nx.concat([*xs, longer], axis=axis), np.concatenate([*arrays, longer], axis), given_)


@SOME
@given(given_shapes=hnp.mutually_broadcastable_shapes(num_shapes=3, max_dims=3, min_side=0, max_side=3), seed=seeds)
def test_arrays_are_broadcast_together(given_shapes: Any, seed: int) -> None:
    arrays = [numbers("float32", s, seed) for s in given_shapes.input_shapes]
    xs = [ng.placeholder(a.shape) for a in arrays]
    agree(nx.broadcast_arrays(*xs), np.broadcast_arrays(*arrays), dict(zip(xs, arrays, strict=True)))


@pytest.mark.parametrize("indexing", ["xy", "ij"])
def test_a_grid_has_its_axes_in_either_order(indexing: Any) -> None:
    arrays = [np.arange(n) for n in (2, 3, 0)]
    for count in range(4):
        found = nx.meshgrid(*arrays[:count], indexing=indexing)
        agree(found, np.meshgrid(*arrays[:count], indexing=indexing), {})


@pytest.mark.filterwarnings("ignore:Degrees of freedom")
@SOME
@given(data=st.data(), shape=shapes(), dtype=dtypes, keepdims=st.booleans(), seed=seeds)
def test_reductions(data: st.DataObject, shape: tuple[int, ...], dtype: Any, keepdims: bool, seed: int) -> None:
    array = numbers(dtype, shape, seed)
    x = ng.placeholder(shape, dtype)
    axis = data.draw(some_places(len(shape)))
    kept: dict[str, Any] = {"axis": axis, "keepdims": keepdims}
    # half precision is rounded once per element; the others are exact or far below this
    loose = 5e-3 if dtype == np.float16 else 1e-6
    with np.errstate(all="ignore"):
        for name in ("any", "all", "count_nonzero", "sum", "prod"):
            agree(getattr(nx, name)(x, **kept), getattr(np, name)(array, **kept), {x: array}, loose)
        if 0 not in shape:
            agree(nx.max(x, **kept), np.max(array, **kept), {x: array})
            agree(nx.min(x, **kept), np.min(array, **kept), {x: array})
            agree(nx.mean(x, **kept), np.mean(array, **kept), {x: array}, loose)
            for correction in (0, 1.5):
                wide = array.astype(np.promote_types(dtype, np.float32))  # NumPy's own half precision is rougher
                wanted = [np.asarray(f(wide, ddof=correction, **kept)) for f in (np.var, np.std)]
                finite = [np.nan_to_num(w, posinf=0).astype(nx.mean(x).dtype) for w in wanted]
                if all(np.isfinite(w).all() for w in wanted):
                    agree(nx.var(x, correction=correction, **kept), finite[0], {x: array}, loose)
                    agree(nx.std(x, correction=correction, **kept), finite[1], {x: array}, loose)


def test_sums_in_a_dtype_of_choice() -> None:
    array = np.full((3, 100), 100, np.int8)
    x = ng.placeholder(array.shape, "int8")
    for dtype in ("int8", "float64", "uint16"):
        agree(nx.sum(x, axis=1, dtype=dtype), np.sum(array, axis=1, dtype=dtype), {x: array})
        agree(nx.prod(x, axis=0, dtype=dtype), np.prod(array, axis=0, dtype=dtype), {x: array})


def test_reductions_of_nothing() -> None:
    x = ng.placeholder((0, 3))
    array = np.ones((0, 3), np.float32)
    agree(nx.sum(x, axis=0), np.zeros(3, np.float32), {x: array})
    agree(nx.all(x), True, {x: array})
    for function in (nx.mean, nx.var, nx.std):
        agree(function(x, axis=0), np.full(3, np.nan, np.float32), {x: array})
    agree(nx.var(ng.constant([2.0]), correction=3), np.float32(np.nan), {})


CREATED: list[tuple[Callable[[], ng.Op], Any]] = [
    (lambda: nx.arange(5), np.arange(5)),
    (lambda: nx.arange(2, 9, 3), np.arange(2, 9, 3)),
    (lambda: nx.arange(9, 2, -2), np.arange(9, 2, -2)),
    (lambda: nx.arange(3, 3), np.arange(3, 3)),
    (lambda: nx.arange(5, 1), np.arange(5, 1)),
    (lambda: nx.arange(0.5, 2, 0.25), np.arange(0.5, 2, 0.25, np.float32)),
    (lambda: nx.arange(np.int8(-100), np.int8(100), np.int8(50)), np.arange(-100, 100, 50)),
    (lambda: nx.arange(np.uint8(9), np.uint8(2), -2), np.arange(9, 2, -2)),
    (lambda: nx.arange(0, 10**17 + 1, 10**17), np.array([0, 10**17])),  # NumPy counts in floats
    (lambda: nx.arange(3, dtype="uint8"), np.arange(3, dtype="uint8")),
    (lambda: nx.arange(0, 1, 0.1, dtype="float64"), np.arange(0, 1, 0.1)),
    (lambda: nx.linspace(0, 1, 5), np.linspace(0, 1, 5, dtype=np.float32)),
    (lambda: nx.linspace(0, 1, 7, endpoint=False, dtype="float64"), np.linspace(0, 1, 7, endpoint=False)),
    (lambda: nx.linspace(3, -2, 9, dtype="int16"), np.linspace(3, -2, 9, dtype="int16")),
    (lambda: nx.linspace(0, 256, 256, endpoint=False, dtype="uint8"), np.arange(256, dtype="uint8")),
    (lambda: nx.linspace(5, float("nan"), 1), np.full(1, np.nan, np.float32)),
    (lambda: nx.linspace(1, 2, 1), np.linspace(1, 2, 1, dtype=np.float32)),
    (lambda: nx.linspace(1, 2, 0), np.linspace(1, 2, 0, dtype=np.float32)),
    (lambda: nx.eye(3), np.eye(3, dtype=np.float32)),
    (lambda: nx.eye(2, 4, k=-1, dtype="bool"), np.eye(2, 4, -1, bool)),
    (lambda: nx.eye(0, 3), np.eye(0, 3, dtype=np.float32)),
    (lambda: nx.zeros((2, 0)), np.zeros((2, 0), np.float32)),
    (lambda: nx.ones(3, dtype="int8"), np.ones(3, np.int8)),
    (lambda: nx.full((2, 2), 7), np.full((2, 2), 7)),
    (lambda: nx.full(2, True), np.full(2, True)),
    (lambda: nx.full_like(nx.zeros((2, 2), dtype="int8"), 3), np.full((2, 2), 3, np.int8)),
    (lambda: nx.asarray([[1, 2], [3, 4]], dtype="float64"), np.asarray([[1.0, 2.0], [3.0, 4.0]])),
    (lambda: nx.asarray(np.float64(2)), np.float64(2)),
    (lambda: nx.astype([1.5, -2.5], "int32"), np.array([1, -2], np.int32)),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(CREATED)))
def test_what_is_created(number: int) -> None:
    make, wanted = CREATED[number]
    agree(make(), wanted, {}, 1e-6 if wanted.dtype == np.float32 else 1e-15)


def test_created_arrays_are_computed_by_kernels() -> None:
    terms = [make() for make, _ in CREATED]
    with ng.make_transformer("cpu") as transformer:
        found = transformer.computation(terms)()
    for one, (_, wanted) in zip(found, CREATED, strict=True):
        np.testing.assert_allclose(one, wanted, rtol=1e-6, atol=1e-6)


def test_lengths_that_are_known_only_later() -> None:
    x = ng.placeholder((None, 3), name="x")
    n = x.shape[0]
    terms = [
        nx.reshape(x, (-1,)), nx.arange(n), nx.arange(2, n, 2), nx.zeros_like(x) + 1, nx.roll(x, 2, axis=0),
        nx.mean(x, axis=0), nx.concat([x, x]), nx.tile(x, (2, 1)), nx.repeat(x, 2, axis=0), nx.flip(x, axis=0),
        x[1:], x[::-1], nx.reshape(nx.stack([x, x], axis=1), (n, -1)), nx.eye(n), x - nx.mean(x, axis=0),
        nx.diff(x, axis=0), nx.full((n, 2), 1.5), x + nx.ones((1, 3)), nx.std(x), nx.tril(x),
    ]  # fmt: skip
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(terms, x)
        for length in (3, 1, 5):
            a = np.arange(3 * length, dtype=np.float32).reshape(length, 3)
            wanted = [
                a.ravel(), np.arange(length), np.arange(2, length, 2), np.ones_like(a), np.roll(a, 2, 0), a.mean(0),
                np.concatenate([a, a]), np.tile(a, (2, 1)), np.repeat(a, 2, 0), a[::-1],
                a[1:], a[::-1], np.stack([a, a], 1).reshape(length, -1), np.eye(length), a - a.mean(0),
                np.diff(a, axis=0), np.full((length, 2), 1.5), a + 1, a.std(), np.tril(a),
            ]  # fmt: skip
            for one, other in zip(computation(a), wanted, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-6)


@pytest.mark.parametrize("form", [list, tuple, np.array], ids=["list", "tuple", "array"])
def test_shapes_and_axes_are_tuples_lists_or_vectors(form: Callable[[Any], Any]) -> None:
    x = ng.placeholder((2, 1, 3), name="x")
    assert nx.reshape(x, form([3, -1])).shape == (3, 2)
    assert nx.broadcast_to(x, form([4, 2, 5, 3])).shape == (4, 2, 5, 3)
    assert nx.full(form([2, 0]), 1.0).shape == nx.zeros(form([2, 0])).shape == (2, 0)
    assert nx.tile(x, form([2, 1, 2])).shape == (4, 1, 6)
    assert nx.expand_dims(x, axis=form([0, -1])).shape == (1, 2, 1, 3, 1)
    assert nx.squeeze(x, axis=form([1])).shape == (2, 3)
    assert nx.moveaxis(x, form([0, 1]), form([1, 2])).shape == (3, 2, 1)
    assert nx.sum(x, axis=form([0, 2])).shape == (1,)
    assert nx.roll(x, form([1, 2]), axis=form([0, 2])).shape == x.shape
    assert nx.sum(x, axis=np.array(1)).shape == (2, 3)  # type: ignore[arg-type]
