# SPDX-License-Identifier: Apache-2.0
"""Semi ops about where elements lie: memory of one's own, a copy, and the way to a device and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from ngraph_rewrite.errors import AttributeValueError
from ngraph_rewrite.ops.checks import extents, positional, tensor
from ngraph_rewrite.terms.catalogue import Attributes, op
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import DType, as_dtype
from ngraph_rewrite.types.lengths import Extent, known
from ngraph_rewrite.types.tensor import TensorType

PLACES = ("host", "device")


def _allocate_attributes(*, shape: Any, dtype: Any) -> Attributes:
    return {"shape": extents(shape), "dtype": as_dtype(dtype)}


def _zeros(term: Op) -> Any:
    return np.zeros(tuple(known(n) for n in term.shape), term.dtype)


@op("semi.allocate", "source", meaning=_zeros, normalise=_allocate_attributes)
def allocate(*, shape: tuple[Extent, ...], dtype: DType) -> TensorType:
    """Memory of its own, all zeros: what `update` and `scatter` may fill; never computed in registers."""
    return tensor(dtype, shape)


@op("semi.copy", meaning=lambda term, x: np.array(x))
def copy(x: TensorType) -> TensorType:
    """`x` in memory of its own, row-major. Of a view it is a change of layout: ``copy(transpose(x, perm))``."""
    positional(x)
    return x


def _transfer_attributes(x: TensorType, *, to: Any) -> Attributes:
    if not isinstance(to, str) or to not in PLACES:
        raise AttributeValueError(f"to is {to!r}", do=f"choose one of: {', '.join(PLACES)}")
    return {"to": to}


@op("semi.transfer", "view", meaning=lambda term, x: x, normalise=_transfer_attributes)
def transfer(x: TensorType, *, to: str) -> TensorType:
    """`x` in the memory of the host or of the device; where both are one, a view that moves nothing."""
    positional(x)
    return x
