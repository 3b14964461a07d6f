# SPDX-License-Identifier: Apache-2.0
"""What can be said of a rule and an op, in a word and in full."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

FIRED = "fired"
# What can be said of a rule and an op, from what lies before all else to what is missing last.
VERDICTS = (
    "is disabled", "is of a class that may not fire", "has no use for the target", "takes no part", "does not match",
    "matches, and its guard refuses", "matches, and cannot be built", "matches, and another rule came first",
    "matches what was never tried", "matches in another pass", "matches a term, and not the graph", FIRED,
)  # fmt: skip
DISABLED, CLASS, TARGET, ABSENT, MATCH, GUARD, FAILS, EARLIER, UNTRIED, PASS, GRAPH, _ = VERDICTS


class Finding(NamedTuple):
    """What came of a rule on a form of an op.

    Attributes:
        verdict: One of `VERDICTS`.
        reached: How far it got: of several forms, that with the most is told of.
        lines: What says so.
    """

    verdict: str
    reached: int
    lines: list[str]


# What is far: it fired, it matches and something else is in the way, its guard refuses, or it does not match.
HAS_FIRED, MATCHES, REFUSED = 10_000, 5_000, 2_000


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
