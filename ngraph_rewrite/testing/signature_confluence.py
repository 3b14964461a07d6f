# SPDX-License-Identifier: Apache-2.0
"""Confluence of the rules of a signature: their critical pairs join, or terms are drawn of those that are not shown to.

Where rewriting ends and all critical pairs join, every term has one normal form, whichever rule is taken first: that
is a proof (Newman's lemma). Where a pair is not shown to join, the order of the rules in their file may still decide,
or what stands for variables: then drawn terms say whether steps at two places lead to two normal forms.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache
from itertools import islice

from ngraph_rewrite.errors import RewriteError
from ngraph_rewrite.rewriting.critical_pairs import CriticalPair, critical_pairs
from ngraph_rewrite.rewriting.diophantine import Limit
from ngraph_rewrite.rewriting.equation import Equation, equation_of
from ngraph_rewrite.rewriting.joining import in_general, joins
from ngraph_rewrite.rewriting.nests import is_flat
from ngraph_rewrite.rewriting.order import Order
from ngraph_rewrite.rewriting.pattern import App, Pattern, SeqVar, Var, subpatterns
from ngraph_rewrite.rewriting.precedence import Conflict, find_order
from ngraph_rewrite.rewriting.rule import Rule, RuleSet
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.written import written
from ngraph_rewrite.testing.findings import FAILED, OPEN, PASSED, Context, Finding, finding
from ngraph_rewrite.testing.inner_nests import Nests, lifted, nests_put_into_others
from ngraph_rewrite.testing.signature_system import STEPS, SignatureSystem

KIND = "rewrite"
# Steps of unification for two rules, terms drawn of each pair that is not shown to join, and such pairs of two rules.
UNIFICATION, DRAWN, SHOWN = 50_000, 3, 12


class Signature:
    """The rules of a signature that run together, and what is known of all of them.

    Args:
        rules: All rules there are.
        family: The name of the signature.
    """

    def __init__(self, rules: RuleSet, family: str) -> None:
        self.rules = [r for r in rules.of_kind(KIND) if r.left.definition.family == family]

    @cached_property
    def order(self) -> Order | Conflict:
        """The order in which those that have to go down do, or those that cannot."""
        return find_order(rule for rule in self.rules if rule.ordered)

    @cached_property
    def equations(self) -> list[Equation]:
        """The rules as patterns."""
        return [equation_of(rule) for rule in self.rules]

    @cached_property
    def in_general(self) -> list[Equation]:
        """The same with variables for several operands, for what is reached: where rewriting ends."""
        return in_general(self.equations) if self.decides else self.equations

    @cached_property
    def closed(self) -> bool:
        """Whether what rules do to a nest they do to it in any larger one."""
        return all(e.beside for e in self.equations if is_flat(e.left.definition))

    @cached_property
    def nested(self) -> Nests:
        """The nests that rules put into others of the same operation."""
        return nests_put_into_others(self.rules)

    @cached_property
    def decides(self) -> bool:
        """Whether pairs that join show that there is one normal form.

        Rewriting has to end, inside of any nest as alone; no rule may freeze what could be rewritten, and none may take
        operands of one nest to nests of another operation, where several made of one would be one.
        """
        ends = all(rule.ordered for rule in self.rules) and isinstance(self.order, Order)
        return ends and self.closed and not any(freezes(e) or moves(e) for e in self.equations)

    def place(self, rule: Rule) -> int:
        """Where a rule stands among them."""
        return next(i for i, r in enumerate(self.rules) if r is rule or r == rule)

    def pairs(self, rule: Rule, limit: Limit) -> Iterator[CriticalPair]:
        """The critical pairs of a rule with itself and with those that stand after it."""
        place = self.place(rule)
        own = self.equations[place]
        for other in self.equations[place:]:
            yield from critical_pairs(own, other, self.closed, limit)
            if other is not own:
                yield from (p for p in critical_pairs(other, own, self.closed, limit) if not p.at_root)

    def of_inner_nests(self, rule: Rule, left: Iterable[CriticalPair], limit: Limit) -> Iterator[CriticalPair]:
        """The pairs in which one rule takes a nest, and another one all of a nest that was put into it.

        Where both take some operands among others, these are pairs that there are already, and join if those do.

        Args:
            left: The pairs that are there and do not join.
        """
        place = self.place(rule)
        own = self.equations[place]
        apart = {frozenset([id(p.outer.rule), id(p.inner.rule)]) for p in left if p.at_root}
        for other in self.equations[place:]:
            both = frozenset([id(own.rule), id(other.rule)]) in apart
            yield from self._in_inner_nests(own, other, both, limit)
            if other is not own:
                yield from self._in_inner_nests(other, own, both, limit)

    def _in_inner_nests(self, outer: Equation, inner: Equation, apart: bool, limit: Limit) -> Iterator[CriticalPair]:
        of = inner.left.definition
        if outer.left.definition is of and (apart or not inner.beside):
            for one in (one for put in self.nested.get(of, ()) for one in lifted(inner, put.inner, limit)):
                yield from (p for p in critical_pairs(outer, one, self.closed, limit) if p.at_root)


@lru_cache(maxsize=4)
def signature_of(rules: RuleSet, family: str) -> Signature:
    """What is known of the rules of a signature; the checks of all of them share it."""
    return Signature(rules, family)


def freezes(equation: Equation) -> bool:
    """Whether a variable that may be rewritten on the left stands where nothing is, on the left or on the right."""
    active = {name for name, held in _names(equation.left, False) if not held}
    sides = [equation.left, equation.right, *(s for c in equation.conditions for s in (c.left, c.right))]
    frozen = {name for side in sides if side is not None for name, held in _names(side, False) if held}
    return bool(active & frozen)


def moves(equation: Equation) -> bool:
    """Whether a sequence of operands stands in nests of another operation, on the left or on the right."""
    sides = [equation.left, equation.right, *(s for c in equation.conditions for s in (c.left, c.right))]
    nests = [p for side in sides if side is not None for p in subpatterns(side) if isinstance(p, App)]
    owners = {(arg.name, nest.definition) for nest in nests for arg in nest.args if isinstance(arg, SeqVar)}
    return len({name for name, _ in owners}) < len(owners)


def _names(pattern: Pattern, held: bool) -> Iterator[tuple[str, bool]]:
    """The variables of a pattern, each with whether nothing is rewritten where it stands."""
    if isinstance(pattern, Var | SeqVar):
        yield pattern.name, held
    for place, arg in enumerate(pattern.args) if isinstance(pattern, App) else ():
        assert isinstance(pattern, App)
        profile = pattern.definition.profile
        yield from _names(arg, held or (profile is not None and place in profile.frozen))


def confluence_of(rule: Rule, context: Context) -> Finding:
    """Look at the critical pairs of a rule with itself and all rules of its signature that stand after it."""
    signature = signature_of(context.rules, rule.left.definition.family)
    limit = Limit(UNIFICATION * len(signature.rules))
    pairs = list(signature.pairs(rule, limit))
    left = [pair for pair in pairs if not joins(pair, signature.in_general)]
    inner = list(signature.of_inner_nests(rule, left, limit))
    if not left and not inner and not limit.met:
        how = f"its {len(pairs)} critical pairs join" if pairs else "it has no critical pairs"
        return finding(rule, "confluence", PASSED, f"proved: {how}" if signature.decides else how)
    says = f"{len(pairs) - len(left)} of {len(pairs)} critical pairs join, and " if len(pairs) > len(left) else ""
    return _drawn(rule, context, signature, [*inner, *left], says, limit)


def _drawn(
    rule: Rule, context: Context, signature: Signature, left: list[CriticalPair], joined: str, limit: Limit
) -> Finding:
    """What drawn terms say of the pairs that are left."""
    system = SignatureSystem(signature.rules, TermBank(), context.effort.seed)
    seen = endless = 0
    for pair in _some_of_each(left):
        for _ in range(DRAWN):
            try:
                apart = system.apart(pair.peak, pair.kinds)
            except RewriteError:
                endless += 1
                continue
            if apart is not None:
                return _failed(rule, pair, apart)
            seen += 1
    meet = f"{seen} terms that two rules may take have one normal form each"
    if endless:
        says = f"{endless} of {seen + endless} terms have no normal form in {STEPS} steps"
    elif limit.met:
        says = f"the search for critical pairs was cut off; {meet}"
    else:
        return finding(rule, "confluence", PASSED, joined + meet)
    return finding(rule, "confluence", OPEN, says)


def _some_of_each(pairs: list[CriticalPair]) -> Iterator[CriticalPair]:
    """So many pairs of each two rules."""
    by_rules: dict[tuple[int, int], list[CriticalPair]] = {}
    for pair in pairs:
        by_rules.setdefault((id(pair.outer.rule), id(pair.inner.rule)), []).append(pair)
    for some in by_rules.values():
        yield from islice(some, SHOWN)


def _failed(rule: Rule, pair: CriticalPair, apart: list[Op]) -> Finding:
    other = pair.inner.rule if pair.outer.rule == rule else pair.outer.rule
    says = f"and {other.name} bring one term to two normal forms"
    shown = "\n".join(f"# {written(term)}" for term in apart)
    return finding(rule, "confluence", FAILED, says, shown, other.name)
