# SPDX-License-Identifier: Apache-2.0
"""For every op: the type rule says what the meaning computes, also where lengths are known only later."""

import pytest
from drawn import applications, arrays, computed, undefined, value
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ngraph_rewrite.errors import NGraphRewriteError
from ngraph_rewrite.plan.binding import bind_graph
from ngraph_rewrite.rewriting.domain import SYMBOLIC
from ngraph_rewrite.terms.catalogue import definitions, lookup
from ngraph_rewrite.types.lengths import symbols

FEW = settings(max_examples=7, deadline=None, suppress_health_check=list(HealthCheck))
OPS = [*computed("semi"), *computed("axes")]


@pytest.mark.parametrize("name", OPS)
@FEW
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_a_meaning_has_the_type_its_rule_says_and_stored_attributes_stay(
    name: str, data: st.DataObject, seed: int
) -> None:
    term = data.draw(applications(lookup(name)))
    types = tuple(a.type for a in term.args)
    assert term.definition.infer(types, term.attrs) == (term.attrs, term.type)
    assert hash(term.attrs) == hash(term.definition.infer(types, term.attrs)[0])
    values = arrays(term, seed)
    if not undefined(term, values):
        result = value(term, values)
        assert (result.shape, result.dtype) == (term.shape, term.dtype)


@pytest.mark.sampled
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
    values = arrays(bound, 0)
    if not undefined(bound, values):
        assert value(bound, values).shape == bound.shape


@pytest.mark.parametrize("definition", [d for f in ("semi", "axes") for d in definitions(f)], ids=str)
def test_every_op_says_what_it_is(definition: object) -> None:
    doc = getattr(definition, "doc", "")
    assert doc.endswith(".") and len(doc.splitlines()[0]) <= 120


def test_only_draws_have_no_meaning_of_their_own() -> None:
    without = [d.short for f in ("semi", "axes") for d in definitions(f) if d.meaning is None]
    assert sorted(set(without)) == ["normal", "uniform"]


def test_families_are_declared_in_the_order_of_lowering() -> None:
    ranks = {f: [d.rank for d in definitions(f)] for f in ("core", "semi", "axes")}
    assert max(ranks["core"]) < min(ranks["semi"]) and max(ranks["semi"]) < min(ranks["axes"])
