# SPDX-License-Identifier: Apache-2.0
"""The checks of rules of a signature: of one sort, going down, of use, of one meaning, and with one normal form.

Where two rules take one term their order in the file decides, so that alone is no mistake. What is one is a term that
has two normal forms by steps at two places, or by two ways in which one rule matches it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from ngraph_rewrite.errors import RewriteError
from ngraph_rewrite.lowering.evaluation import Asked, evaluate
from ngraph_rewrite.lowering.normal_form import matcher_of
from ngraph_rewrite.lowering.table import ReplacementTable
from ngraph_rewrite.rewriting.interpret import Application
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.order import Order
from ngraph_rewrite.rewriting.overlaps import overlaps, positions
from ngraph_rewrite.rewriting.pattern import App
from ngraph_rewrite.rewriting.precedence import find_order
from ngraph_rewrite.rewriting.rule import Rule, RuleSet
from ngraph_rewrite.rewriting.subsumption import subsumes
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.op import Op, topological
from ngraph_rewrite.terms.written import written
from ngraph_rewrite.testing.findings import FAILED, NONE, OPEN, PASSED, Context, Finding, finding
from ngraph_rewrite.testing.ground import Ground

KIND = "rewrite"
# Steps that a normal form may take in a check, and terms that are drawn of each overlap.
STEPS, DRAWN = 5_000, 3


def check_of_signature(check: str, rule: Rule, context: Context) -> Finding:
    """What a check of one rule finds out about a rule of a signature."""
    if check == "types":
        return finding(rule, check, PASSED, f"both sides are of sort {rule.left.definition.profile.result}")  # type: ignore[union-attr]
    if check == "values":
        return _values(rule, context)
    if check == "confluence":
        return _confluence(rule, context)
    return finding(rule, check, NONE, "its terms are no tensors")


def together(check: str, rules: Iterable[Rule], context: Context) -> Iterator[Finding]:
    """What a check of all rules finds out about those of signatures."""
    rules = list(rules)
    if check == "subsumption":
        yield from (_subsumption(rule, _family(rule, context)) for rule in rules)
        return
    for rule in rules:
        if not rule.ordered:
            yield finding(rule, check, NONE, "its file is unordered: it may run for ever, up to a budget")
            continue
        found = find_order(r for r in _family(rule, context) if r.ordered)
        if isinstance(found, Order) or rule not in found.rules:
            yield finding(rule, check, PASSED, "goes down in an order that was found")
        else:
            others = " and ".join(str(r) for r in found.rules if r is not rule)
            yield finding(rule, check, FAILED, f"goes down in no order{f' with {others}' if others else ''}")


def _family(rule: Rule, context: Context) -> list[Rule]:
    """All rules of the signature of a rule."""
    family = rule.left.definition.family
    return [r for r in context.rules.of_kind(KIND) if r.left.definition.family == family]


def _subsumption(rule: Rule, rules: list[Rule]) -> Finding:
    before = rules[: next(i for i, r in enumerate(rules) if r is rule or r == rule)]
    other = next((o for o in before if o.left.definition is rule.left.definition and subsumes(o, rule)), None)
    if other is None:
        return finding(rule, "subsumption", PASSED)
    return finding(rule, "subsumption", FAILED, f"can never fire: {other} takes all its terms", "", other.name)


# -- meanings ---------------------------------------------------------------------------------------------


def meaning(term: Op) -> Any:
    """What a ground term means, by the functions that its operations are declared with.

    Raises:
        KeyError: for an operation without a meaning.
    """
    values: dict[Op, Any] = {}
    for one in topological([term]):
        function = one.definition.meaning
        if function is None:
            raise KeyError(one.definition.name)
        values[one] = function(*(values[a] for a in one.args), **one.attributes)
    return values[term]


def _values(rule: Rule, context: Context) -> Finding:
    """Both sides mean the same, for terms that are drawn."""
    bank, count = TermBank(), 0
    system = _System(_family(rule, context), bank, context.effort.seed)
    try:
        for _ in range(max(20, 4 * context.effort.examples)):
            term = system.instance(rule)
            for after in () if term is None else system.steps(rule, term):
                assert term is not None
                own, other = meaning(term), meaning(after)
                if own != other:
                    shown = f"# {written(term)} means {own!r}\n# {written(after)} means {other!r}"
                    return finding(rule, "values", FAILED, f"is wrong: {own!r} becomes {other!r}", shown)
                count += 1
    except KeyError as error:
        return finding(rule, "values", NONE, f"{error.args[0]} is declared without a meaning")
    except Exception as error:  # whatever a meaning does
        return finding(rule, "values", FAILED, f"has a meaning that fails: {type(error).__name__}: {error}")
    return finding(rule, "values", PASSED if count else OPEN, f"{count} terms")


# -- confluence ---------------------------------------------------------------------------------------------


def _confluence(rule: Rule, context: Context) -> Finding:
    rules = _family(rule, context)
    system = _System(rules, TermBank(), context.effort.seed)
    place = next(i for i, r in enumerate(rules) if r is rule or r == rule)
    seen, endless = 0, 0
    for outer, inner in [*((rule, o) for o in rules[place:]), *((o, rule) for o in rules[place + 1 :])]:
        for overlap in _overlaps(outer, inner):
            for _ in range(DRAWN):
                try:
                    apart = system.apart(overlap)
                except RewriteError:
                    endless += 1
                    continue
                if apart is not None:
                    says = f"and {(inner if outer is rule else outer).name} bring one term to two normal forms"
                    return finding(rule, "confluence", FAILED, says, "\n".join(f"# {written(t)}" for t in apart))
                seen += 1
    if endless:
        return finding(
            rule, "confluence", OPEN, f"{endless} of {seen + endless} terms have no normal form in {STEPS} steps"
        )
    if not seen:
        return finding(rule, "confluence", NONE, "it overlaps with no rule but those that stand before it")
    return finding(rule, "confluence", PASSED, f"{seen} terms that two rules may take have one normal form each")


def _overlaps(outer: Rule, inner: Rule) -> Iterator[App]:
    """The most general terms in which both rules may fire, not below what is not normalised first."""
    for position, part in positions(outer.left):
        if part.definition is inner.left.definition and not _is_held(outer.left, position):
            yield from (o.pattern for o in islice(overlaps(outer.left, inner.left, position), 12))


def _is_held(pattern: App, position: tuple[int, ...]) -> bool:
    at: Any = pattern
    for i in position:
        if i in at.definition.profile.held:
            return True
        at = at.args[i]
    return False


class _System:
    """The rules of a signature at work on drawn terms."""

    def __init__(self, rules: list[Rule], bank: TermBank, seed: int) -> None:
        self.rules, self.bank = rules, bank
        self.ground = Ground(rules, rules[0].left.definition.family, bank, seed)
        self.matcher = matcher_of(RuleSet(rules))
        self.alone = {id(rule): matcher_of(RuleSet([rule])) for rule in rules}
        self.asked = Asked(self.matcher, bank)

    def instance(self, rule: Rule) -> Op | None:
        """A term that the left side matches."""
        found = next((o.pattern for o in overlaps(rule.left, rule.left)), None)
        return None if found is None else self.ground.instance(found)

    def steps(self, rule: Rule, term: Op, matcher: Matcher | None = None) -> Iterator[Op]:
        """What a rule makes of a term at its root, in each way in which it matches."""
        for _, bindings in (matcher or self.alone[id(rule)]).matches(term):
            found = Application(rule, term, bindings, self.bank.make)
            if found.guard_holds() and self.asked.conditions_hold(rule, found):
                (made,) = found.right()
                assert isinstance(made, Op)
                yield made

    def apart(self, pattern: App) -> list[Op] | None:
        """A drawn term and two normal forms of it by steps at different places, if it has them.

        Raises:
            RewriteError: if one has no normal form in so many steps.
        """
        term = self.ground.instance(pattern)
        after = list(dict.fromkeys(self.outcomes(term)))
        forms = evaluate(after, self.matcher, ReplacementTable(), self.bank, "check", STEPS)
        other = next((form for form in forms if form is not forms[0]), None)
        return None if other is None else [term, forms[0], other]

    def outcomes(self, term: Op) -> Iterator[Op]:
        """What one step makes of a term, at each of its places, by the first rule that fires there."""
        for rule in self.rules if self.matcher.steps.get(term.definition) is not None else ():
            if rule.left.definition is term.definition:
                made = list(self.steps(rule, term))
                yield from made
                if made:
                    break
        profile = term.definition.profile
        for i, arg in enumerate(term.args):
            if profile is None or i not in profile.held:
                for new in self.outcomes(arg):
                    args = (*term.args[:i], new, *term.args[i + 1 :])
                    yield self.bank.make(term.definition, args, term.attrs)
