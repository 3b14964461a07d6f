# SPDX-License-Identifier: Apache-2.0
"""Ops that are differentiated by a Python function, because no equation can say how.

`SPECIALS` is the whole list: a constant, by the name of the op. A function takes the term, its adjoint and the
`Sweep` it is part of, and gives pairs ``(term below, what it gets)``:

* The adjoint is an `Op` of the type of the term. If the term is a tuple it is a mapping from the numbers of its
  parts to their adjoints; parts nothing came to are not in it.
* The terms below need not be arguments, only reachable from them. What they get is brought to their type, and
  added to what they got already. A term that is a tuple gets a mapping.
* ``sweep.needs(x)`` says whether a derivative passes through `x`; pairs for other terms are ignored.
* ``yield from sweep.inner(seeds, wanted)`` sweeps a body: from pairs of results and adjoints to the wanted terms,
  which are leaves there. So the function is a generator that returns its pairs: bodies nest as deep as they like.
* ``sweep.place`` is the line of the user's call.
"""

from __future__ import annotations

from collections.abc import Mapping

from ngraph_rewrite.lowering.handlers import handled
from ngraph_rewrite.lowering.order_adjoint import after_adjoint, sequential_adjoint
from ngraph_rewrite.lowering.scan_adjoint import scan_adjoint
from ngraph_rewrite.lowering.sweep import Adjoint, Pair, Specials, Sweep
from ngraph_rewrite.lowering.while_adjoint import while_adjoint
from ngraph_rewrite.terms.op import Op


def _item(term: Op, adjoint: Adjoint, sweep: Sweep) -> list[Pair]:
    """A part of a tuple: the tuple gets its adjoint at that place."""
    return [(term.args[0], {term.attribute("index"): adjoint})]


def _make_tuple(term: Op, adjoint: Adjoint, sweep: Sweep) -> list[Pair]:
    """A tuple: each part gets its own adjoint."""
    assert isinstance(adjoint, Mapping)
    return [(term.args[index], part) for index, part in adjoint.items()]


def _annotated(term: Op, adjoint: Adjoint, sweep: Sweep) -> list[Pair]:
    """What is said about a term changes no derivative, unless it says how to derive."""
    handler = getattr(term.attribute("schema"), "deriv_handler", None)
    if handler is None:
        return [(term.args[0], adjoint)]
    return handled(handler, term, adjoint)


def asks_nothing(term: Op) -> bool:
    """Whether what the function of such a term gives depends on the term and its adjoint alone.

    It does not where it asks what else is wanted, and where it calls a function of the user's.
    """
    if term.definition.name == "core.annotated":
        return getattr(term.attribute("schema"), "deriv_handler", None) is None
    return term.definition.name in ("core.item", "core.make_tuple")


SPECIALS: Specials = {
    "core.after": after_adjoint,
    "core.annotated": _annotated,
    "core.item": _item,
    "core.make_tuple": _make_tuple,
    "core.sequential": sequential_adjoint,
    "core.while_loop": while_adjoint,
    "axes.scan": scan_adjoint,
    "semi.scan": scan_adjoint,
}
