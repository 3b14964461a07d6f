# SPDX-License-Identifier: Apache-2.0
"""The text of a rule file, or why there is none."""

from __future__ import annotations

import os
from pathlib import Path

from ngraph_rewrite.errors import ArgumentError, RuleFileError
from ngraph_rewrite.rewriting.bounds import FILE
from ngraph_rewrite.terms.info import user_line


def rule_text(path: str | os.PathLike[str], shown: str | None = None) -> str:
    """What is written in a rule file, up to a length that no file may have.

    Raises:
        RuleFileError: if it cannot be read, or is not text.
        ArgumentError: for what is no path.
    """
    if not isinstance(path, str | os.PathLike) or not str(path) or "\0" in str(path):
        do = "give a set of rules, the path of a rule file, or its text"
        raise ArgumentError(f"{path!r} is no rules, and no path of any", where=user_line(), do=do)
    try:
        with Path(path).open("rb") as file:
            return file.read(4 * FILE + 1).decode("utf-8")  # no character takes more than four bytes
    except UnicodeDecodeError as error:
        raise RuleFileError(f"{shown or path} is not text in UTF-8: {error}", do="save it in that encoding") from None
    except OSError as error:
        what = f"{shown or path} cannot be read: {error.strerror or error}"
        do = "give the path of a rule file, or its text: a header such as `simplify semi`, and rules on lines below it"
        raise RuleFileError(what, do=do) from None
