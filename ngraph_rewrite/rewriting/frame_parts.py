# SPDX-License-Identifier: Apache-2.0
"""What a rule file is cut into: stretches of text that know their place, and the frames of what is made of them."""

from __future__ import annotations

import bisect
from dataclasses import dataclass

from ngraph_rewrite.errors import RuleFileError
from ngraph_rewrite.rewriting.expression import Span


@dataclass(frozen=True)
class Text:
    """A rule file's text, comments blanked, with the lines to show in errors; `content` is all of it as it is."""

    file: str
    content: str
    raw: tuple[str, ...]
    clean: str
    starts: tuple[int, ...]

    def span(self, offset: int) -> Span:
        """The line and column of an offset in `clean`."""
        line = bisect.bisect_right(self.starts, offset) - 1
        return Span(line + 1, offset - self.starts[line] + 1)

    def error(self, span: Span, message: str, do: str | None = None) -> RuleFileError:
        """An error at `span`: ``file:line:column``, the line, and a caret below the place."""
        shown = "".join(f"\n    {line}" for line in self.pointed(span))
        return RuleFileError(printable(f"{self.at(span)}: {message}{shown}"), do=do)

    def at(self, span: Span) -> str:
        """``file:line:column``."""
        return f"{self.file}:{span.line}:{span.column}"

    def pointed(self, span: Span) -> tuple[str, str]:
        """The line of a place, and one with a caret below it."""
        line = self.raw[span.line - 1] if 0 < span.line <= len(self.raw) else ""
        return line, f"{' ' * (span.column - 1)}^"


def printable(text: str) -> str:
    """The text with a mark for each character that would do something to a terminal; lines and tabs stay."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)


@dataclass(frozen=True)
class Piece:
    """A stretch of the file that holds one expression."""

    text: Text
    start: int
    end: int

    def __str__(self) -> str:
        return self.text.clean[self.start : self.end].strip()

    @property
    def span(self) -> Span:
        """Where its first character that is not blank stands, or its first line ends if there is none."""
        part = self.text.clean[self.start : self.end]
        blank = part if part.strip() else part.partition("\n")[0]
        return self.text.span(self.start + len(blank) - len(blank.lstrip()))


@dataclass(frozen=True)
class ClauseFrame:
    """``let n = ...``, ``where n = ...`` or ``if ...``."""

    keyword: str
    name: str
    sequence: bool
    piece: Piece


@dataclass(frozen=True)
class RuleFrame:
    """One rule, cut up but not yet understood."""

    name: str
    variable: str | None
    alternatives: tuple[str, ...]
    grade: str | None
    left: Piece
    right: Piece
    clauses: tuple[ClauseFrame, ...]
    span: Span


@dataclass(frozen=True)
class DefineFrame:
    """A shorthand: its name, its parameters, where they stand, and its body."""

    name: str
    parameters: tuple[str, ...]
    places: tuple[Span, ...]
    body: Piece
    span: Span


@dataclass(frozen=True)
class WaiveFrame:
    """A check that need not pass for a rule, or for two, with the reason."""

    check: str
    rule: str
    other: str | None
    reason: str
    span: Span


@dataclass(frozen=True)
class FileFrame:
    """A whole rule file: what its rules are for, its rules, its shorthands and its waivers.

    Attributes:
        declarations: What it declares of its signature.
        ordered: Whether its rules have to go down in some order.
        header: Where the header stands.
    """

    text: Text
    kind: str
    source: str
    target: str
    rules: tuple[RuleFrame, ...]
    defines: tuple[DefineFrame, ...]
    waivers: tuple[WaiveFrame, ...] = ()
    declarations: tuple[Piece, ...] = ()
    ordered: bool = True
    header: Span = Span(1, 1)
