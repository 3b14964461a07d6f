# SPDX-License-Identifier: Apache-2.0
"""Decision trees are written as Python source that can be read: a function per root op, one per rule.

`step_OP(self, make, target)` returns ``(rule index, new term)`` for the first rule that matches and whose
guard holds; `match_OP(self)`, which few ask for and is written by itself, yields every ``(rule index,
substitution)``, guards aside.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ngraph_rewrite.rewriting.collapse import collapsing
from ngraph_rewrite.rewriting.conditional import matchings, normalised
from ngraph_rewrite.rewriting.emit_rule import applying
from ngraph_rewrite.rewriting.emit_tree import match_leaf, step_leaf, trying
from ngraph_rewrite.rewriting.expression import Expression, called_functions
from ngraph_rewrite.rewriting.expression_source import BOUNDED, as_source
from ngraph_rewrite.rewriting.nests import is_searched
from ngraph_rewrite.rewriting.pattern import (
    App,
    Build,
    Computed,
    Pick,
    Spread,
    Template,
    subpatterns,
)
from ngraph_rewrite.rewriting.pieces import PAD, identifier, op_name
from ngraph_rewrite.rewriting.rows import HasAttribute, HasOperands, IsOp, Row, rows
from ngraph_rewrite.rewriting.rule import Asking, Let, Rule, Where
from ngraph_rewrite.terms.catalogue import OpDef

_BOUNDED = frozenset(function.__name__ for function in BOUNDED.values())


class _Numbered(NamedTuple):
    """A rule, what it is called by, and its rows."""

    number: int
    rule: Rule
    rows: tuple[Row, ...]


def emit(rules: Iterable[Rule], numbers: Iterable[int] | None = None) -> str:
    """The source of a module whose `trees(op, fn, fill)` returns the step functions by op.

    Args:
        numbers: What the rules are called by, in order: 0, 1, 2 without it.
    """
    numbered = _numbered(rules, numbers, guarded=True)
    body = [line for index, rule, _ in numbered for line in applying(index, rule)]
    for definition, own in _by_root(numbered).items():
        taken = [row for one in own if not one.rule.graph for row in one.rows]
        body += trying(definition, "step", "self, make, target", taken, step_leaf, "return None")
        body += collapsing(definition, [(i, rule) for i, rule, _ in own], as_source)
    return _module(numbered, "step", body)


def emit_matches(rules: Iterable[Rule], numbers: Iterable[int] | None = None) -> str:
    """The source of a module whose `trees(op, fn, fill)` returns the match functions by op; `numbers` as in `emit`."""
    numbered, body = _numbered(rules, numbers, guarded=False), list[str]()
    for definition, own in _by_root(numbered).items():
        every = [row for one in own for row in one.rows]
        body += trying(definition, "match", "self", every, match_leaf, "return; yield")
    return _module(numbered, "match", body)


def _numbered(rules: Iterable[Rule], numbers: Iterable[int] | None, guarded: bool) -> list[_Numbered]:
    pairs = zip(numbers, rules, strict=True) if numbers is not None else enumerate(rules)
    return [_Numbered(index, rule, tuple(rows(index, rule, guarded))) for index, rule in pairs]


def _by_root(numbered: list[_Numbered]) -> dict[OpDef, list[_Numbered]]:
    found: dict[OpDef, list[_Numbered]] = {}
    for one in numbered:
        found.setdefault(one.rule.left.definition, []).append(one)
    return found


def _module(numbered: list[_Numbered], what: str, body: list[str]) -> str:
    found = ", ".join(f'"{d.name}": {what}_{identifier(d)}' for d in _by_root(numbered))
    text = "\n".join(["", *body, f"return {{{found}}}"])
    header = [f"{op_name(name)} = op({name!r})" for name in sorted(_named(text, _all_ops(numbered)))]
    header += [f"fn_{name} = fn[{name!r}]" for name in sorted(_functions(numbered)) if f"fn_{name}(" in text]
    header += [f"{name} = fn['bounded {name}']" for name in sorted(_BOUNDED) if f"{name}(" in text]
    header += [f"nest_{identifier(d)} = fn['nest of']()" for d in _nests(numbered) if f"nest_{identifier(d)}." in text]
    header += [f"search_{i} = fn['search of']({i})" for i, rule, _ in numbered if is_searched(rule.left)]
    inner = [(i, j) for i, rule, _ in numbered for j, _ in enumerate(matchings(rule))]
    header += [f"matching_{i}_{j} = fn['matching of']({i}, {j})" for i, j in inner if f"(matching_{i}_{j}," in text]
    header += ["chain = fn['chain of']"] if "chain(" in text else []
    lines = [f"{PAD}{line}" if line else "" for line in [*header, *text.splitlines()]]
    title = '"""Decision trees of a rule set, generated from its rule files. Read it; do not edit it."""'
    return "\n".join([title, "", "", "def trees(op, fn, fill):", *lines, ""])


def _all_ops(numbered: list[_Numbered]) -> dict[str, str]:
    found = {"op_core_constant": "core.constant"}
    for one in numbered:
        for definition in _ops_of(one):
            found[op_name(definition.name)] = definition.name
    return found


def _nests(numbered: list[_Numbered]) -> Iterator[OpDef]:
    """The ops whose nests are looked through, each once."""
    tests = (test for one in numbered if is_searched(one.rule.left) for row in one.rows for test in row.tests)
    yield from dict.fromkeys(test.definition for test in tests if isinstance(test, HasOperands))


def _ops_of(one: _Numbered) -> Iterator[OpDef]:
    for row in one.rows:
        yield from (t.definition for t in row.tests if isinstance(t, IsOp))
        yield from (d for t in row.tests if isinstance(t, HasOperands) for d in t.ops)
    yield from (part.definition for part in _matched(one.rule))
    templates = _templates(one.rule)
    while templates:
        template = templates.pop()
        if isinstance(template, Build | Computed):
            if isinstance(template, Build):
                yield template.definition
            templates.extend(template.args)
        elif isinstance(template, Spread):
            templates.append(template.template)


def _matched(rule: Rule) -> Iterator[App]:
    """The operations in what conditions match."""
    parts = (part for condition in matchings(rule) for part in subpatterns(condition.pattern))
    yield from (part for part in parts if isinstance(part, App))


def _templates(rule: Rule) -> list[Template | None]:
    """Everything that a rule builds."""
    lets = (c.template for c in rule.clauses if isinstance(c, Let))
    return [*rule.right, *lets, *(term for c in rule.conditions for term in normalised(c))]


def _named(text: str, known: dict[str, str]) -> set[str]:
    return {name for identifier, name in known.items() if identifier in text}


def _functions(numbered: list[_Numbered]) -> set[str]:
    called = {name for one in numbered for e in _expressions(one) for name in called_functions(e)}
    return called | {t.function for one in numbered for t in one.rule.right if isinstance(t, Computed)}


def _expressions(one: _Numbered) -> Iterator[Expression]:
    rule = one.rule
    if rule.guard is not None:
        yield rule.guard
    yield from (c.expression for c in rule.conditions if isinstance(c, Asking))
    yield from (e for part in _matched(rule) for _, e in part.compares)
    for row in one.rows:
        yield from (t.expression for t in row.tests if isinstance(t, HasAttribute))
    yield from (c.expression for c in rule.clauses if isinstance(c, Where))
    templates = _templates(rule)
    while templates:
        template = templates.pop()
        if isinstance(template, Build | Computed):
            yield from (e for _, e in getattr(template, "attributes", ()))
            templates.extend(template.args)
        elif isinstance(template, Spread):
            templates.append(template.template)
        elif isinstance(template, Pick):
            yield template.index
