# SPDX-License-Identifier: Apache-2.0
"""Eigenvalues and singular values of matrices in two named axes, for all other axes at once."""

from __future__ import annotations

from ngraph_rewrite.errors import AxesError
from ngraph_rewrite.frontend.building import Operand, apply, checked
from ngraph_rewrite.frontend.named_matrices import Matrices, flat, labelled, matrices
from ngraph_rewrite.ops.stretching import known_length
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import Axes, Axis


def eigh(x: Operand, rows: Axis | str, columns: Axis | str) -> tuple[Op, Op]:
    """The eigenvalues of symmetric matrices, which ascend along `columns`, and eigenvectors along `rows`.

    Vectors have the axes of `x`: each has its place in `columns`, and the sum of `x` times it over the other axis is
    it times its value. Of each matrix only what is on the diagonal or below is read: places in `rows` that are not
    before those in `columns`. The first element of a vector that is larger than 5/8 of its largest one is positive.

    Raises:
        UnmatchedAxesError: if `x` lacks one of the axes.
        AxesError: if they are one, or have two lengths.
        DTypeError: for what is not a float.

    >>> import ngraph_rewrite as ng
    >>> values, vectors = ng.eigh(ng.placeholder({"N": 7, "H": 3, "G": 3}), "H", "G")
    >>> values.type, vectors.type
    (float32[N:7, G:3], float32[N:7, H:3, G:3])
    """
    found = matrices("eigh", x, rows, columns)
    n, own = found.rows.length, Axes([found.columns])
    both = apply("semi.eigh", flat(found.term, found.others, found.rows, own))
    values = labelled(_rows(both, n), found.term, found.others | own, found.term.axes - Axes([found.rows]))
    vectors = Axes([*found.others, found.rows, found.columns])
    return values, labelled(_rows(both, 0, n), found.term, vectors, found.term.axes)


def svd(x: Operand, rows: Axis | str, columns: Axis | str, along: Axis | str) -> tuple[Op, Op, Op]:
    """Vectors in `rows`, singular values, and vectors in `columns`; all have an axis `along` which the values descend.

    The sum of the product of all three over that axis is `x`. It is as long as the shorter one of both. The first
    element of a vector in the longer one (in `rows`, if none is longer) that is larger than 5/8 of its largest one is
    positive.

    Args:
        along: A name that `x` does not have, or an axis of that name and of the right length.

    Raises:
        UnmatchedAxesError: if `x` lacks one of the axes.
        AxesError: if they are one, if their lengths are not known, or `x` has `along`, or that is of another length.
        DTypeError: for what is not a float.

    >>> import ngraph_rewrite as ng
    >>> u, s, v = ng.svd(ng.placeholder({"N": 7, "H": 5, "G": 3}), "H", "G", "K")
    >>> u.type, s.type, v.type
    (float32[N:7, H:5, K:3], float32[N:7, K:3], float32[N:7, K:3, G:3])
    """
    found = matrices("svd", x, rows, columns, are_square=False)
    m, n = (checked("svd", known_length, axis.length, "a matrix") for axis in (found.rows, found.columns))
    number = _numbers(found, along, min(m, n))
    first, last = (found.rows, found.columns) if m >= n else (found.columns, found.rows)
    m, n = max(m, n), min(m, n)
    both = apply("semi.svd", flat(found.term, found.others, first, Axes([last])))
    parts = [(_rows(both, 0, m), first), (_rows(both, m + 1, m + 1 + n), last)]
    u, v = (
        labelled(part, found.term, Axes([*found.others, axis, number]), _order(found, axis, number))
        for part, axis in parts
    )
    values = Axes([*found.others, number])
    s = labelled(_rows(both, m), found.term, values, values)
    return (u, s, v) if first == found.rows else (v, s, u)


def _order(found: Matrices, axis: Axis, number: Axis) -> Axes:
    """Of vectors in rows these come first, of those in columns their numbers."""
    own = [axis, number] if axis == found.rows else [number, axis]
    return Axes([*found.others, *own])


def _numbers(found: Matrices, along: Axis | str, count: int) -> Axis:
    axis = along if isinstance(along, Axis) else Axis(along, count)
    taken = found.term.axes.find(str(axis.name)) is not None
    if axis.length != count or axis.name is None or taken:
        what = f"svd: expected an axis of length {count} that {found.term.type!r} does not have, got {axis!r}"
        raise AxesError(what, where=user_line(), do="give a name")
    return axis


def _rows(found: Op, begin: object, end: object = None) -> Op:
    """Some rows of matrices, or one."""
    rows = begin if end is None else slice(begin, end)
    return apply("semi.tensor_slice", found, items=(slice(None), rows, slice(None)))
