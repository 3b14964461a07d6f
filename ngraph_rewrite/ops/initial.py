# SPDX-License-Identifier: Apache-2.0
"""Which terms can be the initial value of a variable: what is known before any call, and changes nothing."""

from __future__ import annotations

from ngraph_rewrite.errors import AttributeValueError, LengthError
from ngraph_rewrite.ops.fitting import fitted
from ngraph_rewrite.terms.op import Op, describe, topological
from ngraph_rewrite.types.tensor import TensorType

_PER_CALL = {"core.placeholder": "which each call supplies", "core.parameter": "which only its function knows"}


def initial_term(term: Op, to: TensorType, name: str, closed: Op | None = None) -> Op:
    """`term` as the initial value of a variable of type `to`, called `name`.

    Args:
        closed: The same with the initial values of variables in their place, if they are known.

    Raises:
        AttributeValueError: if it depends on a placeholder, or has effects.
        LengthError: if a length is not known.
        UnmatchedAxesError, DTypeError, FamilyError: if it cannot have this type.
    """
    for part in topological([term]):
        kind = part.definition
        if kind.name in _PER_CALL:
            raise AttributeValueError(
                f"the initial value depends on {describe(part, 1)}, {_PER_CALL[kind.name]}",
                do="compute it from constants, random draws and other variables",
            )
        if "effect" in kind.traits or (kind.name == "core.variable" and part.attribute("scratch")):
            raise AttributeValueError(
                f"the initial value contains {describe(part, 1)}: there is no state yet to be changed",
                do="compute it from constants, random draws and other variables",
            )
    if not all(isinstance(n, int) for n in term.shape):
        raise LengthError(
            f"the initial value {term.type!r} has a length that is not known", do="give the axis a length"
        )
    return fitted(term if closed is None else closed, to, name)
