# SPDX-License-Identifier: Apache-2.0
"""Terms as an e-graph sees them: numbered nodes, each a head (all that is no argument) and its children.

Binders are opaque: what has a value only inside one is part of its head, and its children are the terms in there
that have a value outside too. So nothing moves into a binder, or out of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.binders import free_parameters, is_binder, open_parameter
from ngraph_rewrite.terms.catalogue import OpDef
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.terms.written import describe


class Constructor(NamedTuple):
    """What e-nodes of one form are kept under; `swaps` if the two children may be exchanged and the type stays."""

    definition: OpDef
    arity: int
    swaps: bool = False


class Head(NamedTuple):
    """An op and its attributes; for a binder also the first term that had it, and its closed inputs."""

    definition: OpDef
    attrs: tuple[Any, ...]
    binder: Op | None = None
    inputs: tuple[Op, ...] = ()


class Nodes:
    """The closed terms of a bank, numbered in the order in which they are added; arguments come first.

    Attributes:
        terms: The terms by number.
        heads: The heads by number.
        head: The number of each term's head.
        children: The numbers of each term's children.
        constructor: The constructor of each term.
        again: Pairs of numbers of one term: two binders with different inputs may be one once these are equal.
    """

    def __init__(self, bank: TermBank, roots: Iterable[Op]) -> None:
        roots = list(roots)
        unbound = open_parameter(roots)
        if unbound is not None:
            what = f"{describe(unbound)} has a value only inside a scan or a function"
            raise ArgumentError(what, where=user_line(), do="saturate the graph that the whole scan or call is part of")
        self.bank = bank
        self.terms: list[Op] = []
        self.heads: list[Head] = []
        self.head: list[int] = []
        self.children: list[tuple[int, ...]] = []
        self.constructor: list[Constructor] = []
        self._number: dict[Op, int] = {}
        self._heads: dict[Any, int] = {}
        self._binders: dict[Op, tuple[int, tuple[Op, ...]]] = {}
        self._free = free_parameters(topological(roots))
        self._seen_again: set[tuple[int, tuple[int, ...]]] = set()
        self.again: list[tuple[int, int]] = []

    def __len__(self) -> int:
        return len(self.terms)

    def find(self, term: Op) -> int | None:
        """The number of a term, if it was added."""
        return self._number.get(term)

    def add(self, term: Op) -> int:
        """The number of a closed term of the bank, which is added with all closed terms below it."""
        number, stack = self._number, [term]
        while stack:
            top = stack[-1]
            missing = [] if top in number else [c for c in self.inputs(top) if c not in number]
            stack.extend(reversed(missing))
            if not missing:
                stack.pop()
                if top not in number:
                    self._append(top)
        return number[term]

    def inputs(self, term: Op) -> tuple[Op, ...]:
        """The children of a closed term."""
        return self._binder(term)[1] if is_binder(term) else term.args

    def make(self, head: int, children: Sequence[Op]) -> Op:
        """The term with this head and these children."""
        definition, attrs, binder, inputs = self.heads[head]
        if binder is None:
            return self.bank.make(definition, tuple(children), attrs)
        made = self._substituted(binder, dict(zip(inputs, children, strict=True)))
        own = self._binders.setdefault(made, (head, tuple(children)))
        if own != (head, tuple(children)):
            self._again(made, head, children)
        return made

    def _again(self, term: Op, head: int, children: Sequence[Op]) -> None:
        """Number a binder once more, as another head and children that make the same term."""
        key = head, tuple([self.add(c) for c in children])
        if key not in self._seen_again:
            self._seen_again.add(key)
            first = self.add(term)
            self.again.append((first, len(self.terms)))
            self._place(term, head, key[1], Constructor(term.definition, len(children)))

    def _append(self, term: Op) -> None:
        if is_binder(term):
            head, inputs = self._binder(term)
            constructor = Constructor(term.definition, len(inputs))
        else:
            head, inputs = self._head(Head(term.definition, term.attrs)), term.args
            constructor = Constructor(term.definition, len(inputs), self._swaps(term))
        self._number[term] = len(self.terms)
        self._place(term, head, tuple([self._number[i] for i in inputs]), constructor)

    def _place(self, term: Op, head: int, children: tuple[int, ...], constructor: Constructor) -> None:
        self.terms.append(term)
        self.head.append(head)
        self.children.append(children)
        self.constructor.append(constructor)

    def _swaps(self, term: Op) -> bool:
        """Whether the type stays if the operands are exchanged: that of named axes may not."""
        if not term.definition.commutative or len(term.args) != 2:
            return False
        x, y = term.args
        return self.bank.typed(term.definition, (y, x), term.attrs)[1] == term.type

    def _head(self, head: Head) -> int:
        key = head.binder if head.binder is not None else (head.definition, head.attrs)
        found = self._heads.get(key)
        if found is None:
            found = self._heads[key] = len(self.heads)
            self.heads.append(head)
        return found

    # -- binders ------------------------------------------------------------------------------------

    def _binder(self, term: Op) -> tuple[int, tuple[Op, ...]]:
        """The head and the closed inputs of a binder."""
        found = self._binders.get(term)
        if found is None:
            inputs = tuple(a for a in self._region(term) if a is not term and a not in self._free)
            found = self._head(Head(term.definition, term.attrs, term, inputs)), inputs
            self._binders[term] = found
        return found

    def _region(self, binder: Op) -> list[Op]:
        """The terms that have a value only inside, and the closed ones next to them; arguments first."""
        order: list[Op] = []
        seen: set[Op] = set()
        stack = [(binder, False)]
        while stack:
            term, ready = stack.pop()
            if ready:
                order.append(term)
            elif term not in seen:
                seen.add(term)
                stack.append((term, True))
                if term is binder or term in self._free:
                    stack.extend((a, False) for a in reversed(term.args))
        return order

    def _substituted(self, binder: Op, new: Mapping[Op, Op]) -> Op:
        """The binder with other closed inputs; what is open is copied."""
        made: dict[Op, Op] = {}
        for term in self._region(binder):
            if term in new:
                made[term] = new[term]
            elif all(made[a] is a for a in term.args):
                made[term] = term
            else:
                made[term] = self.bank.make(term.definition, tuple(made[a] for a in term.args), term.attrs, term.info)
                if term in self._free:
                    self._free[made[term]] = self._free[term]
        return made[binder]
