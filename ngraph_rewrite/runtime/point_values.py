# SPDX-License-Identifier: Apache-2.0
"""The transforms of minimal filtering along one axis: polynomials of six numbers, and their values at points.

The points are 0, infinity and `POINTS` with both signs: of short fractions those that let roundings grow least for
filters of three elements and of five.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Protocol, TypeVar

Value = TypeVar("Value")
POINTS = (Fraction(5, 8), Fraction(3, 2))
# Elements of an image along an axis that are transformed together.
SPAN = 6
_A, _B = POINTS


class Arithmetic(Protocol[Value]):
    """What is done with values, which may be numbers, or code that computes them."""

    def times(self, factor: Fraction, value: Value) -> Value:
        """A number times a value."""

    def plus(self, total: Value, factor: Fraction, value: Value) -> Value:
        """A value and a number times another one."""

    def sum_of(self, one: Value, other: Value) -> Value:
        """Both."""

    def difference(self, one: Value, other: Value) -> Value:
        """One less the other."""


def image_values(ways: Arithmetic[Value], d: Sequence[Value]) -> list[Value]:
    """Of six elements what is multiplied at each point."""
    squares, product = _A**2 + _B**2, _A**2 * _B**2
    first = ways.plus(ways.plus(d[4], -squares, d[2]), product, d[0])
    last = ways.plus(ways.plus(d[5], -squares, d[3]), product, d[1])
    found = [first]
    for point, other in ((_A, _B), (_B, _A)):
        even, odd = ways.plus(d[4], -(other**2), d[2]), ways.plus(d[3], -(other**2), d[1])
        found += [ways.plus(even, point, odd), ways.plus(even, -point, odd)]
    return [*found, last]


def filter_values(ways: Arithmetic[Value], g: Sequence[Value]) -> list[Value]:
    """Of the elements of a filter their polynomial's values at all points, divided by what is left out of images."""
    found = [ways.times(1 / (_A**2 * _B**2), g[0])]
    for point, other in ((_A, _B), (_B, _A)):
        share = 1 / (2 * point**2 * (point**2 - other**2))
        even, odd = (_weighted(ways, [(share * point**i, g[i]) for i in range(s, len(g), 2)]) for s in (0, 1))
        found += [ways.sum_of(even, odd), ways.difference(even, odd)]
    return [*found, g[-1]]


def sums_of(count: int) -> Callable[[Arithmetic[Value], Sequence[Value]], list[Value]]:
    """What makes so many sums of what was multiplied at six points."""

    def sums(ways: Arithmetic[Value], v: Sequence[Value]) -> list[Value]:
        add, subtract = ways.sum_of, ways.difference
        pairs = [(add(v[i], v[i + 1]), subtract(v[i], v[i + 1])) for i in (1, 3)]
        found = [add(v[0], add(pairs[0][0], pairs[1][0]))]
        for i in range(1, count):
            found.append(_weighted(ways, [(p**i, pair[i % 2]) for p, pair in zip(POINTS, pairs, strict=True)]))
        return [*found[:-1], add(found[-1], v[5])]

    return sums


def _weighted(ways: Arithmetic[Value], terms: Sequence[tuple[Fraction, Value]]) -> Value:
    total = ways.times(*terms[0])
    for factor, value in terms[1:]:
        total = ways.plus(total, factor, value)
    return total
