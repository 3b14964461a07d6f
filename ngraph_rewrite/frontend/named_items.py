# SPDX-License-Identifier: Apache-2.0
"""``x[i]`` with a term `i`, where axes have names: the axes of `i` stand where the one was that it looks along.

What `i` and `x` both have is matched by name, as operands are: ``scores[classes]`` of scores (K, N) and classes (N) is
the score of the class of each sample.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import count
from typing import Any

from ngraph_rewrite.errors import DTypeError, FamilyError
from ngraph_rewrite.frontend.arrangement import axes_with_order, broadcast, label
from ngraph_rewrite.frontend.building import apply, checked
from ngraph_rewrite.frontend.places import plain
from ngraph_rewrite.ops.indexing import spread
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.protocols import answers
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.types.axes import Axis
from ngraph_rewrite.types.dtypes import BOOL
from ngraph_rewrite.types.lengths import product


@answers("item by name")
def item(x: Op, index: Any) -> Any:
    """What ``x[index]`` is, if there is a term in the index; else others have to know.

    A negative integer counts from the end of its axis, and one outside reads zeros. An axis of `x` that one term looks
    along is gone: it is not matched with one of its name that another term has.

    Raises:
        DTypeError: for a bool term, whose number of true elements nobody knows yet, or one of floats.
        FamilyError: for a term with axes that have no names.
        IncompatibleAxesError: if it has an axis of `x` with another length.
        AttributeValueError, OutOfRangeError: as for any other index.

    >>> import ngraph_rewrite as ng
    >>> scores = ng.placeholder({"K": 10, "N": None}, name="scores")
    >>> classes = ng.placeholder({"N": None}, "int64")
    >>> words = ng.placeholder({"REC": 7, "M": 3}, "int64")
    >>> scores[classes].type, scores[words].type
    (float32[N:N], float32[REC:7, M:3, N:N])
    """
    items = index if isinstance(index, tuple) else (index,)
    if not any(isinstance(i, Op) for i in items):
        return NotImplemented
    each = checked("the index", spread, items, x.rank)
    terms = {x.axes[k].name: _places(i) for k, i in enumerate(each) if isinstance(i, Op)}
    others = tuple(slice(None) if isinstance(i, Op) else i for i in each)
    found = x if all(isinstance(i, slice) and i == slice(None) for i in others) else x[others]
    order: dict[Any, None] = {}
    for axis in found.axes:
        order.update(dict.fromkeys(a.name for a in terms[axis.name].axes) if axis.name in terms else {axis.name: None})
    apart = _names_apart(found, terms)
    if apart:
        found = label(plain(found), [Axis(apart.get(a.name), a.length) if a.name in apart else a for a in found.axes])
    for name, term in terms.items():
        found = _looked_up(found, apart.get(name, name), term)
    return axes_with_order(found, list(order))


def _places(term: Op) -> Op:
    if term.dtype == BOOL:
        what = f"the bool index {describe(term, 1)}: how many elements are true is not known, and so no shape"
        raise DTypeError(what, where=user_line(), do="use ng.where, or integers")
    if term.rank and not term.axes.named:
        what = f"the axes of the index {describe(term, 1)} have no names"
        raise FamilyError(what, where=user_line(), do="name them: ng.label(index, axes)")
    return term


def _names_apart(x: Op, terms: Mapping[Any, Op]) -> dict[Any, str]:
    """Other names for axes that one term looks along and another one has: these are not matched."""
    taken = {a.name for t in (x, *terms.values()) for a in t.axes}
    apart: dict[Any, str] = {}
    for name in terms:
        if any(name in {a.name for a in t.axes} for other, t in terms.items() if other != name):
            apart[name] = next(new for k in count(1) if (new := f"{name}{k}") not in taken)
            taken.add(apart[name])
    return apart


def _looked_up(x: Op, name: Any, index: Op) -> Op:
    """`x` at integers along one axis."""
    rest = [a for a in x.axes if a.name != name]
    if not {a.name for a in rest} & {a.name for a in index.axes}:
        return apply("axes.lookuptable", x, index, axis=name, axes=None)
    return _along(x, rest, [a for a in index.axes if a.name not in {b.name for b in rest}], name, index)


def _along(x: Op, rest: list[Axis], new: list[Axis], name: Any, index: Op) -> Op:
    """Each line of `x` along an axis at integers of its own: those are put in a row meanwhile."""
    lines = plain(axes_with_order(x, [*rest, name]))
    # An axis of the index may have the name of the one that it looks along.
    places = plain(broadcast(index, [*rest, *new]))
    row = apply("semi.reshape", places, shape=(*_lengths(rest), product(_lengths(new))))
    found = apply("numpy.take_along_axis", lines, row, axis=len(rest))
    return label(apply("semi.reshape", found, shape=_lengths([*rest, *new])), [*rest, *new])


def _lengths(axes: Iterable[Axis]) -> tuple[Any, ...]:
    return tuple(a.length for a in axes)
