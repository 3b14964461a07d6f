# SPDX-License-Identifier: Apache-2.0
"""A rendered nest over rows computes what NumPy computes, in as many passes as it takes, whatever its layout."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from nests import Case, row_cases, row_values
from running import Runner, contiguous, nest_arguments, same_bits

from ngraph_rewrite.codegen.loops import Operand, RowNest, Step, render_rows, workspaces
from ngraph_rewrite.codegen.stages import Stages
from ngraph_rewrite.errors import KernelError

# Each nest that is drawn is compiled.
drawn = settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
F32 = "float32"
WIDE, ONCE = Operand(F32, ("s", "1")), Operand(F32, ("1", "0"))
SIDE, SIDE_ONCE = Operand(F32, ("s", "1")), Operand(F32, ("0", "1"))


def run_rows(run: Runner, case: Case) -> None:
    arguments = nest_arguments(case.lengths, case.loads, case.stores)
    spaces = []
    for i, size in enumerate(workspaces(case.nest, case.lengths)):
        spaces.append(np.full(size * case.chunks + 8, 77, np.uint8))
        arguments |= {f"w{i}": spaces[-1].ctypes.data, f"w{i}_bytes": size}
    run(render_rows(case.nest), arguments, case.chunks)
    assert all((space[-8:] == 77).all() for space in spaces)


def kept(case: Case, position: int) -> tuple[slice, ...]:
    """What a store leaves of the index space."""
    once = case.nest.stores[position][1].dims
    pairs = zip(case.nest.reduced, range(case.nest.rank), strict=True)
    return tuple(slice(None, 1) if flag and dim not in once else slice(None) for flag, dim in pairs)


@drawn
@given(row_cases())
def test_every_pass_sees_what_the_passes_before_it_found(run: Runner, case: Case) -> None:
    values = row_values(case)
    run_rows(run, case)
    for i, ((value, _), found) in enumerate(zip(case.nest.stores, case.stores, strict=True)):
        if found.size:
            assert same_bits(found[kept(case, i)], np.ascontiguousarray(values[value])[kept(case, i)])


@drawn
@given(row_cases(functions=True))
def test_functions_are_kept_from_pass_to_pass(run: Runner, case: Case) -> None:
    """The largest number on the way says how much a difference of two may be off."""
    values = row_values(case)
    run_rows(run, case)
    size = max((np.abs(v[np.isfinite(v)]).max(initial=1.0) for v in values), default=1.0)
    for i, ((value, _), found) in enumerate(zip(case.nest.stores, case.stores, strict=True)):
        if found.size:
            np.testing.assert_allclose(
                found[kept(case, i)], values[value][kept(case, i)], rtol=1e-13, atol=1e-13 * size
            )


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "bool"])
def test_a_row_of_one_element_that_no_loop_runs_over(run: Runner, dtype: str) -> None:
    """Loops of length 1 are taken out of a nest, those over rows as well."""
    kinds, vector = ["sum", "prod", "max", "argmin", "any"], contiguous(dtype)
    own = {"argmin": "int64", "any": "bool"}
    steps = tuple(Step(kind, own.get(kind, dtype), (0,)) for kind in kinds)
    stores = tuple((i, contiguous(step.dtype)) for i, step in enumerate(steps, 1))
    x = np.arange(5).astype(dtype)
    found = [np.full(5, 7, step.dtype) for step in steps]
    run_rows(run, Case(RowNest(1, (vector,), steps, stores, tuple(range(6)), (False,)), (5,), [x], found, 2))
    for kind, one in zip(kinds, found, strict=True):
        assert np.array_equal(one, np.zeros(5) if kind == "argmin" else x.astype(one.dtype)), kind


# -- softmax: what the largest rows, and special numbers, become -------------------------------------------------------

# load, its maximum, exponentials of what is left of it, their sum, the quotients
SOFTMAX = (
    Step("max", F32, (0,)),
    Step("subtract", F32, (0, 1)),
    Step("exp", F32, (2,)),
    Step("sum", F32, (3,)),
    Step("divide", F32, (3, 4)),
)
ROWS = RowNest(2, (WIDE,), SOFTMAX, ((5, WIDE), (1, ONCE)), (0, 1, 2), (False, True))
COLUMNS = RowNest(2, (SIDE,), SOFTMAX, ((5, SIDE), (1, SIDE_ONCE)), (0, 1, 2), (True, False))


def softmax(x: np.ndarray, axis: int) -> np.ndarray:
    with np.errstate(all="ignore"):
        e = np.exp((x - x.max(axis, keepdims=True)).astype(np.float64))
        return e / e.sum(axis, keepdims=True)


@pytest.mark.parametrize("axis", [1, 0], ids=["rows", "columns"])
@pytest.mark.parametrize("shape", [(3, 1), (1, 700), (37, 259), (5, 2500), (1300, 70)], ids=str)
def test_softmax_of_rows_of_any_length(run: Runner, shape: tuple[int, int], axis: int) -> None:
    x = np.random.default_rng(0).normal(0, 5, shape).astype(F32)
    y, top = np.empty_like(x), np.empty(shape[1 - axis], F32)
    nest = ROWS if axis == 1 else COLUMNS
    stores = [y, np.broadcast_to(top[:, None] if axis else top[None, :], shape)]
    run_rows(run, Case(nest, shape, [x], stores, 3))
    np.testing.assert_allclose(y, softmax(x, axis), rtol=2e-6, atol=1e-30)
    assert np.array_equal(top, x.max(axis))


@pytest.mark.parametrize("axis", [1, 0], ids=["rows", "columns"])
def test_special_numbers_stay_in_their_rows(run: Runner, axis: int) -> None:
    x = np.random.default_rng(1).normal(size=(40, 40)).astype(F32)
    rows = x if axis == 1 else x.T
    rows[3, 17], rows[5, 0], rows[8, 39] = np.nan, np.inf, -np.inf
    rows[9], rows[11], rows[12] = -np.inf, 0.0, -0.0
    y, top = np.empty_like(x), np.empty(40, F32)
    stores = [y, np.broadcast_to(top[:, None] if axis else top[None, :], x.shape)]
    run_rows(run, Case(ROWS if axis else COLUMNS, x.shape, [x], stores, 1))
    np.testing.assert_allclose(y, softmax(x, axis), rtol=2e-6)
    np.testing.assert_array_equal(top, x.max(axis))


@pytest.mark.parametrize("kind", ["sum", "max", "min"])
@pytest.mark.parametrize("shape", [(3, 2, 1), (5, 3, 33), (2, 4, 64), (3, 3, 700), (1, 2, 40)], ids=str)
def test_rows_of_any_length_that_are_taken_in_together(run: Runner, kind: str, shape: tuple[int, int, int]) -> None:
    """Those of one result lie apart, and between them are those of others; one result is not a number."""
    apart, once = Operand(F32, ("s", "s", "1")), Operand(F32, ("0", "1", "0"))
    nest = RowNest(3, (apart,), (Step(kind, F32, (0,)),), ((1, once),), (0, 1), (True, False, True))
    assert f"row_{kind}_float32(x0, i1 * x0_s1, n2, n0, x0_s0)" in render_rows(nest).text
    x = np.random.default_rng(3).normal(size=shape).astype(F32)
    x[-1, 1, -1] = np.nan
    y = np.empty(shape[1], F32)
    run_rows(run, Case(nest, shape, [x], [np.broadcast_to(y[None, :, None], shape)], 2))
    np.testing.assert_allclose(y, getattr(x.astype(np.float64), kind)((0, 2)), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("kind", ["max", "min"])
@pytest.mark.parametrize("n", [1, 5, 6, 13, 18], ids=str)
def test_an_extremum_of_rows_side_by_side_is_no_number_if_one_of_them_is_not(
    run: Runner, kind: str, dtype: str, n: int
) -> None:
    """At each place of a row, beside infinities and numbers that would be better."""
    best = np.inf if kind == "max" else -np.inf
    x = np.random.default_rng(4).uniform(-1, 1, (n, 3 * n + 35)).astype(dtype)
    at = np.arange(n)
    x[at, at] = x[at, n + at] = np.nan
    x[:, n : 2 * n][x[:, n : 2 * n] == x[:, n : 2 * n]] = best
    x[at, 2 * n + at] = best
    wide, once = Operand(dtype, ("s", "1")), Operand(dtype, ("0", "1"))
    nest = RowNest(2, (wide,), (Step(kind, dtype, (0,)),), ((1, once),), (0, 1), (True, False))
    found = np.empty(x.shape[1], dtype)
    run_rows(run, Case(nest, x.shape, [x], [np.broadcast_to(found, x.shape)], 2))
    np.testing.assert_array_equal(found, getattr(x, kind)(0))


def place_nest(kind: str, dtype: str) -> RowNest:
    """A place in each row that lies along memory, and what says so in its kernel."""
    loads, stores = (Operand(dtype, ("s", "1")),), ((1, Operand("int64", ("1", "0"))),)
    nest = RowNest(2, loads, (Step(kind, "int64", (0,)),), stores, (0, 1), (False, True))
    assert f"row_{kind}_{dtype}(x0, i0 * x0_s0, n1, 1, 0)" in render_rows(nest).text
    return nest


@pytest.mark.parametrize("kind", ["argmax", "argmin"])
@pytest.mark.parametrize(
    ("dtype", "n"),
    [(F32, n) for n in (1, 3, 16, 20, 33, 65, 512, 700, 1500)] + [("float64", n) for n in (3, 8, 15, 31, 40, 700)],
    ids=str,
)
def test_the_first_place_of_an_extremum_in_rows_of_any_length(run: Runner, kind: str, dtype: str, n: int) -> None:
    """Each place is that of the extremum in some row, alone, before an equal one, and as NaN before better numbers."""
    lowest, best = (-np.inf, 5.0) if kind == "argmax" else (np.inf, -5.0)
    x = np.random.default_rng(4).uniform(-1, 1, (6 * n, n)).astype(dtype)
    at = np.arange(n)
    x[at, at] = x[n + at, at] = x[n + at, -1] = best
    x[2 * n + at, at] = x[2 * n + at, -1] = np.nan
    x[2 * n + at[1:], 0] = best
    x[3 * n : 4 * n] = lowest
    x[3 * n + at, at] = np.where(at % 2, lowest, np.nan)
    x[4 * n : 5 * n] = np.where(at > at[:, None], 0.0, -0.0)
    found = np.empty(6 * n, np.int64)
    run_rows(run, Case(place_nest(kind, dtype), x.shape, [x], [np.broadcast_to(found[:, None], x.shape)], 2))
    assert np.array_equal(found, getattr(np, kind)(x, 1))


@pytest.mark.parametrize(
    ("dtype", "kind"),
    [(dtype, kind) for dtype in ("int8", "uint16", "int64") for kind in ("argmax", "argmin")]
    + [("uint8", "argmin"), ("int16", "argmax"), ("int32", "argmin"), ("uint32", "argmax"), ("uint64", "argmin")],
)
def test_the_first_place_of_an_integer_in_rows_of_any_length(run: Runner, kind: str, dtype: str) -> None:
    """Among numbers of both ends, alone at each place, and where all are the last one that there is."""
    ends, nest = np.iinfo(dtype), place_nest(kind, dtype)
    last, best = (ends.min, ends.max) if kind == "argmax" else (ends.max, ends.min)
    for n in (1, 2, 9, 33, 64, 130, 300, 3000):
        x = np.random.default_rng(n).integers(ends.min, ends.max, (4 * min(n, 300), n), dtype, endpoint=True)
        some = np.arange(min(n, 300))
        at = some * (n - 1) // max(len(some) - 1, 1)
        x[some] = last
        x[some[1:], at[1:]] = best
        x[len(some) + some, at] = best
        found = np.empty(len(x), np.int64)
        run_rows(run, Case(nest, x.shape, [x], [np.broadcast_to(found[:, None], x.shape)], 2))
        assert np.array_equal(found, getattr(np, kind)(x, 1))


@pytest.mark.parametrize("kind", ["argmax", "argmin"])
def test_the_first_place_in_rows_of_bool_is_that_of_bytes(run: Runner, kind: str) -> None:
    """Which are looked at a vector at a time: it took nine times as long as numbers of eight bits."""
    row, once = Operand("bool", ("s", "1")), Operand("int64", ("1", "0"))
    steps = (Step("cast", "uint8", (0,)), Step(kind, "int64", (1,)))
    nest = RowNest(2, (row,), steps, ((2, once),), (0, 1), (False, True))
    assert f"row_{kind}_bool" in render_rows(nest).text
    for n in (1, 2, 9, 33, 64, 130, 300, 3000):
        at = np.arange(min(n, 300))[:, None] * (n - 1) // max(min(n, 300) - 1, 1)
        x = np.concatenate([np.arange(n) < at, np.arange(n) >= at, np.arange(n) == at, np.arange(n) != at])
        found = np.empty(len(x), np.int64)
        run_rows(run, Case(nest, x.shape, [x], [np.broadcast_to(found[:, None], x.shape)], 2))
        assert np.array_equal(found, getattr(np, kind)(x, 1))


def truths_nest(kinds: dict[str, str], parts: bool = False, long: bool = True) -> RowNest:
    """Reductions of where float32 are above zero."""
    steps = [Step("constant", F32, (), (("value", 0.0),)), Step("greater", "bool", (0, 1)), Step("cast", "uint8", (2,))]
    steps += [Step(kind, dtype, (3 if dtype == "int64" else 2,)) for kind, dtype in kinds.items()]
    stores = tuple((i, Operand(dtype, ("1", "0"))) for i, dtype in enumerate(kinds.values(), 4))
    buffers = tuple(range(1 + len(kinds)))
    return RowNest(2, (WIDE,), tuple(steps), stores, buffers, (False, True), parts=parts, long=long)


def test_truths_of_rows_of_any_length_wherever_the_first_one_is(run: Runner) -> None:
    kinds = {"any": "bool", "argmax": "int64", "argmin": "int64"}
    for n in (1, 9, 2047, 2048, 2049, 5000):
        at = np.array([0, n // 3, n - 1])[:, None]
        x = np.concatenate([np.arange(n) < at, np.arange(n) >= at, np.arange(n) == at, np.arange(n) != at]).astype(F32)
        found = [np.empty(len(x), dtype) for dtype in kinds.values()]
        run_rows(run, Case(truths_nest(kinds), x.shape, [x], [np.broadcast_to(y[:, None], x.shape) for y in found], 2))
        for kind, one in zip(kinds, found, strict=True):
            assert np.array_equal(one, getattr(np, kind)(x > 0, 1))


@pytest.mark.parametrize("kind", ["any", "all"])
def test_one_truth_settles_what_parts_of_a_row_give_together(run: Runner, kind: str) -> None:
    nest, n = truths_nest({kind: "bool"}, parts=True), 4500
    for at in (None, 0, 2047, 2048, n - 1, n, 2 * n + 100, 3 * n - 1):
        x = np.full((3, n), kind == "all", F32)
        if at is not None:
            x.flat[at] = kind == "any"
        found = np.empty(3, bool)
        run_rows(run, Case(nest, x.shape, [x], [np.broadcast_to(found[:, None], x.shape)], 2))
        assert getattr(found, kind)() == getattr(x, kind)()


def test_parts_with_a_value_of_their_own_do_not_look_at_the_first_one(run: Runner) -> None:
    """What the first one gives is not known then: all(is_small(x) | (arange(n) < 10)) was wrong where x[0] is large."""
    column, once = Operand(F32, ("1", "0")), Operand("bool", ("1", "0"))
    steps = (Step("greater", "bool", (0, 1)), Step("any", "bool", (2,)))
    nest = RowNest(2, (WIDE, column), steps, ((3, once),), (0, 1, 2), (False, True), parts=True, long=True)
    x, least, found = np.zeros((3, 4500), F32), np.array([2, 1, 1], F32), np.empty(3, bool)
    x[0, 0] = 1.5
    given = [x, np.broadcast_to(least[:, None], x.shape)]
    run_rows(run, Case(nest, x.shape, given, [np.broadcast_to(found[:, None], x.shape)], 2))
    assert not found.any()


def test_short_rows_of_truths_are_looked_at_as_a_whole() -> None:
    """Of rows of 40, blocks took twice as long, and nothing ends before a row does."""
    kinds = {"any": "bool", "all": "bool"}
    assert "break" in render_rows(truths_nest(kinds)).text
    assert "break" not in render_rows(truths_nest(kinds, long=False)).text


def test_where_a_truth_is_first_is_a_least_number_to_llvm() -> None:
    """The least of a place and the greatest of all numbers would be a choice, taken an element at a time."""
    nest = truths_nest({"argmax": "int64"}, long=False)
    assert "select(same(v3, a0), i1, n1)" in render_rows(nest).text


@pytest.mark.parametrize("dtype", ["int64", "float32"])
def test_truths_of_rows_of_any_length_are_counted(run: Runner, dtype: str) -> None:
    """A lane of eight bits has room for 255 of them."""
    row, once = Operand("bool", ("s", "1")), Operand(dtype, ("1", "0"))
    steps = (Step("cast", dtype, (0,)), Step("sum", dtype, (1,)))
    nest = RowNest(2, (row,), steps, ((2, once),), (0, 1), (False, True), long=True)
    assert "row_sum_bool" in render_rows(nest).text
    for n in (1, 31, 33, 130, 1000, 70_000):
        x = np.stack([np.ones(n, bool), np.random.default_rng(n).random(n) < 0.3])
        found = np.empty(2, dtype)
        run_rows(run, Case(nest, x.shape, [x], [np.broadcast_to(found[:, None], x.shape)], 2))
        assert np.array_equal(found, x.sum(1))


def test_extrema_of_float16_side_by_side_are_kept_in_float32() -> None:
    """LLVM chooses one of two float16 an element at a time, which took thirty times as long."""
    wide, once = Operand("float16", ("s", "1")), Operand("float16", ("0", "1"))
    nest = RowNest(2, (wide,), (Step("max", "float16", (0,)),), ((1, once),), (0, 1), (True, False))
    assert "store_float16(a0" not in render_rows(nest).text


def test_places_extrema_and_sums_of_one_pass(run: Runner) -> None:
    kinds = {"argmax": "int64", "max": F32, "argmin": "int64", "sum": F32}
    stores = tuple((i, Operand(dtype, ("1", "0"))) for i, dtype in enumerate(kinds.values(), 1))
    steps = tuple(Step(kind, dtype, (0,)) for kind, dtype in kinds.items())
    x = np.random.default_rng(6).integers(-50, 50, (40, 150)).astype(F32)
    x[7, 100] = np.nan
    found = [np.empty(40, dtype) for dtype in kinds.values()]
    nest = RowNest(2, (WIDE,), steps, stores, (0, 1, 2, 3, 4), (False, True))
    run_rows(run, Case(nest, x.shape, [x], [np.broadcast_to(one[:, None], x.shape) for one in found], 2))
    for kind, one in zip(kinds, found, strict=True):
        np.testing.assert_array_equal(one, getattr(np, kind)(x, 1))


def test_the_first_place_counts_through_rows_that_are_taken_in_together(run: Runner) -> None:
    apart, once = Operand(F32, ("s", "s", "1")), Operand("int64", ("0", "1", "0"))
    nest = RowNest(3, (apart,), (Step("argmax", "int64", (0,)),), ((1, once),), (0, 1), (True, False, True))
    x = np.random.default_rng(5).integers(0, 40, (7, 50, 21)).astype(F32)
    x[3, 4, 5] = x[2, 4, 20] = np.nan
    found = np.empty(50, np.int64)
    run_rows(run, Case(nest, x.shape, [x], [np.broadcast_to(found[None, :, None], x.shape)], 2))
    assert np.array_equal(found, np.argmax(x.transpose(1, 0, 2).reshape(50, -1), 1))


@pytest.mark.parametrize("chunks", [1, 3])
def test_each_chunk_sums_over_its_rows(run: Runner, chunks: int) -> None:
    """Of what is loaded, and of what the last pass gives."""
    nest = RowNest(2, (WIDE,), SOFTMAX, ((5, WIDE),), (0, 1), (False, True), (0, 5))
    x = np.random.default_rng(2).normal(size=(40, 100)).astype(F32)
    y = np.empty_like(x)
    sizes = workspaces(nest, x.shape)
    assert sizes == [832, 832]
    sums = [np.full((chunks, size // 8), np.nan) for size in sizes]
    arguments = nest_arguments(x.shape, [x], [y])
    for i, total in enumerate(sums):
        arguments |= {f"t{i}": total.ctypes.data, f"t{i}_bytes": sizes[i]}
    run(render_rows(nest), arguments, chunks)
    for total, value in zip(sums, (x, y), strict=True):
        assert np.array_equal(total[:, :100].sum(0), value.sum(0, dtype=np.float64))


# -- passes ------------------------------------------------------------------------------------------------------------


def test_a_pass_for_each_reduction_of_what_reductions_gave() -> None:
    assert Stages(ROWS).passes == 3
    assert [Stages(ROWS).reductions(n) for n in range(3)] == [[1], [4], []]
    both = RowNest(2, (WIDE,), (Step("sum", F32, (0,)), Step("max", F32, (0,))), ((2, ONCE),), (0, 1), (False, True))
    assert Stages(both).passes == 1


def test_an_exponential_is_kept_where_the_quotient_will_stand() -> None:
    assert Stages(ROWS).workspaces == []
    text = render_rows(ROWS).text
    assert text.count("exp(v") == 1
    assert text.count("store_float32(y0") == 2


def test_the_next_row_is_asked_for_while_exponentials_of_one_are_computed() -> None:
    """Its first pass, which takes next to no time, would wait for memory."""
    asked = "ask_ahead(x0, i0 * x0_s0 + x0_s0 + block, block_stop - block, 4)"
    text = render_rows(ROWS).text
    assert text.count(asked) == 1
    assert text.index("row_max_float32") < text.index(asked) < text.index("exp(v")
    half, apart = "bfloat16", Operand(F32, ("s", "s", "1"))
    steps = (Step("max", half, (0,)), Step("subtract", F32, (0, 1)), Step("exp", F32, (2,)), Step("sum", F32, (3,)))
    small = RowNest(2, (Operand(half, ("s", "1")),), steps, ((4, ONCE),), (0, 1), (False, True))
    assert asked.replace(", 4)", ", 2)") in render_rows(small).text
    rows = RowNest(3, (apart,), SOFTMAX, ((5, apart),), (0, 1), (False, False, True))
    assert "ask_ahead(x0, i0 * x0_s0 + i1 * x0_s1 + x0_s1 + block, block" in render_rows(rows).text
    once = RowNest(2, (WIDE,), (Step("exp", F32, (0,)), Step("sum", F32, (1,))), ((2, ONCE),), (0, 1), (False, True))
    same = RowNest(3, (Operand(F32, ("s", "0", "1")),), SOFTMAX, ((5, apart),), (0, 1), (False, False, True))
    both = RowNest(3, (apart,), SOFTMAX, ((5, apart),), (0, 1), (False, True, True))
    assert not any("ask_ahead" in render_rows(nest).text for nest in (once, same, both))


def test_a_row_that_loops_with_functions_ask_for_is_not_asked_for_again() -> None:
    """Its first pass would ask for it otherwise, as do sums of rows and passes before others without functions."""
    centred = (Step("sum", F32, (0,)), Step("subtract", F32, (0, 1)), Step("max", F32, (2,)))
    twice = RowNest(2, (WIDE,), centred, ((3, ONCE),), (0, 1), (False, True))
    whole = RowNest(2, (WIDE,), SOFTMAX, ((5, WIDE),), (0, 1), (True, True))
    apart = Operand(F32, ("s", "s", "1"))
    both = RowNest(3, (apart,), SOFTMAX, ((5, apart),), (0, 1), (False, True, True))
    steps = (Step("sum", F32, (0,)), Step("subtract", F32, (1, 2)), Step("exp", F32, (3,)), Step("sum", F32, (4,)))
    other = RowNest(2, (WIDE, WIDE), steps, ((5, ONCE),), (0, 1, 2), (False, True))
    assert "v0 = asked_row_max_float32(" in render_rows(ROWS).text
    for nest, begin in ((twice, "row_sum"), (whole, "row_max"), (both, "row_max"), (other, "row_sum")):
        assert f"v0 = {begin}_float32(" in render_rows(nest).text


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_what_no_cache_holds_is_asked_for_two_pages_ahead(dtype: str) -> None:
    """In one pass over numbers that are computed, or are not float32; where memory is read side by side."""
    wide, bias, across = (Operand(dtype, strides) for strides in (("s", "1"), ("0", "1"), ("1", "s")))
    steps = (Step("multiply", dtype, (0, 1)), Step("multiply", dtype, (3, 2)), Step("sum", dtype, (4,)))
    nest = RowNest(2, (wide, bias, across), steps, ((5, Operand(dtype, ("1", "0"))),), (0, 1, 2, 3), (False, True))
    text = render_rows(nest, 1).text
    size = {"float32": 4, "float64": 8, "bfloat16": 2}[dtype]
    assert f"ask_ahead(x0, i0 * x0_s0 + block + {8192 // size}, block_stop - block, {size})" in text
    assert f"ask_ahead(x1, 0 + block + {8192 // size}, block_stop - block, {size})" in text
    assert text.count("ask_ahead(x") == 2
    assert "ask_ahead" not in render_rows(nest).text
    assert render_rows(ROWS, 1).text.count("ask_ahead(x") == 1  # of the next row, as ever


def test_an_exponential_has_a_workspace_where_nothing_is_stored() -> None:
    nest = RowNest(2, (WIDE,), (*SOFTMAX, Step("max", F32, (5,))), ((6, ONCE),), (0, 1), (False, True))
    assert Stages(nest).workspaces == [F32]
    assert render_rows(nest).signature[-2:] == ("w0", "w0_bytes")


def test_a_workspace_of_columns_is_as_wide_as_their_blocks(run: Runner) -> None:
    """The sum of the squares of a softmax, whose exponentials are stored nowhere."""
    steps = (*SOFTMAX, Step("square", F32, (5,)), Step("sum", F32, (6,)))
    nest = RowNest(2, (SIDE,), steps, ((7, SIDE_ONCE),), (0, 1), (True, False))
    x = np.random.default_rng(3).normal(size=(1300, 150)).astype(F32)
    found = np.empty(150, F32)
    assert workspaces(nest, x.shape) == [1300 * 64 * 4]
    run_rows(run, Case(nest, x.shape, [x], [np.broadcast_to(found, x.shape)], 2))
    np.testing.assert_allclose(found, (softmax(x, 0) ** 2).sum(0), rtol=2e-6)


def test_what_arithmetic_gives_is_computed_anew() -> None:
    steps = (Step("sum", F32, (0,)), Step("subtract", F32, (0, 1)), Step("sum", F32, (2,)), Step("add", F32, (2, 3)))
    nest = RowNest(2, (WIDE,), steps, ((4, WIDE),), (0, 1), (False, True))
    assert Stages(nest).kept == {}
    assert render_rows(nest).text.count("v0 - v1") == 2


@pytest.mark.parametrize(
    "build",
    [
        lambda: RowNest(2, (WIDE,), SOFTMAX, ((5, ONCE),), (0, 1), (False, True)),
        lambda: RowNest(2, (WIDE,), SOFTMAX, ((6, WIDE),), (0, 1), (False, True)),
        lambda: RowNest(2, (WIDE,), SOFTMAX, ((5, WIDE),), (0, 1), (False,)),
        lambda: RowNest(1, (contiguous(F32),), (Step("sum", F32, (1,)),), (), (0,), (True,)),
        lambda: RowNest(2, (WIDE,), SOFTMAX, ((5, WIDE),), (0, 1), (True, False), (0,)),
    ],
    ids=["store-once", "no-value", "flags", "later", "totals"],
)
def test_a_nest_that_makes_no_sense_is_an_error(build: object) -> None:
    with pytest.raises(KernelError):
        build()  # type: ignore[operator]
