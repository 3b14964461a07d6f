# SPDX-License-Identifier: Apache-2.0
"""Each rule checked on drawn instances: the step it takes must keep the value, as far as its class promises."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, assume, given, settings
from hypothesis.errors import Unsatisfiable

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.plugins import load_plugin_ops
from ngraph_rewrite.rewriting.checks import THOROUGH, check_rules_static
from ngraph_rewrite.rewriting.instances import signature
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.rule import Rule, RuleSet
from ngraph_rewrite.rewriting.rulefile import load_rules
from ngraph_rewrite.terms.op import Op, describe, topological
from ngraph_rewrite.testing.adjoints import wrong_adjoint
from ngraph_rewrite.testing.compare import differ
from ngraph_rewrite.testing.evaluate import Undefined, Values
from ngraph_rewrite.testing.strategies import DISTINCT, Example, instances_of
from ngraph_rewrite.types.dtypes import BOOL, FLOAT64

# The part of the examples on which a rule must fire for its test to count.
ENOUGH = 0.2


class WrongRule(AssertionError):
    """A rule that is not right, with the smallest of the counterexamples that were drawn."""


def check_rule(rule: Rule, examples: int = 50, cache: Cache | None = None) -> int:
    """Check a rule on drawn instances of its left side.

    The right side is made by the generated code, as in a lowering; both sides are evaluated by the ops'
    meanings. A derive rule is compared with finite differences instead. The same examples are drawn every time.

    Args:
        examples: How many instances are drawn.
        cache: Where the generated code is kept; by default the user's cache folder.

    Returns:
        On how many instances the rule was compared.

    Raises:
        WrongRule: with the term, the values, both results and the rule's file and line; or if the rule
            fires on too few instances to be believed.

    >>> from ngraph_rewrite.rewriting.rulefile import parse_rules
    >>> rule, = parse_rules("simplify semi\\nrule add_zero: x + 0 => x", "my.rules", "my")
    >>> check_rule(rule)
    Traceback (most recent call last):
        ...
    ngraph_rewrite.testing.rules.WrongRule: my.rules:2: rule my.add_zero is not @exact
    ...
    """
    matcher = Matcher(RuleSet([rule]), cache or Cache())
    derives = rule.kind == "derive"
    drawn = instances_of(rule, (FLOAT64, BOOL), (DISTINCT,)) if derives else instances_of(rule)
    check = wrong_adjoint if derives else _wrong_step
    compared = 0
    wrong: list[tuple[int, str]] = []

    def one(example: Example) -> None:
        nonlocal compared
        defined = False
        for values in example.choices:
            try:
                what = check(rule, matcher, example, values)
            except Undefined:
                continue
            defined = True
            if what is not None:
                wrong.append((_size(example), f"{rule.place}: rule {rule.name} {what}"))
        assume(defined)
        compared += 1

    with suppress(Unsatisfiable):  # no instance at all: said below
        quietly(examples)(given(drawn)(one))()
    if wrong:
        raise WrongRule(min(wrong)[1])
    if compared < ENOUGH * examples:
        raise WrongRule(
            f"{rule.place}: rule {rule.name} fired on {compared} of {examples} drawn instances\n  {rule.text}"
        )
    return compared


def check_rules(path: str | Path, examples: int = 50) -> int:
    """Check every rule of a file: names, order and types first, then drawn values.

    Returns:
        The number of rules.

    Raises:
        RuleFileError: if the file itself is not right.
        WrongRule: with a counterexample for each wrong rule.
    """
    load_plugin_ops()
    rules = load_rules(path)
    check_rules_static(rules, THOROUGH)
    wrong = []
    for rule in rules:
        try:
            check_rule(rule, examples)
        except WrongRule as error:
            wrong.append(str(error))
    if wrong:
        raise WrongRule("\n\n".join(wrong))
    return len(rules)


def _size(example: Example) -> int:
    return 10 * len(topological([example.instance.term])) + sum(v.size for v in example.choices[0].values())


def quietly(examples: int) -> Callable[[Any], Any]:
    """Settings that draw the same examples every time, and keep and print nothing."""
    return settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        verbosity=Verbosity.quiet,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )


def _wrong_step(rule: Rule, matcher: Matcher, example: Example, values: Values) -> str | None:
    term, _, target = example.instance
    try:
        found = matcher.step(term, example.bank.make, target)
    except Exception as error:  # whatever it is, it is the rule's
        return f"fails on {signature(term)}: {error}\n  {rule.text}"
    assume(found is not None)
    assert found is not None
    right = found[1]
    if right.type != term.type:
        return f"rewrites {term.type!r} to {right.type!r}: {signature(term)}\n  {rule.text}"
    difference = differ(term, right, values, rule.grade)
    if difference is None:
        return None
    lines = [f"is not @{rule.grade}", f"  {rule.text}", *_shown(term, right, values)]
    return "\n".join([*lines, f"  left   {difference[0]!r}", f"  right  {difference[1]!r}"])


def _shown(term: Op, right: Op, values: Values) -> list[str]:
    leaves = [
        f"  {describe(leaf)}: {leaf.type!r} = {value!r}" if isinstance(leaf, Op) else f"  draw = {value!r}"
        for leaf, value in values.items()
    ]
    return [f"  {describe(term, 9)}", f"  => {describe(right, 9)}", *leaves]
