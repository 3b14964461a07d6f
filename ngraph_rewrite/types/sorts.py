# SPDX-License-Identifier: Apache-2.0
"""The type of a term that is no tensor: a sort of a signature, and what an operation of one says about its terms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from ngraph_rewrite.errors import DTypeError
from ngraph_rewrite.types.tensor import TensorType

_OF_TENSORS = frozenset({"axes", "dtype"})


class SortType(TensorType):
    """What a term of a signature denotes: an element of a sort, and of all sorts above it. Immutable and hashable.

    It stands wherever a type stands; whoever asks it for axes or a dtype is told that it has none.

    >>> nat = SortType("peano", "Nat")
    >>> nat, SortType("peano", "Zero", frozenset(["Nat"])).fits(nat)
    (Nat, True)
    """

    __slots__ = ("above", "family", "name")
    _called, _instead = "a sort", "declare it otherwise in its signature"
    family: str
    name: str
    above: frozenset[str]

    def __init__(self, family: str, name: str, above: frozenset[str] = frozenset()) -> None:
        put = object.__setattr__
        put(self, "family", family)
        put(self, "name", name)
        put(self, "above", above)
        put(self, "_hash", hash(("sort", family, name)))

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, SortType) and self.name == other.name and self.family == other.family
        )

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        return SortType, (self.family, self.name, self.above)

    def __repr__(self) -> str:
        return self.name

    def __getattr__(self, name: str) -> NoReturn:
        if name in _OF_TENSORS:  # the slots that a tensor's type fills
            what = f"{self.name} is a sort of the signature {self.family}: its terms are no tensors and have no {name}"
            raise DTypeError(what, do="rewrite them with ng.normal_form")
        raise AttributeError(name)

    def fits(self, other: TensorType) -> bool:
        """Whether its elements are elements of the other sort as well."""
        return self == other or (
            isinstance(other, SortType) and self.family == other.family and other.name in self.above
        )

    def bound(self, binding: Mapping[str, int]) -> SortType:
        """Itself: it has no lengths."""
        return self


@dataclass(frozen=True)
class Profile:
    """What is declared of an operation of a signature.

    Attributes:
        arguments: The sorts of the arguments; of an associative operation, that of any number of operands.
        result: The sort of the terms.
        associative: Nests are one list of operands.
        commutative: Arguments stand in the order of terms, whatever order they are given in.
        identity: The name of the operation, without arguments, that leaves any other operand as it is.
        lazy: The places of the arguments that are normalised only when no rule takes the term.
        frozen: The places of those that are never normalised where they stand.
        held: The places of both.
        flat: Whether the arguments are made canonical: one list, or one order.
    """

    arguments: tuple[SortType, ...]
    result: SortType
    associative: bool = False
    commutative: bool = False
    identity: str | None = None
    lazy: tuple[int, ...] = ()
    frozen: tuple[int, ...] = ()
    held: frozenset[int] = field(init=False, compare=False, repr=False)
    flat: bool = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "held", frozenset((*self.lazy, *self.frozen)))
        object.__setattr__(self, "flat", self.associative or self.commutative)

    def sort_at(self, place: int) -> SortType:
        """The sort of an argument."""
        return self.arguments[0] if self.associative else self.arguments[place]
