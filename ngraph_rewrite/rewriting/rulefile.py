# SPDX-License-Identifier: Apache-2.0
"""A rule file becomes rules: names resolved by the header's families, shorthands expanded, all names bound."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from ngraph_rewrite.errors import RuleFileError
from ngraph_rewrite.plugins import found_plugin_ops
from ngraph_rewrite.rewriting.bounds import CLAUSES, RULES, WAIVERS
from ngraph_rewrite.rewriting.choices import Way, ways
from ngraph_rewrite.rewriting.declarations import declared
from ngraph_rewrite.rewriting.expression import Span
from ngraph_rewrite.rewriting.expression_checks import Refused
from ngraph_rewrite.rewriting.extension import extended
from ngraph_rewrite.rewriting.file_text import rule_text
from ngraph_rewrite.rewriting.frame import REWRITE, read_frame
from ngraph_rewrite.rewriting.frame_parts import FileFrame, RuleFrame, WaiveFrame
from ngraph_rewrite.rewriting.left_sides import check_pattern, with_sorts
from ngraph_rewrite.rewriting.mistakes import meant
from ngraph_rewrite.rewriting.parsing import parse_piece
from ngraph_rewrite.rewriting.pattern import (
    App,
    Build,
    attribute_names,
    subpatterns,
    variables,
)
from ngraph_rewrite.rewriting.reading import ONCE, Reader
from ngraph_rewrite.rewriting.reading_names import span_of
from ngraph_rewrite.rewriting.right_sides import body
from ngraph_rewrite.rewriting.rule import CLASSES, DEFAULT_CLASS, Rule, RuleSet, Where
from ngraph_rewrite.rewriting.shorthand_checks import check_shorthands
from ngraph_rewrite.rewriting.shorthands import Macros, expanded
from ngraph_rewrite.rewriting.sorting import check_sorts
from ngraph_rewrite.rewriting.waivers import UNWAIVABLE, WAIVABLE, Waiver, covers_name
from ngraph_rewrite.terms.catalogue import definitions, undone_if_refused
from ngraph_rewrite.types.sorts import SortType

# What files have rules that may look at a whole graph: those of passes over one.
GRAPH_KINDS = ("recognize", "simplify", "lower", "select")


def load_rules(path: str | Path, shown: str | None = None) -> RuleSet:
    """The rules of a file, names bound and resolved; `shown` is the name errors and rules show for it.

    Raises:
        RuleFileError: for any mistake, with file, line, column and a caret.
    """
    return parse_rules(rule_text(path, shown), shown or str(path), Path(path).stem)


def parse_rules(content: str, file: str, stem: str) -> RuleSet:
    """The rules written in `content`; `stem` begins their names.

    They may name what installed packages have, which are loaded when a name is not known without them.

    Raises:
        RuleFileError: for any mistake.
    """
    try:
        with undone_if_refused():  # a file of a signature declares operations
            return _parsed(read_frame(content, file), stem)
    except RuleFileError:
        if not found_plugin_ops():
            raise
    return parse_rules(content, file, stem)


def _parsed(frame: FileFrame, stem: str) -> RuleSet:
    _check_count(frame)
    sorts = declared(frame).sorts if frame.kind == REWRITE else {}
    for family in {frame.source, frame.target}:
        if not any(definitions(family)):
            what = f"there is no {'signature' if frame.kind == REWRITE else 'op family'} {family}"
            do = "declare its ops before, or install what does"
            near = meant(family, {d.family for d in definitions()}, do)
            raise frame.text.error(
                frame.header, what, "declare its operations in the file" if frame.kind == REWRITE else near
            )
    known = _Known(_macros(frame, sorts), sorts, {})
    rules = [rule for one in frame.rules for rule in _rules(frame, one, known, stem)]
    if len(rules) > RULES:
        what = f"the file has more than {RULES} rules, those that alternatives make included"
        raise frame.text.error(Span(rules[RULES].line, 1), what, "split it")
    _check_names(frame, rules)
    return RuleSet(_waived(frame, rules, stem))


def _check_count(frame: FileFrame) -> None:
    """Whether a file has no more rules, alternatives included, and waivers than it may."""
    rules = accumulate(len(one.alternatives) or 1 for one in frame.rules)
    for one, count in zip(frame.rules, rules, strict=True):
        if count > RULES:
            raise frame.text.error(one.span, f"the file has more than {RULES} rules", "split it")
        if len(one.clauses) > CLAUSES:
            raise frame.text.error(one.span, f"the rule has more than {CLAUSES} clauses", "split it")
    if len(frame.waivers) > WAIVERS:
        raise frame.text.error(frame.waivers[WAIVERS].span, f"the file has more than {WAIVERS} waivers", "split it")


def _waived(frame: FileFrame, rules: list[Rule], stem: str) -> list[Rule]:
    """The rules, each with the waivers of the file that speak of it."""
    waivers = [_waiver(frame, one, rules, stem) for one in frame.waivers]
    if not waivers:
        return rules
    return [replace(r, waivers=tuple(w for w in waivers if covers_name(w.rule, r.name))) for r in rules]


def _waiver(frame: FileFrame, one: WaiveFrame, rules: list[Rule], stem: str) -> Waiver:
    rule = one.rule if covers_name(stem, one.rule) else f"{stem}.{one.rule}"
    if one.check in UNWAIVABLE:
        raise frame.text.error(one.span, f"{one.check} cannot be waived", "mend the rule: no reason makes it right")
    if one.check not in WAIVABLE:
        do = meant(one.check, WAIVABLE, f"one of {', '.join(WAIVABLE)}")
        raise frame.text.error(one.span, f"no check is called {one.check}", do)
    if not any(covers_name(rule, r.name) for r in rules):
        raise frame.text.error(one.span, f"the file has no rule called {rule}", "a waiver stands in the rule's file")
    other = one.other if one.other is None or "." in one.other else f"{stem}.{one.other}"
    if other != one.other and not any(covers_name(str(other), r.name) for r in rules):
        do = "that of a rule of another file begins with the file's: FILE.RULE"
        raise frame.text.error(one.span, f"the file has no rule called {other}", do)
    return Waiver(one.check, rule, other, one.reason, one.span)


class _Known(NamedTuple):
    """What rules of a file may name: its shorthands, and the sorts of its signature."""

    macros: Macros
    sorts: Mapping[str, SortType]
    trees: dict[tuple[int, int], ast.expr]


def _macros(frame: FileFrame, sorts: Mapping[str, SortType]) -> Macros:
    macros: Macros = {}
    for one in frame.defines:
        if one.name in macros:
            raise frame.text.error(one.span, f"the shorthand {one.name} is defined twice")
        macros[one.name] = (one.parameters, parse_piece(one.body))
    families = tuple(dict.fromkeys((frame.source, frame.target, *_beside(frame))))
    check_shorthands(Reader(frame.text, families, macros=macros, sorts=sorts), frame.defines)
    return macros


def _beside(frame: FileFrame) -> tuple[str, ...]:
    """The families whose ops rules of a file may name beside its own."""
    return ("core",) if frame.kind != REWRITE else ()


def _check_names(frame: FileFrame, rules: list[Rule]) -> None:
    seen: dict[str, Rule] = {}
    for rule in rules:
        if rule.name in seen:
            raise frame.text.error(Span(rule.line, 1), f"the rule {rule.name} is defined twice", "choose another name")
        seen[rule.name] = rule


def _rules(frame: FileFrame, one: RuleFrame, known: _Known, stem: str) -> list[Rule]:
    if one.grade is not None and one.grade not in CLASSES:
        line = frame.text.pointed(one.span)[0]
        at = Span(one.span.line, max(line.find(f"@{one.grade}") + 1, one.span.column))
        do = f"one of @{', @'.join(CLASSES)}"
        raise frame.text.error(at, f"@{one.grade} is not a class of rules", meant(one.grade, CLASSES, do))
    found = _ways(frame, one, known)
    if one.variable is None:
        return _read_ways(frame, one, known, f"{stem}.{one.name}", {}, found)
    named = ((f"{stem}.{one.name}.{name}", {one.variable: name}) for name in one.alternatives)
    return [rule for name, alternative in named for rule in _read_ways(frame, one, known, name, alternative, found)]


def _ways(frame: FileFrame, one: RuleFrame, known: _Known) -> list[Way]:
    """The left sides that the written one stands for."""
    try:
        return ways(expanded(parse_piece(one.left), known.macros))
    except Refused as refused:
        raise frame.text.error(span_of(refused.node), refused.message, refused.do) from None


def _read_ways(
    frame: FileFrame, one: RuleFrame, known: _Known, name: str, alternative: dict[str, str], found: list[Way]
) -> list[Rule]:
    """A rule for each left side, numbered if there are several."""
    if len(found) == 1:
        return [_rule(frame, one, known, name, alternative, found[0])]
    rules = [_rule(frame, one, known, f"{name}.{i}", alternative, way) for i, way in enumerate(found, 1)]
    _check_ways(frame, one, rules)
    return rules


def _check_ways(frame: FileFrame, one: RuleFrame, rules: list[Rule]) -> None:
    """Whether each alternative binds what any of them binds, and as many terms or one alike."""
    bound = [{**variables(r.left), **dict.fromkeys(_attributes(r))} for r in rules]
    for name in dict.fromkeys(name for names in bound for name in names):
        without = next((r for r, names in zip(rules, bound, strict=True) if name not in names), None)
        if without is not None:
            what = f"`{name}` is bound by some alternatives, and not by {without.left}"
            do = "bind it in each, or give the value of an attribute: `maybe(f(x, a=n), n=value)`"
            raise frame.text.error(one.left.span, what, do)
        if len({names[name] for names in bound}) > 1:
            raise frame.text.error(one.left.span, f"`{name}` stands for one term and for several", "use two names")
    if frame.kind == "derive" and len({tuple(variables(r.left)) for r in rules}) > 1:
        raise frame.text.error(one.left.span, "alternatives bind variables in different orders", "write two rules")


def _attributes(rule: Rule) -> list[str]:
    """The names that stand for attributes, on the left or given in the place of an absent wrapper."""
    return [*attribute_names(rule.left), *(c.name for c in rule.clauses if isinstance(c, Where))]


def _rule(
    frame: FileFrame,
    one: RuleFrame,
    known: _Known,
    name: str,
    alternative: dict[str, str],
    way: Way,
) -> Rule:
    beside = _beside(frame)
    left_reader = Reader(frame.text, (frame.source, *beside), alternative, sorts=known.sorts)
    several = isinstance(way.tree, ast.Tuple) and frame.kind in GRAPH_KINDS
    left = left_reader.roots(way.tree) if several else left_reader.pattern(way.tree)  # type: ignore[arg-type]
    if not isinstance(left, App) or left.once:
        raise frame.text.error(
            one.left.span, "the left side must be an op applied to patterns", "write an op around it"
        )
    left = with_sorts(left_reader, left)
    assert isinstance(left, App)
    check_pattern(left_reader, left, frame.kind)
    right_reader = Reader(frame.text, (frame.target, *beside), alternative, known.macros, sorts=known.sorts)
    right_reader.conditions, right_reader.trees = left_reader.conditions, known.trees
    right, clauses, guard, conditions = body(right_reader, frame, one, left, way.given)
    text = f"{one.left} => {one.right}"
    for old, new in alternative.items():
        text = f"{text}   [{old} = {new}]"
    if name.rpartition(".")[2].isdecimal():
        text = f"{text}   [{left}]"
    grade = one.grade or DEFAULT_CLASS[frame.kind]
    at, source = (frame.text.file, one.span.line), frame.text.content
    rule = Rule(name, frame.kind, left, right, clauses, guard, grade, text, *at, source=source)
    if several or any(isinstance(p, App) and p.once for p in subpatterns(left)):
        _check_graph(frame, one, left, several)
        made = right[0].args if isinstance(right[0], Build) and right[0].definition is left.definition else right
        if several and len(made) != len(left.args):
            what = f"{len(made)} right sides for {len(left.args)} left"
            raise frame.text.error(one.right.span, what, "write one for each, in their order")
        rule = replace(rule, graph=True)
    if frame.kind == REWRITE:
        rule = extended(replace(rule, conditions=conditions, ordered=frame.ordered))
        check_sorts(rule, frame.text.error)
    return rule


def _check_graph(frame: FileFrame, one: RuleFrame, left: App, several: bool) -> None:
    """Whether a rule that looks at a graph stands in a file whose rules rewrite graphs of tensors."""
    if frame.kind not in GRAPH_KINDS:
        what = "several left sides stand" if several else f"`{ONCE}` stands"
        raise frame.text.error(one.left.span, f"{what} in files of {', '.join(GRAPH_KINDS)} only")
    if left.definition.name == "core.make_tuple" and not several:
        raise frame.text.error(one.left.span, f"`{ONCE}` cannot stand in a tuple", "write the rule for what it wraps")
