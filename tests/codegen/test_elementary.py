# SPDX-License-Identifier: Apache-2.0
"""The functions of C's mathematics library are within 2 ulp of NumPy in higher precision; bits and signs are exact."""

import numpy as np
import pytest
from running import FLOATS, INTEGERS, Runner, same_bits
from test_scalar import check_exact, pairs, results, special, steps_for

from ngraph_rewrite.codegen.loops import Step
from ngraph_rewrite.codegen.scalar import expression
from ngraph_rewrite.errors import KernelError

LIBRARY = {
    "log2": np.log2, "log10": np.log10, "sinh": np.sinh, "cosh": np.cosh, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "cbrt": np.cbrt,
}  # fmt: skip
BITWISE = "bitwise_and bitwise_or bitwise_xor left_shift right_shift".split()


def every_value(dtype: str) -> np.ndarray:
    """All half-precision numbers; of other dtypes the edges, and numbers on both sides of 1."""
    if dtype == "float16":
        return np.arange(2**16, dtype=np.uint16).view(np.float16)
    rng = np.random.default_rng(0)
    return np.concatenate([special(dtype), rng.normal(scale=5.0, size=400), rng.uniform(-1, 1, 400)]).astype(dtype)


def check_ulp(found: np.ndarray, expected: np.ndarray, what: str) -> None:
    with np.errstate(all="ignore"):
        rounded = expected.astype(found.dtype)
        usual = np.isfinite(rounded)
        assert same_bits(np.isfinite(found), usual), what
        assert same_bits(found[~usual], rounded[~usual]), what
        off = np.abs(found[usual] - expected[usual]) / np.spacing(np.abs(rounded[usual]))
    assert off.max() <= 2, (what, off.max())


@pytest.mark.parametrize("dtype", FLOATS)
def test_functions_of_one_argument(run: Runner, dtype: str) -> None:
    x = every_value(dtype)
    wide = x.astype(np.float64 if dtype != "float64" else np.longdouble)
    for name, found in zip(LIBRARY, results(run, steps_for(list(LIBRARY), dtype, 1), [x]), strict=True):
        with np.errstate(all="ignore"):
            check_ulp(found, LIBRARY[name](wide), f"{name} {dtype}")


@pytest.mark.parametrize("dtype", FLOATS)
def test_functions_of_two_arguments(run: Runner, dtype: str) -> None:
    x, y = pairs(dtype)
    wide = np.float64 if dtype != "float64" else np.longdouble
    atan2, hypot = results(run, steps_for(["atan2", "hypot"], dtype, 2), [x, y])
    with np.errstate(all="ignore"):
        check_ulp(atan2, np.arctan2(x.astype(wide), y.astype(wide)), f"atan2 {dtype}")
        check_ulp(hypot, np.hypot(x.astype(wide), y.astype(wide)), f"hypot {dtype}")


@pytest.mark.parametrize("dtype", FLOATS)
def test_signs_and_neighbours_are_those_of_numpy(run: Runner, dtype: str) -> None:
    x, y = pairs(dtype)
    check_exact(run, steps_for(["copysign", "nextafter"], dtype, 2), [x, y])
    check_exact(run, [Step("trunc", dtype, (0,)), Step("signbit", "bool", (0,))], [every_value(dtype)])


def test_every_half_has_its_neighbours(run: Runner) -> None:
    x = every_value("float16")
    for target in (np.inf, -np.inf, 0.0, -0.0, np.nan):
        check_exact(run, [Step("nextafter", "float16", (0, 1))], [x, np.full_like(x, target)])


@pytest.mark.parametrize("dtype", INTEGERS)
def test_bits_of_integers(run: Runner, dtype: str) -> None:
    operands = list(pairs(dtype))
    steps = steps_for(BITWISE, dtype, 2)
    for step, found in zip(steps, results(run, steps, operands), strict=True):
        assert same_bits(found, getattr(np, step.op)(*operands)), step.op
    whole, inverted = results(run, steps_for(["trunc", "bitwise_invert"], dtype, 1), [special(dtype)])
    assert same_bits(whole, special(dtype)) and same_bits(inverted, np.invert(special(dtype)))


@pytest.mark.parametrize(("op", "dtype"), [("bitwise_and", "float32"), ("atan2", "int32"), ("left_shift", "float64")])
def test_what_a_dtype_lacks_is_an_error(op: str, dtype: str) -> None:
    with pytest.raises(KernelError, match=op):
        expression(op, dtype, ["x", "y"], {}, [dtype, dtype])
