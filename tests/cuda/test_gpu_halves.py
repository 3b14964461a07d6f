# SPDX-License-Identifier: Apache-2.0
"""Products of matrices of 16-bit floats by tensor cores: any tile multiplies any shape, however operands lie."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gpu_examples import examples
from hypothesis import given
from hypothesis import strategies as st
from test_gpu_products import Memory, laid_out, multiplies, numbers, products

import ngraph_rewrite as ng
from ngraph_rewrite import semi
from ngraph_rewrite.codegen.cuda.halves import WarpTile, render_halves
from ngraph_rewrite.codegen.cuda.products import stored
from ngraph_rewrite.codegen.nest import MapNest, Operand, Step
from ngraph_rewrite.plan.cuda.cuts import cut_for
from ngraph_rewrite.runtime.cuda import fragments

pytest.importorskip("numba_cuda", reason="needs numba-cuda, which the extra `test` installs")
pytestmark = pytest.mark.cuda

Array = np.ndarray[Any, Any]
SMALL = [WarpTile(16, 16, 16, 1, 1), WarpTile(16, 32, 16, 1, 1), WarpTile(32, 16, 32, 2, 1), WarpTile(32, 16, 16, 1, 1)]
HALVES = ["float16", "bfloat16"]
LENGTHS = st.sampled_from([0, 1, 5, 8, 16, 17, 24, 33])
few = examples(16)


@few
@given(st.sampled_from(SMALL), st.sampled_from(HALVES), st.integers(1, 2), LENGTHS, LENGTHS, LENGTHS, st.data())
def test_any_tile_multiplies_any_shape_and_strides(
    tile: WarpTile, dtype: str, count: int, m: int, n: int, k: int, data: st.DataObject
) -> None:
    source = render_halves(dtype, tile, data.draw(st.tuples(st.booleans(), st.booleans())), stored(dtype))
    multiplies(source, tile.threads, dtype, (count, m, n, k), [0, 1, 8], data)


@few
@given(st.sampled_from(SMALL), st.integers(1, 2), LENGTHS, LENGTHS, st.integers(0, 40), st.booleans())
def test_a_map_over_a_product_reads_and_stores_by_its_own_strides(
    tile: WarpTile, count: int, m: int, n: int, k: int, padded: bool
) -> None:
    """In the dtype of the product, and of what it is added to."""
    a, b = (numbers(shape, "float16", i) for i, shape in enumerate([(count, m, k), (count, k, n)]))
    column, other = numbers((m,), "float16", 3), numbers((count, m, n), "float32", 4)
    room, (batch, down, _) = laid_out(other, (0, 1, 2), 3 if padded else 0)
    rows, wide = Operand("float16", ("s", "1")), Operand("float32", ("s", "1"))
    steps = (
        Step("multiply", "float16", (0, 1)),
        Step("cast", "float32", (3,)),
        Step("add", "float32", (4, 2)),
    )
    loads = (rows, Operand("float16", ("1", "0")), wide)
    nest = MapNest(2, loads, steps, ((5, wide), (0, rows)), (0, 1, 2, 3, 4))
    memory, c, plain = Memory(), np.zeros((count, m, n), np.float32), np.zeros((count, m, n), np.float16)
    arguments = [count, m, n, k, memory.address(a), m * k, k, 1, memory.address(b), k * n, n, 1, 1, k]
    arguments += [memory.address(column), 0, memory.address(room), batch, down]
    arguments += [memory.address(c), m * n, n, memory.address(plain), m * n, n]
    memory.launch(render_halves("float16", tile, (True, False), nest), arguments, 2, tile.threads, fixed=True)
    memory.close()
    exact, size = products(a, b)
    assert np.all(np.abs(plain - exact) <= 1e-3 * (np.abs(exact) + size))
    scaled = (plain * column[:, None]).astype(np.float32)
    np.testing.assert_array_equal(c, scaled + other)


def test_long_sums_are_done_in_parts() -> None:
    """Of float32; what they give is added up, and rounded once."""
    x, y = (ng.placeholder(shape, dtype="bfloat16") for shape in ((5, 1200), (1200, 6)))
    a, b = numbers((5, 1200), "bfloat16", 1), numbers((1200, 6), "bfloat16", 2)
    assert cut_for((1, 5, 6, 1200), "bfloat16", (True, False)).parts == 4
    with ng.make_transformer("cuda", disabled=["cuda.gemm"]) as transformer:
        computation = transformer.computation(semi.dot(x, y), x, y)
        found = computation(a, b)
        assert [name.rpartition("_")[0] for name in computation.stats()["kernels"]] == ["gemm_of_halves", "epilogue"]
    exact, size = products(a, b)
    assert np.all(np.abs(found.astype(float) - exact) <= 8e-3 * np.abs(exact) + 1e-6 * size)


@pytest.mark.parametrize(
    ("sizes", "tile", "parts"),
    [
        ((1, 4096, 4096, 4096), (128, 128), 1),
        ((1, 8192, 512, 784), (128, 128), 1),
        ((1, 8, 4096, 4096), (16, 64), 16),
        ((1, 4096, 1, 4096), (64, 16), 16),
        ((512, 16, 16, 16), (16, 16), 1),
        ((1, 0, 5, 0), (16, 16), 1),
    ],
)
def test_small_products_have_small_tiles(sizes: tuple[int, int, int, int], tile: tuple[int, int], parts: int) -> None:
    found = cut_for(sizes, "bfloat16", (True, True))
    assert (found.tile.rows, found.tile.columns, found.parts) == (*tile, parts)
    assert found.parts * found.stretch >= sizes[-1] and found.stretch % found.tile.deep == 0


# -- what threads have of a matrix -------------------------------------------------------------------------------------


def loaded(tile: Array, places: list[int], turned: bool) -> Array:
    """What ``ldmatrix.x4`` gives each thread, by the PTX ISA: of four matrices two numbers each."""
    found = np.empty((32, 4, 2))
    for number in range(4):
        matrix = np.array([tile[at : at + 8] for at in places[8 * number : 8 * number + 8]])
        matrix = matrix.T if turned else matrix
        for own in range(32):
            found[own, number] = matrix[own // 4, 2 * (own % 4) : 2 * (own % 4) + 2]
    return found


def multiplied(left: Array, right: Array) -> Array:
    """What ``mma.m16n8k16`` makes of these, by the PTX ISA: of the left one 16 rows, of the right one 8 columns."""
    rows, columns = np.zeros((16, 16)), np.zeros((16, 8))
    for own in range(32):
        group, k = own // 4, 2 * (own % 4)
        for number in range(4):
            line, deep = group + 8 * (number % 2), k + 8 * (number // 2)
            rows[line, deep : deep + 2] = left[own, number]
        for number in range(2):
            columns[k + 8 * number : k + 8 * number + 2, group] = right[own, number]
    return rows @ columns


@pytest.mark.parametrize("left_turned", [False, True])
@pytest.mark.parametrize("right_turned", [False, True])
def test_threads_have_what_tensor_cores_multiply(left_turned: bool, right_turned: bool) -> None:
    """Matrices in tiles either way; where lines of them are decides which numbers a thread gets."""
    rng, pitch, at = np.random.default_rng(0), 24, 48
    a, b = rng.integers(-4, 5, (16, 16)), rng.integers(-4, 5, (16, 16))  # rows, and columns, by k
    tiles = []
    for matrix, turned in ((a, left_turned), (b, right_turned)):
        tile = np.full(at + 16 * pitch, 1000)
        tile[at:].reshape(16, pitch)[:, :16] = matrix.T if turned else matrix
        tiles.append(tile)
    left_places = fragments.beside_first if left_turned else fragments.below_first
    right_places = fragments.below_first if right_turned else fragments.beside_first
    left = loaded(tiles[0], [left_places(own, at, pitch) for own in range(32)], left_turned)
    right = loaded(tiles[1], [right_places(own, at, pitch) for own in range(32)], right_turned)
    for which in range(2):
        found = multiplied(left, right[:, 2 * which : 2 * which + 2])
        np.testing.assert_array_equal(found, a @ b[8 * which : 8 * which + 8].T)
