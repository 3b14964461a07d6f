# SPDX-License-Identifier: Apache-2.0
"""Two nests are equal if their operands are: which of them are one, and what sequence variables stand for.

Where the order does not count, that is a linear equation in natural numbers. A variable in a nest stands for one
operand, so its unknown is 1 in one of the minimal solutions that are chosen, and 0 in the others; that leaves few
choices of the many that Stickel's algorithm has. What only sequence variables share is a new sequence. Where the order
counts, both lists are read from the left: what stands first is one operand of both, or the beginning of a sequence.

See Stickel, *A unification algorithm for associative-commutative functions* (1981), Boudet, Contejean and Devie, *A new
AC unification algorithm with an algorithm for solving systems of Diophantine equations* (1990), and Plotkin, *Building
in equational theories* (1972), for lists.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from ngraph_rewrite.rewriting.diophantine import Limit, Solution, minimal_solutions
from ngraph_rewrite.rewriting.pattern import App, Pattern, SeqVar

# How many steps are taken in lists, for each operand of both.
LONG = 3
# Makes a new sequence variable.
New = Callable[[], SeqVar]


class Equal(NamedTuple):
    """One way in which the operands of two nests are the same.

    Attributes:
        groups: Operands that are one.
        runs: What each sequence variable stands for; an operand of a group stands for the group.
    """

    groups: list[list[Pattern]]
    runs: dict[str, tuple[Pattern, ...]]


def equal_multisets(left: Sequence[Pattern], right: Sequence[Pattern], new: New, limit: Limit) -> Iterator[Equal]:
    """All ways in which two nests whose operands stand in any order are equal; none may be missing before the limit.

    Args:
        left: What stands in both is to be taken out before.
        new: Makes a sequence variable that stands nowhere yet.
    """
    mine, other = Counter(left), Counter(right)
    atoms = [*mine, *(a for a in other if a not in mine)]
    coefficients = [mine[a] - other[a] for a in atoms]
    singles = frozenset(i for i, a in enumerate(atoms) if not isinstance(a, SeqVar))
    clashes = {(i, j) for i, j in combinations(sorted(singles), 2) if _clash(atoms[i], atoms[j])}

    def possible(solution: Solution) -> bool:
        used = [i for i, n in enumerate(solution) if n and i in singles]
        return not any(pair in clashes for pair in combinations(used, 2))

    caps = [1 if i in singles else None for i in range(len(atoms))]
    solutions = minimal_solutions(coefficients, caps, possible, limit)
    shared = [s for s in solutions if not any(s[i] for i in singles)]
    others = [s for s in solutions if any(s[i] for i in singles)]
    for chosen in _covers(sorted(singles), others, limit):
        yield _equal(atoms, singles, chosen, shared, new)


def _clash(one: Pattern, other: Pattern) -> bool:
    """Whether two operands are never one, as their operations tell."""
    if not isinstance(one, App) or not isinstance(other, App) or one.definition is other.definition:
        return False
    return not any(_may_collapse(a) for a in (one, other))


def _may_collapse(pattern: App) -> bool:
    profile = pattern.definition.profile
    return profile is not None and profile.identity is not None


def _covers(left: list[int], solutions: Sequence[Solution], limit: Limit) -> Iterator[list[Solution]]:
    """The choices of solutions in which each of these unknowns is 1 once."""
    if not left:
        yield []
        return
    for one in solutions:
        if one[left[0]] and limit.spend():
            rest = [i for i in left if not one[i]]
            disjoint = [s for s in solutions if not any(a and b and i in left for i, (a, b) in enumerate(zip(s, one)))]  # noqa: B905
            yield from ([one, *more] for more in _covers(rest, disjoint, limit))


def _equal(
    atoms: list[Pattern], singles: frozenset[int], chosen: list[Solution], shared: list[Solution], new: New
) -> Equal:
    groups = [[atoms[i] for i, n in enumerate(s) if n and i in singles] for s in chosen]
    values = [group[0] for group in groups] + [new() for _ in shared]
    runs: dict[str, tuple[Pattern, ...]] = {}
    for i, atom in enumerate(atoms):
        if isinstance(atom, SeqVar):
            runs[atom.name] = tuple([v for s, v in zip([*chosen, *shared], values, strict=True) for _ in range(s[i])])
    return Equal(groups, runs)


def equal_lists(left: Sequence[Pattern], right: Sequence[Pattern], new: New, limit: Limit) -> Iterator[Equal]:
    """All ways in which two lists are equal; where a sequence stands twice there may be more than the limit allows."""
    yield from _Lists(new, limit).equal(left, right, LONG * (len(left) + len(right)))


class _Lists:
    """The search for the ways in which lists are equal.

    A sequence that stands in both of them, or twice in one, may become longer without end: so many operands are
    looked at as two lists could have in which each sequence stands once.
    """

    def __init__(self, new: New, limit: Limit) -> None:
        self.new, self.limit = new, limit

    def equal(self, left: Sequence[Pattern], right: Sequence[Pattern], steps: int) -> Iterator[Equal]:
        if not left and not right:
            yield Equal([], {})
        elif not steps:
            self.limit.met = True
        elif self.limit.spend():
            if left and right and left[0] == right[0]:
                yield from self.equal(left[1:], right[1:], steps - 1)
            elif left and isinstance(left[0], SeqVar):
                yield from self._begun(left[0], left, right, steps)
            elif right and isinstance(right[0], SeqVar):
                yield from self._begun(right[0], right, left, steps)
            elif left and right:
                for equal in self.equal(left[1:], right[1:], steps - 1):
                    yield Equal([[left[0], right[0]], *equal.groups], equal.runs)

    def _begun(self, run: SeqVar, own: Sequence[Pattern], other: Sequence[Pattern], steps: int) -> Iterator[Equal]:
        """The ways in which a list that begins with a sequence is equal to another one."""
        first = other[0] if other else None
        if isinstance(first, SeqVar):
            yield from self._with(first, (run, self.new()), own, other, steps)
        else:
            yield from self._with(run, (), own, other, steps)
        if first is not None:
            yield from self._with(run, (first, self.new()), own, other, steps)

    def _with(
        self, run: SeqVar, value: tuple[Pattern, ...], one: Sequence[Pattern], other: Sequence[Pattern], steps: int
    ) -> Iterator[Equal]:
        left, right = ([v for a in side for v in (value if a == run else (a,))] for side in (one, other))
        for equal in self.equal(left, right, steps - 1):
            known = tuple([v for a in value for v in (equal.runs.get(a.name, (a,)) if isinstance(a, SeqVar) else (a,))])
            yield Equal(equal.groups, {run.name: known, **equal.runs})
