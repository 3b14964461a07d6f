# SPDX-License-Identifier: Apache-2.0
"""What becomes of each broken variant of a rule: a check refuses it, it is shown to be right, or it survives."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.testing.findings import FAILED, PASSED, Context
from ngraph_rewrite.testing.mutation.equivalence import Instances, right_at_every_half
from ngraph_rewrite.testing.mutation.judge import Judge
from ngraph_rewrite.testing.mutation.mutants import Mutant, mutants

# A guard is said to be unneeded if the rule is right on at least so many terms that it keeps out.
ENOUGH_BEYOND = 20


@dataclass(frozen=True)
class MutantVerdict:
    """What became of a mutant.

    Attributes:
        rule: The name of the rule that was broken.
        place: Its file and line.
        what: What was done to it.
        text: The broken rule, as it could stand in a rule file.
        refused: The check that refused it, if one did.
        says: What that check said, or why the mutant is as right as the rule.
        at_length: Whether it took more examples than the check has to refuse it.
        equivalent: Whether it was shown to be as right as the rule.
        waived: Why the rule's file says that such mistakes need not be found, if it says so.
        unneeded: Where only the guard is another one, on how many terms that the rule's own keeps out it is right, if
            it is wrong on none of them: the guard may say too much.
    """

    rule: str
    place: str
    what: str
    text: str
    refused: str | None = None
    says: str = ""
    at_length: bool = False
    equivalent: bool = False
    waived: str | None = None
    unneeded: int = 0

    @property
    def way(self) -> str:
        """How it was shown to be as right as the rule, without the numbers; by values too, where that alone is said."""
        head = self.says.partition(" of ")[0] if not self.says.startswith("proved") else "proved bit by bit"
        return "proved over the reals, and by values" if "over the reals" in self.says else head

    @property
    def survives(self) -> bool:
        """Whether it is not known to be right, no check refuses it, and nothing was said about it."""
        return self.refused is None and not self.equivalent and self.waived is None and not self.unneeded


def mutation_findings(rule: Rule, context: Context, chosen: Iterable[Mutant] | None = None) -> list[MutantVerdict]:
    """A verdict for each mutant of a rule; the same in any process.

    Args:
        chosen: Some of its mutants; by default all.
    """
    judge, instances = Judge(rule, context), Instances(rule, replace(context, _matchers={}))
    return [_verdict(mutant, judge, instances) for mutant in (mutants(rule) if chosen is None else chosen)]


def share(rule: Rule, rules: Iterable[Rule]) -> list[Mutant]:
    """The mutants of a rule that are judged: the alternatives of one equation, broken in the same ways, share them."""
    alternatives = [r.name for r in rules if r.place == rule.place] or [rule.name]
    first = alternatives.index(rule.name) if rule.name in alternatives else 0
    return list(mutants(rule))[first :: len(alternatives)]


def _verdict(mutant: Mutant, judge: Judge, instances: Instances) -> MutantVerdict:
    rule, alike = mutant.rule, mutant.rule.grade == mutant.original.grade
    said = MutantVerdict(mutant.original.name, rule.place, mutant.what, rule.text)
    found = judge.hasty(rule)
    count = instances.same(rule) if alike and found is None else None
    if count is not None:
        return replace(said, equivalent=True, says=f"makes the same terms as the rule of {count} instances")
    found = found or judge.thorough(rule) or judge.proof(rule)
    if found.status == FAILED:
        return replace(said, refused=found.check, says=found.says)
    wrong = judge.at_length(rule)
    if wrong is not None:
        return replace(said, refused=wrong.check, says=wrong.says, at_length=True)
    right = f"proved: {found.says}" if found.status == PASSED else _right(rule, judge, instances, alike)
    waiver = _waived(mutant)
    unneeded = _unneeded(mutant, judge) if not right and waiver is None else 0
    return replace(said, equivalent=bool(right), says=right or found.says, waived=waiver, unneeded=unneeded)


def _unneeded(mutant: Mutant, judge: Judge) -> int:
    """On how many terms that the guard of a rule keeps out a mutant is right that has another guard; 0 if on few."""
    rule, original = mutant.rule, mutant.original
    own, its = ((r.left, r.right, r.clauses, r.grade) for r in (original, rule))
    if own != its or rule.guard == original.guard or rule.kind == "derive":
        return 0
    count = judge.right_beyond(rule)
    return count if count >= ENOUGH_BEYOND else 0


def _waived(mutant: Mutant) -> str | None:
    """Why the file of a rule says that such mistakes in it need not be found."""
    original = mutant.original
    return next((w.reason for w in original.waivers if w.covers("mutation", original.name)), None)


def _right(rule: Rule, judge: Judge, instances: Instances, alike: bool) -> str:
    """How a rule that is not proved is shown to be as right; nothing if it is not."""
    count = instances.same_lowered(rule) if alike else None
    if count is not None:
        return f"makes what is lowered to the same terms, of {count} instances"
    nothing = instances.empty(rule) if rule.kind != "derive" else None
    if nothing is not None:
        return f"makes what has no element, of {nothing} instances"
    if right_at_every_half(rule, replace(judge.context, _matchers={})):
        return "is right at each of the 65,536 numbers of float16"
    return ""
