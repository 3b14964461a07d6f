# SPDX-License-Identifier: Apache-2.0
"""A piece of a function is a polynomial in the distance from a place, good in an interval around it."""

from collections.abc import Sequence
from typing import NamedTuple

from ngraph_rewrite.runtime.reals import Real


class Piece(NamedTuple):
    """A polynomial in the distance from a place; coefficients lowest first."""

    place: float
    coefficients: Sequence[float]

    def at(self, x: Real) -> Real:
        """Its value."""
        return (x - self.place).polynomial(self.coefficients)
