# SPDX-License-Identifier: Apache-2.0
"""A term bank shares equal terms: in it ``is`` is structural equality.

Each lowering has a bank of its own, so there is no global table to leak or to lock. Type rules run once
per (op, argument types, attributes).
"""

from __future__ import annotations

from typing import Any

from ngraph_rewrite.terms.canonical import TermOrder, flattened, identity_of, stored_attributes
from ngraph_rewrite.terms.catalogue import OpDef, keyed
from ngraph_rewrite.terms.info import NO_INFO, Info
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.sorts import Profile
from ngraph_rewrite.types.tensor import TensorType

# The structure of a term, and what its type depends on.
Structure = tuple[OpDef, tuple[Op, ...], tuple[Any, ...]]
Signature = tuple[OpDef, tuple[TensorType, ...], tuple[Any, ...]]
Typed = tuple[tuple[Any, ...], TensorType]


class TermBank:
    """Builds terms so that equal ones are the same object."""

    __slots__ = ("_interned", "_order", "_terms", "_types", "known")

    def __init__(self) -> None:
        self._terms: dict[Structure, Op] = {}
        # The term with a structure, if there is one; attributes as they are stored.
        self.known = self._terms.get
        self._types: dict[Signature, Typed] = {}
        self._interned: dict[TensorType, TensorType] = {}
        self._order = TermOrder()

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
        return found if found is not None else self.add(definition, args, attrs, info)

    def add(self, definition: OpDef, args: tuple[Op, ...], attrs: tuple[Any, ...], info: Info = NO_INFO) -> Op:
        """As `make`, for a structure that no term of the bank has, as far as its attributes say."""
        if definition.profile is not None:
            return self._of_signature(definition, definition.profile, args, attrs, info)
        types = (args[0].type,) if len(args) == 1 else tuple([a.type for a in args])
        try:
            typed = self._types.get((definition, types, attrs))
        except TypeError:
            typed = None
        if typed is None:
            typed = self.typed(definition, types, attrs)
            found = self._terms.get((definition, args, typed[0]))  # what the attributes stand for may be there
            if found is not None:
                return found
        stored, type_ = typed
        term = self._terms[definition, args, stored] = Op(definition, args, stored, type_, info)
        return term

    def _of_signature(
        self, definition: OpDef, profile: Profile, args: tuple[Op, ...], attrs: tuple[Any, ...], info: Info
    ) -> Op:
        """A term that is no tensor: its operands in canonical form, where the operation is declared so."""
        if attrs:
            attrs = stored_attributes(definition.attributes, attrs)
        if profile.flat:
            if profile.associative:
                args = flattened(definition, args)
                if len(args) < 2:
                    return args[0] if args else identity_of(definition, self.make)
            if profile.commutative:
                args = self._order.sorted(args)
        key = (definition, args, attrs)
        term = self._terms.get(key)
        if term is None:
            term = self._terms[key] = Op(definition, args, attrs, profile.result, info)
        return term

    def typed(self, definition: OpDef, types: tuple[TensorType, ...], attrs: tuple[Any, ...]) -> Typed:
        """The stored attributes and the type of a term with arguments of these types; equal ones are one object.

        Only attributes that are stored as they are given are remembered: 0 and 0.0 are equal, and what they are
        stored as may not be.
        """
        key = (definition, types, attrs)
        try:
            typed = self._types.get(key)
        except TypeError:
            typed = None
        if typed is None:
            stored, type_ = definition.infer(types, attrs)
            typed = stored, self._interned.setdefault(type_, type_)
            if keyed(stored):
                self._types[definition, types, stored] = typed
        return typed

    def adopt(self, term: Op, args: tuple[Op, ...]) -> Op:
        """The bank's own copy of a handle; `args` stand for its arguments, and have their types."""
        return self.renewed(term, args, self._interned.setdefault(term.type, term.type))

    def renewed(self, term: Op, args: tuple[Op, ...], type_: TensorType | None = None) -> Op:
        """The bank's term as `term`, with arguments of the same types in their place: it has the type that it had."""
        definition, attrs = term.definition, term.attrs
        if definition.profile is not None:
            return self.make(definition, args, attrs, term.info)
        key = (definition, args, attrs)
        found = self._terms.get(key)
        if found is None:
            found = self._terms[key] = Op(definition, args, attrs, type_ or term.type, term.info)
        return found
