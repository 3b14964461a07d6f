# SPDX-License-Identifier: Apache-2.0
"""What stands below a term is worked out once, and is what a look at all of it says."""

from __future__ import annotations

from typing import Any

import pytest

import ngraph_rewrite as ng
from ngraph_rewrite.terms import below as module
from ngraph_rewrite.terms.below import Below, below, topological_where
from ngraph_rewrite.terms.binders import NONE, free_parameters
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological

H = ng.Axis("H", 3)


def program() -> list[Op]:
    """A scan in a function, with a branch in it, a draw, and an assignment of all that."""
    p, w = ng.parameter([H], name="p"), ng.variable([H], initial_value=1.0)
    noise = ng.normal([H])

    def step(h: Op, x: Op) -> tuple[Op, Op]:
        h = ng.cond(ng.sum(h, out_axes=[]) > 0, lambda a: a * p + noise, lambda a: a - w, h)
        return h + x, h

    rows = ng.constant(1.0, [ng.Axis("REC", 2), H])
    f = ng.function([p], ng.scan(step, p * 2, rows, "REC")[0])
    g = ng.function([p], ng.tanh(f(p)) + f(w))
    return [g(w), g(p) * p, ng.assign(w, g(w)), f.results]  # type: ignore[list-item]


def test_it_is_what_a_look_at_all_terms_says() -> None:
    roots = program()
    free = free_parameters(topological(roots))
    for term in topological(roots):
        under = topological([term])
        effects = any(t.definition.name == "core.assign" for t in under)
        draws = any("draw" in t.definition.traits for t in under)
        assert below(term) == Below(free.get(term, NONE), effects, draws)


def test_a_look_from_above_meets_no_term_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of many branches walked through the whole graph that it stands on."""
    looked, of = list[Op](), module._of

    def counted(term: Op) -> Any:
        looked.append(term)
        return of(term)

    monkeypatch.setattr(module, "_of", counted)
    term: Op = ng.placeholder([H])
    for _ in range(20):
        for _ in range(50):
            term = ng.sin(term)
        deep = topological_where([term], lambda found: found.draws)
        assert deep == [term]
        term = ng.cond(ng.sum(term, out_axes=[]) > 0, ng.exp, ng.cos, term)
    assert len(looked) == len(set(looked)) < 2 * len(topological([term]))


def test_functions_of_functions_are_not_looked_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that a function calls have parameters of their own: what it is built of ends there."""
    p = ng.parameter([H])
    f = ng.function([p], ng.sin(p))
    for _ in range(100):
        f = ng.function([p], f(p) + 1)
    (own,) = f.parameters
    assert len(topological_where([f.results], lambda found: own.attribute("uid") in found.free)) < 6  # type: ignore[list-item]


def test_depth_is_no_limit() -> None:
    term: Op = ng.normal([H])
    for _ in range(20_000):
        term = ng.sin(term)
    assert below(term).draws
