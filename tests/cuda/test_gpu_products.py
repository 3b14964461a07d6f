# SPDX-License-Identifier: Apache-2.0
"""Products of matrices on a GPU: of any shape and strides, by any tiles, in parts, and with maps over the result."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from gpu_examples import examples
from hypothesis import given
from hypothesis import strategies as st

import ngraph_rewrite as ng
from ngraph_rewrite import semi
from ngraph_rewrite.cache import Cache
from ngraph_rewrite.codegen.cuda.products import render_product, render_sums, stored
from ngraph_rewrite.codegen.cuda.tiles import Tile
from ngraph_rewrite.codegen.nest import MapNest, Operand, Step
from ngraph_rewrite.codegen.source import Source
from ngraph_rewrite.plan.cuda.library import library_arguments, library_call
from ngraph_rewrite.plan.cuda.products import cut
from ngraph_rewrite.plan.matrices import Matrix
from ngraph_rewrite.plan.nests import Load
from ngraph_rewrite.plan.products import Product
from ngraph_rewrite.plan.views import row_major
from ngraph_rewrite.runtime.cuda import simulated_library
from ngraph_rewrite.runtime.cuda.device import Launched, find_device
from ngraph_rewrite.targets.choices import find_target

pytest.importorskip("numba_cuda", reason="needs numba-cuda, which the extra `test` installs")
pytestmark = pytest.mark.cuda

Array = np.ndarray[Any, Any]
SMALL = [Tile(8, 8, 4, 4, 4), Tile(4, 8, 8, 2, 4), Tile(8, 16, 4, 4, 8, 2), Tile(16, 4, 4, 8, 4)]
DTYPES = {"float32": 2e-7, "float64": 4e-16, "float16": 1e-3, "bfloat16": 8e-3}
few = examples(20)


class Memory:
    """Arrays that kernels read and write, on whatever device there is."""

    def __init__(self) -> None:
        self.device, self.held = find_device(), list[tuple[int, Array]]()

    def address(self, array: Array) -> int:
        address = self.device.allocate(array.nbytes, "a test")
        self.device.upload(address, array)
        self.held.append((address, array))
        return address

    def launch(self, source: Source, arguments: list[int], blocks: int, threads: int, fixed: bool) -> None:
        function = self.device.load({source.name: source.text}, Cache(), 1)[source.name]
        recorded = self.device.record([Launched(function, blocks, threads, fixed, arguments)])
        recorded.run()
        self.device.synchronize()
        recorded.close()

    def close(self) -> None:
        for address, array in self.held:
            self.device.download(array, address)
            self.device.free(address)


def numbers(shape: tuple[int, ...], dtype: str, seed: int) -> Array:
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    return np.random.default_rng(seed).normal(size=shape).astype(kind)


def laid_out(array: Array, order: tuple[int, ...], gap: int) -> tuple[Array, list[int]]:
    """Memory that holds an array with its axes in some order and gaps between, and the array's strides there."""
    room = np.zeros([array.shape[axis] + gap for axis in order], array.dtype)
    view = room[tuple(slice(array.shape[axis]) for axis in order)]
    back = view.transpose(np.argsort(order))
    back[...] = array
    return room, [stride // array.itemsize for stride in back.strides]


ORDERS = st.permutations([0, 1, 2]).map(tuple)
LENGTHS = st.integers(0, 19)


@few
@given(st.sampled_from(SMALL), st.sampled_from([*DTYPES]), st.integers(1, 2), LENGTHS, LENGTHS, LENGTHS, st.data())
def test_any_tile_multiplies_any_shape_and_strides(
    tile: Tile, dtype: str, count: int, m: int, n: int, k: int, data: st.DataObject
) -> None:
    source = render_product(dtype, tile, data.draw(st.tuples(st.booleans(), st.booleans())), stored(dtype))
    multiplies(source, tile.threads, dtype, (count, m, n, k), [0, 1, 4], data)


def multiplies(
    source: Source, threads: int, dtype: str, sizes: tuple[int, ...], gaps: list[int], data: st.DataObject
) -> None:
    """A kernel gives the products of matrices that lie in memory in drawn orders, with gaps between."""
    count, m, n, k = sizes
    a, b = numbers((count, m, k), dtype, 1), numbers((count, k, n), dtype, 2)
    between = st.sampled_from(gaps)
    a_room, a_strides = laid_out(a, data.draw(ORDERS), data.draw(between))
    b_room, b_strides = laid_out(b, data.draw(ORDERS), data.draw(between))
    memory, c = Memory(), np.ones((count, m, n), a.dtype)
    arguments = [count, m, n, k, memory.address(a_room), *a_strides, memory.address(b_room), *b_strides, 1, k]
    blocks = data.draw(st.integers(1, 3))
    memory.launch(source, [*arguments, memory.address(c), m * n, n], blocks, threads, fixed=True)
    memory.close()
    exact, size = products(a, b)
    assert np.all(np.abs(c.astype(float) - exact) <= DTYPES[dtype] * (np.abs(exact) + size))


def products(a: Array, b: Array) -> tuple[Array, Array]:
    """The products in float64, and the sums of the sizes of what is added: what a rounding error is a part of."""
    x, y = a.astype(float), b.astype(float)
    return x @ y, np.abs(x) @ np.abs(y)


@few
@given(st.sampled_from(SMALL), st.integers(1, 3), LENGTHS, st.integers(1, 19), st.integers(1, 4), st.booleans())
def test_parts_of_a_sum_are_added_up_and_mapped(tile: Tile, m: int, n: int, k: int, parts: int, row: bool) -> None:
    a, b, bias = numbers((1, m, k), "float32", 1), numbers((1, k, n), "float32", 2), numbers((m, n), "float32", 3)
    stretch = -(-k // (parts * tile.deep)) * tile.deep
    parts = -(-k // stretch)
    memory, sums, c = Memory(), np.zeros((parts, m, n), np.float32), np.zeros((m, n), np.float32)
    at = memory.address(sums)
    first = render_product("float32", tile, (True, False), stored("float32"))
    arguments = [1, m, n, k, memory.address(a), 0, k, 1, memory.address(b), 0, n, 1, parts, stretch, at, m * n, n]
    memory.launch(first, arguments, 2, tile.threads, fixed=True)
    rows = Operand("float32", ("s", "1"))
    other = Operand("float32", ("0", "1")) if row else rows
    nest = MapNest(2, (rows, other), (Step("add", "float32", (0, 1)),), ((2, rows),), (0, 1, 2))
    given = [memory.address(bias), 0, *([] if row else [n]), memory.address(c), 0, n]
    memory.launch(render_sums("float32", nest), [1, m, n, parts, at, *given], 2, 3, fixed=False)
    memory.close()
    exact, size = products(a[0], b[0])
    exact = exact + (bias[0] if row else bias)
    assert np.all(np.abs(c - exact) <= 2e-7 * (np.abs(exact) + size + 1))


@few
@given(st.sampled_from(SMALL), st.integers(1, 2), LENGTHS, LENGTHS, st.integers(0, 9), st.booleans())
def test_a_map_over_a_product_reads_and_stores_by_its_own_strides(
    tile: Tile, count: int, m: int, n: int, k: int, padded: bool
) -> None:
    a, b = numbers((count, m, k), "float64", 1), numbers((count, k, n), "float64", 2)
    column, other = numbers((m,), "float64", 3), numbers((count, m, n), "float64", 4)
    room, (batch, down, _) = laid_out(other, (0, 1, 2), 3 if padded else 0)
    rows = Operand("float64", ("s", "1"))
    steps = (Step("multiply", "float64", (0, 1)), Step("add", "float64", (3, 2)))
    nest = MapNest(2, (rows, Operand("float64", ("1", "0")), rows), steps, ((4, rows), (0, rows)), (0, 1, 2, 3, 4))
    memory, c, plain = Memory(), np.zeros((count, m, n)), np.zeros((count, m, n))
    arguments = [count, m, n, k, memory.address(a), m * k, k, 1, memory.address(b), k * n, n, 1, 1, k]
    arguments += [memory.address(column), 0, memory.address(room), batch, down]
    arguments += [memory.address(c), m * n, n, memory.address(plain), m * n, n]
    source = render_product("float64", tile, (False, True), nest)
    memory.launch(source, arguments, 2, tile.threads, fixed=True)
    memory.close()
    np.testing.assert_allclose(plain, a @ b, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(c, (a @ b) * column[:, None] + other, rtol=1e-12, atol=1e-12)


# -- plans -------------------------------------------------------------------------------------------------------------


def computed(term: Any, *given: tuple[Any, Array]) -> tuple[Array, list[str]]:
    """What the target makes of a term, and the kernels it takes."""
    with ng.make_transformer("cuda") as transformer:
        computation = transformer.computation(term, *(x for x, _ in given))
        found = computation(*(array for _, array in given))
        return found, [name.rpartition("_")[0] for name in computation.stats()["kernels"]]


@examples(12)
@given(
    st.sampled_from([*DTYPES, "int32", "int8"]),
    st.integers(0, 20),
    st.integers(0, 20),
    st.integers(0, 20),
    st.booleans(),
)
def test_products_of_all_dtypes_are_those_of_numpy(dtype: str, m: int, n: int, k: int, turned: bool) -> None:
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else np.dtype(dtype)
    a, b = ((3 * numbers(s, "float64", 1)).astype(kind) for s in ((k, m) if turned else (m, k), (k, n)))
    x, y = ng.placeholder(a.shape, dtype=dtype), ng.placeholder(b.shape, dtype=dtype)
    found, _ = computed(semi.dot(semi.transpose(x, perm=(1, 0)) if turned else x, y), (x, a), (y, b))
    left = a.T if turned else a
    if dtype not in DTYPES:
        assert np.array_equal(found, left @ b)
        return
    exact, size = products(left, b)
    assert np.all(np.abs(found.astype(float) - exact) <= 2 * DTYPES[dtype] * (np.abs(exact) + size))


def test_a_layer_is_one_launch() -> None:
    x, w, v = (ng.placeholder(shape, dtype="float32") for shape in ((6, 5), (5, 7), (7,)))
    arrays = [numbers(t.shape, "float32", i) for i, t in enumerate((x, w, v))]
    total = semi.dot(x, w) + semi.broadcast(v, shape=(6, 7), dims=(1,))
    found, kernels = computed(semi.tanh(total), *zip((x, w, v), arrays, strict=True))
    np.testing.assert_allclose(found, np.tanh(arrays[0] @ arrays[1] + arrays[2]), rtol=1e-5, atol=1e-6)
    assert kernels == ["gemm"]


def test_a_few_rows_that_are_summed_along_memory_are_rows() -> None:
    x, w = ng.placeholder((1, 40), dtype="float32"), ng.placeholder((3, 40), dtype="float32")
    a, b = numbers((1, 40), "float32", 1), numbers((3, 40), "float32", 2)
    found, kernels = computed(semi.dot(x, semi.transpose(w, perm=(1, 0))), (x, a), (w, b))
    np.testing.assert_allclose(found, a @ b.T, rtol=1e-5, atol=1e-5)
    assert kernels == ["rows"]


def test_batches_may_be_shared_by_all() -> None:
    x, w = ng.placeholder((3, 4, 5), dtype="float64"), ng.placeholder((5, 6), dtype="float64")
    a, b = numbers((3, 4, 5), "float64", 1), numbers((5, 6), "float64", 2)
    term = semi.batch_dot(x, semi.broadcast(w, shape=(3, 5, 6), dims=(1, 2)))
    found, _ = computed(term, (x, a), (w, b))
    np.testing.assert_allclose(found, a @ b, rtol=1e-12)


@pytest.mark.parametrize(
    ("sizes", "tile", "parts"),
    [
        ((1, 4096, 4096, 4096), (128, 128), 1),
        ((1, 128, 128, 1 << 20), (128, 128), 128),
        ((1, 8, 4096, 4096), (16, 128), 16),
        ((1, 4096, 1, 4096), (128, 16), 16),
        ((512, 16, 16, 16), (16, 16), 1),
        ((1, 0, 5, 0), (16, 16), 1),
        ((64, 512, 49, 4608), (64, 64), 1),
        ((1, 512, 512, 512), (64, 64), 2),
    ],
)
def test_small_products_have_small_tiles_and_long_sums_are_done_in_parts(
    sizes: tuple[int, int, int, int], tile: tuple[int, int], parts: int
) -> None:
    term = ng.placeholder((1,), dtype="float32")
    load = Load(term, row_major((1,)))
    _, m, n, k = sizes
    found = cut(Product(sizes, Matrix(load, (m * k, k, 1)), Matrix(load, (k * n, n, 1)), "float32"))
    assert (found.tile.rows, found.tile.columns, found.parts) == (*tile, parts)
    assert found.parts * found.stretch >= k and found.stretch % found.tile.deep == 0


# -- a library ---------------------------------------------------------------------------------------------------------


@examples(25)
@given(st.sampled_from([*DTYPES]), st.integers(1, 2), *[st.integers(1, 5)] * 3, st.data())
def test_a_library_has_what_it_is_asked_for_column_by_column(
    dtype: str, count: int, m: int, n: int, k: int, data: st.DataObject
) -> None:
    a, b = numbers((count, m, k), dtype, 1), numbers((count, k, n), dtype, 2)
    orders = st.sampled_from([(0, 1, 2), (0, 2, 1)])
    a_room, a_strides = laid_out(a, data.draw(orders), data.draw(st.integers(0, 2)))
    b_room, b_strides = laid_out(b, data.draw(orders), data.draw(st.integers(0, 2)))
    load = Load(ng.placeholder((1,), dtype="float32"), row_major((1,)))
    given = Product((count, m, n, k), Matrix(load, tuple(a_strides)), Matrix(load, tuple(b_strides)), dtype)
    c = np.zeros((count, m, n), a.dtype)
    places = iter([b_room.ctypes.data, a_room.ctypes.data, c.ctypes.data])
    arguments = [x if isinstance(x, int) else next(places) for x in library_arguments(given)]
    simulated_library.FUNCTIONS[f"gemm_{dtype}"](*arguments)
    exact, size = products(a, b)
    assert np.all(np.abs(c.astype(float) - exact) <= DTYPES[dtype] * (np.abs(exact) + size))


def test_a_library_takes_large_products_that_lie_along_a_line() -> None:
    load = Load(ng.placeholder((1,), dtype="float32"), row_major((1,)))
    large = Product((1, 256, 256, 256), Matrix(load, (0, 256, 1)), Matrix(load, (0, 1, 256)), "float32")
    assert library_call(large).source.library == "gemm_float32"
    assert library_call(large._replace(sizes=(1, 256, 256, 16))) is None
    for strides in ((0, 512, 2), (0, 1, 1), (0, 0, 1)):
        assert library_call(large._replace(a=Matrix(load, strides))) is None


def test_a_library_takes_no_matrices_that_lie_backwards() -> None:
    """It may refuse a distance between matrices that is below 0."""
    load = Load(ng.placeholder((1,), dtype="float32"), row_major((1,)))
    there, back = (Matrix(load, (sign << 16, 256, 1)) for sign in (1, -1))
    many = Product((2, 256, 256, 256), there, there, "float32")
    assert library_call(many).source.library == "gemm_float32"
    for backwards in (many._replace(a=back), many._replace(b=back)):
        assert library_call(backwards) is None
        assert library_call(backwards._replace(sizes=(1, 256, 256, 256))) is not None


def test_a_target_with_a_library_multiplies_by_it() -> None:
    target = find_target("cuda").extended("with_library", add=["cuda.gemm"])
    x, w = ng.placeholder((260, 256), dtype="float32"), ng.placeholder((256, 257), dtype="float32")
    a, b = numbers((260, 256), "float32", 1), numbers((256, 257), "float32", 2)
    with ng.make_transformer(target) as transformer:
        computation = transformer.computation(semi.dot(x, w), x, w)
        for _ in range(2):
            np.testing.assert_allclose(computation(a, b), a @ b, rtol=1e-4, atol=1e-4)
        assert computation.stats()["kernels"] == ["cublas_float32"]
        assert "cuBLAS" in computation.source()
