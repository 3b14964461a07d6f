# SPDX-License-Identifier: Apache-2.0
"""What arrays of three elements do not show: a count, a position or a sum that fits a narrow dtype only while small.

Proofs run over short axes, and over real numbers where there are floats. In eight bits the 300th position is not 300,
in floats of sixteen bits it is not exact from 2049 on, and infinite from 65520 on.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.types.dtypes import BFLOAT16, BOOL, DType, can_cast
from ngraph_rewrite.types.tuples import TupleType, tensors

NARROW = frozenset([*map(np.dtype, ("int8", "uint8", "int16", "uint16", "float16")), BFLOAT16])
# Ops whose values grow with the lengths of axes.
_GROWING = frozenset("iota sum prod cumulative_sum cumulative_prod size tensor_size batch_size arange".split())


def narrowed(left: Op, right: Op) -> DType | None:
    """A narrow dtype in which the right side alone counts or adds up, or to which it alone casts what may not fit.

    >>> from ngraph_rewrite.testing import term
    >>> far, near = (term("semi.iota", shape=(3,), axis=0, dtype=dtype) for dtype in ("int64", "uint8"))
    >>> narrowed(far, term("semi.cast", near, dtype="int64")), narrowed(near, near)
    (dtype('uint8'), None)
    """
    computed = (t.type for t in topological([left]) if t.args or t is left)
    known = {type_.dtype for one in computed for type_ in tensors(one)} | set(_narrow(left))
    return next((dtype for dtype in _narrow(right) if dtype not in known), None)


def _narrow(root: Op) -> Iterator[DType]:
    for t in topological([root]):
        if isinstance(t.type, TupleType) or t.dtype not in NARROW:
            continue
        if t.definition.short in _GROWING or (t.definition.short == "cast" and _may_not_fit(t)):
            yield t.dtype


def _may_not_fit(cast: Op) -> bool:
    have = cast.args[0].dtype
    return have != BOOL and not can_cast(have, cast.dtype)
