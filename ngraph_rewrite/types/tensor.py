# SPDX-License-Identifier: Apache-2.0
"""One type for every family: a dtype and axes; families differ only in what they read of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ngraph_rewrite.types.axes import Axes, AxesLike, anonymous
from ngraph_rewrite.types.dtypes import DType, as_dtype
from ngraph_rewrite.types.lengths import Extent


class TensorType:
    """What a term denotes: `dtype` and `axes`. Immutable and hashable.

    >>> TensorType("float32", {"H": 2, "N": None})
    float32[H:2, N:N]
    """

    __slots__ = ("_hash", "axes", "dtype")
    dtype: DType
    axes: Axes

    def __init__(self, dtype: Any, axes: AxesLike = None) -> None:
        self.dtype = as_dtype(dtype)
        self.axes = Axes(axes)
        self._hash = hash((self.dtype, self.axes))

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, TensorType)
            and self._hash == other._hash
            and self.dtype == other.dtype
            and self.axes == other.axes
        )

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        return TensorType, (self.dtype, self.axes)

    def __repr__(self) -> str:
        return f"{self.dtype}[{', '.join(map(repr, self.axes))}]"

    @property
    def shape(self) -> tuple[Extent, ...]:
        """The lengths of the axes, in order."""
        return self.axes.lengths

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self.axes)

    @property
    def size(self) -> Extent:
        """The number of elements."""
        return self.axes.size

    def with_dtype(self, dtype: Any) -> TensorType:
        """The same axes with another dtype."""
        return TensorType(dtype, self.axes)

    def with_axes(self, axes: AxesLike) -> TensorType:
        """The same dtype with other axes."""
        return TensorType(self.dtype, axes)

    def stripped(self) -> TensorType:
        """The same dtype and shape with anonymous axes."""
        return TensorType(self.dtype, anonymous(self.shape))

    def bound(self, binding: Mapping[str, int]) -> TensorType:
        """The same type with unknown lengths replaced by those in `binding`."""
        return TensorType(self.dtype, self.axes.bound(binding))
