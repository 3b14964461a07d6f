# SPDX-License-Identifier: Apache-2.0
"""What the names in an equation stand for: ops, their attributes, variables and shorthands."""

from __future__ import annotations

import ast
import difflib
import keyword
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from ngraph_rewrite.errors import RuleFileError
from ngraph_rewrite.rewriting.bounds import BITS
from ngraph_rewrite.rewriting.expression import Expression, Span
from ngraph_rewrite.rewriting.expression_checks import Refused, check_expression
from ngraph_rewrite.rewriting.frame_parts import Piece, Text
from ngraph_rewrite.rewriting.parsing import parse_piece
from ngraph_rewrite.rewriting.pattern import Num
from ngraph_rewrite.rewriting.shorthands import Macros, expanded
from ngraph_rewrite.rewriting.syntax import parts
from ngraph_rewrite.terms.catalogue import OpDef, definitions, find
from ngraph_rewrite.types.sorts import SortType

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
_BOUND = "bind it on the left, or with where"


@dataclass
class Names:
    """What the names of one rule may be, and the text in which they stand.

    Attributes:
        several: Clauses with a value for each term of a sequence.
        trees: What was read of the file: the alternatives of a rule are written once.
    """

    text: Text
    families: tuple[str, ...]
    alternative: dict[str, str] = field(default_factory=dict)
    macros: Macros = field(default_factory=dict)
    conditions: list[ast.expr] = field(default_factory=list)
    sorts: Mapping[str, SortType] = field(default_factory=dict)
    several: set[str] = field(default_factory=set)
    trees: dict[tuple[int, int], ast.expr] = field(default_factory=dict)

    def error(self, node: ast.AST | Span, message: str, do: str | None = None) -> RuleFileError:
        return self.text.error(node if isinstance(node, Span) else span_of(node), message, do)

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

    def attributes(self, keywords: list[ast.keyword], definition: OpDef) -> dict[str, ast.expr]:
        """What keywords give, if the op has such attributes and each is given once."""
        given: dict[str, ast.expr] = {}
        for one in keywords:
            name = one.arg
            if name is None or name not in definition.attributes:
                listed = ", ".join(definition.attributes)
                advice = f"its attributes: {listed}" if listed else "it has no attributes"
                what = "** cannot stand here" if name is None else f"{definition} has no attribute {name}"
                raise self.error(one.value, what, advice)
            if name in given:
                raise self.error(one.value, f"`{name}` is given twice", "leave one of them out")
            given[name] = one.value
        return given

    def operator(self, node: ast.expr) -> tuple[OpDef, list[ast.expr]] | None:
        """The op and operands of an operator expression, or None; with a sequence, those of the whole nest."""
        if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
            whole = _operands(node, type(node.op))
            nested = any(map(is_sequence, whole))
            short, operands = _BINARY[type(node.op)], whole if nested else [node.left, node.right]
        elif isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARE:
            short, operands = _COMPARE[type(node.ops[0])], [node.left, node.comparators[0]]
        elif isinstance(node, ast.UnaryOp) and type(node.op) in _UNARY:
            short, operands = _UNARY[type(node.op)], [node.operand]
        else:
            return None
        return self.definition(node, ast.Name(short, ast.Load())), operands

    def expression(self, node: ast.expr, names: Iterable[str], do: str = _BOUND) -> Expression:
        """An attribute expression all of whose names are bound; else an error says what to do."""
        node = self.expand(node)
        try:
            found = check_expression(node)
        except Refused as refused:
            raise self.error(refused.node, refused.message, refused.do) from None
        known = set(names)
        every = parts(node)
        called = {id(c.func) for c in every if isinstance(c, ast.Call)}
        for part in every:
            if isinstance(part, ast.Name) and part.id not in known and id(part) not in called:
                raise self.error(part, f"`{part.id}` is not bound", do)
        return replace(found, span=span_of(node))

    def read(self, piece: Piece) -> ast.expr:
        """The expression of a piece, with every shorthand replaced by its body."""
        at = piece.start, piece.end
        found = self.trees.get(at)
        if found is None:
            found = self.trees[at] = self.expand(parse_piece(piece))
        return found

    def expand(self, node: ast.expr) -> ast.expr:
        """The expression with every shorthand replaced by its body."""
        try:
            return expanded(node, self.macros)
        except Refused as refused:
            at = refused.node if hasattr(refused.node, "span") else node
            raise self.error(at, refused.message, refused.do) from None

    def name(self, name: str, node: ast.AST | Span) -> str:
        """A name that a file binds, if it may: it will be one in generated code."""
        plain = name.isidentifier() and not keyword.iskeyword(name) and unicodedata.normalize("NFKC", name) == name
        if not plain or name.startswith("__"):
            raise self.error(node, f"`{name}` cannot be a name here", "choose a plain one")
        return name

    def number(self, node: ast.expr, number: bool | int | float) -> Num:
        """A number of a term, if some dtype may have it."""
        if isinstance(number, int) and number.bit_length() > BITS:
            raise self.error(node, f"the number is larger than {BITS} bits")
        return Num(number, span_of(node))


def _operands(node: ast.expr, operator: type[ast.operator]) -> list[ast.expr]:
    """What one operator stands between."""
    if not isinstance(node, ast.BinOp) or type(node.op) is not operator:
        return [node]
    return [*_operands(node.left, operator), *_operands(node.right, operator)]


def span_of(node: ast.AST) -> Span:
    """Where a part of an expression stands in the file."""
    return getattr(node, "span", Span(1, 1))


def is_sequence(node: ast.expr) -> bool:
    """Whether it is ``x...``, as the frame hands it on: a subscript with an empty slice."""
    return (
        isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Slice)
        and node.slice.lower is node.slice.upper is node.slice.step is None
    )


def _families_with(short: str) -> str | None:
    families = [d.family for d in definitions() if d.short == short]
    return f"the families with an op {short}: {', '.join(families)}" if families else None
