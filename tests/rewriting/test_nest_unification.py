# SPDX-License-Identifier: Apache-2.0
"""Unification modulo associativity, commutativity and identity: right, and complete beside all small ground terms."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import Any

import pytest
from brute_force import every_match
from hypothesis import given, settings
from hypothesis import strategies as st

from ngraph_rewrite.rewriting.diophantine import Limit, minimal_solutions
from ngraph_rewrite.rewriting.flattening import flattened
from ngraph_rewrite.rewriting.nests import is_flat
from ngraph_rewrite.rewriting.pattern import App, Pattern, SeqVar, Var, subpatterns, variables
from ngraph_rewrite.rewriting.signatures import Signature
from ngraph_rewrite.rewriting.unification import unifiers
from ngraph_rewrite.rewriting.unifier import Unifier, resolved
from ngraph_rewrite.rewriting.variable_sorts import sorted_variables
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.op import Op

SEEDS = st.integers(0, 2**32 - 1)
drawn = settings(max_examples=60, deadline=None, derandomize=True)

LAWS = Signature("test_laws")
LAWS.sort("S")
for _name in ("a", "b", "zero", "nil", "first", "last"):
    LAWS.operation(_name, (), "S")
LAWS.operation("free", ("S", "S"), "S")
LAWS.operation("wrap", ("S",), "S")
LAWS.operation("bag", ("S", "S"), "S", "associative", "commutative")
LAWS.operation("sum", ("S", "S"), "S", "associative", "commutative", identity="zero")
LAWS.operation("word", ("S", "S"), "S", "associative", identity="nil")
LAWS.operation("swap", ("S", "S"), "S", "commutative")
NESTS = ("bag", "sum", "word")


def app(name: str, *args: Pattern) -> App:
    return App(LAWS[name].definition, args)


def x(name: str) -> Var:
    return Var(name)


def xs(name: str) -> SeqVar:
    return SeqVar(name)


def shown(left: Pattern, right: Pattern) -> list[str]:
    """What both sides are, for each unifier."""
    return [str(resolved(left, unifier)) for unifier in unifiers(left, right)]


# -- one equation in natural numbers ---------------------------------------------------------------------------


@drawn
@given(st.lists(st.integers(-3, 3).filter(bool), min_size=1, max_size=5), st.integers(2, 4))
def test_every_small_solution_is_a_sum_of_minimal_ones(coefficients: list[int], size: int) -> None:
    minimal = minimal_solutions(coefficients)
    sums = {(0,) * len(coefficients)}
    for _ in range(size * len(coefficients)):
        sums |= {
            total
            for some in sums
            for one in minimal
            if max(total := tuple([a + b for a, b in zip(some, one, strict=True)])) <= size
        }
    for vector in product(range(size + 1), repeat=len(coefficients)):
        zero = not sum(c * v for c, v in zip(coefficients, vector, strict=True))
        assert zero == (vector in sums)
    assert not any(a != b and all(map(int.__le__, a, b)) for a in minimal for b in minimal)


def test_a_solution_may_be_kept_small_and_a_search_short() -> None:
    assert minimal_solutions([2, -1, -1], most=[None, 1, 1]) == [(1, 1, 1)]
    limit = Limit(10)
    minimal_solutions([7, 5, -6, -11], limit=limit)
    assert limit.met


# -- what is found ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (app("bag", x("x"), x("y")), app("bag", app("a"), app("b")), ["bag(a(), b())", "bag(a(), b())"]),
        (app("bag", x("x"), xs("r")), app("bag", app("a"), app("b"), app("a")), ["bag(a(), a(), b())"] * 2),
        (app("bag", x("x"), x("x")), app("bag", x("y"), x("z")), ["bag(z, z)"]),
        (app("sum", xs("r"), xs("r")), app("sum", x("y"), x("z")), ["sum(z, z)"]),
        (app("sum", xs("r")), app("wrap", x("y")), ["wrap(y)"]),
        (app("sum", xs("r")), app("zero"), ["zero()"]),
        (app("sum", x("x"), xs("r")), app("zero"), []),
        (app("bag", x("x"), x("y")), app("wrap", x("z")), []),
        (app("word", xs("r"), app("a"), xs("s")), app("word", x("u"), x("v")), ["word(a(), v)", "word(u, a())"]),
        (app("word", app("a"), app("b")), app("word", app("b"), app("a")), []),
        (app("wrap", x("x")), app("wrap", app("bag", x("x"), x("y"))), []),
        (app("swap", x("x"), app("a")), app("swap", app("b"), x("y")), ["swap(a(), b())"]),
        (app("sum", xs("r")), app("word", xs("s")), ["zero()", "nil()", "word(s...)", "sum(r...)"]),
    ],
)  # fmt: skip
def test_the_unifiers_of_two_patterns(left: Pattern, right: Pattern, expected: list[str]) -> None:
    assert set(shown(left, right)) == set(expected)


def test_a_sequence_is_shared_between_two_that_stand_beside_it() -> None:
    (one,) = unifiers(app("bag", xs("r"), app("a")), app("bag", xs("s"), app("b")))
    assert str(resolved(app("bag", xs("r"), app("a")), one)) == "bag(a(), b(), ~0...)"


def test_a_limit_that_is_met_says_so() -> None:
    many = [app("bag", *[x(f"{side}{i}") for i in range(9)]) for side in "xy"]
    limit = Limit(500)
    found = list(unifiers(*many, limit=limit))
    assert limit.met and found
    assert not Limit(10).met


# -- against all small ground terms ----------------------------------------------------------------------------


class Drawn:
    """Patterns and ground terms over one bank."""

    def __init__(self, seed: int) -> None:
        self.random, self.bank = Random(seed), TermBank()

    def pattern(self, depth: int, names: str) -> Pattern:
        kind = self.random.randrange(4 if depth else 2)
        if kind == 0:
            return app(self.random.choice("ab"))
        if kind == 1:
            return x(self.random.choice(names))
        name = self.random.choice(("free", "wrap", "swap", *NESTS, *NESTS))
        if name in NESTS:
            return self.nest(name, depth, names)
        return app(name, *[self.pattern(depth - 1, names) for _ in range(1 if name == "wrap" else 2)])

    def nest(self, name: str, depth: int, names: str) -> Pattern:
        singles = [self.pattern(depth - 1, names) for _ in range(self.random.randrange(2, 4))]
        singles = [a for a in singles if not (isinstance(a, App) and a.definition.short in (name, "zero", "nil"))]
        more = [xs(f"{names}{name}{self.random.randrange(2)}")] if self.random.random() < 0.5 else []
        if len(singles) < 2:
            singles += [app("a"), app("b")][: 2 - len(singles)]
        args = [*singles, *more]
        self.random.shuffle(args)
        return app(name, *args)

    def make(self, name: str, *args: Op) -> Op:
        return self.bank.make(LAWS[name].definition, args, ())

    def pair(self, shared: bool) -> tuple[Pattern, Pattern]:
        """Two patterns, most often nests of one operation, with the same variables or with others."""
        name, names = self.random.choice(NESTS), "xy" if shared else "uv"
        if self.random.random() < 0.2:
            return self.pattern(2, "xy"), self.pattern(2, names)
        return self.nest(name, 2, "xy"), self.nest(name, 2, names)

    @property
    def pool(self) -> list[Op]:
        a, b = self.make("a"), self.make("b")
        nests = [self.make(name, a, b) for name in NESTS]
        return [a, b, *self.random.sample([*nests, self.make("wrap", a), self.make("zero")], 2)]

    def ground(self, pattern: Pattern, given: dict[str, Any]) -> Op:
        if isinstance(pattern, Var):
            return given[pattern.name]  # type: ignore[no-any-return]
        assert isinstance(pattern, App)
        args = [b for a in pattern.args for b in (given[a.name] if isinstance(a, SeqVar) else [self.ground(a, given)])]
        return self.bank.make(pattern.definition, tuple(args), ())

    def substitutions(self, *patterns: Pattern) -> list[dict[str, Any]]:
        """Ground terms for all variables that operands may be, drawn where there are too many."""
        kinds = sorted_variables(*patterns)
        pool, a, b = self.pool, self.make("a"), self.make("b")
        names = {n: seq for p in patterns for n, seq in variables(p).items()}
        values: list[list[Any]] = []
        for name, run in names.items():
            fits = [t for t in pool if kinds.get(name) is None or kinds[name].admits(t.definition)]
            values.append([(), (a,), (a, b)] if run else fits)
        every = [dict(zip(names, some, strict=True)) for some in product(*values)] if all(values) else []
        return self.random.sample(every, min(len(every), 400))

    def row(self, values: list[Op]) -> Op:
        found = self.make("last")
        for value in values:
            found = self.make("free", value, found)
        return found

    def run(self, name: str, terms: tuple[Op, ...]) -> Op:
        return self.make(name, self.make("first"), *terms, self.make("last"))


def row(values: list[Pattern]) -> Pattern:
    found: Pattern = app("last")
    for value in values:
        found = app("free", value, found)
    return found


def owners(*patterns: Pattern) -> dict[str, str]:
    """The operation in whose nests each sequence variable stands."""
    parts = [p for pattern in patterns for p in subpatterns(pattern) if isinstance(p, App)]
    return {a.name: p.definition.short for p in parts for a in p.args if isinstance(a, SeqVar)}


def is_instance(draw: Drawn, unifier: Unifier, given: dict[str, Any], own: dict[str, str]) -> bool:
    """Whether a ground substitution is an instance of a unifier."""
    patterns, terms = [], []
    for name, value in given.items():
        run = isinstance(value, tuple)
        pattern = app(own[name], app("first"), xs(name), app("last")) if run else x(name)
        patterns.append(resolved(pattern, unifier))
        terms.append(draw.run(own[name], value) if run else value)
    return next(every_match(row(patterns), draw.row(terms)), None) is not None


@drawn
@given(SEEDS, st.booleans())
def test_each_ground_unifier_is_an_instance_of_one_found(seed: int, shared: bool) -> None:
    draw = Drawn(seed)
    left, right = draw.pair(shared)
    limit = Limit(20_000)
    found = list(unifiers(left, right, limit=limit))
    own = owners(left, right)
    for terms in draw.substitutions(left, right):
        if draw.ground(left, terms) is draw.ground(right, terms) and not limit.met:
            assert any(is_instance(draw, unifier, terms, own) for unifier in found), terms


@drawn
@given(SEEDS, st.booleans())
def test_each_unifier_makes_both_sides_one(seed: int, shared: bool) -> None:
    draw = Drawn(seed)
    left, right = draw.pair(shared)
    for unifier in unifiers(left, right):
        one, other = resolved(left, unifier), resolved(right, unifier)
        assert one == other
        assert flattened(one) == one
        for terms in draw.substitutions(one)[:20]:
            assert draw.ground(one, terms) is draw.ground(other, terms)


@drawn
@given(SEEDS)
def test_unifiers_are_the_same_each_time(seed: int) -> None:
    draw = Drawn(seed)
    left, right = draw.pair(False)
    assert shown(left, right) == shown(left, right)


def test_drawn_patterns_unify_often_and_in_all_kinds_of_nests() -> None:
    kinds = set()
    for seed in range(40):
        draw = Drawn(seed)
        left, right = draw.pair(False)
        parts = {p.definition.short for p in subpatterns(left) if isinstance(p, App) and is_flat(p.definition)}
        kinds |= parts if not isinstance(left, Var) and shown(left, right) else set()
    assert kinds == set(NESTS)
