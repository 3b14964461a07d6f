# SPDX-License-Identifier: Apache-2.0
"""What functions of ``ng.numpy.special`` are computed of: floats of one dtype, wide enough for what they ask for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.data_types import astype
from ngraph_rewrite.frontend.numpy.number_formulas import as_float
from ngraph_rewrite.frontend.numpy.operands import Array, as_terms, no_truth
from ngraph_rewrite.frontend.schema import with_deriv
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import FLOAT64, promote, wide

Formula = Callable[..., Op]
Slopes = Callable[..., Any]


def in_single(call: str, formula: Formula, *operands: Array, slopes: Slopes | None = None) -> Op:
    """What a formula makes of operands as floats of at least 32 bits, in the dtype that these have together.

    Args:
        slopes: From the adjoint and the floats to the adjoint of each; without it the formula is differentiated.

    >>> import ngraph_rewrite as ng
    >>> in_single("twice", lambda x: x + x, ng.placeholder((3,), "float16")).type
    float16[3]
    """
    return _computed(call, formula, operands, slopes, double=False)


def in_double(call: str, formula: Formula, *operands: Array, slopes: Slopes | None = None) -> Op:
    """As `in_single`, computed in float64: what would lose more digits than others.

    >>> import ngraph_rewrite as ng
    >>> in_double("twice", lambda x: x + x, ng.placeholder((3,), "int32")).type
    float64[3]
    """
    return _computed(call, formula, operands, slopes, double=True)


def _computed(call: str, formula: Formula, operands: tuple[Array, ...], slopes: Slopes | None, double: bool) -> Op:
    terms = [as_float(t) for t in as_terms(call, *map(no_truth, operands))]
    dtype = promote(*(t.dtype for t in terms))
    given = [astype(t, FLOAT64 if double else wide(dtype)) for t in terms]
    found = checked(call, formula, *given)
    return astype(found if slopes is None else with_deriv(found, slopes, *given), dtype)
