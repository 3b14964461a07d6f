# SPDX-License-Identifier: Apache-2.0
"""How a product of simple tensors is computed: as one of matrices, one for each of many matrices, or row by row.

The axes of both operands and of the result are *wires*: a feature of either, a pair of features summed over, N
and R. In memory the wires of a matrix's rows, and those summed over, have to lie in one stretch each. What
prevents that is taken one by one: it becomes an axis of the batch, which is summed afterwards if it has to be.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, groupby, pairwise
from typing import Any, NamedTuple

from ngraph_rewrite.ops import simple_marks as marks
from ngraph_rewrite.ops.simple_marks import Key, Marker
from ngraph_rewrite.ops.simple_products import rest
from ngraph_rewrite.rewriting.attributes_simple import block_order
from ngraph_rewrite.rewriting.registry import attribute_function
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import Axes
from ngraph_rewrite.types.lengths import Extent, product

# A marker, or where a feature comes from and its number: of the left or right operand, or of a pair.
Wire = Marker | tuple[str, int]
Places = tuple[int, ...]


class Operand(NamedTuple):
    """How an operand is brought to the axes of a product.

    Attributes:
        alone: Its positions that are summed over first: N or R, which the other operand has not.
        perm: The positions that are left, in the order of those axes.
        shape: The lengths of all of them.
        dims: The places of its own among them.
        matrix: Their lengths as those of a matrix, or of a batch of matrices.
        flip: The permutation of these that makes it the matrix wanted: the other way round if it lies so.
    """

    alone: Places
    perm: Places
    shape: tuple[Extent, ...]
    dims: Places
    matrix: tuple[Extent, ...]
    flip: Places


class Product(NamedTuple):
    """A plan.

    Attributes:
        kind: ``"dot"``, ``"batch_dot"`` or ``"multiply"``.
        turned: Whether the right operand gives the rows.
        left, right: How the operands are brought there.
        shape: The lengths of the axes of the product.
        sums: Those of them that are still to be summed over.
        back: From what is left then to the result's axes.
    """

    kind: str
    turned: bool
    left: Operand
    right: Operand
    shape: tuple[Extent, ...]
    sums: Places
    back: Places


class _Wires:
    """The wires of one product: those of each operand, less what is summed over first, and what is summed over."""

    def __init__(self, left: Axes, right: Axes, pairs: tuple[Places, Places], over: Sequence[Marker]) -> None:
        whole = _wires(left, "left", pairs[0]), _wires(right, "right", pairs[1])
        self.length = {
            w: a.length for own, x in zip(whole, (left, right), strict=True) for w, a in zip(own, x, strict=True)
        }
        self.alone = {m for m in over if not (m in whole[0] and m in whole[1])}
        self.first = [tuple(i for i, w in enumerate(own) if w in self.alone) for own in whole]
        self.left, self.right = ([w for w in own if w not in self.alone] for own in whole)
        self.summed: set[Wire] = {("pair", j) for j in range(len(pairs[0]))} | (set(over) - self.alone)
        ends = rest(marks.features(left), pairs[0]), rest(marks.features(right), pairs[1])
        self.features: list[Wire] = [*(("left", i) for i in ends[0]), *(("right", i) for i in ends[1])]
        self.whole = whole

    def of_result(self, result: Axes) -> list[Wire]:
        return [k if isinstance(k, Marker) else self.features[k] for k in marks.keys(result)]

    def lengths(self, wires: Iterable[Wire]) -> tuple[Extent, ...]:
        return tuple(self.length[w] for w in wires)


def _wires(axes: Axes, side: str, paired: Places) -> list[Wire]:
    def wire(key: Key) -> Wire:
        if isinstance(key, Marker):
            return key
        return ("pair", paired.index(key)) if key in paired else (side, key)

    return [wire(k) for k in marks.keys(axes)]


@attribute_function
def product_plan(
    left: Axes, right: Axes, pairs: tuple[Places, Places], over: Sequence[Marker], result: Axes, target: Any
) -> Product:
    """How `simple.tensordot` is computed: for the features that are paired, and N and R that are summed over.

    >>> from ngraph_rewrite.ops.simple_marks import N, R, marked
    >>> from ngraph_rewrite.rewriting.asked_target import Target
    >>> plan = product_plan(marked((5, 3)), marked((3, N)), ((1,), (0,)), (), marked((5, N)), Target(sample="first"))
    >>> plan.kind, plan.turned, plan.left.perm, plan.left.flip, plan.right.perm, plan.right.flip
    ('dot', True, (0, 1), (1, 0), (1, 0), (0, 1))
    >>> product_plan(marked((5, 3)), marked((R, 3, N)), ((1,), (0,)), (), marked((R, 5, N)), Target()).kind
    'batch_dot'
    """
    wires = _Wires(left, right, pairs, over)
    order = [wires.of_result(result)[i] for i in block_order(result, target)]
    whole = [[own[i] for i in block_order(x, target)] for own, x in zip(wires.whole, (left, right), strict=True)]
    lies = [[w for w in own if w not in wires.alone] for own in whole]
    batch = {w for w in wires.left if w in wires.right and w not in wires.summed}
    _clear(lies, wires.summed, batch)
    each = [*(w for w in order if w in batch), *(w for w in lies[0] if w in batch and w in wires.summed)]
    rows = [w for w in order if w in wires.left and w not in batch]
    columns = [w for w in order if w in wires.right and w not in batch]
    inner = [w for w in lies[0] if w in wires.summed and w not in batch]
    if not inner or (each and not (rows and columns)):
        return _multiplied(wires, result, order, [w for w in lies[0] if w in wires.summed])
    first = next((w for w in order if w not in batch), None)
    inside = [next((w in inner for w in own if w not in batch), False) for own in lies]
    return _matrices(wires, result, each, rows, columns, inner, inside, turned=first in columns)


def _clear(lies: Sequence[Sequence[Wire]], summed: set[Wire], batch: set[Wire]) -> None:
    """Move to the batch what keeps operands from being matrices: of three stretches the outermost."""
    for own in (*lies, *lies):
        while True:
            stretches = [list(g) for _, g in groupby((w for w in own if w not in batch), key=summed.__contains__)]
            if len(stretches) <= 2:
                break
            batch |= set(stretches[0])


def _operand(
    wires: _Wires, side: int, order: Sequence[Wire], matrix: tuple[Extent, ...] = (), flip: Places = ()
) -> Operand:
    own = wires.right if side else wires.left
    has = [w for w in order if w in own]
    perm, dims = tuple(own.index(w) for w in has), tuple(i for i, w in enumerate(order) if w in own)
    return Operand(wires.first[side], perm, wires.lengths(order), dims, matrix, flip)


def _multiplied(wires: _Wires, result: Axes, order: list[Wire], inner: list[Wire]) -> Product:
    """Both operands repeated to all axes, multiplied, and summed: rows that no matrix has to be made of."""
    every = [*order, *inner]
    left, right = (_operand(wires, side, every) for side in (0, 1))
    sums = tuple(range(len(order), len(every)))
    return Product("multiply", False, left, right, wires.lengths(every), sums, _back(wires.of_result(result), order))


def _matrices(
    wires: _Wires,
    result: Axes,
    each: list[Wire],
    rows: list[Wire],
    columns: list[Wire],
    inner: list[Wire],
    inside: Sequence[bool],
    turned: bool,
) -> Product:
    def operand(side: int, first: list[Wire], last: list[Wire]) -> Operand:
        flips = (last is inner) == inside[side]
        groups = (last, first) if flips else (first, last)
        several = (product(wires.lengths(each)),) if each else ()
        matrix = (*several, *(product(wires.lengths(g)) for g in groups))
        n = len(several)
        flip = (*range(n), n + 1, n) if flips else (*range(n), n, n + 1)
        return _operand(wires, side, [*each, *groups[0], *groups[1]], matrix, flip)

    left = operand(0, inner, rows) if turned else operand(0, rows, inner)
    right = operand(1, columns, inner) if turned else operand(1, inner, columns)
    made = [*each, *(columns + rows if turned else rows + columns)]
    sums = tuple(i for i, w in enumerate(made) if w in wires.summed)
    back = _back(wires.of_result(result), [w for w in made if w not in wires.summed])
    return Product("batch_dot" if each else "dot", turned, left, right, wires.lengths(made), sums, back)


def _back(wanted: Sequence[Wire], have: Sequence[Wire]) -> Places:
    return tuple(have.index(w) for w in wanted)


@attribute_function
def part(plan: Any, *names: str) -> Any:
    """A field of a plan, or a field of a field.

    >>> part(Operand((), (1, 0), (3, 4), (0, 1), (3, 4), (0, 1)), "perm")
    (1, 0)
    """
    for name in names:
        plan = getattr(plan, name)
    return plan


# -- adjoints -----------------------------------------------------------------------------------------


@attribute_function
def rest_of(axes: Axes, paired: Places) -> Places:
    """The numbers of the features of an operand that are not summed over.

    >>> from ngraph_rewrite.ops.simple_marks import marked
    >>> rest_of(marked((3, 4, 5)), (1,))
    (0, 2)
    """
    return rest(marks.features(axes), paired)


@attribute_function
def lost(axes: Axes, *others: Axes) -> tuple[Marker, ...]:
    """The markers that other tensors have and `axes` has not.

    >>> from ngraph_rewrite.ops.simple_marks import N, R, marked
    >>> lost(marked((3, R)), marked((3, N)), marked((R,)))
    (N,)
    """
    return tuple(m for m in marks.MARKERS if m in marks.common(*others) and m not in marks.keys(axes))


@attribute_function
def adjoint_order(axes: Axes, paired: Places, other: Places, have: Axes, first: bool) -> tuple[Key, ...]:
    """The order that brings an adjoint's features, those of pairs and the rest, to those of `axes`.

    Args:
        paired: The features of `axes` that were summed over.
        other: Their counterparts: the pairs stand in the order of these.
        have: The axes of the adjoint, whose N and R follow.
        first: Whether the pairs come before the rest.

    >>> from ngraph_rewrite.ops.simple_marks import N, marked
    >>> adjoint_order(marked((3, 4)), (0,), (1,), marked((4, 3, N)), False)
    (1, 0, N)
    """
    left = rest_of(axes, paired)
    places = {f: i + first * len(paired) for i, f in enumerate(left)}
    places.update((p, sorted(other).index(o) + (not first) * len(left)) for p, o in zip(paired, other, strict=True))
    return (*(places[f] for f in range(len(places))), *(k for k in marks.keys(have) if isinstance(k, Marker)))


@attribute_function
def runs_along(terms: Sequence[Op], axis: Key) -> tuple[tuple[Extent, Extent, int], ...]:
    """The slices along one axis that take apart what was joined along it.

    >>> from ngraph_rewrite.frontend.axes import constant
    >>> runs_along((constant([1, 2]), constant([3])), 0)
    ((0, 2, 1), (2, 3, 1))
    """
    stops = list(accumulate((marks.length_of(t.axes, axis) for t in terms), initial=0))
    return tuple((a, b, 1) for a, b in pairwise(stops))
