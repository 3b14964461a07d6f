# SPDX-License-Identifier: Apache-2.0
"""Every op of the axes family, lowered by the rules, computes what its own meaning computes."""

from pathlib import Path

import numpy as np
import pytest
from drawn import applications, arrays, computed, undefined, value
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.lowering.driver import normalise
from ngraph_rewrite.lowering.passes import library
from ngraph_rewrite.lowering.table import ReplacementTable
from ngraph_rewrite.rewriting.asked_target import Target
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.rule import REFINES, Rule
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.types.dtypes import finfo, is_float

FEW = settings(max_examples=9, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def matcher(tmp_path_factory: pytest.TempPathFactory) -> Matcher:
    folder: Path = tmp_path_factory.mktemp("rules")
    return Matcher(library().of_kind("recognize", "lower", "simplify"), Cache(folder))


def lowered(term: Op, matcher: Matcher) -> tuple[Op, bool]:
    """What a term becomes, and whether a rule took part that may turn what is not finite into what is."""
    table = ReplacementTable()
    (found,) = normalise([term], matcher, table, TermBank(), Target(), "lower")
    return found, any(isinstance(step.why, Rule) and step.why.grade == REFINES for step in table.redexes())


@pytest.mark.parametrize("name", [*computed("axes"), "semi.tensor_slice"])
@FEW
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_lowering_keeps_the_value(name: str, matcher: Matcher, data: st.DataObject, seed: int) -> None:
    term = data.draw(applications(lookup(name)))
    result, refined = lowered(term, matcher)
    families = {t.definition.family for t in topological([result])}
    assert families <= {"core", "semi", "cpu", "cuda", "fused"}
    assert result.type == term.type
    values = arrays(term, seed)
    if not undefined(term, values):
        same(value(term, values), value(result, values), refined)


def same(wanted: object, got: object, refined: bool) -> None:
    """Equal as the classes of rules demand: up to rounding, relative to the largest value; if refined, but for NaN."""
    left, right = np.asarray(wanted), np.asarray(got)
    if not is_float(left.dtype):
        np.testing.assert_array_equal(right, left)
        return
    if refined:
        right = np.where(np.isnan(left), left, right)
    finite = np.abs(left[np.isfinite(left)]).astype(np.float64)
    scale = float(np.max(finite, initial=float(finfo(left.dtype).tiny)))
    # 32 roundings: the longest of these ops rounds about a dozen times per element
    np.testing.assert_allclose(right, left, rtol=0, atol=32 * float(finfo(left.dtype).eps) * scale)
