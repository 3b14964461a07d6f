# SPDX-License-Identifier: Apache-2.0
"""Vector math: each function is within its bound, right at special values, and packed; remainders are exact.

What is right NumPy says in higher precision: float64 for float32, ``longdouble`` for float64 (mpmath for erf). All is
done as the processor can, without what only AVX-512 has if it has that, and without the instruction that rounds
``x * y + z`` once.
"""

import os
import platform
import re
from collections.abc import Callable, Iterator
from typing import Any
from weakref import WeakValueDictionary

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from llvmlite import binding
from scipy import special

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.codegen.loops import MapNest, Operand, Source, Step, render_map
from ngraph_rewrite.runtime import compiler, lanes, reals
from ngraph_rewrite.runtime.machine import Launch, LaunchTable
from ngraph_rewrite.types.dtypes import BFLOAT16, FLOAT16
from tests.programs import drawn

Array = np.ndarray[Any, Any]
INF, NAN, PI = float("inf"), float("nan"), np.pi
compiling = settings(deadline=None)  # the first example of a function compiles its kernel

# The bounds that the functions' docstrings state, in units in the last place.
BOUNDS = {
    "exp": 1.07, "exp2": 1.2, "expm1": 1.6, "tanh": 1.4, "sigmoid": 1.7, "erf": 1.6, "sinh": 1.7, "cosh": 1.4,
    "log": 0.9, "log2": 1.3, "log10": 1.2, "log1p": 1.4, "sin": 1.1, "cos": 1.1, "tan": 1.4, "power": 1.0,
    "asinh": 1.9, "acosh": 1.9, "atanh": 1.8, "asin": 1.4, "acos": 1.3, "atan": 1.5, "atan2": 1.6,
    "erfinv": 2.5, "cbrt": 0.6,
}  # fmt: skip
UNARY = [name for name in BOUNDS if name not in ("power", "atan2")]
ODD = ["tanh", "erf", "sin", "tan", "sinh", "asinh", "atanh", "asin", "atan", "erfinv", "cbrt"]
DTYPES = ["float32", "float64"]


# -- running and knowing -----------------------------------------------------------------------------------------------


def source_of(function: str, dtype: str, operands: int, result: str | None = None) -> Source:
    """A kernel of a function, whose values become those of another dtype if one is given."""
    vector, steps = Operand(dtype, ("1",)), [Step(function, dtype, tuple(range(operands)))]
    if result not in (None, dtype):
        steps.append(Step("cast", str(result), (operands,)))
    stored = (operands + len(steps) - 1, Operand(result or dtype, ("1",)))
    return render_map(MapNest(1, (vector,) * operands, tuple(steps), (stored,), tuple(range(operands + 1))))


class Machine:
    """Applies functions to arrays by kernels of its own cache folder."""

    def __init__(self, cache: Cache) -> None:
        self.cache = cache
        self.kernels: dict[tuple[str, str, str | None], tuple[Source, compiler.Kernel]] = {}

    def __call__(self, function: str, *operands: Array, result: str | None = None) -> Array:
        key = function, operands[0].dtype.name, result
        if key not in self.kernels:
            source = source_of(function, key[1], len(operands), result)
            self.kernels[key] = source, compiler.compile_kernel(source.text, source.name, self.cache)
        source, kernel = self.kernels[key]
        found = np.empty_like(operands[0], result)
        arguments = {"n0": found.size, "y0": found.ctypes.data}
        arguments |= {f"x{i}": operand.ctypes.data for i, operand in enumerate(operands)}
        LaunchTable([Launch(kernel, [arguments[name] for name in source.signature])]).run()
        return found


MACHINES = ["as the processor can", *(["without lanes"] if lanes.has_lanes() else []), "multiplies, then adds"]


@pytest.fixture(scope="module", params=MACHINES)
def machine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiler, "_kernels", WeakValueDictionary())
        if request.param == "without lanes":
            patch.setattr(lanes, "has_lanes", lambda: False)
        if request.param == "multiplies, then adds":
            patch.setattr(reals, "fuses", lambda: False)
        yield Machine(Cache(tmp_path_factory.mktemp("kernels")))


def wide_sigmoid(x: Array) -> Array:
    small = np.exp(-np.abs(x))
    return np.asarray(np.where(x < 0, small, 1) / (1 + small))


def wide_erf(x: Array) -> Array:
    if x.dtype == np.float64:
        return np.asarray(special.erf(x))
    with mpmath.workdps(25):
        values = [x.dtype.type(mpmath.nstr(mpmath.erf(mpmath.mpf(str(v))), 25)) for v in x]
    return np.copysign(np.array(values, x.dtype), x)


def wide_erfinv(x: Array) -> Array:
    if x.dtype == np.float64:
        return np.copysign(special.erfinv(x), x)
    with mpmath.workdps(40):
        inside = [v if abs(v) < 1 else v.dtype.type(0) for v in x]
        values = [x.dtype.type(mpmath.nstr(mpmath.erfinv(mpmath.mpf(float(v))), 25)) for v in inside]
    beyond = np.where(np.abs(x) == 1, np.copysign(INF, x), NAN)
    return np.copysign(np.where(np.abs(x) < 1, np.array(values, x.dtype), beyond), x)


def truth(function: str, *operands: Array) -> Array:
    wide = np.float64 if operands[0].dtype == np.float32 else np.longdouble
    own: dict[str, Callable[..., Array]] = {"sigmoid": wide_sigmoid, "erf": wide_erf, "erfinv": wide_erfinv}
    with np.errstate(all="ignore"):
        return np.asarray((own.get(function) or getattr(np, function))(*(x.astype(wide) for x in operands)))


def check(machine: Machine, function: str, *operands: Array, by: str = "") -> None:
    """Within the bound; finite, infinite and NaN where the right result is; a zero that is exact keeps its sign."""
    found, right = machine(by or function, *operands), truth(function, *operands)
    with np.errstate(all="ignore"):
        rounded = right.astype(found.dtype)
        usual = np.isfinite(rounded)
        wrong = np.where(usual, ~np.isfinite(found), ~((found == rounded) | (np.isnan(found) & np.isnan(rounded))))
        wrong |= (right == 0) & (np.signbit(found) != np.signbit(right))
        off = np.where(usual, np.abs(found.astype(right.dtype) - right) / np.spacing(np.abs(rounded)), 0)
    wrong |= off > BOUNDS[function]
    assert not wrong.any(), [(*(x[i] for x in operands), found[i], right[i], off[i]) for i in np.flatnonzero(wrong)[:5]]


# -- bounds ------------------------------------------------------------------------------------------------------------


def sample(dtype: str, size: int) -> Array:
    """Bit patterns of all exponents, numbers around 0 and 1, large ones, and those at the edges."""
    rng = np.random.default_rng(0)
    bits = np.dtype(f"u{np.dtype(dtype).itemsize}")
    patterns = rng.integers(0, np.iinfo(bits).max, size, dtype=bits, endpoint=True).view(dtype)
    drawn = [rng.normal(scale=3, size=size), rng.normal(scale=0.5, size=size), rng.normal(scale=300, size=size)]
    drawn += [1 + rng.normal(scale=1e-3, size=size), 2.0 ** np.arange(-149, 128), 10.0 ** np.arange(-37, 38)]
    limits = np.finfo(dtype)
    edges = [0.0, limits.smallest_subnormal, limits.tiny, limits.eps, 0.5, 1.0, limits.max, INF, NAN]
    positive = np.concatenate([*drawn, edges]).astype(dtype)
    return np.concatenate([patterns, positive, -positive])


@pytest.mark.sampled
@pytest.mark.parametrize("function", UNARY)
def test_a_dense_sample_of_float32(machine: Machine, function: str) -> None:
    step = 32771 if function == "erfinv" else 8209  # SciPy is slow there
    check(machine, function, np.arange(0, 2**32, step, dtype=np.uint64).astype(np.uint32).view(np.float32))


@pytest.mark.sampled
@pytest.mark.parametrize("function", UNARY)
def test_a_sample_of_float64(machine: Machine, function: str) -> None:
    check(machine, function, sample("float64", {"erf": 300, "erfinv": 60}.get(function, 15_000)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_powers_of_a_sample(machine: Machine, dtype: str) -> None:
    """Of anything to anything; and results over all exponents, where the logarithm's error counts most."""
    x = sample(dtype, 20_000)
    check(machine, "power", x, np.random.default_rng(1).permutation(x))
    with np.errstate(all="ignore"):
        exponents = np.random.default_rng(2).uniform(-1.05, 1, x.size) * np.log(np.finfo(dtype).max)
        check(machine, "power", np.abs(x), (exponents / np.log(np.abs(x).astype(np.longdouble))).astype(dtype))


@pytest.mark.sampled
@pytest.mark.parametrize("function", UNARY)
@compiling
@given(st.lists(st.floats(width=32), min_size=1, max_size=20))
def test_any_float32(machine: Machine, function: str, numbers: list[float]) -> None:
    check(machine, function, np.array(numbers, "float32"))


@compiling
@given(st.lists(st.tuples(st.floats(), st.floats()), min_size=1, max_size=20))
def test_any_power(machine: Machine, pairs: list[tuple[float, float]]) -> None:
    x, y = np.array(pairs).T
    check(machine, "power", x.copy(), y.copy())


@pytest.mark.parametrize("dtype", DTYPES)
def test_two_to_a_power(machine: Machine, dtype: str) -> None:
    """A base that a kernel says, for which there may be a function."""
    vector = Operand(dtype, ("1",))
    steps = Step("constant", dtype, (), (("value", 2.0),)), Step("power", dtype, (1, 0))
    source = render_map(MapNest(1, (vector,), steps, ((2, vector),), (0, 1)))
    kernel = compiler.compile_kernel(source.text, source.name, machine.cache)
    machine.kernels["exp2 by power", dtype, None] = source, kernel
    n = np.arange(-1074, 1024) if dtype == "float64" else np.arange(-149, 128)
    assert same_bits(machine("exp2 by power", n.astype(dtype)), np.ldexp(1.0, n).astype(dtype))
    x, right = np.array([*SPECIAL["exp2"], (NAN, NAN)], dtype).T
    assert same_bits(machine("exp2 by power", x.copy()), right)
    check(machine, "exp2", sample(dtype, 5000), by="exp2 by power")


@compiling
@given(st.integers(-(2**60), 2**60), st.integers(1, 2**30))
@example(6381956970095103 * 2**797, 0)  # no float64 is nearer to a multiple of pi / 2
@example(2**1023, 0)
def test_quarter_turns(machine: Machine, turns: int, more: int) -> None:
    """A float64 next to a multiple of pi / 2, whose sine or cosine is all error unless 2 / pi has many digits."""
    with mpmath.workprec(1400):
        exact = float(mpmath.mpf(turns) * more * mpmath.pi / 2) if more else float(turns)
        right = {name: getattr(mpmath, name)(mpmath.mpf(exact)) for name in ("sin", "cos", "tan")}
        for name, value in right.items():
            (found,) = machine(name, np.array([exact]))
            assert abs(mpmath.mpf(float(found)) - value) <= BOUNDS[name] * np.spacing(abs(float(value)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_angles_of_a_sample(machine: Machine, dtype: str) -> None:
    """Of points anywhere, near the axes and the diagonals, and where a number is far from the other one."""
    rng = np.random.default_rng(3)
    x = sample(dtype, 20_000)
    check(machine, "atan2", x, rng.permutation(x))
    check(machine, "atan2", x, rng.choice(np.array([0.0, -0.0, INF, -INF], dtype), x.size))
    with np.errstate(all="ignore"):
        for slope in 0.5, 1, 2:
            near = (x * slope * (1 + rng.normal(scale=1e-3, size=x.size))).astype(dtype)
            check(machine, "atan2", x, near * rng.choice([-1, 1], x.size).astype(dtype))


@compiling
@given(st.lists(st.tuples(st.floats(), st.floats()), min_size=1, max_size=20))
@example([(5e-324, 5e-324), (0.0, 5e-324), (5e-324, -1.5e-323), (1.7e308, 1.6e308), (1.7e308, -5e-324)])
def test_any_angle(machine: Machine, points: list[tuple[float, float]]) -> None:
    y, x = np.array(points).T
    check(machine, "atan2", y.copy(), x.copy())


# -- where results end -------------------------------------------------------------------------------------------------


def neighbours(dtype: str, around: list[float]) -> Array:
    """The numbers next to some, a hundred on each side."""
    kind = np.int32 if dtype == "float32" else np.int64
    near = np.array(around, dtype).view(kind)[:, None] + np.arange(-100, 101, dtype=kind)
    return near.ravel().view(dtype).copy()


ENDS = {
    "exp": lambda limits: np.log([limits.max, limits.tiny, limits.smallest_subnormal / 2]),
    "exp2": lambda limits: np.log2([limits.max, limits.tiny, limits.smallest_subnormal / 2 or 2.0**-1075]),
    "expm1": lambda limits: [np.log(limits.max), np.log(limits.eps), np.log(2) / 2, -np.log(2) / 2],
    "sigmoid": lambda limits: [np.log(limits.tiny), np.log(limits.eps), -np.log(limits.max)],
    "tanh": lambda limits: [0.55, 9.0, 10.0, 19.0, 20.0],
    "erf": lambda limits: [1.0, 3.9, 4.0, 5.9, 6.0],
    "erfinv": lambda limits: [limits.tiny, -0.5, 0.9966254, 0.9990346, 1.0, -1.0],
    "log": lambda limits: [limits.tiny, np.sqrt(0.5), 1.0, np.sqrt(2)],
    "log1p": lambda limits: [-1.0, np.sqrt(0.5) - 1, limits.tiny, np.sqrt(2) - 1, 1.0, limits.max / 2],
    "sinh": lambda limits: [1.0, np.log(limits.max), np.log(limits.max) + np.log(2)],
    "cosh": lambda limits: [np.log(limits.eps), np.log(limits.max), np.log(limits.max) + np.log(2)],
    "cbrt": lambda limits: [2.0**-60, 2.0**-600, limits.tiny, limits.smallest_subnormal * 101, 1.0, 8.0, limits.max],
    "asinh": lambda limits: [1.0, 2.0**26, 2.0**56, limits.tiny, np.sqrt(limits.max)],
    "acosh": lambda limits: [1.0, 2.0, 2.0**26, 2.0**56, np.sqrt(limits.max)],
    "atanh": lambda limits: [limits.tiny, 0.5, -0.5, 1.0, -1.0],
    "asin": lambda limits: [limits.tiny, 0.5, -0.5, np.sqrt(0.5), 1.0, -1.0],
    "acos": lambda limits: [limits.eps, 0.5, -0.5, np.sqrt(0.5), 1.0, -1.0],
    "atan": lambda limits: [limits.tiny, 0.5, 1.0, 2.0, -2.0, 1 / limits.eps, limits.max / 2, limits.max],
    "tan": lambda limits: [2.0**-30, np.pi / 4, np.pi / 2, 2.0**18, 2.0**40, 2.0**50, 2.0**76, 2.0**102],
    "sin": lambda limits: [2.0**-30, np.pi / 4, 2.0**18, 2.0**40, 2.0**50, 2.0**76, 2.0**102],
    "cos": lambda limits: [2.0**-30, np.pi / 4, 2.0**18, 2.0**40, 2.0**50, 2.0**76, 2.0**102],
}  # fmt: skip


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", ENDS)
def test_where_a_formula_ends(machine: Machine, function: str, dtype: str) -> None:
    """Overflow and underflow come where they must, and where two formulas meet both are right."""
    with np.errstate(divide="ignore"):
        limits = np.finfo(dtype)
        places = [float(x) for x in ENDS[function](limits) if np.isfinite(x)]
    check(machine, function, neighbours(dtype, places))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", ["tanh", "sigmoid", "erf", "sin", "cos"])
def test_nothing_leaves_the_range(machine: Machine, function: str, dtype: str) -> None:
    found = machine(function, sample(dtype, 30_000))
    known = found[~np.isnan(found)]
    assert np.all(known <= 1) and np.all(known >= (0 if function == "sigmoid" else -1))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", [*ODD, "cos", "cosh"])
def test_odd_and_even_functions_are_so_to_the_bit(machine: Machine, function: str, dtype: str) -> None:
    x = sample(dtype, 10_000)
    there, back = machine(function, x), machine(function, -x)
    same = back == (there if function in ("cos", "cosh") else -there)
    assert np.all(same | np.isnan(there))


@pytest.mark.parametrize("result", DTYPES)
@drawn(60)
@given(st.integers(0, 100), st.sampled_from(["exp", "tanh", "erf", "sin"]), st.sampled_from(DTYPES))
def test_where_a_number_stands_does_not_matter(
    machine: Machine, result: str, count: int, function: str, dtype: str
) -> None:
    """In a vector or in what is left of a loop; with wider results too, of which fewer are in a vector."""
    x = sample(dtype, 100)[70 : 70 + count]
    together = machine(function, x, result=result)
    apart = [machine(function, one, result=result) for one in x.reshape(-1, 1)]
    assert together.tobytes() == b"".join(one.tobytes() for one in apart)


def test_functions_stand_side_by_side(machine: Machine) -> None:
    """In one kernel, where each has its functions of vectors."""
    vector, names = Operand("float32", ("1",)), ("exp", "tanh", "erf", "exp")
    steps = [Step(name, "float32", (0 if i < 3 else 2,)) for i, name in enumerate(names)]  # the last one of tanh
    steps += [Step("add", "float32", pair) for pair in ((1, 2), (5, 3), (6, 4))]
    source = render_map(MapNest(1, (vector,), tuple(steps), ((7, vector),), (0, 1)))
    kernel = compiler.compile_kernel(source.text, source.name, machine.cache)
    x = np.random.default_rng(0).normal(size=1001).astype(np.float32)
    found = np.empty_like(x)
    arguments = {"n0": x.size, "x0": x.ctypes.data, "y0": found.ctypes.data}
    LaunchTable([Launch(kernel, [arguments[name] for name in source.signature])]).run()
    one, two, three = (machine(name, x) for name in names[:3])
    assert np.array_equal(found, one + two + three + machine("exp", two))


# -- special values ----------------------------------------------------------------------------------------------------

SPECIAL: dict[str, list[tuple[float, float]]] = {
    "exp": [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (1e30, INF), (-1e30, 0.0)],
    "exp2": [(0.0, 1.0), (INF, INF), (-INF, 0.0), (10.0, 1024.0), (-3.0, 0.125)],
    "expm1": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -1.0)],
    "tanh": [(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0)],
    "sigmoid": [(0.0, 0.5), (-0.0, 0.5), (INF, 1.0), (-INF, 0.0)],
    "erf": [(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0)],
    "erfinv": [(0.0, 0.0), (-0.0, -0.0), (1.0, INF), (-1.0, -INF), (1.5, NAN), (-1.5, NAN), (INF, NAN), (-INF, NAN)],
    "log": [(1.0, 0.0), (0.0, -INF), (-0.0, -INF), (INF, INF), (-1.0, NAN), (-INF, NAN)],
    "log2": [(1.0, 0.0), (8.0, 3.0), (0.0, -INF), (-0.0, -INF), (INF, INF), (-1.0, NAN), (-INF, NAN)],
    "log10": [(1.0, 0.0), (1000.0, 3.0), (0.0, -INF), (-0.0, -INF), (INF, INF), (-1.0, NAN), (-INF, NAN)],
    "log1p": [(0.0, 0.0), (-0.0, -0.0), (-1.0, -INF), (INF, INF), (-2.0, NAN), (-INF, NAN)],
    "sin": [(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN)],
    "cos": [(0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN)],
    "tan": [(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN)],
    "sinh": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (1e30, INF), (-1e30, -INF)],
    "asin": [(0.0, 0.0), (-0.0, -0.0), (1.0, PI / 2), (-1.0, -PI / 2), (1.5, NAN), (-1.5, NAN), (INF, NAN)],
    "acos": [(1.0, 0.0), (0.0, PI / 2), (-0.0, PI / 2), (-1.0, PI), (1.5, NAN), (-1.5, NAN), (-INF, NAN)],
    "atan": [(0.0, 0.0), (-0.0, -0.0), (1.0, PI / 4), (INF, PI / 2), (-INF, -PI / 2)],
    "asinh": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF)],
    "acosh": [(1.0, 0.0), (0.5, NAN), (-2.0, NAN), (INF, INF), (-INF, NAN)],
    "atanh": [(0.0, 0.0), (-0.0, -0.0), (1.0, INF), (-1.0, -INF), (1.5, NAN), (-1.5, NAN), (INF, NAN), (-INF, NAN)],
    "cosh": [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, INF), (-1e30, INF)],
    "cbrt": [(0.0, 0.0), (-0.0, -0.0), (1.0, 1.0), (-27.0, -3.0), (1e6, 100.0), (INF, INF), (-INF, -INF)],
}
# C's table of atan2: ordinates, abscissas, angles
ANGLES = [
    (0.0, 0.0, 0.0), (-0.0, 0.0, -0.0), (0.0, -0.0, PI), (-0.0, -0.0, -PI), (0.0, 1.0, 0.0), (-0.0, 1.0, -0.0),
    (0.0, -1.0, PI), (-0.0, -1.0, -PI), (1.0, 0.0, PI / 2), (1.0, -0.0, PI / 2), (-1.0, 0.0, -PI / 2),
    (-1.0, -0.0, -PI / 2), (1.0, INF, 0.0), (-1.0, INF, -0.0), (1.0, -INF, PI), (-1.0, -INF, -PI),
    (INF, 1.0, PI / 2), (-INF, 1.0, -PI / 2), (INF, -1.0, PI / 2), (INF, INF, PI / 4), (-INF, INF, -PI / 4),
    (INF, -INF, 3 * PI / 4), (-INF, -INF, -3 * PI / 4), (NAN, 1.0, NAN), (1.0, NAN, NAN), (NAN, INF, NAN),
    (INF, NAN, NAN), (NAN, 0.0, NAN), (0.0, NAN, NAN), (1.0, 1.0, PI / 4), (1.0, -1.0, 3 * PI / 4),
]  # fmt: skip
# C's table of pow: bases, exponents, results
POWERS = [
    (0.0, -3.0, INF), (-0.0, -3.0, -INF), (0.0, -2.0, INF), (-0.0, -2.0, INF), (-0.0, -0.5, INF), (-0.0, -INF, INF),
    (0.0, 3.0, 0.0), (-0.0, 3.0, -0.0), (0.0, 0.5, 0.0), (-0.0, 0.5, 0.0), (-0.0, 2.0, 0.0), (-0.0, INF, 0.0),
    (-1.0, INF, 1.0), (-1.0, -INF, 1.0), (1.0, NAN, 1.0), (1.0, INF, 1.0), (1.0, -INF, 1.0), (NAN, 0.0, 1.0),
    (NAN, -0.0, 1.0), (INF, 0.0, 1.0), (-2.0, 0.0, 1.0), (0.0, 0.0, 1.0), (NAN, 1.0, NAN), (2.0, NAN, NAN),
    (-1.0, NAN, NAN), (-2.0, 0.5, NAN), (-2.0, -0.5, NAN), (0.5, -INF, INF), (-0.5, -INF, INF), (2.0, -INF, 0.0),
    (0.5, INF, 0.0), (2.0, INF, INF), (-2.0, INF, INF), (-INF, -3.0, -0.0), (-INF, -2.0, 0.0), (-INF, -0.5, 0.0),
    (-INF, 3.0, -INF), (-INF, 2.0, INF), (-INF, 0.5, INF), (INF, -0.5, 0.0), (INF, 0.5, INF), (-2.0, 3.0, -8.0),
    (-2.0, 4.0, 16.0), (-2.0, -1.0, -0.5), (-3.0, 1e30, INF), (2.0, 10.0, 1024.0), (9.0, 0.5, 3.0), (10.0, 2.0, 100.0),
]  # fmt: skip


def same_bits(found: Array, right: Array) -> bool:
    """Equal, signs of zeros included; any NaN is one NaN."""
    equal = (found == right) & (np.signbit(found) == np.signbit(right))
    return bool(np.all(equal | (np.isnan(found) & np.isnan(right))))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", UNARY)
def test_special_values(machine: Machine, function: str, dtype: str) -> None:
    x, right = np.array([*SPECIAL[function], (NAN, NAN)], dtype).T
    found = machine(function, x.copy())
    assert same_bits(found, right), found


@pytest.mark.parametrize("dtype", DTYPES)
def test_special_angles(machine: Machine, dtype: str) -> None:
    y, x, right = np.array(ANGLES, dtype).T
    found = machine("atan2", y.copy(), x.copy())
    assert same_bits(found, right), found


@pytest.mark.parametrize("dtype", DTYPES)
def test_special_powers(machine: Machine, dtype: str) -> None:
    x, y, right = np.array(POWERS, dtype).T
    found = machine("power", x.copy(), y.copy())
    assert same_bits(found, right), found


@pytest.mark.parametrize("dtype", DTYPES)
def test_powers_of_two_and_of_ten_are_exact(machine: Machine, dtype: str) -> None:
    least, most = (-149, 128) if dtype == "float32" else (-1074, 1024)
    n = np.arange(least, most).astype(dtype)
    x = np.ldexp(np.ones_like(n), np.arange(least, most))
    assert same_bits(machine("exp2", n), x)
    assert same_bits(machine("log2", x), n)
    tens = np.arange(0, 11 if dtype == "float32" else 23).astype(dtype)
    assert same_bits(machine("log10", (10.0 ** tens.astype(np.longdouble)).astype(dtype)), tens)


def divided(dtype: str) -> tuple[Array, Array]:
    """Dividends and divisors: special ones, any, moderate ones, and multiples of the divisor and their neighbours."""
    rng, any_x = np.random.default_rng(4), sample(dtype, 5000)
    limits = np.finfo(dtype)
    special = [0.0, limits.smallest_subnormal, limits.tiny, 0.5, 1.0, 3.0, 2 / limits.eps, limits.max, INF, NAN]
    crossed = np.meshgrid(*[np.array([*special, *np.negative(special)], dtype)] * 2)
    usual = rng.normal(scale=30, size=(2, 1000)).astype(dtype)
    with np.errstate(all="ignore"):
        exact = usual[0] * np.rint(usual[1] * 2.0 ** rng.integers(0, limits.nmant - 5, 1000)).astype(dtype)
        edges = np.nextafter(exact, rng.choice([0, INF, -INF], 1000).astype(dtype))
    x = [crossed[0].ravel(), any_x, usual[1], edges]
    return np.concatenate(x), np.concatenate([crossed[1].ravel(), rng.permutation(any_x), *usual[:1], usual[0]])


@pytest.mark.parametrize("dtype", DTYPES)
def test_remainders_and_quotients_rounded_down_are_numpys_to_the_bit(machine: Machine, dtype: str) -> None:
    x, y = divided(dtype)
    with np.errstate(all="ignore"):
        rest, quotient = np.remainder(x, y), np.floor_divide(x, y)
    assert same_bits(machine("mod", x, y), rest)
    assert same_bits(machine("floordivide", x, y), quotient)


# Every function and both dtypes as the processor can; one of four functions, of one dtype, where it does without.
OF_16_BITS = [(MACHINES[0], function, dtype) for function in UNARY for dtype in (FLOAT16, BFLOAT16)]
OF_16_BITS += [
    (name, function, (FLOAT16, BFLOAT16)[i // 4 % 2])
    for kind, name in enumerate(MACHINES[1:])
    for i, function in enumerate(UNARY)
    if i % 4 == kind
]


@pytest.mark.sampled
@pytest.mark.parametrize(("machine", "function", "dtype"), OF_16_BITS, indirect=["machine"], ids=str)
def test_every_number_of_16_bits(machine: Machine, function: str, dtype: np.dtype[Any]) -> None:
    """Computed in float32, rounded once more: at most a rounding error and a little."""
    check_16_bits(machine, function, dtype)


def check_16_bits(machine: Machine, function: str, dtype: np.dtype[Any]) -> None:
    x = np.arange(2**16, dtype=np.uint16).view(dtype)
    found, right = machine(function, x), truth(function, x.astype(np.float32))
    with np.errstate(all="ignore"):
        rounded = right.astype(dtype)
        off = np.abs(found - right) / np.spacing(np.abs(rounded)).astype(float)
        assert np.all((off < 0.501) | ~np.isfinite(rounded))
        assert same_bits(found[~np.isfinite(rounded)], rounded[~np.isfinite(rounded)])


# -- machine code ------------------------------------------------------------------------------------------------------

PROCESSOR = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine())
FEATURES = os.environ.get("NUMBA_CPU_FEATURES", binding.get_host_cpu_features().flatten()).split(",")
WIDEST = "zmm" if "+avx512f" in FEATURES else "ymm" if "+avx" in FEATURES else "xmm"
PACKED = {
    "x86_64": rf"\bv?(?:mul|fmadd\d+)p[sd]\s+.*%{WIDEST}",
    "aarch64": r"\bf(?:mul|mla|mad)\s+(?:v\d+\.(?:4s|2d)|z\d+\.[sd])",
}[PROCESSOR]
HAS_LANES, FUSES = lanes.has_lanes, reals.fuses
CALL = {"x86_64": r"^\s+call", "aarch64": r"^\s+blr?\s"}[PROCESSOR]
# with a condition: what a loop seldom does stands apart, and jumps back without one
JUMP = {"x86_64": r"^\s+j(?!mp)\w+\s+(\.?L\w+)", "aarch64": r"^\s+(?:b\.\w+|cbn?z|tbn?z)\s.*?(\.?L\w+)"}[PROCESSOR]


def inner_loops(assembly: str) -> list[str]:
    """The text between a label and a jump back to it, where no other loop is inside."""
    lines = assembly.split("\n")
    places = {line.split(":")[0]: number for number, line in enumerate(lines) if re.match(r"\.?L\w+:", line)}
    jumps = ((places.get(found[1]), number) for number, line in enumerate(lines) if (found := re.match(JUMP, line)))
    loops = [(start, end) for start, end in jumps if start is not None and start < end]
    inner = [(a, b) for a, b in loops if not any(a <= c and d <= b and (a, b) != (c, d) for c, d in loops)]
    return ["\n".join(lines[a : b + 1]) for a, b in inner]


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", [*BOUNDS, *(["mod", "floordivide"] if reals.fuses() else [])])
def test_the_inner_loop_is_as_wide_as_the_processor_and_calls_nothing(
    tmp_path_factory: Any, monkeypatch: pytest.MonkeyPatch, function: str, dtype: str
) -> None:
    monkeypatch.setattr(lanes, "has_lanes", HAS_LANES)  # the last machine of the tests before may still stand
    monkeypatch.setattr(reals, "fuses", FUSES)
    source = source_of(function, dtype, 2 if function in ("power", "mod", "floordivide") else 1)
    text = compiler.assembly(source.text, source.name, Cache(tmp_path_factory.mktemp("kernel")))
    loops = inner_loops(text)
    assert any(re.search(PACKED, loop) for loop in loops), text
    assert not any(re.search(CALL, loop, re.MULTILINE) for loop in loops), text
