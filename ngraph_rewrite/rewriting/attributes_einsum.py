# SPDX-License-Identifier: Apache-2.0
"""Attribute functions of einsum: subscripts for every product, and how subscripts become products of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_lowercase as LETTERS

from ngraph_rewrite.ops.subscripts import first_contraction, joined, parts
from ngraph_rewrite.rewriting.bounds import counted
from ngraph_rewrite.rewriting.registry import attribute_function
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.lengths import Extent, natural, product

Shape = tuple[Extent, ...]
Places = tuple[int, ...]
# How an operand is permuted, and the lengths or the places that its axes then have.
Arranged = tuple[Places, Shape]

# -- subscripts of the products -----------------------------------------------------------------------


def _batches(left: int, right: int) -> tuple[str, str, str]:
    """Letters for axes that are broadcast: of each operand, and of the result."""
    every = LETTERS[: max(left, right)]
    return every[len(every) - left :], every[len(every) - right :], every


@attribute_function
def matmul_subscripts(left: int, right: int) -> str:
    """The subscripts of a matmul of operands of these ranks.

    >>> matmul_subscripts(2, 2), matmul_subscripts(1, 3)
    ('xy,yz->xz', 'y,ayz->az')
    """
    a, b, every = _batches(max(left - 2, 0), max(right - 2, 0))
    x, z = "x" if left > 1 else "", "z" if right > 1 else ""
    return joined([f"{a}{x}y", f"{b}y{z}"], every + x + z)


@attribute_function
def vecdot_subscripts(left: int, right: int, axis: int) -> str:
    """The subscripts of a vecdot of operands of these ranks over an axis that is counted from the end.

    >>> vecdot_subscripts(2, 2, -1), vecdot_subscripts(3, 2, -2)
    ('az,az->a', 'azb,zb->ab')
    """
    a, b, every = _batches(left - 1, right - 1)
    return joined([_with(a, axis), _with(b, axis)], every)


def _with(letters: str, axis: int) -> str:
    place = len(letters) + 1 + axis
    return f"{letters[:place]}z{letters[place:]}"


@attribute_function
def tensordot_subscripts(left: int, right: int, axes: Sequence[Sequence[int]]) -> str:
    """The subscripts of a tensordot of operands of these ranks.

    >>> tensordot_subscripts(3, 2, ((1,), (0,)))
    'abc,bd->acd'
    """
    x = LETTERS[:left]
    pairs = dict(zip(axes[1], axes[0], strict=True))
    fresh = iter(LETTERS[left:])
    y = "".join(x[pairs[k]] if k in pairs else next(fresh) for k in range(right))
    return joined([x, y], "".join(c for c in x + y if (c in x) != (c in y)))


@attribute_function
def summed_axes(left: int, right: int, other: int) -> tuple[Places, Places]:
    """The last axis of one operand, and axis `other` of the second, as a tensordot takes them; none for a number.

    >>> summed_axes(3, 2, 0), summed_axes(0, 2, 0)
    (((2,), (0,)), ((), ()))
    """
    return ((left - 1,), (other,)) if left and right else ((), ())


# -- einsum, taken apart ------------------------------------------------------------------------------


@attribute_function
def unary_steps(subscripts: str) -> tuple[Places, Places, Places]:
    """The einsum of one operand as a diagonal, a sum and a permutation.

    >>> unary_steps("iji->j")
    ((0, 1, 0), (0,), (0,))
    """
    (letters,), result = parts(subscripts)
    distinct = "".join(dict.fromkeys(letters))
    kept = [c for c in distinct if c in result]
    places = tuple(distinct.index(c) for c in letters)
    return places, tuple(k for k, c in enumerate(distinct) if c not in result), tuple(kept.index(c) for c in result)


@attribute_function
def contraction(einsum: Op) -> tuple[str, str, str, str]:
    """Subscripts that take the first two operands out of an einsum: of each alone, their contraction, what is left.

    >>> from ngraph_rewrite.frontend.numpy import einsum, ones
    >>> contraction(einsum("ij,jk,kl->il", ones((1, 9)), ones((9, 9)), ones((9, 9))))
    ('ij->ij', 'jk->jk', 'ij,jk->ik', 'ik,kl->il')
    """
    return first_contraction(einsum.attribute("subscripts"), [a.shape for a in einsum.args])


# -- contractions as products of matrices -------------------------------------------------------------


def _classes(subscripts: str) -> tuple[str, str, str, str]:
    """Letters of both operands and the result, of both only, of the left one only, of the right one only."""
    (x, y), result = parts(subscripts)
    both = [c for c in x if c in y]
    batch = "".join(c for c in both if c in result)
    return batch, "".join(c for c in both if c not in result), _minus(x, y), _minus(y, x)


def _minus(letters: str, others: str) -> str:
    return "".join(c for c in letters if c not in others)


@attribute_function
def has_sums(subscripts: str) -> bool:
    """Whether a contraction sums over something.

    >>> has_sums("ij,jk->ik"), has_sums("i,j->ij")
    (True, False)
    """
    return bool(_classes(subscripts)[1])


@attribute_function
def has_batches(subscripts: str) -> bool:
    """Whether a contraction has axes that both operands and the result have.

    >>> has_batches("bij,bjk->bik"), has_batches("ij,jk->ik")
    (True, False)
    """
    return bool(_classes(subscripts)[0])


@attribute_function
def has_rows(subscripts: str) -> bool:
    """Whether an operand of a contraction has an axis that the other has not.

    >>> has_rows("ij,jk->ik"), has_rows("bi,bi->b")
    (True, False)
    """
    return bool("".join(_classes(subscripts)[2:]))


@attribute_function
def matrices(subscripts: str, left: Shape, right: Shape) -> tuple[Arranged, Arranged, Shape, Places]:
    """A contraction as a product of batches of matrices: how to permute and reshape each operand, and the product.

    >>> matrices("ij,kj->ki", (2, 3), (4, 3))
    (((0, 1), (1, 2, 3)), ((1, 0), (1, 3, 4)), (2, 4), (1, 0))
    """
    (x, y), result = parts(subscripts)
    lengths = dict(zip(x + y, left + right, strict=True))
    batch, inner, rows, columns = _classes(subscripts)

    def size(letters: str) -> Extent:
        return product(lengths[c] for c in letters)

    def arranged(have: str, *groups: str) -> Arranged:
        return tuple(have.index(c) for c in "".join(groups)), tuple(size(g) for g in groups)

    made = batch + rows + columns
    shape, perm = tuple(lengths[c] for c in made), tuple(made.index(c) for c in result)
    return arranged(x, batch, rows, inner), arranged(y, batch, inner, columns), shape, perm


@attribute_function
def aligned(subscripts: str, left: Shape, right: Shape) -> tuple[Shape, Arranged, Arranged, Places]:
    """A contraction as a sum of a product of tensors of one shape: that shape, each operand's permutation and places
    in it, and the axes to sum over.

    >>> aligned("bi,b->b", (2, 3), (2,))
    ((2, 3), ((0, 1), (0, 1)), ((0,), (0,)), (1,))
    """
    (x, y), result = parts(subscripts)
    lengths = dict(zip(x + y, left + right, strict=True))
    every = result + "".join(c for c in dict.fromkeys(x + y) if c not in result)

    def spread(have: str) -> Arranged:
        order = [c for c in every if c in have]
        return tuple(have.index(c) for c in order), tuple(every.index(c) for c in order)

    return tuple(lengths[c] for c in every), spread(x), spread(y), tuple(range(len(result), len(every)))


# -- diagonals ----------------------------------------------------------------------------------------


@attribute_function
def square(shape: Shape, offset: int, count: Extent) -> tuple[Shape, Shape]:
    """Where the square around a diagonal of the last two axes begins and ends.

    >>> square((5, 3, 4), 1, 3)
    ((0, 0, 1), (5, 3, 4))
    """
    if count == 0:
        return (0,) * len(shape), (*shape[:-2], 0, 0)
    wanted = zip((max(-offset, 0), max(offset, 0)), shape[-2:], strict=True)
    starts = tuple(n - natural(n - start) for start, n in wanted)  # of what may be shorter
    return (0,) * (len(shape) - 2) + starts, (*shape[:-2], *(s + count for s in starts))


@attribute_function
def last_two_joined(rank: int) -> Places:
    """The places of axes of which the last two lie on one.

    >>> last_two_joined(3)
    (0, 1, 1)
    """
    return (*range(counted(rank) - 1), rank - 2)
