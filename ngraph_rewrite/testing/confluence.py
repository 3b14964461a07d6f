# SPDX-License-Identifier: Apache-2.0
"""Confluence: where two rules fire on one term, both outcomes have one normal form, or the file says why not.

What meets is found by unification of left sides (see `critical pairs`_), and then looked at in well-typed terms for
which both guards hold: rules are typed and conditional, so two left sides may overlap and the rules never meet. Rules
that look at the graph are looked at in graphs, and what no such graph tells of them is said.

.. _critical pairs: Knuth and Bendix, *Simple word problems in universal algebras* (1970)
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from ngraph_rewrite.rewriting.rule import Rule, RuleSet
from ngraph_rewrite.rewriting.waivers import Waiver, covers_name
from ngraph_rewrite.terms.declaring import told
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.testing.confluence_graphs import unjudged
from ngraph_rewrite.testing.confluence_meetings import met
from ngraph_rewrite.testing.confluence_pairs import Partners, System, system_of
from ngraph_rewrite.testing.confluence_terms import Meeting, wrong_form
from ngraph_rewrite.testing.findings import FAILED, NONE, OPEN, PASSED, WAIVED, Context, Finding, finding, key
from ngraph_rewrite.testing.printing import program

CHECK = "confluence"
# How many examples make a meeting of each overlap, and from how many on a waiver must be of use.
PER_MEETING, FULL = 4, 40
# How many times as many meetings are looked at before it is said that a waiver is of no use.
LONG = 5


@dataclass
class _Looked:
    """What was seen of a rule's partners."""

    meetings: int = 0
    vacuous: int = 0
    unseen: int = 0
    ones: int = 0  # meetings that do not join because some axis has one element
    apart: list[tuple[Meeting, str | None]] = field(default_factory=list)  # with the reason that waives it


def confluence_of(rule: Rule, context: Context) -> Finding:
    """Look at the pairs of a rule with itself and all rules that stand after it in the context.

    A pair that does not join is waived by the file of either rule; one that gives two values cannot be.

    >>> import ngraph_rewrite.ops.semi
    >>> from ngraph_rewrite.rewriting.rulefile import parse_rules
    >>> rules = parse_rules("simplify semi\\nrule a: -(-x) => x\\nrule b: x + -y => x - y\\n", "my.rules", "my")
    >>> print(confluence_of(rules.find("my.a"), Context(rules)).says)
    and my.b bring one term to two normal forms
    """
    if rule.kind == "derive":
        return finding(rule, CHECK, NONE, "an adjoint is made in one step")
    if rule.kind == "explore":
        return finding(rule, CHECK, NONE, "all that it makes is kept")
    system = system_of(context.rules, context.cache.folder)
    try:
        looked = _look(system, rule, context)
    except Exception as error:  # whatever it is, it is the rule's, or that of the one that it says
        what, where = told(error).splitlines()[0], getattr(error, "where", None)
        at = f", at {where}" if where else ""
        return finding(rule, CHECK, FAILED, f"fails where it meets another rule: {what}{at}")
    if isinstance(looked, Finding):
        return looked
    unused = _unused(system, rule, context)
    if unused is not None:
        said = f"waives confluence of {unused.rule}{f' and {unused.other}' if unused.other else ''}: nothing is waived"
        return finding(rule, CHECK, FAILED, said)
    return replace(_summary(rule, looked), unjudged=unjudged(rule))


def check_confluence(rules: RuleSet, context: Context) -> Iterable[Finding]:
    """`confluence_of` each rule."""
    return (confluence_of(rule, context) for rule in rules)


def _look(system: System, rule: Rule, context: Context) -> _Looked | Finding:
    looked, begun = _Looked(), time.process_time()
    for partners in system.partners(rule):
        if looked.meetings and time.process_time() - begun > max(1.0, 10 * context.effort.seconds):
            looked.unseen += 1
            continue
        found = met(system, partners, _count(context), context.effort.seed)
        looked.meetings += len(found.meetings)
        looked.vacuous += found.vacuous
        looked.ones += sum(not m.joins for m in found.meetings) if not found.apart else 0
        for meeting in found.meetings:
            wrong = _wrong(rule, meeting, context) if not meeting.joins else None
            if wrong is not None:
                return wrong
        looked.apart += [(meeting, reason(partners)) for meeting in found.apart[:1]]
    return looked


def _count(context: Context) -> int:
    return max(4, context.effort.examples // PER_MEETING)


def reason(partners: Partners) -> str | None:
    """Why two rules need not join, as the file of either says; None if none says so."""
    for rule, other in ((partners.outer, partners.inner), (partners.inner, partners.outer)):
        for waiver in rule.waivers:
            if waiver.covers(CHECK, rule.name, other.name):
                return waiver.reason
    return None


def _summary(rule: Rule, looked: _Looked) -> Finding:
    open_ = [meeting for meeting, why in looked.apart if why is None]
    if open_:
        first = min(open_, key=lambda m: m.size)
        partner = first.partners.other(rule)
        others = len(open_) - 1
        more = f"; there {'is' if others == 1 else 'are'} {others} more such pair{'s' * (others > 1)}" if others else ""
        said = f"and {'itself' if key(partner) == key(rule) else partner.name} bring one term to two normal forms{more}"
        return finding(rule, CHECK, FAILED, said, shown(first), partner.name)
    if looked.unseen:
        return finding(rule, CHECK, OPEN, f"{looked.unseen} of its partners were not looked at: the time was over")
    if looked.apart:
        other = looked.apart[0][0].partners.other(rule).name
        return finding(rule, CHECK, WAIVED, _waived(rule, looked.apart), other=other)
    if looked.meetings:
        but = f", {looked.ones} of them but for where a length of 1 stands" if looked.ones else ""
        return finding(rule, CHECK, PASSED, f"{looked.meetings} meetings join{but}")
    if looked.vacuous:
        return finding(rule, CHECK, NONE, f"{looked.vacuous} overlaps, and no term in which both rules fire was found")
    return finding(rule, CHECK, NONE, "it overlaps with no rule but those that stand before it")


def _waived(rule: Rule, apart: Iterable[tuple[Meeting, str | None]]) -> str:
    """The rules with which a rule does not join, by the reasons that waive it: none of these covers the others."""
    by_reason: dict[str | None, dict[str, None]] = {}
    for meeting, why in apart:
        by_reason.setdefault(why, {})[meeting.partners.other(rule).name] = None
    return "; ".join(f"does not join with {_first_of([*names])}; waived: {why}" for why, names in by_reason.items())


def _first_of(names: list[str]) -> str:
    """The first of some names, and how many there are beside."""
    rest = len(names) - 1
    return f"{names[0]} and {rest} other{'s' if rest > 1 else ''}" if rest else names[0]


def _unused(system: System, rule: Rule, context: Context) -> Waiver | None:
    """A waiver that covers no pair; it is looked for with the first of the rules it stands for."""
    for waiver in rule.waivers if context.effort.examples >= FULL else ():
        own = (r for r in context.rules if r.file == rule.file) if waiver.check == CHECK else ()
        named = [r for r in own if covers_name(waiver.rule, r.name)]
        if named[:1] == [rule] and not any(
            _apart(system, waiver, one, count, context.effort.seed)
            for count in (_count(context), LONG * _count(context))
            for one in named
        ):
            return waiver
    return None


def _apart(system: System, waiver: Waiver, rule: Rule, count: int, seed: int) -> bool:
    covered = (p for p in system.with_rule(rule) if waiver.covers(CHECK, rule.name, p.other(rule).name))
    return any(met(system, p, count, seed).apart for p in covered)


# -- what is shown ----------------------------------------------------------------------------------------


def shown(meeting: Meeting) -> str:
    """The term and two of its normal forms, as Python that can be run, and what makes them."""
    first, second = meeting.parted
    lines = program({"left": meeting.term, "first": first, "second": second})
    return "\n".join([*lines, *_comments(meeting), "assert first.same_as(second)"])


def _comments(meeting: Meeting) -> Iterator[str]:
    outer, inner = meeting.partners.outer, meeting.partners.inner
    for rule in dict.fromkeys([outer, inner]):
        yield f"# {rule.place}: {rule.name}: {' '.join(rule.text.split())}"
    yield f"#   left   {describe(meeting.term, 9)}"
    for outcome, form in zip(meeting.outcomes, meeting.forms, strict=True):
        yield f"#   =>     {describe(outcome, 9)}"
        yield f"#   =>...  {describe(form, 9)}"


def _wrong(rule: Rule, meeting: Meeting, context: Context) -> Finding | None:
    """A normal form with another value: one of the rules on the way is wrong, and nothing waives that."""
    found = wrong_form(meeting, context.effort.seed)
    if found is None:
        return None
    form, values, _ = found
    lines = program({"left": meeting.term, "right": form}, values, ["assert_same"])
    said = f"and {meeting.partners.other(rule).name} bring one term to two values"
    text = "\n".join([*lines, *_comments(meeting), f'assert_same(left, right, values, "{meeting.grade}")'])
    return finding(rule, CHECK, FAILED, said, text)
