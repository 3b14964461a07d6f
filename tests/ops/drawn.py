# SPDX-License-Identifier: Apache-2.0
"""Applications of an op to drawn arguments: well-typed terms, and arrays for their leaves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from ngraph_rewrite.errors import NGraphRewriteError
from ngraph_rewrite.rewriting.domain import COMMON_FIRST, Domain
from ngraph_rewrite.rewriting.domains import argument_types
from ngraph_rewrite.rewriting.domains_attributes import attribute_values
from ngraph_rewrite.targets.evaluation import evaluate
from ngraph_rewrite.terms.catalogue import OpDef, definitions, lookup
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.types.axes import Axis
from ngraph_rewrite.types.dtypes import is_float
from ngraph_rewrite.types.tensor import TensorType
from ngraph_rewrite.types.tuples import TupleType

KNOWN = Domain((2, 3, 1), (Axis("H", 2), Axis("W", 3), Axis("N", 1), Axis("C", 2)), COMMON_FIRST)
EDGES = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3e-7, 40.0, np.inf, -np.inf, np.nan])


def leaf(type_: TensorType) -> Op:
    """A placeholder of this type."""
    return Op(lookup("core.placeholder"), (), (Uid(), type_.axes, type_.dtype), type_)


def apply(definition: OpDef | str, *args: Op, **attributes: Any) -> Op:
    """The op applied to terms, without the checks that `build` adds."""
    found = lookup(definition) if isinstance(definition, str) else definition
    given = tuple(attributes[name] for name in found.attributes)
    stored, type_ = found.infer(tuple(a.type for a in args), given)
    return Op(found, args, stored, type_)


@st.composite
def applications(draw: st.DrawFn, definition: OpDef, domain: Domain = KNOWN) -> Op:
    """A well-typed application of an op to placeholders; of a tuple, one of its parts."""
    count = definition.arity if definition.arity is not None else draw(st.integers(definition.least, 3))
    types: dict[int, TensorType] = {}
    for i in range(count):
        proposed = argument_types(definition, i, types, None, domain)
        types[i] = draw(st.sampled_from(domain.pool(definition.family) if proposed is None else proposed))
    wish = None if count else draw(st.sampled_from(domain.pool(definition.family)))
    values = attribute_values(definition, tuple(types.values()), wish, domain)
    assume(values)
    attributes = dict(zip(definition.attributes, draw(st.sampled_from(values)), strict=True))
    try:
        term = apply(definition, *map(leaf, types.values()), **attributes)
    except NGraphRewriteError:
        assume(False)
        raise
    if not isinstance(term.type, TupleType):
        return term
    assume(len(term.type))
    return apply("core.item", term, index=draw(st.integers(0, len(term.type) - 1)))


def arrays(term: Op, seed: int, edges: bool = True) -> dict[Op, Any]:
    """Arrays for the placeholders under a term; floats take infinities, NaN and signed zeros if `edges`."""
    rng = np.random.default_rng(seed)
    leaves = [t for t in topological([term]) if t.definition.name == "core.placeholder"]
    return {t: _array(t.type, rng, edges) for t in leaves}


def _array(type_: TensorType, rng: np.random.Generator, edges: bool) -> Any:
    shape = tuple(int(n) for n in type_.shape)  # type: ignore[arg-type]
    if type_.dtype.kind == "b":
        return rng.random(shape) < 0.5
    if type_.dtype.kind in "iu":
        return rng.integers(0 if type_.dtype.kind == "u" else -4, 5, shape).astype(type_.dtype)
    plain = rng.normal(size=shape) * 2
    mixed = np.where(rng.random(shape) < 0.3, rng.choice(EDGES, shape), plain) if edges else plain
    return np.asarray(mixed).astype(type_.dtype)


def value(term: Op, values: Mapping[Op, Any]) -> Any:
    """What a term denotes, by the meanings of its ops."""
    return evaluate([term], values)[term]


def computed(family: str) -> list[str]:
    """The names of a family's ops that have a meaning."""
    return [d.name for d in definitions(family) if d.meaning is not None]


def undefined(term: Op, values: Mapping[Op, Any]) -> bool:
    """Whether NumPy leaves the value open: integers to a negative power, floats cast to integers they do not fit."""
    short = term.definition.short
    if short == "power" and term.dtype.kind in "iu":
        return any((np.asarray(v) < 0).any() for v in values.values())
    return short == "cast" and term.dtype.kind in "iu" and any(is_float(v.dtype) for v in values.values())
