# SPDX-License-Identifier: Apache-2.0
"""Which terms can be the initial value of a variable: what is known before any call, and changes nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngraph_rewrite.errors import AttributeValueError, AxesError, DTypeError, LengthError
from ngraph_rewrite.ops.fitting import fitted
from ngraph_rewrite.terms.binders import open_parameter
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.types.axes import Axes
from ngraph_rewrite.types.dtypes import DType
from ngraph_rewrite.types.tensor import TensorType

_INSTEAD = "compute it from constants, random draws and other variables"


def initial_value(given: Any, axes: Axes, dtype: DType) -> NDArray[Any]:
    """A number or an array as the initial value of a variable with these axes and this dtype: read-only.

    Raises:
        DTypeError: if it does not fit the dtype.
        AxesError: if it has another shape, and is no number.

    >>> initial_value(2, Axes({"H": 3}), np.dtype("float32"))
    array(2., dtype=float32)
    """
    value = Literal(given, dtype)
    shape = np.shape(given)
    if dtype.kind in "iu" and not np.array_equal(value.array(shape), given):
        raise DTypeError(f"initial_value is not all {dtype}: it would be rounded", do="round it, or give another dtype")
    fits = len(shape) == len(axes) and all(
        n == m or not isinstance(m, int) for n, m in zip(shape, axes.lengths, strict=False)
    )
    if shape and not fits:
        raise AxesError(
            f"initial_value has the shape {shape}, the axes are {axes!r}", do="give an array of this shape, or a number"
        )
    return value.array(shape)


def initial_term(term: Op, to: TensorType, name: str, closed: Op | None = None) -> Op:
    """`term` as the initial value of a variable of type `to`, called `name`.

    Args:
        closed: The same with the initial values of variables in their place, if they are known.

    Raises:
        AttributeValueError: if it depends on a placeholder, or has effects.
        LengthError: if a length is not known.
        UnmatchedAxesError, DTypeError, FamilyError: if it cannot have this type.
    """
    unbound = open_parameter([term])
    for part in topological([term]):
        kind = part.definition
        if kind.name == "core.placeholder" or part is unbound:
            whose = "only its function or step knows" if part is unbound else "each call supplies"
            raise AttributeValueError(
                f"the initial value depends on {describe(part, 1)}, which {whose}",
                do=_INSTEAD,
            )
        if "effect" in kind.traits or (kind.name == "core.variable" and part.attribute("scratch")):
            raise AttributeValueError(
                f"the initial value contains {describe(part, 1)}: there is no state yet to be changed",
                do=_INSTEAD,
            )
    if not all(isinstance(n, int) for n in term.shape):
        raise LengthError(
            f"the initial value {term.type!r} has a length that is not known", do="give the axis a length"
        )
    return fitted(term if closed is None else closed, to, name)
