# SPDX-License-Identifier: Apache-2.0
"""Rule files as pytest sees them: a file has rules, a rule has checks, a check is a test."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from ngraph_rewrite.errors import NGraphRewriteError
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.testing.findings import CHECKS, FAILED, LISTED, LISTED_IF_QUICK, NONE, OPEN, WAIVED, Finding
from ngraph_rewrite.testing.suite import FULL, OF_ALL_RULES, QUICK, Question, Subject, answer_of
from ngraph_rewrite.testing.workers import Workers

# The checks that apply to adjoints alone, and those that do not apply to them.
ADJOINTS, EQUATIONS = {"adjoint"}, {"termination", "subsumption", "values", "cpu", "confluence"}


class Wrong(Exception):
    """A check of a rule failed; the message is the counterexample."""


class RuleFile(pytest.File):
    """A rule file: a collector of its rules."""

    subject: Subject

    def collect(self) -> Iterator[RuleNode]:
        """A node for each rule.

        Raises:
            pytest.Collector.CollectError: with the place of a mistake, if the file cannot be read.
        """
        option = self.config.option
        effort = replace(QUICK if option.rules_quick else FULL, seed=option.rules_seed)
        self.subject = Subject((self.path,), effort=effort)
        try:
            rules = self.subject.rules
        except NGraphRewriteError as error:
            raise self.CollectError(str(error)) from None
        self._workers: Workers[Question, list[Finding]] | None = None
        self._known: dict[str, Sequence[Finding]] = {}
        self.session.config.add_cleanup(self.close)
        for index, rule in enumerate(rules):
            yield RuleNode.from_parent(self, name=rule.name, index=index, rule=rule)

    def close(self) -> None:
        """End the process that answers."""
        if self._workers is not None:
            self._workers.close()
            self._workers = None

    def finding(self, index: int, check: str) -> Finding | None:
        """What a check says of a rule, from a process of its own, which is started when first needed."""
        if self._workers is None:
            self._workers = Workers(self.subject, 1, self.subject.patience)
        if check not in OF_ALL_RULES:
            return next(iter(self._asked((index, check))), None)
        if check not in self._known:
            self._known[check] = self._asked((None, check))
        name = self.subject.rules.rules[index].name
        return next((f for f in self._known[check] if f.rule == name), None)

    def _asked(self, question: Question) -> Sequence[Finding]:
        assert self._workers is not None
        ((_, answer),) = self._workers.ask([question])
        return answer_of(self.subject, question, answer)


class RuleNode(pytest.Collector):
    """A rule: a collector of the checks that apply to it."""

    def __init__(self, *, index: int, rule: Rule, **others: Any) -> None:
        super().__init__(**others)
        self.index, self.rule = index, rule

    def collect(self) -> Iterator[CheckItem]:
        """A test for each check."""
        excluded = EQUATIONS if self.rule.kind == "derive" else ADJOINTS
        for check in CHECKS:
            if check not in excluded:
                yield CheckItem.from_parent(self, name=check)


class CheckItem(pytest.Item):
    """A check of a rule: it passes, fails with the counterexample, or is skipped where what is only listed is open."""

    def runtest(self) -> None:
        """Make the check."""
        node = self.parent
        assert isinstance(node, RuleNode) and isinstance(node.parent, RuleFile)
        found = node.parent.finding(node.index, self.name)
        if found is None or found.status == NONE:
            pytest.skip("the check does not apply to this rule")
        if found.status == FAILED:
            raise Wrong(str(found))
        listed = LISTED_IF_QUICK if self.config.option.rules_quick else LISTED
        if found.status == OPEN and found.check in listed:
            pytest.skip(f"not decided: {found.says}")
        if found.status == OPEN:
            raise Wrong(f"{found.at}: rule {found.rule}: {found.check} is not decided: {found.says}")
        if found.status == WAIVED:
            pytest.xfail(found.says)

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """The counterexample alone."""
        return str(excinfo.value) if isinstance(excinfo.value, Wrong) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """The line of the rule."""
        node = self.parent
        assert isinstance(node, RuleNode)
        return self.path, node.rule.line - 1, f"{node.rule.name}: {self.name}"
