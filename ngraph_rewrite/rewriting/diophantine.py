# SPDX-License-Identifier: Apache-2.0
"""The minimal solutions of one linear equation in natural numbers: every solution is a sum of them.

Unification modulo associativity and commutativity asks for them: an unknown says how often a part stands in a variable.
They are built up from zero, one unknown at a time, always towards the other side of the equation. See Contejean and
Devie, *An efficient incremental algorithm for solving systems of linear diophantine equations* (1994).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

Solution = tuple[int, ...]


class Limit:
    """How many steps a search may take; it says afterwards whether they were enough.

    Attributes:
        met: Whether the search was cut off: what it found may not be all there is.
    """

    def __init__(self, steps: int) -> None:
        self.left, self.met = steps, False

    def spend(self) -> bool:
        """Take a step; False if there is none left."""
        self.left -= 1
        self.met = self.met or self.left < 0
        return not self.met


def minimal_solutions(
    coefficients: Sequence[int],
    most: Sequence[int | None] = (),
    possible: Callable[[Solution], bool] = lambda solution: True,
    limit: Limit | None = None,
) -> list[Solution]:
    """The solutions, beside zero, of the equation that the products with the unknowns have the sum 0.

    Args:
        coefficients: One for each unknown; none is 0.
        most: How large an unknown may be; None for any size.
        possible: Whether there may be such a solution, or a larger one; what it refuses is left out.
        limit: How many vectors are looked at.

    Returns:
        Those that are no sum of smaller ones, smaller sums of unknowns first.

    >>> minimal_solutions([2, 1, -1])
    [(0, 1, 1), (1, 0, 2)]
    """
    caps = list(most) or [None] * len(coefficients)
    limit = limit or Limit(100_000)
    found: list[Solution] = []
    level = [v for v in _units(len(coefficients)) if possible(v)]
    while level:
        found += [v for v in level if not _defect(coefficients, v)]
        following: dict[Solution, None] = {}
        for vector in level:
            for larger in _larger(coefficients, vector, caps):
                if not limit.spend():
                    return found
                if not any(_covers(larger, one) for one in found) and possible(larger):
                    following[larger] = None
        level = list(following)
    return found


def _units(count: int) -> list[Solution]:
    return [tuple([int(i == place) for i in range(count)]) for place in range(count)]


def _defect(coefficients: Sequence[int], vector: Solution) -> int:
    return sum(c * v for c, v in zip(coefficients, vector, strict=True))


def _larger(coefficients: Sequence[int], vector: Solution, caps: Sequence[int | None]) -> list[Solution]:
    """The vectors with one more of an unknown that brings both sides nearer to each other; none of a solution."""
    defect = _defect(coefficients, vector)
    return [
        (*vector[:i], vector[i] + 1, *vector[i + 1 :])
        for i, (c, cap) in enumerate(zip(coefficients, caps, strict=True))
        if defect * c < 0 and (cap is None or vector[i] < cap)
    ]


def _covers(vector: Solution, other: Solution) -> bool:
    return all(a >= b for a, b in zip(vector, other, strict=True))
