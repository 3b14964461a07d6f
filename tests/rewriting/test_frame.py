# SPDX-License-Identifier: Apache-2.0
"""The frame of a rule file keeps every place, whatever stands around it."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ngraph_rewrite.errors import NGraphRewriteError, RuleFileError
from ngraph_rewrite.rewriting.frame import read_frame
from ngraph_rewrite.rewriting.frame_parts import FileFrame, Piece
from ngraph_rewrite.rewriting.parsing import parse_piece

drawn = settings(max_examples=80, deadline=None)
HEADER = "simplify semi\n\n"


def framed(rules: str) -> FileFrame:
    return read_frame(HEADER + rules, "f.rules")


def names_and_places(piece: Piece) -> list[tuple[str, int, int]]:
    nodes = [n for n in ast.walk(parse_piece(piece)) if isinstance(n, ast.Name)]
    return [(n.id, n.span.line, n.span.column) for n in nodes]  # type: ignore[attr-defined]


def text_at(content: str, line: int, column: int, length: int) -> str:
    return content.splitlines()[line - 1][column - 1 : column - 1 + length]


# Atoms and the white space between them: line breaks only with an indent, comments to the end of the line.
ATOMS = st.sampled_from(["x", "aβc", "日本", "f(x, y)", "'é#)' + zz", '"a\'(" + q', "h(x..., k=k)", "g(x) ..."])
SPACES = st.sampled_from([" ", "  ", "\n    ", "   # a comment => with ( brackets\n  ", "\n\n      # alone\n\t"])


@drawn
@given(st.lists(st.tuples(SPACES, ATOMS), min_size=1, max_size=6), SPACES, SPACES)
def test_every_name_stands_where_its_place_says(parts: list[tuple[str, str]], before: str, after: str) -> None:
    left = parts[0][1] + "".join(f"{space}+ {atom}" for space, atom in parts[1:])
    content = f"{HEADER}rule r:{before}{left}{after}=>{after}x\n{before.strip(' ')}"
    rule = read_frame(content, "f.rules").rules[0]
    found = names_and_places(rule.left)
    assert found
    for name, line, column in [*found, *names_and_places(rule.right)]:
        assert text_at(content, line, column, len(name)) == name


@drawn
@given(st.lists(st.sampled_from(["a", "é", "''", "'日'", "( b )"]), min_size=1, max_size=5), SPACES)
def test_a_syntax_error_is_shown_at_its_place(parts: list[str], space: str) -> None:
    content = f"{HEADER}rule r: {'+'.join(parts)}{space}=> x\n    where k = {' + '.join(parts)} $ x\n"
    clause = read_frame(content, "f.rules").rules[0].clauses[0]
    with pytest.raises(RuleFileError) as raised:
        parse_piece(clause.piece)
    line, column = map(int, str(raised.value).split(":")[1:3])
    assert text_at(content, line, column, 1) == "$"
    shown, caret = str(raised.value).splitlines()[1:3]
    assert shown[caret.index("^")] == "$"


def test_a_file_is_a_header_rules_and_shorthands() -> None:
    frame = read_frame(
        "# what it is for\nlower axes -> semi   # a header\n\nrule one:  f(x) => x\n"
        "rule two for g in a b\n  c @real:\n    g(x)\n      => y\n\n    let y = x\n    where k... = 1\n    if k\n"
        "define h(a, b) = a + b\n",
        "f.rules",
    )
    assert (frame.kind, frame.source, frame.target) == ("lower", "axes", "semi")
    one, two = frame.rules
    assert (one.name, one.variable, one.grade, one.span) == ("one", None, None, (4, 1))
    assert (two.name, two.variable, two.alternatives, two.grade) == ("two", "g", ("a", "b", "c"), "real")
    assert (str(two.left), str(two.right)) == ("g(x)", "y")
    clauses = [(c.keyword, c.name, c.sequence, str(c.piece)) for c in two.clauses]
    assert clauses == [("let", "y", False, "x"), ("where", "k", True, "1"), ("if", "", False, "k")]
    assert [(d.name, d.parameters, str(d.body)) for d in frame.defines] == [("h", ("a", "b"), "a + b")]


def test_a_clause_goes_on_until_the_next_one() -> None:
    clauses = "    where k = a(\n      b,\n    if_not,\n      c)\n    if k ==\n        3\n"
    (rule,) = framed(f"rule r: f(x) => x\n{clauses}").rules
    assert [str(c.piece).split() for c in rule.clauses] == [["a(", "b,", "if_not,", "c)"], ["k", "==", "3"]]


def test_a_clause_inside_brackets_is_none() -> None:
    (rule,) = framed("rule r: f(x) => g(\n    x,\n    y\n    if z else w)\n").rules
    assert rule.clauses == ()


def test_an_arrow_inside_brackets_or_quotes_is_none() -> None:
    (rule,) = framed("rule r: f(x, k='=>') => x\n").rules
    assert str(rule.left) == "f(x, k='=>')"


def test_a_number_sign_inside_quotes_begins_no_comment() -> None:
    (rule,) = framed("rule r: f(x) => x\n    if k == 'a#b' or k == 'it\\'s #1'   # a comment\n").rules
    assert str(rule.clauses[0].piece) == "k == 'a#b' or k == 'it\\'s #1'"


@pytest.mark.parametrize(
    ("header", "says"),
    [
        ("", "f.rules:1:1: the file is empty"),
        ("# only a comment", "f.rules:1:1: the file is empty"),
        ("  simplify semi", "f.rules:1:1: nothing begins in the first column"),
        ("rule r: f(x) => x", "f.rules:1:1: a rule file begins with a header"),
        ("simplify", "f.rules:1:1: a rule file begins with a header"),
        ("rewrite semi", "f.rules:1:1: a rule file begins with a header"),
        ("lower axes => semi", "f.rules:1:1: a rule file begins with a header"),
        ("lower axes -> semi now", "f.rules:1:1: a rule file begins with a header"),
        ("\n\nlower axes ->", "f.rules:3:1: a rule file begins with a header"),
        ("lower axes\n  -> semi", "f.rules:2:3: a header has one line"),
    ],
    ids=repr,
)
def test_a_header_says_what_the_rules_are_for(header: str, says: str) -> None:
    with pytest.raises(RuleFileError) as raised:
        read_frame(header, "f.rules")
    assert str(raised.value).startswith(says)
    assert isinstance(raised.value, NGraphRewriteError) and isinstance(raised.value, ValueError)


def test_a_byte_order_mark_and_other_line_ends_are_read() -> None:
    frame = read_frame("\ufeffsimplify semi\r\n\r\nrule r: f(x)\r\n  => x\r\n", "f.rules")
    assert (frame.kind, str(frame.rules[0].right)) == ("simplify", "x")


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ("rules r: f(x) => x", "3:1: cannot read the rule's head"),
        ("rule: f(x) => x", "3:5: cannot read the rule's head"),
        ("rule r @: f(x) => x", "3:8: cannot read the rule's head"),
        ("rule r for f in: f(x) => x", "3:16: cannot read the rule's head"),
        ("  => x", "3:3: a header has one line"),
        ("let k = 3", "3:1: expected `rule`, `define` or `waive`"),
        ("rule r: f(x) => x\nif k", "4:1: expected `rule`, `define` or `waive`"),
        ("rule r: f(x) -> x", "3:14: the rule has no `=>`"),
        ("rule r: f(x => x", r"3:10: '\(' was never closed"),
        ("define h = x", "3:1: cannot read the shorthand"),
        ("define h(a) == x", "3:1: cannot read the shorthand"),
    ],
    ids=repr,
)
def test_a_broken_frame_is_shown_where_it_breaks(rule: str, says: str) -> None:
    with pytest.raises(RuleFileError, match=f"^f.rules:{says}"):
        framed(rule)


@pytest.mark.parametrize(
    ("right", "column", "says"),
    [
        ("x) + (x", 18, "`)` closes nothing"),
        ("x]", 18, "`]` closes nothing"),
        ("", 16, "an expression is missing here"),
        ("x +", None, "invalid syntax"),
        ("(x", None, "'(' was never closed"),
        ("'x", None, "unterminated string"),
    ],
)
def test_a_broken_expression_is_shown_where_it_breaks(right: str, column: int | None, says: str) -> None:
    (rule,) = framed(f"rule r: f(x) => {right}\n").rules
    with pytest.raises(RuleFileError) as raised:
        parse_piece(rule.right)
    assert says in str(raised.value)
    assert column is None or str(raised.value).startswith(f"f.rules:3:{column}:")


def test_a_sequence_is_read_as_one_and_keeps_its_place() -> None:
    (rule,) = framed("rule r: f(é, x..., y ..., zz) => x\n").rules
    places = {name: column for name, _, column in names_and_places(rule.left)}
    assert (places["x"], places["y"], places["zz"]) == (14, 20, 27)
