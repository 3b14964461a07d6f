# SPDX-License-Identifier: Apache-2.0
"""A rule written where it is used, in a notebook say: the text of a rule file without the file."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ngraph_rewrite.errors import ArgumentError, RuleFileError
from ngraph_rewrite.lazy import lazy_module
from ngraph_rewrite.rewriting.rule import DEFAULT_CLASS, RuleSet
from ngraph_rewrite.terms.info import user_line

if TYPE_CHECKING:
    from ngraph_rewrite.rewriting import checks
else:
    checks = lazy_module("ngraph_rewrite.rewriting.checks")

_WORD = re.compile(r"\w+")


def rule(
    equation: str,
    family: str = "semi",
    *,
    to: str | None = None,
    kind: str = "simplify",
    grade: str | None = None,
    name: str = "rule",
) -> RuleSet:
    """The rules that an equation stands for, checked as those of a file are.

    Args:
        equation: ``left => right``, with clauses (``let``, ``where``, ``if``) on lines of their own below it.
        family: The family whose ops the left side names.
        to: The family of the right side, if it is another one.
        kind: What the rule does: simplify, recognize, lower, select or derive.
        grade: How equal the sides are: exact, real, refines or fast; by default what is usual for the kind.
        name: What to call it.

    Raises:
        RuleFileError: for any mistake, with line, column and a caret.
        ArgumentError: for what is no text.

    >>> import ngraph_rewrite as ng
    >>> ng.rule("x * 1 => x", name="times_one")
    <times_one>:3: times_one.times_one @exact:  x * 1 => x
    """
    words = {"family": family, "family on its right": to or family, "kind": kind, "name": name}
    _check_words(equation, {**words, "grade": grade or "exact"})
    first, *clauses = textwrap.dedent(equation).strip().splitlines() or [""]
    header = f"{kind} {family}" + (f" -> {to}" if to else "")
    mark = f" @{grade or DEFAULT_CLASS.get(kind, 'exact')}"
    lines = [header, "", f"rule {name}{mark}: {first}", *(f"    {c.strip()}" for c in clauses)]
    return checks.checked_text("\n".join(lines) + "\n", f"<{name}>", name)


def _check_words(equation: object, words: Mapping[str, object]) -> None:
    """Whether what a rule is made of is text, and what stands in its head one word each."""
    for said, given in {"equation": equation, **words}.items():
        if not isinstance(given, str):
            what = f"the {said} of a rule is text, and {given!r} is none"
            raise ArgumentError(what, where=user_line(), do='write ng.rule("x * 1 => x")')
        if said in words and not _WORD.fullmatch(given):
            what = f"the {said} of a rule is one word, and {given!r} is none"
            raise RuleFileError(what, where=user_line(), do="write what needs more in a rule file")


def as_rules(rules: RuleSet | str | os.PathLike[str] | None) -> RuleSet:
    """Rules of one's own, however they are given: a set, the path of a rule file, or the text of one.

    Text is told from a path by its line breaks. None stands for no rules. What is not a set is checked.

    Raises:
        RuleFileError: for a rule file with a mistake, or that cannot be read.
        ArgumentError: for what is neither rules nor text nor a path.

    >>> import ngraph_rewrite.ops
    >>> len(as_rules("simplify semi\\nrule times_one: x * 1 => x")), len(as_rules(None))
    (1, 0)
    """
    if rules is None or isinstance(rules, RuleSet):
        return rules if rules is not None else RuleSet()
    if isinstance(rules, str) and "\n" in rules:
        return checks.checked_text(rules.rstrip() + "\n", "<rules>", "rules")
    return checks.checked_rules(rules)
