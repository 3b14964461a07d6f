# SPDX-License-Identifier: Apache-2.0
"""What can be said of a rule and an op, in a word and in full."""

from __future__ import annotations

from dataclasses import dataclass

FIRED = "fired"
# What can be said of a rule and an op, from what lies before all else to what is missing last.
VERDICTS = (
    "is disabled", "is of a class that may not fire", "has no use for the target", "does not match",
    "matches, and its guard refuses", "matches, and cannot be built", "matches, and another rule came first",
    "matches what was never tried", "matches in another pass", "matches a term, and not the graph", FIRED,
)  # fmt: skip
DISABLED, CLASS, TARGET, MATCH, GUARD, FAILS, EARLIER, UNTRIED, PASS, GRAPH, _ = VERDICTS


@dataclass(frozen=True)
class WhyNot:
    """The answer; `str` gives it in words.

    Attributes:
        rule: The name of the rule that was asked about, and for one with alternatives that of the nearest.
        verdict: One of `VERDICTS`.
        text: The answer.
    """

    rule: str
    verdict: str
    text: str

    @property
    def fired(self) -> bool:
        """Whether the rule did fire."""
        return self.verdict == FIRED

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__
