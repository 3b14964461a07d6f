# SPDX-License-Identifier: Apache-2.0
"""A whole rule file as an assertion: every check of every rule holds, or is waived in the file with a reason."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from ngraph_rewrite.terms.paths import as_path
from ngraph_rewrite.testing.findings import CHECKS, known_checks
from ngraph_rewrite.testing.report import report_of
from ngraph_rewrite.testing.rules import WrongRule
from ngraph_rewrite.testing.suite import FULL, Subject, findings


def check_rules(
    path: str | Path,
    examples: int = FULL.examples,
    checks: Iterable[str] = CHECKS,
    seed: int = 0,
    jobs: int | None = None,
) -> int:
    """Make every check of every rule of a file, beside the rules of the library.

    Args:
        examples: How many instances of each rule are drawn.
        checks: The checks that are made; all by default.
        seed: Other examples for other seeds.
        jobs: How many processes; by default one for each core.

    Returns:
        The number of rules.

    Raises:
        ArgumentError: for a check that there is not, or what is no path.
        RuleFileError: if the file cannot be read as rules.
        WrongRule: with a counterexample for each wrong rule, as Python that can be run.
    """
    subject = Subject((as_path(path, "path"),), None, replace(FULL, examples=examples, seed=seed), known_checks(checks))
    report = report_of(subject.rules, findings(subject, count=jobs))
    if not report.right:
        raise WrongRule("\n\n".join([*report.mistakes(), *filter(None, [report.not_decided()])]))
    return len(report.rules)
