# SPDX-License-Identifier: Apache-2.0
"""A function of one sample as a function of many: it is mapped over an axis, and computes all places at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from ngraph_rewrite.errors import ArgumentError, FamilyError, UnmatchedAxesError
from ngraph_rewrite.frontend.building import checked, function_of
from ngraph_rewrite.frontend.scan import built
from ngraph_rewrite.frontend.storage import as_op
from ngraph_rewrite.frontend.structures import Structure, flat, like
from ngraph_rewrite.ops.alignment import axis_of
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.types.axes import Axes, Axis


def vmap(function: Callable[..., Structure], axis: Axis | str) -> Callable[..., Structure]:
    """A function of one place of an axis as a function of all of them.

    `function` is called once, with terms that lack the axis. What it does for one place is done for all at once: as one
    product, one kernel, where that goes, and as a loop where it does not. It can be differentiated, and derivatives
    taken inside of it are those of each place. What it draws it draws for each place.

    Args:
        function: From terms, or tuples, lists and dicts of terms, to such, or None. It may use terms from outside.
        axis: The axis. What is given without it is the same for all places.

    Returns:
        A function of the same arguments, some with the axis; what it returns has the axis first.

    Raises:
        ArgumentError: for what is no function.
        UnmatchedAxesError: (by that function) if nothing that it is given has the axis.
        FamilyError: if something has no named axes: see `ng.numpy.vmap`.
        IncompatibleAxesError: if the axis has several lengths.
        SequencingError: if the function assigns to a variable.

    A gradient for each sample:

    >>> import ngraph_rewrite as ng
    >>> w, x = ng.variable({"F": 3}, name="w"), ng.placeholder({"N": 5, "F": 3}, name="x")
    >>> ng.vmap(lambda x: ng.deriv(ng.square(ng.dot(w, x)), w), "N")(x).type
    float32[N:5, F:3]
    """

    function_of("vmap", function, "function")

    @wraps(function)
    def mapped(*args: Structure, **named: Structure) -> Structure:
        every = [as_op(x) for x in flat((args, named))]
        along = _axis(every, axis)
        sequences = [x for x in every if along in x.axes]

        def step(_: Structure, slices: list[Op]) -> tuple[None, Structure]:
            left = iter(slices)
            given, own = like((args, named), [next(left) if along in x.axes else x for x in every])
            return None, function(*given, **own)

        axes = [x.axes - along for x in sequences]
        return built(
            "axes.scan", step, (None, []), (sequences, sequences), axes, call="vmap", axis=along, reverse=False
        )[1]

    return mapped


def _axis(terms: list[Op], axis: Axis | str) -> Axis:
    """The axis, as those that have it have it."""
    name = axis.name if isinstance(axis, Axis) else axis
    if not isinstance(name, str):
        raise ArgumentError(f"vmap: axis is {axis!r}", where=user_line(), do='give an axis or its name: vmap(f, "N")')
    for x in terms:
        if x.rank and not x.axes.named:
            what = f"vmap: {describe(x, 1)} of {x.type!r} has no named axes"
            raise FamilyError(what, where=user_line(), do="use ng.numpy.vmap, which maps by position")
    found = [checked("vmap", axis_of, x.axes, axis) for x in terms if x.axes.find(name) is not None]
    if not found:
        shown = ", ".join(repr(x.type) for x in terms) or "no terms"
        raise UnmatchedAxesError(f"vmap: of {shown} nothing has the axis {name}", where=user_line())
    for own in found[1:]:
        checked("vmap", Axes(found[0]).__or__, own)
    return found[0]
