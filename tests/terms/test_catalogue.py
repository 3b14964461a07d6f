# SPDX-License-Identifier: Apache-2.0
"""The catalogue: declared once, found by name, types inferred once and never wrongly."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
import pytest

from ngraph_rewrite.errors import AttributeValueError, NGraphRewriteError, UnknownOpError
from ngraph_rewrite.ops import axes, semi  # noqa: F401  (they declare the ops looked up here)
from ngraph_rewrite.rewriting.inline import rule
from ngraph_rewrite.terms import catalogue
from ngraph_rewrite.terms.catalogue import TRAITS, definitions, find, lookup, op
from ngraph_rewrite.types.tensor import TensorType

SCALAR = TensorType("float32")


@pytest.fixture(autouse=True)
def own_catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    """Declarations of a test are gone after it."""
    monkeypatch.setattr(catalogue, "_CATALOGUE", dict(catalogue._CATALOGUE))


def counted(name: str) -> tuple[Any, list[Any]]:
    """An op with one attribute, and the attributes its type rule was asked about."""
    asked: list[Any] = []

    @op(name)
    def rule(x: TensorType, *, k: Any) -> TensorType:
        asked.append(k)
        return x

    return lookup(name), asked


def test_a_signature_says_what_an_op_takes() -> None:
    @op("mine.two", "commutative", "elementwise")
    def two(x: TensorType, y: TensorType, *, axis: int, k: str) -> TensorType:
        """Two things."""
        return x

    found = lookup("mine.two")
    assert (found.arity, found.least, found.attributes) == (2, 2, ("axis", "k"))
    assert (found.family, found.short, found.doc, repr(found)) == ("mine", "two", "Two things.", "mine.two")
    assert found.commutative and "elementwise" in found.traits
    assert found.type_rule is two


def test_a_starred_parameter_takes_any_number() -> None:
    @op("mine.many")
    def many(x: TensorType, *xs: TensorType) -> TensorType:
        return x

    assert (lookup("mine.many").arity, lookup("mine.many").least) == (None, 1)


def test_definitions_come_in_the_order_of_declaration() -> None:
    for name in ("mine.b", "mine.a"):
        op(name)(lambda x: x)
    assert [d.name for d in definitions("mine")] == ["mine.b", "mine.a"]
    ranks = [d.rank for d in definitions()]
    assert ranks == sorted(set(ranks))


def test_an_op_may_be_declared_in_a_namespace_without_a_name() -> None:
    """As text that is executed has it: functions made there belong to no module."""
    nameless = FunctionType((lambda x: x).__code__, {})
    op("mine.nameless", meaning=FunctionType((lambda term, x: x).__code__, {}))(nameless)
    assert nameless.__module__ is None and not lookup("mine.nameless").shipped
    assert len(rule("-(-x) => x")) == 1


@pytest.mark.parametrize("name", ["semi.add", "add", "semi.", "semi.a b", "", "semi.a.b"])
def test_a_name_is_new_and_has_a_family(name: str) -> None:
    declare: Callable[..., Any] = op(name)
    with pytest.raises(AttributeValueError, match="cannot be declared\n  use a new family.name"):
        declare(lambda x: x)


def test_a_misspelt_trait_is_refused() -> None:
    with pytest.raises(AttributeValueError, match=r"'mine.bar' cannot have the trait 'elmentwise'\n.*commutative"):
        op("mine.bar", "elmentwise")
    assert {t for d in definitions() for t in d.traits} == set(TRAITS)


def test_an_unknown_op_is_told_with_the_nearest() -> None:
    with pytest.raises(UnknownOpError, match=r"^no op is called axes.tanhh\n  did you mean axes.tanh") as raised:
        lookup("axes.tanhh")
    assert isinstance(raised.value, NGraphRewriteError) and isinstance(raised.value, KeyError)
    with pytest.raises(UnknownOpError, match=r"^no op is called qqqqqqqqqqqqqqqqqq$"):
        lookup("qqqqqqqqqqqqqqqqqq")
    assert find("axes.tanhh") is None


def test_a_type_is_inferred_once() -> None:
    definition, asked = counted("mine.once")
    for _ in range(3):
        assert definition.infer((SCALAR,), ("a",)) == (("a",), SCALAR)
    assert asked == ["a"]
    definition.infer((SCALAR.with_dtype("int8"),), ("a",))
    assert asked == ["a", "a"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (0.0, -0.0),
        ((1, 0.0), (1, -0.0)),
        (((0.0,),), ((-0.0,),)),
        (np.float32(0.0), np.float32(-0.0)),
        (1.0, 1),
        (True, 1),
        ((2, (False,)), (2, (0,))),
    ],
    ids=repr,
)
def test_equal_attributes_that_differ_are_told_apart(first: Any, second: Any) -> None:
    definition, _ = counted("mine.apart")
    assert first == second
    for k in (first, second, first):
        stored, _ = definition.infer((SCALAR,), (k,))
        assert repr(stored[0]) == repr(k)


def test_attributes_without_a_hash_are_asked_every_time() -> None:
    definition, asked = counted("mine.lists")
    assert definition.infer((SCALAR,), ([1],)) == definition.infer((SCALAR,), ([1],))
    assert asked == [[1], [1]]


def test_an_error_is_not_remembered() -> None:
    calls: list[int] = []

    @op("mine.fails")
    def fails(x: TensorType, *, k: int) -> TensorType:
        calls.append(k)
        if len(calls) == 1:
            raise AttributeValueError("not yet")
        return x

    with pytest.raises(AttributeValueError):
        lookup("mine.fails").infer((SCALAR,), (1,))
    assert lookup("mine.fails").infer((SCALAR,), (1,)) == ((1,), SCALAR)
