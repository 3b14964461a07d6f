# SPDX-License-Identifier: Apache-2.0
"""The functions of the semi family about where elements lie."""

from __future__ import annotations

from collections.abc import Iterable

from ngraph_rewrite.frontend.building import Operand, apply
from ngraph_rewrite.frontend.storage import as_op
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import DType
from ngraph_rewrite.types.lengths import Extent


def allocate(shape: Iterable[Extent], dtype: DType | str = "float32") -> Op:
    """Memory of its own, all zeros: what `update` or `scatter` may fill.

    >>> import ngraph_rewrite as ng
    >>> ng.semi.allocate((2, 3)).type
    float32[2, 3]
    """
    return apply("semi.allocate", shape=shape, dtype=dtype)


def copy(x: Operand) -> Op:
    """`x` in memory of its own, row-major; of a view it is a change of layout.

    >>> import ngraph_rewrite as ng
    >>> ng.semi.copy(ng.semi.transpose(ng.placeholder((2, 3)), (1, 0))).type
    float32[3, 2]
    """
    return apply("semi.copy", as_op(x))


def transfer(x: Operand, to: str) -> Op:
    """`x` in the memory of the ``"host"`` or of the ``"device"``; where both are one, nothing moves.

    Raises:
        AttributeValueError: for any other place.

    >>> import ngraph_rewrite as ng
    >>> ng.semi.transfer(ng.placeholder((2, 3)), "device").type
    float32[2, 3]
    """
    return apply("semi.transfer", as_op(x), to=to)
