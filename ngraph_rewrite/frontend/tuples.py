# SPDX-License-Identifier: Apache-2.0
"""Tuples: several values as one term."""

from __future__ import annotations

from ngraph_rewrite.frontend.building import Operand
from ngraph_rewrite.frontend.storage import as_ops
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.op import Op, build


def make_tuple(*xs: Operand) -> Op:
    """The terms together, as one term: ``t[i]`` is a part, ``a, b = t`` all of them; it is computed as a tuple.

    Raises:
        DTypeError: if a part is neither a term nor a number.
        OutOfRangeError: by ``t[i]``, if there is no such part; negative numbers count from the end.

    >>> import ngraph_rewrite as ng
    >>> t = ng.make_tuple(ng.variable({"H": 2}, name="w"), 3)
    >>> t.type, t[-1].type, len(t)
    ((float32[H:2], int64[]), int64[], 2)
    """
    return build(lookup("core.make_tuple"), tuple(as_ops(xs)))
