# SPDX-License-Identifier: Apache-2.0
"""The checks of rules of a signature: of one sort, going down, of use, of one meaning, and with one normal form.

Where two rules take one term their order in the file decides, so that alone is no mistake. What is one is a term that
has two normal forms by steps at two places, or by two ways in which one rule matches it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ngraph_rewrite.rewriting.order import Order
from ngraph_rewrite.rewriting.precedence import Conflict
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.rewriting.skeleton import nodes, sides
from ngraph_rewrite.rewriting.subsumption import subsumes
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.catalogue import find
from ngraph_rewrite.terms.declaring import told
from ngraph_rewrite.terms.signatures import value_of_term
from ngraph_rewrite.terms.written import written
from ngraph_rewrite.testing.findings import FAILED, NONE, OPEN, PASSED, Context, Finding, finding
from ngraph_rewrite.testing.signature_confluence import KIND, confluence_of, signature_of
from ngraph_rewrite.testing.signature_system import SignatureSystem

__all__ = ["KIND", "check_of_signature", "together"]


def check_of_signature(check: str, rule: Rule, context: Context) -> Finding:
    """What a check of one rule finds out about a rule of a signature."""
    if check == "types":
        return finding(rule, check, PASSED, f"both sides are of sort {rule.left.definition.profile.result}")  # type: ignore[union-attr]
    if check == "values":
        return _values(rule, context)
    if check == "confluence":
        return confluence_of(rule, context)
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
        found = signature_of(context.rules, rule.left.definition.family).order
        if isinstance(found, Order) or rule not in found.rules:
            yield finding(rule, check, PASSED, f"goes down in an order that was found{_shown(rule, found)}")
        else:
            others = " and ".join(str(r) for r in found.rules if r is not rule)
            yield finding(rule, check, FAILED, f"goes down in no order{f' with {others}' if others else ''}")


def _shown(rule: Rule, order: Order | Conflict) -> str:
    """The operations of a rule from the highest to the lowest, if there are several."""
    ops = {node.definition for side in sides(rule) or () for node in nodes(side) if node.definition.profile is not None}
    if not isinstance(order, Order) or len(ops) < 2:
        return ""
    return ": " + " > ".join(d.short for d in sorted(ops, key=order.place, reverse=True))


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


def _values(rule: Rule, context: Context) -> Finding:
    """Both sides mean the same, for terms that are drawn."""
    bank, count = TermBank(), 0
    system = SignatureSystem(_family(rule, context), bank, context.effort.seed)
    try:
        for _ in range(max(20, 4 * context.effort.examples)):
            term = system.instance(rule)
            for after in system.steps(rule, term):
                own, other = value_of_term(term), value_of_term(after)
                if own != other:
                    shown = f"# {written(term)} means {own!r}\n# {written(after)} means {other!r}"
                    return finding(rule, "values", FAILED, f"is wrong: {own!r} becomes {other!r}", shown)
                count += 1
    except KeyError as error:
        own = find(error.args[0]) is not None
        says = "is declared without a meaning" if own else "would have to be drawn, and no operation makes it"
        return finding(rule, "values", NONE, f"{error.args[0]} {says}")
    except Exception as error:  # whatever a meaning does
        return finding(rule, "values", FAILED, f"has a meaning that fails: {told(error)}")
    return finding(rule, "values", PASSED if count else OPEN, f"{count} terms")
