# SPDX-License-Identifier: Apache-2.0
"""A term bank shares equal terms: in it ``is`` is structural equality.

Each lowering has a bank of its own, so there is no global table to leak or to lock. Type rules run once
per (op, argument types, attributes).
"""

from __future__ import annotations

from typing import Any

from ngraph_rewrite.terms.canonical import TermOrder, flattened, identity_of, stored_attributes
from ngraph_rewrite.terms.catalogue import MANY, OpDef
from ngraph_rewrite.terms.info import NO_INFO, Info
from ngraph_rewrite.terms.keys import Tables
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.shared import Shared
from ngraph_rewrite.types.sorts import Profile
from ngraph_rewrite.types.tensor import TensorType

# Attributes and type, and what the arguments' types were.
Near = tuple[tuple[Any, ...], TensorType, tuple[TensorType, ...]]


class TermBank:
    """Builds terms so that equal ones are the same object.

    Attributes:
        tables: The terms of each op by their arguments, where it has attributes with these as they are stored.
        near: What `typed` found for each op, by the identities of the arguments' types, which it keeps alive, and the
            stored attributes: types themselves are compared more slowly.
    """

    __slots__ = ("_interned", "_order", "_own", "near", "tables")

    def __init__(self) -> None:
        self.tables: dict[OpDef, dict[Any, Op]] = Tables()
        self.near: dict[OpDef, dict[Any, Near]] = Tables()
        self._interned: dict[TensorType, TensorType] = {}
        self._own: dict[int, tuple[TensorType, TensorType]] = {}  # by the identity of a type, which it keeps alive
        self._order = TermOrder()

    def __len__(self) -> int:
        return sum(map(len, self.tables.values()))

    def __contains__(self, term: Op) -> bool:
        key = (term.args, term.attrs) if term.attrs else term.args
        return self.tables[term.definition].get(key) is term

    def make(self, definition: OpDef, args: tuple[Op, ...], attrs: tuple[Any, ...], info: Info = NO_INFO) -> Op:
        """The term with this structure, typed by the op's rule.

        Raises:
            NGraphRewriteError: whatever the type rule raises.
        """
        try:
            found = self.tables[definition].get((args, attrs) if attrs else args)
        except TypeError:  # a list, say: the stored form has a hash
            found = None
        return found if found is not None else self.add(definition, args, attrs, info)

    def add(self, definition: OpDef, args: tuple[Op, ...], attrs: tuple[Any, ...], info: Info = NO_INFO) -> Op:
        """As `make`, for a structure that no term of the bank has, as far as its attributes say."""
        if definition.profile is not None:
            return self._of_signature(definition, definition.profile, args, attrs, info)
        stored, type_, _ = self.typed(definition, args, attrs)
        table, key = self.tables[definition], (args, stored) if stored else args
        if stored is not attrs:  # what the attributes stand for may be there
            found = table.get(key)
            if found is not None:
                return found
        term = table[key] = Shared(definition, args, stored, type_, info)
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
        table, key = self.tables[definition], (args, attrs) if attrs else args
        term = table.get(key)
        if term is None:
            term = table[key] = Shared(definition, args, attrs, profile.result, info)
        return term

    def typed(self, definition: OpDef, args: tuple[Op, ...], attrs: tuple[Any, ...]) -> Near:
        """The stored attributes and the type of a term with these arguments; equal types are one object.

        Only attributes that are stored as they are given are remembered: 0 and 0.0 are equal, and what they are
        stored as may not be; and only for few arguments. It runs for every new term: hence a case for one argument and
        one for two.
        """
        key: tuple[Any, ...]
        if len(args) == 2:
            left, right = args
            key = id(left.type), id(right.type), attrs
        elif len(args) == 1:
            key = id(args[0].type), attrs
        elif len(args) > MANY:
            types = tuple([a.type for a in args])
            stored, type_, _ = definition.inferred(types, attrs)
            return stored, self._interned.setdefault(type_, type_), types
        else:
            key = tuple([id(a.type) for a in args]), attrs
        near = self.near[definition]
        try:
            found = near.get(key)
        except TypeError:
            found = None
        if found is None:
            types = tuple([a.type for a in args])
            stored, type_, is_keyed = definition.inferred(types, attrs)
            found = stored, self._interned.setdefault(type_, type_), types
            if is_keyed:
                near[(*key[:-1], stored)] = found
        return found

    def keep(self, term: Op) -> None:
        """Have a term of another bank as it is, and its type; its arguments are terms of this one by now."""
        key = (term.args, term.attrs) if term.attrs else term.args
        self.tables[term.definition].setdefault(key, term)
        self._interned.setdefault(term.type, term.type)

    def adopt(self, term: Op, args: tuple[Op, ...]) -> Op:
        """The bank's own copy of a handle; `args` stand for its arguments, and have their types."""
        definition, attrs = term.definition, term.attrs
        if definition.profile is not None:
            return self.make(definition, args, attrs, term.info)
        table, key = self.tables[definition], (args, attrs) if attrs else args
        found = table.get(key)
        if found is None:
            own = self._own.get(id(term.type))
            if own is None:
                own = self._own[id(term.type)] = term.type, self._interned.setdefault(term.type, term.type)
            found = table[key] = Shared(definition, args, attrs, own[1], term.info)
        return found

    def renewed(self, term: Op, args: tuple[Op, ...]) -> Op:
        """The bank's term as `term`, with arguments of the same types in their place: it has the type that it had."""
        definition, attrs = term.definition, term.attrs
        if definition.profile is not None:
            return self.make(definition, args, attrs, term.info)
        table, key = self.tables[definition], (args, attrs) if attrs else args
        found = table.get(key)
        if found is None:
            found = table[key] = Shared(definition, args, attrs, term.type, term.info)
        return found
