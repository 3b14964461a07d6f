# SPDX-License-Identifier: Apache-2.0
"""Elements replaced, or changed, without assignment: a term with other values where an index points.

Terms are immutable, so ``x[index] = values`` is ``at(x)[index].set(values)``. Where an index repeats, what it puts
there comes one after the other, in row-major order: the last value is set, all are added.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from ngraph_rewrite.errors import AxesError, MissingMethodError
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.indexing import item, understood
from ngraph_rewrite.frontend.numpy.operands import Array, apply, as_term, positional
from ngraph_rewrite.frontend.numpy.picking import put, refuse_outside, told_by_calls
from ngraph_rewrite.frontend.places import replaced, value_for
from ngraph_rewrite.frontend.semi_indices import put_along
from ngraph_rewrite.ops.checks import position
from ngraph_rewrite.ops.semi_scatter import MADE_BY
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op

# What other libraries have there.
_INSTEAD = {
    "subtract": "at(x)[index].add(-values)", "mul": "at(x)[index].multiply(values)", "get": "x[index]",
    **dict.fromkeys(("divide", "div"), "at(x)[index].multiply(1 / values)"),
    **dict.fromkeys(("apply", "power", "pow"), "at(x)[index].set(function(x[index]))"),
}  # fmt: skip


@dataclass(frozen=True)
class At:
    """What `at` gives: a term that waits for an index."""

    term: Op

    def __getitem__(self, index: Any) -> Place:
        return Place(self.term, index)


class Place(NamedTuple):
    """The elements of a term where an index points, which are changed by a method.

    Each takes a number, an array or a term that broadcasts to ``x[index]`` and is cast to the dtype of the term. It
    gives a new term.
    """

    term: Op
    index: Any

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        do = _INSTEAD.get(name, "there are set, add, multiply, max and min")
        raise MissingMethodError(f"at(x)[index] has no {name}", where=user_line(), do=do)

    def set(self, values: Array) -> Op:
        """The term with these values there."""
        return _changed(self, values, "set")

    def add(self, values: Array) -> Op:
        """The term with these values added there."""
        return _changed(self, values, "add")

    def multiply(self, values: Array) -> Op:
        """The term multiplied there by these values."""
        return _changed(self, values, "multiply")

    def max(self, values: Array) -> Op:
        """The term with the greatest of what is there and these values; NaN if any is."""
        return _changed(self, values, "max")

    def min(self, values: Array) -> Op:
        """The term with the least of what is there and these values; NaN if any is."""
        return _changed(self, values, "min")


def at(x: Array, /) -> At:
    """`x` as a place to put something: ``at(x)[index].set(values)`` is what ``x[index] = values`` would make of it.

    The index is any that ``x[index]`` takes. Beside ``set`` there are ``add``, ``multiply``, ``max`` and ``min``, as
    ``np.add.at`` and the like. What an index that is a term puts outside of its axis is dropped.

    Raises:
        FamilyError: for a term whose axes have names.
        UnmatchedAxesError, DTypeError: by the methods, for values that do not fit ``x[index]``.

    >>> import ngraph_rewrite as ng
    >>> x = ng.numpy.zeros((2, 3))
    >>> y = ng.numpy.at(x)[[1, 0, 1], [0, 2, 0]].add([1.0, 2.0, 3.0])
    >>> with ng.make_transformer("cpu") as transformer:
    ...     transformer.computation([y, ng.numpy.at(y)[:, 1:].set(7)])()
    [array([[0., 0., 2.],
           [4., 0., 0.]], dtype=float32), array([[0., 7., 7.],
           [4., 7., 7.]], dtype=float32)]
    """
    return At(positional("at", x))


def put_along_axis(x: Array, /, indices: Array, values: Array, axis: int = -1, *, how: str = "set") -> Op:
    """`x` with values put at the indices of each line along an axis; the other axes of indices are broadcast.

    Args:
        indices: Integers, of the rank of `x`; a negative one counts from the end, what a term has outside is
            dropped.
        values: What broadcasts to the indices, and is cast to the dtype of `x`.
        how: ``"set"``, ``"add"``, ``"multiply"``, ``"max"`` or ``"min"``. NumPy, whose function changes its argument,
            only sets.

    Raises:
        AttributeValueError: for another `how`.
        AxesError, IncompatibleAxesError: for indices of another rank, or lengths that do not fit `x`.
        OutOfRangeError: for indices that are known and outside of the axis.
        UnmatchedAxesError, DTypeError: for values that do not fit, or indices that are not integers.

    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder((2, 5))
    >>> ng.numpy.put_along_axis(x, ng.numpy.argsort(x)[:, :2], 0).type
    float32[2, 5]
    """
    term, index = positional("put_along_axis", x), as_term(indices)
    place = checked("put_along_axis", position, axis, term.rank)
    if index.rank != term.rank:
        what = f"put_along_axis: expected indices of rank {term.rank}, got {index.type!r}"
        raise AxesError(what, where=user_line(), do="add axes of length 1")
    refuse_outside(index, term.shape[place], place)
    index = as_term(told_by_calls(index, term.shape[place]))
    shape = (*term.shape[:place], index.shape[place], *term.shape[place + 1 :])
    index = index if index.shape == shape else apply("broadcast_to", index, shape=shape)
    new = value_for("put_along_axis", apply("take_along_axis", term, index, axis=place), values)
    return put_along(term, index, new, place, how)


def _changed(place: Place, values: Array, how: str) -> Op:
    x, steps = place.term, understood(*place)
    value = value_for(f"at(x)[...].{how}", item(*place), values)
    if steps.new:
        value = apply("squeeze", value, axis=steps.new)
    if steps.arrays:
        new = put(steps.part, steps.arrays, steps.together, value, how)
    else:
        new = value if how == "set" else apply(MADE_BY[how], steps.part, value)
    return new if steps.part is x else replaced(steps.part, x, new)
