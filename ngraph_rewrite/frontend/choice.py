# SPDX-License-Identifier: Apache-2.0
"""Elementwise functions that choose: a selection by a condition, and another dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from ngraph_rewrite.frontend.building import Operand, apply, checked, condition_of
from ngraph_rewrite.frontend.storage import as_op
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op, family_of
from ngraph_rewrite.terms.operands import as_constant
from ngraph_rewrite.types.dtypes import kind_of, promote, scalar_dtype
from ngraph_rewrite.types.lengths import Length


def select(c: Operand, x: Operand, y: Operand) -> Op:
    """`x` where the condition `c` holds, `y` elsewhere; broadcast by name, `x` and `y` promoted.

    Raises:
        DTypeError: if `c` is not bool, or is True or False of Python, as ``x == 0`` is of a term.
        IncompatibleAxesError: if an axis has two lengths.

    >>> import ngraph_rewrite as ng
    >>> x = ng.variable({"H": 3}, name="x")
    >>> ng.select(x > 0, x, 0)
    axes.select(axes.greater(x, 0.0), x, 0.0)
    """
    condition = as_op(condition_of("select", c))
    known = (Op, bool, int, float, np.generic, np.ndarray, Length)
    x, y = (v if isinstance(v, known) else _array(v) for v in (x, y))
    terms = [t for t in (condition, x, y) if isinstance(t, Op)]
    values = [v if isinstance(v, Op) else _branch(v, [x, y], condition) for v in (x, y)]
    return apply(f"{family_of(terms)}.select", condition, *values)


def where(c: Operand, x: Operand, y: Operand) -> Op:
    """`select` under NumPy's name.

    >>> import ngraph_rewrite as ng
    >>> ng.where(ng.variable([], "bool", name="c"), 1.0, 2.0)
    axes.select(c, 1.0, 2.0)
    """
    return select(c, x, y)


def cast(x: Operand, dtype: Any) -> Op:
    """`x` in another dtype; `x` itself if it has it. Floats are truncated to integers, bool is "not zero".

    Raises:
        DTypeError: if the dtype is not supported.

    >>> import ngraph_rewrite as ng
    >>> ng.cast(ng.variable({"H": 3}), "int32").type
    int32[H:3]
    """
    term = as_op(x)
    cast_term = apply(f"{family_of([term])}.cast", term, dtype=dtype)
    return term if cast_term.dtype == term.dtype else cast_term


def _array(value: Any) -> np.ndarray:
    """Nested lists as an array of the dtype that a constant of them has; whatever else it is, it is refused as one."""
    return np.asarray(value, as_op(value).dtype)


def _branch(value: Any, branches: list[Any], condition: Op) -> Op:
    """A number as a constant of the dtype of the branches: the condition's does not count."""
    dtypes = [b.dtype for b in branches if isinstance(b, Op)]
    numbers = [1 if isinstance(b, Length) else b for b in branches if not isinstance(b, Op)]
    if dtypes:
        dtype = promote(*dtypes, *numbers)
    elif all(type(b) in (bool, int, float) for b in numbers):
        dtype = max((scalar_dtype(b) for b in numbers), key=lambda d: "biuf".index(kind_of(d)))
    else:
        dtype = promote(*(scalar_dtype(b) for b in numbers))
    if isinstance(value, Length):
        return apply("semi.size", value=value, dtype=dtype)
    if np.ndim(value):
        return as_constant(value, [condition])
    checked("select", Literal, value, dtype)
    return as_constant(np.asarray(value, dtype)[()], [condition])
