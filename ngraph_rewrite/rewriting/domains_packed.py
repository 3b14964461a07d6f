# SPDX-License-Identifier: Apache-2.0
"""Instances of products of packed numbers: rows of whole numbers of 32 bits, and columns packed or given as rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType

from ngraph_rewrite.ops.checks import tensor
from ngraph_rewrite.rewriting.domain import Domain, Proposal, Types
from ngraph_rewrite.types.dtypes import INT32
from ngraph_rewrite.types.lengths import Extent
from ngraph_rewrite.types.tensor import TensorType

# Numbers in a row, of which as many as there are in 32 bits are one.
_NUMBERS = (4, 8)


def _types(
    kinds: Sequence[tuple[str, str]],
    position: int,
    known: Mapping[int, TensorType],
    wish: TensorType | None,
    domain: Domain,
) -> Types:
    """Matrices, and batches of them, of some dtypes beside some others."""
    other, some = known.get(1 - position), (*domain.lengths, 0)
    if position == 0:
        shapes = [(*many, m, k) for m in some for k in _NUMBERS for many in ((), (2,))]
        found = [tensor(x, shape) for x, _ in kinds for shape in shapes]
        return found if other is None else [x for x in found if any(other == y for y in _beside(kinds, x, some))]
    if other is None:
        return [tensor(y, (n, k)) for _, y in kinds for n in some for k in _NUMBERS]
    return _beside(kinds, other, some)


def _beside(kinds: Sequence[tuple[str, str]], x: TensorType, columns: Sequence[Extent]) -> Types:
    """What such rows are multiplied with."""
    *many, _, k = x.shape
    right = [y for own, y in kinds if own == x.dtype.name]
    assert isinstance(k, int)
    packed = [tensor(INT32, (*many, k * x.dtype.itemsize // INT32.itemsize, n)) for n in columns if right]
    return [*packed, *(tensor(y, (*many, n, k)) for y in right for n in columns)]


ARGUMENTS: Mapping[str, Proposal] = MappingProxyType(
    {
        "cpu.gemm_of_pairs": partial(_types, (("int16", "int16"),)),
        "cpu.gemm_of_float_pairs": partial(_types, (("bfloat16", "bfloat16"),)),
        "cpu.gemm_of_quads": partial(_types, (("uint8", "int8"), ("int8", "uint8"))),
    }
)
