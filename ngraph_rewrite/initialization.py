# SPDX-License-Identifier: Apache-2.0
"""Initial values that are terms: collected into one computation, which runs before any other.

In it a variable stands for its own initial value, so the order in which variables are met does not matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.errors import ArgumentError, ComputationError, NGraphRewriteError
from ngraph_rewrite.lowering.passes import Passes, lower
from ngraph_rewrite.ops.initial import initial_term, initial_value
from ngraph_rewrite.plan.binding import bind_graph
from ngraph_rewrite.targets.storage import Storage
from ngraph_rewrite.targets.target import Program, Target
from ngraph_rewrite.terms.calls_told import clipped
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.info import Uid, user_line
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.substitution import substituted
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.types.lengths import known

Array = NDArray[Any]
# The number of the run, for random draws: none that a call can have, as these count from 0.
INITIAL_CALL = 2**32 - 1


def initializers(*ops: Op) -> dict[Op, Op]:
    """The variables under `ops` whose initial values are terms, with these terms.

    They are what a transformer computes once, before anything else: without variables, and of their types.

    Raises:
        ArgumentError: for what is no term.

    >>> import ngraph_rewrite as ng
    >>> w = ng.variable({"H": 3}, initial_value=ng.constant(2.0) + 1, name="w")
    >>> v = ng.variable([], initial_value=ng.sum(w, out_axes=[]), name="v")
    >>> for variable, term in ng.initializers(w * v).items():
    ...     print(variable, term)
    w axes.broadcast(axes.add(2.0, 1.0), axes=Axes(H:3))
    v axes.sum(axes.broadcast(axes.add(..., ...), axes=Axes(H:3)), axes=Axes(H:3))
    """
    for other in (o for o in ops if not isinstance(o, Op)):
        what = f"initializers: {clipped(other)} is no term"
        raise ArgumentError(what, where=user_line(), do="give terms: initializers(x, y)")
    found = Initials()
    variables = (t for t in topological(ops) if t.definition.name == "core.variable")
    return {v: found.term(v) for v in variables if isinstance(found.given(v), Op)}


class Initials:
    """What variables begin with, worked out once for each: a function is called one time."""

    def __init__(self) -> None:
        self._given: dict[Uid, Any] = {}
        self._terms: dict[Uid, Op] = {}

    def given(self, variable: Op) -> Any:
        """A term, or an array; None is zero.

        Raises:
            ComputationError: if what a function gives does not fit.
        """
        uid = variable.attribute("uid")
        if uid not in self._given:
            initial = variable.info.initial
            made = callable(initial) and not isinstance(initial, Op)
            self._given[uid] = _checked(variable, initial(variable.axes)) if made else initial
        return self._given[uid]

    def term(self, variable: Op) -> Op:
        """The initial value as a term without variables.

        Raises:
            ComputationError: if it depends on itself, or does not fit.
        """
        waiting = [variable]  # each for the next
        while waiting:
            current = waiting[-1]
            open_ = [v for v in self._reads(current) if v.attribute("uid") not in self._terms]
            if not open_:
                self._terms[current.attribute("uid")] = self._closed(current)
                waiting.pop()
            elif any(v is open_[0] for v in waiting):
                raise _cyclic([*waiting[waiting.index(open_[0]) :], open_[0]])
            else:
                waiting.append(open_[0])
        return self._terms[variable.attribute("uid")]

    def _reads(self, variable: Op) -> list[Op]:
        given = self.given(variable)
        terms = topological([given]) if isinstance(given, Op) else []
        return [t for t in terms if t.definition.name == "core.variable"]

    def _closed(self, variable: Op) -> Op:
        given = self.given(variable)
        if not isinstance(given, Op):
            return _constant(variable, given)
        (closed,) = substituted([given], {v: self._terms[v.attribute("uid")] for v in self._reads(variable)})
        try:
            return initial_term(given, variable.type, describe(variable, 1), closed)
        except NGraphRewriteError as error:
            raise _misfit(variable, error.what) from error


def _checked(variable: Op, given: Any) -> Any:
    """What a function gave, which nobody has looked at before."""
    if given is None or isinstance(given, Op):
        return given
    try:
        return initial_value(given, variable.axes, variable.dtype)
    except NGraphRewriteError as error:
        raise _misfit(variable, error.what) from error


def initial_array(variable: Op, given: Any, into: Array) -> None:
    """Fill an array with an initial value that is no term: zeros if nothing was said.

    Raises:
        ComputationError: if it does not fit.
    """
    try:
        np.copyto(into, np.asarray(0 if given is None else given), casting="unsafe")
    except (TypeError, ValueError) as error:
        raise _misfit(variable, str(error)) from error


def run_initializers(
    terms: Sequence[Op], target: Target, passes: Passes, cache: Cache, seed: int, streams: Mapping[Uid, int]
) -> list[Array]:
    """The values of terms without variables and placeholders, by one computation."""
    lowering = lower(terms, target, passes)
    bound = bind_graph(lowering.roots, {})
    roots = [bound[r] for r in lowering.roots]
    program = Program(roots, [], [], Storage(), streams, seed, cache)
    results = [np.empty(tuple(known(n) for n in t.shape), t.dtype) for t in terms]
    target.executable(program).run([], results, INITIAL_CALL)
    return results


def _constant(variable: Op, given: Any) -> Op:
    array = np.empty(tuple(known(n, f"a length of {describe(variable, 1)}") for n in variable.shape), variable.dtype)
    initial_array(variable, given, array)
    return Op(lookup("core.constant"), (), (Literal(array), variable.axes), variable.type, variable.info)


def _misfit(variable: Op, what: str) -> ComputationError:
    return ComputationError(
        f"the initial value of {describe(variable, 1)} does not fit its axes {variable.axes!r}: {what}",
        where=variable.info.place,
    )


def _cyclic(variables: Sequence[Op]) -> ComputationError:
    return ComputationError(
        f"the initial values of {' and '.join(describe(v, 1) for v in variables[:-1])} depend on themselves",
        where=variables[0].info.place,
        do="give one of them a number or an array",
    )
