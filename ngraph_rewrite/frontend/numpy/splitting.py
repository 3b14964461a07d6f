# SPDX-License-Identifier: Apache-2.0
"""Arrays in parts along an axis: cut at places, or into as many parts as are wanted."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from ngraph_rewrite.errors import ArgumentError, AttributeValueError, AxesError, LengthError
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.operands import Array, apply, as_term
from ngraph_rewrite.ops.checks import as_index, position
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.lengths import Extent, Length, divided

# How many parts of one length, or the places of the cuts.
Cuts = int | Iterable[Extent]


def split(x: Array, /, indices_or_sections: Cuts, axis: int = 0) -> list[Op]:
    """The parts of `x` along an axis.

    Args:
        indices_or_sections: How many parts of one length, or where all parts but the first begin; places may count
            from the end.

    Raises:
        AttributeValueError: if the length is no multiple of the number of parts.
        ArgumentError: for cuts that are not integers.
        LengthError: for parts that depend on a length which is not known yet in a way that no length says, such as
            ``x[:2]`` of an axis that may have one element.

    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder((6, 2))
    >>> [part.shape for part in ng.numpy.split(x, 3)], [part.shape for part in ng.numpy.split(x, [1, 4])]
    ([(2, 2), (2, 2), (2, 2)], [(1, 2), (3, 2), (2, 2)])
    """
    return _split("split", as_term(x), indices_or_sections, axis, True)


def array_split(x: Array, /, indices_or_sections: Cuts, axis: int = 0) -> list[Op]:
    """`split`, but the first parts may be longer than the others by one.

    >>> import ngraph_rewrite as ng
    >>> [part.shape for part in ng.numpy.array_split(ng.placeholder((7,)), 3)]
    [(3,), (2,), (2,)]
    """
    return _split("array_split", as_term(x), indices_or_sections, axis, False)


def hsplit(x: Array, /, indices_or_sections: Cuts) -> list[Op]:
    """`split` along the second axis, or the one of a vector.

    Raises:
        AxesError: of a term without axes.

    >>> import ngraph_rewrite as ng
    >>> [part.shape for part in ng.numpy.hsplit(ng.placeholder((2, 4)), 2)]
    [(2, 2), (2, 2)]
    """
    term = _with_axes("hsplit", x, 1)
    return _split("hsplit", term, indices_or_sections, 1 if term.rank > 1 else 0, True)


def vsplit(x: Array, /, indices_or_sections: Cuts) -> list[Op]:
    """`split` along the first of at least two axes.

    >>> import ngraph_rewrite as ng
    >>> [part.shape for part in ng.numpy.vsplit(ng.placeholder((2, 4)), 2)]
    [(1, 4), (1, 4)]
    """
    return _split("vsplit", _with_axes("vsplit", x, 2), indices_or_sections, 0, True)


def dsplit(x: Array, /, indices_or_sections: Cuts) -> list[Op]:
    """`split` along the third axis.

    >>> import ngraph_rewrite as ng
    >>> [part.shape for part in ng.numpy.dsplit(ng.placeholder((2, 3, 4)), 2)]
    [(2, 3, 2), (2, 3, 2)]
    """
    return _split("dsplit", _with_axes("dsplit", x, 3), indices_or_sections, 2, True)


def _with_axes(call: str, x: Array, least: int) -> Op:
    term = as_term(x)
    if term.rank < least:
        what = f"{call}: expected at least {least} axes, got {term.type!r}"
        raise AxesError(what, where=user_line(), do="use split with an axis")
    return term


def _split(call: str, x: Op, cuts: Cuts, axis: int, even: bool) -> list[Op]:
    place = checked(call, position, axis, x.rank)
    length = x.shape[place]
    places = _places if isinstance(length, int) else _places_of_unknown
    ends = [0, *places(call, cuts, length, even), length]
    whole: tuple[Any, ...] = (slice(None),) * place
    return [apply("tensor_slice", x, items=(*whole, slice(start, stop))) for start, stop in pairwise(ends)]


def _listed(call: str, cuts: Cuts) -> bool:
    """Whether cuts are places, and not a number of parts."""
    if isinstance(cuts, Op):
        do = "give integers: shapes cannot depend on values"
        raise ArgumentError(f"{call}: the cuts are a term", where=user_line(), do=do)
    return isinstance(cuts, Iterable) and not (isinstance(cuts, np.ndarray) and not cuts.ndim)


def _places(call: str, cuts: Any, length: Any, even: bool) -> list[int]:
    if _listed(call, cuts):
        return [min(max(p + length if p < 0 else p, 0), length) for p in (_integer(call, c) for c in cuts)]
    parts = _integer(call, cuts)
    if parts < 1 or (even and length % parts):
        do = "use array_split" if parts > 0 else "give at least 1"
        raise AttributeValueError(f"{call}: {length} elements in {parts} parts", where=user_line(), do=do)
    size, longer = divmod(length, parts)
    return [k * size + min(k, longer) for k in range(1, parts)]


def _places_of_unknown(call: str, cuts: Any, length: Any, even: bool) -> list[Extent]:
    """As `_places`, where the length is not known yet: parts of one length only if it is a multiple of their number."""
    if _listed(call, cuts):
        found = [c if isinstance(c, Length) else _integer(call, c) for c in cuts]
        return [length + c if isinstance(c, int) and c < 0 else c for c in found]
    parts = _integer(call, cuts)
    if parts < 1 or (even and divided(length, parts) is None):
        what = f"{call}: whether {length!r} elements are {parts} equal parts is not known"
        raise LengthError(what, where=user_line(), do="use array_split, or give the axis a length")
    sizes = [(length + parts - 1 - k) // parts for k in range(parts - 1)]
    return list(accumulate(sizes))


def _integer(call: str, cut: Any) -> int:
    return checked(call, as_index, cut, "a cut")
