# SPDX-License-Identifier: Apache-2.0
"""A graph as text that says all of its structure and nothing else: no names, no places, no order of a dictionary."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological


def dump(roots: Iterable[Op]) -> str:
    """A line for every term, arguments first, and one for the roots. Identities are numbered as they are met.

    Two lowerings of one graph give the same text exactly where they give the same graph.

    >>> import ngraph_rewrite as ng
    >>> print(dump([ng.tanh(ng.variable({"H": 2}, name="w"))]))
    0: float32[H:2] = core.variable(uid=#0, axes=Axes(H:2), dtype=float32, trainable=True, scratch=False)
    1: float32[H:2] = axes.tanh(0)
    = 1
    """
    roots = list(roots)
    places: dict[Op, int] = {}
    identities: dict[Uid, int] = {}
    lines = []
    for term in topological(roots):
        places[term] = len(places)
        inside = [str(places[a]) for a in term.args]
        inside += [f"{name}={_shown(value, identities)}" for name, value in term.attributes.items()]
        lines.append(f"{places[term]}: {term.type!r} = {term.definition.name}({', '.join(inside)})")
    return "\n".join([*lines, f"= {' '.join(str(places[r]) for r in roots)}"])


def _shown(value: Any, identities: dict[Uid, int]) -> str:
    if isinstance(value, Uid):
        return f"#{identities.setdefault(value, len(identities))}"
    if isinstance(value, Literal):
        return _literal(value)
    if isinstance(value, tuple) and type(value).__repr__ is tuple.__repr__:
        return f"({', '.join(_shown(v, identities) for v in value)})"
    if isinstance(value, frozenset | set):
        return f"{{{', '.join(sorted(_shown(v, identities) for v in value))}}}"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{k}: {_shown(v, identities)}' for k, v in value.items())}}}"
    return str(value) if isinstance(value, np.dtype) else repr(value)


def _literal(value: Literal) -> str:
    if value.scalar is not None:
        return f"{value.dtype} {value.scalar!r}"
    array = value.array((-1,))
    return f"{value.dtype} {hashlib.sha256(array.tobytes()).hexdigest()[:16]}"
