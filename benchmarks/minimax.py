# SPDX-License-Identifier: Apache-2.0
"""The coefficients of the kernels' polynomials: minimax, by the exchange algorithm of Remez, in many digits.

Each row says which function a polynomial stands for, on which interval, and by which weight its error counts in the
function that is computed with it (Muller, *Elementary Functions*, section 3.5). ``python -m benchmarks.minimax`` prints
the coefficients, lowest first, and the weighted error in bits.

A function may also be cut into pieces, each a polynomial around a place of its own: one where the function is a
float32 almost exactly (Gal, *Computing Elementary Functions: A New Approach for Achieving High Accuracy and Good
Performance*, 1986), so that adding the polynomial to it rounds once. A row of such a table is for all pieces: the
places, the values there, then the coefficients.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import NamedTuple

import mpmath as mp
import numpy as np

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


class Pieces(NamedTuple):
    """Approximate ``function`` between each two of some edges, the first of which is 0, as it is itself there.

    In the first piece the polynomial is added to the number, of which it is a small part, instead of to a value.
    """

    function: Function
    edges: list[float]
    degree: int


NEAR = 300  # values on each side of that in the middle of a piece, one of which is that at its place


def table(pieces: Pieces) -> tuple[list[list[float]], mp.mpf]:
    """Return a row for the places, one for the values, one for each coefficient, and the largest relative error."""
    columns, worst = [], mp.mpf(0)
    for low, high in zip(pieces.edges, pieces.edges[1:], strict=False):
        place, more = _place(pieces.function, low, high), int(low == 0)
        value, slope = pieces.function(place), mp.diff(pieces.function, place) - more

        def quotient(
            u: mp.mpf, place: mp.mpf = place, value: mp.mpf = value, slope: mp.mpf = slope, more: int = more
        ) -> mp.mpf:
            return (pieces.function(place + u) - value) / u - more if abs(u) > 1e-12 else slope

        def weight(u: mp.mpf, place: mp.mpf = place) -> mp.mpf:
            return u / pieces.function(place + u) if place + u else 1 / mp.diff(pieces.function, 0)

        task = Task(quotient, weight, float(low - place), float(high - place), pieces.degree, "float32")
        coefficients, error = remez(task)
        columns.append([float(str(np.float32(float(x)))) for x in (place, value, *coefficients)])
        worst = max(worst, error)
    return [list(row) for row in zip(*columns, strict=True)], worst


def _place(function: Function, low: float, high: float) -> mp.mpf:
    """Next to the middle, a float32 at which the function is nearly one too."""
    if low == 0:
        return mp.mpf(0)
    middle = (mp.mpf(low) + high) / 2
    bits = int(np.float32(float(function(middle))).view(np.int32))
    values = [mp.mpf(float(np.int32(bits + step).view(np.float32))) for step in range(-NEAR, NEAR + 1)]
    ends = mp.mpf(low), mp.mpf(high)
    inside = [v for v in values if function(ends[0]) < v < function(ends[1])]
    roots = [mp.findroot(lambda x, v=v: function(x) - v, ends, solver="ridder") for v in inside]
    places = [mp.mpf(float(np.float32(float(root)))) for root in roots]

    def off(place: mp.mpf) -> mp.mpf:
        value = function(place)
        return abs(value - float(np.float32(float(value))))

    return min(places, key=off)


def _power_rest(r: mp.mpf) -> mp.mpf:
    return (mp.mpf(2) ** r - 1) / r if r else mp.log(2)


def _log_rest(f: mp.mpf) -> mp.mpf:
    return (mp.log1p(f) - f + f * f / 2) / f**3 if f else mp.mpf(1) / 3


def _log_linear(f: mp.mpf) -> mp.mpf:
    return (mp.log1p(f) - f) / f**2 if f else -mp.mpf(1) / 2


def _part_of_log(power: int) -> Function:
    """How large a power is beside the logarithm."""
    return lambda f: abs(f**power / mp.log1p(f)) if f else mp.mpf(0)


def _atanh_rest(t: mp.mpf) -> mp.mpf:
    s = mp.sqrt(t)
    return (2 * mp.atanh(s) / s - 2) / t


def _atanh_more(t: mp.mpf) -> mp.mpf:
    s = mp.sqrt(t)
    return (mp.atanh(s) / s - 1 - t / 3) / t**2


def _part_of_tan(t: mp.mpf) -> mp.mpf:
    """How large the square of an angle is beside its tangent over the angle."""
    x = mp.sqrt(t)
    return t * x / mp.tan(x)


def _odd_rest(function: Function) -> Function:
    """What is left of an odd function of slope 1 after its argument, in terms of the square."""

    def rest(t: mp.mpf) -> mp.mpf:
        x = mp.sqrt(t)
        return (function(x) / x - 1) / t

    return rest


LN2, SPLIT = float(mp.log(2)) / 2 * 1.001, float(mp.sqrt(2))
EIGHTH = float(mp.log(2)) / 16 * 1.0001
THIRTY_SECOND, SIXTY_FOURTH = 1 / 32 * 1.005, 1 / 64 * 1.01
TURN = float(mp.pi) / 4 * 1.02
TASKS = {
    "exp32": Task(lambda r: (mp.exp(r) - 1 - r) / r**2, lambda r: r**2 / mp.exp(r), -LN2, LN2, 4, "float32"),
    "exp64": Task(lambda r: (mp.exp(r) - 1 - r) / r**2, lambda r: r**2 / mp.exp(r), -LN2, LN2, 9, "float64"),
    "exp64_in_lanes": Task(
        lambda r: (mp.exp(r) - 1 - r) / r**2, lambda r: r**2 / mp.exp(r), -EIGHTH, EIGHTH, 5, "float64"
    ),
    "exp2_32_in_lanes": Task(_power_rest, lambda r: abs(r) / mp.mpf(2) ** r, -1 / 32, 1 / 32, 2, "float32"),
    "exp2_64_in_lanes": Task(_power_rest, lambda r: abs(r) / mp.mpf(2) ** r, -1 / 16, 1 / 16, 6, "float64"),
    "log32": Task(_log_rest, lambda f: f**3 / mp.log1p(f), 1 / SPLIT - 1, SPLIT - 1, 8, "float32"),
    "log64": Task(_atanh_rest, lambda t: t, 1e-9, ((SPLIT - 1) / (SPLIT + 1)) ** 2, 6, "float64"),
    "pow32": Task(_atanh_rest, lambda t: t, 1e-9, ((SPLIT - 1) / (SPLIT + 1)) ** 2, 3, "float64"),
    "pow64": Task(_atanh_more, lambda t: t**2, 1e-9, ((SPLIT - 1) / (SPLIT + 1)) ** 2, 6, "float64"),
    "log32_in_lanes": Task(_log_linear, _part_of_log(2), -THIRTY_SECOND, THIRTY_SECOND, 3, "float32"),
    "log64_in_lanes": Task(_log_linear, _part_of_log(2), -THIRTY_SECOND, THIRTY_SECOND, 8, "float64"),
    "pow32_in_lanes": Task(_log_rest, _part_of_log(3), -SIXTY_FOURTH, SIXTY_FOURTH, 2, "float32"),
    "pow64_in_lanes": Task(_log_rest, _part_of_log(3), -SIXTY_FOURTH, SIXTY_FOURTH, 7, "float64"),
    "sin32": Task(_odd_rest(mp.sin), lambda t: t, 1e-9, TURN**2, 2, "float32"),
    "sin64": Task(_odd_rest(mp.sin), lambda t: t, 1e-9, TURN**2, 5, "float64"),
    "cos32": Task(lambda t: (mp.cos(mp.sqrt(t)) - 1 + t / 2) / t**2, lambda t: t**2, 1e-9, TURN**2, 2, "float32"),
    "cos64": Task(lambda t: (mp.cos(mp.sqrt(t)) - 1 + t / 2) / t**2, lambda t: t**2, 1e-9, TURN**2, 5, "float64"),
    "tan32": Task(_odd_rest(mp.tan), _part_of_tan, 1e-9, float(mp.pi / 4) ** 2, 6, "float32"),
    "tan64": Task(_odd_rest(mp.tan), _part_of_tan, 1e-9, float(mp.pi / 4) ** 2, 13, "float64"),
    "cbrt": Task(lambda e: mp.cbrt(1 / (1 - e)), lambda e: mp.cbrt(1 - e), -0.107, 0.107, 3, "float64"),
    "tanh32": Task(_odd_rest(mp.tanh), lambda t: t, 1e-9, 0.551**2, 4, "float32"),
    "tanh64": Task(_odd_rest(mp.tanh), lambda t: t, 1e-9, 0.551**2, 10, "float64"),
    "sinh32": Task(_odd_rest(mp.sinh), lambda t: t, 1e-9, 1.0, 3, "float32"),
    "sinh64": Task(_odd_rest(mp.sinh), lambda t: t, 1e-9, 1.0, 6, "float64"),
    "atan32": Task(_odd_rest(mp.atan), lambda t: t, 1e-9, 0.2501, 4, "float32"),
    "atan64": Task(_odd_rest(mp.atan), lambda t: t, 1e-9, 0.2501, 11, "float64"),
    "asin32": Task(_odd_rest(mp.asin), lambda t: t, 1e-9, 0.2501, 4, "float32"),
    "asin64": Task(_odd_rest(mp.asin), lambda t: t, 1e-9, 0.2501, 11, "float64"),
    "erf32": Task(lambda t: mp.erf(mp.sqrt(t)) / mp.sqrt(t) - 1, lambda t: 1, 1e-9, 1.0, 6, "float32"),
    "erf64": Task(lambda t: mp.erf(mp.sqrt(t)) / mp.sqrt(t) - 1, lambda t: 1, 1e-9, 1.0, 11, "float64"),
    "erfc32": Task(lambda x: mp.log(mp.erfc(x)), mp.erfc, 0.98, 4.0, 6, "float32"),
    "erfc64": Task(lambda x: mp.log(mp.erfc(x)), mp.erfc, 0.98, 6.0, 18, "float64"),
}


TABLES = {
    "erf_in_lanes": Pieces(mp.erf, [i / 4 for i in range(17)], 5),
    "tanh_in_lanes": Pieces(mp.tanh, [0, 0.25, 0.5, 0.75, 1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 9.5], 5),
}


def main() -> None:
    """Print the coefficients that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join([*TASKS, *TABLES]))
    mp.mp.dps = 50
    for name in parser.parse_args().names or [*TASKS, *TABLES]:
        if name in TABLES:
            rows, error = table(TABLES[name])
            print(f"{name}: 2**{float(mp.log(error, 2)):.1f}", *(f"    {tuple(row)}," for row in rows), sep="\n")
            continue
        coefficients, error = remez(TASKS[name])
        print(f"{name}: 2**{float(mp.log(error, 2)):.1f}")
        for coefficient in coefficients:
            print(f"    {float(coefficient)!r},")


if __name__ == "__main__":
    main()
