# SPDX-License-Identifier: Apache-2.0
"""One type for every family: a dtype and axes; families differ only in what they read of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ngraph_rewrite.types.axes import Axes, AxesLike, anonymous
from ngraph_rewrite.types.dtypes import DTYPE_CLASSES, KNOWN, DType, as_dtype
from ngraph_rewrite.types.immutable import Immutable
from ngraph_rewrite.types.lengths import Extent


class TensorType(Immutable):
    """What a term denotes: `dtype` and `axes`. Immutable and hashable.

    >>> TensorType("float32", {"H": 2, "N": None})
    float32[H:2, N:N]
    """

    __slots__ = ("_hash", "axes", "dtype")
    _called, _instead = "a type", "make another one: with_dtype(...), with_axes(...)"
    dtype: DType
    axes: Axes
    _hash: int

    def __init__(self, dtype: Any, axes: AxesLike = None) -> None:
        if type(axes) is not Axes:
            axes = Axes(axes)
        if type(dtype) not in DTYPE_CLASSES or dtype not in KNOWN:
            dtype = as_dtype(dtype)
        _put_dtype(self, dtype)
        _put_axes(self, axes)
        _put_hash(self, hash((dtype, axes)))

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
        return len(self.axes.lengths)

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


# Type rules make types for most terms: the slots are looked up once.
_put_dtype, _put_axes, _put_hash = (vars(TensorType)[slot].__set__ for slot in ("dtype", "axes", "_hash"))
