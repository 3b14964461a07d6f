# SPDX-License-Identifier: Apache-2.0
"""Whether each rule can fire: other rules may take all of its terms, or parts of them before it is asked."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import replace

from ngraph_rewrite.lowering.passes import PASSES, library, made_by, usable
from ngraph_rewrite.rewriting.pattern import App, subpatterns
from ngraph_rewrite.rewriting.rule import Rule, RuleSet, Where
from ngraph_rewrite.rewriting.rule_errors import GUARD, RIGHT
from ngraph_rewrite.rewriting.subsumption import Earlier, eaten, subsumes
from ngraph_rewrite.rewriting.syntax import walk
from ngraph_rewrite.targets.choices import find_target, transformer_choices
from ngraph_rewrite.testing.findings import FAILED, PASSED, Context, Finding, about, finding
from ngraph_rewrite.testing.firing import Firing


def check_subsumption(rules: Iterable[Rule], context: Context) -> Iterator[Finding]:
    """Whether each rule can fire: no other takes all its terms, or rewrites what it looks for inside them first.

    That is asked in each pass the rule takes part in, and for the targets that ship or are installed. A rule that is
    not the library's is tried on some of its terms, too.
    """
    bases = [base for name in transformer_choices() if (base := find_target(name).base) is not None]
    usables = [usable(context.rules, base) for base in bases]
    passes = [_Pass(some, kinds) for kinds in (PASSES["recognize"], ("derive",)) for some in (context.rules, *usables)]
    targets = [
        (_Pass(some, PASSES[name]), _Executed(some, base, name))
        for name in ("lower", "select")
        for some, base in zip(usables, bases, strict=True)
    ]
    everything = [_Pass(context.rules, PASSES[name]) for name in ("lower", "select")]
    firing, shipped = Firing(usables, context.cache), {rule.name for rule in library()}
    for rule in rules:
        found = [one.never(rule) for one in passes if one.has(rule)]
        of_targets = [one.never(rule) or ops.never(rule, context.rules) for one, ops in targets if one.has(rule)]
        found += of_targets or [one.never(rule) for one in everything if one.has(rule)]
        why = found[0] if found and all(found) else None
        nobody = unknown_target(rule)
        if why is not None:
            yield finding(rule, "subsumption", FAILED, f"can never fire: {why[1]}", "", why[0].name)
        elif nobody is not None:
            says = f"asks for a target called {nobody!r}, and there are {', '.join(transformer_choices())}"
            wrong = finding(rule, "subsumption", FAILED, f"{says}: waive this for one that is no package's")
            yield about(GUARD if rule.guard is not None and nobody in rule.guard.text else RIGHT, rule, wrong)
        else:
            yield replace(
                finding(rule, "subsumption", PASSED), unjudged="" if rule.name in shipped else firing.never(rule)
            )


def unknown_target(rule: Rule) -> str | None:
    """A name that a guard or a clause compares with that of the target, and that no target has.

    >>> from ngraph_rewrite.rewriting.rulefile import parse_rules
    >>> rule, = parse_rules("select semi\\nrule r: -(-x) => x\\n    if target.name in ('cpu', 'gpu')", "my.rules", "my")
    >>> unknown_target(rule)
    'gpu'
    """
    asking = [rule.guard, *(c.expression for c in rule.clauses if isinstance(c, Where))]
    for part in (part for e in asking if e is not None for part in walk(e.tree)):
        sides = [part.left, *part.comparators] if isinstance(part, ast.Compare) else []
        if any(ast.unparse(side) == "target.name" for side in sides):
            words = (c.value for side in sides for c in getattr(side, "elts", [side]) if isinstance(c, ast.Constant))
            for word in words:
                if isinstance(word, str) and word not in transformer_choices():
                    return word
    return None


class _Executed:
    """What stands in a normal form of a pass: what the target executes, and what a later rule has a use for.

    Args:
        name: The pass: of `lower`, in which terms begin, only what stands inside of others is a normal form.
    """

    def __init__(self, rules: RuleSet, base: frozenset[str], name: str) -> None:
        self.begins = name == "lower"
        if self.begins:
            used = (part.definition for rule in rules.of_kind("select") for part in _parts(rule))
        else:
            used = (definition for rule in rules.of_kind(*PASSES[name]) for definition in made_by(rule))
        self.known = base | {definition.name for definition in used}

    def never(self, rule: Rule, rules: RuleSet) -> tuple[Rule, str] | None:
        """A rule that lowers an op of the left side before it is asked about, and why that is so; None if none does."""
        parts = [part.definition for part in _parts(rule)][1 if self.begins else 0 :]
        gone = {definition for definition in parts if definition.name not in self.known}
        if not gone:
            return None
        by = next((r for r in rules if r.kind == "lower" and r.left.definition in gone), None)
        if by is None:
            return None
        return by, f"{by} lowers {by.left.definition} first, and no target with a use for this rule executes that"


def _parts(rule: Rule) -> list[App]:
    """The ops of a left side, the root first."""
    return [part for part in subpatterns(rule.left) if isinstance(part, App)]


class _Pass:
    """The rules that fire in a pass, by the definitions of the ops at their roots."""

    def __init__(self, rules: RuleSet, kinds: tuple[str, ...]) -> None:
        self.by_root: dict[object, list[Rule]] = {}
        some = rules.of_kind(*kinds)
        self.earlier, self.known = Earlier(some), set(map(id, some))
        for rule in some:
            self.by_root.setdefault(rule.left.definition, []).append(rule)

    def has(self, rule: Rule) -> bool:
        return id(rule) in self.known

    def never(self, rule: Rule) -> tuple[Rule, str] | None:
        """The rule for which another one never fires, and why; None if it may."""
        for other in self.earlier.that_may_take(rule):
            if subsumes(other, rule):
                return other, f"{other} takes all its terms"
        inside = eaten(rule, self.by_root) if rule.kind != "derive" else None  # adjoints are of terms as they are built
        if inside is None:
            return None
        return inside[0], f"{inside[0]} rewrites {inside[1]} inside it first"
