# SPDX-License-Identifier: Apache-2.0
"""Several values as one term: types, parts, the rules that take tuples apart, and tuples as results."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ngraph_rewrite as ng
from ngraph_rewrite.errors import DTypeError, OutOfRangeError, RuleFileError
from ngraph_rewrite.rewriting.rulefile import parse_rules
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.tensor import TensorType
from ngraph_rewrite.types.tuples import TupleType, tensors

H = ng.Axis("H", 3)
TENSORS = st.builds(
    TensorType, st.sampled_from(["float32", "int64", "bool"]), st.sampled_from([{}, {"H": 2}, {"H": 2, "N": None}])
)
TYPES = st.recursive(TENSORS, lambda inner: st.lists(inner, max_size=3).map(TupleType), max_leaves=6)


# -- types --------------------------------------------------------------------------------------------------


@given(TYPES, TYPES)
def test_types_are_equal_where_their_parts_are(a: TensorType, b: TensorType) -> None:
    assert (a == b) == (repr(a) == repr(b))
    assert a != b or hash(a) == hash(b)


@given(TYPES)
def test_binding_binds_all_that_is_inside(type_: TensorType) -> None:
    assert all(isinstance(n, int) for t in tensors(type_.bound({"N": 4})) for n in t.shape)


def test_a_type_shows_its_parts() -> None:
    float_, int_ = TensorType("float32", {"H": 2}), TensorType("int64")
    assert repr(TupleType([float_, int_])) == "(float32[H:2], int64[])"
    assert repr(TupleType([int_])) == "(int64[],)" and repr(TupleType([])) == "()"
    assert len(TupleType([float_, int_])) == 2


@pytest.mark.parametrize("what", ["axes", "dtype", "shape", "rank", "size"])
def test_a_tuple_has_no_axes_and_no_dtype(what: str) -> None:
    t = ng.make_tuple(1.0, 2)
    with pytest.raises(DTypeError, match=r"is a tuple, which has no (axes|dtype)\n  take a part with op\[i\]"):
        getattr(t, what)


# -- parts --------------------------------------------------------------------------------------------------


def test_parts_are_taken_by_number() -> None:
    x, y = ng.placeholder([H], name="x"), ng.placeholder([], name="y")
    t = ng.make_tuple(x, y)
    assert repr(t[0]) == "item(make_tuple(x, y), index=0)"
    assert t[-1].same_as(t[1]) and t[-1].type == y.type
    a, b = t
    assert (a.type, b.type, len(t)) == (x.type, y.type, 2)


@pytest.mark.parametrize("index", [2, -3, 17])
def test_a_part_that_is_not_there(index: int) -> None:
    with pytest.raises(OutOfRangeError, match=rf"index {index} is outside of a tuple of 2\n  at .*test_tuples.py"):
        ng.make_tuple(1.0, 2)[index]


def test_only_tuples_have_parts() -> None:
    with pytest.raises(TypeError, match="cannot be iterated over"):
        len(ng.placeholder([H]))
    with pytest.raises(TypeError, match="cannot be iterated over"):
        list(ng.placeholder([H]))


def test_a_tuple_is_no_operand() -> None:
    with pytest.raises(DTypeError, match=r"is a tuple, which has no axes\n  at .*test_tuples.py"):
        ng.make_tuple(1.0, 2) + 1


# -- computing ----------------------------------------------------------------------------------------------


@pytest.fixture(params=["reference", "cpu"])
def transformer(request: pytest.FixtureRequest) -> ng.Transformer:
    with ng.make_transformer(request.param) as made:
        yield made


def test_a_tuple_is_computed_as_a_tuple(transformer: ng.Transformer) -> None:
    x = ng.placeholder([H])
    nested = ng.make_tuple(x + 1, ng.make_tuple(x * 2, ng.constant(True)))
    a, (b, c) = transformer.computation(nested, x)([1.0, 2.0, 3.0])
    assert a.tolist() == [2.0, 3.0, 4.0] and b.tolist() == [2.0, 4.0, 6.0] and c.tolist() is True


def test_tuples_stand_among_other_results(transformer: ng.Transformer) -> None:
    x = ng.placeholder([])
    t = ng.make_tuple(x, x + 1)
    found = transformer.computation({"pair": t, "again": [t, x]}, x)(1.0)
    assert found == {"pair": (1.0, 2.0), "again": [(1.0, 2.0), 1.0]}


def test_parts_that_nobody_asks_for_are_not_computed() -> None:
    x = ng.placeholder([H])
    with ng.make_transformer("cpu") as transformer:
        wanted = transformer.computation(ng.make_tuple(ng.exp(x), ng.sin(x))[1], x)
        assert np.allclose(wanted([1.0, 2.0, 3.0]), np.sin([1.0, 2.0, 3.0]))
        assert wanted.stats()["launches"] == 1


def test_a_part_sees_effects_and_cuts(transformer: ng.Transformer) -> None:
    v = ng.variable([], initial_value=1.0)
    t = ng.after(ng.make_tuple(v + 1, v), ng.assign(v, 5.0))
    assert [float(part) for part in transformer.computation(ng.stop_gradient(ng.value_of(t)))()] == [6.0, 5.0]


def test_the_value_of_a_tuple_is_a_tuple() -> None:
    x = ng.placeholder([])
    t = ng.make_tuple(x + 1, x * 3)
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(x, x, keep=[t])
        computation(2.0)
        assert computation.value(t) == (3.0, 6.0)


def test_adjoints_go_through_tuples() -> None:
    x = ng.placeholder([], dtype="float64")
    a, b = ng.make_tuple(ng.sin(x), x * x)
    with ng.make_transformer("cpu") as transformer:
        slope = transformer.computation(ng.deriv(a * b, x), x)
        assert np.isclose(slope(0.7), np.cos(0.7) * 0.49 + np.sin(0.7) * 1.4, rtol=1e-14)


# -- the rule language --------------------------------------------------------------------------------------


def test_one_of_a_sequence_is_picked() -> None:
    rule = ng.rule("item(make_tuple(y, x...), index=i) => x...[i - 1]\nif i > 0", family="core", name="mine")
    x: list[Op] = [ng.placeholder([H], name=name) for name in "abc"]
    with ng.make_transformer("cpu", rules=rule, disabled="tuples.item_make_tuple") as transformer:
        computation = transformer.computation(ng.make_tuple(*x)[2], *x)
        assert computation([1, 1, 1], [2, 2, 2], [3, 3, 3]).tolist() == [3, 3, 3]


@pytest.mark.parametrize(
    ("right", "message"),
    [
        ("y...[0]", "only of a sequence variable can one term be picked"),
        ("x...[j]", "`j` is not bound"),
        ("make_tuple((x...[i])...)", "only of a sequence variable"),
    ],
)
def test_what_cannot_be_picked(right: str, message: str) -> None:
    text = f"simplify core\nrule r: item(make_tuple(y, x...), index=i) => {right}\n"
    with pytest.raises(RuleFileError, match=message):
        parse_rules(text, "my.rules", "my")
