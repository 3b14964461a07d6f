# SPDX-License-Identifier: Apache-2.0
"""The expressions of a rule file are Python's, but for ``x...`` and ``pattern := term``, and know where they stand."""

from __future__ import annotations

import ast
import re
import warnings

from ngraph_rewrite.rewriting.bounds import DEPTH, LINE
from ngraph_rewrite.rewriting.expression_checks import Refused, check_size
from ngraph_rewrite.rewriting.frame import check_brackets, visible
from ngraph_rewrite.rewriting.frame_parts import Piece
from ngraph_rewrite.rewriting.syntax import parts

# What Python may warn of: a number with a word behind it, and a backslash in a text.
_DOUBTFUL = re.compile(r"\d(and|else|for|if|in|is|not|or)|\\")
_SEQUENCE = re.compile(r"(?<=[\w)])\s*\.\.\.")


def _with_marks(piece: Piece, source: str) -> str:
    """The text with ``<<`` for each ``:=``: on its left Python allows no pattern."""
    if ":=" not in source:
        return source
    offsets = [o for o, c in visible(piece.text, piece.start, piece.start + len(source)) if c == ":"]
    marks = [o for o in offsets if piece.text.clean.startswith(":=", o)]
    shifts = [o for o, c in visible(piece.text, piece.start, piece.start + len(source)) if c == "<"]
    for at in shifts if marks else ():
        if piece.text.clean.startswith("<<", at):
            raise piece.text.error(piece.text.span(at), "`<<` is no operator of rules")
    for at in marks:
        source = f"{source[: at - piece.start]}<<{source[at - piece.start + 2 :]}"
    return source


class _Matches(ast.NodeTransformer):
    """What is marked becomes ``pattern := term``."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.op, ast.LShift):
            return node
        return ast.copy_location(ast.NamedExpr(node.left, node.right), node)  # type: ignore[arg-type]


def _tree(source: str) -> ast.expr:
    """The syntax tree of an expression. What Python only warns of, as ``1and x``, is a syntax error."""
    if not _DOUBTFUL.search(source):
        return ast.parse(source, mode="eval").body
    with warnings.catch_warnings():  # all threads see it: so it is rarely done
        warnings.simplefilter("error")
        return ast.parse(source, mode="eval").body


def _advice(error: SyntaxError, source: str) -> str | None:
    """What may be meant by what cannot be read."""
    if "\n" in source.strip():
        return "a clause begins with let, where or if"
    return "a guard has a line of its own, below: `if ...`" if "after 'if' expression" in str(error.msg) else None


def parse_piece(piece: Piece) -> ast.expr:
    """The expression of a piece; every node carries its place in the file as ``span``.

    Raises:
        RuleFileError: for a syntax error, at its place.
    """
    text, source = piece.text, piece.text.clean[piece.start : piece.end].rstrip()
    if not source.strip():
        raise text.error(piece.span, "an expression is missing here")
    check_brackets(piece)
    marked = _with_marks(piece, source)
    wrapped = "(" + _SEQUENCE.sub(lambda m: m[0].replace("...", "[:]"), marked) + "\n)"
    starts = [0, *(m.end() for m in re.finditer("\n", wrapped))]
    try:
        tree = _tree(wrapped)
        check_size(tree)
        tree = _Matches().visit(tree) if marked != source else tree
    except Refused as refused:
        raise text.error(piece.span, refused.message, refused.do) from None
    except (RecursionError, MemoryError):
        raise text.error(piece.span, f"the expression is nested deeper than {DEPTH} levels") from None
    except SyntaxError as error:
        offset = min(starts[(error.lineno or 1) - 1] + (error.offset or 1) - 1, len(source)) - 1
        raise text.error(text.span(piece.start + max(offset, 0)), f"{error.msg}", _advice(error, source)) from None
    except ValueError as error:  # a null byte, before Python 3.12
        raise text.error(piece.span, f"{error}") from None
    plain = wrapped.isascii()  # columns of `ast` count bytes
    for node in parts(tree):
        if isinstance(node, ast.expr):
            begin, column = starts[node.lineno - 1], node.col_offset
            if not plain:
                column = len(wrapped[begin : begin + LINE + 1].encode()[:column].decode())
            node.span = text.span(piece.start + max(begin + column - 1, 0))  # type: ignore[attr-defined]
    return tree
