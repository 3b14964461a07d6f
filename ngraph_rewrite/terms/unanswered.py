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


class Unanswered:
    """A base class for terms, which have no value while a graph is built."""

    __slots__ = ()

    def _has_no_value(self, wanted: str, do: str) -> ArgumentError:
        what = f"{describe(self, 1)} is a term and has no value {wanted}"  # type: ignore[arg-type]
        return ArgumentError(what, where=user_line(), do=do)

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

    def __delitem__(self, item: Any) -> NoReturn:
        what = f"{describe(self, 1)} is a term, which is immutable: no part of it can be deleted"  # type: ignore[arg-type]
        do = "make another one: ng.numpy.delete(x, index, axis=...), or slices of what stays"
        raise ArgumentError(what, where=user_line(), do=do)
