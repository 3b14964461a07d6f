# SPDX-License-Identifier: Apache-2.0
"""What arrays have and terms do not: each is told as the function to write.

A ``__getattr__`` of terms would slow down each read of what they have; so there is a descriptor for each name.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from ngraph_rewrite.errors import MissingMethodError
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.protocols import ask
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.types.tuples import TupleType

# Those of NumPy, and what others call the value of an array, its axes in another order, and a part to be replaced.
NAMES = frozenset(name for name in (*dir(np.ndarray), "numpy", "permute", "at") if not name.startswith("_"))


class _Method:
    """One of them: to Python it is missing."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, term: Any, owner: type) -> NoReturn:
        if term is None:
            raise AttributeError(f"{owner.__name__} has no {self.name!r}")
        told = "take a part of it first, with op[i]" if isinstance(term.type, TupleType) else None
        told = told or ask("method", term, self.name)
        what = f"{describe(term, 1)} is a term, which has no {self.name!r}"
        raise MissingMethodError(what, where=user_line(), do=None if told is NotImplemented else told)


class Methods:
    """A base class for terms, which have some of the names themselves."""

    __slots__ = ()

    def __dir__(self) -> list[str]:
        return [name for name in object.__dir__(self) if name not in NAMES or hasattr(type(self), name)]


for _method in map(_Method, NAMES):
    setattr(Methods, _method.name, _method)
