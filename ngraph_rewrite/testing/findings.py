# SPDX-License-Identifier: Apache-2.0
"""What a check finds out about a rule, and what it is given to find it out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import accumulate

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.rule import Rule, RuleSet
from ngraph_rewrite.rewriting.rule_errors import GUARD, LEFT, RIGHT, error_at, place_of
from ngraph_rewrite.terms.declaring import told
from ngraph_rewrite.terms.info import user_line

# The checks, in the order in which they are made and shown; each is a column of the report.
CHECKS = ("types", "termination", "subsumption", "values", "adjoint", "cpu", "guard", "proof", "confluence")
# What a check may say: that it holds, that it does not, that the rule's file waives it, that nothing could be
# decided, or that it does not apply to such a rule.
PASSED, FAILED, WAIVED, OPEN, NONE = "passed", "failed", "waived", "open", "none"

# What is only listed where it is open: that no proof was found; and where a check is to be quick, that of all rules
# that meet this one some were not looked at in time. All else has to be decided, or waived.
LISTED = ("proof",)
LISTED_IF_QUICK = (*LISTED, "confluence")

# The part of a rule that a check is about, where that is not what it makes.
_ABOUT = {"subsumption": LEFT, "confluence": LEFT, "guard": GUARD}


def known_checks(names: Iterable[str]) -> tuple[str, ...]:
    """The names, if each is one of `CHECKS`: what is made of no rule finds every rule right.

    Raises:
        ArgumentError: for one that is not.

    >>> known_checks(["values", "proof"])
    ('values', 'proof')
    """
    checks = tuple(names)
    unknown = [name for name in checks if name not in CHECKS]
    if unknown:
        what = f"no check is called {unknown[0]!r}"
        raise ArgumentError(what, where=user_line(), do=f"choose among {', '.join(CHECKS)}")
    return checks


@dataclass(frozen=True)
class Finding:
    """What one check found out about one rule.

    Attributes:
        rule: The rule's name.
        place: Its file and line.
        at: The file, line and column of what a check that did not pass is about.
        line: That line, with a caret below the place.
        check: One of `CHECKS`.
        status: PASSED, FAILED, WAIVED, OPEN or NONE.
        says: One line: how it was shown, what is wrong, or why it is open.
        shown: What there is to see of a failure: the counterexample as Python that can be run and pasted into a test.
        other: The other rule's name, where two are concerned.
        unjudged: Of what the check does not judge what it says, where that is less than it does of other rules.
    """

    rule: str
    place: str
    check: str
    status: str
    says: str = ""
    shown: str = ""
    other: str | None = None
    unjudged: str = ""
    at: str = ""
    line: str = ""

    @property
    def of(self) -> tuple[str, str]:
        """Which rule it is about, as `key` says: two files may have rules of one name."""
        return self.place, self.rule

    def __str__(self) -> str:
        if self.status != FAILED:
            return "\n".join([f"{self.rule}: {self.says}", *([self.shown] if self.shown else [])])
        head = f"{self.at or self.place}: rule {self.rule} {self.says}"
        marked = [f"#   {line}" for line in self.line.splitlines()]  # as what is shown below, no part of the program
        return "\n".join([head, *marked, *([self.shown] if self.shown else [])])


def key(rule: Rule) -> tuple[str, str]:
    """What tells a rule from all others: its file and line, and its name, as alternatives share a line."""
    return rule.place, rule.name


def finding(rule: Rule, check: str, status: str, says: str = "", shown: str = "", other: str | None = None) -> Finding:
    """What a check found out about `rule`; of one that it did not pass, with the place of the part it is about."""
    found = Finding(rule.name, rule.place, check, status, says, shown, other)
    return about(_ABOUT.get(check, RIGHT), rule, found) if status in (FAILED, OPEN) else found


def about(part: str, rule: Rule, found: Finding) -> Finding:
    """The finding, about another part of the rule than the check is."""
    at, lines = place_of(rule, part)
    return replace(found, at=at, line="\n".join(lines) if at != rule.place else "")


def comment(rule: Rule) -> str:
    """The rule as it is written, as lines of a comment."""
    return "\n".join(f"#   {line}" for line in rule.text.splitlines())


def said(error: Exception) -> str:
    """What went wrong, in one line; of an error that is not the library's its kind too."""
    what = told(error)
    return " ".join(what.split())


def waived(found: Finding, rule: Rule) -> Finding:
    """The finding, or that the rule's file waives it."""
    if found.status not in (FAILED, OPEN):
        return found
    reason = next((w.reason for w in rule.waivers if w.covers(found.check, found.rule, found.other)), None)
    return found if reason is None else replace(found, status=WAIVED, says=f"{found.says}; waived: {reason}")


def check_waivers(rules: RuleSet, every: RuleSet) -> None:
    """Whether there are the rules of other files that waivers name, which reading one file cannot tell.

    Args:
        rules: Those whose waivers are looked at.
        every: All that run together with them.

    Raises:
        RuleFileError: for the first name that no rule has.
    """
    known = {name for rule in every for name in accumulate(rule.name.split("."), "{}.{}".format)}
    named = ((rule, waiver) for rule in rules for waiver in rule.waivers if waiver.other is not None)
    for rule, waiver in named:
        if waiver.other not in known:
            near = every.nearest(str(waiver.other))
            do = f"did you mean {', '.join(near)}?" if near else "`ngraph-rewrite rules` lists those that ship"
            raise error_at(rule, waiver.span, f"no rule is called {waiver.other}, which a waiver names", do)


@dataclass(frozen=True)
class Effort:
    """How much work a check may take.

    Attributes:
        examples: How many instances of a rule are drawn.
        seconds: About how long one check of one rule may take; what is not decided then is open.
        seed: Other examples for other seeds; the same for the same.
    """

    examples: int = 50
    seconds: float = 1.0
    seed: int = 0


@dataclass
class Context:
    """What a check is given beside the rule.

    Attributes:
        rules: All that run together with the rule: its file's and the library's.
        effort: How much work it may take.
        cache: Where generated code is kept.
    """

    rules: RuleSet
    effort: Effort = field(default_factory=Effort)
    cache: Cache = field(default_factory=Cache)
    _matchers: dict[int, tuple[Rule, Matcher]] = field(default_factory=dict, repr=False)

    def matcher(self, rule: Rule) -> Matcher:
        """The compiled form of one rule alone; one that looks at a graph is right as an equation of terms."""
        if id(rule) not in self._matchers:
            equation = replace(rule, graph=False) if rule.graph else rule
            self._matchers[id(rule)] = (rule, Matcher(RuleSet([equation]), self.cache))
        return self._matchers[id(rule)][1]


# A check of one rule; one of all rules together gives a finding for each, or several.
RuleCheck = Callable[[Rule, Context], Finding]
SetCheck = Callable[[RuleSet, Context], Iterable[Finding]]
