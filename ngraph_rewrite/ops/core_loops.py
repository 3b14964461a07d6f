# SPDX-License-Identifier: Apache-2.0
"""The loop that goes on while a flag among its states is true: how many steps there are is found out as it runs.

It binds by parameters, as scans do. Its arguments are the initial states, terms that are passed to every step as they
are, and the states after a step, in this order; the last are written with a `core.parameter` term for each state
and then one for each term that is passed. The first state is the flag. What depends on no parameter is no part of the
loop: it is computed before, whether there is a step or not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ngraph_rewrite.errors import ArgumentError, AxesError, DTypeError
from ngraph_rewrite.ops.checks import as_int, positional, several
from ngraph_rewrite.ops.scanning import check_parameters, check_states
from ngraph_rewrite.terms.binders import Bound
from ngraph_rewrite.terms.catalogue import Attributes, op
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import BOOL
from ngraph_rewrite.types.tensor import TensorType
from ngraph_rewrite.types.tuples import TupleType


def _looped(term: Op, *args: Any) -> Bound:
    n, m = term.attribute("states"), term.attribute("passed")
    states, passed = list(args[:n]), args[n : n + m]
    while states[0]:
        values = yield dict(zip(term.attribute("parameters"), (*states, *passed), strict=True))
        states = [np.array(v) for v in values[n + m :]]
    return tuple(states[1:])


def _attributes(*xs: TensorType, parameters: Any, states: Any, passed: Any) -> Attributes:
    n, m = as_int(states, "states"), as_int(passed, "passed")
    own = check_parameters(several(parameters, "parameters"), n, m)
    return {"parameters": own, "states": n, "passed": m}


@op("core.while_loop", "binder", meaning=_looped, normalise=_attributes)
def while_loop(
    flag: TensorType, *others: TensorType, parameters: tuple[Uid, ...], states: int, passed: int
) -> TensorType:
    """Steps for as long as the first state, a bool, is true: the other states as the last step leaves them."""
    xs = (flag, *others)
    if min(states - 2, passed) < 0 or len(xs) != 2 * states + passed:
        raise ArgumentError(f"a loop of {states} states, {passed} terms passed, with {len(xs)} arguments")
    if any(not isinstance(x, TensorType) for x in xs):
        raise ArgumentError(f"a loop over tuples: {', '.join(map(repr, xs))}", do="give the parts of a tuple")
    if flag.dtype != BOOL or flag.rank:
        error = DTypeError if flag.dtype != BOOL else AxesError
        raise error(f"the first state is {flag!r}", do="let it be a bool without axes that says whether to go on")
    positional(*xs)
    check_states(xs[:states], xs[states + passed :])
    return TupleType(xs[1:states])
