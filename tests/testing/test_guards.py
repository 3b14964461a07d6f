# SPDX-License-Identifier: Apache-2.0
"""Guards that are too weak at an edge are found there, and guards that are right are not blamed."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.lowering.passes import library
from ngraph_rewrite.rewriting.rule import Rule, RuleSet
from ngraph_rewrite.rewriting.rulefile import parse_rules
from ngraph_rewrite.rewriting.trial_bank import TrialBank
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.testing.findings import FAILED, NONE, PASSED, Context, Effort, Finding
from ngraph_rewrite.testing.guards import check_guard
from ngraph_rewrite.testing.neighbours import near, neighbours
from ngraph_rewrite.testing.strategies import draw_example, examples_of, random_domain
from ngraph_rewrite.types.axes import Axes, Axis


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Cache:
    return Cache(Path(tmp_path_factory.mktemp("rules")))


def rule_of(equation: str, header: str = "simplify semi", grade: str = "") -> Rule:
    (rule,) = parse_rules(f"{header}\nrule r{grade and ' @'}{grade}: {equation}\n", "my.rules", "my")
    return rule


def checked(rule: Rule, folder: Cache, effort: Effort | None = None) -> Finding:
    return check_guard(rule, Context(RuleSet([rule]), effort or Effort(50, 20.0), folder))


# What each guard forgets is said behind it.
TOO_WEAK = [
    ("simplify semi", "slice(x, starts=a, stops=b, steps=c) => x if self.shape == x.shape"),  # a reversal
    ("simplify semi", "transpose(x, perm=p) => x if self.type == x.type"),  # a square matrix
    ("simplify semi", "transpose(transpose(x, perm=p), perm=q) => x if rank(p) < 3"),  # one of them the identity
    ("simplify semi", "reshape(transpose(x, perm=p), shape=s) => reshape(x, shape=s) if s == x.shape"),  # the order
    ("simplify semi", "cast(cast(x, dtype=t), dtype=u) => x if u == x.dtype and is_float(t)"),  # narrower floats
    ("simplify semi", "x + 0 => x if x.dtype != 'float64'"),  # other floats
    ("simplify semi", "x - x => 0 if x.dtype != 'float32'"),  # other floats
    ("simplify semi", "absolute(x) => x if not is_float(x.dtype)"),  # signed integers
    ("simplify semi", "sum(x, axes=k) => max(x, axes=k) if product_of(pick(x.shape, k)) < 2"),  # nothing to add
    ("simplify semi", "pad(x, value=v, before=b, after=a) => x if b == a"),  # padding on both sides
    ("simplify semi", "concat(x, x, axis=k) => concat(x, x, axis=0) if self.shape == (2, 2)"),  # the other axis
    ("simplify semi", "dot(x, y) => dot(y, x) if self.type == x.type"),  # square matrices
    ("derive axes", "max(x, axes=k) => d if x.rank < 2"),  # vectors
    ("derive semi", "reshape(x, shape=s) => reshape(d, shape=x.shape) * 2 if x.rank == 1"),  # never right
]


@pytest.mark.parametrize(("header", "equation"), TOO_WEAK, ids=[e for _, e in TOO_WEAK])
def test_a_guard_that_is_too_weak_is_found(header: str, equation: str, folder: Cache) -> None:
    left, _, guard = equation.partition(" if ")
    found = checked(rule_of(f"{left}\n    if {guard}", header), folder)
    assert found.status == FAILED and found.check == "guard" and found.place == "my.rules:2"
    assert "\n" not in found.says
    names: dict[str, Any] = {}
    with pytest.raises(AssertionError):
        exec(found.shown, names)  # noqa: S102


RIGHT = [
    "slice(x, starts=a, stops=b, steps=c) => x\n    if self.shape == x.shape and is_whole(a, c)",
    "transpose(x, perm=p) => x\n    if is_identity(p)",
    "reshape(x, shape=s) => x\n    if s == x.shape",
    "absolute(x) => x\n    if is_unsigned(x.dtype)",
    "x - x => 0\n    if not is_float(x.dtype)",
    "max(x, axes=k) => reshape(x, shape=self.shape)\n    if product_of(pick(x.shape, k)) == 1",
    "broadcast(x, shape=s, dims=d) => x\n    if s == x.shape",
    "-(-x) => x",
]


@pytest.mark.parametrize("equation", RIGHT)
def test_a_guard_that_is_right_passes(equation: str, folder: Cache) -> None:
    found = checked(rule_of(equation, grade="real"), folder)
    assert found.status == (NONE if equation == "-(-x) => x" else PASSED), found
    assert found.status == NONE or "neighbours of" in found.says


@pytest.mark.parametrize("rule", list(library())[5::75], ids=lambda rule: rule.name)
def test_shipped_rules_pass(rule: Rule, folder: Cache) -> None:
    assert checked(rule, folder, Effort(8, 20.0)).status in (PASSED, NONE)


def test_a_guard_that_fails_near_an_instance_is_wrong(folder: Cache) -> None:
    found = checked(rule_of("transpose(x, perm=p) => x\n    if p[1] == 1 and is_identity(p)"), folder)
    assert found.status == FAILED and "fails on" in found.says and "IndexError" in found.says


def test_the_same_is_found_every_time(folder: Cache) -> None:
    rule = rule_of("sum(x, axes=k) => x\n    if x.rank == self.rank or x.rank == 1 and x.dtype == 'bool'")
    assert checked(rule, folder) == checked(rule, folder)


# -- neighbours -------------------------------------------------------------------------------------------


def example(equation: str, seed: int = 0) -> tuple[Op, TrialBank]:
    found = draw_example(rule_of(equation), Random(seed), kinds=())
    assert found is not None
    return found.instance.term, found.bank


def test_every_kind_of_place_is_changed() -> None:
    rule = rule_of("slice(subtract(x, x), starts=a, stops=b, steps=c) => x\n    if x.rank == 2 and 0 not in x.shape")
    places = set()
    for one in examples_of(rule, 5, kinds=()):
        domain = random_domain(Random(0))
        places |= {n.place.rpartition(" ")[0] or n.place for n in neighbours(one.instance.term, one.bank, domain)}
    assert {"starts of", "stops of", "steps of", "dtype of", "length of", "repetition in"} <= places


def test_neighbours_are_well_typed_and_all_different() -> None:
    for seed in range(5):
        term, bank = example("transpose(x + 0, perm=p) => x", seed)
        found = list(neighbours(term, bank, random_domain(Random(seed))))
        assert term not in [n.term for n in found] and len({n.term for n in found}) == len(found)
        for one in found:
            for t in topological([one.term]):
                stored, type_ = t.definition.infer(tuple(a.type for a in t.args), t.attrs)
                assert type_ == t.type and len(stored) == len(t.attrs)


def test_a_length_that_stands_in_several_places_changes_in_all() -> None:
    term, bank = example("sum(dot(x, y), axes=k) => x\n    if x.shape == (2, 3) and y.shape == (3, 2)")
    found = [n for n in neighbours(term, bank, random_domain(Random(0))) if n.what == "length 4 for 3 everywhere"]
    assert [[leaf.shape for leaf in topological([n.term]) if not leaf.args] for n in found] == [[(2, 4), (4, 2)]]


def test_a_dtype_that_stands_in_several_places_changes_in_all() -> None:
    term, bank = example("x + 0 => x\n    if x.dtype == 'float32'")
    found = [n for n in neighbours(term, bank, random_domain(Random(0))) if "everywhere" in n.what]
    dtypes = {t.dtype.name for n in found for t in topological([n.term]) if n.place == "dtype float32"}
    assert {"float16", "float64", "int8", "uint64"} <= dtypes


NEAR: list[tuple[Any, Any]] = [
    (3, 4),
    (3, 2),
    (2.0, -2.0),
    (True, False),
    ((0, 1, 2), (1, 0, 2)),
    ((0, 1), (0,)),
    (((1, 2), (3, 4)), ((1, 2), (3, 5))),
    (Axes([Axis("H", 2), Axis("W", 3)]), Axes([Axis("W", 3), Axis("H", 2)])),
    (Axes([Axis("H", 2), Axis("W", 3)]), Axes([Axis("W", 3)])),
]


@pytest.mark.parametrize(("value", "other"), NEAR, ids=lambda v: repr(v))
def test_a_value_has_neighbours(value: Any, other: Any) -> None:
    assert other in list(near(value))
