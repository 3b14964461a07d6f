# SPDX-License-Identifier: Apache-2.0
"""Left sides that match too much, or something else than they should."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ngraph_rewrite.rewriting.pattern import App, Num, Pattern, SeqVar, Var, attribute_names, variables
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.testing.mutation.templates import numbers, sibling

# What is wrong, and the left side in which it is.
Broken = tuple[str, App]


def variants(rule: Rule) -> Iterator[Broken]:
    """Every variant of the rule's left side with one thing wrong.

    None has fewer names than the right side may need, nor, in a derive rule, variables without an adjoint.
    """
    taken = {*variables(rule.left), *attribute_names(rule.left), *(c.name for c in rule.clauses)}
    fresh = next(n for n in ("other", "another", "yet_another") if n not in taken)
    found: list[Pattern] = []
    for what, new in _everywhere(rule.left, fresh, found, True):
        same_names = set(variables(new)) == set(variables(rule.left))
        if isinstance(new, App) and (same_names or rule.kind != "derive"):
            yield what, new


def _everywhere(
    pattern: Pattern, fresh: str, before: list[Pattern], root: bool = False
) -> Iterator[tuple[str, Pattern]]:
    """Variants of the pattern; `before` are the patterns that stand left of it, to which it is added."""
    if isinstance(pattern, Var | SeqVar):
        if any(isinstance(p, Var | SeqVar) and p.name == pattern.name for p in before):
            yield f"{pattern.name} need not be the same again", replace(pattern, name=fresh)
    elif isinstance(pattern, Num):
        yield f"any term for {pattern}", Var(fresh)
        yield from ((f"{new!r} for {pattern} on the left", Num(new)) for new in numbers(pattern.value)[:1])
    else:
        yield from _app(pattern, fresh, before, root)
    before.append(pattern)


def _app(pattern: App, fresh: str, before: list[Pattern], root: bool) -> Iterator[tuple[str, Pattern]]:
    short = pattern.definition.short
    for i, arg in enumerate(pattern.args):
        for what, new in _everywhere(arg, fresh, before):
            yield what, replace(pattern, args=(*pattern.args[:i], new, *pattern.args[i + 1 :]))
    bound = {n for p in before if isinstance(p, App) for _, n in p.binds}
    for i, (attribute, name) in enumerate(pattern.binds):
        if name in bound or name in [n for _, n in pattern.binds[:i]]:
            binds = (*pattern.binds[:i], (attribute, fresh), *pattern.binds[i + 1 :])
            yield f"{attribute} of {short} need not be {name}", replace(pattern, binds=binds)
    for i, (attribute, expression) in enumerate(pattern.compares):
        compares = (*pattern.compares[:i], *pattern.compares[i + 1 :])
        yield f"{attribute} of {short} need not be {expression}", replace(pattern, compares=compares)
    other = None if root else sibling(pattern.definition)
    if other is not None:
        yield f"{other.short} for {short} on the left", replace(pattern, definition=other)
    if len(pattern.args) == 2 and not pattern.definition.commutative and _differ(*pattern.args):
        yield f"arguments of {short} exchanged on the left", replace(pattern, args=pattern.args[::-1])


def _differ(a: Pattern, b: Pattern) -> bool:
    """Whether to exchange the two is more than to rename variables."""
    return isinstance(a, App | Num) != isinstance(b, App | Num)
