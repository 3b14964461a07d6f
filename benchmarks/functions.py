# SPDX-License-Identifier: Apache-2.0
"""Vector math: the largest error of each function, over all numbers of float32, and what an element costs.

A row is ``function, dtype, ulp, at, ours_ns, numpy_ns``: the largest error, in units in the last place of the right
result, the argument that has it, and nanoseconds for an element, on one core, in a vector that the cache holds. What is
right NumPy says in float64, or in ``longdouble`` of a float64, of which a sample is drawn: bit patterns, and numbers of
moderate size. The run fails if a result is further off than ``BOUND``, or not special where it ought to be.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
from scipy import special

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.codegen.loops import MapNest, Operand, Step, render_map
from ngraph_rewrite.runtime.compiler import compile_kernel
from ngraph_rewrite.runtime.machine import Launch, LaunchTable

Array = np.ndarray[Any, Any]
UNARY = "exp exp2 expm1 tanh sigmoid erf log log2 log10 log1p sin cos tan asin acos atan".split()
UNARY += "sinh cosh asinh acosh atanh".split()
BINARY = ["power", "atan2"]
FUNCTIONS = [*UNARY, *BINARY]
BOUND = 2.0  # units in the last place that are promised (docs/functions.rst)
BLOCK = 2**22
SAMPLE = 2**21


@dataclass(frozen=True)
class Row:
    """What was found of one function; `bad` counts the results that ought to be special, or ought not."""

    function: str
    dtype: str
    ulp: float
    at: str
    bad: int
    ours_ns: float
    numpy_ns: float | None

    def __str__(self) -> str:
        numpy = "-" if self.numpy_ns is None else f"{self.numpy_ns:.2f}"
        bad = f", {self.bad} BAD" if self.bad else ""
        return f"{self.function}, {self.dtype}, {self.ulp:.3f}, {self.at}, {self.ours_ns:.2f}, {numpy}{bad}"


def launch(function: str, operands: list[Array], result: Array) -> LaunchTable:
    """The table that computes a function of vectors by a kernel of the map family."""
    vector, count = Operand(result.dtype.name, ("1",)), len(operands)
    step = Step(function, result.dtype.name, tuple(range(count)))
    nest = MapNest(1, (vector,) * count, (step,), ((count, vector),), tuple(range(count + 1)))
    source = render_map(nest)
    arguments = {"n0": result.size, "y0": result.ctypes.data}
    arguments |= {f"x{i}": operand.ctypes.data for i, operand in enumerate(operands)}
    kernel = compile_kernel(source.text, source.name, Cache())
    return LaunchTable([Launch(kernel, [arguments[name] for name in source.signature])])


# -- what is right -----------------------------------------------------------------------------------------------------


def _sigmoid(x: Array) -> Array:
    small = np.exp(-np.abs(x))
    return np.asarray(np.where(x < 0, small, 1) / (1 + small))


def _erf(x: Array) -> Array:
    """Of float64 by SciPy; of wider numbers in 25 digits, which is slow, so that their sample is thinned."""
    if x.dtype == np.float64:
        return np.asarray(special.erf(x))
    with mpmath.workdps(25):
        values = [x.dtype.type(mpmath.nstr(mpmath.erf(mpmath.mpf(str(v))), 25)) for v in x]
    return np.copysign(np.array(values, x.dtype), x)


def truth(function: str, operands: list[Array]) -> Array:
    """The values of a function, in the precision of the operands."""
    own: dict[str, Callable[..., Array]] = {"sigmoid": _sigmoid, "erf": _erf}
    with np.errstate(all="ignore"):
        return np.asarray((own.get(function) or getattr(np, function))(*operands))


def errors(found: Array, right: Array) -> tuple[Array, int]:
    """Errors in units in the last place, and how many results are special, or of the wrong sign, and ought not."""
    with np.errstate(all="ignore"):
        rounded = right.astype(found.dtype)
        usual = np.isfinite(rounded)
        wrong = np.where(usual, ~np.isfinite(found), ~((found == rounded) | (np.isnan(found) & np.isnan(rounded))))
        wrong |= (right == 0) & (np.signbit(found) != np.signbit(right))
        off = np.abs(found.astype(right.dtype) - right) / np.spacing(np.abs(rounded)).astype(right.dtype)
    return np.where(usual, off, 0.0).astype(np.float64), int(wrong.sum())


# -- arguments ---------------------------------------------------------------------------------------------------------


def every_single() -> Iterator[Array]:
    """All numbers of float32, NaNs included, in blocks."""
    for start in range(0, 2**32, BLOCK):
        yield np.arange(start, start + BLOCK, dtype=np.uint32).view(np.float32)


def sampled(dtype: str, size: int, seed: int = 0) -> Array:
    """Bit patterns, numbers around 0 and around 1, and large ones."""
    rng = np.random.default_rng(seed)
    bits = np.dtype(f"u{np.dtype(dtype).itemsize}")
    part = size // 4
    patterns = rng.integers(0, np.iinfo(bits).max, part, dtype=bits, endpoint=True).view(dtype)
    moderate = [rng.normal(scale=3, size=part), 1 + rng.normal(scale=1e-2, size=part), rng.normal(scale=300, size=part)]
    return np.concatenate([patterns, *(x.astype(dtype) for x in moderate)])


def arguments(function: str, dtype: str) -> Iterator[list[Array]]:
    """Blocks of operands."""
    if function == "power":
        x = np.abs(sampled(dtype, SAMPLE))
        reach = np.random.default_rng(1).uniform(-1, 1, x.size) * np.log(np.finfo(dtype).max)
        with np.errstate(all="ignore"):
            yield [x, (reach / np.log(x.astype(np.longdouble))).astype(dtype)]
    if function == "atan2":  # the error is largest where one number is half of the other one, or twice it
        x, slope = sampled(dtype, SAMPLE), np.random.default_rng(1).uniform(-3, 3, SAMPLE)
        with np.errstate(all="ignore"):
            yield [x, (x * slope[: x.size]).astype(dtype)]
    if function in BINARY:
        yield [sampled(dtype, SAMPLE, 2), np.random.default_rng(3).permutation(sampled(dtype, SAMPLE, 4))]
    elif dtype == "float32":
        yield from ([x] for x in every_single())
    else:
        yield [sampled(dtype, SAMPLE // 64 if function == "erf" else SAMPLE)]


# -- measuring ---------------------------------------------------------------------------------------------------------


def measured(function: str, dtype: str) -> Row:
    """The row of a function."""
    worst, at, bad = 0.0, "-", 0
    for operands in arguments(function, dtype):
        found = np.empty_like(operands[0])
        launch(function, operands, found).run()
        wide = np.float64 if dtype == "float32" else np.longdouble
        with np.errstate(all="ignore"):
            off, wrong = errors(found, truth(function, [x.astype(wide) for x in operands]))
        place, bad = int(off.argmax()), bad + wrong
        if off[place] > worst:
            worst, at = float(off[place]), " ".join(repr(float(x[place])) for x in operands)
    return Row(function, dtype, worst, at, bad, *_times(function, dtype))


def _times(function: str, dtype: str, size: int = 2**14) -> tuple[float, float | None]:
    x = np.random.default_rng(0).uniform(0.01, 5, size).astype(dtype)
    operands, y = ([x, x[::-1].copy()] if function in BINARY else [x]), np.empty_like(x)
    table, theirs = launch(function, operands, y), getattr(np, function, None)
    ours = _shortest(table.run) / size * 1e9
    return ours, None if theirs is None else _shortest(lambda: theirs(*operands, out=y)) / size * 1e9


def _shortest(run: Callable[[], object], seconds: float = 0.2) -> float:
    """The least time of many calls."""
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", metavar="FUNCTION", choices=FUNCTIONS, help="measure this function only")
    parser.add_argument("--dtype", choices=["float32", "float64"], help="in this dtype only")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the rows to FILE as well")
    chosen = parser.parse_args()
    print("function, dtype, ulp, at, ours_ns, numpy_ns")
    rows = []
    for dtype in [chosen.dtype] if chosen.dtype else ["float32", "float64"]:
        for function in [chosen.only] if chosen.only else FUNCTIONS:
            rows.append(measured(function, dtype))
            print(rows[-1], flush=True)
    if chosen.json is not None:
        chosen.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", encoding="utf-8")
    broken = [row for row in rows if row.bad or not row.ulp <= BOUND]
    if broken:
        raise SystemExit("\n".join(f"{row.function} of {row.dtype} breaks its promise: {row}" for row in broken))


if __name__ == "__main__":
    main()
