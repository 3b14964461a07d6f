# SPDX-License-Identifier: Apache-2.0
"""What every rule must pass before it may fire: names, order, duplicates, and equal types on both sides."""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.errors import NGraphRewriteError
from ngraph_rewrite.rewriting.conditional import matchings
from ngraph_rewrite.rewriting.dtype_classes import class_matches
from ngraph_rewrite.rewriting.file_text import rule_text
from ngraph_rewrite.rewriting.frame import is_of_signature
from ngraph_rewrite.rewriting.instances import TRIES, Instance, failure, fitting_matches, signature
from ngraph_rewrite.rewriting.interpret import Application, Result
from ngraph_rewrite.rewriting.order import Order, why_not_down
from ngraph_rewrite.rewriting.pattern import restrictions, variables
from ngraph_rewrite.rewriting.precedence import find_order
from ngraph_rewrite.rewriting.remembered import code_digest, key, others_digest, recalled, remember
from ngraph_rewrite.rewriting.rule import Rule, RuleSet
from ngraph_rewrite.rewriting.rule_errors import RIGHT, rule_error
from ngraph_rewrite.rewriting.rulefile import parse_rules
from ngraph_rewrite.rewriting.subsumption import subsumed
from ngraph_rewrite.rewriting.trial_bank import TrialBank
from ngraph_rewrite.terms.catalogue import undone_if_refused
from ngraph_rewrite.terms.op import Op

# Instances per rule, and how many terms may be tried to find each: when a file is loaded, and in a proof.
QUICK = 2, 24
THOROUGH = 20, TRIES // 2


def checked_rules(path: str | os.PathLike[str], shown: str | None = None) -> RuleSet:
    """The rules of a file, statically checked.

    Raises:
        RuleFileError: for the first mistake: where it is, what is wrong, what to do.
    """
    return checked_text(rule_text(path, shown), shown or str(path), Path(path).stem)


def checked_text(content: str, file: str, stem: str) -> RuleSet:
    """The rules written in `content`, statically checked; `stem` begins their names.

    What was read and checked once, by the same code and beside the same ops, is taken from the user's cache folder.

    Raises:
        RuleFileError: for the first mistake.
    """
    others = others_digest()
    if others is None or is_of_signature(content):
        with undone_if_refused():
            return _checked(parse_rules(content, file, stem))
    known, cache = key(code_digest(), others, content, file, stem), Cache()
    stored = recalled(cache, f"checked_{known}", known)
    if stored is not None:
        return stored.with_sources({file: content})
    found = _checked(parse_rules(content, file, stem))
    remember(cache, f"checked_{known}", known, found)
    return found


def checked_file(path: Path, shown: str) -> RuleSet:
    """As `checked_rules`, whatever was read before.

    Raises:
        RuleFileError: for the first mistake.
    """
    with undone_if_refused():
        return _checked(read_file(path, shown))


def read_file(path: Path, shown: str) -> RuleSet:
    """The rules of a file that was checked before, as it is.

    Raises:
        RuleFileError: for the first mistake in how they are written.
    """
    return parse_rules(rule_text(path, shown), shown, path.stem)


def _checked(rules: RuleSet) -> RuleSet:
    check_rules_static(rules)
    return rules


def check_rules_static(rules: RuleSet, effort: tuple[int, int] = QUICK) -> None:
    """All static checks of a rule set.

    Args:
        effort: How many instances of each rule are typed, and how many terms are tried to find each; of each class of
            dtypes there is one more.

    Raises:
        RuleFileError: for the first rule that fails one.
    """
    check_order(rules.of_kind("recognize"))
    check_order(rules.of_kind("simplify", "lower", "select"))
    check_order(RuleSet(r for r in rules.of_kind("rewrite") if r.ordered))
    _check_duplicates(rules)
    for rule, other in subsumed(r for r in rules if r.kind != "explore"):  # of those, none takes a term from others
        raise rule_error(rule, f"can never fire: {other} takes all its terms", "put it first, or delete it")
    bank = TrialBank()
    for rule in rules if not rules.of_kind("rewrite") else ():  # those are of one sort as they are written
        found = fitting_matches(rule, effort[0], bank, effort[1])
        for one in chain(found, class_matches(rule, bank, 2 * effort[1])):
            check_types_on(rule, one, bank)


def check_order(rules: RuleSet) -> None:
    """Whether there is an order in which all rules of a pass go down: that of declaration, or another one.

    Raises:
        RuleFileError: for a rule that goes down in no order, by itself or together with others.
    """
    found = find_order(rules)
    if isinstance(found, Order):
        return
    problems = ((r, why) for r in found.rules if (why := why_not_down(r)) is not None)
    rule, problem = next(problems, (found.rules[0], f"{found.rules[0].left.definition} is above nothing"))
    others = " and ".join(str(other) for other in found.rules if other is not rule)
    beside = f", and there is no other order in which it goes down together with {others}" if others else ""
    do = "use only ops declared before the one it removes"
    if rule.kind == "rewrite":
        do = "let it go down, or write `unordered` behind the name in the header: rewriting may go on for ever then"
    raise rule_error(rule, f"does not go down: {problem}{beside}", do, RIGHT)


def check_types_on(rule: Rule, found: Instance, bank: TrialBank) -> None:
    """On one instance: the right side builds, and has the type of the left side."""
    term = found.term
    adjoint = bank.leaf("d", term.type) if rule.kind == "derive" else None
    application = Application(rule, term, found.bindings, bank.make, found.target, adjoint)
    try:
        built = application.right()
    except Exception as error:
        raise failure(rule, term, error, RIGHT) from error
    if rule.kind == "derive":
        _check_adjoints(rule, found, built)
        return
    right = built[0]
    assert isinstance(right, Op)
    if right.type != term.type:
        what = f"rewrites {term.type!r} to {right.type!r}"
        do = "guard it, or give the right side the type of the left"
        raise rule_error(rule, f"{what}: {signature(term)}", do, RIGHT)


def _check_adjoints(rule: Rule, found: Instance, adjoints: list[Result]) -> None:
    """Each adjoint can be summed over, and repeated along, what it has more and less than its argument."""
    for name, adjoint in zip(variables(rule.left), adjoints, strict=True):
        if adjoint is None:
            continue
        value = found.bindings[name]
        values, terms = (value, adjoint) if isinstance(adjoint, list) else ((value,), [adjoint])
        if len(values) != len(terms):
            what = f"gives {len(terms)} adjoints to the {len(values)} terms of {name}"
            raise rule_error(rule, what, "give one to each", RIGHT)
        for argument, term in zip(values, terms, strict=True):
            try:
                _ = argument.axes | term.axes
            except NGraphRewriteError as error:
                what = f"gives {argument.type!r} the adjoint {term.type!r}: {signature(found.term)}"
                raise rule_error(rule, what, "give it the axes of its argument", RIGHT) from error


def _check_duplicates(rules: Iterable[Rule]) -> None:
    seen: dict[tuple[object, ...], Rule] = {}
    for rule in rules:
        patterns = [rule.left, *(condition.pattern for condition in matchings(rule))]
        sorts = tuple(tuple(sorted((n, str(sort)) for n, sort in restrictions(p).items())) for p in patterns)
        key = (rule.kind, rule.left, sorts, rule.guard and rule.guard.text, rule.clauses, rule.right, rule.conditions)
        if key in seen:
            raise rule_error(rule, f"is the same as {seen[key]}", "delete one of them")
        seen[key] = rule
