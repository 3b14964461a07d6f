# SPDX-License-Identifier: Apache-2.0
"""What stands below a term, worked out once for each: so a step, a branch or a function does not look at all the graph
that it stands on, where there is nothing that it could find.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple
from weakref import WeakKeyDictionary

from ngraph_rewrite.terms.binders import NONE, is_binder, is_parameter
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological

EFFECTS = frozenset({"core.assign", "core.sequential", "core.doall", "core.after", "core.present"})


class Below(NamedTuple):
    """What is known of a term and of all terms below it.

    Attributes:
        free: The parameters that it depends on and does not bind.
        effects: Whether there are effects, or an order of them.
        draws: Whether random numbers are drawn.
    """

    free: frozenset[Uid] = NONE
    effects: bool = False
    draws: bool = False


_NOTHING = Below()
_KNOWN: WeakKeyDictionary[Op, Below] = WeakKeyDictionary()


def below(term: Op) -> Below:
    """What stands below a term, itself included; any depth.

    >>> from ngraph_rewrite.frontend.axes import normal, tanh, variable
    >>> below(tanh(variable([]))), below(tanh(normal([]))).draws
    (Below(free=frozenset(), effects=False, draws=False), True)
    """
    found = _KNOWN.get(term)
    if found is not None:
        return found
    for one in topological([term], _KNOWN):
        if one not in _KNOWN:
            _KNOWN[one] = found = _of(one)
    return _KNOWN[term]


def _of(term: Op) -> Below:
    """The same from what stands below the arguments."""
    own = frozenset((term.attribute("uid"),)) if is_parameter(term) else NONE
    effects, draws = term.definition.name in EFFECTS, "draw" in term.definition.traits
    for arg in term.args:
        free, acts, draw = _KNOWN[arg]
        own = own if free <= own else own | free
        effects, draws = effects or acts, draws or draw
    if own and is_binder(term):
        own = own.difference(term.attribute("parameters"))
    return Below(own, effects, draws) if own or effects or draws else _NOTHING


class _Ends:
    def __init__(self, looks: Callable[[Below], bool]) -> None:
        self._looks = looks

    def __contains__(self, term: object) -> bool:
        return isinstance(term, Op) and not self._looks(below(term))


def topological_where(roots: Iterable[Op], looks: Callable[[Below], bool]) -> list[Op]:
    """As `topological`, but for what stands below terms of which `looks` says that there is nothing to look for.

    >>> from ngraph_rewrite.frontend.axes import exp, normal, tanh, variable
    >>> [t.definition.short for t in topological_where([exp(tanh(variable([]))) * normal([])], lambda b: b.draws)]
    ['exp', 'normal', 'multiply']
    """
    return topological(roots, _Ends(looks))
