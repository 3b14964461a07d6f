# SPDX-License-Identifier: Apache-2.0
"""The frame of a rule file: which text is a header, a rule, a clause or a shorthand, and where it stands.

Expressions inside the frame are Python's (see `parsing`); this module only cuts the file up and keeps the place of
every piece, so that any error can show its line, its column and a caret.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator

from ngraph_rewrite.errors import RuleFileError
from ngraph_rewrite.rewriting.bounds import FILE, LINE, RULES, STATEMENT, WAIVERS
from ngraph_rewrite.rewriting.expression import Span
from ngraph_rewrite.rewriting.frame_parts import ClauseFrame, DefineFrame, FileFrame, Piece, RuleFrame, Text, WaiveFrame
from ngraph_rewrite.rewriting.mistakes import meant
from ngraph_rewrite.rewriting.waivers import WAIVE

KINDS = ("simplify", "lower", "recognize", "select", "explore", "derive")
# The kind of the rules of a signature; and the words that begin what a file of one may say, beside rules.
REWRITE = "rewrite"
_SIGNATURE = re.compile(r"signature[ \t]+([^\W\d]\w*)(?:[ \t]+(unordered))?[ \t]*$")
_DECLARATIONS = ("sort", "operation")
_HEADER = re.compile(r"(\w+)[ \t]+(\w+)(?:[ \t]*->[ \t]*(\w+))?[ \t]*$")
_RULE = re.compile(r"rule\s+(\w+)(?:\s+for\s+(\w+)\s+in\s+((?:\w+\s+)*?\w+))?\s*(?:@(\w+)\s*)?:")
# As far as a head can be read.
_HEAD = re.compile(r"rule\b(?:\s+\w+)?(?:\s+for\s+\w+\s+in(?:\s+\w+)*)?(?:\s*@\w+)?\s*")
_DEFINE = re.compile(r"define\s+(\w+)\s*\(([^()]*)\)\s*=(?!=)")
_CLAUSE = re.compile(r"(let|where)\s+([^\W\d]\w*)\s*(?:(\.\.\.)\s*)?=(?!=)|if\b")
_WORD = re.compile(r"[^\W\d]\w*")
# What is written in the place of an arrow.
_LIKE_ARROW = re.compile("->|\u21d2|\u2192|\u27f9|(?<![=<>!:])=(?![=>])")
# A string, which nothing has to close, or a character outside of strings that is not blank.
_PARTS = re.compile(r"""\"(?:\\.?|[^"\\])*"?|'(?:\\.?|[^'\\])*'?|(?P<visible>\w+|[^\s"'])""", re.DOTALL)


def read_text(content: str, file: str) -> Text:
    """The text with comments replaced by blanks, so that columns stay what they are."""
    raw = content.removeprefix("\ufeff").splitlines()  # a byte order mark is no part of it
    _check_lines(raw, file)
    clean = [_without_comment(line) for line in raw]
    starts, offset = [], 0
    for line in clean:
        starts.append(offset)
        offset += len(line) + 1
    return Text(file, content, tuple(raw), "\n".join(clean) + "\n", tuple(starts or [0]))


def _check_lines(raw: list[str], file: str) -> None:
    """Whether a file has no more text than rules need."""
    if sum(map(len, raw)) > FILE:
        raise RuleFileError(f"{file}: the file has more than {FILE} characters", do="split it")
    for number, line in enumerate(raw, 1):
        if len(line) > LINE:
            what = f"{file}:{number}:{LINE + 1}: the line has more than {LINE} characters"
            raise RuleFileError(what, do="inside brackets a line may be continued")


def _without_comment(line: str) -> str:
    quote, escaped = None, False
    for i, char in enumerate(line):
        if quote:
            quote = None if char == quote and not escaped else quote
            escaped = char == "\\" and not escaped
        elif char in "\"'":
            quote = char
        elif char == "#":
            return line[:i].rstrip()
    return line.rstrip()


def is_of_signature(content: str) -> bool:
    """Whether a rule file begins as those of a signature do.

    >>> is_of_signature("# naturals\\n\\nsignature peano"), is_of_signature("simplify semi")
    (True, False)
    """
    first = (line for line in content.splitlines() if line.strip() and not line.startswith("#"))
    return next(first, "").startswith("signature")


def read_frame(content: str, file: str) -> FileFrame:
    """Cut a rule file up.

    Raises:
        RuleFileError: where the frame is broken: header, a rule without ``=>``, an unknown clause.
    """
    text = read_text(content, file)
    statements = list(_statements(text))
    _check_statements(text, statements)
    if not statements:
        what = "nothing begins in the first column" if text.clean.strip() else "the file is empty"
        raise text.error(Span(1, 1), what, "begin with a header such as `simplify semi`")
    kind, source, target, ordered = _header(text, *statements[0])
    words = ("rule", "define", "waive", *(_DECLARATIONS if kind == REWRITE else ()))
    for (before, _), (start, _) in zip(statements, statements[1:], strict=False):
        if not text.clean.startswith(words, start):
            raise _neither(text, before, start)
    rules = [_rule(text, *s) for s in statements[1:] if text.clean.startswith("rule", s[0])]
    defines = [_define(text, *s) for s in statements[1:] if text.clean.startswith("define", s[0])]
    waivers = [_waiver(text, *s) for s in statements[1:] if text.clean.startswith("waive", s[0])]
    declarations = [Piece(text, *s) for s in statements[1:] if text.clean.startswith(_DECLARATIONS, s[0])]
    told = tuple(rules), tuple(defines), tuple(waivers), tuple(declarations)
    return FileFrame(text, kind, source, target, *told, ordered, text.span(statements[0][0]))


def _neither(text: Text, before: int, start: int) -> RuleFileError:
    """What stands in the first column and is neither a rule nor a shorthand."""
    head = _RULE.match(text.clean, before, start)
    what = "the equation" if head and not text.clean[head.end() : start].strip() else "what continues a rule"
    word = _WORD.match(text.clean, start)
    do = meant(word[0] if word else "", ("rule", "define", "waive"), f"indent {what}")
    return text.error(text.span(start), "expected `rule`, `define` or `waive`", do)


def _statements(text: Text) -> Iterator[tuple[int, int]]:
    """Stretches that begin in the first column and go on while lines are indented or blank."""
    begins = [m.start() for m in re.finditer(r"^(?=\S)", text.clean, re.MULTILINE)]
    yield from zip(begins, [*begins[1:], len(text.clean)], strict=False)


def _check_statements(text: Text, statements: list[tuple[int, int]]) -> None:
    """Whether a file has no more rules, shorthands and waivers than it may, and none is too long."""
    most = RULES + WAIVERS
    if len(statements) > most:
        raise text.error(text.span(statements[most][0]), f"the file has more than {most} statements", "split it")
    for start, end in statements:
        if end - start > STATEMENT:
            raise text.error(text.span(start), f"this has more than {STATEMENT} characters", "split it")


def _header(text: Text, start: int, end: int) -> tuple[str, str, str, bool]:
    """The kind of the rules, the families of both sides, and whether the rules have to go down."""
    first, _, rest = text.clean[start:end].partition("\n")
    if rest.strip() and (_SIGNATURE.match(first) or _HEADER.match(first)):
        at = Piece(text, start + len(first), end).span
        do = "begin rules, and what else is no part of one, in the first column"
        raise text.error(at, "a header has one line, and this goes on with it", do)
    signature = _SIGNATURE.match(first)
    if signature is not None:
        return REWRITE, signature[1], signature[1], signature[2] is None
    match = _HEADER.match(first)
    if match is None or match[1] not in KINDS:
        raise text.error(
            text.span(start),
            "a rule file begins with a header",
            meant(first.split(maxsplit=1)[0], {*KINDS} - {*first.split()})
            or f"write one of {', '.join(KINDS)} and a family, such as `lower axes -> semi`, or `signature NAME`",
        )
    return match[1], match[2], match[3] or match[2], True


def _rule(text: Text, start: int, end: int) -> RuleFrame:
    match = _RULE.match(text.clean, start, end)
    if match is None:
        read = _HEAD.match(text.clean, start, end)
        at = text.span(start if read is None else min(read.end(), end - 1))
        raise text.error(at, "cannot read the rule's head", "write `rule NAME [for f in a b] [@class]:`")
    marks = list(_clause_marks(text, match.end(), end))
    ends = [*(m.start() for m in marks[1:]), end]
    first = marks[0].start() if marks else end
    arrow = _arrow(text, match.end(), first)
    clauses = tuple(
        ClauseFrame(m[1] or "if", m[2] or "", bool(m[3]), Piece(text, m.end(), stop))
        for m, stop in zip(marks, ends, strict=False)
    )
    left, right = Piece(text, match.end(), arrow), Piece(text, arrow + 2, first)
    alternatives = tuple((match[3] or "").split())
    return RuleFrame(match[1], match[2], alternatives, match[4], left, right, clauses, text.span(start))


def _clause_marks(text: Text, start: int, end: int) -> Iterator[re.Match[str]]:
    """Clauses begin a line, outside brackets."""
    line = -1  # where the last line began that had something in it
    for offset, depth in _depths(text, start, end):
        begins = text.clean.rfind("\n", 0, offset) + 1
        at_line_start = begins != line and not text.clean[begins:offset].strip()
        line = begins
        if depth == 0 and at_line_start:
            match = _CLAUSE.match(text.clean, offset, end)
            if match:
                yield match
            else:
                _check_clause_word(text, start, offset)


def _check_clause_word(text: Text, start: int, offset: int) -> None:
    """A name that begins a line where an expression could end is meant to begin a clause."""
    word = _WORD.match(text.clean, offset)
    before = _last_word(text, start, offset)
    if word is None or keyword.iskeyword(word[0]) or not before or keyword.iskeyword(before):
        return
    if word[0] in ("let", "where"):
        raise text.error(text.span(offset), "cannot read the clause", f"write `{word[0]} NAME = ...`")
    raise text.error(text.span(offset), f"`{word[0]}` begins no clause", "a clause begins with let, where or if")


def _last_word(text: Text, start: int, offset: int) -> str:
    """The word, or the mark that an operand may end with, before an offset; nothing if there is none."""
    end = offset
    while end > start and text.clean[end - 1].isspace():
        end -= 1
    begin = end
    while begin > start and (text.clean[begin - 1].isalnum() or text.clean[begin - 1] == "_"):
        begin -= 1
    if begin < end:
        return text.clean[begin:end]
    return text.clean[end - 1] if end > start and text.clean[end - 1] in ")]}\"'." else ""


def _arrow(text: Text, start: int, end: int) -> int:
    plain = [offset for offset, depth in _depths(text, start, end) if depth == 0]
    for offset in plain:
        if text.clean.startswith("=>", offset):
            return offset
    check_brackets(Piece(text, start, end))
    for offset in plain:
        if _LIKE_ARROW.match(text.clean, offset):
            raise text.error(text.span(offset), "the rule has no `=>`", "did you mean `=>`?")
    raise text.error(text.span(start), "the rule has no `=>`", "write `LEFT => RIGHT`")


def _depths(text: Text, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Each offset that begins a word, or another visible character, outside strings, with its depth in brackets."""
    depth = 0
    for offset, part in visible(text, start, end):
        if part in ")]}":
            depth -= 1
            continue
        yield offset, depth
        depth += part in "([{"


def visible(text: Text, start: int, end: int) -> Iterator[tuple[int, str]]:
    """Each word, and each other character that is not blank, outside strings, with its offset."""
    for found in _PARTS.finditer(text.clean, start, end):
        if found.lastgroup == "visible":
            yield found.start(), found[0]


def check_brackets(piece: Piece) -> None:
    """A bracket that closes nothing would close the one that is put around the expression; so would one too few."""
    text, opened = piece.text, list[int]()
    for offset, char in visible(text, piece.start, piece.end):
        if char in "([{":
            opened.append(offset)
        elif char in ")]}":
            if not opened:
                raise text.error(text.span(offset), f"`{char}` closes nothing")
            opened.pop()
    if opened:
        raise text.error(text.span(opened[-1]), f"'{text.clean[opened[-1]]}' was never closed")


def _define(text: Text, start: int, end: int) -> DefineFrame:
    match = _DEFINE.match(text.clean, start, end)
    if match is None:
        raise text.error(text.span(start), "cannot read the shorthand", "write `define NAME(a, b) = term`")
    commas = [offset for offset in range(*match.span(2)) if text.clean[offset] == ","]
    cuts = zip([match.start(2), *(c + 1 for c in commas)], [*commas, match.end(2)], strict=True)
    pieces = [Piece(text, *cut) for cut in cuts]
    if not str(pieces[-1]):  # of none, or behind the last comma
        pieces.pop()
    parameters, places = tuple(map(str, pieces)), tuple(p.span for p in pieces)
    return DefineFrame(match[1], parameters, places, Piece(text, match.end(), end), text.span(start))


def _waiver(text: Text, start: int, end: int) -> WaiveFrame:
    match = WAIVE.match(text.clean, start, end)
    if match is None:
        do = "write `waive CHECK of RULE: reason` or `waive CHECK of RULE and OTHER: reason`"
        raise text.error(text.span(start), "cannot read the waiver", do)
    reason = " ".join(text.clean[match.end() : end].split())
    if not reason:
        raise text.error(text.span(start), "the waiver gives no reason", "say after the colon why it is right")
    return WaiveFrame(match[1], match[2], match[3], reason, text.span(start))
