# SPDX-License-Identifier: Apache-2.0
"""Every check of every rule: which checks there are, and all of them made by several processes.

The checks of a rule are one question to a process. If it finds no end, each of its checks is asked on its own, so
that it can be said which one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from ngraph_rewrite.data import data_folder
from ngraph_rewrite.lowering.passes import library
from ngraph_rewrite.plugins import load_plugin_ops
from ngraph_rewrite.rewriting.rule import Rule, RuleSet
from ngraph_rewrite.rewriting.rulefile import load_rules
from ngraph_rewrite.rewriting.waivers import covers_name
from ngraph_rewrite.terms.declaring import told
from ngraph_rewrite.testing.adjoints import check_adjoint
from ngraph_rewrite.testing.confluence import confluence_of
from ngraph_rewrite.testing.cpu import check_cpu
from ngraph_rewrite.testing.findings import (
    CHECKS,
    FAILED,
    Context,
    Effort,
    Finding,
    RuleCheck,
    SetCheck,
    check_waivers,
    finding,
    key,
    waived,
)
from ngraph_rewrite.testing.guards import check_guard
from ngraph_rewrite.testing.proof.prove import check_proof
from ngraph_rewrite.testing.signature_checks import KIND as SIGNATURE
from ngraph_rewrite.testing.signature_checks import check_of_signature, together
from ngraph_rewrite.testing.subsumption import check_subsumption
from ngraph_rewrite.testing.termination import check_termination
from ngraph_rewrite.testing.typed import check_types
from ngraph_rewrite.testing.values import check_values
from ngraph_rewrite.testing.workers import Lost, Workers

OF_A_RULE: Mapping[str, RuleCheck] = {
    "types": check_types,
    "values": check_values,
    "adjoint": check_adjoint,
    "cpu": check_cpu,
    "guard": check_guard,
    "proof": check_proof,
    "confluence": confluence_of,
}
OF_ALL_RULES: Mapping[str, SetCheck] = {"termination": check_termination, "subsumption": check_subsumption}

QUICK, FULL = Effort(8, 0.15), Effort(50, 1.0)
# What can be checked without compiling anything.
UNCOMPILED = tuple(check for check in CHECKS if check != "cpu")
# How long a process may take for the checks of one rule, or for one check of all rules, before it is ended: far more
# than any right rule needs. One check of one rule has a third of it.
PATIENCE = 90.0

# Seconds for a whole file, at least, and for each of its rules: ten times what right ones need.
LEAST, SHARE = 600.0, 5.0

# What a process is asked: all checks of a rule, one check of it, or one of all rules together.
Question = tuple[int, str | None] | tuple[None, str]


@dataclass(frozen=True)
class Subject:
    """What is checked, and how.

    Attributes:
        paths: Rule files; none for those of the library.
        only: The names of the rules, or of their alternatives, that are checked; None for all.
        effort: How much work each check may take.
        checks: The checks that are made.
    """

    paths: tuple[Path, ...] = ()
    only: tuple[str, ...] | None = None
    effort: Effort = FULL
    checks: tuple[str, ...] = CHECKS
    given: RuleSet | None = field(default=None, compare=False)

    @cached_property
    def _both(self) -> tuple[RuleSet, Context]:
        """The rules that are checked, and what they run together with."""
        load_plugin_ops()
        own = self.given if self.given is not None else self._read()
        shipped, taken = library(), {rule.name for rule in own}
        known = {id(rule) for rule in shipped}
        others = RuleSet(rule for rule in shipped if rule.name not in taken)  # it may be an installed file
        every = shipped if all(id(rule) in known for rule in own) else own + others
        check_waivers(own, every)
        names = self.only
        chosen = own if names is None else RuleSet(r for r in own if any(is_called(r, name) for name in names))
        return chosen, Context(every, self.effort)

    def _read(self) -> RuleSet:
        if not self.paths:
            return library()
        shipped = {path.resolve() for path in data_folder("rules").glob("*.rules")}
        joined = RuleSet()
        for path in self.paths:
            if path.resolve() in shipped:
                joined += RuleSet(r for r in library() if r.file == f"rules/{path.name}")
            else:
                joined += load_rules(path, _shown(path))
        return joined

    @property
    def rules(self) -> RuleSet:
        """The rules that are checked.

        Raises:
            RuleFileError: for a file that cannot be read as rules, or a waiver that names a rule that there is not.
        """
        return self._both[0]

    @property
    def context(self) -> Context:
        """What each check is given."""
        return self._both[1]

    def questions(self) -> list[Question]:
        """All there is to ask; what takes long comes first."""
        together: list[Question] = [(None, check) for check in OF_ALL_RULES if check in self.checks]
        return [*together, *((i, None) for i in range(len(self.rules)))]

    def __call__(self, question: Question) -> list[Finding]:
        """The findings that answer a question."""
        index, check = question
        if index is None:
            return self._of_all(str(check))
        rule = self.rules.rules[index]
        found: list[Finding] = []
        for name in OF_A_RULE if check is None else [check]:
            if name in self.checks:
                found.append(self._of_one(name, rule))
                if name == "types" and found[-1].status == FAILED:  # what is ill-typed has no value to compare
                    return found
        return found

    def patience(self, question: Question) -> float:
        """How many seconds the answer may take."""
        index, check = question
        if index is None:
            return PATIENCE
        return min(PATIENCE, 30 + 60 * self.effort.seconds) / (1 if check is None else 3)

    def _of_one(self, check: str, rule: Rule) -> Finding:
        try:
            if rule.kind == SIGNATURE:
                return waived(check_of_signature(check, rule, self.context), rule)
            found = OF_A_RULE[check](rule, self.context)
            return found if check == "confluence" else waived(found, rule)  # that one waives pair by pair itself
        except Exception as error:  # whatever a rule does to a check, the others go on
            return finding(rule, check, FAILED, f"makes the check {check} fail: {told(error)}")

    def _of_all(self, check: str) -> list[Finding]:
        by_key = {key(rule): rule for rule in self.rules}
        try:
            own, others = self.rules.of_kind(SIGNATURE), RuleSet(r for r in self.rules if r.kind != SIGNATURE)
            found = [*together(check, own, self.context), *OF_ALL_RULES[check](others, self.context)]
            return [waived(f, by_key[f.of]) for f in found]
        except Exception as error:
            says = f"makes the check {check} fail: {told(error)}"
            return [finding(rule, check, FAILED, says) for rule in self.rules]


def _shown(path: Path) -> str:
    """The path as it is seen from here."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def is_called(rule: Rule, name: str) -> bool:
    """Whether a name is that of a rule, or of all its alternatives, with or without that of its file."""
    return any(covers_name(name, own) for own in (rule.name, rule.name.partition(".")[2]))


def findings(
    subject: Subject,
    seconds: float | None = None,
    count: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[Finding]:
    """What the checks find out, as they find it out.

    Args:
        seconds: For how long other examples are drawn of the same rules; by default each check is made once.
        count: How many processes; by default one for each core.
        progress: Told how many questions are answered, and how many there are.
    """
    begun, turn = time.monotonic(), 0
    while turn == 0 or (seconds is not None and time.monotonic() - begun < seconds):
        again = replace(subject, checks=subject.checks if turn == 0 else tuple(c for c in DRAWN if c in subject.checks))
        again = replace(again, effort=replace(subject.effort, seed=subject.effort.seed + turn))
        yield from _asked(again, count, progress)
        turn += 1


# The checks that draw other examples for another seed.
DRAWN = ("values", "adjoint", "guard", "cpu")


def _asked(subject: Subject, count: int | None, progress: Callable[[int, int], None] | None) -> Iterator[Finding]:
    questions = subject.questions()
    waiting, lost = dict.fromkeys(questions), list[Question]()
    deadline = time.monotonic() + max(LEAST, SHARE * len(questions))
    with Workers(subject, count, subject.patience) as workers:
        for question, answer in workers.ask(questions):
            del waiting[question]
            if isinstance(answer, Lost) and question[1] is None and question[0] is not None:
                lost += [(question[0], check) for check in OF_A_RULE if check in subject.checks]
            else:
                yield from answer_of(subject, question, answer)
            if progress is not None:
                progress(len(questions) - len(waiting), len(questions))
            if time.monotonic() > deadline:
                break
        for question, answer in workers.ask([] if waiting else lost):
            yield from answer_of(subject, question, answer)
    for question in [*waiting, *(lost if waiting else ())]:
        yield from answer_of(subject, question, Lost("had to wait for rules that took too long"))


def answer_of(subject: Subject, question: Question, answer: Sequence[Finding] | Lost) -> Sequence[Finding]:
    """The findings in an answer, or what is to be said where none came."""
    if not isinstance(answer, Lost):
        return answer
    index, check = question
    about = subject.rules if index is None else [subject.rules.rules[index]]
    return [finding(rule, check or "types", FAILED, f"{answer.why}: {_given_up(check)}") for rule in about]


def _given_up(check: str | None) -> str:
    return "it was not checked" if check is None else f"the check {check} was given up"
