# SPDX-License-Identifier: Apache-2.0
"""Every numpy op: its type says what its meaning computes, and lowering keeps both."""

from pathlib import Path

import pytest
from drawn import applications, arrays, computed, undefined, value
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_lowered import lowered, same

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.errors import NGraphRewriteError
from ngraph_rewrite.lowering.passes import library
from ngraph_rewrite.plan.binding import bind_graph
from ngraph_rewrite.rewriting.domain import SYMBOLIC
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.walking import topological

FEW = settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
PARTS = ("numpy_sources", "numpy_movement", "numpy_parts", "elementwise", "numpy_reduce", "numpy_network")
OPS = [n for n in computed("numpy") if lookup(n).type_rule.__module__.endswith(PARTS)]
FUNCTIONS = [n for n in computed("semi") if lookup(n).type_rule.__module__.endswith("semi_functions")]


@pytest.fixture(scope="module")
def matcher(tmp_path_factory: pytest.TempPathFactory) -> Matcher:
    folder: Path = tmp_path_factory.mktemp("rules")
    return Matcher(library().of_kind("recognize", "lower", "simplify"), Cache(folder))


@pytest.mark.parametrize("name", [*OPS, *FUNCTIONS])
@FEW
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_lowering_keeps_type_and_value(name: str, matcher: Matcher, data: st.DataObject, seed: int) -> None:
    term = data.draw(applications(lookup(name)))
    types = tuple(a.type for a in term.args)
    assert term.definition.infer(types, term.attrs) == (term.attrs, term.type)
    result, refined = lowered(term, matcher)
    assert {t.definition.family for t in topological([result])} <= {"core", "semi", "cpu"}
    assert result.type == term.type
    values = arrays(term, seed)
    if not undefined(term, values):
        found = value(term, values)
        assert (found.shape, found.dtype) == (term.shape, term.dtype)
        same(found, value(result, values), refined)


@pytest.mark.parametrize("name", [*OPS, *FUNCTIONS])
@FEW
@given(data=st.data(), lengths=st.lists(st.integers(1, 3), min_size=4, max_size=4))
def test_unknown_lengths_bind_to_the_lengths_of_the_result(
    name: str, matcher: Matcher, data: st.DataObject, lengths: list[int]
) -> None:
    term = data.draw(applications(lookup(name), SYMBOLIC))
    binding = dict(zip(("a", "b", "H", "N"), lengths, strict=True))
    result, _ = lowered(term, matcher)
    try:
        bound, below = (bind_graph([t], binding)[t] for t in (term, result))
    except NGraphRewriteError:
        return  # what was drawn has no value for these lengths: part of an axis that is too short for it
    assert bound.type == below.type == term.type.bound(binding)
    values = arrays(bound, 0)
    if not undefined(bound, values):
        assert value(bound, values).shape == bound.shape


@pytest.mark.parametrize("name", [*OPS, *FUNCTIONS])
def test_every_op_says_what_it_is(name: str) -> None:
    doc = lookup(name).doc
    assert doc.endswith(".") and len(doc.splitlines()[0]) <= 120
