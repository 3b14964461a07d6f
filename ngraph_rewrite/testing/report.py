# SPDX-License-Identifier: Apache-2.0
"""What a check of rule files says in the end: a table, what is not proved and why, counterexamples, the verdict."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace

from ngraph_rewrite.lowering.layout import columns
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.testing.findings import CHECKS, FAILED, LISTED, NONE, OPEN, PASSED, WAIVED, Finding, key

SIGNS = {PASSED: "ok", FAILED: "WRONG", WAIVED: "waived", OPEN: "open", NONE: "-"}
# A table of more rules than these has a line per file.
LONGEST = 40


@dataclass(frozen=True)
class Report:
    """The findings about rules, of the order of the rules and then of the checks.

    Attributes:
        rules: The rules that were checked.
        found: At most one finding for each check of each rule: of several the first that failed.
        orders: The orders in which the rules of each pass go down, as text.
        seconds: How long it took.
        kernels: The findings about kernels, where there are some.
        unusable: How many files could not be read.
    """

    rules: tuple[Rule, ...]
    found: tuple[Finding, ...]
    orders: str = ""
    seconds: float = 0.0
    listed: tuple[str, ...] = LISTED
    kernels: tuple[Finding, ...] = ()
    unusable: int = 0

    @property
    def failed(self) -> list[Finding]:
        """What does not hold."""
        return [f for f in self.found if f.status == FAILED]

    @property
    def right(self) -> bool:
        """Whether every check of every rule holds or is waived, but for what is only listed if it is open.

        All kernels have to be right, too, and all files such as can be read.
        """
        wrong = self.unusable or any(f.status == FAILED for f in self.kernels)
        return not self.failed and not self.undecided and not wrong

    @property
    def undecided(self) -> list[Finding]:
        """The checks that have to come to an end, and did not."""
        return [f for f in self.found if f.status == OPEN and f.check not in self.listed]

    def wrong_rules(self) -> set[tuple[str, str]]:
        """The rules of which some check failed, each as `key` says."""
        return {f.of for f in self.failed}

    def text(self) -> str:
        """The whole report; the verdict comes last."""
        parts = [self.orders, self.table(), *self.mistakes(), self.waivers(), self.in_part(), self.unproved()]
        return "\n\n".join(part for part in (*parts, self.verdict()) if part)

    def mistakes(self) -> Iterator[str]:
        """What is wrong: of each rule one counterexample, and a line for each other check that failed."""
        shown: set[tuple[str, str]] = set()
        for f in self.failed:
            yield str(replace(f, says=f"{f.says} ({f.check})", shown="" if f.of in shown else f.shown))
            if f.shown:
                shown.add(f.of)

    def verdict(self) -> str:
        """One line: how many rules are right, and how many of them proved: another check may refute what one proves."""
        wrong, count = self.wrong_rules() | {f.of for f in self.undecided}, len(self.rules)
        proofs = {f.of: f.status for f in self.found if f.check == "proof"}
        proven = sum(status == PASSED and of not in wrong for of, status in proofs.items())
        proved = f", {proven} of them proved ({_percent(proven, count)})" if proofs else ""
        said = f"{count - len(wrong)} of {_rules(count)} {'is' if count == 1 else 'are'} right{proved}"
        undecided = len({f.of for f in self.undecided} - self.wrong_rules())
        open_ = f", {undecided} not decided" if undecided else ""
        return f"{said}{open_}; {self.seconds:.0f} s"

    def table(self) -> str:
        """A line per rule, or per file if there are many rules; a column per check."""
        checks = [c for c in CHECKS if any(f.check == c for f in self.found)]
        by_rule: dict[tuple[str, str], dict[str, Finding]] = {key(rule): {} for rule in self.rules}
        for f in self.found:
            by_rule[f.of][f.check] = f
        if len(self.rules) <= LONGEST:
            rows = [[self._called(key(r)), *(SIGNS[_status(by_rule[key(r)], c)] for c in checks)] for r in self.rules]
            return columns(["rule", *checks], rows)
        files: dict[str, list[dict[str, Finding]]] = {}
        for rule in self.rules:
            files.setdefault(rule.file, []).append(by_rule[key(rule)])
        rows = [
            [file, str(len(some)), *(_share([_status(one, c) for one in some]) for c in checks)]
            for file, some in files.items()
        ]
        return columns(["file", "rules", *checks], rows)

    def _called(self, of: tuple[str, str]) -> str:
        """The name of a rule, with its place where another one has that name."""
        place, name = of
        return f"{name} ({place})" if sum(rule.name == name for rule in self.rules) > 1 else name

    def unproved(self) -> str:
        """Each rule that is not proved, and each check that could not be made, with the reason."""
        lines = [f"  {self._called(f.of)}: {f.says}" for f in self.found if f.status == OPEN and f.check == "proof"]
        proved = f"not proved, but drawn ({len(lines)}):\n" + "\n".join(lines) if lines else ""
        return "\n\n".join(part for part in (self.not_decided(), proved) if part)

    def not_decided(self) -> str:
        """Each check but the proof that came to no end, with the reason."""
        open_ = [f for f in self.found if f.status == OPEN and f.check != "proof"]
        lines = [f"  {self._called(f.of)}: {f.check}: {f.says}" for f in open_]
        return f"not decided ({len(lines)}):\n" + "\n".join(lines) if lines else ""

    def waivers(self) -> str:
        """Each check that a file waives, with its reason."""
        lines = [f"  {self._called(f.of)}: {f.check}: {f.says}" for f in self.found if f.status == WAIVED]
        return f"waived ({len(lines)}):\n" + "\n".join(lines) if lines else ""

    def in_part(self) -> str:
        """Each check that judges less of a rule than of others, with what it leaves out."""
        lines = [f"  {self._called(f.of)}: {f.check}: not judged: {f.unjudged}" for f in self.found if f.unjudged]
        return f"judged in part ({len(lines)}):\n" + "\n".join(lines) if lines else ""

    def as_json(self) -> str:
        """The same for programs: the verdict, the counts, and each finding with its fields."""
        every = [*self.found, *self.kernels]
        found = [asdict(f) for f in every if f.status != NONE or f.unjudged]
        counts = Counter(f"{f.check} {f.status}" for f in every)
        kernels, unusable = len({f.of for f in self.kernels}), self.unusable
        whole = {"right": self.right, "rules": len(self.rules), "kernels": kernels, "unusable": unusable}
        more = {"seconds": round(self.seconds, 1), "counts": dict(sorted(counts.items())), "findings": found}
        return json.dumps({**whole, **more}, indent=1)


def report_of(
    rules: Iterable[Rule],
    found: Iterable[Finding],
    orders: str = "",
    seconds: float = 0.0,
    listed: tuple[str, ...] = LISTED,
) -> Report:
    """The findings in order, of several about one check of one rule the first that failed.

    Args:
        listed: The checks that need not be decided.
    """
    rules = tuple(rules)
    kept: dict[tuple[tuple[str, str], str], Finding] = {}
    for f in found:
        at = kept.get((f.of, f.check))
        if at is None or (at.status != FAILED and f.status == FAILED):
            kept[f.of, f.check] = f
    ordered = (kept.get((key(rule), check)) for rule in rules for check in CHECKS)
    return Report(rules, tuple(f for f in ordered if f is not None), orders, seconds, listed)


def _status(found: dict[str, Finding], check: str) -> str:
    return found[check].status if check in found else NONE


def _share(statuses: Sequence[str]) -> str:
    """How many of a file's rules a check holds for, of those that it applies to."""
    counts = Counter(statuses)
    asked = len(statuses) - counts[NONE]
    if not asked:
        return "-"
    return " ".join(_said(counts, asked))


def _said(counts: Counter[str], asked: int) -> Iterator[str]:
    yield "ok" if counts[PASSED] == asked else f"{counts[PASSED]}/{asked}"
    for status in (WAIVED, OPEN, FAILED):
        if counts[status]:
            yield f"{counts[status]} {SIGNS[status]}"


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "0 %"


def _rules(number: int) -> str:
    return f"{number} rule{'' if number == 1 else 's'}"
