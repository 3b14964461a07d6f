# SPDX-License-Identifier: Apache-2.0
"""Which arguments an op might have: the column of the catalogue from which instances of rules are made.

`argument_types` proposes, and the op's type rule disposes: a proposal may be wrong, but for each op some
must be right. A third party's op needs no entry if its arguments have one type, or any.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TypeVar

from ngraph_rewrite.errors import NGraphRewriteError
from ngraph_rewrite.rewriting import (
    domains_attention,
    domains_differing,
    domains_fourier,
    domains_indexed,
    domains_products,
    domains_simple,
    domains_simple_windows,
)
from ngraph_rewrite.rewriting.domain import Domain, Proposal, Types
from ngraph_rewrite.rewriting.domains_convolution import CONVOLUTION_TYPES
from ngraph_rewrite.rewriting.domains_declared import checked_arguments, declare
from ngraph_rewrite.rewriting.domains_differing import same_shape
from ngraph_rewrite.rewriting.domains_network import NETWORK_TYPES
from ngraph_rewrite.terms.catalogue import OpDef, lookup
from ngraph_rewrite.types.dtypes import DTYPES, DType
from ngraph_rewrite.types.tensor import TensorType


def argument_types(
    definition: OpDef, position: int, known: Mapping[int, TensorType], wish: TensorType | None, domain: Domain
) -> Types | None:
    """Types to try for an argument; None if nothing is known about it.

    Args:
        known: The types of the arguments that are there already, by position.
        wish: What type the result should have, if that is known; it need not come out.
    """
    special = _PROPOSALS.get(definition.name)
    if special is not None:
        return special(position, known, wish, domain)
    if not known and wish is None:
        return _accepted_types(definition, domain)
    if definition.kin == "axes":
        return _named(definition, known, wish, domain)
    if definition.kin == "simple":
        return domains_simple.arguments(definition, known, wish, domain)
    if known:
        return domain.stretching(known[min(known)]) if definition.kin == "numpy" else [known[min(known)]]
    assert wish is not None
    return same_shape(wish, domain) if _changes_dtype(definition) else [wish]


def _accepted_types(definition: OpDef, domain: Domain) -> Types | None:
    if not definition.traits & {"elementwise", "reduction"}:
        return None
    return [t for t in domain.pool(definition.kin) if t.dtype in _accepted(definition)]


@cache
def _accepted(definition: OpDef) -> frozenset[DType]:
    """The dtypes an op takes, found by asking its type rule about scalars; all if that tells nothing."""
    found = set()
    for dtype in DTYPES:
        try:
            definition.infer((TensorType(dtype),) * (definition.arity or 1), ((),) * len(definition.attributes))
        except (NGraphRewriteError, TypeError):
            continue
        found.add(dtype)
    return frozenset(found or DTYPES)


def _changes_dtype(definition: OpDef) -> bool:
    return "comparison" in definition.traits or definition.short in ("isnan", "isinf", "isfinite", "cast", "bitcast")


def _named(definition: OpDef, known: Mapping[int, TensorType], wish: TensorType | None, domain: Domain) -> Types | None:
    if known:
        return domain.variants(known[min(known)])
    assert wish is not None
    if "reduction" in definition.traits:
        more = [a for a in domain.axes if wish.axes.find(a.name) is None]
        return [wish.with_axes([*wish.axes[:i], *more[:1], *wish.axes[i:]]) for i in (wish.rank, 0)] + [wish]
    return same_shape(wish, domain) if _changes_dtype(definition) else domain.retyped(wish)


_PROPOSALS: dict[str, Proposal] = {
    **domains_differing.ARGUMENTS,
    **domains_attention.ARGUMENTS,
    **domains_fourier.ARGUMENTS,
    **domains_indexed.ARGUMENTS,
    **domains_products.ARGUMENTS,
    **domains_simple.ARGUMENTS,
    **domains_simple_windows.ARGUMENTS,
    **CONVOLUTION_TYPES,
    **NETWORK_TYPES,
}


Domains = TypeVar("Domains", bound=Proposal)


def argument_domain(op: str) -> Callable[[Domains], Domains]:
    """Say which arguments an op may have, where property tests draw instances of rules and kernels.

    Decorates a function of the argument's position, the types of the arguments that are there already (by position),
    the type the result should have (or None) and the `Domain`; it gives types to try, or None for any. It may propose
    what the type rule refuses. An op all of whose arguments have one type needs no such function.

    Raises:
        AttributeValueError: for an op that has one, as all have that ship.
        UnknownOpError: for what is none.
        ArgumentError: for what cannot be called.

    >>> import ngraph_rewrite as ng
    >>> @ng.op("example_target.row_scale")
    ... def row_scale(x, *, by):
    ...     return x
    >>> @argument_domain("example_target.row_scale")
    ... def vectors(position, known, wish, domain):
    ...     return [t for t in domain.pool("semi") if t.rank == 1]
    """

    definition = lookup(op)

    def register(proposal: Domains) -> Domains:
        declare(_PROPOSALS, definition, "arguments", proposal, checked_arguments)
        return proposal

    return register
