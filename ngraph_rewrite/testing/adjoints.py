# SPDX-License-Identifier: Apache-2.0
"""Check 7: what a derive rule says that derivatives are is what central differences, and sympy, say."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import numpy as np

from ngraph_rewrite.errors import NGraphRewriteError
from ngraph_rewrite.rewriting.instances import Instance, signature
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.rewriting.trial_bank import TrialBank
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.testing.differences import (
    Adjoint,
    NoDifferences,
    adjoints,
    disagreement,
    is_double,
    weights_of,
)
from ngraph_rewrite.testing.directions import wrong_along
from ngraph_rewrite.testing.edges import few_values, wrong_at_edges
from ngraph_rewrite.testing.evaluate import Array, Undefined, Values
from ngraph_rewrite.testing.findings import (
    FAILED,
    NONE,
    OPEN,
    PASSED,
    Context,
    Effort,
    Finding,
    comment,
    finding,
    said,
)
from ngraph_rewrite.testing.limits import too_large
from ngraph_rewrite.testing.printing import program
from ngraph_rewrite.testing.proof.adjoint import prove_adjoint
from ngraph_rewrite.testing.strategies import DISTINCT, Example, examples_of, valued_leaves
from ngraph_rewrite.testing.wide import widened
from ngraph_rewrite.types.dtypes import BFLOAT16, BOOL, FLOAT16, FLOAT32, FLOAT64, is_float

CHECK = "adjoint"
NARROW = (FLOAT32, FLOAT16, BFLOAT16, BOOL)
# The part of the examples on which a rule must be compared to be believed.
ENOUGH = 0.2
# Even if time was up.
_LEAST = 3
# So many times the examples are drawn: those with floats that are not float64 do not count.
_SPARE = 3
# One in so many examples goes beyond the usual lengths, ranks and attributes, and none has arrays of more elements.
_VARIED, _ELEMENTS = 6, 64
# So many times as large as drawn are values where the exponential of one is not a number any more.
_FAR = (30.0, 5000.0, -5000.0)
# How many more wrong examples are looked at for a smaller one.
_MORE = 12


@dataclass(frozen=True)
class WrongAdjoint:
    """A term whose adjoint is not its derivative.

    Attributes:
        term: What is differentiated.
        incoming: The adjoint of the term, a leaf.
        adjoint: The argument and what the rule says; None if it fails before it says anything.
        both: The values of the adjoint, and of the differences that it should be.
        what: What is wrong, in a line.
    """

    rule: Rule
    term: Op
    incoming: Op
    adjoint: Adjoint | None
    values: Values
    both: tuple[Array, Array] | None
    what: str

    @property
    def size(self) -> tuple[int, int]:
        """How much there is to read."""
        return len(topological([self.term])), sum(v.size for v in self.values.values())

    @property
    def shown(self) -> str:
        """The counterexample as Python that fails when it is run."""
        rule = self.rule
        heading = [f"# {rule.place}: rule {rule.name} {self.what}", comment(rule)]
        roots = {"left": self.term, "incoming": self.incoming}
        if self.adjoint is None or self.both is None:
            failing = f"raise AssertionError({f'rule {rule.name} {self.what}'!r})"
            return "\n".join([*heading, *program({"left": self.term}, self.values), failing])
        roots["by"] = self.adjoint.argument
        found = "None"
        if self.adjoint.found is not None:
            roots["adjoint"], found = self.adjoint.found, "adjoint"
        seen = [f"# adjoint      {_in_line(self.both[0])}", f"# differences  {_in_line(self.both[1])}"]
        failing = f"assert_adjoint(left, by, {found}, incoming, values)"
        return "\n".join([*heading, *program(roots, self.values, ["assert_adjoint"]), *seen, failing])


def _in_line(value: Array) -> str:
    return " ".join(repr(value).split())


def assert_adjoint(of: Op, by: Op, adjoint: Op | None, incoming: Op, values: Values) -> None:
    """Demand that a term is the adjoint of a leaf: the derivative of another term, weighted by what comes in.

    Args:
        of: What is differentiated.
        by: A leaf of it, of dtype float64.
        adjoint: Its adjoint; None for no slope.
        incoming: The adjoint of `of`, a leaf of `adjoint`.
        values: The array of each leaf; of a random draw by its ``uid``.

    Raises:
        AssertionError: with both values.
        NoDifferences: if there are no differences to compare with.

    >>> from ngraph_rewrite.testing.printing import term
    >>> x = term("core.placeholder", axes=[], dtype="float64").named("x")
    >>> d = term("core.placeholder", axes=[], dtype="float64").named("d")
    >>> assert_adjoint(term("semi.negative", x), x, d, d, {x: np.array(1.0), d: np.array(1.0)})
    Traceback (most recent call last):
        ...
    AssertionError: the adjoint of x in semi.negative(x) is array(1.), by differences array(-1.)
    """
    both = disagreement(of, by, adjoint, values, values[incoming])
    if both is not None:
        said = f"is {_in_line(both[0])}, by differences {_in_line(np.asarray(both[1].round(9)))}"
        raise AssertionError(f"the adjoint of {describe(by)} in {describe(of)} {said}")


# -- the check ----------------------------------------------------------------------------------------


@dataclass
class Search:
    """What a search for a wrong adjoint came to.

    Attributes:
        drawn: On how many instances something was tried.
        compared: On how many instances adjoints and differences were compared.
        empty: How many of both had no elements, so that nothing could differ.
        found: Those on which they differ.
        late: Whether time was up before all were drawn.
    """

    drawn: int = 0
    compared: int = 0
    empty: int = 0
    found: list[WrongAdjoint] = field(default_factory=list)
    late: bool = False

    @property
    def enough(self) -> bool:
        """Whether the rule was compared on enough instances to be believed: if time was up, on all or on several.

        Those without elements tell nothing, unless there are no others.
        """
        several = self.compared >= max(ENOUGH * self.drawn, min(_LEAST, self.drawn) if self.late else 1, 1)
        return several and (self.compared - self.empty >= max(ENOUGH * (self.drawn - self.empty), 1) or self._is_empty)

    @property
    def _is_empty(self) -> bool:
        return self.drawn == self.empty


def check_adjoint(rule: Rule, context: Context) -> Finding:
    """Compare the adjoints of a derive rule with central differences; those of functions also with sympy's.

    >>> from ngraph_rewrite.rewriting.rule import RuleSet
    >>> from ngraph_rewrite.rewriting.rulefile import parse_rules
    >>> rule, = parse_rules("derive semi\\nrule tanh: tanh(x) => d * (1 - self)", "my.rules", "my")
    >>> found = check_adjoint(rule, Context(RuleSet([rule])))
    >>> found.status, found.says
    ('failed', 'gives x a wrong adjoint')
    """
    return outcome(rule, context)[0]


def outcome(rule: Rule, context: Context, proved: bool = True) -> tuple[Finding, int]:
    """What `check_adjoint` finds out about a rule, and on how many instances it was compared.

    Args:
        proved: Whether the finding says how the derivative of a function was proved, if it was.
    """
    if rule.kind != "derive":
        return finding(rule, CHECK, NONE), 0
    try:
        search = search_adjoints(rule, context)
    except Exception as error:  # whatever it is, it is the rule's: it cannot be asked whether it applies
        return finding(rule, CHECK, FAILED, said(error), comment(rule)), 0
    return _judged(rule, context, search, proved), search.compared


def _judged(rule: Rule, context: Context, search: Search, proved: bool) -> Finding:
    if search.found:
        small = min(search.found, key=lambda w: w.size)
        return finding(rule, CHECK, FAILED, small.what, small.shown)
    of = f"{search.compared} of {search.drawn} drawn instances{', and time was up' * search.late}"
    if search.enough:
        proof = _by_sympy(rule, context) if proved else None
        said = f"equals central differences on {of}"
        return finding(rule, CHECK, PASSED, f"{proof}; {said}" if proof else f"compared only: {said}")
    said = f"could be compared with central differences on {of}"
    return finding(rule, CHECK, OPEN if search.late else FAILED, said, comment(rule))


def _by_sympy(rule: Rule, context: Context) -> str | None:
    """How a function's derivative was proved; that of others is for the column of proofs."""
    if "elementwise" not in rule.left.definition.traits:
        return None
    found = prove_adjoint(rule, context, ranks=1)
    return found.says if found.status == PASSED else None


def search_adjoints(rule: Rule, context: Context) -> Search:
    """Compare the adjoints of a rule with differences until some are wrong, and on a few more examples.

    Those of a rule whose guard keeps float64 out are tried without the guard, on terms for which it holds, made of
    float64.
    """
    effort = context.effort
    context.matcher(rule)  # that takes its own time
    stop = time.process_time() + effort.seconds
    drawn = examples_of(rule, _SPARE * effort.examples, effort.seed, (FLOAT64, BOOL), (DISTINCT,), _VARIED)
    fitting = (e for e in drawn if is_double(e.instance.term) and not too_large(e.instance.term, _ELEMENTS))
    search = _searched(rule, context, fitting, stop)
    if search.drawn or rule.guard is None:
        return search
    return _searched(replace(rule, guard=None), context, _in_double(rule, effort), stop + effort.seconds)


def _in_double(rule: Rule, effort: Effort) -> Iterator[Example]:
    """Examples of a rule for narrower floats, as terms of float64."""
    for example in examples_of(rule, _SPARE * effort.examples, effort.seed, NARROW, (DISTINCT,)):
        term, bindings, target = example.instance
        wide = widened([term], example.choices[0])
        if wide is not None and is_double(wide[0][0]):
            yield Example(Instance(wide[0][0], bindings, target), TrialBank(), [wide[1]])


def _searched(rule: Rule, context: Context, examples: Iterable[Example], stop: float) -> Search:
    effort, search, more, far = context.effort, Search(), _MORE, _LEAST
    for example in examples:
        search.drawn += 1
        try:
            wrong = _wrong_somewhere(rule, context, example)
            search.compared += 1
            search.empty += not any(v.size for v in example.choices[0].values())
        except (Undefined, NoDifferences):
            wrong = None
        if wrong is None and far and all(v.size for v in example.choices[0].values()):
            wrong, far = _lost_far_away(rule, context, example), far - 1
        if wrong is not None:
            search.found.append(wrong)
        more -= bool(search.found)
        search.late = time.process_time() > stop
        few = search.compared - search.empty < _LEAST and search.drawn < _LEAST**3
        if ((search.late or search.drawn >= effort.examples) and not few) or not more:
            break
    return search


def _wrong_somewhere(rule: Rule, context: Context, example: Example) -> WrongAdjoint | None:
    """What is wrong at the drawn values, which lie between -1 and 1, or at others between 0 and 1, or above 1."""
    values = example.choices[0]
    for least in (0, 1):
        try:
            return wrong_adjoint(rule, context, example, values)
        except NoDifferences:
            values = {
                k: np.asarray(least + np.abs(v)) if is_float(v.dtype) else v for k, v in example.choices[0].items()
            }
    return wrong_adjoint(rule, context, example, values)


def _lost_far_away(rule: Rule, context: Context, example: Example) -> WrongAdjoint | None:
    """An adjoint that is NaN where the slope is a number: on its way there is one that overflows."""
    term, incoming = example.instance.term, example.bank.leaf("d", example.instance.term.type)
    try:
        found = adjoints(context.matcher(rule), term, example.bank.make, incoming) or []
    except NGraphRewriteError:
        return None
    for times in _FAR:
        values: dict[Any, Array] = {
            k: np.asarray(np.abs(v) * times if is_float(v.dtype) else v) for k, v in example.choices[0].items()
        }
        values[incoming] = weights_of(term)
        for adjoint in found:
            try:
                both = disagreement(term, *adjoint, values, values[incoming])
            except (NGraphRewriteError, Undefined, NoDifferences):
                continue
            if both is not None and (np.isnan(both[0]) & np.isfinite(both[1])).any():
                what = f"gives {describe(adjoint.argument)} an adjoint that is NaN where the slope is a number"
                return WrongAdjoint(rule, term, incoming, adjoint, values, both, what)
    return None


def wrong_adjoint(rule: Rule, context: Context, example: Example, given: Values) -> WrongAdjoint | None:
    """None if every adjoint that the rule builds agrees with differences, else the first that does not.

    Raises:
        NoDifferences: if there is nothing to compare with.
        Undefined: if the term has no value.
    """
    term = example.instance.term
    if not is_double(term):
        raise NoDifferences
    incoming = example.bank.leaf("d", term.type)
    values: dict[Any, Array] = {**given, incoming: weights_of(term)}

    def wrong(what: str, adjoint: Adjoint | None = None, both: tuple[Array, Array] | None = None) -> WrongAdjoint:
        return WrongAdjoint(rule, term, incoming, adjoint, values if both is not None else given, both, what)

    try:
        found = adjoints(context.matcher(rule), term, example.bank.make, incoming)
    except NGraphRewriteError as error:
        return wrong(f"fails on {signature(term)}: {said(error)}")
    if found is None:
        raise NoDifferences
    for adjoint in found:
        if not is_float(adjoint.argument.dtype) or adjoint.argument not in values:
            continue
        try:
            both = disagreement(term, *adjoint, values, values[incoming])
        except NGraphRewriteError as error:
            return wrong(f"gives {describe(adjoint.argument)} what is no adjoint: {said(error)}")
        if both is not None:
            return wrong(f"gives {describe(adjoint.argument)} a wrong adjoint", adjoint, both)
    random = Random(f"{rule.name} {signature(term)}")
    what = wrong_along(term, found, values, values[incoming], Random(f"{rule.name} {signature(term)} along"))
    if what is not None:
        return WrongAdjoint(rule, term, incoming, None, given, None, what)
    few = few_values(random, valued_leaves(term))
    what = wrong_at_edges(term, found, {**few, incoming: weights_of(term)}, weights_of(term), random)
    return None if what is None else WrongAdjoint(rule, term, incoming, None, few, None, what)
