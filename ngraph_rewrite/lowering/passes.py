# SPDX-License-Identifier: Apache-2.0
"""The passes: recognize what is worth keeping, lower to the base set, select what the target does best.

A pass is a name and the kinds of rules that take part. All lowering rules and the algebra of `semi` run
together: one order, so there is no phase order to get wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.data import data_folder
from ngraph_rewrite.errors import UnloweredOpError
from ngraph_rewrite.lowering.driver import adopt, no_garbage_collection, normalise
from ngraph_rewrite.lowering.sequencing import Sequenced, sequence
from ngraph_rewrite.lowering.table import SEQUENCED, Forward, ReplacementTable
from ngraph_rewrite.ops import axes, cpu, semi  # noqa: F401  (the families declare their ops when imported)
from ngraph_rewrite.rewriting import attributes  # noqa: F401  (and the attribute functions)
from ngraph_rewrite.rewriting.checks import checked_rules
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.rule import CLASSES, FAST, RuleSet
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.op import Op, topological

PASSES: Mapping[str, tuple[str, ...]] = {
    "recognize": ("recognize",),
    "lower": ("lower", "simplify"),
    "select": ("simplify", "select"),
}
SAFE_CLASSES = tuple(c for c in CLASSES if c != FAST)


@cache
def library() -> RuleSet:
    """Every rule that ships with the library, checked, in the order of files and of rules in them."""
    files = sorted(data_folder("rules").glob("*.rules"))
    joined = RuleSet()
    for path in files:
        joined = joined + checked_rules(path, f"rules/{path.name}")
    return joined


@dataclass
class Lowering:
    """What lowering made of a graph.

    Attributes:
        roots: The normal forms of the roots asked for, in order.
        writes: The normal forms of all writes, in the order in which they happen.
        final: The last write of each variable, as normal forms.
    """

    table: ReplacementTable
    bank: TermBank
    roots: list[Op]
    writes: list[Op]
    sequenced: Sequenced


def matchers_of(rules: RuleSet, cache: Cache) -> dict[str, Matcher]:
    """A matcher for each pass."""
    return {name: Matcher(rules.of_kind(*kinds), cache) for name, kinds in PASSES.items()}


def lower(roots: Iterable[Op], target: Any, matchers: Mapping[str, Matcher]) -> Lowering:
    """Order the effects under `roots` and rewrite them to the target's base set.

    Args:
        target: What guards may ask (`target.sample`), and `base`, the names of the ops it executes.

    Raises:
        UnloweredOpError: if an op outside the base set is left.
    """
    with no_garbage_collection():
        return _lower(sequence(roots), target, matchers)


def _lower(sequenced: Sequenced, target: Any, matchers: Mapping[str, Matcher]) -> Lowering:
    table, bank = ReplacementTable(), TermBank()
    first = table.stage("sequence")
    first.forward.update((h, Forward(t, SEQUENCED)) for h, t in sequenced.terms.items())
    terms = adopt([*sequenced.roots, *sequenced.writes], table, bank)
    for name, matcher in matchers.items():
        terms = normalise(terms, matcher, table, bank, target, name)
    check_base(terms, target, matchers)
    count = len(sequenced.roots)
    return Lowering(table, bank, terms[:count], terms[count:], sequenced)


def check_base(roots: Iterable[Op], target: Any, matchers: Mapping[str, Matcher]) -> None:
    """Refuse an op the target does not execute (a target without a base set executes all by their meanings).

    Raises:
        UnloweredOpError: naming the op, the line that built it, and the file that would lower it.
    """
    for term in topological(roots) if target.base is not None else ():
        name = term.definition.name
        if name not in target.base:
            rules = [r for m in matchers.values() for r in m.rules if r.left.definition is term.definition]
            files = ", ".join(sorted({r.file for r in rules}))
            family = term.definition.family
            raise UnloweredOpError(
                f"no rule lowers {name} of type {term.type}",
                where=term.info.place if term.info.lineno else None,
                do=f"its rules in {files} do not fire here" if files else f"add one to rules/{family}.rules",
            )
