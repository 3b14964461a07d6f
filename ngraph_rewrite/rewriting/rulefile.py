# SPDX-License-Identifier: Apache-2.0
"""A rule file becomes rules: names resolved by the header's families, shorthands expanded, all names bound."""

from __future__ import annotations

import ast
import difflib
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path

from ngraph_rewrite.errors import RuleFileError
from ngraph_rewrite.rewriting.bounds import BITS, CLAUSES, FILE, ORDERS, PATTERN, RULES, TESTED, WAIVERS
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
    Text,
    WaiveFrame,
    parse_piece,
    read_frame,
)
from ngraph_rewrite.rewriting.nests import IDENTITIES, nests
from ngraph_rewrite.rewriting.pattern import (
    App,
    Build,
    Computed,
    Num,
    Pattern,
    Pick,
    SeqVar,
    Spread,
    Template,
    Var,
    attribute_names,
    subpatterns,
    variables,
)
from ngraph_rewrite.rewriting.registry import term_functions
from ngraph_rewrite.rewriting.rule import CLASSES, DEFAULT_CLASS, Clause, Condition, Let, Rule, RuleSet, Where
from ngraph_rewrite.rewriting.shorthands import Macros, expanded
from ngraph_rewrite.rewriting.sorting import check_sorts
from ngraph_rewrite.rewriting.typeclasses import CLASSES as TYPE_CLASSES
from ngraph_rewrite.rewriting.typeclasses import asked
from ngraph_rewrite.rewriting.waivers import WAIVABLE, Waiver, covers_name
from ngraph_rewrite.terms.catalogue import OpDef, definitions, find, lookup

_BINARY = {
    ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide",
    ast.FloorDiv: "floordivide", ast.Mod: "mod", ast.Pow: "power",
    ast.BitAnd: "logical_and", ast.BitOr: "logical_or", ast.BitXor: "logical_xor",
}  # fmt: skip
_COMPARE = {
    ast.Lt: "less", ast.LtE: "less_equal", ast.Gt: "greater", ast.GtE: "greater_equal",
    ast.Eq: "equal", ast.NotEq: "not_equal",
}  # fmt: skip
_UNARY = {ast.USub: "negative", ast.Invert: "logical_not"}
RESERVED = frozenset({"self", "target", "d", "none"})
ONCE = "once"
# What files have rules that may look at a whole graph: those of passes over one.
GRAPH_KINDS = ("recognize", "simplify", "lower", "select")


@dataclass
class _Reader:
    """What is known while one rule is read."""

    text: Text
    families: tuple[str, ...]
    alternative: dict[str, str] = field(default_factory=dict)
    macros: Macros = field(default_factory=dict)
    conditions: list[ast.expr] = field(default_factory=list)

    def error(self, node: ast.AST | Span, message: str, do: str | None = None) -> RuleFileError:
        return self.text.error(node if isinstance(node, Span) else _span(node), message, do)

    # -- names ----------------------------------------------------------------------------------

    def definition(self, node: ast.AST, function: ast.expr) -> OpDef:
        """The op a call names, by the families of this side, then core."""
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            names = [f"{function.value.id}.{self.alternative.get(function.attr, function.attr)}"]
        elif isinstance(function, ast.Name):
            short = self.alternative.get(function.id, function.id)
            names = [f"{family}.{short}" for family in self.families]
        else:
            raise self.error(node, "only an op can be called here")
        found = next((d for d in map(find, names) if d is not None), None)
        if found is None:
            raise self.error(node, f"no op is called {' or '.join(names)}", self.advice(names))
        return found

    def advice(self, names: list[str]) -> str | None:
        """Where an op of that name is, or which ones have a name like it."""
        short = names[0].partition(".")[2]
        known = [d.short for name in names for d in definitions(name.partition(".")[0])]
        close = difflib.get_close_matches(short, [*dict.fromkeys(known), *self.macros])
        return _families_with(short) or (f"did you mean {' or '.join(close)}?" if close else None)

    def attribute(self, keyword: ast.keyword, definition: OpDef) -> str:
        """The name a keyword gives, if the op has such an attribute."""
        if keyword.arg is None or keyword.arg not in definition.attributes:
            listed = ", ".join(definition.attributes)
            advice = f"its attributes: {listed}" if listed else "it has no attributes"
            raise self.error(keyword.value, f"{definition} has no attribute {keyword.arg}", advice)
        return keyword.arg

    def operator(self, node: ast.expr) -> tuple[OpDef, list[ast.expr]] | None:
        """The op and operands of an operator expression, or None; with a sequence, those of the whole nest."""
        if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
            whole = _operands(node, type(node.op))
            nested = any(map(_is_sequence, whole))
            short, operands = _BINARY[type(node.op)], whole if nested else [node.left, node.right]
        elif isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARE:
            short, operands = _COMPARE[type(node.ops[0])], [node.left, node.comparators[0]]
        elif isinstance(node, ast.UnaryOp) and type(node.op) in _UNARY:
            short, operands = _UNARY[type(node.op)], [node.operand]
        else:
            return None
        return self.definition(node, ast.Name(short, ast.Load())), operands

    def expression(self, node: ast.expr, names: Iterable[str]) -> Expression:
        """An attribute expression all of whose names are bound."""
        node = self.expand(node)
        try:
            found = check_expression(node)
        except Refused as refused:
            raise self.error(refused.node, refused.message, refused.do) from None
        known = set(names)
        called = {id(c.func) for c in ast.walk(node) if isinstance(c, ast.Call)}
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and part.id not in known and id(part) not in called:
                raise self.error(part, f"`{part.id}` is not bound", "bind it on the left, or with where")
        return replace(found, span=_span(node))

    def expand(self, node: ast.expr) -> ast.expr:
        """The expression with every shorthand replaced by its body."""
        try:
            return expanded(node, self.macros)
        except Refused as refused:
            at = refused.node if hasattr(refused.node, "span") else node
            raise self.error(at, refused.message, refused.do) from None

    def name(self, name: str, node: ast.AST | Span) -> str:
        """A name that a file binds, if it may: it will be one in generated code."""
        if not name.isidentifier() or unicodedata.normalize("NFKC", name) != name or name.startswith("__"):
            raise self.error(node, f"`{name}` cannot be a name here", "choose a plain one")
        return name

    def number(self, node: ast.expr, number: bool | int | float) -> Num:
        """A number of a term, if some dtype may have it."""
        if isinstance(number, int) and number.bit_length() > BITS:
            raise self.error(node, f"the number is larger than {BITS} bits")
        return Num(number, _span(node))

    # -- the left side --------------------------------------------------------------------------

    def pattern(self, node: ast.expr) -> Pattern:
        if isinstance(node, ast.Name):
            if node.id in RESERVED:
                raise self.error(node, f"`{node.id}` has a meaning of its own and cannot be a variable")
            return Var(self.name(node.id, node), _span(node))
        if _is_sequence(node):
            return self.sequence(node)
        number = _number(node)
        if number is not None:
            return self.number(node, number)
        operator = self.operator(node)
        if operator is not None:
            return self.application(node, operator[0], operator[1], [])
        if isinstance(node, ast.Call) and _called(node) == ONCE and not self.is_op(ONCE):
            return self.once(node)
        if isinstance(node, ast.Call) and _called(node) in TYPE_CLASSES and not self.is_op(_called(node)):
            return self.restricted(node)
        if isinstance(node, ast.Call):
            return self.application(node, self.definition(node, node.func), node.args, node.keywords)
        raise self.error(node, "not a pattern", "a pattern is a variable, a number, or an op applied to patterns")

    def sequence(self, node: ast.expr) -> SeqVar:
        assert isinstance(node, ast.Subscript)
        if not isinstance(node.value, ast.Name):
            raise self.error(node, "a sequence on the left is a variable: `x...`")
        return SeqVar(self.name(node.value.id, node), _span(node))

    def is_op(self, short: str) -> bool:
        """Whether an op of the families of this side has the name of a class of types, and so hides it.

        Terms of a signature are of no such class.
        """
        if "core" not in self.families:
            return True
        return any(find(f"{family}.{self.alternative.get(short, short)}") for family in self.families)

    def once(self, node: ast.Call) -> Pattern:
        """An op whose term has no other user."""
        pattern = self.pattern(node.args[0]) if len(node.args) == 1 and not node.keywords else None
        if not isinstance(pattern, App):
            raise self.error(node, f"`{ONCE}` takes one op applied to patterns", f"write `{ONCE}(f(x))`")
        return replace(pattern, once=True)

    def roots(self, node: ast.Tuple) -> App:
        """Several left sides as one: a tuple of their terms. Each shares a variable with one before it."""
        patterns = [self.pattern(part) for part in node.elts]
        known: set[str] = set()
        for pattern, part in zip(patterns, node.elts, strict=True):
            if not isinstance(pattern, App) or pattern.once:
                raise self.error(part, "each of several left sides is an op applied to patterns")
            own = {p.name for p in subpatterns(pattern) if isinstance(p, Var)}
            if known and known.isdisjoint(own):
                raise self.error(part, "it shares no variable with a left side before it", "write two rules")
            known |= own
        return App(lookup("core.make_tuple"), tuple(patterns), span=_span(node))

    def restricted(self, node: ast.Call) -> Pattern:
        """A variable of a class of types."""
        pattern = self.pattern(node.args[0]) if len(node.args) == 1 and not node.keywords else None
        if not isinstance(pattern, Var):
            what = f"`{_called(node)}` is a class of types: it is asked of one variable"
            raise self.error(node, what, f"write `{_called(node)}(x)`")
        self.conditions.append(asked(_called(node), pattern.name))
        return pattern

    def application(
        self, node: ast.expr, definition: OpDef, args: list[ast.expr], keywords: list[ast.keyword]
    ) -> Pattern:
        patterns = tuple(self.pattern(a) for a in args)
        self.check_arity(node, definition, patterns)
        binds, compares = [], []
        for keyword in keywords:
            attribute = self.attribute(keyword, definition)
            if isinstance(keyword.value, ast.Name):
                name = keyword.value.id
                if name in RESERVED - {"d"}:
                    raise self.error(keyword.value, f"`{name}` has a meaning of its own and cannot be bound")
                binds.append((attribute, self.name(name, keyword.value)))
            else:
                compares.append((attribute, self.expression(keyword.value, ())))
        return App(definition, patterns, tuple(binds), tuple(compares), _span(node))

    def check_arity(self, node: ast.expr, definition: OpDef, args: tuple[object, ...]) -> None:
        sequences = sum(isinstance(a, SeqVar | Spread) for a in args)
        if nests(definition) and (sequences or len(args) > 2):
            self.check_nest(node, definition, args)
            return
        if sequences and definition.arity is not None:
            what = f"{definition} takes {definition.arity} arguments: a sequence cannot stand here"
            raise self.error(node, what, "it may among the operands of an associative op")
        if definition.arity is not None and len(args) != definition.arity:
            raise self.error(node, f"{definition} takes {definition.arity} arguments, not {len(args)}")
        if len(args) < definition.least and not sequences:
            raise self.error(node, f"{definition} takes at least {definition.least} arguments, not {len(args)}")

    def check_nest(self, node: ast.expr, definition: OpDef, args: tuple[object, ...]) -> None:
        """Whether the operands of a nest can be found on the left, or leave one to be built on the right."""
        runs = [a.name for a in args if isinstance(a, SeqVar)]
        if any(isinstance(a, Spread) for a in args):
            if all(isinstance(a, Spread) for a in args) and definition.short not in IDENTITIES:
                what = f"{definition} of no operands has no value"
                raise self.error(node, what, "write an operand that is always there beside the sequence")
            return
        if len(runs) == len(args) and runs:
            raise self.error(node, "only sequences among the operands: they match in any way", "write one operand")
        if definition.commutative and len(runs) > 1:
            what = "two sequence variables among operands that match in any order"
            raise self.error(node, what, "one takes all operands that are left")
        if any(isinstance(a, App) and a.definition is definition for a in args):
            what = f"an operand of nested {definition.short} is no {definition.short} itself"
            raise self.error(node, what, "write all operands in one list")

    # -- the right side -------------------------------------------------------------------------

    def template(self, node: ast.expr, terms: dict[str, bool], names: Iterable[str]) -> Template:
        if isinstance(node, ast.Name):
            if node.id not in terms:
                raise self.error(node, f"`{node.id}` is not bound by the left side", "use its variables, self or a let")
            if terms[node.id]:
                raise self.error(node, f"`{node.id}` stands for several terms", f"write `{node.id}...` among arguments")
            return Var(node.id, _span(node))
        if _is_sequence(node):
            assert isinstance(node, ast.Subscript)
            return Spread(self.template(node.value, dict.fromkeys(terms, False), names), _span(node))
        if isinstance(node, ast.Subscript) and _is_sequence(node.value):
            return self.pick(node, terms, names)
        number = _number(node)
        if number is not None:
            return self.number(node, number)
        operator = self.operator(node)
        if operator is not None:
            return self.build(node, operator[0], operator[1], [], terms, names)
        if isinstance(node, ast.Call):
            if _called(node) in term_functions():
                raise self.error(node, f"`{_called(node)}` makes terms: it can only be a whole right side")
            return self.build(node, self.definition(node, node.func), node.args, node.keywords, terms, names)
        raise self.error(node, "not a term", "a term is a bound variable, a number, or an op applied to terms")

    def whole(self, node: ast.expr, terms: dict[str, bool], names: Iterable[str]) -> Template:
        """A right side: a template, or a term function of templates."""
        if not isinstance(node, ast.Call) or _called(node) not in term_functions():
            return self.template(node, terms, names)
        if node.keywords:
            raise self.error(node.keywords[0].value, f"`{_called(node)}` takes terms only, by their places")
        return Computed(_called(node), tuple(self.template(a, terms, names) for a in node.args), _span(node))

    def pick(self, node: ast.Subscript, terms: dict[str, bool], names: Iterable[str]) -> Template:
        assert isinstance(node.value, ast.Subscript)
        sequence = node.value.value
        if not isinstance(sequence, ast.Name) or not terms.get(sequence.id):
            raise self.error(node, "only of a sequence variable can one term be picked: `x...[i]`")
        return Pick(sequence.id, self.expression(node.slice, names), _span(node))

    def build(
        self,
        node: ast.expr,
        definition: OpDef,
        args: list[ast.expr],
        keywords: list[ast.keyword],
        terms: dict[str, bool],
        names: Iterable[str],
    ) -> Template:
        names = list(names)
        templates = tuple(self.template(a, terms, names) for a in args)
        self.check_arity(node, definition, templates)
        given = {self.attribute(k, definition): k.value for k in keywords}
        missing = [a for a in definition.attributes if a not in given]
        if missing:
            raise self.error(node, f"{definition} needs the attribute {', '.join(missing)}")
        attributes = tuple((a, self.expression(given[a], names)) for a in definition.attributes)
        return Build(definition, templates, attributes, _span(node))


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
        raise frame.text.error(_span(refused.node), refused.message, refused.do) from None
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
    left_reader = _Reader(frame.text, (frame.source, *beside), alternative)
    several = isinstance(way.tree, ast.Tuple) and frame.kind in GRAPH_KINDS
    left = left_reader.roots(way.tree) if several else left_reader.pattern(way.tree)  # type: ignore[arg-type]
    if not isinstance(left, App) or left.once:
        raise frame.text.error(one.left.span, "the left side must be an op applied to patterns")
    _check_pattern(left_reader, left)
    _check_binds(left_reader, left, frame.kind)
    right_reader = _Reader(frame.text, (frame.target, *beside), alternative, macros)
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


def _check_pattern(reader: _Reader, left: App) -> None:
    """Whether a left side is small enough to be compiled with others."""
    parts = list(subpatterns(left))
    tested = [p for p in parts if isinstance(p, App | Num)]
    tests = len(tested) + sum(len(p.compares) for p in tested if isinstance(p, App))
    exchanged = sum(isinstance(p, App) and p.definition.commutative for p in parts)
    if len(parts) > PATTERN or tests > TESTED or 1 << exchanged > ORDERS:
        raise reader.error(left.span, "the left side is too large", "name a part of it, and match that in another rule")


def _check_binds(reader: _Reader, left: App, kind: str) -> None:
    if kind == "derive" and "d" in attribute_names(left):
        raise reader.error(left.span, "`d` is the incoming adjoint and cannot be bound", "use another name")
    both = set(variables(left)) & set(attribute_names(left))
    if both:
        raise reader.error(left.span, f"`{both.pop()}` names a term and an attribute", "use two names")


def _right_side(
    reader: _Reader, frame: FileFrame, one: RuleFrame, left: App, given: tuple[Given, ...] = ()
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
            if _is_sequence(node):
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
    reader: _Reader, frame: FileFrame, node: ast.expr, terms: set[str]
) -> tuple[list[Comparison], ast.expr | None]:
    """What a condition compares, of a rule of a signature, and the rest of it."""
    if frame.kind != REWRITE:
        return [], node
    try:
        return comparisons(node, frame.source, terms)
    except Refused as refused:
        raise reader.error(refused.node, refused.message, refused.do) from None


def _given(reader: _Reader, given: tuple[Given, ...], names: set[str]) -> list[Clause]:
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


def _with_conditions(reader: _Reader, guard: Expression | None, names: set[str]) -> Expression | None:
    """The guard, after what classes of types and alternatives ask."""
    parts = [*reader.conditions, *([] if guard is None else [guard.tree])]
    if not reader.conditions:
        return guard
    whole = parts[0] if len(parts) == 1 else ast.BoolOp(ast.And(), parts)
    found = check_expression(ast.parse(ast.unparse(ast.fix_missing_locations(whole)), mode="eval").body)
    return replace(found, span=guard.span) if guard is not None else found


def _check_clause(reader: _Reader, clause: ClauseFrame, names: set[str]) -> None:
    if clause.name:
        reader.name(clause.name, clause.piece.span)
    if clause.name and (clause.name in names or clause.name in RESERVED):
        raise reader.error(clause.piece.span, f"`{clause.name}` is bound already", "choose another name")


def _right_templates(
    reader: _Reader, frame: FileFrame, piece: Piece, left: App, terms: dict[str, bool], names: set[str]
) -> tuple[Template | None, ...]:
    node = reader.expand(parse_piece(piece))
    if frame.kind != "derive":
        if _is_sequence(node):
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


def _right_tuple(reader: _Reader, node: ast.Tuple, left: App, terms: dict[str, bool], names: set[str]) -> Template:
    """A right side for each of several left sides."""
    if left.definition.name != "core.make_tuple" or len(left.args) != len(node.elts):
        count = len(left.args) if left.definition.name == "core.make_tuple" else 1
        raise reader.error(node, f"{len(node.elts)} right sides for {count} left", "write one for each, in their order")
    templates = [reader.template(part, terms, names) for part in node.elts]
    for template, part in zip(templates, node.elts, strict=True):
        if isinstance(template, Num):
            raise reader.error(part, "the type of this number is not known", "write `x * 0 + number` of a term")
    return Build(left.definition, tuple(templates), (), _span(node))


def _operands(node: ast.expr, operator: type[ast.operator]) -> list[ast.expr]:
    """What one operator stands between."""
    if not isinstance(node, ast.BinOp) or type(node.op) is not operator:
        return [node]
    return [*_operands(node.left, operator), *_operands(node.right, operator)]


def _called(node: ast.Call) -> str:
    """The name a call calls; nothing if it is no plain name."""
    return node.func.id if isinstance(node.func, ast.Name) else ""


def _span(node: ast.AST) -> Span:
    return getattr(node, "span", Span(1, 1))


def _is_sequence(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Slice)
        and node.slice.lower is node.slice.upper is node.slice.step is None
    )


def _number(node: ast.expr) -> bool | int | float | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inside = _number(node.operand)
        return None if inside is None or isinstance(inside, bool) else -inside
    if isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
        return node.value
    if isinstance(node, ast.Name) and node.id in ("inf", "nan"):
        return float(node.id)
    return None


def _families_with(short: str) -> str | None:
    families = [d.family for d in definitions() if d.short == short]
    return f"the families with an op {short}: {', '.join(families)}" if families else None
