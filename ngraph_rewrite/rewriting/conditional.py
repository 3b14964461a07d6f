# SPDX-License-Identifier: Apache-2.0
"""What the conditions of a rule of a signature read, bring to normal form and bind, and when clauses are worked out.

Conditions are asked in the order in which they are written. A clause is worked out before the first of them that reads
it, so it may use what those before bind. See Suzuki, Middeldorp and Ida, *Level-confluence of conditional rewrite
systems with extra variables in right-hand sides* (1995), for rules of this kind.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from ngraph_rewrite.rewriting.pattern import (
    Build,
    Pattern,
    Pick,
    Template,
    Var,
    attribute_names,
    subtemplates,
    variables,
)
from ngraph_rewrite.rewriting.rule import Asking, Clause, Condition, Let, Matching, Rule

Conditional = Condition | Matching | Asking


def normalised(condition: Conditional) -> tuple[Template, ...]:
    """The terms that a condition brings to normal form."""
    if isinstance(condition, Condition):
        return condition.left, condition.right
    return (condition.term,) if isinstance(condition, Matching) else ()


def matchings(rule: Rule) -> list[Matching]:
    """The conditions of a rule that match."""
    return [c for c in rule.conditions if isinstance(c, Matching)]


def pattern_names(pattern: Pattern) -> list[str]:
    """The names in a pattern, those of variables first."""
    return [*variables(pattern), *attribute_names(pattern)]


def new_names(rule: Rule) -> list[list[str]]:
    """What each condition that matches binds: the names in its pattern that nothing before it binds.

    >>> from ngraph_rewrite.rewriting.signatures import Signature
    >>> nat = Signature("example_new_names")
    >>> _ = nat.sort("Nat"), nat.operation("pair", ("Nat", "Nat"), "Nat"), nat.operation("f", ("Nat",), "Nat")
    >>> rule, = nat.rules("rule r: f(x) => y\\n    if pair(x, y) := x and pair(y, z) := x", unordered=True)
    >>> new_names(rule)
    [['y'], ['z']]
    """
    known, found = {*pattern_names(rule.left), *(c.name for c in rule.clauses)}, []
    for condition in matchings(rule):
        found.append([name for name in pattern_names(condition.pattern) if name not in known])
        known.update(found[-1])
    return found


def bound_variables(rule: Rule) -> dict[str, bool]:
    """The variables that conditions bind; the value says whether it is a sequence."""
    found: dict[str, bool] = {}
    for condition, names in zip(matchings(rule), new_names(rule), strict=True):
        found.update((name, several) for name, several in variables(condition.pattern).items() if name in names)
    return found


def template_names(template: Template) -> set[str]:
    """The names that a template reads."""
    found: set[str] = set()
    for part in subtemplates(template):
        if isinstance(part, Var | Pick):
            found.add(part.name)
        if isinstance(part, Pick):
            found.update(part.index.names)
        elif isinstance(part, Build):
            found.update(name for _, expression in part.attributes for name in expression.names)
    return found


def clause_names(clause: Clause) -> set[str]:
    """The names that a clause reads."""
    return template_names(clause.template) if isinstance(clause, Let) else set(clause.expression.names)


def condition_names(condition: Conditional) -> set[str]:
    """The names that a condition reads, and those that its pattern binds."""
    if isinstance(condition, Asking):
        return set(condition.expression.names)
    names = {name for template in normalised(condition) for name in template_names(template)}
    return names | set(pattern_names(condition.pattern)) if isinstance(condition, Matching) else names


def needed(clauses: Collection[Clause], names: Iterable[str]) -> list[Clause]:
    """The clauses that names stand for, directly or through others, in the order in which they are written."""
    own = {c.name: c for c in clauses}
    found, pending = set[str](), [name for name in names if name in own]
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending.extend(n for n in clause_names(own[name]) if n in own)
    return [c for c in clauses if c.name in found]


def in_order(rule: Rule, done: Collection[str] = ()) -> Iterator[Clause | Conditional]:
    """Clauses and conditions in the order in which a step works them out, after the guard.

    Args:
        done: The names of the clauses that are worked out already.
    """
    known = set(done)
    for condition in rule.conditions:
        for clause in needed(rule.clauses, condition_names(condition)):
            if clause.name not in known:
                known.add(clause.name)
                yield clause
        yield condition
    yield from (clause for clause in rule.clauses if clause.name not in known)


def sources(rule: Rule) -> dict[str, Template]:
    """For each variable that a condition binds the term that it is a part of, once that is in normal form."""
    found: dict[str, Template] = {}
    for condition, names in zip(matchings(rule), new_names(rule), strict=True):
        found.update(dict.fromkeys(names, condition.term))
    return found
