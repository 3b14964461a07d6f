# SPDX-License-Identifier: Apache-2.0
"""Which attributes an op might have with given arguments: the other half of the instances' column.

Each entry proposes tuples in the order of the op's attributes, the plainest first; values at the edges
(nothing reduced, everything reduced, the identity, a reversal, an empty slice) are among them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ngraph_rewrite.rewriting.domains import Domain
from ngraph_rewrite.rewriting.domains_axes import AXES, reduced_axes
from ngraph_rewrite.rewriting.domains_semi import SEMI, Proposal, Values, numbers, reduced
from ngraph_rewrite.terms.catalogue import OpDef
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Uid
from ngraph_rewrite.types.axes import Axes, Axis, anonymous
from ngraph_rewrite.types.tensor import TensorType


@lru_cache(4096)
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
        proposal = reduced_axes if definition.family == "axes" else reduced
    return list(proposal(types, wish, domain)) if proposal is not None else []


def _constant(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    if wish is None:
        return
    yield from ((Literal(v, wish.dtype), wish.axes) for v in numbers(wish.dtype))
    shape = [n for n in wish.shape if isinstance(n, int)]
    if shape and len(shape) == wish.rank:
        yield Literal(np.arange(math.prod(shape)).reshape(shape).astype(wish.dtype)), wish.axes


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


_PROPOSALS: dict[str, Proposal] = {
    **SEMI,
    **AXES,
    "cpu.gemm": lambda types, wish, domain: itertools.product((False, True), repeat=2),
    "core.constant": _constant,
    "core.label": _label,
    "core.placeholder": _leaf,
    "core.variable": _variable,
    "core.assign": _uid,
}
