# SPDX-License-Identifier: Apache-2.0
"""A recursive path order for nests: it is the same for terms that are equal modulo associativity and commutativity.

What stands beside the operands of a nest is seen: below an operand whose operation is smaller there may be more
operands, and a nest is above another one only if it is above that with any such operand replaced by a part of it. See
Rubio, *A fully syntactic AC-RPO* (2002). Precedences are total here, so of his two orders of operands one is left.

Answers may be open, as long as it is not known which of two operations stands higher: True and False are final.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from ngraph_rewrite.rewriting.nests import is_flat
from ngraph_rewrite.rewriting.paths import LEFT, MULTISET, RIGHT
from ngraph_rewrite.terms.catalogue import OpDef

# The answer to a question: None if what is known does not tell.
Answer = bool | None


@dataclass(frozen=True)
class Tree:
    """An operation and its arguments, which are canonical: of a nest in one list, and sorted where they may be."""

    definition: OpDef
    args: tuple[Term, ...]

    def __str__(self) -> str:
        return f"{self.definition.name}({', '.join(map(str, self.args))})"


# A variable's name, or an operation with its arguments.
Term = str | Tree


class Asked(NamedTuple):
    """What would have to be known: whether an operation is above another one, or how its arguments are compared."""

    one: OpDef
    other: OpDef | None = None


class Precedence(Protocol):
    """What the order asks."""

    def is_higher(self, one: OpDef, other: OpDef) -> Answer:
        """Whether an operation stands above another one."""

    def status(self, definition: OpDef) -> int | None:
        """How the arguments of an operation are compared."""


def tree(definition: OpDef, args: Iterable[Term]) -> Term:
    """The term of an operation: a nest is in one list, and one operand stands alone."""
    found = list(args)
    if is_flat(definition):
        found = [b for a in found for b in (a.args if isinstance(a, Tree) and a.definition is definition else (a,))]
        if len(found) == 1:
            return found[0]
    if is_flat(definition) or definition.commutative:
        found.sort(key=str)
    return Tree(definition, tuple(found))


class Comparison:
    """Compares terms; what was answered once is known.

    Attributes:
        asked: The first question without which some answer is open.
    """

    def __init__(self, precedence: Precedence) -> None:
        self.precedence = precedence
        self.asked: Asked | None = None
        self._known: dict[tuple[Term, Term], bool] = {}

    def above(self, s: Term, t: Term) -> Answer:
        """Whether one term is above another one, whatever variables stand for."""
        if s == t or isinstance(s, str):
            return False
        if isinstance(t, str):
            return t in _variables(s)
        found: Answer = self._known.get((s, t))
        if found is None:
            found = _any(self._above(s, t))
            if found is not None:
                self._known[s, t] = found
        return found

    def _above(self, s: Tree, t: Tree) -> Iterator[Answer]:
        yield from (self._at_least(a, t) for a in s.args)
        yield self._by_root(s, t)

    def _at_least(self, s: Term, t: Term) -> Answer:
        return True if s == t else self.above(s, t)

    def _by_root(self, s: Tree, t: Tree) -> Answer:
        if s.definition is not t.definition:
            return _all(self._each(s, t, self._higher(s.definition, t.definition)))
        if is_flat(s.definition):
            return _any(self._nests(s, t))
        if s.definition.commutative:
            return self._multiset(s.args, t.args)
        return self._by_arguments(s, t)

    def _each(self, s: Tree, t: Tree, first: Answer) -> Iterator[Answer]:
        """Whether something holds, and a term is above each argument of another one."""
        yield first
        yield from (self.above(s, b) for b in t.args)

    def _higher(self, one: OpDef, other: OpDef) -> Answer:
        found = self.precedence.is_higher(one, other)
        if found is None and self.asked is None:
            self.asked = Asked(one, other)
        return found

    def _by_arguments(self, s: Tree, t: Tree) -> Answer:
        status = LEFT if len(s.args) < 2 else self.precedence.status(s.definition)
        if status is None:
            self.asked = self.asked or Asked(s.definition)
            return None
        if status == MULTISET:
            return self._multiset(s.args, t.args)
        turn = -1 if status == RIGHT else 1
        differ = next(((a, b) for a, b in zip(s.args[::turn], t.args[::turn], strict=True) if a != b), None)
        return False if differ is None else _all(self._each(s, t, self.above(*differ)))

    # -- nests ------------------------------------------------------------------------------------------------

    def _nests(self, s: Tree, t: Tree) -> Iterator[Answer]:
        """The ways in which a nest may be above another one of the same operation."""
        yield _any(self._parts(s, lambda part: self._at_least(part, t)))
        yield _all(self._as_large(s, t))

    def _as_large(self, s: Tree, t: Tree) -> Iterator[Answer]:
        of = s.definition
        yield _all(self._parts(t, lambda part: self.above(s, part), True))
        variables, others = ([a for a in nest.args if isinstance(a, str)] for nest in (s, t))
        big = [[(a, self._big(of, a)) for a in nest.args if isinstance(a, Tree)] for nest in (s, t)]
        if any(known is None for some in big for _, known in some):
            yield None
            return
        mine, its = ([a for a, known in some if known] for some in big)
        yield self._multiset([*variables, *mine], [*others, *its], equal=True)
        yield _any(self._larger(s, t, mine, its))

    def _larger(self, s: Tree, t: Tree, mine: Sequence[Term], its: Sequence[Term]) -> Iterator[Answer]:
        yield self._multiset(mine, its)
        least, most = _surplus(s, t)
        yield least > 0 and most
        yield _all([least >= 0 and most, self._multiset(s.args, t.args)]) if least >= 0 and most else False

    def _big(self, of: OpDef, arg: Tree) -> Answer:
        """Whether an operand stands above the operation of its nest."""
        return self._higher(arg.definition, of)

    def _parts(self, nest: Tree, ask: object, wanted: bool = False) -> Iterator[Answer]:
        """What is answered for a nest with any operand that is not above it replaced by an argument of that.

        Args:
            wanted: What is answered for an operand that is above it.
        """
        assert callable(ask)
        for i, arg in enumerate(nest.args):
            big = self._big(nest.definition, arg) if isinstance(arg, Tree) and arg.args else True
            if big is None:
                yield None
            elif big:
                yield wanted
            else:
                assert isinstance(arg, Tree)
                for part in arg.args:
                    yield ask(tree(nest.definition, [*nest.args[:i], part, *nest.args[i + 1 :]]))

    def _multiset(self, left: Sequence[Term], right: Sequence[Term], equal: bool = False) -> Answer:
        """Whether one multiset is above another one, or equal to it if that is enough."""
        more, less = (
            list((Counter(left) - Counter(right)).elements()),
            list((Counter(right) - Counter(left)).elements()),
        )
        if not more:
            return equal and not less
        return _all(_any(self.above(a, b) for a in more) for b in dict.fromkeys(less))


def _surplus(s: Tree, t: Tree) -> tuple[int, bool]:
    """How many operands one nest has at least more than another one, and whether no variable makes them fewer."""
    mine, its = (Counter(a for a in nest.args if isinstance(a, str)) for nest in (s, t))
    return len(s.args) - len(t.args), all(mine[name] >= count for name, count in its.items())


def _variables(term: Term) -> set[str]:
    if isinstance(term, str):
        return {term}
    return {name for arg in term.args for name in _variables(arg)}


def _any(answers: Iterable[Answer]) -> Answer:
    """Whether one answer is yes; open if one may be."""
    found: Answer = False
    for answer in answers:
        if answer:
            return True
        found = None if answer is None else found
    return found


def _all(answers: Iterable[Answer]) -> Answer:
    """Whether all answers are yes; no if one is no."""
    found: Answer = True
    for answer in answers:
        if answer is False:
            return False
        found = None if answer is None else found
    return found
