# SPDX-License-Identifier: Apache-2.0
"""A length may be unknown: then it is a polynomial in named symbols, and arithmetic goes on.

A length is an ``int`` or a `Length`; every operation returns an ``int`` as soon as no symbol is left,
so code that meets only known lengths never sees the class.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import prod
from typing import TYPE_CHECKING, Any, Union

from ngraph_rewrite.errors import ArgumentError, LengthError
from ngraph_rewrite.types.immutable import Immutable

Atom = Union[str, "Quotient", "Natural"]
Monomial = tuple[Atom, ...]
Extent = Union[int, "Length"]


class Quotient(tuple[Extent, int]):
    """``floor(length / divisor)`` where it cannot be worked out yet: an atom of a `Length`."""

    __slots__ = ()

    def __repr__(self) -> str:
        length, divisor = self
        shown = f"({length!r})" if len(_terms(length)) > 1 else repr(length)
        return f"({shown} // {divisor})"


class Natural(tuple[Extent]):
    """``max(length, 0)`` where it cannot be worked out yet: an atom of a `Length`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"max({self[0]!r}, 0)"


def _key(monomial: Monomial) -> tuple[int, list[str]]:
    return len(monomial), [repr(atom) for atom in monomial]


class Length(Immutable):
    """A polynomial with integer coefficients over unknown lengths; immutable and hashable.

    >>> n = Length.symbol("N")
    >>> (n + 1) * 2 - n
    N + 2
    >>> n * 0, n - n
    (0, 0)
    """

    __slots__ = ("_hash", "terms")
    _called, _instead = "a length", "compute another one"
    terms: tuple[tuple[Monomial, int], ...]
    _hash: int

    def __init__(self, terms: tuple[tuple[Monomial, int], ...]) -> None:
        object.__setattr__(self, "terms", terms)
        object.__setattr__(self, "_hash", hash(terms))

    @staticmethod
    def symbol(name: str) -> Length:
        """The unknown length called `name`; equal names are equal lengths."""
        return Length((((name,), 1),))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the unknown lengths that it is made of.

        >>> (Length.symbol("N") * Length.symbol("T") + 1).names
        ('N', 'T')
        """
        return tuple(dict.fromkeys(symbols(self)))

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Length) and self.terms == other.terms)

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        return Length, (self.terms,)

    def __add__(self, other: Extent) -> Extent:
        return _collect([*self.terms, *_terms(other)]) if _is_extent(other) else self._no_number(other, "+")

    __radd__ = __add__

    def __neg__(self) -> Extent:
        return self * -1

    def __sub__(self, other: Extent) -> Extent:
        return self + other * -1 if _is_extent(other) else self._no_number(other, "-")

    def __rsub__(self, other: Extent) -> Extent:
        return self * -1 + other if _is_extent(other) else self._no_number(other, "-")

    def __mul__(self, other: Extent) -> Extent:
        if not _is_extent(other):
            beside: Extent = self._no_number(other, "*")
            return beside
        pairs = [(a + b, m * n) for a, m in self.terms for b, n in _terms(other)]
        return _collect((tuple(sorted(mono, key=repr)), n) for mono, n in pairs)

    __rmul__ = __mul__

    def __floordiv__(self, divisor: Extent) -> Extent:
        """The quotient, rounded down; by an unknown length only one that is whole, as ``n * 6 // n`` is."""
        if isinstance(divisor, Length):
            return self._whole(divisor)
        if isinstance(divisor, bool) or not hasattr(divisor, "__index__") or int(divisor) <= 0:
            raise LengthError(f"an unknown length {self!r} can be divided by a positive integer only, not {divisor!r}")
        by = int(divisor)
        whole = _collect((mono, n // by) for mono, n in self.terms)
        rest = _collect((mono, n % by) for mono, n in self.terms)
        if not isinstance(rest, Length):  # what is left is an integer below the divisor
            return whole
        return _collect([*_terms(whole), *_quotient(rest, by)])

    def __rfloordiv__(self, dividend: int) -> Extent:
        return Length((((), dividend),))._whole(self) if _is_extent(dividend) else NotImplemented

    def __mod__(self, divisor: Extent) -> Extent:
        return self - self // divisor * divisor

    def __divmod__(self, divisor: Extent) -> tuple[Extent, Extent]:
        return self // divisor, self % divisor

    def _whole(self, divisor: Length) -> Extent:
        found = divided(_collect(self.terms), divisor)
        if found is None:
            raise LengthError(f"whether {self!r} can be divided by {divisor!r} is not known before they are bound")
        return found

    def __bool__(self) -> bool:
        raise LengthError(f"whether the length {self!r} is zero is not known before it is bound")

    if not TYPE_CHECKING:  # mypy goes on to refuse what compares lengths that may be unknown

        def __lt__(self, other: object) -> bool:
            raise self._uncompared("less than", other)

        def __le__(self, other: object) -> bool:
            raise self._uncompared("at most", other)

        def __gt__(self, other: object) -> bool:
            raise self._uncompared("more than", other)

        def __ge__(self, other: object) -> bool:
            raise self._uncompared("at least", other)

        def __truediv__(self, other: object) -> Any:
            return self._no_number(other, "/")

        def __rtruediv__(self, other: object) -> Any:
            return self._no_number(other, "/")

        def __pow__(self, other: object) -> Any:
            return self._no_number(other, "**")

        def __float__(self) -> float:
            raise self._unknown("a float")

        def __int__(self) -> int:
            raise self._unknown("an int")

    def _no_number(self, other: object, operator: str) -> Any:
        """What an operator gives that lengths do not have: a term beside it knows what to do, a number does not."""
        if isinstance(other, bool | int | float | Length):
            raise self._unknown(f"{operator} with {other!r}")
        return NotImplemented

    def _unknown(self, what: str) -> ArgumentError:
        do = "make a term of it first: ng.numpy.asarray(length, dtype=...)"
        return ArgumentError(
            f"{what} needs the value of the length {self!r}, which is not known before it is bound", do=do
        )

    def _uncompared(self, how: str, other: object) -> LengthError:
        what = f"whether the length {self!r} is {how} {other!r} is not known before it is bound"
        return LengthError(what, do="give the axis a length; in a rule, ask `is_known` of it first")

    def __repr__(self) -> str:
        return " + ".join(map(_show, self.terms)).replace("+ -", "- ")


def _show(term: tuple[Monomial, int]) -> str:
    mono, n = term
    names = "*".join(map(str, mono))
    return str(n) if not mono else names if n == 1 else f"-{names}" if n == -1 else f"{n}*{names}"


def _is_extent(value: object) -> bool:
    return isinstance(value, Length | int) and not isinstance(value, bool)


def _terms(extent: Extent) -> tuple[tuple[Monomial, int], ...]:
    return extent.terms if isinstance(extent, Length) else (((), extent),)


def _quotient(rest: Length, by: int) -> tuple[tuple[Monomial, int], ...]:
    """``rest // by`` as terms: a quotient of a quotient, such as ``(n // 2 + 1) // 2``, is one: ``(n + 2) // 4``."""
    (first, factor), *others = rest.terms
    alone = len(first) == 1 and factor == 1 and all(not mono for mono, _ in others)
    if alone and isinstance(first[0], Quotient):
        inner, divisor = first[0]
        return _terms((inner + sum(n for _, n in others) * divisor) // (divisor * by))
    return (((Quotient((rest, by)),), 1),)


def _collect(pairs: Iterable[tuple[Monomial, int]]) -> Extent:
    total: dict[Monomial, int] = {}
    for mono, n in pairs:
        total[mono] = total.get(mono, 0) + n
    left = {mono: n for mono, n in total.items() if n}
    if not left or set(left) == {()}:
        return left.get((), 0)
    return Length(tuple(sorted(left.items(), key=lambda item: (-_key(item[0])[0], _key(item[0])[1]))))


def natural(extent: Extent) -> Extent:
    """`extent`, or 0 where that is less: ``max(extent, 0)``.

    >>> natural(-2), natural(Length.symbol("N") - 1), natural(Length.symbol("N") // 2)
    (0, max(N - 1, 0), (N // 2))
    """
    if isinstance(extent, int):
        return max(extent, 0)
    return extent if _is_natural(extent) else Length((((Natural((extent,)),), 1),))


def _is_natural(extent: Extent) -> bool:
    """Whether a length is at least 0 by its form: unknown lengths are, and what is added up and divided of them."""
    return all(n > 0 and all(map(_is_natural_atom, mono)) for mono, n in _terms(extent))


def _is_natural_atom(atom: Atom) -> bool:
    return not isinstance(atom, Quotient) or _is_natural(atom[0])


def bind(extent: Extent, binding: Mapping[str, int]) -> Extent:
    """`extent` with every symbol in `binding` replaced by its value.

    >>> bind(Length.symbol("N") * 3 - 1, {"N": 4})
    11
    """
    if isinstance(extent, int):
        return extent
    total: Extent = 0
    for mono, n in extent.terms:
        product: Extent = n
        for atom in mono:
            product = product * _bind_atom(atom, binding)
        total = total + product
    return total


def solved(extent: Length, value: int) -> tuple[str, int] | None:
    """The symbol of a length such as ``4*n`` or ``n + 1``, and what it is if the length is `value`; None if nothing.

    >>> solved(Length.symbol("N") * 4 + 1, 13), solved(Length.symbol("N") * 4, 13)
    (('N', 3), None)
    """
    factors, rest = [(m, n) for m, n in extent.terms if m], sum(n for m, n in extent.terms if not m)
    ((mono, factor),) = factors if len(factors) == 1 else [((), 1)]
    if len(mono) != 1 or not isinstance(mono[0], str) or (value - rest) % factor or (value - rest) // factor < 0:
        return None
    return mono[0], (value - rest) // factor


def _bind_atom(atom: Atom, binding: Mapping[str, int]) -> Extent:
    if isinstance(atom, Quotient):
        return bind(atom[0], binding) // atom[1]
    if isinstance(atom, Natural):
        return natural(bind(atom[0], binding))
    return binding[atom] if atom in binding else Length.symbol(atom)


def divided(total: Extent, part: Extent) -> Extent | None:
    """``total / part`` if it is whole whatever the unknown lengths are, else None.

    >>> divided(Length.symbol("N") * 6, Length.symbol("N") * 2), divided(6, 4)
    (3, None)
    """
    if isinstance(part, int):
        whole = [(m, n // part) for m, n in _terms(total) if part and n % part == 0]
        return _collect(whole) if len(whole) == len(_terms(total)) else None
    if len(part.terms) > 1 or isinstance(total, int):
        return 1 if total == part else 0 if total == 0 else None
    (atoms, factor), quotients = part.terms[0], []
    for monomial, n in total.terms:
        left = list(monomial)
        if n % factor or any(left.count(a) < atoms.count(a) for a in atoms):
            return None
        for atom in atoms:
            left.remove(atom)
        quotients.append((tuple(left), n // factor))
    return _collect(quotients)


def symbols(extent: Extent) -> Iterator[str]:
    """The names of the unknown lengths in `extent`, in the order they are written."""
    if isinstance(extent, Length):
        for mono, _ in extent.terms:
            for atom in mono:
                yield from (atom,) if isinstance(atom, str) else symbols(atom[0])


def known(extent: Extent, what: str = "a length") -> int:
    """`extent` as an integer.

    Raises:
        LengthError: if it still contains an unknown length.
    """
    if isinstance(extent, Length):
        raise LengthError(
            f"{what} is {extent!r}, which is not known here", do="bind it: give the axis a length, or an argument"
        )
    return extent


def product(extents: Iterable[Extent]) -> Extent:
    """The product of lengths; 1 for none.

    >>> product([2, Length.symbol("N"), 3])
    6*N
    """
    return prod(extents)
