# SPDX-License-Identifier: Apache-2.0
"""What a derivative asks its rules about: an op, and what the lower rules make of it one after the other."""

from __future__ import annotations

from typing import Any

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.lowering.drawing import indented
from ngraph_rewrite.lowering.forms import Form
from ngraph_rewrite.lowering.layout import wrapped
from ngraph_rewrite.lowering.passes import usable
from ngraph_rewrite.lowering.verdicts import EARLIER, FIRED, MATCHES, Finding
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.rule import Rule, RuleSet
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological

# Lower rules are applied so many times one after the other, and so many terms are looked at each time.
MOST_EXPANSIONS = 20


def derivable(op: Op, chosen: RuleSet, bank: TermBank, target: Any) -> list[Form]:
    """The handle, and what the lower rules among those chosen make of it, as a derivative looks at them."""
    forms, term, before = [Form("deriv", op)], op, set(topological([op]))
    lower = Matcher(usable(chosen.of_kind("lower"), frozenset()), Cache())
    for _ in range(MOST_EXPANSIONS):
        step = lower.step(term, bank.make, target)
        if step is None:
            break
        term = step[1]
        made = [t for t in topological([term]) if t.args and t not in before]
        forms += [Form("deriv", t) for t in made[-MOST_EXPANSIONS:]]
    return list(dict.fromkeys(forms))


def first_derive_rule(rule: Rule, form: Form, chosen: RuleSet, bank: TermBank) -> Finding:
    """Whether a derive rule that matches is the one that gives the adjoint."""
    step = Matcher(chosen.of_kind("derive"), Cache()).step(form.term, bank.make, form.term)
    if step is not None and step[0] is not rule:
        text = indented(wrapped("    ", " ".join(step[0].text.split())))
        return Finding(EARLIER, MATCHES, ["but an earlier derive rule gives the adjoint:", f"    {step[0]}", *text])
    return Finding(FIRED, MATCHES, ["fires: ng.deriv takes the adjoint from it"])
