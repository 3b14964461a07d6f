# SPDX-License-Identifier: Apache-2.0
"""Simple ops: features meet by position, N and R by their markers; lowering keeps the value for every target."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drawn import applications, apply, arrays, computed, leaf, undefined, value
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ngraph_rewrite as ng
from ngraph_rewrite.cache import Cache
from ngraph_rewrite.errors import NGraphRewriteError
from ngraph_rewrite.lowering.driver import normalise
from ngraph_rewrite.lowering.passes import library
from ngraph_rewrite.lowering.table import ReplacementTable
from ngraph_rewrite.ops.simple_marks import N, R, features, keys, marked
from ngraph_rewrite.plan.binding import bind_graph
from ngraph_rewrite.rewriting.asked_target import Target
from ngraph_rewrite.rewriting.domain import SYMBOLIC
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.rule import REFINES, Rule
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.catalogue import definitions, lookup
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.types.axes import Axes, Axis
from ngraph_rewrite.types.dtypes import finfo, is_float
from ngraph_rewrite.types.lengths import symbols
from ngraph_rewrite.types.tensor import TensorType

FEW = settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
SLOW = settings(max_examples=24, deadline=None, suppress_health_check=list(HealthCheck))
OPS = computed("simple")
TARGETS = [Target("cpu", *p) for p in itertools.product(("first", "last", "any"), repeat=2)]


# -- every op ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OPS)
@FEW
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_a_meaning_has_the_type_its_rule_says_and_stored_attributes_stay(
    name: str, data: st.DataObject, seed: int
) -> None:
    term = data.draw(applications(lookup(name)))
    assert term.definition.infer(tuple(a.type for a in term.args), term.attrs) == (term.attrs, term.type)
    values = arrays(term, seed)
    if not undefined(term, values):
        result = value(term, values)
        assert (result.shape, result.dtype) == (term.shape, term.dtype)


@pytest.mark.parametrize("name", OPS)
@FEW
@given(data=st.data(), lengths=st.lists(st.integers(1, 3), min_size=4, max_size=4))
def test_unknown_lengths_bind_to_the_lengths_of_the_result(name: str, data: st.DataObject, lengths: list[int]) -> None:
    term = data.draw(applications(lookup(name), SYMBOLIC))
    binding = dict(zip(("a", "b", "H", "N"), lengths, strict=True))
    try:
        bound = bind_graph([term], binding)[term]
    except NGraphRewriteError:
        return  # what was drawn has no value for these lengths: part of an axis that is too short for it
    assert bound.type == term.type.bound(binding)
    assert not [s for n in bound.shape for s in symbols(n)]


@pytest.mark.parametrize("definition", list(definitions("simple")), ids=str)
def test_every_op_says_what_it_is(definition: Any) -> None:
    assert definition.doc.endswith(".") and len(definition.doc.splitlines()[0]) <= 120


@pytest.fixture(scope="module")
def matcher(tmp_path_factory: pytest.TempPathFactory) -> Matcher:
    folder: Path = tmp_path_factory.mktemp("rules")
    return Matcher(library().of_kind("recognize", "lower", "simplify"), Cache(folder))


@pytest.mark.sampled
@pytest.mark.parametrize("name", OPS)
@FEW
@given(data=st.data(), seed=st.integers(0, 2**32 - 1), target=st.sampled_from(TARGETS))
def test_lowering_keeps_the_value_wherever_the_target_wants_the_axes(
    name: str, matcher: Matcher, data: st.DataObject, seed: int, target: Target
) -> None:
    term = data.draw(applications(lookup(name)))
    table = ReplacementTable()
    result = normalise([term], matcher, table, TermBank(), target, "lower")[0]
    assert {t.definition.family for t in topological([result])} <= {"core", "semi", "cpu", "cuda", "fused"}
    assert result.type == term.type
    values = arrays(term, seed)
    if not undefined(term, values):
        wanted, got = value(term, values), value(result, values)
        if any(isinstance(step.why, Rule) and step.why.grade == REFINES for step in table.redexes()):
            wanted = np.where(np.isnan(wanted), got, wanted)  # a rule that leaves out zeros times infinities did so
        close(wanted, got)


def close(wanted: Any, got: Any) -> None:
    """Equal up to rounding, relative to the largest value: the default class of lowering rules."""
    left, right = np.asarray(wanted), np.asarray(got)
    if not is_float(left.dtype):
        np.testing.assert_array_equal(right, left)
        return
    scale = np.abs(left[np.isfinite(left)]).astype(np.float64).max(initial=1.0)
    eps = float(finfo(left.dtype).eps)
    np.testing.assert_allclose(right, left, rtol=64 * eps, atol=64 * eps * min(scale, float(finfo(left.dtype).max)))


# -- how axes meet ----------------------------------------------------------------------------------------

SHAPES: list[tuple[Any, ...]] = [(2, 3, N(4)), (N(4), 2, 3), (2, 3), (N(4),), (), (R(5), 2, 3, N(4)), (2, N(4), 3)]
SHAPES += [(N(4), R(5), 2, 3), (R(5),)]
shapes = st.sampled_from([marked(s) for s in SHAPES])


def letters(axes: Axes) -> str:
    """Axes as einsum writes them: a letter per feature, N and R."""
    return "".join("abcdefg"[k] if isinstance(k, int) else k.name for k in keys(axes))


def drawn(axes: Axes, seed: int) -> tuple[Op, Any]:
    x = leaf(TensorType("float64", axes))
    return x, np.random.default_rng(seed).integers(-9, 9, [int(n) for n in axes.lengths]).astype(np.float64)


@SLOW
@given(left=shapes, right=shapes)
def test_operands_meet_by_position_and_by_marker(left: Axes, right: Axes) -> None:
    (x, a), (y, b) = drawn(left, 1), drawn(right, 2)
    term = apply("simple.subtract", x, y)
    ones, out = np.ones(term.shape), letters(term.axes)
    wanted = np.einsum(f"{letters(left)},{out}->{out}", a, ones) - np.einsum(f"{letters(right)},{out}->{out}", b, ones)
    np.testing.assert_array_equal(value(term, {x: a, y: b}), wanted)


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [
        ((2, N), (2,), (2, N)),
        ((2,), (N, 2), (N, 2)),
        ((2, N), (N, 2), (2, N)),
        ((2, N), (R, 2), (2, N, R)),
        ((2, N), (R, N, 2), (R, N, 2)),
        ((N,), (2,), (2, N)),
        ((N,), (N, 2), (N, 2)),
        ((), (2, R), (2, R)),
    ],
)
def test_a_result_stands_as_the_operand_with_the_most_of_n_and_r(left: Any, right: Any, result: Any) -> None:
    x, y = (leaf(TensorType("float32", marked(s))) for s in (left, right))
    assert apply("simple.add", x, y).axes == marked(result)


@SLOW
@given(data=st.data(), left=shapes, right=shapes)
def test_tensordot_sums_over_pairs_of_features_and_over_markers(data: st.DataObject, left: Axes, right: Axes) -> None:
    (x, a), (y, b) = drawn(left, 3), drawn(right, 4)
    one, other = features(left), features(right)
    pairs = [(i, j) for i, n in enumerate(one) for j, m in enumerate(other) if n == m]
    chosen = data.draw(st.lists(st.sampled_from(pairs), unique=True, max_size=2)) if pairs else []
    if len({i for i, _ in chosen}) < len(chosen) or len({j for _, j in chosen}) < len(chosen):
        chosen = chosen[:1]
    found = [m for m in (R, N) if m in (*keys(left), *keys(right))]
    over = data.draw(st.lists(st.sampled_from(found), unique=True)) if found else []
    pair = {"left": tuple(i for i, _ in chosen), "right": tuple(j for _, j in chosen)}
    term = apply("simple.tensordot", x, y, **pair, over=tuple(over))
    names = {("x", i): "abc"[i] for i in range(len(one))} | {("y", j): "ghi"[j] for j in range(len(other))}
    names |= {("y", j): names["x", i] for i, j in chosen}
    own = [
        "".join(k.name if not isinstance(k, int) else names[s, k] for k in keys(s_))
        for s, s_ in (("x", left), ("y", right))
    ]
    kept = [names["x", i] for i in range(len(one)) if i not in pair["left"]]
    kept += [names["y", j] for j in range(len(other)) if j not in pair["right"]]
    out = "".join(k.name if not isinstance(k, int) else kept[k] for k in keys(term.axes))
    np.testing.assert_array_equal(value(term, {x: a, y: b}), np.einsum(f"{own[0]},{own[1]}->{out}", a, b))


@SLOW
@given(axes=shapes, data=st.data())
def test_reductions_take_features_by_number_and_markers(axes: Axes, data: st.DataObject) -> None:
    x, a = drawn(axes, 5)
    chosen = data.draw(st.lists(st.sampled_from(keys(axes)), unique=True)) if len(axes) else []
    places = tuple(keys(axes).index(k) for k in chosen)
    np.testing.assert_array_equal(value(apply("simple.sum", x, axes=chosen), {x: a}), a.sum(axis=places))
    np.testing.assert_array_equal(value(apply("simple.max", x, axes=chosen), {x: a}), a.max(axis=places))


def test_an_index_counts_over_the_reduced_axes_as_they_stand() -> None:
    x, a = drawn(marked((N(4), 3)), 6)
    term = apply("simple.argmax", x, axes=(0, N))
    assert value(term, {x: a}) == a.argmax()


def test_an_index_of_features_takes_n_and_r_whole() -> None:
    x, a = drawn(marked((N(4), 2, R(5), 3)), 7)
    np.testing.assert_array_equal(
        value(apply("simple.tensor_slice", x, items=(1, slice(None, None, -1))), {x: a}), a[:, 1, :, ::-1]
    )
    np.testing.assert_array_equal(value(apply("simple.slice_axis", x, axis=R, item=-2), {x: a}), a[:, :, 3])


@SLOW
@given(indices=st.lists(st.integers(-7, 6), min_size=4, max_size=4))
def test_take_reads_entries_and_zeros_outside(indices: list[int]) -> None:
    table, i = leaf(TensorType("float64", marked((4, 3)))), leaf(TensorType("int64", marked((N(4),))))
    rows, at = np.arange(1.0, 13.0).reshape(4, 3), np.array(indices)
    inside = (at >= -4) & (at < 4)
    wanted = np.where(inside[:, None], rows[np.where(inside, at, 0)], 0).T
    np.testing.assert_array_equal(value(apply("simple.take", table, i), {table: rows, i: at}), wanted)


def test_named_axes_are_labelled_by_the_family_and_unnamed_ones_meet() -> None:
    x, w = ng.placeholder({"H": 3, "N": 4}), ng.simple.variable((2, 3))
    assert ng.simple.dot(w, x).axes == marked((2, N(4)))
    assert (w @ ng.simple.placeholder((3, N))).definition.name == "simple.dot"
    assert Axis("N", None).length == N().length
