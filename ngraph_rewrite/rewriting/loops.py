# SPDX-License-Identifier: Apache-2.0
"""A loop is shown by a term that rewriting brings back: instances of suspected rules are rewritten until one comes.

Rewriting goes innermost first, as the driver does, and remembers by which steps each term came about. A term that
stands among those it came from is a loop, and so is one that is an instance of such a term; where neither is met,
more steps than any small term should take are taken for one. To begin with, each rule's instances are tried, then
the same with instances of the others in the place of their variables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.errors import RuleFileError
from ngraph_rewrite.rewriting.asked_target import Target
from ngraph_rewrite.rewriting.instances import TRIES, Instance, matches
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.rule import Rule, RuleSet
from ngraph_rewrite.rewriting.trial_bank import TrialBank
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological

# Steps one inside another that are taken for no end, all steps from one term, and the arguments of an op.
ENDLESS, STEPS, WIDEST = 60, 500, 64
# Instances of each rule, and terms that are rewritten.
INSTANCES, TERMS = 6, 300


@dataclass(frozen=True)
class Step:
    """One step: a term and the rule that fires on it."""

    term: Op
    rule: Rule


@dataclass(frozen=True)
class Loop:
    """Steps without end.

    Attributes:
        steps: From the first term of the loop on; each term is in what the step before made.
        back: What comes back: the first term, or one that it is a part of the form of; None if only no end was seen.
        target: The target that guards were asked about.
    """

    steps: tuple[Step, ...]
    back: Op | None
    target: Target

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that take part, each once, in the order in which they fire."""
        return tuple({id(s.rule): s.rule for s in self.steps}.values())


class _Found(Exception):
    def __init__(self, loop: Loop) -> None:
        super().__init__()
        self.loop = loop


def find_loop(rules: Sequence[Rule], cache: Cache | None = None) -> Loop | None:
    """A loop in which some of these rules run, if small terms show one.

    >>> from ngraph_rewrite.ops import semi
    >>> from ngraph_rewrite.rewriting.rulefile import parse_rules
    >>> text = "simplify semi\\nrule a: exp(x) => tanh(x)\\nrule b: tanh(log(x)) => exp(log(x))\\n"
    >>> loop = find_loop(parse_rules(text, "r.rules", "r").rules)
    >>> [(step.rule.name, step.term) for step in loop.steps], loop.back
    ([('r.b', semi.tanh(semi.log(x))), ('r.a', semi.exp(semi.log(x)))], semi.tanh(semi.log(x)))
    """
    rules = [rule for rule in rules if rule.kind != "derive"]
    matcher, bank = Matcher(RuleSet(rules), cache or Cache()), TrialBank()
    for term, target in _terms(rules, bank):
        found = endless(term, matcher, bank, target)
        if found is not None:
            return found
    return None


def _terms(rules: Sequence[Rule], bank: TrialBank) -> Iterator[tuple[Op, Target]]:
    """Terms to begin with."""
    found = [instance for rule in rules for instance in _instances(rule, bank)]
    yield from ((instance.term, instance.target) for instance in found)
    parts = [part for instance in found for part in topological([instance.term]) if part.args]
    for count, (term, target) in enumerate(_filled(found, parts, bank)):
        if count == TERMS:
            return
        yield term, target


def _instances(rule: Rule, bank: TrialBank) -> list[Instance]:
    try:
        return list(matches(rule, INSTANCES, bank=bank, tries=TRIES // 4))
    except RuleFileError:  # its guard fails: other checks say so
        return []


def _filled(found: Sequence[Instance], parts: Sequence[Op], bank: TrialBank) -> Iterator[tuple[Op, Target]]:
    """Instances with a part of an instance in the place of a variable."""
    for instance in found:
        for leaf in topological([instance.term]):
            for part in parts if not leaf.args else ():
                if part.type == leaf.type and leaf.definition.name == "core.placeholder":
                    yield _replaced(instance.term, leaf, part, bank), instance.target


def _replaced(term: Op, leaf: Op, part: Op, bank: TrialBank) -> Op:
    new = {leaf: part}
    for one in topological([term]):
        if one not in new:
            args = tuple([new[a] for a in one.args])
            new[one] = one if args == one.args else bank.make(one.definition, args, one.attrs)
    return new[term]


def endless(term: Op, matcher: Matcher, bank: TrialBank, target: Target) -> Loop | None:
    """The loop in which rewriting a term runs; None if it ends, or cannot go on for a rule that builds nothing."""
    try:
        _Rewriting(matcher, bank, target).normal(term)
    except _Found as found:
        return found.loop
    except Exception:  # whatever a rule does: other checks say what is wrong with it
        return None
    return None


class _Rewriting:
    """Rewriting one term, with the steps that led to where it is."""

    def __init__(self, matcher: Matcher, bank: TrialBank, target: Target) -> None:
        self.matcher, self.bank, self.target = matcher, bank, target
        self.known: dict[Op, Op] = {}
        self.steps: list[Step] = []
        self.fired = 0

    def normal(self, term: Op) -> Op:
        """The normal form of a term.

        Raises:
            _Found: if there is none.
        """
        found = self.known.get(term)
        if found is None:
            args = tuple([self.normal(a) for a in term.args])
            own = term if args == term.args else self.bank.make(term.definition, args, term.attrs)
            found = self.known[term] = self.stepped(own)
        return found

    def stepped(self, term: Op) -> Op:
        """The normal form of a term whose arguments are in normal form."""
        step = self.matcher.step(term, self.bank.make, self.target)
        if step is None:
            return term
        self.look_back(Step(term, step[0]))
        self.steps.append(Step(term, step[0]))
        found = self.normal(step[1])
        self.steps.pop()
        return found

    def look_back(self, now: Step) -> None:
        for i in reversed(range(len(self.steps))):
            if self.steps[i].rule is now.rule and is_instance(now.term, self.steps[i].term):
                raise _Found(Loop(tuple(self.steps[i:]), now.term, self.target))
        self.fired += 1
        if len(self.steps) >= ENDLESS or self.fired > STEPS or len(now.term.args) > WIDEST:
            raise _Found(Loop((*self.steps[-7:], now), None, self.target))


def is_instance(term: Op, of: Op) -> bool:
    """Whether a term is another one with terms of the same types in the place of its placeholders.

    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder([2])
    >>> is_instance(ng.exp(ng.exp(x)), ng.exp(x)), is_instance(ng.exp(x), ng.exp(ng.exp(x)))
    (True, False)
    """
    bound: dict[Op, Op] = {}
    pending = [(term, of)]
    while pending:
        one, other = pending.pop()
        if other in bound:
            if bound[other] is not one:
                return False
        elif other.definition.name == "core.placeholder":
            if one.type != other.type:
                return False
            bound[other] = one
        elif one.definition is not other.definition or one.attrs != other.attrs or len(one.args) != len(other.args):
            return False
        else:
            bound[other] = one
            pending += zip(one.args, other.args, strict=True)
    return True
