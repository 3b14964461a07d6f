# SPDX-License-Identifier: Apache-2.0
"""What a derivative asks its rules about: an op, and what it is lowered to as long as nothing gives its adjoint."""

from __future__ import annotations

from itertools import islice
from typing import Any

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.errors import NGraphRewriteError
from ngraph_rewrite.lowering.adjoints import SPECIALS
from ngraph_rewrite.lowering.drawing import indented
from ngraph_rewrite.lowering.fitting import has_slope
from ngraph_rewrite.lowering.forms import Form
from ngraph_rewrite.lowering.layout import shown, wrapped
from ngraph_rewrite.lowering.passes import usable
from ngraph_rewrite.lowering.verdicts import ABSENT, EARLIER, FIRED, HAS_FIRED, MATCHES, Finding
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.rule import Rule, RuleSet
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological

# So many terms are lowered, and so many terms are looked at of what becomes of each.
MOST_EXPANSIONS = 20


class DeriveAttempts:
    """The handle, and what lower rules make of it, as a derivative looks at them.

    Args:
        chosen: The rules that may fire.

    Attributes:
        forms: All of these terms, those that no derivative comes to too.
    """

    def __init__(self, op: Op, chosen: RuleSet, bank: TermBank, target: Any) -> None:
        self._derive = Matcher(chosen.of_kind("derive"), Cache())
        self._lower = Matcher(usable(chosen.of_kind("lower"), frozenset()), Cache())
        self._bank, self._target = bank, target
        self._before: dict[Op, Finding] = {}  # what came before a term, if something did
        self.forms = [Form("deriv", term) for term in self._reached(op)]

    def _reached(self, op: Op) -> list[Op]:
        found, below, pending = {op: None}, set(topological([op])), [op]
        for term in islice(pending, MOST_EXPANSIONS):  # what is lowered last is lowered further
            step = self._lower.step(term, self._bank.make, self._target)
            made = topological([step[1]]) if step is not None else []
            new = [t for t in made if t.args and t not in below and t not in found][-MOST_EXPANSIONS:]
            came = self._before.get(term) or self._taken(term)
            self._before.update(dict.fromkeys(new, came) if came is not None else {})
            found.update(dict.fromkeys(new))
            pending += reversed(new)
        return list(found)

    def _taken(self, term: Op) -> Finding | None:
        """What gives the adjoint of a term, so that it is not lowered, or why it has none."""
        if (refused := _refused(term)) is not None:
            return refused
        first = self._first(term)
        return None if first is None else _earlier(first, f"but {shown(term)} gets its adjoint before it is lowered:")

    def _first(self, term: Op) -> Rule | None:
        """The derive rule that gives the adjoint of a term, if one does."""
        try:
            step = self._derive.step(term, self._bank.make, term)  # any adjoint of the right type
        except NGraphRewriteError:
            return None
        return None if step is None else step[0]

    def in_the_way(self, term: Op) -> Finding | None:
        """What keeps every derive rule from a term, if something does."""
        return self._before.get(term) or _refused(term)

    def verdict(self, rule: Rule, term: Op) -> Finding:
        """Whether a derive rule that matches a term is the one that gives the adjoint."""
        first = self._first(term)
        if first is not None and first is not rule:
            return _earlier(first, "but an earlier derive rule gives the adjoint:")
        return Finding(FIRED, HAS_FIRED, ["fires: ng.deriv takes the adjoint from it"])


def _refused(term: Op) -> Finding | None:
    """Why no rule is asked for the adjoint of a term, if none is."""
    if not has_slope(term.type):
        says = f"but takes no part: no derivative passes through {shown(term)}, which is {term.dtype}"
    elif term.definition.name in SPECIALS:
        says = f"but takes no part: a function gives the adjoint of {term.definition.name}, and no rule"
    else:
        return None
    return Finding(ABSENT, MATCHES, wrapped("", says))


def _earlier(first: Rule, says: str) -> Finding:
    text = indented(wrapped("    ", " ".join(first.text.split())))
    return Finding(EARLIER, MATCHES, [*wrapped("", says), f"    {first}", *text])
