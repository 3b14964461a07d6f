# SPDX-License-Identifier: Apache-2.0
"""Operands of associative and commutative operations in one form, so that equal terms are one object in a bank.

Nests become one list, the identity is left out, and operands that may be exchanged stand in an order that depends on
structure alone: smaller terms first, then by the declaration of operations, by attributes, and by the arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cmp_to_key
from typing import Any

from ngraph_rewrite.errors import ArgumentError, AttributeValueError
from ngraph_rewrite.terms.catalogue import OpDef, lookup
from ngraph_rewrite.terms.op import Op

# The bits of an integer that is an attribute, or stands in one: with more it could not even be printed.
LARGEST = 1024
# Height, rank of the operation, attributes, number of arguments.
Key = tuple[int, int, Any, int]


def flattened(definition: OpDef, args: tuple[Op, ...]) -> tuple[Op, ...]:
    """The operands of a nest, without the identity; those of the arguments are flat already."""
    profile = definition.profile
    assert profile is not None
    found: list[Op] = []
    for arg in args:
        if arg.definition is definition:
            found += arg.args
        elif arg.definition.name != profile.identity:
            found.append(arg)
    return tuple(found)


class TermOrder:
    """The total order of the terms of one bank. What it takes to compare a term is worked out once."""

    __slots__ = ("_keys",)

    def __init__(self) -> None:
        self._keys: dict[Op, Key] = {}

    def sorted(self, terms: tuple[Op, ...]) -> tuple[Op, ...]:
        """The terms from the least to the greatest."""
        keys = self._keys
        for term in terms:
            if term not in keys:
                self._know(term)
        found = sorted(terms, key=keys.__getitem__)
        if any(keys[a] == keys[b] and a is not b for a, b in zip(found, found[1:], strict=False)):
            found.sort(key=cmp_to_key(self.compared))
        return tuple(found)

    def compared(self, a: Op, b: Op) -> int:
        """Below zero if the first is less, zero if both are written alike: terms that were built apart may be.

        Of two terms, only where they differ first is looked at: no recursion.
        """
        pending, seen = [(a, b)], set[tuple[Op, Op]]()
        while pending:
            a, b = pair = pending.pop()
            if a is b or pair in seen:
                continue
            own, other = self._key(a), self._key(b)
            if own != other:
                return -1 if own < other else 1
            seen.add(pair)
            pending += reversed([*zip(a.args, b.args, strict=True)])
        return 0

    def _key(self, term: Op) -> Key:
        return self._keys.get(term) or self._know(term)

    def _know(self, term: Op) -> Key:
        keys, stack = self._keys, [term]
        while stack:
            one = stack[-1]
            missing = [a for a in one.args if a not in keys]
            if missing:
                stack += missing
                continue
            stack.pop()
            height = 1 + max((keys[a][0] for a in one.args), default=-1)
            keys[one] = height, one.definition.rank, _comparable(one.attrs), len(one.args)
        return keys[term]


def _comparable(value: Any) -> Any:
    """Attributes as something that Python orders: numbers before texts before tuples."""
    if isinstance(value, tuple):
        return 2, len(value), tuple(map(_comparable, value))
    return (1, value) if isinstance(value, str) else (0, value)


def identity_of(definition: OpDef, make: Callable[[OpDef, tuple[Op, ...], tuple[Any, ...]], Op]) -> Op:
    """What an associative operation of no operands is.

    Raises:
        ArgumentError: if it has no identity.
    """
    profile = definition.profile
    assert profile is not None
    if profile.identity is None:
        raise ArgumentError(f"{definition.short} of no operands has no value", do="declare an identity of it")
    return make(lookup(profile.identity), (), ())


def stored_attributes(names: tuple[str, ...], attrs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Attributes as they are stored: truth values as numbers, as Python compares them.

    Raises:
        AttributeValueError: for what is neither an int, a text, nor a tuple of such, or too large an int.
    """
    found = tuple([value if type(value) in (int, str) else _stored(value) for value in attrs])
    for name, value in zip(names, found, strict=True):
        if value is None:
            what = f"the attribute {name} is neither an int nor a text nor a tuple of such"
            raise AttributeValueError(what, do="or make it an argument, a term")
        bits = value.bit_length() if type(value) is int else 0 if type(value) is str else _bits(value)
        if bits > LARGEST:
            what = f"the attribute {name} {'is' if type(value) is int else 'has'} an int of {bits} bits"
            raise AttributeValueError(what, do=f"at most {LARGEST} bits")
    return found


def _bits(value: Any) -> int:
    """The most bits of an integer in a stored attribute."""
    if isinstance(value, tuple):
        return max(map(_bits, value), default=0)
    return value.bit_length() if isinstance(value, int) else 0


def _stored(value: Any) -> Any:
    if isinstance(value, int):
        return int(value)
    if type(value) is tuple:
        inside = tuple(map(_stored, value))
        return None if None in inside else inside
    return value if isinstance(value, str) else None
