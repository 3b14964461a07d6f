# SPDX-License-Identifier: Apache-2.0
"""A rendered nest computes what NumPy computes, whatever its layout, and every element exactly once."""

import re

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from nests import Case, map_cases, reduce_cases, reduced_value, reducing, row_values, values_of
from running import FLOATS, INTEGERS, Runner, contiguous, nest_arguments, same_bits

from ngraph_rewrite.codegen.loops import MapNest, Operand, RowNest, Step, Tiles, render_map, render_rows, tiles
from ngraph_rewrite.errors import KernelError
from ngraph_rewrite.runtime.compiler import assembly

drawn = settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@drawn
@given(map_cases())
def test_a_map_is_its_expression_at_every_index(run: Runner, case: Case) -> None:
    values = values_of(case)
    run(render_map(case.nest), nest_arguments(case.lengths, case.loads, case.stores), case.chunks)
    for (value, _), found in zip(case.nest.stores, case.stores, strict=True):
        assert same_bits(found, values[value])


@drawn
@given(case=map_cases(), data=st.data())
def test_so_it_is_in_tiles_of_any_two_loops(run: Runner, case: Case, data: st.DataObject) -> None:
    assume(case.nest.rank >= 2)
    values, dim = values_of(case), data.draw(st.integers(0, case.nest.rank - 2))
    tiled = Tiles(dim, data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4)))
    run(render_map(case.nest, tiled), nest_arguments(case.lengths, case.loads, case.stores), case.chunks)
    for (value, _), found in zip(case.nest.stores, case.stores, strict=True):
        assert same_bits(found, values[value])


@pytest.mark.parametrize("chunks", [1, 3])
@pytest.mark.parametrize(("dtype", "height"), [("float32", 64), ("float64", 32)])
@pytest.mark.parametrize("shape", [(0, 3, 64), (1, 2, 100), (-63, 1, 1), (6, 0, 40), (-16, 2, 129)], ids=str)
def test_tiles_end_where_loops_do(run: Runner, shape: tuple[int, ...], dtype: str, height: int, chunks: int) -> None:
    """Beside an operand that lies along the first loop, one that only the loop between moves.

    The first loop of each shape is longer than a tile by so much.
    """
    shape = (max(height + shape[0], 1), *shape[1:])
    across = np.random.default_rng(0).normal(size=shape[::-1]).astype(dtype).T
    middle = np.arange(shape[1], dtype=dtype)
    loads = (Operand(dtype, ("1", "s", "s")), Operand(dtype, ("0", "1", "0")))
    nest = MapNest(3, loads, (Step("add", dtype, (0, 1)),), ((2, contiguous(dtype, 3)),), (0, 1, 2))
    tiled = tiles(nest, (70, 9, 64))
    assert tiled == Tiles(0, height, 64)
    found = np.full((shape[0] + 1, *shape[1:]), 7, dtype)
    arguments = nest_arguments(shape, [across, middle], [found[: shape[0]]])
    run(render_map(nest, tiled), arguments, chunks)
    np.testing.assert_array_equal(found[: shape[0]], across + middle[:, None])
    assert (found[shape[0]] == 7).all()


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "float16", "bool"])
def test_what_may_stay_in_its_place_is_stored_as_anything_else(run: Runner, dtype: str) -> None:
    """LLVM made a masked store of it, which took three times as long on processors without AVX-512."""
    x = contiguous(dtype)
    steps = (Step("less", "bool", (0, 1)), Step("select", dtype, (2, 0, 1)))
    value, other = np.random.default_rng(1).integers(0, 9, size=(2, 70)).astype(dtype)
    wanted, source = np.minimum(value, other), render_map(MapNest(1, (x, x), steps, ((3, x),), (0, 1, 0)))
    assert f"v0 = overwritten(load_{dtype}(x0, i0, 0))" in source.text
    run(source, nest_arguments(value.shape, [value, other], [value]))
    np.testing.assert_array_equal(value, wanted)
    if dtype == "float32":
        assert "maskmov" not in assembly(source.text, source.name, run.cache)


@pytest.mark.parametrize(("shape", "few"), [((9, 3), 3), ((2, 17, 2), 2), ((3, 1, 7), 7)], ids=str)
@pytest.mark.parametrize("chunks", [1, 2])
def test_a_short_last_loop_is_written_out(run: Runner, shape: tuple[int, ...], few: int, chunks: int) -> None:
    """It has the distance of neighbours along the loop before in its text, whatever it is told."""
    whole = np.random.default_rng(2).normal(size=shape).astype(np.float32)
    each = np.ascontiguousarray(whole[..., 0])
    once = Operand("float32", (*contiguous("float32", len(shape) - 1).strides, "0"))
    steps, full = (Step("multiply", "float32", (0, 1)),), contiguous("float32", len(shape))
    nest = MapNest(len(shape), (full, once), steps, ((2, full),), (0, 1, 2), few=few)
    result = np.zeros_like(whole)
    source = render_map(nest)
    assert f"range({few})" in source.text
    run(source, nest_arguments(shape, [whole, each], [result]), chunks)
    np.testing.assert_array_equal(result, whole * each[..., None])


def test_several_operands_that_lie_across_have_lower_tiles() -> None:
    """Their blocks share the first cache."""
    across = Operand("float32", ("1", "s"))
    nest = MapNest(2, (across, across), (Step("add", "float32", (0, 1)),), ((2, contiguous("float32", 2)),), (0, 1, 2))
    assert tiles(nest, (200, 200)) == Tiles(0, 32, 64)


@drawn
@given(reduce_cases(), st.sampled_from([0, 1, 4]))
def test_a_reduction_combines_its_expression(run: Runner, case: Case, ahead: int) -> None:
    nest, values = case.nest, row_values(case)
    run(render_rows(nest, ahead), nest_arguments(case.lengths, case.loads, case.stores), case.chunks)
    kept = tuple(slice(None, 1) if flag else slice(None) for flag in nest.reduced)
    for (value, _), found in zip(nest.stores, case.stores, strict=True):
        if found.size:  # a reduced length of 0 leaves no element of the view to look at; see the empty reductions below
            assert same_bits(found[kept], np.ascontiguousarray(values[value])[kept])


@settings(drawn, max_examples=30)
@given(
    dtype=st.sampled_from(["int8", "float32", "float64"]),
    length=st.integers(0, 200),
    before=st.integers(0, 70),
    chunks=st.integers(1, 6),
)
def test_chunks_that_begin_with_lines_do_each_element_once(
    run: Runner, dtype: str, length: int, before: int, chunks: int
) -> None:
    """In place, from anywhere in a line: what is next to the array stays as it is."""
    memory = (np.arange(before + length + 70) % 60 + 1).astype(dtype)
    x, expected = memory[before : before + length], memory.copy()
    expected[before : before + length] += x
    vector = Operand(dtype, ("1",))
    double = MapNest(1, (vector,), (Step("add", dtype, (0, 0)),), ((1, vector),), (0, 0))
    run(render_map(double), nest_arguments((length,), [x], [x]), chunks)
    assert same_bits(memory, expected)


# -- reductions of one array -------------------------------------------------------------------------------------------


def reduce_array(
    run: Runner, x: np.ndarray, reduced: tuple[bool, ...], kinds: list[str], chunks: int = 1, ahead: int = 0
) -> list[np.ndarray]:
    """Reduce a contiguous array; results keep the kept dimensions."""
    shape = [n for n, flag in zip(x.shape, reduced, strict=True) if not flag]
    load = contiguous(x.dtype.name, x.ndim)
    steps = reducing([(kind, 0) for kind in kinds], x.dtype.name)
    classes = tuple("0" if flag else "s" for flag in reduced)
    stores = tuple((1 + i, Operand(step.dtype, classes)) for i, step in enumerate(steps))
    nest = RowNest(x.ndim, (load,), steps, stores, tuple(range(len(stores) + 1)), reduced)
    found = [np.full(shape, 7, operand.dtype) for _, operand in stores]
    arguments = nest_arguments(x.shape, [x], [])
    for i, y in enumerate(found):
        steps = iter(y.strides)
        arguments |= {f"y{i}": y.ctypes.data}
        arguments |= {f"y{i}_s{d}": next(steps) // y.itemsize for d, flag in enumerate(reduced) if not flag}
    run(render_rows(nest, ahead), arguments, chunks)
    return found


@pytest.mark.sampled
@pytest.mark.parametrize("shape", [(1, 1), (3, 64), (9, 65), (7, 1024), (6, 2048), (5, 2049), (4, 5000), (2, 3, 70)])
@pytest.mark.parametrize("ahead", [1, 4])
def test_memory_that_is_asked_for_ahead_changes_no_bit(run: Runner, shape: tuple[int, ...], ahead: int) -> None:
    x = np.random.default_rng(0).normal(size=shape).astype("float32")
    x[..., ::3] = np.nan
    reduced = tuple([i == len(shape) - 2 for i in range(len(shape))])
    for kinds in (["sum"], ["max", "prod"], ["argmin"]) if len(shape) == 2 else (["max", "sum"],):
        found = reduce_array(run, x, reduced, kinds, chunks=3, ahead=ahead)
        for a, b in zip(found, reduce_array(run, x, reduced, kinds), strict=True):
            assert same_bits(a, b)


@pytest.mark.parametrize("dtype", ["float64", "float16", "int64"])
def test_rows_that_are_asked_for_ahead_are_reduced_to_the_same(run: Runner, dtype: str) -> None:
    """Of rows of whole blocks and of parts of one; small numbers, whose sums do not depend on the order."""
    x = np.random.default_rng(1).integers(-9, 10, (7, 1300)).astype(dtype)
    for kinds in (["sum"], ["max", "sum"], ["argmin"], ["any", "all"]):
        found = reduce_array(run, x, (False, True), kinds, chunks=3, ahead=1)
        for a, kind in zip(found, kinds, strict=True):
            np.testing.assert_array_equal(a, getattr(np, kind)(x, axis=1))


def kept_only(value: np.ndarray, reduced: tuple[bool, ...]) -> np.ndarray:
    return value.reshape([n for n, flag in zip(value.shape, reduced, strict=True) if not flag])


ROWS, COLUMNS, ALL = (False, True), (True, False), (True, True)


@pytest.mark.sampled
@pytest.mark.parametrize("reduced", [ROWS, COLUMNS, ALL], ids=["rows", "columns", "all"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_a_nan_wins_and_its_first_place_is_found(run: Runner, dtype: str, reduced: tuple[bool, ...]) -> None:
    x = np.random.default_rng(0).integers(-3, 4, (40, 700)).astype(dtype)
    x[3, 650], x[3, 20], x[7, 0], x[7, 699] = np.nan, np.nan, np.inf, -np.inf
    x[9, :] = -np.inf
    x[:, 5] = np.inf
    x[11, :] = np.nan
    axes = tuple(dim for dim, flag in enumerate(reduced) if flag)
    kinds = ["max", "min", "argmax", "argmin"]
    for kind, found in zip(kinds, reduce_array(run, x, reduced, kinds, 3), strict=True):
        assert same_bits(found + 0, kept_only(reduced_value(kind, x, axes), reduced) + 0), kind


# Of every dtype rows; of one of each size and kind what lies across, which is reduced by the same lines.
OF_INTEGERS = [(dtype, ROWS) for dtype in (*INTEGERS, "bool")]
OF_INTEGERS += [
    (dtype, reduced) for dtype in ("int8", "uint16", "uint32", "int64", "bool") for reduced in (COLUMNS, ALL)
]


@pytest.mark.sampled
@pytest.mark.parametrize(("dtype", "reduced"), OF_INTEGERS)
def test_integers_wrap_and_find_their_limits(run: Runner, dtype: str, reduced: tuple[bool, ...]) -> None:
    limits = np.iinfo(dtype) if dtype != "bool" else np.iinfo("uint8")
    x = np.random.default_rng(1).integers(limits.min, limits.max, (5, 600), dtype=limits.dtype, endpoint=True)
    x = (x % 3 > 0) if dtype == "bool" else x
    axes = tuple(dim for dim, flag in enumerate(reduced) if flag)
    kinds = ["sum", "prod", "max", "min", "argmax", "argmin"]
    for kind, found in zip(kinds, reduce_array(run, x, reduced, kinds, 2), strict=True):
        assert same_bits(found, kept_only(reduced_value(kind, x, axes), reduced)), kind


@pytest.mark.parametrize("reduced", [ROWS, COLUMNS, ALL], ids=["rows", "columns", "all"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_a_sum_is_at_least_as_accurate_as_numpys(run: Runner, dtype: str, reduced: tuple[bool, ...]) -> None:
    x = (0.01 * np.random.default_rng(2).lognormal(size=(30, 5000))).astype(dtype)
    axes = tuple(dim for dim, flag in enumerate(reduced) if flag)
    (found,) = reduce_array(run, x, reduced, ["sum"])
    exact = np.sum(x, axis=axes, dtype=np.longdouble)
    ours, theirs = np.abs(found - exact).max(), np.abs(np.sum(x, axis=axes) - exact).max()
    assert ours <= max(theirs, np.spacing(exact.astype(dtype)).max() / 2)


def test_float16_is_summed_in_float32_block_by_block() -> None:
    """A number of 16 bits becomes no float64, nor does one that was cast; the sums of blocks do."""
    steps = Step("cast", "float32", (0,)), Step("sum", "float32", (1,)), Step("sum", "float16", (0,))
    stores = (2, Operand("float32", ("1", "0"))), (3, Operand("float16", ("1", "0")))
    text = render_rows(RowNest(2, (Operand("float16", ("s", "1")),), steps, stores, (0, 1, 2), (False, True))).text
    assert re.findall(r"to_float64\((\w+)\)", text) == ["a0", "a1"]


NOT_FINITE = [([np.inf, 1.0], np.inf), ([np.inf, -np.inf], np.nan), ([1e308, 1e308], np.inf)]


@pytest.mark.parametrize("values, total", NOT_FINITE)
def test_a_sum_that_is_not_finite(run: Runner, values: list[float], total: float) -> None:
    x = np.zeros((2, 2000))
    x[:, :2] = values
    (found,) = reduce_array(run, x, ROWS, ["sum"])
    assert same_bits(found, np.array([total, total]))


@pytest.mark.sampled
@pytest.mark.parametrize("reduced", [ROWS, COLUMNS], ids=["rows", "columns"])
@pytest.mark.parametrize("dtype", ["bool", "int16", "float16", "float64"])
def test_an_empty_reduction_is_the_identity(run: Runner, dtype: str, reduced: tuple[bool, ...]) -> None:
    x = np.zeros((3, 0) if reduced == ROWS else (0, 3), dtype)
    kinds = ["sum", "prod", "any", "all", "max", "min", "argmax"]
    axes = tuple(dim for dim, flag in enumerate(reduced) if flag)
    for kind, found in zip(kinds, reduce_array(run, x, reduced, kinds), strict=True):
        assert same_bits(found, kept_only(reduced_value(kind, x, axes), reduced)), kind


@settings(drawn, max_examples=18)
@given(st.lists(st.integers(-2, 2), min_size=1, max_size=40), st.integers(1, 7))
@example([0], 5)
def test_chunks_do_each_row_once(run: Runner, numbers: list[int], chunks: int) -> None:
    """The store adds to what is there, so a row done twice, or not at all, would show."""
    x, y = np.array(numbers, "int64"), np.arange(len(numbers))
    add = MapNest(
        1, (contiguous("int64"),) * 2, (Step("add", "int64", (0, 1)),), ((2, contiguous("int64")),), (0, 1, 1)
    )
    expected = x + y
    run(render_map(add), nest_arguments(x.shape, [x, y], [y]), chunks)
    assert np.array_equal(y, expected)


# -- what a nest is ----------------------------------------------------------------------------------------------------


def test_equal_nests_up_to_buffer_numbers_are_one_kernel() -> None:
    vector, square = contiguous("float32"), (Step("square", "float32", (0,)),)
    one = render_map(MapNest(1, (vector,), square, ((1, vector),), (0, 1)))
    other = render_map(MapNest(1, (vector,), square, ((1, vector),), (12, 5)))
    in_place = render_map(MapNest(1, (vector,), square, ((1, vector),), (3, 3)))
    assert one == other
    assert one.name != in_place.name


def test_what_an_outer_loop_determines_is_computed_there() -> None:
    nest = MapNest(
        2, (Operand("float32", ("s", "1")), Operand("float32", ("1", "0"))),
        (Step("exp", "float32", (1,)), Step("multiply", "float32", (0, 2))),
        ((3, Operand("float32", ("s", "1"))),), (0, 1, 2),
    )  # fmt: skip
    lines = render_map(nest).text.split("\n")
    depth = {word: next(line for line in lines if word in line).find(word) for word in ("exp(v1)", "v0 * v2")}
    assert depth["exp(v1)"] < depth["v0 * v2"]


VECTOR = contiguous("float32")


@pytest.mark.parametrize(
    "build",
    [
        lambda: MapNest(1, (VECTOR,), (), ((0, VECTOR),), (0,)),
        lambda: MapNest(1, (VECTOR,), (), ((1, VECTOR),), (0, 1)),
        lambda: MapNest(2, (VECTOR,), (), ((0, VECTOR),), (0, 1)),
        lambda: MapNest(1, (VECTOR,), (Step("exp", "float32", (1,)),), ((1, VECTOR),), (0, 1)),
        lambda: MapNest(1, (Operand("complex64", ("1",)),), (), ((0, VECTOR),), (0, 1)),
    ],
    ids=["buffers", "store", "rank", "step", "dtype"],
)
def test_a_nest_that_makes_no_sense_is_an_error(build: object) -> None:
    with pytest.raises(KernelError):
        build()  # type: ignore[operator]
