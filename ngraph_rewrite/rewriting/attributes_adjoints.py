# SPDX-License-Identifier: Apache-2.0
"""Attribute functions of adjoints: where what was moved has to be put back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise

from ngraph_rewrite.ops.indexing import Index
from ngraph_rewrite.rewriting.attributes_slices import Triples
from ngraph_rewrite.rewriting.registry import attribute_function
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.lengths import Extent


@attribute_function
def index_of(starts: Sequence[Extent], stops: Sequence[Extent], steps: Sequence[int]) -> Index:
    """Slices as an index: a triple for each axis.

    >>> index_of((0, 3), (4, -1), (2, -1))
    ((0, 4, 2), (3, -1, -1))
    """
    return tuple(zip(starts, stops, steps, strict=True))


@attribute_function
def with_ones(shape: Sequence[Extent], places: Iterable[int]) -> tuple[Extent, ...]:
    """The lengths with 1 at some places.

    >>> with_ones((2, 3, 4), (1,))
    (2, 1, 4)
    """
    ones = set(places)
    return tuple(1 if i in ones else n for i, n in enumerate(shape))


@attribute_function
def padded_places(before: Sequence[Extent], interior: Sequence[int], shape: Sequence[Extent]) -> Triples:
    """The slices that take back what was padded.

    >>> padded_places((1, 0), (0, 2), (3, 2))
    ((1, 0), (4, 4), (1, 3))
    """
    stops = tuple(b + _reach(n, i + 1) for b, i, n in zip(before, interior, shape, strict=True))
    return tuple(before), stops, tuple(i + 1 for i in interior)


def _reach(number: Extent, step: int) -> Extent:
    """How far a number of elements that stand `step` apart reach."""
    return number if step == 1 or number == 0 else (number - 1) * step + 1


@attribute_function
def runs(terms: Sequence[Op], axis: int) -> tuple[Triples, ...]:
    """The slices that take a tensor apart into what was joined along `axis`.

    >>> import ngraph_rewrite as ng
    >>> x, y = ng.constant([1, 2], ng.anonymous([2])), ng.constant([3], ng.anonymous([1]))
    >>> runs((x, y), 0)
    (((0,), (2,), (1,)), ((2,), (3,), (1,)))
    """
    stops = list(accumulate((t.shape[axis] for t in terms), initial=0))
    ends = [(a, b, t.shape) for (a, b), t in zip(pairwise(stops), terms, strict=True)]
    ones = (1,) * terms[0].rank
    return tuple(
        (tuple(a if k == axis else 0 for k in range(len(s))), (*s[:axis], b, *s[axis + 1 :]), ones) for a, b, s in ends
    )
