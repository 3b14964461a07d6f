# SPDX-License-Identifier: Apache-2.0
"""A derivative that a Python function gives: it is called with the adjoint, and gives adjoints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ngraph_rewrite.errors import DerivativeError
from ngraph_rewrite.lowering.fitting import zero
from ngraph_rewrite.lowering.sweep import Adjoint, Pair
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.operands import as_constant
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.types.tensor import TensorType
from ngraph_rewrite.types.tuples import TupleType


def handled(handler: Callable[..., Any], term: Op, adjoint: Adjoint) -> list[Pair]:
    """Pairs for the facts of an annotated term; for the term it is about if there are none.

    Raises:
        DerivativeError: if the handler gives too few or too many adjoints, or what is none.
    """
    value, *facts = term.args
    receivers = facts or [value]
    found = handler(_whole(adjoint, term.type), *facts)
    single = not isinstance(found, tuple | list)
    adjoints = [found] if single else list(found)
    if len(adjoints) != len(receivers):
        raise _wrong(term, f"gives {len(adjoints)} adjoints for {len(receivers)} terms")
    pairs = zip(receivers, adjoints, strict=True)
    return [(r, _term(a, r, term)) for r, a in pairs if a is not None]


def _whole(adjoint: Adjoint, type_: TensorType) -> Any:
    """Of a tuple, the adjoints of all its parts."""
    if not isinstance(adjoint, Mapping):
        return adjoint
    assert isinstance(type_, TupleType)
    return tuple(adjoint[i] if i in adjoint else zero(t) for i, t in enumerate(type_.elements))


def _term(adjoint: Any, receiver: Op, term: Op) -> Op:
    if isinstance(adjoint, Op):
        return adjoint
    if isinstance(adjoint, bool | int | float):
        return as_constant(adjoint, [receiver])
    raise _wrong(term, f"gives {adjoint!r} as the adjoint of {describe(receiver, 1)}")


def _wrong(term: Op, what: str) -> DerivativeError:
    return DerivativeError(
        f"the deriv_handler of {describe(term, 1)} {what}",
        where=term.info.place,
        do="give a term, a number or None for each of the terms after the adjoint",
    )
