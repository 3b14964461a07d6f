# SPDX-License-Identifier: Apache-2.0
"""Mutants of many rules, judged by several processes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ngraph_rewrite.testing.mutation.score import Report
from ngraph_rewrite.testing.mutation.verdicts import MutantVerdict, mutation_findings, share
from ngraph_rewrite.testing.suite import Subject
from ngraph_rewrite.testing.workers import Lost, Workers

# Mutants that a process judges before it answers, and how long it may take for them.
SEVERAL, PATIENCE = 16, 300.0

# The rule, and from which to which of its mutants.
Some = tuple[int, int, int]


@dataclass(frozen=True)
class Mutation:
    """The mutants of the rules of a subject."""

    subject: Subject

    def questions(self) -> list[Some]:
        """A few mutants of a rule at a time; of rules with many of them first."""
        counts = [len(share(rule, self.subject.rules)) for rule in self.subject.rules]
        order = sorted(range(len(counts)), key=lambda i: -counts[i])
        return [(i, k, min(k + SEVERAL, counts[i])) for i in order for k in range(0, counts[i], SEVERAL)]

    def __call__(self, question: Some) -> list[MutantVerdict]:
        """The verdicts on some mutants of a rule."""
        index, first, last = question
        rule = self.subject.rules.rules[index]
        return mutation_findings(rule, self.subject.context, share(rule, self.subject.rules)[first:last])


def mutation_score(
    subject: Subject, count: int | None = None, progress: Callable[[int, int], None] | None = None
) -> Report:
    """The verdicts on all mutants of the rules of a subject, in the order of the rules.

    Those that took a process too long together are asked for again, one at a time.

    Args:
        count: How many processes; by default one for each core.
        progress: Told how many mutants are judged, and how many there are.
    """
    mutation, judged = Mutation(subject), 0
    questions = mutation.questions()
    total = sum(last - first for _, first, last in questions)
    found: dict[Some, list[MutantVerdict]] = {}
    with Workers(mutation, count, PATIENCE) as workers:
        while questions:
            again: list[Some] = []
            for question, answer in workers.ask(questions):
                index, first, last = question
                if isinstance(answer, Lost) and last - first > 1:
                    again += [(index, k, k + 1) for k in range(first, last)]
                    continue
                found[question] = _lost(subject, question, answer) if isinstance(answer, Lost) else answer
                judged += last - first
                if progress is not None:
                    progress(judged, total)
            questions = again
    return Report([verdict for question in sorted(found) for verdict in found[question]])


def _lost(subject: Subject, question: Some, answer: Lost) -> list[MutantVerdict]:
    """Of what no verdict came nothing is known."""
    index, first, last = question
    rule = subject.rules.rules[index]
    return [
        MutantVerdict(rule.name, m.rule.place, m.what, m.rule.text, says=answer.why)
        for m in share(rule, subject.rules)[first:last]
    ]
