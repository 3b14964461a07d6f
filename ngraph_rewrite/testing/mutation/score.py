# SPDX-License-Identifier: Apache-2.0
"""The share of broken rules that the checks refuse, of all that are not as right as the rules they were made from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.testing.findings import CHECKS, Context
from ngraph_rewrite.testing.mutation.verdicts import MutantVerdict, mutation_findings


@dataclass
class Report:
    """The verdicts on the mutants of some rules."""

    verdicts: list[MutantVerdict] = field(default_factory=list)

    @property
    def survivors(self) -> list[MutantVerdict]:
        """Those that no check refuses, and that are not shown to be right."""
        return [v for v in self.verdicts if v.survives]

    @property
    def waived(self) -> list[MutantVerdict]:
        """Those that no check refuses, of which the rule's file says why they need not be found."""
        return [v for v in self.verdicts if v.refused is None and not v.equivalent and v.waived is not None]

    @property
    def unneeded(self) -> list[MutantVerdict]:
        """Those that no check refuses, and of which it is the guard of the rule that says too much."""
        return [v for v in self.verdicts if v.unneeded]

    @property
    def refused(self) -> Counter[str]:
        """How many each check refuses."""
        return Counter(v.refused for v in self.verdicts if v.refused is not None)

    @property
    def equivalent(self) -> int:
        """How many were shown to be as right as the rules they were made from."""
        return sum(v.equivalent for v in self.verdicts)

    @property
    def score(self) -> float:
        """The share refused of those that are neither right, as far as is known, nor waived: 1.0 if there is none."""
        wrong = len(self.verdicts) - self.equivalent - len(self.waived) - len(self.unneeded)
        return 1.0 if not wrong else self.refused.total() / wrong

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        for v in self.survivors:
            yield f"{v.place}: rule {v.rule}, {v.what}: no check refuses it"
            yield from (f"    {line}" for line in v.text.splitlines())
        for v in self.waived:
            yield f"{v.place}: rule {v.rule}, {v.what}: waived in its file: {v.waived}"
        for v in self.unneeded:
            says = f"right on {v.unneeded} terms that the guard keeps out: is it needed?"
            yield f"{v.place}: rule {v.rule}, {v.what}: {says}"
        by = ", ".join(f"{check} {self.refused[check]}" for check in CHECKS if self.refused[check])
        late = sum(v.at_length for v in self.verdicts)
        yield f"{len(self.verdicts)} broken rules: {self.refused.total()} refused ({by};"
        yield f"{late} of them only on more examples than a check draws),"
        yield f"{self.equivalent} as right as the rule ({', '.join(self._reasons())}),"
        if self.unneeded:
            yield f"{len(self.unneeded)} right without a guard that may not be needed,"
        yield f"{len(self.waived)} waived in their files, {len(self.survivors)} left"
        yield f"mutation score {_percent(self.score)}"

    def _reasons(self) -> list[str]:
        """How many were shown to be right in each way."""
        ways = Counter(v.way for v in self.verdicts if v.equivalent)
        return [f"{way} {count}" for way, count in sorted(ways.items())] or ["none"]


def _percent(share: float) -> str:
    """Never 100 % unless it is."""
    return f"{int(share * 1000) / 10:g} %"


def score(rules: Iterable[Rule], context: Context) -> Report:
    """The verdicts on all mutants of some rules, one rule after the other.

    >>> from ngraph_rewrite.rewriting.rulefile import parse_rules
    >>> rules = parse_rules("simplify semi\\nrule r: -(-x) => x", "my.rules", "my")
    >>> print(score(rules, Context(rules)))
    2 broken rules: 2 refused (values 2;
    0 of them only on more examples than a check draws),
    0 as right as the rule (none),
    0 waived in their files, 0 left
    mutation score 100 %
    """
    report = Report()
    for rule in rules:
        report.verdicts += mutation_findings(rule, context)
    return report
