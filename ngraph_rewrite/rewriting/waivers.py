# SPDX-License-Identifier: Apache-2.0
"""A waiver says in a rule file that a check need not pass for a rule, and why that is right.

    waive confluence of number_right and semi.add_zero: both give the number, in one form or the other

The check is named first, then the rule of the file, then, where a check looks at two rules, the other one, with the
stem of its file if that is another. The name of a rule written with ``for`` stands for all its alternatives. The
reason goes on to the end of the statement.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ngraph_rewrite.rewriting.expression import Span

# The checks that a file may waive: a wrong type, a loop or a rule that cannot be read is never right.
WAIVABLE = ("values", "cpu", "proof", "guard", "subsumption", "confluence", "adjoint", "mutation")
UNWAIVABLE = ("types", "termination")
WAIVE = re.compile(r"waive\s+(\w+)\s+of\s+([\w.]+)(?:\s+and\s+([\w.]+))?\s*:")


@dataclass(frozen=True)
class Waiver:
    """A check that need not pass for a rule.

    Attributes:
        check: The name of the check.
        rule: The rule, as ``file.rule`` or ``file.rule.alternative``.
        other: The other rule, or None for any.
        reason: Why it is right, in words.
    """

    check: str
    rule: str
    other: str | None
    reason: str
    span: Span = field(default=Span(0, 0), compare=False)

    def covers(self, check: str, rule: str, other: str | None = None) -> bool:
        """Whether it speaks of this check of this rule, with the other.

        >>> waiver = Waiver("confluence", "my.a", "semi.b", "either is right")
        >>> waiver.covers("confluence", "my.a", "semi.b.exp"), waiver.covers("confluence", "my.a", "semi.c")
        (True, False)
        """
        if check != self.check or not covers_name(self.rule, rule):
            return False
        return self.other is None or (other is not None and covers_name(self.other, other))


def covers_name(written: str, name: str) -> bool:
    """Whether a written name stands for the rule called `name`: it is its own, or that of its alternatives."""
    return name == written or name.startswith(written + ".")
