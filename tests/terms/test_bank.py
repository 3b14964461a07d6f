# SPDX-License-Identifier: Apache-2.0
"""In a term bank `is` is structural equality."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ngraph_rewrite as ng
from ngraph_rewrite.errors import AttributeValueError, NGraphRewriteError, OutOfRangeError
from ngraph_rewrite.ops import semi_movement
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.catalogue import MANY, lookup, op
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological

H = ng.make_axis(2, name="H")
LEAVES = [ng.placeholder([H], name=name) for name in "xy"]
MAKERS = [ng.negative, ng.exp]


def _grown(inner: st.SearchStrategy[Op]) -> st.SearchStrategy[Op]:
    unary = st.tuples(st.sampled_from(MAKERS), inner).map(lambda p: p[0](p[1]))
    return st.one_of(
        unary,
        st.tuples(inner, inner).map(lambda p: p[0] + p[1]),
        st.tuples(inner, st.sampled_from([1.0, 2.0])).map(lambda p: p[0] * p[1]),
    )


TERMS = st.recursive(st.sampled_from(LEAVES), _grown, max_leaves=6)


def adopted(bank: TermBank, root: Op) -> Op:
    own: dict[Op, Op] = {}
    for term in topological([root]):
        own[term] = bank.adopt(term, tuple(own[a] for a in term.args))
    return own[root]


@given(TERMS, TERMS)
def test_equal_structure_is_the_same_object(a: Op, b: Op) -> None:
    bank = TermBank()
    x, y = adopted(bank, a), adopted(bank, b)
    assert (x is y) == a.same_as(b)
    assert x.same_as(a) and x.type == a.type
    assert adopted(bank, x) is x


@given(TERMS)
def test_a_bank_holds_each_term_once(a: Op) -> None:
    bank = TermBank()
    root = adopted(bank, a)
    size = len(bank)
    assert adopted(bank, a) is root and len(bank) == size
    types = {t.type for t in topological([root])}
    assert len({id(t.type) for t in topological([root])}) == len(types)


def test_banks_share_nothing() -> None:
    a = LEAVES[0] + 1.0
    assert adopted(TermBank(), a) is not adopted(TermBank(), a)


def test_names_metadata_and_lines_are_not_structure() -> None:
    x = LEAVES[0]
    bank = TermBank()
    with ng.metadata(layer=1):
        one = ng.tanh(x)
    two = ng.tanh(x).named("two")
    assert adopted(bank, one) is adopted(bank, two)


def test_uids_keep_placeholders_and_draws_apart() -> None:
    bank = TermBank()
    for make in (lambda: ng.placeholder([H]), lambda: ng.variable([H]), lambda: ng.uniform([H])):
        one, two = make(), make()
        assert adopted(bank, one) is not adopted(bank, two)
        assert adopted(bank, one) is adopted(bank, one.named("again"))


def test_attributes_are_normalised_to_the_same_term() -> None:
    bank = TermBank()
    x = adopted(bank, ng.placeholder(ng.anonymous([2, 3])))
    sum_, transpose = lookup("semi.sum"), lookup("semi.transpose")
    assert bank.make(sum_, (x,), ((-1,),)) is bank.make(sum_, (x,), ((1,),)) is bank.make(sum_, (x,), (1,))
    assert bank.make(transpose, (x,), ([1, 0],)) is bank.make(transpose, (x,), ((1, 0),))


@pytest.mark.parametrize(("one", "two"), [(0.0, -0.0), (1.0, 1), (math.nan, math.nan)])
def test_a_number_as_an_attribute_is_its_bits(one: Any, two: Any) -> None:
    bank = TermBank()
    x = adopted(bank, ng.placeholder([]))
    safelog = lookup("axes.safelog")
    first, second = (bank.make(safelog, (x,), (k,)) for k in (one, two))
    assert first.attrs[0] == Literal(one, "float32")
    assert second.attrs[0] == Literal(two, "float32")
    assert (first is second) == (first.attrs == second.attrs)


def test_an_ill_typed_term_is_refused_and_not_kept() -> None:
    bank = TermBank()
    x = adopted(bank, ng.placeholder(ng.anonymous([2, 3])))
    size = len(bank)
    with pytest.raises((AttributeValueError, OutOfRangeError)) as raised:
        bank.make(lookup("semi.sum"), (x,), ((7,),))
    assert isinstance(raised.value, NGraphRewriteError)
    assert len(bank) == size


def test_a_dtype_is_one_attribute_however_it_is_written() -> None:
    """The name of a dtype equals it, and has another hash."""
    bank, cast = TermBank(), lookup("semi.cast")
    x = adopted(bank, ng.placeholder(ng.anonymous([2])))
    first = bank.make(cast, (x,), ("int64",))
    assert bank.make(cast, (x,), (np.dtype("int64"),)) is first is bank.make(cast, (x,), ("int64",))


@given(st.permutations([0, 0.0, -0.0, 1, 1.0]))
def test_equal_numbers_are_stored_as_what_they_are(numbers: list[float]) -> None:
    bank, safelog = TermBank(), lookup("axes.safelog")
    x = adopted(bank, ng.placeholder([]))
    for number in numbers:
        assert bank.make(safelog, (x,), (number,)).attrs == (Literal(number, "float32"),)


@op("bank_test.own")
def _own(x: ng.TensorType, *, k: Any) -> ng.TensorType:
    """An op that takes its attribute as it is."""
    return x


@given(st.permutations([0, 0.0, -0.0, 1, 1.0, True, (1, "a"), (True, "a")]))
def test_attributes_of_ones_own_op_that_python_calls_equal_make_different_terms(given: list[Any]) -> None:
    bank, own = TermBank(), lookup("bank_test.own")
    x = adopted(bank, ng.placeholder([]))
    terms = [bank.make(own, (x,), (k,)) for k in given]
    assert len(set(terms)) == len(given) and not any(a.same_as(b) for a, b in itertools.combinations(terms, 2))
    for k, term in zip(given, terms, strict=True):
        assert repr(term.attrs) == repr((k,))
        assert bank.make(own, (x,), (k,)) is term is bank.adopt(term, (x,)) and term in bank


@given(TERMS)
def test_a_renewed_term_is_the_one_that_would_be_made(a: Op) -> None:
    bank = TermBank()
    for term in topological([adopted(bank, a)]):
        assert bank.renewed(term, term.args) is term is bank.make(term.definition, term.args, term.attrs)


def test_of_very_many_arguments_nothing_is_remembered_and_each_type_is_looked_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A list that grows by one argument at a time was in memory with all that it had been, for good."""
    looked, without = list[Any](), semi_movement._without

    def counted(shape: Any, axis: int) -> Any:
        looked.append(shape)
        return without(shape, axis)

    monkeypatch.setattr(semi_movement, "_without", counted)
    bank, concat = TermBank(), lookup("semi.concat")
    x, y = (adopted(bank, ng.placeholder(ng.anonymous([length, 2]))) for length in (1, 3))
    found = bank.make(concat, (x, y) * MANY, (0,))
    assert found.shape == (4 * MANY, 2)
    assert len(looked) == 4  # two of each type
    assert found is bank.make(concat, (x, y) * MANY, (0,))
    assert not bank.near[concat]
