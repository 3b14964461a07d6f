# SPDX-License-Identifier: Apache-2.0
"""What follows a left side is read: the terms of the right side, clauses, the guard and the conditions.

Clauses may use what stands before them and what conditions of a rule of a signature bind. A part of an ``if`` that
reads none of that is a part of the guard, which is asked first.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from ngraph_rewrite.rewriting.bounds import MATCHES
from ngraph_rewrite.rewriting.choices import Given
from ngraph_rewrite.rewriting.comparisons import Comparison, Match, condition_parts, match_parts
from ngraph_rewrite.rewriting.conditional import (
    Conditional,
    clause_names,
    condition_names,
    needed,
    pattern_names,
    template_names,
)
from ngraph_rewrite.rewriting.expression import Expression, Span
from ngraph_rewrite.rewriting.expression_checks import Refused, check_expression
from ngraph_rewrite.rewriting.frame import REWRITE
from ngraph_rewrite.rewriting.frame_parts import ClauseFrame, FileFrame, Piece, RuleFrame
from ngraph_rewrite.rewriting.left_sides import check_pattern, with_sorts
from ngraph_rewrite.rewriting.pattern import (
    App,
    Build,
    Num,
    Pattern,
    Spread,
    Template,
    Var,
    attribute_names,
    restrictions,
    variables,
)
from ngraph_rewrite.rewriting.reading import RESERVED, Reader
from ngraph_rewrite.rewriting.reading_names import is_sequence, span_of
from ngraph_rewrite.rewriting.rule import Asking, Clause, Condition, Let, Matching, Where
from ngraph_rewrite.rewriting.syntax import parts


class Body(NamedTuple):
    """What a rule says beside its left side."""

    right: tuple[Template | None, ...]
    clauses: tuple[Clause, ...]
    guard: Expression | None
    conditions: tuple[Conditional, ...]


def body(reader: Reader, frame: FileFrame, one: RuleFrame, left: App, given: tuple[Given, ...] = ()) -> Body:
    """What a rule says beside its left side.

    Args:
        given: What absent wrappers of the left side give.

    Raises:
        RuleFileError: for any mistake, at its place.
    """
    return _Body(reader, frame, one, left).read(given)


class _Body:
    """What is known while one rule is read: which names are bound, and which of them stand for terms."""

    def __init__(self, reader: Reader, frame: FileFrame, one: RuleFrame, left: App) -> None:
        self.reader, self.frame, self.one, self.left = reader, frame, one, left
        self.terms: dict[str, bool] = {**variables(left), "self": False}
        if frame.kind == "derive":
            self.terms["d"] = False
        self.names = {*self.terms, *attribute_names(left), "target"}
        self.lets = {c.name for c in one.clauses if c.keyword == "let"}
        self.later = {c.name for c in one.clauses if c.name}
        self.clauses: list[Clause] = []
        # The patterns in conditions, None where one is a comparison, and what each of the others binds.
        self.patterns: list[Pattern | None] = []
        self.new: list[list[str]] = []

    def read(self, given: tuple[Given, ...]) -> Body:
        self.clauses += _given(self.reader, given, self.names)
        parts = self.condition()
        for clause in self.one.clauses:
            _check_clause(self.reader, clause, self.names)
            if clause.name:
                self.clause(clause)
        right = _right_templates(self.reader, self.frame, self.one.right, self.left, self.terms, self.names)
        guard, conditions = self.conditions(parts)
        self.check_order(conditions)
        return Body(right, tuple(self.clauses), _with_conditions(self.reader, guard, self.names), conditions)

    def clause(self, clause: ClauseFrame) -> None:
        node = self.reader.read(clause.piece)
        if clause.keyword == "let":
            if clause.sequence or is_sequence(node):
                raise self.reader.error(node, "a let names one term", "a sequence stands among arguments")
            self.clauses.append(Let(clause.name, self.reader.template(node, self.terms, self.names)))
            self.terms[clause.name] = False
        else:
            expression = self.computed(node, self.names)
            self.clauses.append(Where(clause.name, expression, clause.sequence))
            if clause.sequence:
                self.reader.several.add(clause.name)
        self.names.add(clause.name)

    # -- the condition ----------------------------------------------------------------------------------

    def condition(self) -> list[Comparison | Match | ast.expr]:
        """The parts of the ``if``, in order; what they bind is known from now on."""
        written = [c for c in self.one.clauses if c.keyword == "if"]
        if len(written) > 1:
            raise self.reader.error(written[1].piece.span, "a rule has one guard", "join the two with `and`")
        if not written:
            return []
        node = self.reader.read(written[0].piece)
        if self.frame.kind != REWRITE:
            return [node]
        for count, match in enumerate(match_parts(node)):
            if count == MATCHES:
                do = "match some in another rule"
                raise self.reader.error(match.pattern, f"the rule has more than {MATCHES} conditions that match", do)
            self.bind(match)
        try:
            return condition_parts(node, self.frame.source, {*self.terms, *self.lets})
        except Refused as refused:
            raise self.reader.error(refused.node, refused.message, refused.do) from None

    def bind(self, match: Match) -> None:
        """The pattern of a condition, and what it binds."""
        pattern = self.reader.pattern(match.pattern)
        if not isinstance(pattern, App | Var):
            what = "a condition matches a variable, or an operation applied to patterns"
            raise self.reader.error(match.pattern, what)
        pattern = with_sorts(self.reader, pattern)
        check_pattern(self.reader, pattern, self.frame.kind)
        own = variables(pattern)
        for name, several in own.items():
            if self.terms.get(name, False if name in self.lets else several) is not several:
                raise self.reader.error(pattern.span, f"`{name}` stands for one term and for several", "use two names")
        for name in pattern_names(pattern):
            is_term = name in self.terms or name in self.lets
            if (name in self.names or name in self.later) and is_term is not (name in own):
                raise self.reader.error(pattern.span, f"`{name}` names a term and an attribute", "use two names")
        new = [name for name in pattern_names(pattern) if name not in self.names and name not in self.later]
        asks = bool(new) or bool(restrictions(pattern))
        self.patterns.append(pattern if asks else None)
        self.new += [new] if asks else []
        self.terms.update((name, several) for name, several in own.items() if name in new)
        self.names.update(new)

    def conditions(
        self, parts: list[Comparison | Match | ast.expr]
    ) -> tuple[Expression | None, tuple[Conditional, ...]]:
        """The guard, and what is asked after it."""
        found: list[Conditional] = []
        guard: list[ast.expr] = []
        patterns, new = iter(self.patterns), {name for names in self.new for name in names}
        for part in parts:
            if isinstance(part, Match):
                pattern, term = next(patterns), self.template(part.term)
                if pattern is None:  # it binds nothing, and asks for no sort
                    found.append(Condition(self.template(part.pattern), term))
                else:
                    found.append(Matching(pattern, term))
            elif isinstance(part, Comparison):
                found.append(Condition(self.template(part.left), self.template(part.right), part.equal))
            elif new.isdisjoint(self.reads(self.expression(part).names)):
                guard.append(part)
            else:
                found.append(Asking(self.expression(part)))
        if not guard:
            return None, tuple(found)
        whole = guard[0] if len(guard) == 1 else ast.copy_location(ast.BoolOp(ast.And(), guard), guard[0])
        whole.span = span_of(guard[0])  # type: ignore[attr-defined]
        return self.expression(whole), tuple(found)

    def template(self, node: ast.expr) -> Template:
        return self.reader.template(node, self.terms, self.names)

    def expression(self, node: ast.expr) -> Expression:
        return self.computed(node, (self.names | self.later) - self.lets)

    def computed(self, node: ast.expr, names: set[str]) -> Expression:
        """An expression of attributes; what stands for several terms is given to functions, and has none itself."""
        for part in parts(node):
            if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and self.terms.get(part.value.id):
                what = f"`{part.value.id}` stands for several terms, which have no `.{part.attr}` together"
                raise self.reader.error(part, what, "ask a term beside them, or an attribute function of yours")
        return self.reader.expression(node, names)

    def reads(self, names: Iterable[str]) -> set[str]:
        """Names, and what the clauses among them read."""
        names = set(names)
        return names.union(*(clause_names(c) for c in needed(self.clauses, names)))

    def check_order(self, conditions: tuple[Conditional, ...]) -> None:
        """Whether each condition reads only what those before it bind."""
        late, new = {name for names in self.new for name in names}, iter(self.new)
        for condition in conditions:
            own = next(new) if isinstance(condition, Matching) else []
            wrong = sorted(self.reads(_read_by(condition, own)) & late)
            if wrong:
                do = "put the condition that binds it first"
                raise self.reader.error(_span(condition), f"`{wrong[0]}` is not bound before this condition", do)
            late -= set(own)


def _read_by(condition: Conditional, new: list[str]) -> set[str]:
    """The names that a condition reads, those that it binds not among them, unless its own term reads them."""
    if isinstance(condition, Matching):
        return template_names(condition.term).union(n for n in pattern_names(condition.pattern) if n not in new)
    return condition_names(condition)


def _span(condition: Conditional) -> Span:
    if isinstance(condition, Asking):
        return condition.expression.span
    return condition.pattern.span if isinstance(condition, Matching) else condition.left.span


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
    node = reader.read(piece)
    if frame.kind != "derive":
        if is_sequence(node):
            raise reader.error(node, "a rule has one term on its right", "a sequence stands among arguments")
        if isinstance(node, ast.Tuple):
            return (_right_tuple(reader, node, left, terms, names),)
        return (reader.whole(node, terms, names),)
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    wanted = variables(left)
    if len(parts) != len(wanted):
        raise reader.error(node, f"{len(parts)} adjoints for the variables {', '.join(wanted)}", "write one for each")
    return tuple(_adjoint(reader, p, wanted[name], terms, names) for p, name in zip(parts, wanted, strict=True))


def _adjoint(reader: Reader, node: ast.expr, several: bool, terms: dict[str, bool], names: set[str]) -> Template | None:
    """The adjoint of a variable, one for each term that it stands for; None, if no derivative passes through it."""
    if isinstance(node, ast.Name) and node.id == "none":
        return None
    if several and not is_sequence(node):
        raise reader.error(node, "one adjoint for a variable that stands for several terms", "write `...` behind it")
    if is_sequence(node) and not several:
        raise reader.error(node, "several adjoints for a variable that stands for one term", "leave out `...`")
    return reader.template(node, terms, names)


def _right_tuple(reader: Reader, node: ast.Tuple, left: App, terms: dict[str, bool], names: set[str]) -> Template:
    """A right side for each of several left sides."""
    if left.definition.name != "core.make_tuple" or len(left.args) != len(node.elts):
        count = len(left.args) if left.definition.name == "core.make_tuple" else 1
        raise reader.error(node, f"{len(node.elts)} right sides for {count} left", "write one for each, in their order")
    templates = [reader.template(part, terms, names) for part in node.elts]
    for template, part in zip(templates, node.elts, strict=True):
        if isinstance(template, Spread):
            raise reader.error(part, "several terms for one left side", "a sequence stands among arguments")
        if isinstance(template, Num):
            raise reader.error(part, "the type of this number is not known", "write `x * 0 + number` of a term")
    return Build(left.definition, tuple(templates), (), span_of(node))
