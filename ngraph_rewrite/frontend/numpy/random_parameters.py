# SPDX-License-Identifier: Apache-2.0
"""What random functions have in common: how many numbers, of which dtype, and from parameters that are broadcast."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngraph_rewrite.errors import AttributeValueError, AxesError, DTypeError, NGraphRewriteError
from ngraph_rewrite.frontend.building import apply as build_term
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.data_types import astype
from ngraph_rewrite.frontend.numpy.manipulation import broadcast_to
from ngraph_rewrite.frontend.numpy.operands import Array, as_term
from ngraph_rewrite.ops.checks import extents, listed
from ngraph_rewrite.ops.stretching import Shape, stretched
from ngraph_rewrite.terms.info import Uid, user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import FLOAT32, FLOAT64, DType, as_dtype, finfo, is_float, promote, wide
from ngraph_rewrite.types.lengths import Length

# A length, several, or None for as many as the parameters have.
Size = Any
# A number as Python has it, or a term.
Parameter = Op | int | float


class Wanted(NamedTuple):
    """What a random function was asked for.

    Attributes:
        dtype: Of the result.
        parameters: Numbers as they were given, and terms of the dtype that is computed in.
    """

    shape: Shape
    dtype: DType
    parameters: list[Any]

    @property
    def inner(self) -> DType:
        """The dtype that is computed in."""
        return wide(self.dtype)

    def uniform(self, low: float = 0.0, high: float = 1.0) -> Op:
        """Numbers from [low, high), of the dtype that is computed in."""
        return drawn(self.shape, self.inner, low, high)

    def positive(self) -> Op:
        """Numbers from (0, 1), of the dtype that is computed in: the least is no further from 0 than others lie apart.

        Drawn numbers are multiples of half an eps, so that 0 is as probable as any other. What stands for it must not
        be so small that its logarithm is out of all proportion.
        """
        return self.uniform(float(finfo(self.inner).eps) / 8)

    def normal(self) -> Op:
        """Numbers of mean 0 and standard deviation 1."""
        return build_term("semi.normal", shape=self.shape, dtype=self.inner, loc=0.0, scale=1.0, uid=Uid())

    def result(self, x: Op) -> Op:
        """What was computed, in the dtype that was asked for."""
        return astype(x, self.dtype)


def drawn(shape: Shape, dtype: DType, low: float = 0.0, high: float = 1.0) -> Op:
    """Numbers from [low, high)."""
    return build_term("semi.uniform", shape=shape, dtype=dtype, low=low, high=high, uid=Uid())


def counted(asked: Wanted, mean: Op) -> Op:
    """Poisson counts of a mean, of float64."""
    return build_term("semi.poisson_draw", broadcast_to(mean, asked.shape), drawn(asked.shape, FLOAT64))


def wanted(call: str, size: Size, dtype: Any, *parameters: Array) -> Wanted:
    """What a call asks for: by default float32, or the dtype of parameters that are terms, and as many as they have.

    Raises:
        AxesError: if parameters do not broadcast to the size.
        DTypeError: if the dtype is no float.
        LengthError: for a negative length.
    """
    given = [p if type(p) in (bool, int, float) else as_term(p) for p in parameters]
    terms = [p for p in given if isinstance(p, Op)]
    floats = [t.dtype for t in terms if is_float(t.dtype)]
    own = checked(call, as_dtype, dtype) if dtype is not None else promote(*floats) if floats else FLOAT32
    if not is_float(own):
        raise DTypeError(f"{call}: expected a float dtype, got {own}", where=user_line(), do="cast the numbers")
    shapes = [t.shape for t in terms]
    shape = checked(call, stretched, *shapes) if size is None else checked(call, extents, listed(size))
    if size is not None and checked(call, stretched, shape, *shapes) != shape:
        shown = ", ".join(map(repr, shapes))
        raise AxesError(f"{call}: parameters of shapes {shown} do not fit the size {shape!r}", where=user_line())
    return Wanted(shape, own, [astype(p, wide(own)) if isinstance(p, Op) else p for p in given])


def check_positive(call: str, zero: bool = True, **parameters: Any) -> None:
    """Refuse numbers that are negative or not finite, or 0 where that is none; what a term is, nobody knows yet.

    Raises:
        AttributeValueError: for such a number.
    """
    for name, value in parameters.items():
        x = known(value)
        if x is not None and not (np.isfinite(x) & (x >= 0 if zero else x > 0)).all():
            do = "give a finite one that is not negative" if zero else "give a finite one above 0"
            raise AttributeValueError(f"{call}: {name} is {value!r}", where=user_line(), do=do)


def check_finite(call: str, **parameters: Any) -> None:
    """Refuse numbers that are not finite; what a term is, nobody knows yet.

    Raises:
        AttributeValueError: for such a number.
    """
    for name, value in parameters.items():
        x = known(value)
        if x is not None and not np.isfinite(x).all():
            raise AttributeValueError(f"{call}: {name} is {value!r}", where=user_line(), do="give a finite one")


def check_probability(call: str, p: Array, zero: bool = True, name: str = "p", one: bool = True) -> None:
    """Refuse numbers that are no probabilities, or 0 where something has to happen some time, or 1 where not each time.

    Raises:
        AttributeValueError: for such a number.
    """
    x = known(p)
    if x is not None and not ((x >= 0 if zero else x > 0) & (x <= 1 if one else x < 1)).all():
        do = f"give a probability, from {'0' if zero else 'above 0'} to {'1' if one else 'below 1'}"
        raise AttributeValueError(f"{call}: {name} is {p!r}", where=user_line(), do=do)


def known(given: Array) -> NDArray[np.float64] | None:
    """Numbers that are known where the graph is built; those too large for a float are infinite."""
    if isinstance(given, Op | Length):
        return None
    try:
        return np.asarray(given, np.float64)
    except OverflowError:
        return np.asarray(np.inf)
    except (TypeError, ValueError, NGraphRewriteError):
        return None
