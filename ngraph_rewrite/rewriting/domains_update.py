# SPDX-License-Identifier: Apache-2.0
"""Attributes to try for the ops that replace a part of a tensor: the index has to leave what the part has."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from ngraph_rewrite.ops.indexing import count
from ngraph_rewrite.rewriting.domain import Domain
from ngraph_rewrite.rewriting.domains_semi import Proposal, Values
from ngraph_rewrite.types.axes import Axis
from ngraph_rewrite.types.lengths import Extent
from ngraph_rewrite.types.tensor import TensorType


def _slices(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    """The slices of the first argument that have the lengths of the second."""
    x, value = types
    if x.rank == value.rank:
        each = [_of_length(n, wanted, domain) for n, wanted in zip(x.shape, value.shape, strict=True)]
        yield from (tuple(tuple(t[k] for t in triples) for k in range(3)) for triples in domain.few(product(*each)))


def _of_length(n: Extent, wanted: Extent, domain: Domain) -> list[Any]:
    return [t for t in domain.slices(n) if count(t) == wanted]


def _items(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
    """The indices of the first argument that leave the axes of the second."""
    x, value = types
    return ((items,) for items in domain.few(product(*(_item(a, value, domain) for a in x.axes))))


def _item(axis: Axis, value: TensorType, domain: Domain) -> list[Any]:
    left = value.axes.find(axis.name)
    if left is not None:
        return _of_length(axis.length, left.length, domain)
    return [0, -1] if isinstance(axis.length, int) else [0]


# The proposals by op.
UPDATE: dict[str, Proposal] = {"semi.update": _slices, "axes.set_slice": _items}
