# SPDX-License-Identifier: Apache-2.0
"""What a word that nobody knows may have been meant to be: the known one that is spelt most like it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def meant(word: str, words: Iterable[str], otherwise: str | None = None) -> str | None:
    """What to do about a word: the nearest of those that there are, else something else.

    >>> meant("simplfy", ["simplify", "lower"]), meant("up", ["simplify", "lower"], "write one of them")
    ('did you mean simplify?', 'write one of them')
    """
    near = difflib.get_close_matches(word, list(words), n=1, cutoff=0.7)
    return f"did you mean {near[0]}?" if near else otherwise
