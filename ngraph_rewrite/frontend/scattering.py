# SPDX-License-Identifier: Apache-2.0
"""Elements replaced, or changed, along a named axis, at indices that are matched with the tensor by name."""

from __future__ import annotations

from ngraph_rewrite.errors import UnmatchedAxesError
from ngraph_rewrite.frontend.arrangement import broadcast, label, strip
from ngraph_rewrite.frontend.building import Operand, apply, checked
from ngraph_rewrite.frontend.semi_indices import put_along
from ngraph_rewrite.frontend.semi_indices import scatter as scatter_rows
from ngraph_rewrite.frontend.storage import as_op
from ngraph_rewrite.ops.alignment import axis_of
from ngraph_rewrite.ops.fitting import fitted
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.operands import as_constant
from ngraph_rewrite.types.axes import Axis
from ngraph_rewrite.types.lengths import product


def scatter(x: Operand, idx: Operand, updates: Operand, axis: Axis | str, how: str = "set") -> Op:
    """`x` with `updates` put at the integers `idx` along an axis.

    Axes that `idx` shares with `x` are gone along together; for each place along its others, `updates` are put at one
    index. Where these repeat, one after the other is put, in the order of the axes of `idx`.

    Args:
        idx: Integers; negative ones count from the end of the axis, and those outside put nothing.
        updates: What is put there: some axes of `idx`, and of `x` but for the one that is indexed; or a number.
        how: What is there then: ``"set"`` what was put last, or the sum (``"add"``), product (``"multiply"``), greatest
            (``"max"``) or least (``"min"``) of what was there and all that was put.

    Raises:
        UnmatchedAxesError: if `x` lacks the axis, `idx` has it, or updates have another.
        DTypeError: if `idx` are no integers, or updates do not fit the dtype of `x`.
        AttributeValueError: for another `how`.

    >>> import ngraph_rewrite as ng
    >>> beams = ng.placeholder({"N": 3, "V": 100})
    >>> best = ng.placeholder({"N": 3, "K": 5}, "int64")
    >>> ng.scatter(beams, best, 0.0, axis="V").type
    float32[N:3, V:100]
    """
    term, index = as_op(x), as_op(idx)
    along = checked("scatter", axis_of, term.axes, axis)
    if index.axes.find(str(along.name)) is not None:
        what = f"scatter: the indices {index.type!r} have the axis {along.name} that they index"
        raise UnmatchedAxesError(what, where=user_line(), do="rename it: ng.cast_axes(idx, axes)")
    own, at = checked("scatter", lambda: index.axes - term.axes), term.axes.index(along)
    places = term.axes[:at] + own + term.axes[at + 1 :]
    values = updates if isinstance(updates, Op) else as_constant(updates, [term])
    new = strip(checked("scatter", fitted, values, term.type.with_axes(places), "what is indexed"))
    if len(own) == index.rank:
        return label(scatter_rows(strip(term), strip(index), new, at, how), term.axes)
    shape = (*term.shape[:at], product([a.length for a in own]), *term.shape[at + 1 :])
    index, new = (apply("semi.reshape", one, shape=shape) for one in (strip(broadcast(index, places)), new))
    return label(put_along(strip(term), index, new, at, how), term.axes)
