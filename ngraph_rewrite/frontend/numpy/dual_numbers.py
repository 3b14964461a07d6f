# SPDX-License-Identifier: Apache-2.0
"""Numbers that carry a slope along: what a loop computes of them has the slope as well, without a way back.

Series and continued fractions are loops of such numbers, which end when all elements have come to rest. Where there is
no slope to carry, that of all numbers is the float 0.0, and nothing is computed for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ngraph_rewrite.frontend.looping import while_loop
from ngraph_rewrite.frontend.numpy.creation import asarray
from ngraph_rewrite.frontend.numpy.elementwise import abs as size_of
from ngraph_rewrite.frontend.numpy.elementwise import logical_and, logical_not, where
from ngraph_rewrite.frontend.numpy.statistical import all as all_of
from ngraph_rewrite.terms.op import Op

CLOSE = 2.0**-53  # what changes by less of itself is at rest
TINY = 1e-300
MOST = 20_000  # steps: as many as parameters of ten millions need


class Dual(NamedTuple):
    """A number and its slope, by the one parameter that is meant.

    >>> x = Dual(3.0, 1.0)
    >>> x.times(x).plus(Dual(2.0)), Dual(1.0).by(x)
    (Dual(value=11.0, slope=6.0), Dual(value=0.3333333333333333, slope=-0.1111111111111111))
    """

    value: Any
    slope: Any = 0.0

    def plus(self, other: Dual) -> Dual:
        """The sum."""
        return Dual(self.value + other.value, _sum(self.slope, other.slope))

    def times(self, other: Dual) -> Dual:
        """The product."""
        slope = _sum(_product(self.slope, other.value), _product(other.slope, self.value))
        return Dual(self.value * other.value, slope)

    def by(self, other: Dual) -> Dual:
        """The quotient."""
        found = self.value / other.value
        return Dual(found, _product(_sum(self.slope, _product(other.slope, -found)), 1 / other.value))


Numbers = Sequence[Dual]


def repeated(step: Callable[[Op, Numbers], Numbers], rests: Callable[[Numbers], Op], init: Numbers) -> Numbers:
    """The numbers after the steps 1, 2, ... of a loop, until all of them rest.

    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder((3,), "float64", name="x")
    >>> halved = repeated(lambda k, state: [state[0].by(Dual(2.0))], lambda state: state[0].value < 1, [Dual(x)])
    >>> with ng.make_transformer("cpu") as transformer:
    ...     transformer.computation(halved[0].value, x)([3.0, 4.0, 0.5])
    array([0.375 , 0.5   , 0.0625])
    """
    sloped = any(isinstance(x.slope, Op) for x in init)
    width = 2 if sloped else 1

    def numbers(state: Any) -> list[Dual]:
        return [Dual(*part) for part in state[1]]

    def goes_on(state: Any) -> Op:
        return logical_and(state[0] <= MOST, logical_not(all_of(rests(numbers(state)))))

    def following(state: Any) -> Any:
        return state[0] + 1, [x[:width] for x in step(state[0], numbers(state))]

    found: Any = while_loop(goes_on, following, (asarray(1.0, dtype="float64"), [x[:width] for x in init]))
    return numbers(found)


def fraction(step: Callable[[Op, Numbers], Numbers], c: float, d: Dual) -> Dual:
    """What a continued fraction comes to by Lentz's way: its last factor is 1, and has no slope.

    Args:
        step: What `next_part` makes of the state: Lentz's two quotients, what is found, and its last factor.
        c: The first of the quotients, a number without a slope.
        d: The other one, which is found at first.
    """

    def rests(state: Numbers) -> Op:
        change, slope = state[3]
        near = size_of(change - 1) <= 2 * CLOSE
        return near if isinstance(slope, float) else logical_and(near, size_of(slope) <= 2 * CLOSE)

    nothing = d.value * 0
    first, factor = (Dual(nothing + x, _product(d.slope, 0.0)) for x in (c, 2.0))
    return repeated(step, rests, [first, d, d, factor])[2]


def next_part(more: Dual, below: Dual, state: Numbers) -> Numbers:
    """The state of a continued fraction with one more part, ``more / (below + ...)``."""
    c, d, found, _ = state
    d = Dual(1.0).by(_not_zero(more.times(d).plus(below)))
    c = _not_zero(more.by(c).plus(below))
    change = c.times(d)
    return c, d, found.times(change), change


def _not_zero(x: Dual) -> Dual:
    return Dual(where(size_of(x.value) < TINY, TINY, x.value), x.slope)


def _product(slope: Any, factor: Any) -> Any:
    return 0.0 if isinstance(slope, float) and slope == 0 else slope * factor


def _sum(slope: Any, other: Any) -> Any:
    if isinstance(slope, float) and slope == 0:
        return other
    return slope if isinstance(other, float) and other == 0 else slope + other
