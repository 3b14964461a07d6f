# SPDX-License-Identifier: Apache-2.0
"""Which attributes an op might have with given arguments: the other half of the instances' column.

Each entry proposes tuples in the order of the op's attributes, the plainest first; values at the edges
(nothing reduced, everything reduced, the identity, a reversal, an empty slice) are among them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from ngraph_rewrite.rewriting import (
    domains_attention,
    domains_fourier,
    domains_indexed,
    domains_products,
    domains_simple,
    domains_simple_windows,
)
from ngraph_rewrite.rewriting.domain import Domain
from ngraph_rewrite.rewriting.domains_axes import AXES, reduced_axes
from ngraph_rewrite.rewriting.domains_convolution import CONVOLUTION
from ngraph_rewrite.rewriting.domains_declared import checked_attributes, declare
from ngraph_rewrite.rewriting.domains_network import NETWORK
from ngraph_rewrite.rewriting.domains_numpy import NUMPY
from ngraph_rewrite.rewriting.domains_scan import loops, named_scans, scans
from ngraph_rewrite.rewriting.domains_semi import SEMI, Proposal, Values, filled, numbers, reduced
from ngraph_rewrite.rewriting.domains_update import UPDATE
from ngraph_rewrite.terms.catalogue import OpDef, lookup
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.types.axes import Axes, Axis, anonymous
from ngraph_rewrite.types.dtypes import DType
from ngraph_rewrite.types.tensor import TensorType
from ngraph_rewrite.types.tuples import TupleType


@lru_cache(256)
def attribute_values(
    definition: OpDef, types: tuple[TensorType, ...], wish: TensorType | None, domain: Domain
) -> list[tuple[Any, ...]]:
    """Tuples of attributes to try, in the order of `definition.attributes`; some may not be valid.

    For an op without arguments `wish` says what it must make. An op without an entry gets what its
    attributes' names suggest, and nothing if they suggest nothing.
    """
    if not definition.attributes:
        return [()]
    proposal = _PROPOSALS.get(definition.name)
    if proposal is None and definition.attributes == ("axes",) and types:
        proposal = reduced_axes if definition.kin == "axes" else reduced
    return list(proposal(types, wish, domain)) if proposal is not None else []


def is_drawn(definition: OpDef) -> bool:
    """Whether anything says which attributes an op may have, if it has some."""
    return not definition.attributes or definition.name in _PROPOSALS or definition.attributes == ("axes",)


def _constant(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    if wish is None:
        return
    yield from ((value, wish.axes) for value in _usual(wish.dtype))
    yield from ((value, wish.axes) for value in _filled(domain.numbers, wish.dtype))
    shape = [n for n in wish.shape if isinstance(n, int)]
    if shape and len(shape) == wish.rank:
        count = math.prod(shape)
        with np.errstate(over="ignore"):  # what does not fit a narrow float is infinite
            yield Literal(np.arange(count).reshape(shape).astype(wish.dtype)), wish.axes
            if wish.dtype.kind == "i":
                yield Literal((count // 2 - np.arange(count)).reshape(shape).astype(wish.dtype)), wish.axes


@lru_cache(64)
def _usual(dtype: DType) -> tuple[Literal, ...]:
    """The numbers that constants are filled with, whatever a guard says."""
    return tuple(Literal(v, dtype) for v in numbers(dtype))


@lru_cache(256)
def _filled(values: tuple[float, ...], dtype: DType) -> tuple[Literal, ...]:
    """Those of some numbers that a dtype has."""
    return tuple(filled(values, dtype))


def _label(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    x = types[0]
    if wish is not None and wish.shape == x.shape:
        yield (wish.axes,)
    yield (domain.labels(x.shape),)
    yield (Axes(Axis(f"Y{i}", n, "sample" if i == 0 else ()) for i, n in enumerate(x.shape)),)
    yield (anonymous(x.shape),)


def _leaf(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    return [(Uid(), wish.axes, wish.dtype)] if wish is not None else []


def _variable(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    return ((*values, True, False) for values in _leaf(types, wish, domain))


def _uid(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    return [(Uid(),)]


def _parts(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    t = types[0]
    return ((i,) for i in range(len(t))) if isinstance(t, TupleType) else ()


_PROPOSALS: dict[str, Proposal] = {
    **SEMI,
    **NUMPY,
    **AXES,
    **domains_attention.ATTRIBUTES,
    **domains_fourier.ATTRIBUTES,
    **domains_indexed.ATTRIBUTES,
    **domains_products.ATTRIBUTES,
    **domains_simple.ATTRIBUTES,
    **domains_simple_windows.ATTRIBUTES,
    **UPDATE,
    **CONVOLUTION,
    **NETWORK,
    "cpu.gemm": lambda types, wish, domain: itertools.product((False, True), repeat=2),
    "core.constant": _constant,
    "core.label": _label,
    "core.placeholder": _leaf,
    "core.parameter": lambda types, wish, domain: [] if wish is None else [(Uid(), wish.axes, wish.dtype)],
    "core.item": _parts,
    "core.while_loop": loops,
    "semi.scan": scans,
    "axes.scan": named_scans,
    "core.variable": _variable,
    "core.assign": _uid,
    "core.call": lambda types, wish, domain: [(tuple(Uid() for _ in types[1:]), "f", True)] if types else [],
    "core.annotated": lambda types, wish, domain: (("softmax",), (Axis("K", 2),)),
}


Domains = TypeVar("Domains", bound=Proposal)


def attribute_domain(op: str) -> Callable[[Domains], Domains]:
    """Say which attributes an op may have, where property tests draw instances of rules and kernels.

    Decorates a function of the arguments' types, the type the result should have (or None) and the `Domain`; it gives
    tuples in the order of the op's attributes, the plainest first, those at the edges too. It may propose what the
    type rule refuses. Every op with attributes needs one, or its rules cannot be drawn.

    Raises:
        AttributeValueError: for an op that has one, as all have that ship.
        UnknownOpError: for what is none.
        ArgumentError: for what cannot be called.

    >>> import ngraph_rewrite as ng
    >>> @ng.op("example_target.scale")
    ... def scale(x, *, by):
    ...     return x
    >>> @attribute_domain("example_target.scale")
    ... def factors(types, wish, domain):
    ...     return [(2.0,), (1.0,), (0.0,)]
    """

    definition = lookup(op)

    def register(proposal: Domains) -> Domains:
        declare(_PROPOSALS, definition, "attributes", proposal, checked_attributes)
        attribute_values.cache_clear()
        return proposal

    return register
