# SPDX-License-Identifier: Apache-2.0
"""Control by data: a loop that goes on while a condition of its states holds, and the one of two branches that is run.

A branch is a loop of at most one step: the first loop takes its step if the predicate is true, the second one if not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ngraph_rewrite.errors import ArgumentError, AxesError, DTypeError
from ngraph_rewrite.frontend.building import Operand, checked, condition_of, function_of
from ngraph_rewrite.frontend.draws import Drawn, drawn_before
from ngraph_rewrite.frontend.scan import positional_scan
from ngraph_rewrite.frontend.steps import check_pure, following, parameter, with_axes
from ngraph_rewrite.frontend.storage import as_op, constant
from ngraph_rewrite.frontend.structures import Structure, flat, like
from ngraph_rewrite.ops.checks import extent
from ngraph_rewrite.ops.scanning import check_states
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.info import scope, user_line
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op, build
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.types.axes import anonymous
from ngraph_rewrite.types.dtypes import BOOL
from ngraph_rewrite.types.lengths import Extent

_BOOL = "let it be a bool without axes: compare with equal, less and others, and reduce by any or all"
Condition = Callable[[Structure], Operand]


def while_loop(
    condition: Condition, step: Callable[[Structure], Structure], init: Structure, limit: Extent | None = None
) -> Structure:
    """Repeat a step for as long as a condition of the states holds: how often depends on values.

    Both functions are called while the graph is built, with terms that stand for the states before a step. They may use
    terms from outside; these are computed before the loop. There may be no step at all. A loop whose condition holds
    for ever runs until it is interrupted.

    Args:
        condition: From states (in the structure of `init`) to a bool without axes.
        step: From states to the states after a step; each keeps its axes and its dtype.
        init: The states before the first step: a term, or a tuple, list or dict of terms, however deep.
        limit: After so many steps it ends in any case. A derivative passes through a loop with a limit only, as its
            states are kept on the way: so many of each.

    Returns:
        The states for which the condition no longer holds, in the structure of `init`.

    Raises:
        AxesError, DTypeError: if a state changes its axes or dtype in a step, or the condition is no bool without axes.
        ArgumentError: if there are no states, `step` does not return each, or something is given for a function.
        SequencingError: if the step assigns to a variable, or there is no limit and it draws random numbers.

    >>> import ngraph_rewrite as ng
    >>> n = ng.placeholder([], dtype="int64", name="n")
    >>> def step(state):
    ...     count, n = state
    ...     return count + 1, ng.select(ng.equal(n % 2, 0), n // 2, 3 * n + 1)
    >>> count, _ = ng.while_loop(lambda state: state[1] > 1, step, (0, n))
    >>> with ng.make_transformer("cpu") as transformer:
    ...     collatz = transformer.computation(count, n)
    ...     [int(collatz(n)) for n in (1, 6, 27)]
    [0, 8, 111]
    """
    function_of("while_loop", condition, "condition")
    function_of("while_loop", step, "step")
    inits = [as_op(s) for s in flat(init)]
    if not inits:
        raise ArgumentError("while_loop: there are no states", where=user_line(), do="give what changes as init")
    if limit is not None:
        checked("while_loop: the limit", extent, limit)
    inside, mark = _parameters("state", inits), object()
    with scope(mark):
        after = following("while_loop: the states after a step", (init, inits), step(like(init, _as(inside, inits))))
        more = _flag("while_loop", "condition", condition(like(init, after)))
    drawn = Drawn([more, *after], [], [])
    if limit is not None:
        drawn = drawn_before(drawn.results, mark, anonymous((limit,))[0])
    check_pure("while_loop", drawn.results, mark)
    checked("while_loop", check_states, [s.type for s in inits], [s.type for s in after])
    start = [_flag("while_loop", "condition", condition(like(init, inits))), *_plain(inits)]
    found = _repeated(start, [*_parameters("flag", [more]), *inside], drawn, limit)
    return like(init, _as(found, inits))


def _repeated(inits: list[Op], parameters: Sequence[Op], drawn: Drawn, limit: Extent | None) -> list[Op]:
    """The final states, but for the flag; with a limit those of a scan, each step of which may take one of the loop."""
    after = _plain(drawn.results)
    if limit is None:
        return _loop(inits, [], parameters, after)
    bound = [*_parameters("once", inits[:1]), *parameters, *drawn.parameters]

    def step(states: list[Op], draws: list[Op]) -> tuple[list[Op], None]:
        return _loop([states[0], *states], draws, bound, [constant(False), *after]), None

    found, _ = positional_scan(step, inits, drawn.draws, length=limit)
    return list(found[1:])


def cond(
    predicate: Operand, then: Callable[..., Structure], otherwise: Callable[..., Structure], *operands: Structure
) -> Structure:
    """What one of two functions gives for some operands: the other one is not run.

    Both are called while the graph is built, with terms that stand for the operands, and return terms of the same
    types, in the same structure. What they use that depends on no operand is computed in any case, and so are the
    operands: what only one needs it has to compute from them. So are random numbers, of both branches. Derivatives pass
    through the branch that is run.

    Args:
        predicate: A bool without axes.
        then, otherwise: What to do if it is true, and if not.
        operands: What they are called with: terms, or tuples, lists and dicts of terms.

    Raises:
        AxesError, DTypeError: if the branches give other types, or the predicate is no bool without axes.
        ArgumentError: if one gives more than the other, or is no function.
        SequencingError: if one assigns to a variable.

    >>> import numpy as np
    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder([ng.Axis("H", 3)], name="x")
    >>> y = ng.cond(ng.sum(x, out_axes=[]) > 0, lambda x: x * 2, lambda x: -x, x)
    >>> with ng.make_transformer("cpu") as transformer:
    ...     either = transformer.computation([y, ng.deriv(ng.sum(y, out_axes=[]), x)], x)
    ...     [a.tolist() for a in either([1, 2, 3])], [a.tolist() for a in either([-1, -2, -3])]
    ([[2.0, 4.0, 6.0], [2.0, 2.0, 2.0]], [[1.0, 2.0, 3.0], [-1.0, -1.0, -1.0]])
    """
    function_of("cond", then, "then")
    function_of("cond", otherwise, "otherwise")
    chosen = _flag("cond", "predicate", predicate)
    terms = [as_op(x) for x in flat(operands)]
    first, second = _Branch(then, operands, terms), _Branch(otherwise, operands, terms)
    what = "cond: the results if the predicate is false"
    second.results = following(what, (first.structure, first.results), second.structure)
    _check_alike(first.results, second.results)
    nothing = [build(lookup("core.constant"), (), value=Literal(0, r.dtype), axes=r.axes) for r in first.results]
    found = first.run(chosen, _plain(nothing), terms)
    return like(first.structure, _as(second.run(~chosen, found, terms), first.results))


class _Branch:
    """What a function gives, in terms of parameters that stand for its operands.

    Attributes:
        structure: What it returned.
        results: The terms in that.
    """

    def __init__(self, function: Callable[..., Structure], given: Structure, operands: Sequence[Op]) -> None:
        self._parameters, mark = _parameters("operand", operands), object()
        with scope(mark):
            structure = function(*like(given, _as(self._parameters, operands)))
            results = [as_op(r) for r in flat(structure)]
        self.results, self._draws, drawn = drawn_before(results, mark, None)
        self._parameters += drawn
        self.structure = like(structure, self.results)
        check_pure("cond", self.results, mark)

    def run(self, chosen: Op, before: Sequence[Op], operands: Sequence[Op]) -> list[Op]:
        """The results without names if it is chosen, and what was there before if not."""
        states = _parameters("state", [chosen, *before])
        after = [constant(False), *_plain(self.results)]
        return _loop([chosen, *before], [*_plain(operands), *self._draws], [*states, *self._parameters], after)


def _check_alike(first: Sequence[Op], second: Sequence[Op]) -> None:
    if not first:
        raise ArgumentError("cond: the branches return no terms", where=user_line(), do="return what they compute")
    for i, (one, other) in enumerate(zip(first, second, strict=True)):
        if one.type != other.type:
            raise (DTypeError if one.dtype != other.dtype else AxesError)(
                f"cond: result {i} is {one.type!r} if the predicate is true and {other.type!r} if not",
                where=user_line(),
                do="cast, broadcast or order the axes of one of them",
            )


def _flag(call: str, what: str, value: Operand) -> Op:
    """A bool without axes, that is none of Python, to which comparisons by ``==`` come."""
    term = checked(f"{call}: the {what}", as_op, condition_of(call, value))
    if term.dtype != BOOL or term.rank:
        error = DTypeError if term.dtype != BOOL else AxesError
        raise error(f"{call}: the {what} is {describe(term, 1)} of {term.type!r}", where=user_line(), do=_BOOL)
    return term


def _loop(inits: Sequence[Op], passed: Sequence[Op], parameters: Sequence[Op], after: Sequence[Op]) -> list[Op]:
    """The final states, but for the flag."""
    term = build(
        lookup("core.while_loop"),
        (*inits, *passed, *after),
        parameters=tuple(p.attribute("uid") for p in parameters),
        states=len(inits),
        passed=len(passed),
    )
    return [term[i] for i in range(len(inits) - 1)]


# -- a loop is one of terms without names, whatever the user sees ------------------------------------------------------


def _parameters(name: str, terms: Sequence[Op]) -> list[Op]:
    return [parameter(f"{name}{i}", anonymous(t.axes.lengths), t) for i, t in enumerate(terms)]


def _plain(terms: Sequence[Op]) -> list[Op]:
    return [with_axes(t, anonymous(t.shape)) for t in terms]


def _as(terms: Sequence[Op], others: Sequence[Op]) -> list[Op]:
    """Terms with the axes of others."""
    return [with_axes(t, of.axes) for t, of in zip(terms, others, strict=True)]
