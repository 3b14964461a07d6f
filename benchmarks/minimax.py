# SPDX-License-Identifier: Apache-2.0
"""The coefficients of the kernels' polynomials: minimax, by the exchange algorithm of Remez, in many digits.

Each row says which function a polynomial stands for, on which interval, and by which weight its error counts in the
function that is computed with it (Muller, *Elementary Functions*, section 3.5). ``python -m benchmarks.minimax`` prints
the coefficients, lowest first, and the weighted error in bits.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import NamedTuple

import mpmath as mp

Function = Callable[[mp.mpf], mp.mpf]
POINTS = 1500


class Task(NamedTuple):
    """Approximate ``function`` by a polynomial of a degree where the error is multiplied by ``weight``."""

    function: Function
    weight: Function
    low: float
    high: float
    degree: int
    dtype: str


def remez(task: Task, rounds: int = 12) -> tuple[list[mp.mpf], mp.mpf]:
    """Return the coefficients, lowest first, and the largest weighted error."""
    middle, half = mp.mpf(task.low + task.high) / 2, mp.mpf(task.high - task.low) / 2
    points = [middle - half * mp.cos(mp.pi * (i + mp.mpf(1) / 2) / POINTS) for i in range(POINTS)]
    values, weights = [task.function(x) for x in points], [task.weight(x) for x in points]
    count = task.degree + 2
    chosen = [round(i * (POINTS - 1) / (count - 1)) for i in range(count)]
    for _ in range(rounds):
        rows = [[points[i] ** n for n in range(count - 1)] + [(-1) ** j / weights[i]] for j, i in enumerate(chosen)]
        solution = mp.lu_solve(mp.matrix(rows), mp.matrix([values[i] for i in chosen]))
        coefficients = list(solution[: count - 1])
        errors = [w * (mp.polyval(coefficients[::-1], x) - y) for x, y, w in zip(points, values, weights, strict=True)]
        best = _extremes(errors, count)
        if best == chosen:
            break
        chosen = best
    return coefficients, max(abs(e) for e in errors)


def _extremes(errors: list[mp.mpf], count: int) -> list[int]:
    """The places of the largest errors of alternating sign."""
    groups: list[int] = []
    for i, error in enumerate(errors):
        if groups and (errors[groups[-1]] > 0) == (error > 0):
            if abs(error) > abs(errors[groups[-1]]):
                groups[-1] = i
        else:
            groups.append(i)
    while len(groups) > count:
        groups.pop(0 if abs(errors[groups[0]]) < abs(errors[groups[-1]]) else -1)
    return groups


def _log_rest(f: mp.mpf) -> mp.mpf:
    return (mp.log1p(f) - f + f * f / 2) / f**3 if f else mp.mpf(1) / 3


def _atanh_rest(t: mp.mpf) -> mp.mpf:
    s = mp.sqrt(t)
    return (2 * mp.atanh(s) / s - 2) / t


def _atanh_more(t: mp.mpf) -> mp.mpf:
    s = mp.sqrt(t)
    return (mp.atanh(s) / s - 1 - t / 3) / t**2


def _tanh_rest(t: mp.mpf) -> mp.mpf:
    x = mp.sqrt(t)
    return (mp.tanh(x) / x - 1) / t


def _sinh_rest(t: mp.mpf) -> mp.mpf:
    x = mp.sqrt(t)
    return (mp.sinh(x) / x - 1) / t


LN2, SPLIT = float(mp.log(2)) / 2 * 1.001, float(mp.sqrt(2))
TURN = float(mp.pi) / 4 * 1.02
TASKS = {
    "exp32": Task(lambda r: (mp.exp(r) - 1 - r) / r**2, lambda r: r**2 / mp.exp(r), -LN2, LN2, 4, "float32"),
    "exp64": Task(lambda r: (mp.exp(r) - 1 - r) / r**2, lambda r: r**2 / mp.exp(r), -LN2, LN2, 9, "float64"),
    "log32": Task(_log_rest, lambda f: f**3 / mp.log1p(f), 1 / SPLIT - 1, SPLIT - 1, 8, "float32"),
    "log64": Task(_atanh_rest, lambda t: t, 1e-9, ((SPLIT - 1) / (SPLIT + 1)) ** 2, 6, "float64"),
    "pow32": Task(_atanh_rest, lambda t: t, 1e-9, ((SPLIT - 1) / (SPLIT + 1)) ** 2, 3, "float64"),
    "pow64": Task(_atanh_more, lambda t: t**2, 1e-9, ((SPLIT - 1) / (SPLIT + 1)) ** 2, 6, "float64"),
    "sin32": Task(lambda t: (mp.sin(mp.sqrt(t)) / mp.sqrt(t) - 1) / t, lambda t: t, 1e-9, TURN**2, 2, "float32"),
    "sin64": Task(lambda t: (mp.sin(mp.sqrt(t)) / mp.sqrt(t) - 1) / t, lambda t: t, 1e-9, TURN**2, 5, "float64"),
    "cos32": Task(lambda t: (mp.cos(mp.sqrt(t)) - 1 + t / 2) / t**2, lambda t: t**2, 1e-9, TURN**2, 2, "float32"),
    "cos64": Task(lambda t: (mp.cos(mp.sqrt(t)) - 1 + t / 2) / t**2, lambda t: t**2, 1e-9, TURN**2, 5, "float64"),
    "tanh32": Task(_tanh_rest, lambda t: t, 1e-9, 0.551**2, 4, "float32"),
    "tanh64": Task(_tanh_rest, lambda t: t, 1e-9, 0.551**2, 10, "float64"),
    "sinh32": Task(_sinh_rest, lambda t: t, 1e-9, 1.0, 3, "float32"),
    "sinh64": Task(_sinh_rest, lambda t: t, 1e-9, 1.0, 6, "float64"),
    "erf32": Task(lambda t: mp.erf(mp.sqrt(t)) / mp.sqrt(t) - 1, lambda t: 1, 1e-9, 1.0, 6, "float32"),
    "erf64": Task(lambda t: mp.erf(mp.sqrt(t)) / mp.sqrt(t) - 1, lambda t: 1, 1e-9, 1.0, 11, "float64"),
    "erfc32": Task(lambda x: mp.log(mp.erfc(x)), mp.erfc, 0.98, 4.0, 6, "float32"),
    "erfc64": Task(lambda x: mp.log(mp.erfc(x)), mp.erfc, 0.98, 6.0, 18, "float64"),
}


def main() -> None:
    """Print the coefficients that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(TASKS))
    mp.mp.dps = 50
    for name in parser.parse_args().names or TASKS:
        coefficients, error = remez(TASKS[name])
        print(f"{name}: 2**{float(mp.log(error, 2)):.1f}")
        for coefficient in coefficients:
            print(f"    {float(coefficient)!r},")


if __name__ == "__main__":
    main()
