# SPDX-License-Identifier: Apache-2.0
"""Checks of all rules together: rewriting with them ends, in which order, and with which loop if it does not."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from itertools import groupby

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.lowering.passes import PASSES, library
from ngraph_rewrite.rewriting.asked_target import TARGETS
from ngraph_rewrite.rewriting.loops import Loop, endless, find_loop
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.order import DECLARED, SHRINKING, Order, why_not_down
from ngraph_rewrite.rewriting.paths import LEFT, RIGHT
from ngraph_rewrite.rewriting.precedence import find_order
from ngraph_rewrite.rewriting.rule import Rule, RuleSet
from ngraph_rewrite.rewriting.rulefile import load_rules
from ngraph_rewrite.rewriting.skeleton import nodes, sides
from ngraph_rewrite.rewriting.trial_bank import TrialBank
from ngraph_rewrite.terms.catalogue import OpDef
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.testing.findings import FAILED, NONE, PASSED, Context, Finding, finding, key
from ngraph_rewrite.testing.printing import program

_WIDE = 110


def check_termination(rules: Iterable[Rule], context: Context) -> Iterator[Finding]:
    """Whether rewriting with all rules of the context ends: a finding for each of `rules`.

    For each pass an order is searched for in which every rule goes down. Where there is none, the fewest rules that
    have none together fail, with a loop in which they run if small terms show one.
    """
    failed: dict[tuple[str, str], Finding] = {}
    orders: dict[str, Order] = {}
    for name, kinds in PASSES.items():
        orders[name], conflicts = _ordered(context.rules.of_kind(*kinds))
        for conflict in conflicts:
            for found in _blamed(conflict, find_loop(conflict, context.cache)):
                failed.setdefault(found.of, found)
    for rule in rules:
        yield failed.get(key(rule)) or _goes_down(rule, orders)


def _ordered(rules: Iterable[Rule]) -> tuple[Order, list[tuple[Rule, ...]]]:
    """The order of most of the rules of a pass, and the conflicts to be taken out for it."""
    left, conflicts = list(rules), list[tuple[Rule, ...]]()
    while not isinstance(found := find_order(left), Order):
        alone: list[tuple[Rule, ...]] = [(rule,) for rule in _not_down(left)]
        more = [found.rules] if _not_down(found.rules) or not alone else alone
        conflicts += more
        taken = [rule for conflict in more for rule in _not_down(conflict) or conflict]
        left = [rule for rule in left if not any(rule is other for other in taken)]
    return found, conflicts


def _not_down(rules: Iterable[Rule]) -> list[Rule]:
    """Those that do not go down in the order of declaration: the others have that together in any case."""
    return [rule for rule in rules if why_not_down(rule) is not None]


def _goes_down(rule: Rule, orders: dict[str, Order]) -> Finding:
    if rule.kind == "derive":
        return finding(rule, "termination", NONE, "it fires once for each op, in the reverse sweep")
    if rule.kind == "explore":
        return finding(rule, "termination", NONE, "it takes part in no rewriting that has to end")
    if sides(rule) is None:
        return finding(rule, "termination", PASSED, f"takes away a {rule.left.definition}")
    found = next(order for name, order in orders.items() if rule.kind in PASSES[name])
    if found is SHRINKING:
        return finding(rule, "termination", PASSED, "makes terms smaller")
    how = "the order of declaration" if found is DECLARED else "an order that was found"
    return finding(rule, "termination", PASSED, f"goes down in {how}")


def _blamed(conflict: tuple[Rule, ...], loop: Loop | None) -> Iterator[Finding]:
    """A finding for each rule of a conflict: a loop it runs in, or what it cannot go down with."""
    running = loop.rules if loop is not None else ()
    for rule in conflict:
        among = running if rule in running else conflict
        others = [other for other in among if other is not rule]
        beside = f" with {' and '.join(map(str, others))}" if others else ""
        if loop is not None and rule in running:
            says, shown = f"runs in a cycle{beside}: {_comes_back(loop)}", _shown(loop)
        else:
            why = why_not_down(rule)
            says = f"goes down in no order{beside}{f': {why}' if why and not others else ''}"
            shown = "\n".join(f"# {one.place}: {' '.join(one.text.split())}" for one in conflict)
        yield finding(rule, "termination", FAILED, says, shown, others[0].name if others else None)


def _comes_back(loop: Loop) -> str:
    first = describe(loop.steps[0].term)
    if loop.back is None:
        return f"{len(loop.steps)} steps and more follow {first}"
    again = describe(loop.back)
    return f"{first} comes back" + ("" if again == first else f" as {again}")


def _shown(loop: Loop) -> str:
    """The loop as a program that fails as long as it is one."""
    steps = [f"#   {describe(s.term)}    {s.rule.name} ({s.rule.place})" for s in loop.steps]
    names = [rule.name for rule in loop.rules]
    files = sorted({rule.file for rule in loop.rules} - {rule.file for rule in library()})
    lines = program({"left": loop.steps[0].term}, None, ["assert_ends"])
    call = f"assert_ends(left, {names!r}, files={files!r})" if files else f"assert_ends(left, {names!r})"
    return "\n".join(["# rewriting runs in a cycle:", *steps, *lines, call])


def assert_ends(root: Op, names: Iterable[str], files: Iterable[str] = ()) -> None:
    """Demand that rewriting a term with a few rules comes to an end.

    Args:
        names: The names of the rules.
        files: The rule files that have them, where the library has not.

    Raises:
        AssertionError: if it runs in a cycle, with its steps.
        RuleFileError: for a file that cannot be read.
    """
    known = library()
    for file in files:
        known = known + load_rules(file)
    chosen = RuleSet(rule for name in names for rule in known if rule.name == name)
    matcher, bank = Matcher(chosen, Cache()), TrialBank()
    copies: dict[Op, Op] = {}
    for term in topological([root]):
        copies[term] = bank.adopt(term, tuple([copies[a] for a in term.args]))
    for target in TARGETS:
        loop = endless(copies[root], matcher, bank, target)
        if loop is not None:
            steps = "\n".join(f"    {s.term!r}    {s.rule}" for s in loop.steps)
            raise AssertionError(f"{_comes_back(loop)}\n{steps}")


# -- the order as text ---------------------------------------------------------------------------------


def print_order(rules: RuleSet, about: RuleSet | None = None) -> str:
    """The orders in which the rules of each pass go down, as text: ops from the highest to the lowest, by family.

    Args:
        rules: All that run together.
        about: Those whose passes and ops are shown; by default all.

    >>> from ngraph_rewrite.rewriting.rulefile import parse_rules
    >>> print(print_order(parse_rules("simplify semi\\nrule a: exp(x) => tanh(tanh(x))\\n", "r.rules", "r")))
    recognize: no rules
    lower: 1 rule in an order that was found
        semi: exp > tanh
    select: 1 rule in an order that was found
        semi: exp > tanh
    """
    shown = {name: list((about or rules).of_kind(*kinds)) for name, kinds in PASSES.items()}
    orders = (_order_of_pass(name, list(rules.of_kind(*PASSES[name])), some) for name, some in shown.items())
    return "\n".join(text for text, some in zip(orders, shown.values(), strict=True) if some or about is None)


def _order_of_pass(name: str, rules: list[Rule], shown: list[Rule]) -> str:
    order, conflicts = _ordered(rules)
    count = f"{len(rules)} rule{'' if len(rules) == 1 else 's'}" if rules else "no rules"
    if not rules or order is SHRINKING:
        return f"{name}: {count}" + (", each makes terms smaller" if rules else "")
    how = "the order of declaration" if order is DECLARED else "an order that was found"
    wrong = f", and {len(conflicts)} conflict{'' if len(conflicts) == 1 else 's'}" if conflicts else ""
    return "\n".join([f"{name}: {count} in {how}{wrong}", *_lines(order, shown)])


def _lines(order: Order, rules: Iterable[Rule]) -> Iterator[str]:
    ops = {n.definition for rule in rules for side in sides(rule) or () for n in nodes(side)}
    placed = sorted(ops, key=order.place, reverse=True)
    if order.weights is not None:
        weighed = [f"{d} {order.weights.get(d.rank, 1)}" for d in placed if order.weights.get(d.rank, 1) != 1]
        yield from _wrapped("weights", ", ".join([*weighed, "all others 1"]))
    for family, members in groupby(placed, key=lambda d: d.family):
        yield from _wrapped(family, " > ".join(d.short for d in members))
    yield from _statuses(order, placed)


def _statuses(order: Order, placed: Iterable[OpDef]) -> Iterator[str]:
    """The ops whose arguments are compared in another manner than from the left."""
    other = [d for d in placed if order.statuses.get(d.rank, LEFT) != LEFT]
    for definition in other:
        how = "from the right" if order.statuses[definition.rank] == RIGHT else "in any order"
        yield f"    arguments of {definition} are compared {how}"


def _wrapped(head: str, text: str) -> list[str]:
    return textwrap.wrap(f"{head}: {text}", _WIDE, initial_indent="    ", subsequent_indent=" " * 8)
