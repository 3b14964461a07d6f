# SPDX-License-Identifier: Apache-2.0
"""The words of kernels for GPUs mean what those of the CPU mean, on a device and where Numba simulates one.

Scalar operations are tried through the text that is rendered for both. Exact ones are NumPy's, bit for bit, functions
are within 2 ulp of NumPy in higher precision, and conversions are what kernels for the CPU give, out of range too.
"""

from __future__ import annotations

import doctest
import json
import math
import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from gpu_examples import examples
from hypothesis import given
from hypothesis import strategies as st

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.codegen.loops import MapNest, Operand, Step, render_map
from ngraph_rewrite.codegen.scalar import DTYPES
from ngraph_rewrite.errors import KernelError
from ngraph_rewrite.ops import functions, gammas
from ngraph_rewrite.runtime.compiler import compile_kernel
from ngraph_rewrite.runtime.machine import Launch, LaunchTable
from ngraph_rewrite.runtime.philox import philox
from ngraph_rewrite.types.dtypes import finfo, is_float
from tests.runtime.test_gamma_functions import FUNCTIONS as GAMMAS

cuda_kernels = pytest.importorskip("cuda_kernels", reason="needs numba-cuda, which the extra `test` installs")
pytestmark = pytest.mark.cuda
launch, apply = cuda_kernels.launch, cuda_kernels.apply
SIMULATED, EMULATED = cuda_kernels.SIMULATED, cuda_kernels.EMULATED
watched = pytest.mark.skipif(not (SIMULATED or EMULATED), reason="a device does not look where it reads and writes")

few = examples(15)

Array = np.ndarray[Any, Any]
INTEGERS = [dtype for dtype in DTYPES if dtype.startswith(("int", "uint"))]
FLOATS = [dtype for dtype in DTYPES if "float" in dtype]


# -- values ------------------------------------------------------------------------------------------------------------


def edges(dtype: str) -> list[Any]:
    """Numbers at the limits of a dtype, and some in between."""
    if dtype == "bool":
        return [False, True]
    if dtype in INTEGERS:
        limits = np.iinfo(dtype)
        return [x for x in (limits.min, limits.min + 1, -7, -2, -1, 0, 1, 2, 3, 8, 63, limits.max - 1, limits.max)
                if limits.min <= x]  # fmt: skip
    limits = finfo(np.dtype(dtype))
    sizes = [0.0, limits.smallest_subnormal, limits.tiny, limits.eps, 0.5, 1.0, 1.5, 2.5, 7.0, limits.max, np.inf]
    return [sign * float(size) for size in sizes for sign in (1, -1)] + [np.nan]


def arrays(dtype: str, *, smallest: int = 1, largest: int = 6) -> st.SearchStrategy[Array]:
    """Arrays of edges and of any bits."""
    kind = np.dtype(dtype)
    bits = st.integers(0, 2 ** (8 * kind.itemsize) - 1).map(lambda n: np.array(n, f"u{kind.itemsize}").view(kind)[()])
    usual = st.floats(-100, 100).map(lambda x: np.array(x).astype(kind)[()]) if is_float(kind) else bits
    anything = st.sampled_from(edges(dtype)) if dtype == "bool" else st.sampled_from(edges(dtype)) | bits | usual
    return st.lists(anything, min_size=smallest, max_size=largest).map(lambda values: np.array(values, kind))


def pairs(dtype: str) -> st.SearchStrategy[tuple[Array, Array]]:
    both = st.integers(1, 6).flatmap(lambda n: st.tuples(*[arrays(dtype, smallest=n, largest=n)] * 2))
    return both.map(lambda found: (found[0], found[1]))


def same_bits(ours: Array, theirs: Array) -> bool:
    """Equal bit for bit, any NaN being one NaN."""
    if not is_float(ours.dtype):
        return bool(np.array_equal(ours, theirs))
    bits = f"u{ours.itemsize}"
    nan = np.isnan(ours) & np.isnan(theirs)
    return bool(np.all(nan | (ours.view(bits) == theirs.view(bits))))


def check_exact(names: list[str], found: list[Array], expected: list[Array]) -> None:
    for name, ours, theirs in zip(names, found, expected, strict=True):
        assert ours.dtype == theirs.dtype and same_bits(ours, theirs), (name, ours, theirs)


# -- what NumPy computes -----------------------------------------------------------------------------------------------

NUMPY = {"floordivide": "floor_divide", "divide": "true_divide"}
NUMPY |= {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh"}
NUMPY |= {"atanh": "arctanh", "atan2": "arctan2", "bitwise_invert": "invert"}
PREDICATES = "equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor".split()
CLASSES = "isnan isinf isfinite logical_not".split()
UNARY = "negative absolute sign square floor ceil round trunc".split()
BINARY = "add subtract multiply floordivide mod maximum minimum".split()
BITS = "bitwise_and bitwise_or bitwise_xor left_shift right_shift".split()
FUNCTIONS = "exp exp2 expm1 log log2 log10 log1p cbrt sin cos tan sinh cosh tanh erf erfinv sigmoid".split()
FUNCTIONS += "asin acos atan asinh acosh atanh".split()


def numpy_of(step: Step, *operands: Array) -> Array:
    """What a step gives."""
    with np.errstate(all="ignore"):
        if step.op == "sign":
            return functions.sign(*operands)
        if step.op == "nextafter":  # C gives the second of two zeros; of float16, NumPy does so since 2.5
            return np.where(operands[0] == operands[1], operands[1], np.nextafter(*operands))
        return np.asarray(getattr(np, NUMPY.get(step.op, step.op))(*operands)).astype(step.dtype)


def steps_of(names: list[str], dtype: str, arity: int) -> list[Step]:
    return [Step(name, "bool" if name in (*PREDICATES, *CLASSES, "signbit") else dtype, tuple(range(arity)))
            for name in names]  # fmt: skip


def bitcasts(source: str) -> list[Step]:
    """The bits of the first operand as each dtype of its width."""
    width = np.dtype(source).itemsize
    return [Step("bitcast", dtype, (0,)) for dtype in DTYPES if dtype != "bool" and np.dtype(dtype).itemsize == width]


def check_steps(steps: list[Step], *operands: Array) -> None:
    for step, found in zip(steps, apply(steps, *operands), strict=True):
        expected = numpy_of(step, *operands)
        if step.op in ("maximum", "minimum") and step.dtype in FLOATS:
            found, expected = found + 0.0, expected + 0.0  # NumPy leaves the sign of a zero open at a tie
        check_exact([step.op], [found], [expected])


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS])
@few
@given(data=st.data())
def test_operations_of_one_operand(dtype: str, data: st.DataObject) -> None:
    more = ["bitwise_invert"] if dtype in INTEGERS else ["signbit", "sqrt", "reciprocal"]
    check_steps(steps_of([*UNARY, *CLASSES, *more], dtype, 1), data.draw(arrays(dtype)))


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS])
@few
@given(data=st.data())
def test_operations_of_two_operands(dtype: str, data: st.DataObject) -> None:
    more = BITS if dtype in INTEGERS else ["divide", "copysign", "nextafter"]
    x, y = data.draw(pairs(dtype))
    check_steps(steps_of([*BINARY, *PREDICATES, *more], dtype, 2), x, np.where(np.isnan(y), abs(y), y))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_hypotenuse_as_long_as_a_number_can_be(dtype: str) -> None:
    """Libdevice's of float64 gave infinity, on an H100."""
    x, y = (
        np.array([np.finfo(dtype).smallest_subnormal, 3, np.inf], dtype),
        np.array([np.finfo(dtype).max, 4, 1], dtype),
    )
    (found,) = apply([Step("hypot", dtype, (0, 1))], x, y)
    assert found.tolist() == [y[0], 5, np.inf]


@few
@given(pairs("bool"))
def test_operations_on_bools(operands: tuple[Array, Array]) -> None:
    check_steps(steps_of(["add", "multiply", "maximum", "minimum", *PREDICATES], "bool", 2), *operands)


@pytest.mark.parametrize("dtype", INTEGERS)
@few
@given(data=st.data())
def test_integer_power_wraps(dtype: str, data: st.DataObject) -> None:
    base, exponent = data.draw(pairs(dtype))
    exponent = np.where(exponent < 0, np.array(0, dtype), exponent)
    (found,) = apply([Step("power", dtype, (0, 1))], base, exponent)
    wide = [pow(int(x), int(y), 2**64) for x, y in zip(base, exponent, strict=True)]
    assert np.array_equal(found, np.array(wide, "uint64").astype(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@few
@given(data=st.data())
def test_select_takes_either_side(dtype: str, data: st.DataObject) -> None:
    x, y = data.draw(pairs(dtype))
    condition = np.resize(data.draw(arrays("bool")), x.shape)
    (found,) = apply([Step("select", dtype, (0, 1, 2))], condition, x, y)
    assert same_bits(found, np.where(condition, x, y))


@pytest.mark.parametrize("dtype", DTYPES)
def test_constants_are_exact(dtype: str) -> None:
    values = edges(dtype)
    steps = [Step("constant", dtype, (), (("value", value),)) for value in values]
    assert same_bits(np.concatenate(apply(steps, np.zeros(1, "int8"))), np.array(values, dtype))


# -- conversions -------------------------------------------------------------------------------------------------------


def on_cpu(folder: Path, steps: list[Step], x: Array) -> list[Array]:
    """What a kernel for the CPU makes of a contiguous operand."""
    stores = tuple((1 + i, Operand(step.dtype, ("1",))) for i, step in enumerate(steps))
    source = render_map(
        MapNest(1, (Operand(x.dtype.name, ("1",)),), tuple(steps), stores, tuple(range(1 + len(steps))))
    )
    found = [np.zeros(x.shape, step.dtype) for step in steps]
    arguments = {"n0": x.size, "x0": x.ctypes.data} | {f"y{i}": y.ctypes.data for i, y in enumerate(found)}
    kernel = compile_kernel(source.text, source.name, Cache(folder))
    LaunchTable([Launch(kernel, [arguments[name] for name in source.signature])]).run()
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kernels")


@pytest.mark.parametrize("source", DTYPES)
@few
@given(data=st.data())
def test_conversions_are_those_of_the_cpu(folder: Path, source: str, data: st.DataObject) -> None:
    around = [126.7, 200.5, 40000.0, 65519.99, 3e9, 5e12, 2.0**63, 2.0**64, 1e20]
    near = st.sampled_from(around).map(lambda x: np.array([x, -x, math.nextafter(x, 0)]).astype(source))
    with np.errstate(all="ignore"):
        x = data.draw(arrays(source) | near if source in FLOATS else arrays(source))
    steps = [Step("cast", dtype, (0,)) for dtype in DTYPES]
    check_exact(list(DTYPES), apply(steps, x), on_cpu(folder, steps, x))


@pytest.mark.parametrize("source", [dtype for dtype in DTYPES if dtype != "bool"])
@few
@given(data=st.data())
def test_bits_are_read_as_numpy_reads_them(source: str, data: st.DataObject) -> None:
    x, steps = data.draw(arrays(source)), bitcasts(source)
    if source in ("float16", "bfloat16"):  # a NaN of 16 bits may turn quiet
        x = np.where(np.isnan(x), np.copysign(x.dtype.type(np.nan), x), x)
    check_exact([step.dtype for step in steps], apply(steps, x), [x.view(step.dtype) for step in steps])


# -- functions ---------------------------------------------------------------------------------------------------------


def wide_of(name: str, *operands: Array) -> Array:
    """The value of a function in higher precision."""
    wide = np.float64 if operands[0].dtype != np.float64 else np.longdouble
    x, *others = (operand.astype(wide) for operand in operands)
    with np.errstate(all="ignore"):
        if name == "sigmoid":
            small = np.exp(-np.abs(x))
            return np.asarray(np.where(x < 0, small, 1) / (1 + small))
        if name == "erfinv":
            return np.asarray(functions.erfinv(x.astype(np.float64)))
        if name in GAMMAS:
            return gamma_of(name, x.astype(np.float64))
        if name == "erf":
            return np.array([math.erf(value) for value in x])
        return np.asarray(getattr(np, NUMPY.get(name, name))(x, *others))


def gamma_of(name: str, x: Array) -> Array:
    """What mpmath says, where that is finite."""
    found = np.array(getattr(gammas, name)(x))
    with mpmath.workdps(40):  # in 15 digits nothing is left at a root
        for place in map(tuple, np.argwhere(np.isfinite(found))):
            found[place] = float(GAMMAS[name](mpmath.mpf(float(x[place]))))
    return found


def check_close(name: str, found: Array, right: Array, most: float = 2, terms: Any = 0) -> None:
    """Demand that nothing is off by more units in the last place, of the result or of terms that cancel."""
    with np.errstate(all="ignore"):
        rounded = right.astype(found.dtype)
        usual = np.isfinite(rounded)
        assert same_bits(np.isfinite(found), usual), (name, found, right)
        assert same_bits(found[~usual], rounded[~usual]), (name, found, right)
        size = np.maximum(np.abs(rounded), terms).astype(found.dtype)
        off = np.abs(found[usual] - right[usual]) / np.spacing(size[usual])
    assert np.all(off <= most), (name, found, right, off)


@pytest.mark.parametrize("dtype", FLOATS)
@few
@given(data=st.data())
def test_functions_are_within_two_ulp(dtype: str, data: st.DataObject) -> None:
    x = data.draw(arrays(dtype))
    steps = steps_of(FUNCTIONS, dtype, 1)
    for step, found in zip(steps, apply(steps, x), strict=True):
        check_close(step.op, found, wide_of(step.op, x))


@pytest.mark.parametrize("dtype", FLOATS)
@few
@given(data=st.data())
def test_gamma_functions_are_within_four_ulp(dtype: str, data: st.DataObject) -> None:
    """They have roots below zero, where a value and that of the opposite number cancel; next to 0 they overflow."""
    x = data.draw(arrays(dtype))
    x = np.where(np.abs(x) < float(finfo(x.dtype).tiny), x.dtype.type(1), x)
    steps = steps_of(GAMMAS, dtype, 1)
    for step, found in zip(steps, apply(steps, x), strict=True):
        with np.errstate(all="ignore"):
            terms = np.where(x < 0, np.maximum(np.abs(wide_of(step.op, -x)), 1), 0)
        check_close(step.op, found, wide_of(step.op, x), 4, terms)


@pytest.mark.parametrize("dtype", FLOATS)
@few
@given(data=st.data())
def test_functions_of_two_operands_are_within_two_ulp(dtype: str, data: st.DataObject) -> None:
    operands = data.draw(pairs(dtype))
    steps = steps_of(["power", "atan2", "hypot"], dtype, 2)
    for step, found in zip(steps, apply(steps, *operands), strict=True):
        check_close(step.op, found, wide_of(step.op, *operands))


def test_a_power_of_one_half_is_no_root() -> None:
    """NumPy makes one of two scalars, and -inf has none."""
    (found,) = apply(steps_of(["power"], "float64", 2), np.array([-np.inf, 4.0]), np.array([0.5, 0.5]))
    np.testing.assert_array_equal(found, [np.inf, 2.0])


def test_a_hypotenuse_is_nan_beside_zero_too() -> None:
    """The longer side is the other one, as NaN is not longer than anything."""
    x, y = np.array([np.nan, 0.0, np.nan, np.inf, 0.0]), np.array([0.0, np.nan, np.nan, np.nan, 0.0])
    (found,) = apply(steps_of(["hypot"], "float64", 2), x, y)
    np.testing.assert_array_equal(found, np.hypot(x, y))


# -- what reductions are made of ---------------------------------------------------------------------------------------

ACCUMULATED = """def accumulated(n, x, y, most, least, most_number, ahead, behind, equal):
    for i in range(thread(), n, threads()):
        a, b = load_{0}(x, i, 0), load_{0}(y, i, 1)
        store_{0}(most, i, accumulate_max(a, b), 2)
        store_{0}(least, i, accumulate_min(a, b), 3)
        {1}
        store_bool(ahead, i, above(a, b), 5)
        store_bool(behind, i, below(a, b), 6)
        store_bool(equal, i, same(a, b), 7)
"""
NUMBERS = "store_{0}(most_number, i, number_max(a, b) + number_min(a, b), 4)"


@pytest.mark.parametrize("dtype", [*INTEGERS, "float32", "float64"])
@few
@given(data=st.data())
def test_extrema_of_accumulators(dtype: str, data: st.DataObject) -> None:
    x, y = data.draw(pairs(dtype))
    most, least, number = (np.zeros_like(x) for _ in range(3))
    ahead, behind, equal = (np.zeros(x.shape, "bool") for _ in range(3))
    real = dtype in FLOATS
    text = ACCUMULATED.format(dtype, NUMBERS.format(dtype) if real else "")
    launch(text, x.size, x, y, most, least, number, ahead, behind, equal)
    with np.errstate(all="ignore"):
        assert np.array_equal(most, np.maximum(x, y), equal_nan=real)
        assert np.array_equal(least, np.minimum(x, y), equal_nan=real)
        numbers = ~np.isnan(x) & ~np.isnan(y) & real
        assert np.array_equal(number[numbers], (x + y)[numbers], equal_nan=True)
        first_nan = np.isnan(x) & ~np.isnan(y)
        assert np.array_equal(ahead, (x > y) | first_nan)
        assert np.array_equal(behind, (x < y) | first_nan)
        assert np.array_equal(equal, (x == y) | (np.isnan(x) & np.isnan(y)))


SUMMED = """def summed(n, x, y, total, rest, whole, product, remainder):
    for i in range(thread(), n, threads()):
        a, b = load_{0}(x, i, 0), load_{0}(y, i, 1)
        error = rounding_error(a, b, a + b)
        store_{0}(total, i, add_reassociated(a, b), 2)
        store_{0}(rest, i, error, 3)
        store_{0}(whole, i, compensated(a + b, error), 4)
        store_{0}(product, i, multiply_reassociated(a, b), 5)
        store_{0}(remainder, i, fmod(a, b), 6)
"""


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@few
@given(data=st.data())
def test_sums_their_errors_and_remainders(dtype: str, data: st.DataObject) -> None:
    x, y = data.draw(pairs(dtype))
    found = [np.zeros_like(x) for _ in range(5)]
    launch(SUMMED.format(dtype), x.size, x, y, *found)
    with np.errstate(all="ignore"):
        back = (x + y) - x
        error = (x - ((x + y) - back)) + (y - back)
        check_exact(
            ["total", "rest", "whole", "product", "remainder"], found,
            [x + y, error, np.where(np.isnan(error), x + y, (x + y) + error), x * y, np.fmod(x, y)],
        )  # fmt: skip


# -- memory ------------------------------------------------------------------------------------------------------------

FOUR = """def copied(n, x, y):
    for i in range(4 * thread(), n, 4 * threads()):
        if aligned(x, 16) and aligned(y, 16):
            a, b, c, d = {1}_{0}(x, i)
            store4_{0}(y, i, a, b, c, d)
"""


def on_a_boundary(values: Array) -> Array:
    """A copy whose address is a multiple of 16."""
    room = np.zeros(values.nbytes + 16, "uint8")
    first = -room.ctypes.data % 16
    found = room[first : first + values.nbytes].view(values.dtype)
    found[:] = values
    return found


@pytest.mark.parametrize("dtype", DTYPES)
@few
@given(read=st.sampled_from(["load4", "load4_once"]), data=st.data())
def test_four_neighbours_at_once(dtype: str, read: str, data: st.DataObject) -> None:
    x = on_a_boundary(np.resize(data.draw(arrays(dtype, largest=12)), 12))
    y = on_a_boundary(np.zeros_like(x))
    launch(FOUR.format(dtype, read), x.size, x, y)
    assert same_bits(y, x)


COPY = "def copied(n, first, x, y):\n    for i in range(n):\n        store_{0}(y, i, load_{0}(x, first + i, 0), 1)\n"


@watched
@pytest.mark.parametrize("dtype", DTYPES)
@few
@given(first=st.integers(-3, 3), n=st.integers(0, 6))
def test_what_is_not_the_kernels_is_an_error(dtype: str, first: int, n: int) -> None:
    x, y = np.ones(12, dtype)[4:8], np.zeros(5, dtype)  # what lies around x is no other argument
    if n and (first < 0 or first + n > 4):
        with pytest.raises((IndexError, KernelError), match="outside of what"):
            launch(COPY.format(dtype), n, first, x, y, lanes=1)
    else:
        launch(COPY.format(dtype), n, first, x, y, lanes=1)
        assert y[:n].all() and not y[n:].any()


@watched
def test_four_neighbours_must_be_aligned() -> None:
    x, y = on_a_boundary(np.ones(9, "float32")), on_a_boundary(np.ones(8, "float32"))
    with pytest.raises((IndexError, KernelError), match="not aligned"):
        launch(FOUR.format("float32", "load4").replace("aligned(x, 16)", "True"), 8, x[1:], y)


def test_the_examples_of_allowed_memory_are_right() -> None:
    found = doctest.testmod(import_module("ngraph_rewrite.runtime.cuda.permitted"))
    assert found.attempted and not found.failed


def test_an_address_is_aligned_to_powers_of_two() -> None:
    found = np.zeros(5, "bool")
    launch("def tried(x, y):\n    for i in range(5):\n        store_bool(y, i, aligned(x, 1 << i), 1)\n", 24, found)
    assert found.tolist() == [True, True, True, True, False]


# -- places ------------------------------------------------------------------------------------------------------------

PLACES = """def placed(y):
    beside = block_deep() * blocks_down() + block_down()
    i = 10 * (beside * threads() + thread())
    store_int64(y, i, thread(), 1)
    store_int64(y, i + 1, threads(), 1)
    store_int64(y, i + 2, lane(), 1)
    store_int64(y, i + 3, lanes(), 1)
    store_int64(y, i + 4, block(), 1)
    store_int64(y, i + 5, blocks(), 1)
    store_int64(y, i + 6, block_down(), 1)
    store_int64(y, i + 7, blocks_down(), 1)
    store_int64(y, i + 8, block_deep(), 1)
    store_int64(y, i + 9, blocks_deep(), 1)
"""


@few
@given(grid=st.tuples(*[st.integers(1, 3)] * 3), lanes=st.integers(1, 9))
def test_threads_know_where_they_are(grid: tuple[int, int, int], lanes: int) -> None:
    blocks, down, deep = grid
    found = np.zeros((deep, down, blocks, lanes, 10), "int64")
    launch(PLACES, found, blocks=grid, lanes=lanes)
    for z, y, b, i in np.ndindex(*found.shape[:-1]):
        own = (b * lanes + i, blocks * lanes, i, lanes, b, blocks, y, down, z, deep)
        assert tuple(found[z, y, b, i]) == own


AGREED = """def agreed(x, y):
    for turn in range(3):
        store_bool(y, turn * lanes() + lane(), any_of_block(load_bool(x, turn * lanes() + lane(), 0)), 1)
"""


@few
@given(x=arrays("bool").map(lambda x: np.resize(x, (3, 7))))
def test_a_block_knows_whether_any_of_its_threads_found_something(x: Array) -> None:
    found = np.zeros((3, 7), "bool")
    launch(AGREED, x, found, lanes=7)
    assert (found == x.any(axis=1, keepdims=True)).all()


DIVIDED = """def divided(i, n, y):
    store_int64(y, 0, quotient(i, n), 0)
    store_int64(y, 1, remainder(i, n), 0)
    store_int64(y, 2, lesser(i, n), 0)
"""


@few
@given(i=st.integers(0, 2**63 - 1) | st.integers(0, 2**32), n=st.integers(1, 2**63 - 1) | st.integers(1, 2**32))
def test_division_of_places(i: int, n: int) -> None:
    found = np.zeros(3, "int64")
    launch(DIVIDED, i, n, found, lanes=1)
    assert found.tolist() == [i // n, i % n, min(i, n)]


CHUNKS = """def begun(n, m, y):
    for i in range(m + 1):
        store_int64(y, i, chunk_start(n, i, m), 0)
"""


@few
@given(length=st.integers(0, 2**40), nchunks=st.integers(1, 5))
def test_chunks_begin_where_others_end(length: int, nchunks: int) -> None:
    found = np.zeros(nchunks + 1, "int64")
    launch(CHUNKS, length, nchunks, found, lanes=1)
    assert found.tolist() == [length * i // nchunks for i in range(nchunks + 1)]


# -- blocks ------------------------------------------------------------------------------------------------------------

TURNED = """def turned(x, y):
    first, second = shared_{0}(64), shared_{0}(64)
    first[lane()] = load_{0}(x, lane(), 0)
    second[lane()] = load_{0}(x, lanes() - 1 - lane(), 0)
    barrier()
    store_{0}(y, lane(), first[lanes() - 1 - lane()], 1)
    store_{0}(y, lanes() + lane(), second[lane()], 1)
"""


@pytest.mark.parametrize("dtype", DTYPES)
@few
@given(data=st.data())
def test_a_block_shares_arrays(dtype: str, data: st.DataObject) -> None:
    x = data.draw(arrays(dtype))
    found = np.zeros(2 * x.size, dtype)
    launch(TURNED.format(dtype), x, found, lanes=x.size)
    assert same_bits(found, np.tile(x[::-1], 2))


BOUNDED = """def bounded(y, length):
    launch_bounds(64, 2)
    at = anew(lane())
    while at < length:
        store_int64(y, at, lanes_of(64), 0)
        at += lanes_of(64)
"""


@pytest.mark.parametrize("length", [0, 1, 100])
def test_a_kernel_knows_how_many_threads_a_block_has(length: int) -> None:
    found, lanes = np.zeros(max(length, 1), "int64"), 4 if SIMULATED else 64
    launch(BOUNDED, found, length, lanes=lanes)
    assert set(found.tolist()) == {lanes if length else 0}


EXCHANGED = """def exchanged(x, y, places):
    value, apart = load_{0}(x, thread(), 0), warp_lanes() // 2
    while apart > 0:
        value = maximum(value, shuffled_{0}(value, apart))
        apart //= 2
    store_{0}(y, thread(), value, 1)
    store_int64(places, thread(), 1000 * warp() + warps(), 2)
"""
WARP = 1 if SIMULATED else 32
HELD = [dtype for dtype in DTYPES if "float16" not in dtype]


@pytest.mark.parametrize("dtype", HELD)
@few
@given(data=st.data())
def test_threads_of_a_warp_exchange_values(dtype: str, data: st.DataObject) -> None:
    x = np.resize(data.draw(arrays(dtype)), (4, WARP))
    found, places = np.zeros_like(x), np.zeros(x.shape, "int64")
    launch(EXCHANGED.format(dtype), x, found, places, blocks=2, lanes=2 * WARP)
    with np.errstate(all="ignore"):
        largest = np.maximum.reduce(x, axis=1)
    assert np.array_equal(found, np.broadcast_to(largest[:, None], x.shape), equal_nan=dtype in FLOATS)
    assert places.tolist() == [[1000 * warp + 4] * WARP for warp in range(4)]


BRANCHED = """def branched(n, step, x, y):
    for i in range(thread(), n, threads()):
        total = np.int64(0)
        for k in range(i, n, step):
            value = load_int64(x, k, 0)
            if (value > 0 and k != 3) or not value:
                total = to_int64(total + value + 1)
            elif k == 5:
                break
        store_int64(y, i, total, 1)
"""


@few
@given(arrays("int64", largest=12), st.integers(1, 4))
def test_kernels_branch_and_loop_as_python_does(x: Array, step: int) -> None:
    found, expected = np.zeros_like(x), []
    launch(BRANCHED, x.size, step, x, found, lanes=3)
    for i in range(x.size):
        total = 0
        for k in range(i, x.size, step):
            if (x[k] > 0 and k != 3) or not x[k]:
                total += int(x[k]) + 1
            elif k == 5:
                break
        expected.append(total % 2**64)
    assert found.astype("uint64").tolist() == expected


# -- draws -------------------------------------------------------------------------------------------------------------

DRAWN = """def drawn(block, call, stream, seed, bits, words, units, single):
    a, b, c, d = philox_block(block, call, stream, seed)
    store_uint64(words, 0, a, 0)
    store_uint64(words, 1, b, 0)
    store_uint64(words, 2, c, 0)
    store_uint64(words, 3, d, 0)
    first, second = unit_double(a, b), unit_single(c)
    x, y = box_muller(first, second)
    store_float64(units, 0, first, 1)
    store_float64(units, 1, second, 1)
    store_float64(units, 2, x, 1)
    store_float64(units, 3, y, 1)
    store_float64(units, 4, bits_as_float64(bits), 1)
    store_float32(single, 0, bits_as_float32(bits), 2)
"""
INT64 = st.integers(-(2**63), 2**63 - 1)


@few
@given(block=st.integers(0, 2**63 - 1), call=st.integers(0, 2**32 - 1), stream=st.integers(0, 2**32 - 1), seed=INT64,
       number=st.floats())  # fmt: skip
def test_draws_have_the_bits_of_the_cpu(block: int, call: int, stream: int, seed: int, number: float) -> None:
    found, units, single = np.zeros(4, "uint64"), np.zeros(5), np.zeros(1, "float32")
    bits = int(np.float64(number).view("int64"))
    launch(DRAWN, block, call, stream, seed, bits, found, units, single, lanes=1)
    low = 0xFFFFFFFF
    words = [int(word) for word in philox((block & low, block >> 32, call, stream), (seed & low, seed >> 32 & low))]
    assert found.tolist() == words
    first, second = ((words[0] >> 5) * 2.0**26 + (words[1] >> 6)) * 2.0**-53, (words[2] >> 8) * 2.0**-24
    radius, angle = math.sqrt(-2 * math.log(1 - first)), 2 * math.pi * second
    assert units[:2].tolist() == [first, second]
    assert np.allclose(units[2:4], [radius * math.cos(angle), radius * math.sin(angle)], rtol=1e-14, atol=1e-15)
    assert same_bits(units[4:], np.array([number]))
    assert same_bits(single, np.array([bits]).astype("int32").view("float32"))


# -- what is compiled --------------------------------------------------------------------------------------------------

MODULES = (
    "places simulated_bounds simulated_division simulated_casts simulated_fused simulated_memory simulated_scalars "
    "simulated_warps"
)
SOURCES = Path(__file__).parents[1]
EXTREMA = """def larger(x, y):
    # also for an OLDER device
    store_float32(y, 0, maximum(load_float32(x, 0, 0), load_float32(x, 1, 0)), 1)
"""
FUSABLE = """def fusable(x, y):
    a, b, c = load_{0}(x, 0, 0), load_{0}(x, 1, 0), load_{0}(x, 2, 0)
    store_{0}(y, 0, a * b + c, 1)
    store_{0}(y, 1, a / b, 1)
    store_{0}(y, 2, sqrt(c), 1)
"""


def steps_on(dtype: str) -> list[Step]:
    """All operations on two operands of a dtype and a bool."""
    own = [Step("select", dtype, (2, 0, 1)), *(Step("cast", other, (0,)) for other in DTYPES)]
    if dtype == "bool":
        return own + steps_of(["add", "multiply", "maximum", "minimum", *PREDICATES], dtype, 2)
    own += bitcasts(dtype)
    one, two = ["bitwise_invert"], BITS
    if dtype in FLOATS:
        one = ["signbit", "sqrt", "reciprocal", *FUNCTIONS, *GAMMAS]
        two = ["divide", "copysign", "nextafter", "atan2", "hypot"]
    own += steps_of([*UNARY, *CLASSES, *one], dtype, 1)
    return own + steps_of([*BINARY, *PREDICATES, "power", *two], dtype, 2)


def kernels() -> dict[str, str]:
    """Texts in which every word is called, by what they are about."""
    texts = {"places": PLACES, "division": DIVIDED, "draws": DRAWN, "chunks": CHUNKS}
    fused = "def rounded(x, y):\n    a = load_float32(x, 0, 0)\n    store_float32(y, 0, fused(a, a, a), 1)\n"
    distributed = (
        "gamma_draw(a, a) + poisson_draw(a, a) + binomial_draw(a, a, a) + vonmises_draw(a, a) + zipf_draw(a, a)"
    )
    texts |= {"distributions": fused.replace("float32", "float64").replace("fused(a, a, a)", distributed)}
    texts |= {"extrema": EXTREMA, "agreement": AGREED}
    texts |= {"once": fused, "branches": BRANCHED, "bounds": BOUNDED, "copies": COPY.format("float32")}
    for dtype in DTYPES:
        texts |= {f"{read} {dtype}": FOUR.format(dtype, read) for read in ("load4", "load4_once")}
        texts |= {f"shared {dtype}": TURNED.format(dtype)}
        texts |= {f"operations {dtype}": cuda_kernels.map_text(steps_on(dtype), [dtype, dtype, "bool"])}
    texts |= {f"warps {dtype}": EXCHANGED.format(dtype) for dtype in HELD}
    for dtype in [*INTEGERS, "float32", "float64"]:
        texts |= {f"accumulators {dtype}": ACCUMULATED.format(dtype, NUMBERS.format(dtype) if "float" in dtype else "")}
    for dtype in ("float32", "float64"):
        texts |= {f"sums {dtype}": SUMMED.format(dtype), f"fusable {dtype}": FUSABLE.format(dtype)}
    return texts


def test_every_word_is_compiled_for_devices() -> None:
    """By one process that simulates none, for two kinds of devices; nothing is left to be found elsewhere."""
    texts = kernels()
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "0"}
    done = subprocess.run([sys.executable, "cuda_ptx.py"], input=json.dumps(texts), env=environment, cwd=SOURCES,
                          capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr
    modules = [import_module(f"ngraph_rewrite.runtime.cuda.{name}") for name in MODULES.split()]
    words = {word for module in modules for word in module.__all__}
    assert words <= set(re.findall(r"\b\w+(?=\()", " ".join(texts.values())))
    found = json.loads(done.stdout)
    *newer, older = found.pop("extrema")
    assert ["max.NaN.f32" in module for module in (*newer, older)] == [True, True, False]
    for name, modules in found.items():
        assert [re.findall(r"\.target (sm_\d+)", module) for module in modules] == [["sm_80"], ["sm_90"]], name
        assert [waits_first(module) for module in modules] == [False, True], name
        for module in modules:
            assert ".extern .func" not in module, name
            check_instructions(name, module)


def waits_first(module: str) -> bool:
    """Whether a kernel, before anything else, waits for those that were launched before, and lets the next begin."""
    _, body = module.split(".entry")
    lines = [line.strip() for line in body.partition("{")[2].splitlines()]
    first, second, *_ = [line for line in lines if line and not line.startswith((".reg", ".shared", ".local", "//"))]
    assert body.count("griddepcontrol") in (0, 2)
    return first == "griddepcontrol.wait;" and second == "griddepcontrol.launch_dependents;"


def check_instructions(name: str, module: str) -> None:
    """Results are rounded as they are written, neighbours moved together, small numbers divided as such."""
    about, _, dtype = name.rpartition(" ")
    if name == "bounds":
        assert ".maxntid 64, 1, 1" in module and ".minnctapersm 2" in module
    if about == "fusable":
        found = re.findall(r"\b(fma|mul|add|div|sqrt)(\S*)\.f\d\d\b", module)
        assert found == [("mul", ".rn"), ("add", ".rn"), ("div", ".rn"), ("sqrt", ".rn")]
    if about == "four":
        moves = set(re.findall(r"\b((?:ld|st)\.global\S*)\.[a-z]\d+\s", module))
        together = 2 if np.dtype(dtype).itemsize == 8 else 4
        pairs = 2 if dtype == "bfloat16" else together  # rounded two at a time
        assert moves == {f"ld.global.v{together}", f"st.global.v{pairs}"}
    if name == "division":
        assert "div.u32" in module
    if about.startswith("block"):
        assert "shfl.sync.bfly" in module and "bar.sync" in module and ".local" not in module
