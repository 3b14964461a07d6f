# SPDX-License-Identifier: Apache-2.0
"""The rules of a signature at work on drawn terms: all steps that may be taken, and the normal forms they lead to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from ngraph_rewrite.lowering.asked import Asked
from ngraph_rewrite.lowering.normal_form import matcher_of
from ngraph_rewrite.lowering.normalising import evaluate
from ngraph_rewrite.lowering.table import ReplacementTable
from ngraph_rewrite.rewriting.interpret import Application
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.pattern import App
from ngraph_rewrite.rewriting.rule import Rule, RuleSet
from ngraph_rewrite.rewriting.variable_sorts import Sorted, sorted_variables
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.testing.ground import Ground
from ngraph_rewrite.testing.inner_nests import is_put_into_others, nests_put_into_others, parts

# Steps that a normal form may take in a check.
STEPS = 5_000
# Parts of a nest that are rewritten by themselves.
PARTS = 100


class SignatureSystem:
    """The rules of a signature at work on drawn terms."""

    def __init__(self, rules: list[Rule], bank: TermBank, seed: int) -> None:
        self.rules, self.bank = rules, bank
        self.ground = Ground(rules, rules[0].left.definition.family, bank, seed)
        self.matcher = matcher_of(RuleSet(rules))
        self.alone = {id(rule): matcher_of(RuleSet([rule])) for rule in rules}
        self.asked = Asked(self.matcher, bank)
        self.nested = nests_put_into_others(rules)

    def instance(self, rule: Rule) -> Op:
        """A term that the left side matches."""
        return self.ground.instance(rule.left, sorted_variables(rule.left))

    def steps(self, rule: Rule, term: Op, matcher: Matcher | None = None) -> Iterator[Op]:
        """What a rule makes of a term at its root, in each way in which it and its conditions match."""
        for _, bindings in (matcher or self.alone[id(rule)]).matches(term):
            found = Application(rule, term, bindings, self.bank.make)
            for one in self.asked.solutions(rule, found) if found.guard_holds() else ():
                (made,) = one.right()
                assert isinstance(made, Op)
                yield made

    def apart(self, pattern: App, kinds: Mapping[str, Sorted]) -> list[Op] | None:
        """A drawn term and two normal forms of it by steps at different places, if it has them.

        Args:
            kinds: What the variables of the pattern may stand for.

        Raises:
            RewriteError: if one has no normal form in so many steps.
        """
        return self.parted(self.ground.instance(pattern, kinds))

    def parted(self, term: Op) -> list[Op] | None:
        """The term and two normal forms of it by steps at different places, if it has them.

        Raises:
            RewriteError: if one has no normal form in so many steps.
        """
        after = list(dict.fromkeys(self.outcomes(term)))
        forms = self._normal(after)
        other = next((form for form in forms if form is not forms[0]), None)
        return None if other is None else [term, forms[0], other]

    def _normal(self, terms: list[Op]) -> list[Op]:
        """The normal forms of terms."""
        return evaluate(terms, self.matcher, ReplacementTable(), self.bank, "check", STEPS)

    def outcomes(self, term: Op) -> Iterator[Op]:
        """What one step makes of a term, at each of its places, by the first rule that fires there."""
        yield from self._at_root(term)
        if term.definition in self.nested:
            yield from self._in_parts(term)
        profile = term.definition.profile
        for i, arg in enumerate(term.args):
            if profile is None or i not in profile.held:
                for new in self.outcomes(arg):
                    args = (*term.args[:i], new, *term.args[i + 1 :])
                    yield self.bank.make(term.definition, args, term.attrs)

    def _at_root(self, term: Op) -> list[Op]:
        """What the first rule that fires makes of a whole term, in each way in which it does."""
        rules = self.rules if self.matcher.steps.get(term.definition) is not None else ()
        made = (list(self.steps(rule, term)) for rule in rules if rule.left.definition is term.definition)
        return next(filter(None, made), [])

    def _in_parts(self, term: Op) -> Iterator[Op]:
        """What becomes of a nest if some operands were rewritten, by one step or all, as a nest of their own."""
        for before, taken, after in islice(parts(term), PARTS):
            inner = self.bank.make(term.definition, taken, ())
            steps = self._at_root(inner) if is_put_into_others(inner, (*before, *after), self.nested) else []
            for new in (*steps, *(self._normal([inner]) if steps else ())):
                yield self.bank.make(term.definition, (*before, new, *after), ())
