# SPDX-License-Identifier: Apache-2.0
"""A rule written back from its data in the language of rule files, shorthands and alternatives expanded."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ngraph_rewrite.rewriting.bounds import LINE
from ngraph_rewrite.rewriting.pattern import (
    App,
    Build,
    Computed,
    Pattern,
    Pick,
    Spread,
    Template,
    subpatterns,
    subtemplates,
)
from ngraph_rewrite.rewriting.rule import Clause, Let, Rule
from ngraph_rewrite.terms.catalogue import OpDef, find


def written(rule: Rule) -> str:
    """The rule's equation and clauses, as they could stand in a rule file.

    >>> from ngraph_rewrite.rewriting.rulefile import parse_rules
    >>> text = "simplify semi\\nrule r for f in exp log: f(x) => f(y)\\n    let y = x\\n    if x.rank == 1"
    >>> print(written(parse_rules(text, "my.rules", "my").rules[1]))
    rule log @exact:
        log(x)  =>  log(y)
        let y = x
        if x.rank == 1
    """
    source, target = families(rule)
    right = ",  ".join("none" if t is None else _template(t, target) for t in rule.right)
    lines = [f"rule {rule.name.rpartition('.')[2]} @{rule.grade}:", f"{_pattern(rule.left, source)}  =>  {right}"]
    lines += [_clause(clause, target) for clause in rule.clauses]
    lines += [] if rule.guard is None else [f"if {rule.guard}"]
    return "\n    ".join(map(_broken, lines))


def _broken(line: str) -> str:
    """A line that is longer than a file may have, continued inside of brackets."""
    if len(line) <= LINE - 4:
        return line
    parts, depth, begin = [], 0, 0
    for found in re.finditer(r"'[^']*'|[(\[]|[)\]]|, ", line):
        what = found.group()
        depth += (what in "([") - (what in ")]")
        if what == ", " and depth and found.end() - begin > LINE // 2:
            parts.append(line[begin : found.start() + 1])
            begin = found.end()
    return "\n        ".join([*parts, line[begin:]])


def header(rule: Rule) -> str:
    """The first line of a file in which the rule may stand as it is `written`."""
    source, target = families(rule)
    return f"{rule.kind} {source}" if source == target else f"{rule.kind} {source} -> {target}"


def families(rule: Rule) -> tuple[str, str]:
    """The families of the two sides: of the first op of each that is not of core."""
    source = next((n for n in _families_left(rule) if n != "core"), "core")
    if rule.kind != "lower":
        return source, source
    return source, next((n for n in _families_right(rule) if n != "core"), source)


def _families_left(rule: Rule) -> Iterator[str]:
    yield from (part.definition.family for part in subpatterns(rule.left) if isinstance(part, App))


def _families_right(rule: Rule) -> Iterator[str]:
    lets = [c.template for c in rule.clauses if isinstance(c, Let)]
    for template in (*rule.right, *lets):
        parts = [] if template is None else subtemplates(template)
        yield from (part.definition.family for part in parts if isinstance(part, Build))


def _op(definition: OpDef, family: str) -> str:
    """Its short name where that names it on this side, else the whole one."""
    near = find(f"{family}.{definition.short}") or find(f"core.{definition.short}")
    return definition.short if near is definition else definition.name


def _pattern(pattern: Pattern, family: str) -> str:
    if isinstance(pattern, App):
        named = [f"{a}={n}" for a, n in pattern.binds] + [f"{a}={e}" for a, e in pattern.compares]
        inside = ", ".join([*(_pattern(a, family) for a in pattern.args), *named])
        text = f"{_op(pattern.definition, family)}({inside})"
        return f"once({text})" if pattern.once else text
    return str(pattern)


def _template(template: Template, family: str) -> str:
    if isinstance(template, Build):
        named = [f"{a}={e}" for a, e in template.attributes]
        args = [_template(a, family) for a in template.args]
        return f"{_op(template.definition, family)}({', '.join([*args, *named])})"
    if isinstance(template, Spread):
        return f"{_template(template.template, family)}..."
    if isinstance(template, Pick):
        return f"{template.name}...[{template.index}]"
    if isinstance(template, Computed):
        return f"{template.function}({', '.join(_template(a, family) for a in template.args)})"
    return str(template)


def _clause(clause: Clause, family: str) -> str:
    if isinstance(clause, Let):
        return f"let {clause.name} = {_template(clause.template, family)}"
    return f"where {clause.name}{'...' * clause.sequence} = {clause.expression}"
