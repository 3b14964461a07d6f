# SPDX-License-Identifier: Apache-2.0
"""A random draw keeps its distribution: what a rule makes of a term may only draw as the term does."""

from __future__ import annotations

from typing import Any

from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.op import Op, topological

# Where a draw stands, and how its axes are written: the type of the whole term speaks of these.
_PLACES = frozenset({"uid", "axes", "shape"})


def other_draw(left: Op, right: Op) -> str | None:
    """None if each draw of the right side is one of the left side's, from the same distribution; else which is not.

    >>> from ngraph_rewrite.testing import term
    >>> x = term("semi.uniform", shape=(2,), dtype="float32", low=0, high=1)
    >>> other_draw(term("semi.negative", x), x)
    >>> other_draw(x, term("semi.uniform", shape=(2,), dtype="float32", low=0, high=1))
    'semi.uniform is no draw of the left side'
    """
    known = {t.attribute("uid"): distribution(t) for t in topological([left]) if is_draw(t)}
    for t in topological([right]):
        if is_draw(t) and known.get(t.attribute("uid")) != distribution(t):
            same = t.attribute("uid") in known
            return f"{t.definition.name} {'draws from another distribution' if same else 'is no draw of the left side'}"
    return None


def is_draw(term: Op) -> bool:
    """Whether the term gives random numbers."""
    return "draw" in term.definition.traits


def distribution(term: Op) -> tuple[Any, ...]:
    """The name of a draw's distribution, and its parameters: all but its identity and the axes it is along."""
    given = zip(term.definition.attributes, term.attrs, strict=True)
    return term.definition.short, *((a, v) for a, v in given if a not in _PLACES and not isinstance(v, Uid))
