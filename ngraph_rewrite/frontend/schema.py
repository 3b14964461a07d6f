# SPDX-License-Identifier: Apache-2.0
"""Facts that a construction function knows about the term it returns, for rules and derivatives to use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.frontend.building import Operand
from ngraph_rewrite.frontend.storage import as_op, as_ops
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op, build

# From the adjoint of a term, and terms, to an adjoint for each of these (None: no derivative passes).
DerivHandler = Callable[..., "Operand | None | Sequence[Operand | None]"]


@dataclass(frozen=True)
class Derivation:
    """The schema of a term whose derivative a Python function gives."""

    deriv_handler: DerivHandler


def annotated(x: Operand, *facts: Operand, schema: Any) -> Op:
    """`x`, about which a schema says more: what a rule or a derivative can use, and what computes nothing.

    Rules match it as an op: ``annotated(y, x, schema='softmax')`` is a `y` that was made of an `x` so. `recognize`
    and `derive` rules see it; lowering drops it with its facts. A schema that has an attribute `deriv_handler`
    gives the derivative, as in `with_deriv`.

    Args:
        facts: Terms that the schema is about.
        schema: A word, or an instance of a frozen dataclass.

    Raises:
        AttributeValueError: if the schema is anything else, or holds what can change.

    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder({"H": 3}, name="x")
    >>> e = ng.exp(x - ng.max(x, out_axes=[]))
    >>> y = ng.annotated(e / ng.sum(e, out_axes=[]), x, schema="softmax")
    >>> y.type, y.schema, e.schema
    (float32[H:3], 'softmax', None)
    """
    return build(lookup("core.annotated"), tuple(as_ops((x, *facts))), schema=schema)


def with_deriv(x: Operand, handler: DerivHandler, *args: Operand) -> Op:
    """`x`, whose derivative `handler` gives instead of the rules.

    Args:
        handler: Called with the adjoint of `x` and then `args`, when a derivative passes: gives the adjoint of each
            of `args`, or of the one there is (None: no derivative passes). Without `args` it gives that of `x`.
            What it gives may have more axes, or fewer, as in a derive rule.
        args: The terms through which the derivative goes on. Inside an `ng.function`, whatever the handler uses of
            the function's terms has to be among them: each call has its own.

    Raises:
        ArgumentError: if `handler` cannot be called.

    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder([], name="x")
    >>> s = 1 / (1 + ng.exp(-x))
    >>> y = ng.with_deriv(s, lambda d, x: d * s * (1 - s), x)
    >>> with ng.make_transformer("reference") as transformer:
    ...     float(transformer.computation(ng.deriv(y, x), x)(0.0))
    0.25
    """
    if not callable(handler):
        raise ArgumentError(
            f"with_deriv: {handler!r} cannot be called",
            where=user_line(),
            do="give a function of the adjoint and the terms after it",
        )
    return annotated(as_op(x), *args, schema=Derivation(handler))
