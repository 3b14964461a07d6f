# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a rule that was read already is shown as a mistake in how it is written is: the line, and a caret.

Rules keep no places of their parts, as few are ever asked for. For a message the text of the file is cut up anew.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from ngraph_rewrite.errors import NGraphRewriteError, RuleFileError
from ngraph_rewrite.rewriting.choices import EITHER, MAYBE
from ngraph_rewrite.rewriting.expression import Span
from ngraph_rewrite.rewriting.file_text import rule_text
from ngraph_rewrite.rewriting.frame import read_frame
from ngraph_rewrite.rewriting.frame_parts import FileFrame, RuleFrame, printable
from ngraph_rewrite.rewriting.rule import Rule

# The parts of a rule that a message may be about.
LEFT, RIGHT, GUARD = "left", "right", "guard"
# A left side of which the whole has alternatives.
CHOICE = re.compile(rf"(?:{EITHER}|{MAYBE})\b")


class Place(NamedTuple):
    """Where a part of a rule stands.

    Attributes:
        at: ``file:line:column``; ``file:line`` of a rule whose text is found nowhere.
        lines: The line, one with a caret below the place, and what tells apart the rules that are written there.
    """

    at: str
    lines: tuple[str, ...]


def rule_error(rule: Rule, what: str, do: str | None = None, part: str = LEFT) -> RuleFileError:
    """The error for a rule of which something is wrong, and in which part that is.

    >>> from ngraph_rewrite.rewriting.rulefile import parse_rules
    >>> rule, = parse_rules("simplify semi\\nrule same: exp(x) => exp(x)  # ?", "my.rules", "my")
    >>> print(rule_error(rule, "changes nothing", "delete it", RIGHT))
    my.rules:2:22: rule my.same changes nothing
        rule same: exp(x) => exp(x)  # ?
                             ^
      delete it
    """
    found = place_of(rule, part)
    lines = "".join(f"\n    {line}" for line in found.lines)
    return RuleFileError(printable(f"{found.at}: rule {rule.name} {what}{lines}"), do=do)


def error_at(rule: Rule, span: Span, what: str, do: str | None = None) -> RuleFileError:
    """The error for something else in the file of a rule."""
    file = _file(rule)
    if file is None:
        return RuleFileError(f"{rule.file}:{span.line}:{span.column}: {what}", do=do)
    return file.text.error(span, what, do)


def place_of(rule: Rule, part: str = LEFT) -> Place:
    """Where a part of a rule stands in its file. A guard that is written in the left side stands there."""
    frame = _frame_of(rule)
    if frame is None:  # there is no file, or it was changed, or the rule
        return Place(rule.place, tuple(rule.text.splitlines()))
    span, note = _span(frame, part), rule.text.removeprefix(_equation(frame)).strip()
    text = frame.left.text
    return Place(text.at(span), (*text.pointed(span), *([note] if note else [])))


def beginning_of(rule: Rule) -> Span:
    """Where the text of a rule begins in its file: before the left side, if that is one of several alternatives."""
    frame = _frame_of(rule) if CHOICE.match(rule.text) else None
    return rule.left.span if frame is None else frame.left.span


def _frame_of(rule: Rule) -> RuleFrame | None:
    file = _file(rule)
    found = (f for f in (() if file is None else file.rules) if f.span.line == rule.line)
    return next((f for f in found if rule.text.startswith(_equation(f))), None)


def _equation(frame: RuleFrame) -> str:
    return f"{frame.left} => {frame.right}"


def _file(rule: Rule) -> FileFrame | None:
    content = _content(rule)
    return None if content is None else _frame(content, rule.file)


def _content(rule: Rule) -> str | None:
    if isinstance(rule.source, str):
        return rule.source
    try:
        return rule_text(rule.source or rule.file, rule.file)
    except NGraphRewriteError:
        return None


@lru_cache(maxsize=4)
def _frame(content: str, file: str) -> FileFrame | None:
    try:
        return read_frame(content, file)
    except NGraphRewriteError:
        return None


def _span(frame: RuleFrame, part: str) -> Span:
    if part == RIGHT:
        return frame.right.span
    guards = [c.piece.span for c in frame.clauses if c.keyword == "if" and part == GUARD]
    return guards[0] if guards else frame.left.span
