# SPDX-License-Identifier: Apache-2.0
"""A term bank shares equal terms: in it ``is`` is structural equality.

Each lowering has a bank of its own, so there is no global table to leak or to lock. Type rules run once
per (op, argument types, attributes).
"""

from __future__ import annotations

from typing import Any

from ngraph_rewrite.terms.catalogue import OpDef, keyed
from ngraph_rewrite.terms.info import NO_INFO, Info
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.tensor import TensorType


class TermBank:
    """Builds terms so that equal ones are the same object."""

    __slots__ = ("_interned", "_terms", "_types")

    def __init__(self) -> None:
        self._terms: dict[Any, Op] = {}
        self._types: dict[Any, tuple[tuple[Any, ...], TensorType]] = {}
        self._interned: dict[TensorType, TensorType] = {}

    def __len__(self) -> int:
        return len(self._terms)

    def __contains__(self, term: Op) -> bool:
        return self._terms.get((term.definition, term.args, term.attrs)) is term

    def make(self, definition: OpDef, args: tuple[Op, ...], attrs: tuple[Any, ...], info: Info = NO_INFO) -> Op:
        """The term with this structure, typed by the op's rule.

        Raises:
            NGraphRewriteError: whatever the type rule raises.
        """
        try:
            found = self._terms.get((definition, args, attrs))
        except TypeError:  # a list, say: the stored form has a hash
            found = None
        return found if found is not None else self._add(definition, args, attrs, info)

    def _add(self, definition: OpDef, args: tuple[Op, ...], attrs: tuple[Any, ...], info: Info) -> Op:
        types = tuple([a.type for a in args])
        key = (definition, types, attrs) if keyed(attrs) else None
        typed = self._types.get(key) if key is not None else None
        if typed is None:
            stored, type_ = definition.infer(types, attrs)
            typed = stored, self._interned.setdefault(type_, type_)
            if key is not None:
                self._types[key] = typed
        stored, type_ = typed
        term = self._terms.get((definition, args, stored))
        if term is None:
            term = self._terms[definition, args, stored] = Op(definition, args, stored, type_, info)
        if key is not None:
            self._terms[definition, args, attrs] = term
        return term

    def adopt(self, term: Op, args: tuple[Op, ...]) -> Op:
        """The bank's own copy of a handle, with `args` (already in the bank) as arguments."""
        return self.make(term.definition, args, term.attrs, term.info)
