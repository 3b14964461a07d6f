# SPDX-License-Identifier: Apache-2.0
"""``ngraph-rewrite explain`` and ``bisect``: questions about an op, or a term of a signature, that a file defines."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping
from typing import Any

import ngraph_rewrite as ng
from ngraph_rewrite.explaining import files
from ngraph_rewrite.explaining.bisecting_search import Bisection
from ngraph_rewrite.explaining.questions import normalised
from ngraph_rewrite.lowering.normalising import is_of_signature
from ngraph_rewrite.lowering.table import ReplacementTable
from ngraph_rewrite.lowering.verdicts import WhyNot
from ngraph_rewrite.rewriting.inline import as_rules
from ngraph_rewrite.types.lengths import known


def explain(options: argparse.Namespace) -> int:
    """The derivation of one op, why a rule is not in it, or the figures of all rules."""
    op, names = files.named_in_file(options.op)
    if is_of_signature(op):
        return _explain_term(options, op, names)
    own = as_rules(options.rules)
    _check_disabled(options.disable, own + ng.rules())
    with ng.disable(*options.disable, rules=own), ng.make_transformer(options.target, rules=own) as transformer:
        computation = transformer.lowered(op)
        if options.why_not is not None:
            return _answered(computation.why_not(options.why_not, op))
        if options.stats:
            print(computation.rule_stats())
            return 0
        if options.plan:
            print(_plan(transformer.computation(op, "all")))
            return 0
        _print_derivation(computation.explain(op), computation.lowering.table)
        transformer.computation(op, "all")  # refuses what is not lowered
    return 0


def _check_disabled(names: list[str], rules: ng.RuleSet) -> None:
    """Whether each is the name of a rule: one that is not has no line, but an option that gave it."""
    for name in names:
        try:
            rules.named(name)
        except ng.ArgumentError as error:
            raise ng.ArgumentError(error.what, where=f"--disable {name}", do=error.do) from None


def _plan(computation: ng.Computation) -> str:
    """What a call does, for the lengths that the axes of its inputs have."""
    computation.entry(*(tuple(known(n, f"a length of {p!r}") for n in p.shape) for p in computation.inputs))
    return computation.plan()


def _explain_term(options: argparse.Namespace, op: ng.Op, names: Mapping[str, Any]) -> int:
    """The same of a term of a signature: its rules are those that its file has names for, or a file of rules."""
    rules = _rules_of_term(options, op, names)
    _check_disabled(options.disable, rules)
    if options.target != "cpu":
        what = "a term of a signature has no target: rules come to its normal form"
        raise ng.ArgumentError(what, where=f"--target {options.target}", do="leave it out; --rules gives rules")
    if options.plan:
        what = "a term of a signature has no plan: nothing is computed, rules come to its normal form"
        raise ng.ArgumentError(what, where="--plan", do="leave it out: the steps to the normal form are shown then")
    if options.stats:
        with ng.stats(rules) as figures:
            normalised(op, None, rules, options.disable)
        print(figures)
        return 0
    found = normalised(op, None, rules, options.disable)
    if options.why_not is not None:
        return _answered(found.why_not(options.why_not, op))
    _print_derivation(found.explain(op), found.table)
    return 0


def _rules_of_term(options: argparse.Namespace, op: ng.Op, names: Mapping[str, Any]) -> ng.RuleSet:
    return files.rules_of_signature(names, op.definition.family) if options.rules is None else as_rules(options.rules)


def _answered(answer: WhyNot) -> int:
    print(answer)
    print(f"{answer.rule} {answer.verdict}")
    return 0 if answer.fired else 1


def _print_derivation(text: str, table: ReplacementTable) -> None:
    """A derivation, and how many steps all of it took."""
    print(text)
    fired = Counter(step.why.name for step in table.redexes() if isinstance(step.why, ng.Rule))
    print(f"{sum(fired.values())} steps by {len(fired)} rules")


def bisect(options: argparse.Namespace) -> int:
    """The rule whose switching off mends a value; 0 if there is nothing to mend."""
    op, names = files.named_in_file(options.op)
    if is_of_signature(op):
        if options.expect is not None or options.inputs is not None:
            what = "arrays say nothing of a term of a signature: it is judged by what its operations mean"
            raise ng.ArgumentError(what, do="leave --expect and --inputs out, or ask ng.bisect with a normal form")
        rules = _rules_of_term(options, op, names)
        _check_disabled(options.disable, rules)
        found = ng.bisect(op, disabled=options.disable, rules=rules)
        return _bisected(found)
    own, expected = as_rules(options.rules), None if options.expect is None else files.array(options.expect)
    _check_disabled(options.disable, own + ng.rules())
    with ng.disable(*options.disable, rules=own):
        found = ng.bisect(op, expected, inputs=files.inputs(options.inputs, op), target=options.target, rules=own)
    return _bisected(found)


def _bisected(found: Bisection) -> int:
    print(found)
    print(f"{found.verdict}: {', '.join(rule.name for rule in found.rules) or 'no rule'}")
    return 0 if found.verdict == "right" else 1
