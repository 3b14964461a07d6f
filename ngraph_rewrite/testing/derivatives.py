# SPDX-License-Identifier: Apache-2.0
"""What `deriv` makes of each op, by whatever rules, checked on drawn applications against finite differences."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from hypothesis import assume, given
from hypothesis.errors import Unsatisfiable

from ngraph_rewrite.lowering.deriv import OwnRules, deriv
from ngraph_rewrite.plugins import load_plugin_ops
from ngraph_rewrite.rewriting.inline import as_rules
from ngraph_rewrite.rewriting.instances import instances, signature
from ngraph_rewrite.rewriting.pattern import App, Pattern, SeqVar, Var
from ngraph_rewrite.rewriting.rule import REAL, Rule, RuleSet
from ngraph_rewrite.terms.catalogue import OpDef, lookup
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.testing.differences import NoDifferences, disagreement, is_double, weights_of
from ngraph_rewrite.testing.evaluate import Array, Undefined, Values
from ngraph_rewrite.testing.given import check_count
from ngraph_rewrite.testing.rules import quietly
from ngraph_rewrite.testing.strategies import DISTINCT, Example, seeded_instances
from ngraph_rewrite.types.dtypes import BOOL, FLOAT64, is_float
from ngraph_rewrite.types.tuples import TupleType


class WrongAdjoint(AssertionError):
    """An op whose derivative is not right, with the smallest of the counterexamples that were drawn."""


def check_adjoint(op: OpDef | str, examples: int = 20, order: int = 1, rules: OwnRules = None) -> int:
    """Check the derivative of an op on drawn applications to leaves, in float64, against central differences.

    It does not matter where the derivative comes from: a derive rule, the op's lowering, or a Python function.
    The same examples are drawn every time.

    Args:
        op: A definition, or its name.
        examples: How many applications are drawn.
        order: 2 to check the derivatives of the adjoints too.
        rules: Rules of your own, as `deriv` takes them.

    Returns:
        On how many applications it was compared; 0 for an op whose results are no floats.

    Raises:
        WrongAdjoint: with the term, its arguments and both results; or if no application was found whose
            differences exist.
        DerivativeError: if it has no adjoint.

    >>> check_adjoint("axes.tanh") > 0, check_adjoint("axes.argmax")
    (True, 0)
    """
    load_plugin_ops()
    check_count(examples)
    definition = op if isinstance(op, OpDef) else lookup(op)
    if not has_float_results(definition):
        return 0
    own, rule = None if rules is None else as_rules(rules), _any_application(definition)
    compared = 0
    wrong: list[str] = []

    def one(example: Example) -> None:
        nonlocal compared
        try:
            wrong.extend(_wrong(example.instance.term, example.choices[0], example, order, own))
        except (Undefined, NoDifferences):
            assume(False)
        compared += 1

    with suppress(Unsatisfiable):  # no application at all: said below
        quietly(examples)(given(seeded_instances(rule, (FLOAT64, BOOL), (DISTINCT,)))(one))()
    if wrong:
        raise WrongAdjoint(min(wrong, key=len))
    if not compared:
        raise WrongAdjoint(f"{definition}: no drawn application has differences that exist")
    return compared


def has_float_results(definition: OpDef) -> bool:
    """Whether some drawn application to floats is a float: only then is there anything to differentiate.

    Raises:
        WrongAdjoint: if there is no application at all.
    """
    found = None
    for found in instances(_any_application(definition, "lower")):
        of_floats = any(is_float(a.dtype) for a in found.args)
        if of_floats and not isinstance(found.type, TupleType) and is_float(found.dtype):
            return True
    if found is None:
        raise WrongAdjoint(f"{definition}: no application was found; say what can be drawn")
    return False


def _any_application(definition: OpDef, kind: str = "derive") -> Rule:
    """A rule that would fire on every application of an op; it is only used to draw them."""
    args: list[Pattern] = [Var(f"x{i}") for i in range(definition.least)]
    if definition.arity is None:
        args.append(SeqVar("rest"))
    binds = tuple((name, f"attribute{i}") for i, name in enumerate(definition.attributes))
    left = App(definition, tuple(args), binds)
    return Rule(definition.name, kind, left, (), (), None, REAL, definition.name, definition.name, 0)


def _wrong(term: Op, given_values: Values, example: Example, order: int, rules: RuleSet | None) -> Iterator[str]:
    """What is wrong with the derivatives of a term by its leaves, and of those derivatives."""
    assume(is_double(term))
    error = example.bank.leaf(f"d{order}", term.type)
    weights = weights_of(term)
    values: dict[Op | Uid, Array] = {**given_values, error: weights}
    leaves = [t for t in values if isinstance(t, Op) and is_float(t.dtype) and t is not error]
    for leaf, adjoint in zip(leaves, deriv(term, leaves, error, rules=rules), strict=True):
        both = disagreement(term, leaf, adjoint, values, weights)
        if both is not None:
            lines = [f"{term.definition}: {leaf!r} gets a wrong adjoint", f"  {signature(term)}", *_shown(values, both)]
            yield "\n".join(lines)
        elif order > 1:
            yield from _wrong(adjoint, values, example, order - 1, rules)


def _shown(values: Values, both: tuple[Array, Array]) -> list[str]:
    """The lines of a counterexample: what the leaves are, the adjoint and the differences."""
    lines = [f"  {t!r} = {v!r}" for t, v in values.items() if isinstance(t, Op)]
    return [*lines, f"  adjoint      {both[0]!r}", f"  differences  {both[1]!r}"]
