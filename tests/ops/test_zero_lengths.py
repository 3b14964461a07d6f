# SPDX-License-Identifier: Apache-2.0
"""Every op takes axes without elements wherever its type rule does, and gives what its meaning gives."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drawn import arrays, computed, value
from test_lowered import lowered, same

import ngraph_rewrite as ng
from ngraph_rewrite.cache import Cache
from ngraph_rewrite.catalogue_trials import instances_in
from ngraph_rewrite.lowering.passes import library
from ngraph_rewrite.returns import leaves, unboxed
from ngraph_rewrite.rewriting.domain import COMMON_FIRST, Domain
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.terms.catalogue import OpDef, definitions, lookup
from ngraph_rewrite.terms.op import Op, build
from ngraph_rewrite.types.axes import Axis
from ngraph_rewrite.types.tuples import TupleType, tensors

FAMILIES = ("semi", "simple", "numpy", "axes")
# Lengths of anonymous axes, and of H, W, N and C: each is 0 once, and pairs are.
LENGTHS = (((0, 3, 2), (0, 3, 2, 2)), ((2, 0, 3), (2, 0, 3, 2)), ((2, 3, 0), (2, 3, 0, 2)), ((0, 0, 2), (2, 3, 2, 0)))
# Scalars made of attributes alone: there is no axis to be empty.
WITHOUT_AXES = {"semi.size", "simple.size", "axes.size"}


def domain(anonymous: tuple[int, int, int], named: tuple[int, ...]) -> Domain:
    """The domain of these lengths."""
    return Domain(anonymous, tuple(Axis(name, n) for name, n in zip("HWNC", named, strict=True)), COMMON_FIRST)


DOMAINS = [domain(*lengths) for lengths in LENGTHS]


def empty(definition: OpDef, each: int) -> Iterator[Op]:
    """Applications of an op in which an argument or a result has an axis of length 0, `each` of every domain."""
    for own in DOMAINS:
        found = (t for t in instances_in(definition, own, each) if _has_zero(t))
        yield from map(_handle, found)


def _has_zero(term: Op) -> bool:
    return any(0 in t.shape for one in (term, *term.args) for t in tensors(one.type))


def _handle(term: Op) -> Op:
    return build(term.definition, tuple(map(_argument, term.args)), **term.attributes)


def _argument(term: Op) -> Op:
    if isinstance(term.type, TupleType):
        return ng.make_tuple(*map(_argument, term.args))
    return ng.placeholder(term.axes, term.dtype)


@pytest.fixture(scope="module")
def matcher(tmp_path_factory: pytest.TempPathFactory) -> Matcher:
    folder: Path = tmp_path_factory.mktemp("rules")
    return Matcher(library().of_kind("recognize", "lower", "simplify"), Cache(folder))


@pytest.mark.parametrize("name", [n for family in FAMILIES for n in computed(family)])
def test_no_elements_are_enough(name: str, matcher: Matcher) -> None:
    found = list(empty(lookup(name), 4))
    assert found or name in WITHOUT_AXES
    for term in found:
        values = arrays(term, 0, edges=False)
        for part in leaves(unboxed(term)):
            wanted = np.asarray(value(part, values))
            assert (wanted.shape, wanted.dtype) == (part.shape, part.dtype)
            result, refined = lowered(part, matcher)
            same(wanted, value(result, values), refined)


def _parts(name: str) -> list[tuple[Op, dict[Op, Any]]]:
    terms = list(empty(lookup(name), 1))[:1]
    return [(part, arrays(t, 0, edges=False)) for t in terms for part in leaves(unboxed(t))]


@pytest.mark.parametrize("target", ["reference", "cpu"])
def test_base_ops_run_on_no_elements(target: str) -> None:
    """One computation of them all: what is empty is planned and launched beside what is not.

    Of elementwise ops, which are all written alike, every fourth.
    """
    chosen = [d for i, d in enumerate(definitions("semi")) if i % 4 == 0 or "elementwise" not in d.traits]
    parts = [pair for d in chosen if d.meaning is not None for pair in _parts(d.name)]
    fed = {leaf: array for _, values in parts for leaf, array in values.items()}
    with ng.make_transformer(target) as transformer:
        results = transformer.computation(tuple(part for part, _ in parts), *fed)(*fed.values())
    for (part, values), result in zip(parts, results, strict=True):
        got = np.asarray(result)
        assert got.dtype == part.dtype
        same(value(part, values), got, refined=False)
