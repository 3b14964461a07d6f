# SPDX-License-Identifier: Apache-2.0
"""One element of a tensor as an expression: a number, a symbol, or a function of other such expressions.

Equal expressions are one object, so that comparing the two sides of a rule costs nothing where they are equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from ngraph_rewrite.types.dtypes import DType

NUMBER, SYMBOL = "number", "symbol"


class Scalar:
    """An expression for one number of a dtype. Two that are equal are the same object.

    Attributes:
        op: `NUMBER`, `SYMBOL`, or the short name of an elementwise op of the catalogue; ``sum``, ``prod``, ``max``,
            ``min``, ``any`` and ``all`` take any number of arguments. An op not known by name is a function
            of which no more is known than that equal arguments give equal results.
        dtype: That of the value; a ``cast`` or ``bitcast`` is from that of its argument.
        args: What the function is applied to.
        value: The NumPy scalar, of a number.
        name: The name, of a symbol.
        digest: Eight bytes that tell expressions apart, the same in every process: an order to sort them by.

    >>> x = symbol("x", "float32")
    >>> apply("add", "float32", x, number(1, "float32"))
    add(x, 1.0)
    >>> apply("exp", "float32", x) is apply("exp", "float32", x)
    True
    """

    __slots__ = ("__weakref__", "args", "digest", "dtype", "name", "op", "value")
    op: str
    dtype: DType
    args: tuple[Scalar, ...]
    value: Any
    name: str | None
    digest: bytes

    def __new__(
        cls, op: str, dtype: DType, args: tuple[Scalar, ...] = (), value: Any = None, name: str | None = None
    ) -> Scalar:
        key = (op, dtype.str, args, None if value is None else value.tobytes(), name)
        found = _KNOWN.get(key)
        if found is None:
            found = object.__new__(cls)
            found.op, found.dtype, found.args, found.value, found.name = op, dtype, args, value, name
            found.digest = _digest(key)
            _KNOWN[key] = found
        return found

    def __repr__(self) -> str:
        if self.op in (NUMBER, SYMBOL):
            return str(self.name if self.value is None else self.value.item())
        inside = ", ".join(map(repr, self.args))
        return f"{self.op}({inside}{f', {self.dtype}' if self.op in ('cast', 'bitcast') else ''})"


# What there is once need not be made again: the same objects whether or not it is remembered.
_KNOWN: WeakValueDictionary[tuple[Any, ...], Scalar] = WeakValueDictionary()


def _digest(key: tuple[Any, ...]) -> bytes:
    op, dtype, args, value, name = key
    told = f"{op} {dtype} {name} ".encode() + (value or b"") + b"".join([a.digest for a in args])
    return blake2b(told, digest_size=8).digest()


def number(value: Any, dtype: Any) -> Scalar:
    """A number as an expression; every NaN is one NaN."""
    dtype = np.dtype(dtype)
    exact = np.asarray(value).astype(dtype)[()]
    return Scalar(NUMBER, dtype, value=dtype.type(np.nan) if exact != exact else exact)


def symbol(name: str, dtype: Any) -> Scalar:
    """An unknown number: the same one for the same name and dtype."""
    return Scalar(SYMBOL, np.dtype(dtype), name=name)


def apply(op: str, dtype: Any, *args: Scalar) -> Scalar:
    """A function of expressions, as it is written: nothing is worked out."""
    return Scalar(op, np.dtype(dtype), args)


def parts(roots: Iterable[Scalar]) -> Iterator[Scalar]:
    """Every expression inside `roots` once, arguments first; any depth."""
    seen: set[Scalar] = set()
    stack = [(root, False) for root in reversed(list(roots))]
    while stack:
        term, ready = stack.pop()
        if ready:
            yield term
        elif term not in seen:
            seen.add(term)
            stack.append((term, True))
            stack.extend([(a, False) for a in term.args[::-1] if a not in seen])
