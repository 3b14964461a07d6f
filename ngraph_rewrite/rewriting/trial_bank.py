# SPDX-License-Identifier: Apache-2.0
"""Where terms are tried: many that a search makes are not well-typed, and the same ones come again."""

from __future__ import annotations

from typing import Any

import numpy as np

from ngraph_rewrite.errors import DTypeError, NGraphRewriteError
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.catalogue import OpDef, lookup
from ngraph_rewrite.terms.info import Info, Uid
from ngraph_rewrite.terms.keys import apart
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.tensor import TensorType
from ngraph_rewrite.types.tuples import TupleType


class TrialBank(TermBank):
    """A bank in which a term may fail to build: it remembers which types an op refuses.

    Attributes:
        failed: The term on which a guard failed: no other is looked for then.
    """

    def __init__(self) -> None:
        super().__init__()
        self.failed: Op | None = None
        self._refused: set[tuple[OpDef, tuple[TensorType, ...], tuple[Any, ...]]] = set()
        self._unfit: set[tuple[OpDef, tuple[Any, ...]]] = set()
        self._leaves: dict[tuple[str, TensorType], Op] = {}

    def attempt(self, definition: OpDef, args: tuple[Op, ...], attrs: tuple[Any, ...]) -> Op | None:
        """The term, or None if it is not well-typed."""
        key = definition, tuple([a.type for a in args]), apart(attrs) if definition.apart else attrs
        if key in self._refused:
            return None
        try:
            return self.make(definition, args, attrs)
        except NGraphRewriteError as error:
            self._refused.add(key)
            if isinstance(error, DTypeError) and not any(isinstance(a, np.dtype | Literal) for a in attrs):
                self._unfit.add((definition, _dtypes(args)))
            return None

    def refuses(self, definition: OpDef, args: tuple[Op, ...]) -> bool:
        """Whether an op refused arguments of these dtypes, for which its attributes, that are none, do not answer."""
        return bool(self._unfit) and (definition, _dtypes(args)) in self._unfit

    def leaf(self, name: str, type_: TensorType) -> Op:
        """A placeholder: the same one for the same name and type; for a tuple the tuple of some."""
        if isinstance(type_, TupleType):
            elements = tuple(self.leaf(f"{name}{i}", t) for i, t in enumerate(type_.elements))
            return self.make(lookup("core.make_tuple"), elements, ())
        found = self._leaves.get((name, type_))
        if found is None:
            attrs = Uid(), type_.axes, type_.dtype
            found = Op(lookup("core.placeholder"), (), attrs, type_, Info(name))
            self._leaves[name, type_] = found
        return found


def _dtypes(args: tuple[Op, ...]) -> tuple[Any, ...]:
    return tuple([a.type if isinstance(a.type, TupleType) else a.type.dtype for a in args])
