# SPDX-License-Identifier: Apache-2.0
"""Running operations along an axis: the first-order linear recurrence, and sums, products and extrema so far.

The adjoint of a linear recurrence is one in the other direction, and so are those of the others: the set is
closed under differentiation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ngraph_rewrite.ops.checks import alike, flag, numeric, position, positional
from ngraph_rewrite.terms.catalogue import Attributes, Meaning, op
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.tensor import TensorType


def _attributes(x: TensorType, *others: TensorType, axis: Any, reverse: Any) -> Attributes:
    return {"axis": position(axis, x.rank), "reverse": flag(reverse, "reverse")}


def _lines(term: Op, *arrays: Any) -> list[Any]:
    """The arrays with the axis first and in the direction of the operation."""
    moved = [np.moveaxis(a, term.attribute("axis"), 0) for a in arrays]
    return [m[::-1] for m in moved] if term.attribute("reverse") else moved


def _recurrence(term: Op, a: Any, b: Any) -> Any:
    result = np.empty(b.shape, b.dtype)
    factors, addends, values = _lines(term, a, b, result)
    with np.errstate(all="ignore"):
        for t in range(len(values)):
            values[t] = addends[t] if t == 0 else factors[t] * values[t - 1] + addends[t]
    return result


@op("semi.recurrence", meaning=_recurrence, normalise=_attributes)
def recurrence(a: TensorType, b: TensorType, *, axis: int, reverse: bool) -> TensorType:
    """``y[t] = a[t] * y[t - 1] + b[t]`` along `axis`, from the end if `reverse`; ``y`` begins with ``b``.

    The first factor is not used. Each step is rounded to the dtype; integers wrap.
    """
    positional(a, b)
    numeric(a)
    alike(a, b)
    return b


def _running(ufunc: Any) -> Meaning:
    def meaning(term: Op, x: Any) -> Any:
        result = np.empty(x.shape, x.dtype)
        lines, values = _lines(term, x, result)
        with np.errstate(all="ignore"):
            for t in range(len(values)):
                values[t] = lines[t] if t == 0 else ufunc(values[t - 1], lines[t])
        return result

    return meaning


def _declare(short: str, ufunc: Any, says: str) -> None:
    def type_rule(x: TensorType, *, axis: int, reverse: bool) -> TensorType:
        positional(x)
        numeric(x)
        return x

    type_rule.__doc__ = f"{says} up to each place along `axis` (from it on if `reverse`), in the dtype of `x`."
    op(f"semi.{short}", meaning=_running(ufunc), normalise=_attributes)(type_rule)


_declare("cumsum", np.add, "The sum of the elements")
_declare("cumprod", np.multiply, "The product of the elements")
_declare("cummax", np.maximum, "The greatest element, or NaN,")
_declare("cummin", np.minimum, "The least element, or NaN,")
