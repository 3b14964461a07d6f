# SPDX-License-Identifier: Apache-2.0
"""Why no instance of a rule was found: an op that nobody knows how to draw, or the part of a guard that never holds."""

from __future__ import annotations

from dataclasses import replace

from ngraph_rewrite.rewriting.domains_attributes import is_drawn
from ngraph_rewrite.rewriting.expression import conjoined, expression_of
from ngraph_rewrite.rewriting.interpret import Application
from ngraph_rewrite.rewriting.pattern import App, subpatterns
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.testing.strategies import Example, examples_of

# So many terms that the left side matches are looked at, one in two of which goes beyond the usual lengths.
_LOOKED, _BEYOND = 40, 2


def never(rule: Rule) -> str:
    """Why none of the terms that were tried is an instance.

    >>> from ngraph_rewrite.rewriting.rulefile import parse_rules
    >>> equation = "transpose(x, perm=p) => x\\n    if p == (1, 0) and x.rank == 3"
    >>> rule, = parse_rules(f"simplify semi\\nrule r: {equation}", "my.rules", "my")
    >>> never(rule)
    'of 40 that its left side matches, each part of its guard holds of some, and all parts of none'
    """
    why = undrawn(rule)
    if why is not None:
        return why
    found = list(examples_of(replace(rule, guard=None), _LOOKED, kinds=(), varied=_BEYOND))
    if not found:
        return "its left side matches none: an op that does not take any tensors needs an ng.argument_domain"
    parts = [] if rule.guard is None else [expression_of(tree) for tree in conjoined(rule.guard.tree)]
    unmet = [str(part) for part in parts if not any(_holds(replace(rule, guard=part), e) for e in found)]
    of = f"of {len(found)} that its left side matches, "
    if not unmet:
        return f"{of}each part of its guard holds of some, and all parts of none"
    return f"{of}{' and '.join(f'`{part}`' for part in unmet)} {'holds' if len(unmet) == 1 else 'hold'} of none"


def undrawn(rule: Rule) -> str | None:
    """Why no term can be drawn that the rule matches, if an op of its left side has attributes that nobody knows."""
    ops = (part.definition for part in subpatterns(rule.left) if isinstance(part, App))
    lacking = next((definition for definition in ops if not is_drawn(definition)), None)
    return None if lacking is None else f"{lacking} has attributes, and no ng.attribute_domain says which"


def _holds(part: Rule, example: Example) -> bool:
    """Whether a part of the guard holds; not if it fails, as it may be asked only where those before it hold."""
    term, bindings, target = example.instance
    try:
        return Application(part, term, bindings, example.bank.make, target).guard_holds()
    except Exception:
        return False
