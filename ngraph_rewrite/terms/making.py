# SPDX-License-Identifier: Apache-2.0
"""A term of any op by the op's name: what a frontend function of one's own is made of."""

from __future__ import annotations

from typing import Any

from ngraph_rewrite.errors import UnknownOpError
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op, build
from ngraph_rewrite.terms.operands import as_operands


def make_op(op: str, /, *operands: Any, name: str | None = None, **attributes: Any) -> Op:
    """The op called `op`, applied.

    In a module that sets ``__tracebackhide__ = True``, as pytest's helpers do, the line that a message names is the
    line that called into the module.

    Args:
        op: Family and name, ``"axes.tanh"``.
        operands: Terms, or numbers, which become constants of a dtype that suits the others.
        name: A name for the handle.
        attributes: Every attribute of the op.

    Raises:
        UnknownOpError: if no op is called so.
        ArgumentError: for a wrong number of operands, or attributes that are missing or unknown.
        NGraphRewriteError: whatever the op's type rule raises.

    >>> from ngraph_rewrite.frontend.storage import placeholder
    >>> make_op("axes.maximum", placeholder({"H": 3}, name="x"), 0)
    axes.maximum(x, 0.0)
    """
    try:
        definition = lookup(op)
    except UnknownOpError as error:
        raise UnknownOpError(error.what, where=user_line(), do=error.do) from None
    return build(definition, tuple(as_operands(operands, definition.kin, definition.name)), name=name, **attributes)
