# SPDX-License-Identifier: Apache-2.0
"""Every scalar operation on every dtype is NumPy's, bit for bit; transcendental functions are within 2 ulp."""

import itertools
import platform

import numpy as np
import pytest
from running import DTYPES, FLOATS, INTEGERS, Runner, contiguous, evaluate, nest_arguments, numpy_op, same_bits

from ngraph_rewrite.codegen.loops import MapNest, Operand, Step, render_map
from ngraph_rewrite.codegen.scalar import expression, literal
from ngraph_rewrite.errors import KernelError
from ngraph_rewrite.types.dtypes import finfo, is_float

EXACT_UNARY = "negative absolute sign square floor ceil round isnan isinf isfinite logical_not".split()
EXACT_FLOAT = [*EXACT_UNARY, "sqrt", "reciprocal"]
LIBRARY = "exp exp2 expm1 log log1p sin cos tan tanh sigmoid erf".split()
ARITHMETIC = "add subtract multiply floordivide mod maximum minimum".split()
PREDICATES = "logical_and logical_or logical_xor equal not_equal less less_equal greater greater_equal".split()
BOOL_RESULT = {*PREDICATES, "isnan", "isinf", "isfinite", "logical_not"}


def special(dtype: str) -> np.ndarray:
    """Values at the edges of a dtype, and some in between."""
    if dtype == "bool":
        return np.array([False, True])
    if dtype in ("int8", "uint8"):
        return np.arange(np.iinfo(dtype).min, np.iinfo(dtype).max + 1).astype(dtype)
    if dtype in INTEGERS:
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        negative = [-1, -2, -3, -7] if low else []
        return np.array([low, low + 1, high, high - 1, high // 2 + 1, *range(9), *negative], dtype)
    limits = finfo(np.dtype(dtype))
    tiny = [0.0, limits.smallest_subnormal, limits.tiny, limits.eps]
    sizes = [*tiny, 0.1, 0.5, 1.0, 1.5, 2.5, 3.0, 7.0, limits.max, np.inf]
    return np.array([sign * size for size in sizes for sign in (1, -1)] + [np.nan], dtype)


def pairs(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    values = special(dtype)
    grid = np.array(list(itertools.product(values, values)), dtype)
    return grid[:, 0].copy(), grid[:, 1].copy()


def results(run: Runner, steps: list[Step], operands: list[np.ndarray]) -> list[np.ndarray]:
    """Run several steps on the same operands in one kernel."""
    loads = tuple(contiguous(x.dtype.name) for x in operands)
    stores = tuple((len(loads) + i, contiguous(step.dtype)) for i, step in enumerate(steps))
    nest = MapNest(1, loads, tuple(steps), stores, tuple(range(len(loads) + len(stores))))
    found = [np.zeros(operands[0].shape, step.dtype) for step in steps]
    run(render_map(nest), nest_arguments(operands[0].shape, operands, found))
    return found


def check_exact(run: Runner, steps: list[Step], operands: list[np.ndarray]) -> None:
    for step, found in zip(steps, results(run, steps, operands), strict=True):
        expected = evaluate(step, operands, ())
        if step.op in ("maximum", "minimum") and is_float(expected.dtype):
            found, expected = found + 0.0, expected + 0.0  # NumPy leaves the sign of a zero open at a tie
        if step.op == "nextafter":  # C gives the second of two zeros; of float16, NumPy does so since 2.5
            expected = np.where(operands[0] == operands[1], operands[1], expected)
        wrong = [tuple(x[i] for x in (*operands, found, expected)) for i in np.flatnonzero(found != expected)]
        assert same_bits(found, expected), (step.op, step.dtype, wrong[:5])


def steps_for(ops: list[str], dtype: str, arity: int) -> list[Step]:
    return [Step(op, "bool" if op in BOOL_RESULT else dtype, tuple(range(arity))) for op in ops]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_unary_on_integers(run: Runner, dtype: str) -> None:
    check_exact(run, steps_for(EXACT_UNARY, dtype, 1), [special(dtype)])


@pytest.mark.parametrize("dtype", FLOATS)
def test_unary_on_floats(run: Runner, dtype: str) -> None:
    every_half = np.arange(2**16, dtype=np.uint16).view(np.float16)
    check_exact(run, steps_for(EXACT_FLOAT, dtype, 1), [every_half if dtype == "float16" else special(dtype)])


@pytest.mark.parametrize("dtype", INTEGERS)
def test_binary_on_integers(run: Runner, dtype: str) -> None:
    check_exact(run, steps_for([*ARITHMETIC, *PREDICATES], dtype, 2), list(pairs(dtype)))


@pytest.mark.parametrize("dtype", FLOATS)
def test_binary_on_floats(run: Runner, dtype: str) -> None:
    check_exact(run, steps_for([*ARITHMETIC, "divide", *PREDICATES], dtype, 2), list(pairs(dtype)))


def test_bool_adds_as_or_and_multiplies_as_and(run: Runner) -> None:
    ops = ["add", "multiply", "maximum", "minimum", *PREDICATES]
    check_exact(run, steps_for(ops, "bool", 2), list(pairs("bool")))


@pytest.mark.parametrize(("bound", "within", "op"), [("maximum", 5, "add"), ("minimum", -5, "subtract")])
def test_int64_wraps_around_though_llvm_knows_that_it_does(run: Runner, bound: str, within: int, op: str) -> None:
    """What may not overflow, as Numba says of its own sums, would be the greatest number there is."""
    steps = [Step("constant", "int64", (), (("value", n),)) for n in (within, 2**63 - 1)]
    steps += [Step(bound, "int64", (0, 1)), Step(op, "int64", (3, 2)), Step("absolute", "int64", (4,)),
              Step("less", "bool", (5, 1))]  # fmt: skip
    x = np.array([*special("int64"), *range(40)], "int64")
    stores = ((4, contiguous("int64")), (6, contiguous("bool")))
    nest = MapNest(1, (contiguous("int64"),), tuple(steps), stores, (0, 1, 2))
    found = [np.zeros(x.shape, "int64"), np.zeros(x.shape, "bool")]
    run(render_map(nest), nest_arguments(x.shape, [x], found))
    bounded = getattr(np, bound)(x, within)
    wanted = bounded + (2**63 - 1) if op == "add" else bounded - (2**63 - 1)
    assert found[0].tolist() == wanted.tolist()
    assert found[1].tolist() == (np.abs(wanted) < within).tolist()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("number", [np.nan, np.inf, 0.0, 2.5])
def test_a_nan_is_one_whatever_llvm_knows_of_operands(run: Runner, dtype: str, number: float) -> None:
    """Of the remainder of what is not infinite LLVM takes that it is no NaN, if it knows it for a remainder."""
    ops = [*ARITHMETIC, "divide", "power", "hypot", "nextafter", "atan2"]
    zero, other = (Step("constant", dtype, (), (("value", value),)) for value in (0.0, number))
    known = (Step("isinf", "bool", (0,)), zero, Step("select", dtype, (1, 2, 0)), other)
    computed = [Step(op, dtype, both) for op in ops for both in ((3, 4), (4, 3))]
    asked = [Step("isnan", "bool", (5 + i,)) for i in range(len(computed))]
    nest = MapNest(1, (contiguous(dtype),), (*known, *computed, *asked),
                   tuple((5 + len(computed) + i, contiguous("bool")) for i in range(len(asked))),
                   tuple(range(1 + len(asked))))  # fmt: skip
    x = special(dtype)
    found = [np.zeros(x.shape, "bool") for _ in asked]
    run(render_map(nest), nest_arguments(x.shape, [x], found))
    values = {3: np.where(np.isinf(x), 0, x).astype(dtype), 4: np.full_like(x, number)}
    for step, nan in zip(computed, found, strict=True):
        wanted = evaluate(step, [values[i] for i in step.operands], ())
        assert nan.tolist() == np.isnan(wanted).tolist(), step


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_power_wraps(run: Runner, dtype: str) -> None:
    base, exponent = pairs(dtype)
    known = exponent >= 0 if dtype in ("int8", "uint8") else (exponent >= 0) & (exponent < 100)
    check_exact(run, steps_for(["power"], dtype, 2), [base[known], exponent[known]])


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_divide_to_float64(run: Runner, dtype: str) -> None:
    check_exact(run, [Step("divide", "float64", (0, 1))], list(pairs(dtype)))


@pytest.mark.parametrize("dtype", FLOATS)
def test_library_functions_are_within_two_ulp(run: Runner, dtype: str) -> None:
    moderate = np.random.default_rng(0).normal(scale=5.0, size=500).astype(dtype)
    x = np.concatenate([special(dtype), moderate])
    for step, found in zip(steps_for(LIBRARY, dtype, 1), results(run, steps_for(LIBRARY, dtype, 1), [x]), strict=True):
        wide = x.astype(np.float64 if dtype != "float64" else np.longdouble)
        with np.errstate(all="ignore"):
            expected = numpy_op(step.op)(wide)
        check_ulp(found, expected, x, step.op)


@pytest.mark.parametrize("dtype", FLOATS)
def test_float_power_is_within_two_ulp(run: Runner, dtype: str) -> None:
    x, y = pairs(dtype)
    (found,) = results(run, [Step("power", dtype, (0, 1))], [x, y])
    wide = np.float64 if dtype != "float64" else np.longdouble
    with np.errstate(all="ignore"):
        check_ulp(found, np.power(x.astype(wide), y.astype(wide)), x, "power")


def check_ulp(found: np.ndarray, expected: np.ndarray, x: np.ndarray, op: str) -> None:
    with np.errstate(all="ignore"):
        rounded = expected.astype(found.dtype)
        usual = np.isfinite(rounded)
        assert same_bits(np.isfinite(found), usual), (op, x[np.isfinite(found) != usual])
        assert same_bits(found[~usual], rounded[~usual]), op
        off = np.abs(found[usual] - expected[usual]) / np.spacing(np.abs(rounded[usual]))
    assert off.max() <= 2, (op, x[usual][off.argmax()], off.max())


@pytest.mark.sampled
@pytest.mark.parametrize("source", DTYPES)
def test_cast_to_every_dtype(run: Runner, source: str) -> None:
    x = special(source)
    if source in FLOATS:
        with np.errstate(all="ignore"):
            wide = np.array([*x, 126.7, -126.7, 200.5, 40000.0, 3e9, -3e9, 5e12, 2.0**63, -(2.0**63)]).astype(source)
        exact = [dtype for dtype in DTYPES if dtype not in INTEGERS]
        check_exact(run, [Step("cast", dtype, (0,)) for dtype in exact], [wide])
        # what does not fit is something else in NumPy where the processor makes something else of it
        if platform.machine().lower() in ("x86_64", "amd64"):
            check_exact(run, [Step("cast", "int64", (0,))], [wide])
        for dtype in INTEGERS:
            limits = np.iinfo(dtype)
            with np.errstate(all="ignore"):
                inside = wide[(wide.astype(float) > limits.min - 1.0) & (wide.astype(float) < float(limits.max))]
            check_exact(run, [Step("cast", dtype, (0,))], [inside])
    else:
        check_exact(run, [Step("cast", dtype, (0,)) for dtype in DTYPES], [x])


def test_float64_rounds_to_half_once(run: Runner) -> None:
    """A double just above a tie of two halves must go up, though its float32 is the tie itself."""
    halves = np.arange(1, 2000, dtype=np.uint16).view(np.float16).astype(np.float64)
    ties = (halves[:-1] + halves[1:]) / 2
    edges = [65519.9, 65520.0, 1e300, 1e-300]
    x = np.concatenate([ties, np.nextafter(ties, np.inf), np.nextafter(ties, -np.inf), edges])
    check_exact(run, [Step("cast", "float16", (0,))], [np.concatenate([x, -x])])


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", DTYPES)
def test_constants_are_exact(run: Runner, dtype: str) -> None:
    values = special(dtype)[:30]
    steps = [Step("constant", dtype, (), (("value", value.item()),)) for value in values]
    found = results(run, steps, [np.zeros(1, "int8")])
    assert same_bits(np.concatenate(found), values)


@pytest.mark.parametrize("dtype", DTYPES)
def test_select_takes_either_side(run: Runner, dtype: str) -> None:
    x, y = pairs(dtype)
    x, y = x[:300], y[:300]
    condition = np.arange(len(x)) % 3 == 0
    check_exact(run, [Step("select", dtype, (0, 1, 2))], [condition, x, y])


def test_comparisons_meet_in_the_common_dtype(run: Runner) -> None:
    x = np.array([1, 2**24 + 1, -3], "int32")
    y = np.array([1, 2**24, -2.5], "float32")
    check_exact(run, [Step("equal", "bool", (0, 1)), Step("less", "bool", (0, 1))], [x, y])


def test_index_is_the_loop_index(run: Runner) -> None:
    nest = MapNest(
        2, (), (Step("index", "int64", (), (("dim", 0),)), Step("index", "float32", (), (("dim", 1),))),
        ((0, Operand("int64", ("s", "1"))), (1, Operand("float32", ("s", "1")))), (0, 1),
    )  # fmt: skip
    rows, columns = np.zeros((3, 4), "int64"), np.zeros((3, 4), "float32")
    run(render_map(nest), nest_arguments((3, 4), [], [rows, columns]))
    assert np.array_equal(rows, np.indices((3, 4))[0])
    assert np.array_equal(columns, np.indices((3, 4))[1])


LACKING = [("subtract", "bool"), ("exp", "int32"), ("power", "bool"), ("nonsense", "float32")]


@pytest.mark.parametrize("op, dtype", LACKING)
def test_what_a_dtype_lacks_is_an_error(op: str, dtype: str) -> None:
    with pytest.raises(KernelError, match=op):
        expression(op, dtype, ["x", "y"], {}, [dtype, dtype])


def test_literals_read_back_as_themselves() -> None:
    assert literal(float("-inf"), "float32") == "np.float32(-np.inf)"
    assert literal(float("nan"), "float64") == "np.float64(np.nan)"
    assert literal(-(2**63), "int64") == "np.int64(-9223372036854775808)"
