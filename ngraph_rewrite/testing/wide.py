# SPDX-License-Identifier: Apache-2.0
"""A term of narrow floats as the same term of float64: there it hardly rounds and does not overflow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ngraph_rewrite.errors import NGraphRewriteError
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.testing.evaluate import Array, Values
from ngraph_rewrite.types.dtypes import FLOAT64, is_float
from ngraph_rewrite.types.tuples import TupleType


def widened(roots: Sequence[Op], values: Values) -> tuple[list[Op], dict[Op | Uid, Array]] | None:
    """The terms and the values in float64; None where there is no narrow float, or they cannot be had in float64."""
    order = topological(roots)
    if not any(map(_is_narrow, order)) or any(t.definition.short == "bitcast" for t in order):  # of other bits
        return None
    bank = TermBank()
    wide: dict[Op, Op] = {}
    try:
        for t in order:
            args = tuple(wide[a] for a in t.args)
            wide[t] = bank.make(t.definition, args, tuple(map(_widened, t.attrs)), t.info)
    except NGraphRewriteError:  # an op may take what it is given in one dtype only
        return None
    own = {wide.get(k, k) if isinstance(k, Op) else k: _array(v) for k, v in values.items()}
    return [wide[root] for root in roots], own


def _is_narrow(t: Op) -> bool:
    return not isinstance(t.type, TupleType) and is_float(t.dtype) and t.dtype != FLOAT64


def _widened(attribute: Any) -> Any:
    if isinstance(attribute, Literal) and is_float(attribute.dtype):
        return attribute.cast(FLOAT64)
    if isinstance(attribute, np.dtype) and is_float(attribute):
        return FLOAT64
    return attribute


def _array(value: Array) -> Array:
    return value.astype(np.float64) if is_float(value.dtype) else value
