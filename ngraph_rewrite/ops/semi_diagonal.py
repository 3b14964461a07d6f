# SPDX-License-Identifier: Apache-2.0
"""Diagonals of tensors: several axes walked as one, and a tensor written on a diagonal of zeros."""

from __future__ import annotations

from typing import Any

import numpy as np

from ngraph_rewrite.errors import AttributeValueError, AxesError
from ngraph_rewrite.ops.checks import as_int, known_shape, positional, several, tensor
from ngraph_rewrite.terms.catalogue import Attributes, op
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import BFLOAT16, FLOAT32, DType
from ngraph_rewrite.types.lengths import Extent
from ngraph_rewrite.types.tensor import TensorType

Places = tuple[int, ...]


def _places(x: TensorType, *, places: Any) -> Attributes:
    return {"places": tuple(as_int(p, "a place") for p in several(places, "places"))}


def _letters(term: Op) -> tuple[list[int], list[int]]:
    """The axes as numpy.einsum takes them: of the larger tensor, and of the diagonal."""
    places = list(term.attribute("places"))
    return places, sorted(set(places))


def _diagonal(term: Op, x: Any) -> Any:
    return np.einsum(x.astype(_moved_as(x.dtype), copy=False), *_letters(term)).astype(x.dtype, copy=False)


def _moved_as(dtype: DType) -> DType:
    """The dtype in which `numpy.einsum` moves elements: it does not take bfloat16."""
    return FLOAT32 if dtype == BFLOAT16 else dtype


@op("semi.diagonal", "view", meaning=_diagonal, normalise=_places)
def diagonal(x: TensorType, *, places: Places) -> TensorType:
    """`x` where the axes of one place have one position: axis i of `x` becomes, or joins, axis ``places[i]``."""
    positional(x)
    if len(places) != x.rank or sorted(set(places)) != list(range(len(set(places)))):
        raise AttributeValueError(f"places is {places}", do=f"give each of the {x.rank} axes a place, none left out")
    lengths: dict[int, Extent] = {}
    for place, n in zip(places, x.shape, strict=True):
        if lengths.setdefault(place, n) != n:
            raise AxesError(f"the axes at place {place} of {x!r} have the lengths {lengths[place]!r} and {n!r}")
    return tensor(x.dtype, (lengths[k] for k in range(len(lengths))))


def _on_diagonal(term: Op, x: Any) -> Any:
    if not term.rank:
        return x
    result = np.zeros(known_shape(term.axes), _moved_as(term.dtype))
    np.einsum(result, *_letters(term))[...] = x
    return result.astype(term.dtype, copy=False)


@op("semi.on_diagonal", meaning=_on_diagonal, normalise=_places)
def on_diagonal(x: TensorType, *, places: Places) -> TensorType:
    """Zeros but for a diagonal, which is `x`: what ``diagonal(places=places)`` takes back. Its adjoint, too."""
    positional(x)
    if sorted(set(places)) != list(range(x.rank)):
        raise AttributeValueError(f"places is {places}", do=f"name each of the {x.rank} axes at least once")
    return tensor(x.dtype, (x.shape[p] for p in places))
