# SPDX-License-Identifier: Apache-2.0
"""The type of a term that denotes several values: a tuple of types, without axes or a dtype of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NoReturn

from ngraph_rewrite.errors import DTypeError
from ngraph_rewrite.types.tensor import TensorType

_OF_TENSORS = frozenset({"axes", "dtype"})


class TupleType(TensorType):
    """What a tuple-typed term denotes: the types of its parts. Immutable and hashable.

    It stands wherever a type stands; whoever asks it for axes or a dtype is told to take a part first.

    >>> TupleType([TensorType("float32", {"H": 2}), TensorType("int64")])
    (float32[H:2], int64[])
    """

    __slots__ = ("elements",)
    _called, _instead = "a type", "make another TupleType"
    elements: tuple[TensorType, ...]

    def __init__(self, elements: Iterable[TensorType]) -> None:
        object.__setattr__(self, "elements", tuple(elements))
        object.__setattr__(self, "_hash", hash(("tuple", self.elements)))

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, TupleType) and self.elements == other.elements)

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        return TupleType, (self.elements,)

    def __len__(self) -> int:
        return len(self.elements)

    def __repr__(self) -> str:
        return f"({', '.join(map(repr, self.elements))}{',' if len(self.elements) == 1 else ''})"

    def __getattr__(self, name: str) -> NoReturn:
        if name in _OF_TENSORS:  # the slots that a tensor's type fills
            raise DTypeError(f"{self!r} is a tuple, which has no {name}", do="take a part with op[i]")
        raise AttributeError(name)

    def bound(self, binding: Mapping[str, int]) -> TupleType:
        """The same type with unknown lengths replaced by those in `binding`."""
        return TupleType(e.bound(binding) for e in self.elements)


def tensors(type_: TensorType) -> Iterator[TensorType]:
    """The tensor types in a type: itself, or those of its parts, however deep.

    >>> list(tensors(TupleType([TensorType("bool"), TupleType([TensorType("int8")])])))
    [bool[], int8[]]
    """
    if isinstance(type_, TupleType):
        for element in type_.elements:
            yield from tensors(element)
    else:
        yield type_
