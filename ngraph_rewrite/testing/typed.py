# SPDX-License-Identifier: Apache-2.0
"""Both sides of a rule have one type, on instances whose lengths are unknown, known, equal and zero, of every dtype."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from random import Random

from ngraph_rewrite.errors import RuleFileError
from ngraph_rewrite.rewriting.checks import THOROUGH, check_types_on
from ngraph_rewrite.rewriting.dtype_classes import class_matches
from ngraph_rewrite.rewriting.instances import Instance, fitting_matches
from ngraph_rewrite.rewriting.interpret import Application
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.rewriting.rule_errors import GUARD, LEFT
from ngraph_rewrite.rewriting.trial_bank import TrialBank
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.testing.counterexample import rewritten
from ngraph_rewrite.testing.findings import FAILED, PASSED, Context, Finding, about, finding
from ngraph_rewrite.testing.never import never
from ngraph_rewrite.testing.printing import program
from ngraph_rewrite.testing.strategies import draw_example

# Instances of a rule for each ten examples that are drawn of it.
PER_TEN = 4
# So many are looked for, however few are wanted: the first may be hard to find.
MANY = 20
# And so many that go beyond the usual lengths and attributes, where no others are found.
_FEW = 6
TRIED = "matches none of the terms that were tried"


def check_types(rule: Rule, context: Context) -> Finding:
    """The right side builds, and has the type of the left side, on instances with symbolic lengths.

    >>> from ngraph_rewrite.rewriting.rulefile import parse_rules
    >>> rules = parse_rules("simplify semi\\nrule turn: transpose(x, perm=p) => x", "my.rules", "my")
    >>> print(check_types(rules.rules[0], Context(rules)).says)
    rewrites float32[b, a] to float32[a, b]: semi.transpose(x, perm=(1, 0)) with x: float32[a, b]
    """
    bank, typed, last = TrialBank(), 0, None
    limit = max(2, context.effort.examples * PER_TEN // 10)
    try:
        drawn = islice(fitting_matches(rule, max(limit, MANY), bank), limit)
        for found in chain(drawn, class_matches(rule, bank, THOROUGH[1])):
            last = found
            check_types_on(rule, found, bank)
            typed += 1
        for found in () if typed else _beyond(rule, bank):
            last = found
            check_types_on(rule, found, bank)
            typed += 1
    except RuleFileError as error:
        head, *_ = error.what.splitlines()
        says = head.partition(f": rule {rule.name} ")[2]
        if bank.failed is not None:
            return about(GUARD, rule, finding(rule, "types", FAILED, says, _shown_guard(rule, bank.failed, says)))
        return finding(rule, "types", FAILED, says, "" if last is None else _shown(rule, last, bank, says))
    if not typed:
        return about(LEFT, rule, finding(rule, "types", FAILED, f"{TRIED}: {never(rule)}"))
    return finding(rule, "types", PASSED, f"{typed} instances")


def _beyond(rule: Rule, bank: TrialBank) -> Iterator[Instance]:
    """Instances of a rule of which no usual one was found."""
    drawn = (draw_example(rule, Random(f"{rule.name} {rule.text} {i}"), kinds=(), varied=True) for i in range(_FEW))
    return (example.instance for example in drawn if example is not None)


def _shown(rule: Rule, found: Instance, bank: TrialBank, says: str) -> str:
    """The two sides as Python, and that their types should be equal; the left side alone if no right side builds."""
    sides, last = {"left": found.term}, f"raise AssertionError({f'rule {rule.name} {says}'!r})"
    with suppress(Exception):  # whatever a rule does
        built = Application(rule, found.term, found.bindings, bank.make, found.target).right()[0]
        if isinstance(built, Op) and rule.kind != "derive":
            sides["right"], last = built, "assert left.type == right.type, (left.type, right.type)"
    return "\n".join([*_heading(rule), *program(sides), last])


def _shown_guard(rule: Rule, term: Op, says: str) -> str:
    """The term on which a guard fails as Python, and the rule tried on it, which fails too if its file is there."""
    called = f'rewritten("{rule.file}", "{rule.name}", left)'
    try:
        if rule.kind != "derive" and Path(rule.file).is_file():
            rewritten(rule.file, rule.name, term)
    except Exception:  # as it did before
        return "\n".join([*_heading(rule), *program({"left": term}, None, ["rewritten"]), called])
    raised = f"raise AssertionError({f'rule {rule.name} {says}'!r})"
    return "\n".join([*_heading(rule), *program({"left": term}), raised])


def _heading(rule: Rule) -> list[str]:
    return [f"# {rule.place}: rule {rule.name}", *(f"#   {line}" for line in rule.text.splitlines())]
