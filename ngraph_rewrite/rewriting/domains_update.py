# SPDX-License-Identifier: Apache-2.0
"""Attributes to try for the ops that replace a part of a tensor: the index has to leave what the part has."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, product
from typing import Any

from ngraph_rewrite.ops.indexing import count
from ngraph_rewrite.rewriting.domain import Domain
from ngraph_rewrite.rewriting.domains_semi import Proposal, Values, slices_of
from ngraph_rewrite.types.axes import Axis
from ngraph_rewrite.types.lengths import Extent
from ngraph_rewrite.types.tensor import TensorType

_MOST = 24


def _slices(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    """The slices of the first argument that have the lengths of the second."""
    x, value = types
    if x.rank == value.rank:
        each = [_of_length(n, wanted) for n, wanted in zip(x.shape, value.shape, strict=True)]
        yield from (tuple(tuple(t[k] for t in triples) for k in range(3)) for triples in islice(product(*each), _MOST))


def _of_length(n: Extent, wanted: Extent) -> list[Any]:
    return [t for t in slices_of(n) if count(t) == wanted]


def _items(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    """The indices of the first argument that leave the axes of the second."""
    x, value = types
    return ((items,) for items in islice(product(*(_item(a, value) for a in x.axes)), _MOST))


def _item(axis: Axis, value: TensorType) -> list[Any]:
    left = value.axes.find(axis.name)
    if left is not None:
        return _of_length(axis.length, left.length)
    return [0, -1] if isinstance(axis.length, int) else [0]


# The proposals by op.
UPDATE: dict[str, Proposal] = {"semi.update": _slices, "axes.set_slice": _items}
