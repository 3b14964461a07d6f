# SPDX-License-Identifier: Apache-2.0
"""A rule keeps values: on drawn instances of its left side, what it makes has the value its class promises."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from random import Random

from ngraph_rewrite.errors import ArgumentError, RuleFileError
from ngraph_rewrite.rewriting.alternatives import alternatives, takes_nothing, wants_nothing
from ngraph_rewrite.rewriting.asked_target import Target
from ngraph_rewrite.rewriting.instances import signature
from ngraph_rewrite.rewriting.interpret import Application
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.testing.compare import difference
from ngraph_rewrite.testing.counterexample import Counterexample
from ngraph_rewrite.testing.draws import lost_effect, other_draw
from ngraph_rewrite.testing.evaluate import Undefined, Unknown, Values, evaluate
from ngraph_rewrite.testing.findings import FAILED, NONE, OPEN, PASSED, Context, Effort, Finding, comment, finding, said
from ngraph_rewrite.testing.never import never
from ngraph_rewrite.testing.rarely import rare_examples
from ngraph_rewrite.testing.seldom import FLOATS
from ngraph_rewrite.testing.shrinking import shrunk
from ngraph_rewrite.testing.strategies import Example, Usual, draw_example
from ngraph_rewrite.testing.strategies.instances import TRIES
from ngraph_rewrite.testing.unknown import Unbound
from ngraph_rewrite.types.tuples import tensors

# The part of the examples on which a rule must fire for its check to count.
ENOUGH = 0.2
_IN_VAIN = 3
# One in so many is drawn to go one of the ways to fire, and so often again for a value with elements.
AIMED, _DRAWS = 3, 3
# And one in so many goes beyond the usual lengths, ranks and attributes.
_VARIED = 6
# If so many were drawn to go each way and none did, it is not known whether the rule is right there, unless one of so
# many more does, of searches that make so many terms.
_PER_WAY, _MORE, _DEEP, _PATIENCE = 2, 24, 2000, 5
# So many searches are made however long they take. If they find too few, more are made, so many in all, and with more
# time; if so many find nothing, there is nothing.
_LEAST, _SOUGHT = 8, 48


@dataclass
class Search:
    """What a search for a counterexample came to.

    Attributes:
        compared: On how many instances the rule fired and both values were compared.
        filled: On how many of them the values had elements.
        made: On how many of these something that has elements was read.
        found: The first on which it is wrong, as it was drawn.
        late: Whether time was up before all were drawn.
        untaken: The ways to fire that none of these went, with the rule narrowed to it, by its guard.
    """

    compared: int = 0
    filled: int = 0
    made: int = 0
    found: Counterexample | None = None
    late: bool = False
    untaken: dict[str, Rule] = field(default_factory=dict)

    def count(self, example: Example) -> None:
        """Count an instance on which both values were compared."""
        self.compared += 1
        if _is_empty(example.instance.term):
            return
        self.filled += 1
        self.made += not _reads_nothing(example.instance.term)
        self.untaken = {k: way for k, way in self.untaken.items() if not _goes(way, example)}

    def take(self, more: Search) -> None:
        """Count what another search compared as well, and what it found."""
        self.found, self.filled, self.made = more.found, self.filled + more.filled, self.made + more.made
        self.untaken = {k: way for k, way in self.untaken.items() if k in more.untaken}


def check_values(rule: Rule, context: Context) -> Finding:
    """Check a rule on drawn instances of its left side, both sides evaluated by the ops' meanings.

    The right side is made by the generated code, as in a lowering. The rule fails on the first instance on which it
    is wrong, which is made small and shown; or if it fires on too few to be believed.

    >>> from ngraph_rewrite.rewriting.rule import RuleSet
    >>> from ngraph_rewrite.rewriting.rulefile import parse_rules
    >>> rule, = parse_rules("simplify semi\\nrule add_zero: x + 0 => x", "my.rules", "my")
    >>> found = check_values(rule, Context(RuleSet([rule])))
    >>> found.status, found.says
    ('failed', 'is not @exact')
    """
    if rule.kind == "derive":
        return finding(rule, "values", NONE, "an adjoint is compared with finite differences")
    return outcome(rule, context)[0]


def outcome(rule: Rule, context: Context) -> tuple[Finding, int]:
    """What `check_values` finds out about a rule, and on how many instances it was compared."""
    try:
        search = search_values(rule, context)
        for examples in (rare_examples(rule, context.effort), aimed_examples(rule, search, context.effort)):
            if search.found is None:
                search.take(search_values(rule, context, examples))
        if search.found is None and _is_idle(rule, search):
            search.take(search_values(rule, context, filled_examples(rule, context.effort)))
        unbound = Unbound(rule, context, search.untaken)
        if search.found is None:
            unbound.run()
    except Unknown as reason:
        return finding(rule, "values", OPEN, f"{reason}"), 0
    except Exception as error:  # whatever it is, it is the rule's: it cannot be asked whether it applies
        return finding(rule, "values", FAILED, said(error), comment(rule)), 0
    if unbound.wrong is not None:
        return finding(rule, "values", FAILED, unbound.wrong.what, unbound.wrong.shown), search.compared
    search.untaken = {k: way for k, way in search.untaken.items() if k not in unbound.taken}
    return _judged(rule, context, search), search.compared


def _judged(rule: Rule, context: Context, search: Search) -> Finding:
    if search.found is not None:
        small = shrunk(search.found, partial(wrong_step, rule, context), context.effort.seconds)
        return finding(rule, "values", FAILED, small.what, small.shown)
    examples = context.effort.examples
    said = f"fired on {search.compared} of {examples} drawn instances"
    short = search.compared < ENOUGH * examples
    if not short or (search.late and search.compared >= _LEAST):
        if _is_idle(rule, search):
            what = "is made of elements" if search.filled else "has an element"
            says = f"{said}, and none of their values {what}"
            return finding(rule, "values", OPEN, says, comment(rule))
        untaken = [f"`{guard}`" for guard in _never(rule, search, context.effort)]
        if untaken:
            return finding(rule, "values", OPEN, f"{said}, with elements on none where {' or '.join(untaken)}")
        return finding(rule, "values", PASSED, f"{said}{', and time was up' * short}")
    status = OPEN if search.late and search.compared else FAILED
    why = None if search.compared else never(rule)
    said = f"{said}{', and time was up' * search.late}" if why is None else f"{said}: {why}"
    return finding(rule, "values", status, said, comment(rule))


def _is_idle(rule: Rule, search: Search) -> bool:
    """Whether nothing that was compared says anything of a rule, though its guard asks for elements."""
    if not search.compared or search.made or wants_nothing(rule):
        return False
    return not (search.filled and takes_nothing(rule))


def _never(rule: Rule, search: Search, effort: Effort) -> dict[str, Rule]:
    """The ways to fire that none went of as many examples as should; those that want no element do not count."""
    if effort.examples < _PER_WAY * AIMED * len(alternatives(rule)):
        return {}
    return {guard: way for guard, way in search.untaken.items() if not wants_nothing(way)}


def search_values(rule: Rule, context: Context, examples: Iterable[Example] | None = None) -> Search:
    """Compare a rule on examples until it is wrong on one.

    Args:
        examples: By default drawn ones, as many as the effort says.

    Raises:
        NGraphRewriteError: if the rule cannot be asked whether it applies.
    """
    effort, search = context.effort, Search(untaken={str(way.guard): way for way in alternatives(rule)})
    stop = time.process_time() + effort.seconds
    for example in examples if examples is not None else drawn_examples(rule, effort):
        defined = False
        for values in example.choices:
            try:
                search.found = wrong_step(rule, context, example.instance.term, values, example.instance.target)
            except Undefined:
                continue
            defined = True
            if search.found is not None:
                return search
        if defined:
            search.count(example)
        if search.compared >= _LEAST and time.process_time() > stop:
            break
    search.late = time.process_time() > stop
    return search


def _is_empty(term: Op) -> bool:
    """Whether a value has no element."""
    return not any(type_.size for type_ in tensors(term.type))


def _reads_nothing(term: Op) -> bool:
    """Whether a value is made of what has no elements, and so is the same for all there are, such as a sum of none."""
    read = [t for t in topological([term]) if not t.args and t.definition.name != "core.constant"]
    return bool(read) and all(map(_is_empty, read))


def _goes(way: Rule, example: Example) -> bool:
    """Whether the guard of a narrower rule holds for an instance; not if it fails."""
    term, bindings, target = example.instance
    try:
        return Application(way, term, bindings, example.bank.make, target).guard_holds()
    except Exception:  # what the rule's own guard does not ask here
        return False


def drawn_examples(rule: Rule, effort: Effort) -> Iterator[Example]:
    """As many examples as the effort says, or fewer where some searches find none; every other one of floats.

    Where a rule has several ways to fire, one in three goes one of them, with a value that has elements if it can.
    """
    in_vain, found, begun = 0, 0, time.process_time()
    ways, usual, wanted = alternatives(rule), Usual(), ENOUGH * effort.examples
    for i in range(max(effort.examples, _SOUGHT)):
        patience = effort.seconds * (1 if found >= wanted else _PATIENCE)
        if found >= wanted and i >= effort.examples or not found and i >= _SOUGHT:
            return
        if i >= _LEAST and time.process_time() > begun + patience:
            return
        random = Random(f"{rule.name} {rule.text} {effort.seed} {i}")
        aimed = _aimed(ways[i // AIMED % len(ways)], random) if ways and i % AIMED == AIMED - 1 else None
        if aimed is not None:
            found += 1
            yield aimed
            continue
        varied = i % _VARIED == _VARIED - 2 or usual.lacking
        floats = i % 2 == 1 and in_vain < _IN_VAIN and not varied
        example = draw_example(rule, random, FLOATS) if floats else None
        in_vain = in_vain + 1 if floats and example is None else 0 if floats else in_vain
        example = example or draw_example(rule, random, varied=varied)
        usual.count(example, varied)
        if example is not None:
            found += 1
            yield example


def aimed_examples(rule: Rule, search: Search, effort: Effort) -> Iterator[Example]:
    """Examples that go the ways that none of a search went: of each the first, if a few tries find one.

    They have more time than others: without them the check decides nothing.
    """
    stop = time.process_time() + _PATIENCE * effort.seconds
    for guard, way in _never(rule, search, effort).items():
        for i in range(_MORE):
            example = _aimed(way, Random(f"{rule.name} {rule.text} {effort.seed} {guard} {i}"), _DEEP)
            if example is not None and not _is_empty(example.instance.term):
                yield example
                break
            if time.process_time() > stop:
                return


def filled_examples(rule: Rule, effort: Effort) -> Iterator[Example]:
    """The first of some examples whose values have elements and are made of some."""
    for i in range(_MORE):
        example = draw_example(rule, Random(f"{rule.name} {rule.text} {effort.seed} filled {i}"), varied=i % 2 == 1)
        if example is not None and not _is_empty(example.instance.term) and not _reads_nothing(example.instance.term):
            yield example
            return


def _aimed(way: Rule, random: Random, tries: int = TRIES) -> Example | None:
    """An example that goes one way, with elements if a few draws find one."""
    found = None
    for _ in range(_DRAWS):
        try:
            found = draw_example(way, random, tries=tries) or found
        except RuleFileError:  # its guard asks what the rule's own does not
            return None
        if found is None or not _is_empty(found.instance.term):
            break
    return found


def wrong_step(rule: Rule, context: Context, term: Op, values: Values, target: Target) -> Counterexample | None:
    """None if the rule keeps the value of a term, or declines; else the counterexample that it is.

    Raises:
        Undefined: if the term has no value there.
    """
    try:
        step = context.matcher(rule).step(term, TermBank().make, target)
    except Exception as error:  # whatever it is, it is the rule's
        what = f"fails on {signature(term)}: {said(error)}"
        return Counterexample(rule, term, None, values, what, target)
    if step is None:
        return None
    right = step[1]
    if right.type != term.type:
        what = f"rewrites {term.type!r} to {right.type!r}: {signature(term)}"
        return Counterexample(rule, term, right, values, what, target)
    other = other_draw(term, right) or lost_effect(term, right)
    if other is not None:
        return Counterexample(rule, term, right, values, f"{other}: {signature(term)}", target)
    try:
        found = difference(term, right, values, rule.grade)
    except Undefined:
        raise
    except Exception as error:
        _demand_value(term, values)
        what = f"makes what cannot be computed of {signature(term)}: {said(error)}"
        return Counterexample(rule, term, right, values, what, target)
    return found and Counterexample(rule, term, right, values, f"is not @{rule.grade}", target, found)


def _demand_value(term: Op, values: Values) -> None:
    try:
        evaluate(term, values)
    except ArgumentError as error:
        raise Unknown(error.what) from error
    except Exception as error:
        raise Undefined(str(error)) from error
