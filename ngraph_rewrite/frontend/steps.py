# SPDX-License-Identifier: Apache-2.0
"""Steps: what stands for the states inside of one, what comes of it, and that nothing in it could happen only once."""

from __future__ import annotations

from collections.abc import Sequence

from ngraph_rewrite.errors import SequencingError
from ngraph_rewrite.frontend.storage import as_op
from ngraph_rewrite.frontend.structures import Structure, flat_as
from ngraph_rewrite.terms.below import Below, below, topological_where
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.op import Op, build
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.types.axes import Axes

# What may have no effects, what to do instead of assigning, and of drawing.
_INSTEAD = {
    "scan": (
        "the step",
        "carry what changes as a state, and assign it after the scan",
        "draw before the scan, with the axis of the scan, and give the draws as a sequence",
    ),
    "vmap": (
        "the function",
        "return what changes, and assign it afterwards",
        "draw before it, with the axis that it is mapped over, and give it the draws as an operand",
    ),
    "while_loop": (
        "the step",
        "carry what changes as a state, and assign it after the loop",
        "give the loop a limit: it draws for so many steps, then",
    ),
    "cond": (
        "a branch",
        "return what changes, and assign it afterwards",
        "draw before it, and give the draws as an operand",
    ),
}


def parameter(name: str, axes: Axes, of: Op) -> Op:
    """What stands for a term, or a part of one, inside a step."""
    return build(lookup("core.parameter"), (), name=name, uid=Uid(), axes=axes, dtype=of.dtype)


def with_axes(term: Op, axes: Axes) -> Op:
    """A term with other axes, place by place."""
    if term.axes == axes:
        return term
    plain = term if term.axes.plain else build(lookup("core.strip"), (term,))
    return plain if axes.plain else build(lookup("core.label"), (plain,), axes=axes)


def following(what: str, before: tuple[Structure, Sequence[Op]], after: Structure) -> list[Op]:
    """The states after a step, in the order of those before it, and each in the order of axes of its own.

    Args:
        what: The call, and what they are in it.
        before: As they were given, and as terms.

    Raises:
        ArgumentError: if they are built in another way.
    """
    found = map(as_op, flat_as(what, before[0], after))
    return [_ordered(b, a) for b, a in zip(before[1], found, strict=True)]


def _ordered(before: Op, after: Op) -> Op:
    same = after.axes.named and before.axes.named and after.axes != before.axes
    if same and after.axes.is_equal_set(before.axes) and {*after.axes} == {*before.axes}:
        return build(lookup("axes.axes_with_order"), (after,), axes=before.axes)
    return after


def check_pure(call: str, results: Sequence[Op], mark: object) -> None:
    """Refuse what could only happen once, while the step looks as if it happened every time.

    Draws that can be made for all times at once are no longer in it: see `draws`.

    Args:
        mark: The scope in which the step was built.

    Raises:
        SequencingError: for an assignment, or a random draw.
    """
    what, assign, draw = _INSTEAD[call]
    for term in topological_where(results, _acts):
        assigns = term.definition.name == "core.assign"
        if assigns and (mark in term.info.scope or below(term).free):
            raise SequencingError(
                f"{call}: {what} assigns: {describe(term, 2)}",
                where=term.info.place,
                do=assign,
            )
        if mark in term.info.scope and "draw" in term.definition.traits:
            raise SequencingError(
                f"{call}: {what} draws random numbers, {term.definition} of {term.type!r}, once for all times",
                where=term.info.place,
                do=draw,
            )


def _acts(found: Below) -> bool:
    """Whether something may happen only once."""
    return found.effects or found.draws
