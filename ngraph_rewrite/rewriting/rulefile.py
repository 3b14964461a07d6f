# SPDX-License-Identifier: Apache-2.0
"""A rule file becomes rules: names resolved by the header's families, shorthands expanded, all names bound."""

from __future__ import annotations

import ast
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

from ngraph_rewrite.errors import RuleFileError
from ngraph_rewrite.rewriting.bounds import CLAUSES, FILE, ORDERS, PATTERN, RULES, TESTED, WAIVERS
from ngraph_rewrite.rewriting.choices import Given, Way, ways
from ngraph_rewrite.rewriting.comparisons import Comparison, comparisons
from ngraph_rewrite.rewriting.declarations import declared
from ngraph_rewrite.rewriting.expression import Expression, Refused, Span, check_expression
from ngraph_rewrite.rewriting.extension import extended
from ngraph_rewrite.rewriting.frame import (
    REWRITE,
    ClauseFrame,
    DefineFrame,
    FileFrame,
    Piece,
    RuleFrame,
    WaiveFrame,
    parse_piece,
    read_frame,
)
from ngraph_rewrite.rewriting.pattern import (
    App,
    Build,
    Num,
    Template,
    attribute_names,
    subpatterns,
    variables,
)
from ngraph_rewrite.rewriting.reading import ONCE, RESERVED, Reader, is_sequence, span_of
from ngraph_rewrite.rewriting.rule import CLASSES, DEFAULT_CLASS, Clause, Condition, Let, Rule, RuleSet, Where
from ngraph_rewrite.rewriting.shorthands import Macros
from ngraph_rewrite.rewriting.sorting import check_sorts
from ngraph_rewrite.rewriting.waivers import WAIVABLE, Waiver, covers_name
from ngraph_rewrite.terms.catalogue import definitions

# What files have rules that may look at a whole graph: those of passes over one.
GRAPH_KINDS = ("recognize", "simplify", "lower", "select")


def load_rules(path: str | Path, shown: str | None = None) -> RuleSet:
    """The rules of a file, names bound and resolved; `shown` is the name errors and rules show for it.

    Raises:
        RuleFileError: for any mistake, with file, line, column and a caret.
    """
    return parse_rules(rule_text(path, shown), shown or str(path), Path(path).stem)


def rule_text(path: str | Path, shown: str | None = None) -> str:
    """What is written in a rule file, up to a length that no file may have.

    Raises:
        RuleFileError: if it is not text.
    """
    try:
        with Path(path).open("rb") as file:
            return file.read(4 * FILE + 1).decode("utf-8")  # no character takes more than four bytes
    except UnicodeDecodeError as error:
        raise RuleFileError(f"{shown or path} is not text in UTF-8: {error}", do="save it in that encoding") from None


def parse_rules(content: str, file: str, stem: str) -> RuleSet:
    """The rules written in `content`; `stem` begins their names.

    Raises:
        RuleFileError: for any mistake.
    """
    frame = read_frame(content, file)
    _check_count(frame)
    if frame.kind == REWRITE:
        declared(frame)
    for family in {frame.source, frame.target}:
        if not any(definitions(family)):
            do = "declare its operations in the file" if frame.kind == REWRITE else None
            what = f"there is no {'signature' if frame.kind == REWRITE else 'op family'} {family}"
            raise frame.text.error(Span(1, 1), what, do)
    macros = _macros(frame)
    rules = [rule for one in frame.rules for rule in _rules(frame, one, macros, stem)]
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
    if one.check not in WAIVABLE:
        raise frame.text.error(one.span, f"no check is called {one.check}", f"one of {', '.join(WAIVABLE)}")
    if not any(covers_name(rule, r.name) for r in rules):
        raise frame.text.error(one.span, f"the file has no rule called {rule}", "a waiver stands in the rule's file")
    other = one.other if one.other is None or "." in one.other else f"{stem}.{one.other}"
    return Waiver(one.check, rule, other, one.reason, one.span)


def _macros(frame: FileFrame) -> Macros:
    macros: Macros = {}
    for one in frame.defines:
        if one.name in macros:
            raise frame.text.error(one.span, f"the shorthand {one.name} is defined twice")
        macros[one.name] = (one.parameters, _macro_body(one))
    return macros


def _macro_body(one: DefineFrame) -> ast.expr:
    return parse_piece(one.body)


def _check_names(frame: FileFrame, rules: list[Rule]) -> None:
    seen: dict[str, Rule] = {}
    for rule in rules:
        if rule.name in seen:
            raise frame.text.error(Span(rule.line, 1), f"the rule {rule.name} is defined twice", "choose another name")
        seen[rule.name] = rule


def _rules(frame: FileFrame, one: RuleFrame, macros: Macros, stem: str) -> list[Rule]:
    if one.grade is not None and one.grade not in CLASSES:
        raise frame.text.error(one.span, f"@{one.grade} is not a class of rules", f"one of @{', @'.join(CLASSES)}")
    if one.variable is None:
        return _read_ways(frame, one, macros, f"{stem}.{one.name}", {})
    named = ((f"{stem}.{one.name}.{name}", {one.variable: name}) for name in one.alternatives)
    return [rule for name, alternative in named for rule in _read_ways(frame, one, macros, name, alternative)]


def _read_ways(frame: FileFrame, one: RuleFrame, macros: Macros, name: str, alternative: dict[str, str]) -> list[Rule]:
    """A rule for each left side that the written one stands for, numbered if there are several."""
    try:
        found = ways(parse_piece(one.left))
    except Refused as refused:
        raise frame.text.error(span_of(refused.node), refused.message, refused.do) from None
    if len(found) == 1:
        return [_rule(frame, one, macros, name, alternative, found[0])]
    rules = [_rule(frame, one, macros, f"{name}.{i}", alternative, way) for i, way in enumerate(found, 1)]
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
    macros: Macros,
    name: str,
    alternative: dict[str, str],
    way: Way,
) -> Rule:
    beside = ("core",) if frame.kind != REWRITE else ()
    left_reader = Reader(frame.text, (frame.source, *beside), alternative)
    several = isinstance(way.tree, ast.Tuple) and frame.kind in GRAPH_KINDS
    left = left_reader.roots(way.tree) if several else left_reader.pattern(way.tree)  # type: ignore[arg-type]
    if not isinstance(left, App) or left.once:
        raise frame.text.error(one.left.span, "the left side must be an op applied to patterns")
    _check_pattern(left_reader, left)
    _check_binds(left_reader, left, frame.kind)
    right_reader = Reader(frame.text, (frame.target, *beside), alternative, macros)
    right_reader.conditions = left_reader.conditions
    right, clauses, guard, conditions = _right_side(right_reader, frame, one, left, way.given)
    text = f"{one.left} => {one.right}"
    for old, new in alternative.items():
        text = f"{text}   [{old} = {new}]"
    if name.rpartition(".")[2].isdecimal():
        text = f"{text}   [{left}]"
    grade = one.grade or DEFAULT_CLASS[frame.kind]
    rule = Rule(name, frame.kind, left, right, clauses, guard, grade, text, frame.text.file, one.span.line)
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


def _check_pattern(reader: Reader, left: App) -> None:
    """Whether a left side is small enough to be compiled with others."""
    parts = list(subpatterns(left))
    tested = [p for p in parts if isinstance(p, App | Num)]
    tests = len(tested) + sum(len(p.compares) for p in tested if isinstance(p, App))
    exchanged = sum(isinstance(p, App) and p.definition.commutative for p in parts)
    if len(parts) > PATTERN or tests > TESTED or 1 << exchanged > ORDERS:
        raise reader.error(left.span, "the left side is too large", "name a part of it, and match that in another rule")


def _check_binds(reader: Reader, left: App, kind: str) -> None:
    if kind == "derive" and "d" in attribute_names(left):
        raise reader.error(left.span, "`d` is the incoming adjoint and cannot be bound", "use another name")
    both = set(variables(left)) & set(attribute_names(left))
    if both:
        raise reader.error(left.span, f"`{both.pop()}` names a term and an attribute", "use two names")


def _right_side(
    reader: Reader, frame: FileFrame, one: RuleFrame, left: App, given: tuple[Given, ...] = ()
) -> tuple[tuple[Template | None, ...], tuple[Clause, ...], Expression | None, tuple[Condition, ...]]:
    terms = {**variables(left), "self": False}
    if frame.kind == "derive":
        terms["d"] = False
    names = {*terms, *attribute_names(left), "target"}
    lets = {c.name for c in one.clauses if c.keyword == "let"}
    clauses: list[Clause] = _given(reader, given, names)
    guard: Expression | None = None
    compared: list[Comparison] = []
    all_names = names | {c.name for c in one.clauses if c.name}
    for clause in one.clauses:
        _check_clause(reader, clause, names)
        node = reader.expand(parse_piece(clause.piece))
        if clause.keyword == "let":
            if is_sequence(node):
                raise reader.error(node, "a let names one term", "a sequence stands among arguments")
            clauses.append(Let(clause.name, reader.template(node, terms, names)))
            terms[clause.name] = False
            names.add(clause.name)
        elif clause.keyword == "where":
            clauses.append(Where(clause.name, reader.expression(node, names), clause.sequence))
            names.add(clause.name)
        elif guard is not None or compared:
            raise reader.error(clause.piece.span, "a rule has one guard", "join the two with `and`")
        else:
            compared, rest = _compared(reader, frame, node, {*terms, *lets})
            guard = None if rest is None else reader.expression(rest, all_names - lets)
    right = _right_templates(reader, frame, one.right, left, terms, names)
    conditions = [
        Condition(reader.template(c.left, terms, names), reader.template(c.right, terms, names), c.equal)
        for c in compared
    ]
    return right, tuple(clauses), _with_conditions(reader, guard, names), tuple(conditions)


def _compared(
    reader: Reader, frame: FileFrame, node: ast.expr, terms: set[str]
) -> tuple[list[Comparison], ast.expr | None]:
    """What a condition compares, of a rule of a signature, and the rest of it."""
    if frame.kind != REWRITE:
        return [], node
    try:
        return comparisons(node, frame.source, terms)
    except Refused as refused:
        raise reader.error(refused.node, refused.message, refused.do) from None


def _given(reader: Reader, given: tuple[Given, ...], names: set[str]) -> list[Clause]:
    """What absent wrappers give: a clause for each name, or a condition where the left side binds it as well."""
    clauses: list[Clause] = []
    for name, value in given:
        expression = reader.expression(value, names)
        if name in names:
            reader.conditions.append(ast.Compare(ast.Name(name, ast.Load()), [ast.Eq()], [expression.tree]))
        else:
            clauses.append(Where(name, expression))
            names.add(name)
    return clauses


def _with_conditions(reader: Reader, guard: Expression | None, names: set[str]) -> Expression | None:
    """The guard, after what classes of types and alternatives ask."""
    parts = [*reader.conditions, *([] if guard is None else [guard.tree])]
    if not reader.conditions:
        return guard
    whole = parts[0] if len(parts) == 1 else ast.BoolOp(ast.And(), parts)
    found = check_expression(ast.parse(ast.unparse(ast.fix_missing_locations(whole)), mode="eval").body)
    return replace(found, span=guard.span) if guard is not None else found


def _check_clause(reader: Reader, clause: ClauseFrame, names: set[str]) -> None:
    if clause.name:
        reader.name(clause.name, clause.piece.span)
    if clause.name and (clause.name in names or clause.name in RESERVED):
        raise reader.error(clause.piece.span, f"`{clause.name}` is bound already", "choose another name")


def _right_templates(
    reader: Reader, frame: FileFrame, piece: Piece, left: App, terms: dict[str, bool], names: set[str]
) -> tuple[Template | None, ...]:
    node = reader.expand(parse_piece(piece))
    if frame.kind != "derive":
        if is_sequence(node):
            raise reader.error(node, "a rule has one term on its right", "a sequence stands among arguments")
        if isinstance(node, ast.Tuple):
            return (_right_tuple(reader, node, left, terms, names),)
        return (reader.whole(node, terms, names),)
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    wanted = list(variables(left))
    if len(parts) != len(wanted):
        raise reader.error(node, f"{len(parts)} adjoints for the variables {', '.join(wanted)}", "write one for each")
    return tuple(
        None if isinstance(p, ast.Name) and p.id == "none" else reader.template(p, terms, names) for p in parts
    )


def _right_tuple(reader: Reader, node: ast.Tuple, left: App, terms: dict[str, bool], names: set[str]) -> Template:
    """A right side for each of several left sides."""
    if left.definition.name != "core.make_tuple" or len(left.args) != len(node.elts):
        count = len(left.args) if left.definition.name == "core.make_tuple" else 1
        raise reader.error(node, f"{len(node.elts)} right sides for {count} left", "write one for each, in their order")
    templates = [reader.template(part, terms, names) for part in node.elts]
    for template, part in zip(templates, node.elts, strict=True):
        if isinstance(template, Num):
            raise reader.error(part, "the type of this number is not known", "write `x * 0 + number` of a term")
    return Build(left.definition, tuple(templates), (), span_of(node))
