# SPDX-License-Identifier: Apache-2.0
"""What no value shows: a random draw keeps its distribution, and an effect is kept."""

from __future__ import annotations

from typing import Any

from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.terms.written import describe

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


def lost_effect(left: Op, right: Op) -> str | None:
    """None if all that the left side runs for its effect is run by the right side too; else what is lost.

    >>> from ngraph_rewrite.testing import term
    >>> x, write = (term("core.placeholder", axes=[2], dtype="float32").named(n) for n in ("x", "write"))
    >>> lost_effect(term("core.after", x, write), x)
    'loses the effect write'
    """
    order = topological([right])
    kept, written = set(order), {_written(t) for t in order if _changes_storage(t)}
    for t in topological([left]):
        if _changes_storage(t) and _written(t) not in written:
            return f"loses the effect {describe(t)}"
        first = _EFFECTS.get(t.definition.name)
        for effect in () if first is None else t.args[first:]:
            if effect not in kept and not (effect.args or effect.definition.name == "core.constant"):
                return f"loses the effect {describe(effect)}"
    return None


def _changes_storage(term: Op) -> bool:
    return "effect" in term.definition.traits and term.definition.name not in _EFFECTS


def _written(term: Op) -> tuple[Any, ...]:
    """An op that changes storage, and what it changes: what is stored there may be written in another way."""
    return term.definition, *term.args[:1]


# From which argument on ops take what is run for its effect.
_EFFECTS = {"core.after": 1, "core.sequential": 0, "core.doall": 0}
