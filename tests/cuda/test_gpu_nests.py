# SPDX-License-Identifier: Apache-2.0
"""Loop nests on a GPU: maps and reductions of drawn shapes agree with the reference, in every form a row can have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from gpu_examples import examples
from hypothesis import given
from hypothesis import strategies as st

import ngraph_rewrite as ng
from ngraph_rewrite import semi
from ngraph_rewrite.cache import Cache
from ngraph_rewrite.codegen.cuda import resident
from ngraph_rewrite.codegen.cuda.columns import column_threads
from ngraph_rewrite.codegen.cuda.forms import RowForm
from ngraph_rewrite.codegen.cuda.map import places_of, render_map, render_spread
from ngraph_rewrite.codegen.cuda.passes import Passes
from ngraph_rewrite.codegen.cuda.rows import render_rows
from ngraph_rewrite.codegen.nest import MapNest, Operand, RowNest, Step
from ngraph_rewrite.codegen.source import Source
from ngraph_rewrite.frontend import semi_windows
from ngraph_rewrite.plan import interleaving
from ngraph_rewrite.plan.cuda import renderer
from ngraph_rewrite.plan.cuda.grids import row_form, row_parts
from ngraph_rewrite.plan.cuda.maps import map_grid
from ngraph_rewrite.plan.scalar_programs import RowProgram
from ngraph_rewrite.plan.shares import Grid
from ngraph_rewrite.plan.views import Layout
from ngraph_rewrite.runtime.cuda.device import Launched, find_device
from ngraph_rewrite.types.dtypes import as_dtype

pytest.importorskip("numba_cuda", reason="needs numba-cuda, which the extra `test` installs")
pytestmark = pytest.mark.cuda

Array = np.ndarray[Any, Any]
few = examples(15)
SHAPES = st.lists(st.sampled_from([0, 1, 2, 3, 4, 8, 13]), min_size=1, max_size=3).map(tuple)
DTYPES = ("float32", "float64", "float16", "bfloat16", "int32", "uint8")
REDUCTIONS: dict[str, Callable[..., ng.Op]] = {
    "sum": semi.sum, "prod": semi.prod, "max": semi.max, "min": semi.min, "argmax": semi.argmax, "argmin": semi.argmin,
}  # fmt: skip
# For 4 threads and warps of one, as the simulator has them: of these forms some have rows of 64 elements as a whole.
FORMS = (
    RowForm("block", places=2, threads=4), RowForm("block"), RowForm("block", places=4, near=1, threads=4),
    RowForm("block", places=4, threads=4, extent="whole"), RowForm("block", places=4, threads=4, extent="part"),
    RowForm("block", places=8, threads=4, extent="part"), RowForm("warp", places=1, threads=4),
    RowForm("warp", places=16, threads=4, extent="whole"), RowForm("warp", places=16, threads=4, extent="part"),
    RowForm("columns", 4, near=1), RowForm("columns", 4), RowForm("columns", 8, threads=4),
)  # fmt: skip


def values(shape: tuple[int, ...], dtype: str, seed: int) -> Array:
    """Small numbers, some of them equal, and of floats a NaN and an infinity now and then."""
    rng = np.random.default_rng(seed)
    found = rng.integers(0 if dtype[0] == "u" else -4, 5, shape).astype(as_dtype(dtype))
    if "float" in dtype and found.size and seed % 3 == 0:
        found.reshape(-1)[rng.integers(found.size)] = (np.nan, np.inf)[seed % 2]
    return found


def agree(op: ng.Op, inputs: dict[ng.Op, Array], rtol: float = 0.0) -> None:
    """Both targets give the same."""
    found = {}
    for name in ("cuda", "reference"):
        with ng.make_transformer(name) as transformer:
            found[name] = np.asarray(transformer.computation(op, *inputs)(*inputs.values()))
    np.testing.assert_allclose(
        found["cuda"].astype(np.float64), found["reference"].astype(np.float64), rtol=rtol, atol=rtol
    )


@given(SHAPES, st.sampled_from(DTYPES), st.integers(0, 99), st.booleans())
@few
def test_maps_agree(shape: tuple[int, ...], dtype: str, seed: int, turned: bool) -> None:
    x = ng.placeholder(ng.anonymous(shape), dtype=dtype)
    row = ng.placeholder(ng.anonymous(shape[-1:]), dtype=dtype)
    spread = semi.broadcast(row, shape=shape, dims=(len(shape) - 1,))
    op = x * spread + semi.maximum(x, spread)
    if turned:
        op = semi.transpose(op, perm=tuple(reversed(range(len(shape)))))
    agree(op, {x: values(shape, dtype, seed), row: values(shape[-1:], dtype, seed + 1)})


@given(st.integers(2, 7), st.sampled_from(DTYPES), st.integers(1, 40), st.integers(0, 99))
@few
def test_columns_side_by_side_agree(count: int, dtype: str, rows: int, seed: int) -> None:
    columns = {ng.placeholder((rows, 1), dtype): values((rows, 1), dtype, seed + k) for k in range(count)}
    first, *others = columns
    with patch.object(interleaving, "_ENOUGH", 1):
        agree(semi.concat([semi.multiply(first, first), *others], axis=1), columns)


@examples(12)
@given(st.data(), st.sampled_from([1, 2, 4, 64]), st.integers(1, 6), st.tuples(*[st.integers(1, 3)] * 3))
def test_a_grid_of_three_dimensions_has_every_index_once(
    data: st.DataObject, width: int, lanes: int, blocks: tuple[int, int, int]
) -> None:
    """In place, so that an index that two threads had would show; the second operand lies the other way round."""
    shape = tuple(data.draw(st.lists(st.sampled_from([0, 1, 2, 3, 5, 8]), min_size=2, max_size=4)))
    rank = len(shape)
    plain = Operand("float32", (*["s"] * (rank - 1), "1"))
    other = data.draw(st.sampled_from([Operand("float32", ("1", *["s"] * (rank - 1))), plain]))
    nest = MapNest(rank, (plain, other), (Step("add", "float32", (0, 1)),), ((2, plain),), (0, 1, 0))
    x, y = (np.arange(np.prod(shape), dtype=np.float32).reshape(shape) + k for k in (0, 1000))
    lies = np.ascontiguousarray(y if other is plain else np.moveaxis(y, 0, -1))
    strides = [s // 4 for s in x.strides[:-1]]
    others = strides if other is plain else [s // 4 for s in np.moveaxis(lies, -1, 0).strides[1:]]
    wanted = x + y
    launch(render_spread(nest, width), [*shape, x, *strides, lies, *others, x, *strides], blocks, lanes)
    np.testing.assert_array_equal(x, wanted)


@pytest.mark.parametrize(
    ("shape", "perm", "spread", "grid"),
    [
        ((8, 4, 256), (0, 1, 2), 1, Grid(1, 256, beside=(1, 8))),  # four neighbours a thread: 64 beside 4
        ((64, 45), (1, 0), 1, Grid(2, 256, beside=(6, 1))),  # read across: 8 rows of 32, which share what is fetched
        ((100, 5), (0, 1), 1, Grid(2, 256)),  # too short: all indices in a row
    ],
)
def test_a_grid_has_the_loops_that_are_left(
    shape: tuple[int, ...], perm: tuple[int, ...], spread: int, grid: Grid
) -> None:
    """Where few of its threads would be idle."""
    x = ng.placeholder(shape)
    y = semi.transpose(x, perm=perm)
    row = ng.placeholder(y.shape[spread : spread + 1])
    op = y + semi.broadcast(row, shape=y.shape, dims=(spread,))
    with patch.object(renderer, "map_grid", side_effect=renderer.map_grid) as asked:
        agree(op, {x: values(shape, "float32", 1), row: values(row.shape, "float32", 2)})
    assert [map_grid(*call.args) for call in asked.call_args_list] == [grid]


@given(st.sampled_from([0, 1, 4, 7, 16, 28, 32, 36, 64, 100]), st.integers(1, 3), st.sampled_from(DTYPES))
@few
def test_few_threads_have_several_places_of_a_map_at_once(n: int, blocks: int, dtype: str) -> None:
    """In place, so that an index that two threads had would show."""
    vector = Operand(dtype, ("1",))
    nest = MapNest(1, (vector, vector), (Step("add", dtype, (0, 1)),), ((2, vector),), (0, 1, 0))
    assert places_of(nest) > 1
    x, y = (values((n,), dtype, seed) for seed in (1, 2))
    wanted = x + y
    launch(render_map(nest), [n, x, y, x], blocks, 4)
    np.testing.assert_array_equal(x, wanted)


def test_a_large_map_has_half_as_many_threads_as_it_has_pieces() -> None:
    vector = Operand("float32", ("1",))
    nest = MapNest(1, (vector,), (Step("negative", "float32", (0,)),), ((1, vector),), (0, 1))
    assert map_grid(nest, (1 << 20,)) == Grid(1024, 256)
    assert map_grid(nest, (1 << 24,)) == Grid(8192, 256)


@pytest.mark.parametrize(
    ("shape", "form"),
    [
        ((65536, 1024), RowForm("block", places=4, threads=64, extent="whole")),
        ((8192, 8192), RowForm("block", places=8, threads=256, extent="whole")),
        ((8192, 16384), RowForm("block", places=8, threads=512, extent="whole")),
        ((4096, 40000), RowForm("block", places=8, threads=1024, extent="long")),
        ((65536, 512), RowForm("warp", places=4, threads=128, extent="whole")),
    ],
)
def test_the_longer_a_row_is_the_more_threads_have_it(shape: tuple[int, int], form: RowForm) -> None:
    """Of very long ones each has more, as threads of a block wait for each other: measured on an H200."""
    assert row_form(normalised(1), shape) == form


@pytest.mark.parametrize(("rank", "places", "blocks"), [(2, 8, 2), (2, 16, 1), (3, 4, 2), (3, 8, 1)])
def test_a_thread_has_registers_for_what_it_keeps_of_a_row(rank: int, places: int, blocks: int) -> None:
    """And for where that is, if rows go along several axes: a multiprocessor has fewer blocks then."""
    several = Operand("float32", ("s",) * (rank - 1) + ("1",))
    reduced = (True,) * (rank - 2) + (False, True)
    nest = RowNest(rank, (several,), normalised(1).steps, ((5, several),), (0, 1), reduced=reduced)
    text = render_rows(nest, RowForm("block", places=places, threads=512, extent="part")).text
    assert f"launch_bounds(512, {blocks})" in text


def test_a_function_of_float64_has_registers_of_its_own() -> None:
    """With half of them a softmax of float64 moved 256 bytes of each thread to memory and back."""
    texts = [
        render_rows(normalised(1, dtype), RowForm("block", places=4, near=near, threads=512, extent="part")).text
        for dtype, near in (("float32", 4), ("float64", 2))
    ]
    assert "launch_bounds(512, 2)" in texts[0] and "launch_bounds(512, 1)" in texts[1]


@given(SHAPES, st.sampled_from(DTYPES), st.sampled_from(sorted(REDUCTIONS)), st.integers(0, 99), st.data())
@few
def test_reductions_agree(shape: tuple[int, ...], dtype: str, kind: str, seed: int, data: st.DataObject) -> None:
    subsets = [axes for n in range(1, len(shape) + 1) for axes in combinations(range(len(shape)), n)]
    axes = data.draw(st.sampled_from(subsets))
    if kind not in ("sum", "prod") and any(shape[k] == 0 for k in axes):
        return  # an extremum of nothing is refused
    x = ng.placeholder(ng.anonymous(shape), dtype=dtype)
    agree(REDUCTIONS[kind](x, axes=axes), {x: values(shape, dtype, seed)}, 1e-6 if "float" in dtype else 0.0)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("kind", ["sum", "argmax", "copy"])
def test_windows_that_overlap_are_not_read_four_at_a_time(kind: str, axis: int) -> None:
    """Neighbours of each window lie side by side, but only each fourth window begins where an access may."""
    x = ng.placeholder((40,))
    seen = semi_windows.windows(x, [0], 16)
    op = semi.exp(seen) if kind == "copy" else REDUCTIONS[kind](seen, axes=(axis,))
    agree(op, {x: values((40,), "float32", 1)}, 1e-6)


def test_a_convolution_of_16_bits_copies_windows_that_overlap() -> None:
    x = ng.placeholder(ng.anonymous((2, 2, 8, 8)), dtype="float16")
    w = ng.placeholder(ng.anonymous((3, 2, 5, 5)), dtype="float16")
    given_ = {x: values((2, 2, 8, 8), "float16", 1), w: values((3, 2, 5, 5), "float16", 2)}
    agree(semi_windows.convolution(x, w, before=2, after=2), given_, 1e-3)


@given(SHAPES, st.integers(0, 99), st.data())
@few
def test_groups_over_rows_agree(shape: tuple[int, ...], seed: int, data: st.DataObject) -> None:
    if 0 in shape:
        return
    axis = data.draw(st.integers(0, len(shape) - 1))
    x = ng.placeholder(ng.anonymous(shape))
    kept = tuple(k for k in range(len(shape)) if k != axis)

    def spread(op: ng.Op) -> ng.Op:
        return semi.broadcast(op, shape=shape, dims=kept)

    e = semi.exp(x - spread(semi.max(x, axes=(axis,))))
    agree(e / spread(semi.sum(e, axes=(axis,))), {x: values(shape, "float32", 3 * seed + 1)}, 1e-6)


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("shape", [(2, 5), (1, 37), (4, 1), (2, 64), (9, 8), (0, 4)], ids=str)
def test_every_form_of_a_kernel_normalises_rows(form: RowForm, shape: tuple[int, int]) -> None:
    """Whatever has a row, and whether something of it is kept: the text differs, the answer does not."""
    axis, more = 0 if form.kind == "columns" else 1, find_device().warp
    rows, columns = shape
    x = np.random.default_rng(0).standard_normal((rows, columns * (more if axis else 1))).astype(np.float32)
    form = form._replace(threads=form.threads * more)
    found = launched(render_rows(normalised(axis), form), x, form.threads or 4 * more)
    e = np.exp(x.astype(np.float64) - x.max(axis, keepdims=True)) if x.size else x
    np.testing.assert_allclose(found, e / e.sum(axis, keepdims=True), rtol=1e-6)


@pytest.mark.parametrize(
    ("dtype", "extent"),
    [("bfloat16", "whole"), ("bfloat16", "part"), ("bfloat16", "long"), ("float32", "whole"), ("uint8", "part")],
)
def test_rows_that_are_asked_for_are_there(monkeypatch: pytest.MonkeyPatch, dtype: str, extent: str) -> None:
    """As many rows later as half of a device has at once: here it has two. No line is beyond the last row."""
    more = find_device().warp
    monkeypatch.setattr(resident, "MULTIPROCESSORS", 1)
    monkeypatch.setattr(resident, "FITTING", 2 * 4 * more)
    matrix = Operand(dtype, ("s", "1"))
    steps = (Step("max", dtype, (0,)), Step("subtract", dtype, (1, 0)))
    nest = RowNest(2, (matrix,), steps, ((2, matrix),), (0, 1), reduced=(False, True))
    lengths = {"whole": 32 * more, "part": 28 * more, "long": 56 * more}
    x = np.random.default_rng(0).integers(0, 9, (5, lengths[extent])).astype(as_dtype(dtype))
    source = render_rows(nest, RowForm("block", places=2, threads=4 * more, extent=extent))
    assert "later = row + 1\n" in source.text
    np.testing.assert_array_equal(launched(source, x, 4 * more), x.max(1, keepdims=True) - x)


@pytest.mark.parametrize("dtype", ["int8", "bfloat16", "float32", "float64"])
def test_rows_that_share_weights_leave_the_first_cache_to_them(dtype: str) -> None:
    more = find_device().warp
    matrix, weights = Operand(dtype, ("s", "1")), Operand(dtype, ("0", "1"))
    steps = (Step("max", dtype, (0,)), Step("subtract", dtype, (2, 0)), Step("multiply", dtype, (3, 1)))
    nest = RowNest(2, (matrix, weights), steps, ((4, matrix),), (0, 1, 2), reduced=(False, True))
    source = render_rows(nest, RowForm("block", places=2, threads=4 * more, extent="whole"))
    rng = np.random.default_rng(0)
    x, w = (rng.integers(0, 9, shape).astype(as_dtype(dtype)) for shape in ((5, 32 * more), (32 * more,)))
    found = np.empty_like(x)
    launch(source, [*x.shape, x, x.shape[1], w, found, x.shape[1]], 2, 4 * more)
    np.testing.assert_array_equal(found, (x.max(1, keepdims=True) - x) * w)
    assert f"load4_once_{dtype}(x0," in source.text and f"load4_{dtype}(x1," in source.text
    assert "load4_once" not in render_rows(normalised(1), RowForm("block", places=2, threads=128, extent="whole")).text


def normalised(axis: int, dtype: str = "float32") -> RowNest:
    """A softmax over an axis of a matrix."""
    matrix = Operand(dtype, ("s", "1"))
    steps = (
        Step("max", dtype, (0,)),
        Step("subtract", dtype, (0, 1)),
        Step("exp", dtype, (2,)),
        Step("sum", dtype, (3,)),
        Step("divide", dtype, (3, 4)),
    )
    return RowNest(2, (matrix,), steps, ((5, matrix),), (0, 1), reduced=(axis == 0, axis == 1))


def launched(source: Source, x: Array, threads: int) -> Array:
    """What two blocks of a kernel make of a matrix."""
    found = np.empty_like(x)
    launch(source, [*x.shape, x, x.shape[1], found, x.shape[1]], 2, threads)
    return found


def launch(source: Source, arguments: list[Any], blocks: int | tuple[int, int, int], lanes: int) -> None:
    """Run a kernel; it is given the addresses of arrays, which have what it stored afterwards."""
    device = find_device()
    arrays = {id(x): x for x in arguments if isinstance(x, np.ndarray)}
    places = {key: (x, device.allocate(x.nbytes, "a test")) for key, x in arrays.items()}
    for array, place in places.values():
        device.upload(place, array)
    numbers = [places[id(x)][1] if id(x) in places else int(x) for x in arguments]
    function = device.load({source.name: source.text}, Cache(), 1)[source.name]
    device.record([Launched(function, blocks, lanes, False, numbers)]).run()
    for array, place in places.values():
        device.download(array, place)
        device.free(place)


def test_what_passes_need_again_takes_turns_in_registers() -> None:
    """The row makes way for its exponentials: the second pass reads it for the last time."""
    assert Passes(normalised(1)).registers == 1
    assert [*Passes(normalised(1), keeps=True).kept] == [0, 3]
    assert not Passes(normalised(1)).kept


def test_a_layer_norm_of_halves_is_one_launch() -> None:
    """Weights become float32 where they are read: for as many rows as this it was decided otherwise on a processor."""
    n, c = ng.Axis("N", 300), ng.Axis("C", 64)
    terms = [ng.placeholder(axes, dtype="bfloat16") for axes in ([n, c], [c], [c])]
    arrays = [
        np.random.default_rng(i).normal(size=[axis.length for axis in t.axes]).astype(t.dtype)
        for i, t in enumerate(terms)
    ]
    x, g, b = (array.astype(np.float64) for array in arrays)
    with ng.make_transformer("cuda") as transformer:
        computation = transformer.computation(ng.layer_norm(*terms, ["C"], 1e-5), *terms)
        found = computation(*arrays)
        assert len(computation.stats()["kernels"]) == 1
    centred = x - x.mean(1, keepdims=True)
    wanted = centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5) * g + b
    np.testing.assert_allclose(found.astype(np.float64), wanted, rtol=2e-2, atol=2e-2)


@given(
    st.sampled_from([(3, 70), (2, 2, 36), (2, 3, 5, 8), (40, 2)]),
    st.sampled_from(["float32", "float64", "bfloat16"]),
    st.integers(0, 9),
)
@few
def test_several_arrays_of_a_row_are_kept(shape: tuple[int, ...], dtype: str, seed: int) -> None:
    """Norms over all axes but the first, with a weight: some places of a row are kept, and some are not."""
    rng = np.random.default_rng(seed)
    axes = tuple(range(1, len(shape)))
    x, d = (ng.placeholder(ng.anonymous(shape), dtype=dtype) for _ in range(2))
    w = ng.placeholder(ng.anonymous(shape[1:]), dtype=dtype)

    def spread(op: ng.Op) -> ng.Op:
        return semi.broadcast(op, shape=shape, dims=(0,))

    count = float(np.prod(shape[1:]))
    centred = x - spread(semi.sum(x, axes=axes) / count)
    scaled = centred / spread(semi.sqrt(semi.sum(centred * centred, axes=axes) / count + 1.0))
    given_, weight = d * scaled, semi.broadcast(w, shape=shape, dims=axes)
    op = weight * d - scaled * spread(semi.sum(given_, axes=axes)) - spread(semi.max(weight * d, axes=axes))
    agree(op, {x: rng.integers(-3, 4, shape).astype(as_dtype(dtype)), d: values(shape, dtype, 3 * seed + 1),
               w: values(shape[1:], dtype, 3 * seed + 2)}, 5e-2 if dtype == "bfloat16" else 1e-5)  # fmt: skip


def test_many_reductions_of_columns_have_few_threads() -> None:
    """What each thread of a block finds has to fit into shared memory: here 64 bytes."""
    kinds = ("sum", "max", "argmax", "min", "argmin", "prod")
    matrix, row = Operand("float64", ("s", "1")), Operand("float64", ("0", "1"))
    steps = tuple(Step(kind, "int64" if "arg" in kind else "float64", (0,)) for kind in kinds)
    stores = tuple((k + 1, replace(row, dtype=step.dtype)) for k, step in enumerate(steps))
    nest = RowNest(2, (matrix,), steps, stores, tuple(range(7)), reduced=(True, False))
    assert column_threads(nest) == 512
    assert column_threads(normalised(0)) == 1024
    assert column_threads(nest, near=4) == 128
    assert "shared_float64(128)" in render_rows(nest, RowForm("columns", 4)).text


@pytest.mark.parametrize("text", ["load4_float32", "store4_float32"])
def test_neighbours_are_read_and_written_by_one_access(text: str) -> None:
    assert text in render_rows(normalised(1), RowForm("block", places=2, threads=128)).text
    assert text in render_rows(normalised(0), RowForm("columns", 4)).text
    assert text not in render_rows(normalised(0), RowForm("columns", 4, near=1)).text


@pytest.mark.parametrize("length", [1 << 15, 33_000, 33_002, 33_003])
def test_a_sum_in_parts_has_each_element_once(length: int) -> None:
    x = ng.placeholder((length,), "float64")
    agree(semi.sum(x, axes=(0,)), {x: np.arange(length, dtype=np.float64)})


@pytest.mark.parametrize(
    ("length", "parts"), [(250_000_000, (500, 1, 8)), (1 << 28, (512, 1, 8)), (1_000_003, (244, 1, 8))]
)
def test_parts_of_a_row_are_as_aligned_as_it_is(length: int, parts: tuple[int, int, int]) -> None:
    """They begin at multiples of eight elements, and nothing is left over if another number of them sees to that."""
    layout = Layout(0, (length,), (1,))
    program = RowProgram((length,), (("float32", layout),), (("sum", "float32", (-1,), None),), (), (0,))
    assert row_parts(program, 0) == parts
