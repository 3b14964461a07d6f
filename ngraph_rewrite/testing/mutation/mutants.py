# SPDX-License-Identifier: Apache-2.0
"""Rules broken on purpose, each in one place, as someone might have written them by mistake."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from ngraph_rewrite.rewriting.pattern import Build, Spread, Template, Var, attribute_names, variables
from ngraph_rewrite.rewriting.rule import DEFAULT_CLASS, EXACT, REAL, Let, Rule
from ngraph_rewrite.terms.catalogue import find
from ngraph_rewrite.testing.mutation import patterns
from ngraph_rewrite.testing.mutation.expressions import broken, weakened
from ngraph_rewrite.testing.mutation.templates import Scope, variants
from ngraph_rewrite.testing.notation import written


@dataclass(frozen=True)
class Mutant:
    """A rule that was broken.

    Attributes:
        original: The rule as it was.
        rule: The broken one; its text says all of it.
        what: What was done to it.
    """

    original: Rule
    rule: Rule
    what: str

    def __str__(self) -> str:
        return f"{self.original.name}, {self.what}: {' '.join(self.rule.text.split())}"


def mutants(rule: Rule) -> Iterator[Mutant]:
    """Every way in which the rule is broken, each once, in the order of its text; each can be written in a rule file.

    >>> from ngraph_rewrite.rewriting.rulefile import parse_rules
    >>> rule, = parse_rules("simplify semi\\nrule r: 0 - x => negative(x)", "my.rules", "my")
    >>> for mutant in mutants(rule): print(mutant.what)
    any term for 0
    1 for 0 on the left
    arguments of subtract exchanged on the left
    negative dropped
    reciprocal for negative
    """
    seen = {_key(rule)}
    for what, new in _broken(rule):
        if _key(new) not in seen:
            seen.add(_key(new))
            yield Mutant(rule, replace(new, text=written(new)), what)


def _key(rule: Rule) -> tuple[Any, ...]:
    return rule.left, rule.right, rule.clauses, rule.guard, rule.grade


def _broken(rule: Rule) -> Iterator[tuple[str, Rule]]:
    scope = _scope(rule)
    for what, left in patterns.variants(rule):
        yield what, replace(rule, left=left)
    if rule.guard is not None:
        for what, guard in weakened(rule.guard, scope.groups):
            yield f"{what} in the guard" if guard is not None else what, replace(rule, guard=guard)
    yield from _right(rule, scope)
    yield from _clauses(rule, scope)
    yield from _adjoints(rule)
    raised = {"fast": REAL, "refines": REAL, "real": EXACT}.get(rule.grade)
    if raised is not None and rule.grade != DEFAULT_CLASS[rule.kind]:
        yield f"class raised to @{raised}", replace(rule, grade=raised)


def _scope(rule: Rule) -> Scope:
    found = variables(rule.left)
    terms = [name for name, sequence in found.items() if not sequence]
    sequences = [name for name, sequence in found.items() if sequence]
    return Scope(tuple(terms), tuple(sequences), tuple(attribute_names(rule.left)))


def _right(rule: Rule, scope: Scope) -> Iterator[tuple[str, Rule]]:
    for i, template in enumerate(rule.right):
        if template is not None:
            for what, new in variants(template, scope):
                yield what, _with_right(rule, i, new)
            negated = _negated(template, rule)
            if negated is not None and (rule.kind == "derive" or isinstance(template, Var)):
                yield "negated", _with_right(rule, i, negated)


def _with_right(rule: Rule, i: int, template: Template | None) -> Rule:
    return replace(rule, right=(*rule.right[:i], template, *rule.right[i + 1 :]))


def _negated(template: Template, rule: Rule) -> Template | None:
    negative = find(f"{rule.left.definition.family}.negative") or find("semi.negative")
    if negative is None:
        return None
    if isinstance(template, Spread):
        return Spread(Build(negative, (template.template,), ()))
    return Build(negative, (template,), ())


def _clauses(rule: Rule, scope: Scope) -> Iterator[tuple[str, Rule]]:
    for i, clause in enumerate(rule.clauses):
        if isinstance(clause, Let):
            for what, template in variants(clause.template, scope):
                yield f"{what} in {clause.name}", _with_clause(rule, i, replace(clause, template=template))
        else:
            for what, expression in broken(clause.expression, scope.groups):
                yield f"{what} in {clause.name}", _with_clause(rule, i, replace(clause, expression=expression))


def _with_clause(rule: Rule, i: int, clause: Any) -> Rule:
    return replace(rule, clauses=(*rule.clauses[:i], clause, *rule.clauses[i + 1 :]))


def _adjoints(rule: Rule) -> Iterator[tuple[str, Rule]]:
    """Adjoints given to one another's arguments, or to none."""
    if rule.kind != "derive":
        return
    kinds = list(variables(rule.left).values())
    for i, template in enumerate(rule.right):
        if template is not None:
            yield f"adjoint {i + 1} forgotten", _with_right(rule, i, None)
        elif not kinds[i]:
            yield f"d for no adjoint {i + 1}", _with_right(rule, i, Var("d"))
        if i and rule.right[i - 1] != template and kinds[i - 1] == kinds[i]:
            exchanged = _with_right(_with_right(rule, i, rule.right[i - 1]), i - 1, template)
            yield f"adjoints {i} and {i + 1} exchanged", exchanged
