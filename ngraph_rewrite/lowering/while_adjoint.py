# SPDX-License-Identifier: Apache-2.0
"""The adjoint of a loop that takes one step at most: a loop that takes one if that does, and computes adjoints in it.

Such a loop is what a branch is made of. Where it takes no step, adjoints of the final states are those of the
initial ones, and nothing else gets any. It binds the parameters of the loop again, so that what a step computed
are the same terms; the states before the step are passed to it. How many steps another loop takes nobody knows before
it has taken them, so there is no memory for the states on its way.
"""

from __future__ import annotations

from collections.abc import Mapping

from ngraph_rewrite.errors import DerivativeError
from ngraph_rewrite.lowering.fitting import has_slope, zero
from ngraph_rewrite.lowering.scan_adjoint import ScanParts, parameter, relabelled
from ngraph_rewrite.lowering.sweep import Adjoint, Pair, Sweep, Waiting
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.op import Op, build
from ngraph_rewrite.types.axes import Axes, anonymous


def while_adjoint(term: Op, adjoint: Adjoint, sweep: Sweep) -> Waiting[list[Pair]]:
    """What the initial states, the terms passed and those read from outside get from the adjoints of the parts.

    Raises:
        DerivativeError: for a loop that may take several steps.
    """
    assert isinstance(adjoint, Mapping)
    loop = ScanParts(term, sweep.free_parameters(term.args))
    _check_one_step(term, loop.following[0])
    given = {i + 1: part for i, part in adjoint.items() if isinstance(part, Op)}
    states = [i for i, x in enumerate(loop.inits) if has_slope(x.type) and sweep.needs(x)]
    passed = [i for i, x in enumerate(loop.sequences) if has_slope(x.type) and sweep.needs(x)]
    outside = [t for t in loop.outside if sweep.needs(t)]
    receivers = [*(loop.inits[i] for i in states), *(loop.sequences[i] for i in passed), *outside]
    inside = [*map(loop.state, states), *loop.slices(passed), *outside]
    seeds = {i: parameter(Uid(), part.type) for i, part in given.items()}
    walked = [(loop.following[i], seed) for i, seed in seeds.items()]
    found = yield from sweep.inner(walked, inside, loop.read)
    after = [relabelled(_tensor(found[t]) if t in found else zero(t.type), _plain(t)) for t in inside]
    before = [given[i] if i in given else zero(loop.inits[i].type) for i in states]
    before += [zero(t.type.with_axes(_plain(t))) for t in receivers[len(states) :]]
    result = _backward(loop, [(given[i], seed) for i, seed in seeds.items()], before, after)
    return [(t, relabelled(result[i], t.axes)) for i, t in enumerate(receivers)]


def _check_one_step(term: Op, flag: Op) -> None:
    if flag.definition.name == "core.constant" and flag.attribute("value").scalar is False:
        return
    raise DerivativeError(
        "how many steps this while_loop takes depends on values, so a derivative does not pass through it",
        where=term.info.place,
        do="give ng.while_loop a limit=, or use ng.scan",
    )


def _backward(loop: ScanParts, walked: list[tuple[Op, Op]], before: list[Op], after: list[Op]) -> Op:
    """The loop of adjoints.

    Args:
        walked: What is passed to it besides what the loop had, and the parameter that stands for it.
    """
    flag, term = loop.inits[0], loop.term
    passed = [*zip(loop.inits[1:], map(loop.state, range(1, len(loop.inits))), strict=True)]
    passed += [*zip(loop.sequences, loop.slices(range(len(loop.sequences))), strict=True), *walked]
    states = [parameter(Uid(), x.type) for x in (flag, *before)]
    return build(
        term.definition,
        (flag, *before, *(x for x, _ in passed), loop.following[0], *after),
        parameters=tuple(p.attribute("uid") for p in (*states, *(p for _, p in passed))),
        states=len(states),
        passed=len(passed),
    )


def _plain(term: Op) -> Axes:
    return anonymous(term.axes.lengths)


def _tensor(adjoint: Adjoint) -> Op:
    assert isinstance(adjoint, Op)
    return adjoint
