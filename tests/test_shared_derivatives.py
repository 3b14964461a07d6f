# SPDX-License-Identifier: Apache-2.0
"""Derivatives of one scalar by one term after another: the same terms as one by one, each term swept once."""

from __future__ import annotations

import gc
from threading import Thread
from typing import Any
from weakref import ref

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_array_equal
from programs import drawn

import ngraph_rewrite as ng
from ngraph_rewrite.errors import DerivativeError, NGraphRewriteError
from ngraph_rewrite.lowering import continued_sweep
from ngraph_rewrite.lowering.shared_sweep import SharedSweep
from ngraph_rewrite.terms.binders import is_binder
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.op import Op, build
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.testing.programs.program import Program
from ngraph_rewrite.testing.strategies.programs import programs
from ngraph_rewrite.types.dtypes import is_float
from ngraph_rewrite.types.tuples import TupleType

xp = ng.numpy


def of_each(loss: Op, wanted: list[Op]) -> list[Op]:
    return [ng.deriv(loss, term) for term in wanted]


def layers(count: int) -> tuple[Op, list[Op]]:
    """The loss of so many layers, and their weights."""
    weights = [ng.variable((3, 3), initial_value=np.eye(3), name=f"w{i}") for i in range(count)]
    h: Op = ng.placeholder((2, 3))
    for w in weights:
        h = xp.tanh(xp.matmul(h, w))
    return xp.sum(xp.square(h)), weights


@pytest.fixture
def swept(monkeypatch: pytest.MonkeyPatch) -> list[SharedSweep]:
    """The sweeps that are made to be shared."""
    made: list[SharedSweep] = []

    class Noted(SharedSweep):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            made.append(self)

    monkeypatch.setattr(continued_sweep, "SharedSweep", Noted)
    return made


# -- the same terms -----------------------------------------------------------------------------------


def scalar(program: Program) -> Op | None:
    """The sum of all floats that a program returns."""
    parts = []
    for term in program.returns:
        if not isinstance(term.type, TupleType) and is_float(term.dtype):
            plain = build(lookup("semi.cast"), (build(lookup("core.strip"), (term,)),), dtype="float64")
            parts.append(build(lookup("semi.sum"), (plain,), axes=tuple(range(term.rank))))
    return sum(parts[1:], parts[0]) if parts else None


def floats_under(loss: Op) -> list[Op]:
    return [t for t in topological([loss]) if not isinstance(t.type, TupleType) and is_float(t.dtype)]


def said(of: Any) -> Any:
    """A derivative, or the error that says that there is none."""
    try:
        return of()
    except NGraphRewriteError as error:
        return str(error)


@given(programs(numbers=["smooth"], every_dtype=False))
@drawn(30)
def test_a_derivative_is_the_same_term_whatever_else_was_asked_for(program: Program) -> None:
    loss = scalar(program)
    if loss is None:
        return
    for term in floats_under(loss):
        shared, alone = said(lambda: ng.deriv(loss, term)), said(lambda: ng.deriv(loss, [term])[0])  # noqa: B023
        if isinstance(shared, str) or isinstance(alone, str):
            assert shared == alone
        else:
            binders = any(map(is_binder, topological([alone])))  # they bind parameters of their own each time
            assert binders or shared.same_as(alone)


def test_terms_of_a_shared_sweep_know_the_line_the_metadata_and_the_scope_of_the_call() -> None:
    loss, weights = layers(4)
    for text in ("first", "second"):
        with ng.metadata(about=text):
            pairs = [(ng.deriv(loss, w), ng.deriv(loss, [w])[0]) for w in weights]
        for shared, alone in pairs:
            for one, other in zip(topological([shared]), topological([alone]), strict=True):
                assert one.info == other.info


def test_what_nothing_connects_is_zero(swept: list[SharedSweep]) -> None:
    loss, weights = layers(2)
    stranger = ng.variable((5,), initial_value=0.0)
    found = of_each(loss, [stranger, *weights, stranger, stranger])
    assert [d.type for d in found] == [stranger.type, *(w.type for w in weights), stranger.type, stranger.type]
    assert found[0].same_as(found[-1]) and found[-1] is not found[-2] and len(swept) == 1


def test_a_scalar_by_itself_and_by_what_is_in_between(swept: list[SharedSweep]) -> None:
    loss, _ = layers(3)
    between = floats_under(loss)[::-1]
    alone = [ng.deriv(loss, [t])[0] for t in between]
    assert all(a.same_as(b) for a, b in zip(of_each(loss, between), alone, strict=True))
    assert len(swept) == 1


# -- steps --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [8, 32])
def test_each_term_is_swept_once(swept: list[SharedSweep], count: int) -> None:
    loss, weights = layers(count)
    found = of_each(loss, weights)
    (sweep,) = swept
    assert sweep.swept <= len(topological([loss]))
    assert len(topological(found[1:])) < 48 * count


def test_who_keeps_no_derivative_pays_for_no_sweep_to_share(swept: list[SharedSweep]) -> None:
    loss, weights = layers(4)
    for w in weights:
        ng.deriv(loss, w)
    assert not swept
    kept = [ng.deriv(loss, w) for w in weights]
    assert len(swept) == 1 and len(kept) == 4


# -- what is not shared -------------------------------------------------------------------------------


def test_two_handles_are_two_places_in_a_sequence() -> None:
    """A derivative that is listed before a write, and one after it that has a part in common with it."""
    v = ng.variable([], initial_value=2.0)
    h = xp.square(v)
    loss = xp.square(h)

    def step(derivatives: list[Op]) -> Any:
        by_h, again, by_v = derivatives
        doing = ng.sequential([by_h, ng.assign(v, v + 1.0), xp.stack([by_h, again, by_v])])
        with ng.make_transformer("cpu") as transformer:
            return transformer.computation(doing)()

    apart = [ng.deriv(loss, [term])[0] for term in (h, h, v)]
    of_each(loss, [h])
    together = of_each(loss, [h, h, v])
    assert len({*together}) == 3
    assert_array_equal(step(together), step(apart))
    assert_array_equal(step(together), [8.0, 18.0, 108.0])


def test_steps_of_a_block_read_what_the_loss_read() -> None:
    loss, weights = layers(3)
    x = loss.placeholders()[0]

    def after_step(one_by_one: bool) -> list[Any]:
        with ng.ordered():
            doing = [ng.assign(w, w - (ng.deriv(loss, w) if one_by_one else ng.deriv(loss, [w])[0])) for w in weights]
        with ng.make_transformer("cpu") as transformer:
            computation = transformer.computation([loss, *doing], x)
            computation(np.arange(6, dtype=np.float32).reshape(2, 3))
            return [np.array(computation.value(w)) for w in weights]

    for one, other in zip(after_step(True), after_step(False), strict=True):
        assert_array_equal(one, other)


def test_a_handler_of_ones_own_is_called_for_each_derivative() -> None:
    calls = []

    def handler(d: Op) -> Op:
        calls.append(d)
        return d * 2

    v, w = ng.variable([], initial_value=1.0), ng.variable([], initial_value=1.0)
    loss = xp.square(ng.with_deriv(v * w, handler))
    of_each(loss, [v, w, v])
    assert len(calls) == 3


def test_a_handler_that_asks_for_a_derivative_of_something_else_leaves_that_alone() -> None:
    p, q = ng.variable([], initial_value=3.0), ng.variable([], initial_value=3.0)
    other = p * q

    def slope(term: Op) -> Op:
        return ng.deriv(other, term)

    a, b, c = (ng.variable([], initial_value=2.0) for _ in "abc")
    loss = xp.square(a) + xp.square(b) + ng.with_deriv(c * 1.0, lambda d: d * slope(p))
    kept = of_each(loss, [a, b, c])
    assert slope(q).same_as(ng.deriv(other, [q])[0])
    assert all(d.same_as(ng.deriv(loss, [term])[0]) for d, term in zip(kept, (a, b, c), strict=True))


def test_scans_are_made_for_who_asks() -> None:
    w, u = ng.variable((3,), initial_value=0.5), ng.variable((3,), initial_value=0.25)
    x = ng.placeholder((4, 3))
    loss = xp.sum(xp.scan(lambda h, s: (xp.tanh(h * w + s * u), h), xp.zeros(3), x)[0])
    alone = [ng.deriv(loss, [term])[0] for term in (w, u, w, u)]
    assert [d.type for d in of_each(loss, [w, u, w, u])] == [d.type for d in alone]


# -- errors -------------------------------------------------------------------------------------------


def test_what_has_no_derivative_says_so_each_time_and_leaves_the_others_alone() -> None:
    v, w = ng.variable([], initial_value=1.0, name="v"), ng.variable([], initial_value=1.0, name="w")

    def handler(d: Op) -> Any:
        return [d, d]

    loss = xp.square(v) + ng.with_deriv(w * 1.0, handler)
    for _ in range(3):
        for term in (v, w):
            found = said(lambda: ng.deriv(loss, term))  # noqa: B023
            assert isinstance(found, Op) is (term is v)
    with pytest.raises(DerivativeError, match="gives 2 adjoints"):
        ng.deriv(loss, w)


# -- memory and threads -------------------------------------------------------------------------------


def test_a_sweep_is_gone_with_the_derivatives_that_came_of_it(swept: list[SharedSweep]) -> None:
    loss, weights = layers(3)
    found = of_each(loss, weights)
    gone, lost = ref(swept.pop()), ref(loss)
    gc.disable()
    try:
        assert gone() is not None
        found.pop(0)
        assert gone() is not None
        del found
        assert gone() is None
        del loss
        assert lost() is None
    finally:
        gc.enable()


def test_each_thread_has_its_own(swept: list[SharedSweep]) -> None:
    loss, weights = layers(6)
    alone = [ng.deriv(loss, [w])[0] for w in weights]
    results: list[list[Op]] = []
    threads = [Thread(target=lambda: results.append(of_each(loss, weights))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(swept) == 4
    assert all(a.same_as(b) for found in results for a, b in zip(found, alone, strict=True))
