# SPDX-License-Identifier: Apache-2.0
"""A broken rule may be as right as the one it was made from: it makes the same terms, or errs at no number there is."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from ngraph_rewrite.errors import NGraphRewriteError
from ngraph_rewrite.lowering.driver import adopt, normalise
from ngraph_rewrite.lowering.fitting import fitted
from ngraph_rewrite.lowering.passes import SAFE_CLASSES, matchers_of
from ngraph_rewrite.lowering.table import ReplacementTable
from ngraph_rewrite.rewriting.domain import COMMON_FIRST, SYMBOLIC, Domain
from ngraph_rewrite.rewriting.instances import Instance, every_match, matches
from ngraph_rewrite.rewriting.pattern import App, Num, Var, subpatterns
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.rewriting.trial_bank import TrialBank
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.testing.differences import listed
from ngraph_rewrite.testing.evaluate import Undefined
from ngraph_rewrite.testing.findings import Context
from ngraph_rewrite.testing.seldom import FLOATS
from ngraph_rewrite.testing.strategies import examples_of, valued_leaves
from ngraph_rewrite.testing.values import wrong_step
from ngraph_rewrite.types.axes import Axis
from ngraph_rewrite.types.dtypes import BOOL, INT64, DType
from ngraph_rewrite.types.tuples import TupleType

# Instances of a rule that are sought in each domain of all dtypes, and terms that are tried in each of few.
SOUGHT, TRIED = 20, 1000
# Instances that are drawn at random beside: of all dtypes, and of those that derivatives have.
DRAWN = 60
# Of so many instances one has what is made of it lowered.
LOWERED = 7
# An instance, the bank it lives in, and what a rule makes of it.
_Made = tuple[Instance, TrialBank, Any]
# What stands for the failure of a rule to make anything of a term.
_FAILS = object()
_FEW = (COMMON_FIRST[0], INT64, BOOL)


def _known(a: int, b: int, c: int, h: int, w: int, n: int, dtypes: tuple[DType, ...] = COMMON_FIRST) -> Domain:
    return Domain((a, b, c), (Axis("H", h), Axis("W", w), Axis("N", n), Axis("C", a)), dtypes)


# Lengths unknown, different, equal, one and zero: instances are drawn. Different ones: the instances are all there are.
SOME = (SYMBOLIC, _known(3, 3, 3, 2, 2, 2), _known(2, 1, 3, 1, 3, 2), _known(0, 2, 1, 2, 0, 1))
ALL = (_known(2, 3, 4, 2, 3, 4, _FEW), _known(3, 1, 2, 3, 1, 2, _FEW))


class Instances:
    """Terms on which a rule fires, with what it makes of each; found once, for all that is compared with it."""

    def __init__(self, rule: Rule, context: Context) -> None:
        self.rule, self.context, self.bank = rule, context, TrialBank()
        self._own: list[_Made] = []
        self._more = ((found, bank, self._made(rule, found, bank)) for found, bank in self._found(rule))

    def same(self, other: Rule) -> int | None:
        """On how many terms the other rule makes the same; None if on one, of all there are of both, it does not.

        Where it makes nothing it does no harm.
        """
        count = 0
        for found, bank, made in self._with(other):
            others = self._made(other, found, bank)
            if others is not None and not _same(made, others):
                return None
            count += others is not None
        return count or None

    def same_lowered(self, other: Rule) -> int | None:
        """As `same`, where what they make need be the same only when the library's rules have lowered it."""
        matcher = matchers_of(self.context.rules.of_class(SAFE_CLASSES), self.context.cache)["lower"]
        count = 0
        for found, bank, made in islice(self._with(other), 0, None, LOWERED):
            table = ReplacementTable()
            try:
                terms = [adopt(_terms(m), table, bank) for m in (made, self._made(other, found, bank))]
                forms = normalise([*terms[0], *terms[1]], matcher, table, bank, found.target, "lower")
            except NGraphRewriteError:
                return None
            if len(terms[0]) != len(terms[1]) or not _same(forms[: len(terms[0])], forms[len(terms[0]) :]):
                return None
            count += bool(terms[0])
        return count or None

    def empty(self, other: Rule) -> int | None:
        """On how many terms, all that are found, what the other rule makes has no element; None if it has on one."""
        count = 0
        for found, bank in self._found(other):
            if self._made(other, found, bank) is not None:
                if isinstance(found.term.type, TupleType) or 0 not in found.term.shape:
                    return None
                count += 1
        return count or None

    def _with(self, other: Rule) -> Iterator[_Made]:
        yield from self._known()
        if (other.left, other.guard, other.clauses) != (self.rule.left, self.rule.guard, self.rule.clauses):
            for found, bank in self._found(other):
                yield found, bank, self._made(self.rule, found, bank)

    def _known(self) -> Iterator[_Made]:
        """Those of the rule, each made when it is first asked for."""
        yield from self._own
        for one in self._more:
            self._own.append(one)
            yield one

    def _found(self, rule: Rule) -> Iterator[tuple[Instance, TrialBank]]:
        for domain in SOME:
            yield from ((found, self.bank) for found in matches(rule, SOUGHT, domain, self.bank, 100))
        for domain in ALL:
            yield from ((found, self.bank) for found in every_match(rule, domain, _from_the_first, self.bank, TRIED))
        for dtypes in (COMMON_FIRST, FLOATS):
            for example in examples_of(rule, DRAWN, self.context.effort.seed, dtypes, ()):
                yield example.instance, example.bank

    def _made(self, rule: Rule, found: Instance, bank: TrialBank) -> Any:
        """What a rule makes of a term: terms, None if it declines."""
        step = self.context.matcher(rule).steps.get(found.term.definition)
        derives = rule.kind == "derive"
        try:
            given = bank.leaf("d", found.term.type) if derives else found.target
            return None if step is None else step(found.term, bank.make, given)
        except Exception:  # of whatever kind: a rule that fails makes nothing
            return _FAILS


def _terms(made: Any) -> list[Op]:
    """The term that a rule makes; or the adjoints, each of the shape of its argument."""
    if made is None or made is _FAILS:
        return []
    if isinstance(made[1], Op):
        return [made[1]]
    pairs = [pair for argument, adjoint in made[1] for pair in listed(argument, adjoint)]
    return [p.argument if p.found is None else fitted(p.found, p.argument.type) for p in pairs]


def right_at_every_half(rule: Rule, context: Context) -> bool:
    """Whether a rule about functions of one variable is right at each of the 65,536 numbers of float16."""
    parts = list(subpatterns(rule.left))
    if any(isinstance(p, App) and "elementwise" not in p.definition.traits for p in parts) or rule.kind == "derive":
        return False
    count = 2**16
    domain = Domain((count,) * 3, tuple(Axis(n, count) for n in "HWNC"), (np.dtype("float16"),))
    if [type(p) for p in parts if not isinstance(p, App | Num)] != [Var]:
        return False
    found = every_match(rule, domain, _from_the_first, TrialBank(), 100)
    one = next((f for f in found if f.term.rank == 1 and f.term.size == count), None)
    if one is None:
        return False
    halves = np.arange(count, dtype=np.uint16).view(np.float16)
    values = {key: halves.astype(leaf.dtype) for key, leaf in valued_leaves(one.term).items()}
    try:
        return wrong_step(rule, context, one.term, values, one.target) is None
    except Undefined:
        return False


def _from_the_first(site: str, count: int) -> int:
    return 0


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, Op) or isinstance(b, Op):
        return a is b
    if isinstance(a, list | tuple):
        return isinstance(b, list | tuple) and len(a) == len(b) and all(map(_same, a, b))
    return a is not _FAILS and a == b
