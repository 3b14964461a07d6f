# SPDX-License-Identifier: Apache-2.0
"""The driver: innermost first, iterative, linear, memoised in the replacement table, to the normal form."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any

from ngraph_rewrite.lowering.reduction import NOTHING_LEFT, Left, Reduction
from ngraph_rewrite.lowering.stage import BY_ARGUMENTS, BY_SHARING, Forward, Stage
from ngraph_rewrite.lowering.steps import Steps, cycle_error
from ngraph_rewrite.lowering.table import ReplacementTable
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.op import Op

# Steps allowed, for each term and for any graph: far more than a set of rules that terminates takes.
STEPS_PER_TERM, LEAST_STEPS = 100, 50_000


def adopt(roots: Iterable[Op], table: ReplacementTable, bank: TermBank) -> list[Op]:
    """The bank's copies of handles: equal ones become one. Recorded as a stage of its own."""
    roots = list(roots)
    order = table.order(roots)
    stage = table.stage("share")
    normal, fired, adopted = stage.normal, stage.fired, bank.adopt
    for term in order:
        args = term.args
        count = len(args)
        if count == 2:  # as most have
            args = normal[args[0]], normal[args[1]]
        elif count:
            args = (normal[args[0]],) if count == 1 else tuple([normal[a] for a in args])
        own = normal[term] = adopted(term, args)
        if own is not term:
            fired.extend((term, BY_SHARING, own))
        if term.info.metadata:
            table.carry(term, own)
    own_roots = [normal[root] for root in roots]
    if all(definition.profile is None for definition in set(map(attrgetter("definition"), order))):
        stage.left = own_roots, list(dict.fromkeys(normal.values()))  # else nests may have become flat: some are gone
    return own_roots


def normalise(
    roots: Iterable[Op],
    matcher: Steps,
    table: ReplacementTable,
    bank: TermBank,
    target: Any,
    name: str,
    budget: int | None = None,
    left: Left = NOTHING_LEFT,
) -> list[Op]:
    """The normal forms of `roots`; every step is recorded in a new stage of `table`.

    Args:
        roots: Terms of `bank`.
        budget: How many rules may fire; by default a hundred for each term, and fifty thousand, those aside that only
            give an argument.
        left: What the pass before left of these terms.

    Raises:
        RewriteError: if a rule builds an ill-typed term, changes a type, or the rules run in a cycle.
    """
    roots = list(roots)
    known = table.known_order(roots)
    stage = table.stage(name, matcher.reasons, bank)
    most = LEAST_STEPS + STEPS_PER_TERM * len(bank) if budget is None else budget
    with Reduction(matcher, table, stage, bank, target, most, left, budget is not None) as reduction:
        order = reduction.sweep(roots, known)
    if not stage.fired:
        stage.left = roots, order
    return [root if root.form is None else root.form for root in roots]


def replace(
    roots: Iterable[Op], replacements: Mapping[Op, Forward], table: ReplacementTable, bank: TermBank, name: str
) -> list[Op]:
    """The roots with terms replaced by others, recorded in a new stage; what replaces is replaced in too.

    Args:
        replacements: Terms of `bank` by terms of `bank` that they go to, with the reason.

    Raises:
        RewriteError: if a term is replaced by one that contains it.
    """
    roots = list(roots)
    stage = _stage(replacements, table, bank, name)
    forms = _replaced(roots, {old: new for old, (new, _) in replacements.items()}, stage, bank)
    _end(stage, forms, table)
    return [forms[root] for root in roots]


def replace_in_order(
    order: Sequence[Op],
    roots: Iterable[Op],
    replaced: Callable[[Op, Mapping[Op, Op]], Forward | None],
    table: ReplacementTable,
    bank: TermBank,
    name: str,
) -> list[Op]:
    """As `replace`, for those who say where a term goes when those before it have gone: nothing is built twice.

    There is no stage if nothing goes anywhere.

    Args:
        order: All terms under the roots, arguments first.
        replaced: Where a term goes, given where those before it went; of these it is built, and stays as it is.
    """
    forms, steps, ends = dict[Op, Op](), dict[Op, Forward](), set[Op]()
    for term in order:
        found = None if term in ends else replaced(term, forms)
        if found is not None:
            steps[term], to = found, found.to
        else:
            args = term.args
            new = (forms[args[0]],) if len(args) == 1 else tuple([forms[a] for a in args])
            if new == args or term in ends:
                forms[term] = term
                continue
            to = bank.renewed(term, new)
        to = forms[term] = forms.get(to, to)
        ends.add(to)
    if steps:
        _end(_stage(steps, table, bank, name), forms, table)
    return [forms[root] for root in roots]


def _stage(replacements: Mapping[Op, Forward], table: ReplacementTable, bank: TermBank, name: str) -> Stage:
    """A new stage with these steps."""
    stage = table.stage(name, [forward.why for forward in replacements.values()], bank)
    stage.taken.update((old, (i, new)) for i, (old, (new, _)) in enumerate(replacements.items()))
    return stage


def _end(stage: Stage, forms: Mapping[Op, Op], table: ReplacementTable) -> None:
    """Note where terms went, arguments first; metadata goes with them."""
    stage.ended(list(forms), list(forms.values()))
    for term, form in forms.items():
        if form is not term and (table.moved or term.info.metadata):
            table.carry(term, form)


def _replaced(roots: list[Op], goes: dict[Op, Op], stage: Stage, bank: TermBank) -> dict[Op, Op]:
    """Where each term leads under the roots and under what replaces, arguments first.

    What leads to itself keeps the mark of the pass before, if it has it: for rules it is what it was.
    """
    forms, waiting = dict[Op, Op](), set[Op]()
    stack: list[Op | None] = [*roots[::-1]]
    while stack:
        term = stack.pop()
        if term is None:  # what stands below it was waiting for its arguments, or for what it goes to
            ready: Op = stack.pop()  # type: ignore[assignment]
            to = goes.get(ready)
            if to is not None:
                forms[ready] = forms[to]
                continue
            args = ready.args
            args = (forms[args[0]],) if len(args) == 1 else tuple([forms[a] for a in args])
            if args == ready.args:
                forms[ready] = ready
                continue
            to = bank.renewed(ready, args)
            if to in goes or to in waiting:
                goes[ready], stage.taken[ready] = to, (BY_ARGUMENTS, to)
                stack += (ready, None, to)
            else:
                forms[ready] = forms.setdefault(to, to)
        elif term not in forms:
            if term in waiting:
                raise cycle_error(term, stage)
            to = goes.get(term)
            if to is None and not term.args:
                forms[term] = term
                continue
            waiting.add(term)
            stack += (term, None)
            stack += term.args[::-1] if to is None else (to,)
    return forms
