# SPDX-License-Identifier: Apache-2.0
"""A rule read from left to right, or from right to left; either way what it says is that two terms are equal.

From right to left the right side becomes the pattern. What it matches is an instance of the rule only if the left
side, built from what was bound, is rewritten to it again: so a guard, a computed attribute or a shared term of the
right side need not be turned around.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ngraph_rewrite.errors import NGraphRewriteError, RewriteError
from ngraph_rewrite.rewriting.expression import Expression
from ngraph_rewrite.rewriting.interpret import Application, Make
from ngraph_rewrite.rewriting.nests import is_nest, is_searched
from ngraph_rewrite.rewriting.pattern import (
    App,
    Build,
    Computed,
    Num,
    Pattern,
    Template,
    Var,
    attribute_names,
    subpatterns,
    subtemplates,
    variables,
)
from ngraph_rewrite.rewriting.rule import Let, Rule
from ngraph_rewrite.terms.catalogue import OpDef
from ngraph_rewrite.terms.declaring import told
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.written import describe

_SPECIAL = frozenset({"effect", "binder", "parameter"})


@dataclass(frozen=True)
class Direction:
    """A rule, and the pattern that finds where it holds.

    Attributes:
        mirror: For a rule that is read from right to left, the rule that builds the left side of what is matched.
    """

    rule: Rule
    pattern: App
    mirror: Rule | None = None

    def instance(self, term: Op, bindings: Mapping[str, Any], make: Make, target: Any) -> tuple[Op, Op] | None:
        """Both sides of the rule, where its pattern matches `term`; None if its guard does not hold.

        Raises:
            RewriteError: if the right side does not build, or has another type than the left.
        """
        if self.mirror is None:
            made = right_side(self.rule, term, bindings, make, target)
            return None if made is None else (term, made)
        try:
            (left,) = Application(self.mirror, term, bindings, make, target).right()
        except NGraphRewriteError:  # what is matched is no right side of this rule
            return None
        assert isinstance(left, Op)
        if left.type != term.type:
            return None
        made = right_side(self.rule, left, bindings, make, target)
        return (left, term) if made is term else None


def right_side(rule: Rule, term: Op, bindings: Mapping[str, Any], make: Make, target: Any) -> Op | None:
    """What a rule makes of a term that its left side matches; None if its guard does not hold.

    Raises:
        RewriteError: if that does not build, or has another type.
    """
    application = Application(rule, term, bindings, make, target)
    try:
        if not application.guard_holds():
            return None
        (made,) = application.right()
    except Exception as error:
        what = told(error)
        shown = f"rule {rule.name} fails on {describe(term)} of type {term.type}: {what}"
        raise RewriteError(shown, where=rule.place) from error
    assert isinstance(made, Op)
    if made.type != term.type:
        what = f"rule {rule.name} makes {term.type} and {made.type} one"
        raise RewriteError(what, where=rule.place, do="guard or mend the rule")
    return made


def forwards(rule: Rule) -> Direction | str:
    """The rule from left to right, or why it cannot take part."""
    if rule.kind == "derive":
        return "its right side is of other terms than its left"
    if rule.kind == "rewrite":
        return "it is of a signature, whose terms are kept in a form of their own"
    if rule.graph:
        return "it looks at what else uses a term, and an e-graph has all users that there could be"
    if is_searched(rule.left):
        return "it matches operands at no fixed place: an e-graph has all groupings, by rules that explore them"
    if isinstance(rule.right[0], Computed):
        return f"its right side is made by a function, {rule.right[0].function}"
    for definition in _ops(rule):
        special = sorted(_SPECIAL & definition.traits)
        if special:
            return f"{definition} has the trait {special[0]}: its place counts, and not its value alone"
    return Direction(rule, rule.left)


def _ops(rule: Rule) -> Iterator[OpDef]:
    yield from (p.definition for p in subpatterns(rule.left) if isinstance(p, App))
    for template in (*rule.right, *(c.template for c in rule.clauses if isinstance(c, Let))):
        assert template is not None
        yield from (p.definition for p in subtemplates(template) if isinstance(p, Build))


# -- from right to left -----------------------------------------------------------------------------


class _NoPattern(Exception):
    """Why a side of a rule cannot be turned around."""


def backwards(rule: Rule) -> Direction | str:
    """The rule from right to left, or why it cannot be read so."""
    there = forwards(rule)
    if isinstance(there, str):
        return there
    try:
        return _turned(rule)
    except _NoPattern as reason:
        return str(reason)


def _turned(rule: Rule) -> Direction:
    terms = variables(rule.left)
    if any(terms.values()):
        raise _NoPattern("its left side has a sequence variable")
    lets = {c.name: c.template for c in rule.clauses if isinstance(c, Let)}
    names = set(attribute_names(rule.left))
    assert rule.right[0] is not None
    pattern = _as_pattern(rule.right[0], lets, names)
    if not isinstance(pattern, App):
        raise _NoPattern("its right side is no op: it would match every term")
    missing = [n for n in terms if n not in variables(pattern)] + sorted(names - set(attribute_names(pattern)))
    if missing:
        raise _NoPattern(f"its right side does not say what `{missing[0]}` is")
    left = _as_template(rule.left)
    return Direction(rule, pattern, replace(rule, left=pattern, right=(left,), clauses=(), guard=None))


def _as_pattern(template: Template, lets: Mapping[str, Template], names: set[str]) -> Pattern:
    """What matches all that a template builds, and maybe more."""
    if isinstance(template, Var) and template.name in lets:
        return _as_pattern(lets[template.name], lets, names)
    if isinstance(template, Var) and template.name == "self":
        raise _NoPattern("its right side mentions `self`")
    if isinstance(template, Var | Num):
        return template
    if not isinstance(template, Build) or is_nest(template):
        raise _NoPattern("its right side builds a sequence")
    args = tuple(_as_pattern(a, lets, names) for a in template.args)
    simple = [(a, e) for a, e in template.attributes if isinstance(e.tree, ast.Name) and e.text in names]
    fixed = tuple((a, e) for a, e in template.attributes if isinstance(e.tree, ast.Constant))
    return App(template.definition, args, tuple((a, e.text) for a, e in simple), fixed)


def _as_template(pattern: Pattern) -> Template:
    """What builds the term that a pattern matches, where all is bound."""
    if isinstance(pattern, Var | Num):
        return pattern
    assert isinstance(pattern, App)
    given = {a: Expression.of_text(name, (name,)) for a, name in pattern.binds} | dict(pattern.compares)
    missing = [a for a in pattern.definition.attributes if a not in given]
    if missing:
        raise _NoPattern(f"its left side does not say what {missing[0]} of {pattern.definition} is")
    attributes = tuple((a, given[a]) for a in pattern.definition.attributes)
    return Build(pattern.definition, tuple(map(_as_template, pattern.args)), attributes)
