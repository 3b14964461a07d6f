# SPDX-License-Identifier: Apache-2.0
"""A signature names sorts and operations, and so a world of terms that are no tensors, with rules of its own.

See Goguen and Meseguer, *Order-sorted algebra* (1992), and for operations modulo laws Clavel and others, *All about
Maude* (2007).
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ngraph_rewrite.errors import AttributeValueError, UnknownOpError
from ngraph_rewrite.lazy import lazy_module
from ngraph_rewrite.rewriting.rule import RuleSet
from ngraph_rewrite.terms.catalogue import STANDARD, definitions, find
from ngraph_rewrite.terms.signatures import LAWS, Operation, declaration, declare, operations, sorts
from ngraph_rewrite.types.sorts import Profile, SortType

if TYPE_CHECKING:
    from ngraph_rewrite.rewriting import checks
else:
    checks = lazy_module("ngraph_rewrite.rewriting.checks")


class Signature:
    """Sorts and operations under one name, the family of the operations in the catalogue.

    Two signatures of one name share what is declared: the same may be declared again, something else is an error.

    Raises:
        AttributeValueError: for a name that cannot be one, or is the family of tensor ops.

    >>> import ngraph_rewrite as ng
    >>> nat = ng.signature("example_peano")
    >>> _ = nat.sort("Nat")
    >>> zero, s = nat.operation("zero", (), "Nat"), nat.operation("s", ("Nat",), "Nat")
    >>> plus = nat.operation("plus", ("Nat", "Nat"), "Nat")
    >>> rules = nat.rules('''
    ... rule zero: plus(zero(), y) => y
    ... rule next: plus(s(x), y) => s(plus(x, y))
    ... ''')
    >>> ng.normal_form(plus(s(zero()), s(zero())), rules)
    s(s(zero()))
    """

    def __init__(self, name: str) -> None:
        tensors = any(d.profile is None for d in definitions(name))
        if not name.isidentifier() or name in ("core", *STANDARD) or tensors:
            raise AttributeValueError(f"a signature cannot be called {name!r}", do="choose a new name")
        self.name = name
        self._own: dict[str, SortType] = {}

    def sort(self, name: str, below: str | Iterable[str] = ()) -> SortType:
        """A sort, perhaps below others: its elements are elements of theirs.

        Raises:
            AttributeValueError: if it is declared already below other sorts, or a sort above it is not declared.
        """
        names = [below] if isinstance(below, str) else list(below)
        above = frozenset(n for one in names for n in (one, *self._sort(one).above))
        known = self.sorts.get(name)
        if not name.isidentifier() or (known is not None and known.above != above):
            do = "declare a sort once, before the operations"
            raise AttributeValueError(f"the sort {name} of {self.name} cannot be declared", do=do)
        return self._own.setdefault(name, known or SortType(self.name, name, above))

    def operation(
        self,
        name: str,
        arguments: Sequence[str | SortType],
        result: str | SortType,
        *laws: str,
        identity: str | None = None,
        attributes: Sequence[str] = (),
        lazy: Sequence[int] = (),
        frozen: Sequence[int] = (),
        meaning: Callable[..., Any] | None = None,
    ) -> Operation:
        """An operation, which called with terms makes a term.

        Args:
            arguments: The sorts of its arguments.
            laws: Any of ``"associative"`` and ``"commutative"``.
            identity: Of an associative operation, the name of the operation that leaves any other operand as it is.
            attributes: Names of attributes: Python's ints, texts and tuples, which rules compute with.
            lazy: The places of arguments that are not normalised before the rules of the operation are tried.
            frozen: The places of those that are never normalised where they stand.
            meaning: What it computes, from the attributes and the values of the arguments: for checks.

        Raises:
            AttributeValueError: if the name is declared otherwise, or what is declared cannot be.
        """
        unknown = sorted(set(laws) - set(LAWS))
        if unknown:
            raise AttributeValueError(f"`{unknown[0]}` is no law of operations", do=f"any of {', '.join(LAWS)}")
        profile = Profile(
            tuple(self._sort(one) for one in arguments),
            self._sort(result),
            "associative" in laws,
            "commutative" in laws,
            None if identity is None else f"{self.name}.{identity}",
            tuple(lazy),
            tuple(frozen),
        )
        return declare(self.name, name, profile, attributes, meaning)

    def _sort(self, sort: str | SortType) -> SortType:
        if isinstance(sort, SortType):
            return sort
        found = self._own.get(sort) or self.sorts.get(sort)
        if found is None:
            do = f"its sorts: {', '.join(self.sorts)}" if self.sorts else "declare it first"
            raise AttributeValueError(f"the signature {self.name} has no sort {sort}", do=do)
        return found

    @property
    def sorts(self) -> dict[str, SortType]:
        """The sorts by name."""
        return {**sorts(self.name), **self._own}

    @property
    def operations(self) -> dict[str, Operation]:
        """The operations by name, in the order of declaration."""
        return {operation.definition.short: operation for operation in operations(self.name)}

    def __getitem__(self, name: str) -> Operation:
        """The operation called `name`.

        Raises:
            UnknownOpError: if there is none.
        """
        found = find(f"{self.name}.{name}")
        if found is None:
            raise UnknownOpError(f"the signature {self.name} has no operation {name}")
        return Operation(found)

    def rules(self, text: str, name: str | None = None, unordered: bool = False) -> RuleSet:
        """Rules of this signature, checked as those of a file are; a header is put before them if there is none.

        Args:
            text: Rules as a file has them.
            name: What to call the set: it begins the names of its rules.
            unordered: Whether rewriting may go on for ever: for programs that no order shows to end.

        Raises:
            RuleFileError: for any mistake, with line, column and a caret.
        """
        body = textwrap.dedent(text)
        header = f"signature {self.name}{' unordered' if unordered else ''}"
        if not body.lstrip().startswith("signature "):
            body = header + (body if body.startswith("\n") else f"\n{body}")
        return checks.checked_text(body.rstrip() + "\n", f"<{name or self.name}>", name or self.name)

    def __repr__(self) -> str:
        """The declarations, as a rule file writes them."""
        below = [f"sort {s}{f' < {chr(32).join(sorted(s.above))}' if s.above else ''}" for s in self.sorts.values()]
        said = [f"operation {declaration(o.definition)}" for o in self.operations.values()]
        return "\n".join([f"signature {self.name}", *below, *said])
