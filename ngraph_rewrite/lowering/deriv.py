# SPDX-License-Identifier: Apache-2.0
"""Derivatives: one reverse sweep over the graph, whose facts are the derive rules and the lower rules.

`deriv` builds terms and computes nothing. What each op passes on is told in three places:

* ``rules/deriv*.rules``: one adjoint per variable of a rule's left side. The sweep reduces each to the type of
  what it belongs to and adds up those that meet (`fitting.py`).
* an op without a derive rule is differentiated through its lowering (`sweep.py`, `derive_rules.py`).
* `adjoints.py`: the ops that are differentiated by a Python function. To add one (a scan, a function the user
  gave a derivative for), write the function in a module of its own, which may import `sweep.py`, and put it
  into the constant ``SPECIALS`` of `adjoints.py`, by the name of the op. Terms that are tuples have an adjoint
  for each part.

Who asks by one term after another, and not by a list, is served by `continued_sweep.py`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, overload

from ngraph_rewrite.errors import ArgumentError, DerivativeError
from ngraph_rewrite.lowering.adjoints import SPECIALS
from ngraph_rewrite.lowering.continued_sweep import shared_adjoint
from ngraph_rewrite.lowering.derive_rules import derive_rules
from ngraph_rewrite.lowering.disabling import disabled_now
from ngraph_rewrite.lowering.fitting import fitted, labelled, zero
from ngraph_rewrite.lowering.sweep import Sweep
from ngraph_rewrite.rewriting.inline import as_rules
from ngraph_rewrite.rewriting.rule import RuleSet
from ngraph_rewrite.terms.binders import NONE, free_parameters
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.construction import as_written
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op, build
from ngraph_rewrite.terms.operands import as_constant
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.types.dtypes import is_float
from ngraph_rewrite.types.tuples import TupleType

OwnRules = RuleSet | str | os.PathLike[str] | None


@overload
def deriv(dependent: Op, independent: Op, error: Any = None, *, rules: OwnRules = None) -> Op: ...
@overload
def deriv(dependent: Op, independent: Sequence[Op], error: Any = None, *, rules: OwnRules = None) -> list[Op]: ...
def deriv(dependent: Op, independent: Op | Sequence[Op], error: Any = None, *, rules: OwnRules = None) -> Op | list[Op]:
    """The derivative of `dependent` with respect to `independent`, as terms.

    Args:
        dependent: A float term: a scalar, or of any axes if `error` is given.
        independent: A float term `dependent` is built from, or a list of them (one sweep serves all).
        error: The adjoint of `dependent`, with its axes in any order; 1 for a scalar.
        rules: Derive and lower rules of your own, tried before the library's: a set, or a rule file or
            its text, which is checked.

    Returns:
        A term with the axes and dtype of `independent`; zero where nothing connects the two.

    Raises:
        DerivativeError: for a dependent that is not a scalar without `error`, an `error` of other axes,
            a dtype that has no derivative, or an op without an adjoint on the way.
        ArgumentError: for anything that is not a term.
        RuleFileError: for a rule file with a mistake.

    >>> from ngraph_rewrite.frontend.axes import tanh, variable
    >>> w = variable([], name="w")
    >>> deriv(tanh(w), w)
    axes.multiply(1.0, axes.subtract(1.0, axes.multiply(..., ...)))
    """
    place = user_line()
    wanted = [independent] if isinstance(independent, Op) else _terms(independent, place)
    for term in (*_terms([dependent], place), *wanted):
        if isinstance(term.type, TupleType):
            what = f"{describe(term, 1)} is a tuple, which has no derivative"
            raise DerivativeError(what, where=place, do="take a part with op[i]")
        if not is_float(term.dtype):
            what = f"{describe(term, 1)} is {term.dtype}, which has no derivative"
            raise DerivativeError(
                what, where=place, do="derivatives are of floats by floats: cast it to one, and build on that"
            )
    chosen = derive_rules(None if rules is None else as_rules(rules), disabled_now())
    seed = _first_adjoint(dependent, error, place)

    def swept() -> list[Op]:
        _check_outside(dependent, wanted, place)
        adjoints = Sweep(chosen, SPECIALS, wanted, place).run([(dependent, seed)])
        return [a if isinstance(a := adjoints.get(w), Op) else zero(w.type) for w in wanted]

    with as_written():  # a variable is read as the dependent reads it, whatever was written since
        if not isinstance(independent, Op):
            return swept()
        if error is not None:
            return swept()[0]
        return shared_adjoint(chosen, dependent, independent, seed, lambda: swept()[0])


def _terms(terms: Any, place: str) -> list[Op]:
    found = list(terms) if isinstance(terms, Iterable) else [terms]
    for term in found:
        if not isinstance(term, Op):
            what = f"{term!r} is not a term: a derivative is of a term and with respect to terms"
            raise ArgumentError(what, where=place)
    return found


def _check_outside(dependent: Op, wanted: Sequence[Op], place: str) -> None:
    """Refuse what has another value in each step of a scan, unless the dependent stands in the same step."""
    free = free_parameters(topological([dependent, *wanted]))
    for term in wanted:
        if not free.get(term, NONE) <= free.get(dependent, NONE):
            raise DerivativeError(
                f"{describe(term, 2)} stands inside a step, and {describe(dependent, 1)} outside of it",
                where=place,
                do="differentiate with respect to the initial states, the sequences or terms from outside",
            )


def _first_adjoint(dependent: Op, error: Any, place: str) -> Op:
    if error is None and dependent.rank:
        raise DerivativeError(
            f"the derivative of {describe(dependent, 1)} with axes {dependent.axes!r} needs an error",
            where=place,
            do="reduce it to a scalar first, or give error= with its axes",
        )
    if error is None:
        return as_constant(1.0, [dependent])
    term = error if isinstance(error, Op) else as_constant(error, [dependent])
    if term.user_deps:  # a variable that was written in the block around this: it is read here
        term = build(lookup("core.value_of"), (term,))
    if term.rank and not _same_axes(term, dependent):
        raise DerivativeError(f"the error has axes {term.axes!r}, the dependent {dependent.axes!r}", where=place)
    return fitted(term if dependent.axes.named or not term.rank else labelled(term, dependent.axes), dependent.type)


def _same_axes(error: Op, dependent: Op) -> bool:
    """Whether an error has the axes of the dependent: with names in any order, without as they are."""
    if dependent.axes.named:
        return error.axes.is_equal_set(dependent.axes)
    return error.shape == dependent.shape
