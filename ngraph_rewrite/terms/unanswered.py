# SPDX-License-Identifier: Apache-2.0
"""What Python asks of numbers and lists and no term can answer: each question is an error that says what to write.

Python's own errors would name neither the term nor the user's line.
"""

from __future__ import annotations

from typing import Any, NoReturn

from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.terms.calls_told import clipped
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.written import describe

_COMPUTE = "compute it first: transformer.computation(term)()"
_NUMBER = "compute it: transformer.computation(term)(), or call the function of ng.numpy"


class Unanswered:
    """A base class for terms, which have no value while a graph is built."""

    __slots__ = ()

    def _has_no_value(self, wanted: str, do: str) -> ArgumentError:
        what = f"{describe(self, 1)} is a term and has no value {wanted}"  # type: ignore[arg-type]
        return ArgumentError(what, where=user_line(), do=do)

    def __bool__(self) -> bool:
        what = f"{describe(self, 1)} is a term and has no truth value"  # type: ignore[arg-type]
        do = "choose with ng.numpy.where or ng.cond, or compute it first; same_as compares structure"
        raise ArgumentError(what, where=user_line(), do=do)

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        raise self._has_no_value("to put into an array", _NUMBER)

    def __float__(self) -> NoReturn:
        raise self._has_no_value("to make a number of", _NUMBER)

    __int__ = __complex__ = __float__

    def __contains__(self, value: Any) -> NoReturn:
        do = "build what tells it: ng.numpy.any(ng.numpy.equal(x, value))"
        raise self._has_no_value(f"to look for {clipped(value)} in", do)

    def __format__(self, spec: str) -> str:
        """How it is written; numbers alone have digits to choose."""
        if not spec:
            return str(self)
        raise self._has_no_value(f"to write as {spec!r}", f"{_COMPUTE}; without {spec!r} it is written as a term")

    def __index__(self) -> NoReturn:
        raise self._has_no_value("to count with", f"take elements by ng.numpy.take(x, term), or {_COMPUTE}")

    def __trunc__(self) -> NoReturn:
        raise self._has_no_value("to make an integer of", f"use ng.numpy.trunc, or {_COMPUTE}")

    def __bytes__(self) -> NoReturn:
        raise self._has_no_value("to take the memory of", _COMPUTE)

    def __reduce__(self) -> NoReturn:
        what = f"{describe(self, 1)} is a term, and terms cannot be pickled"  # type: ignore[arg-type]
        do = "pickle what it is built from; `Transformer.save` keeps the values of variables"
        raise ArgumentError(what, where=user_line(), do=do)

    def __setitem__(self, item: Any, value: Any) -> NoReturn:
        what = f"{describe(self, 1)} is a term, which is immutable: nothing can be assigned to a part of it"  # type: ignore[arg-type]
        do = "make another one: ng.numpy.at(x)[index].set(value), or ng.set_slice(x, index, value)"
        raise ArgumentError(what, where=user_line(), do=do)

    def __delitem__(self, item: Any) -> NoReturn:
        what = f"{describe(self, 1)} is a term, which is immutable: no part of it can be deleted"  # type: ignore[arg-type]
        do = "make another one: ng.numpy.delete(x, index, axis=...), or slices of what stays"
        raise ArgumentError(what, where=user_line(), do=do)
