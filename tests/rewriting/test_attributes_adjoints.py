# SPDX-License-Identifier: Apache-2.0
"""The functions that adjoint rules call say where things are, for known lengths and for unknown ones."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import ngraph_rewrite as ng
from ngraph_rewrite.ops.indexing import as_slice
from ngraph_rewrite.rewriting import attributes_adjoints as at
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.op import build
from ngraph_rewrite.types.lengths import Length

N = Length.symbol("N")
small = st.integers(0, 3)


@given(st.lists(st.tuples(small, small, small, st.integers(0, 4)), max_size=3))
def test_the_places_of_what_was_padded_hold_it(axes: list[tuple[int, int, int, int]]) -> None:
    before, after, interior, shape = tuple(zip(*axes, strict=True)) or ((), (), (), ())
    x = ng.placeholder(ng.anonymous(shape), dtype="float64")
    padded = build(lookup("semi.pad"), (x,), before=before, after=after, interior=interior, value=-1.0)
    own = np.arange(float(np.prod(shape))).reshape(shape)
    meaning = padded.definition.meaning
    assert meaning is not None
    array = np.asarray(meaning(padded, own))
    places = zip(*at.padded_places(before, interior, shape), strict=True)
    assert np.array_equal(array[tuple(map(as_slice, places))], own)


@given(st.lists(small, min_size=1, max_size=4), st.integers(0, 1))
def test_runs_are_what_was_joined(lengths: list[int], axis: int) -> None:
    arrays = [np.random.default_rng(i).normal(size=(n, 2) if axis == 0 else (2, n)) for i, n in enumerate(lengths)]
    joined = np.concatenate(arrays, axis)
    terms = [ng.placeholder(ng.anonymous(a.shape), dtype="float64") for a in arrays]
    for triples, array in zip(at.runs(terms, axis), arrays, strict=True):
        assert np.array_equal(joined[tuple(map(as_slice, zip(*triples, strict=True)))], array)


def test_unknown_lengths_stay_symbols() -> None:
    assert at.padded_places((1,), (0,), (N,)) == ((1,), (N + 1,), (1,))
    assert at.padded_places((1,), (2,), (0,)) == ((1,), (1,), (3,))
    first, second = (ng.placeholder(ng.anonymous((n, 2))) for n in (N, 3))
    assert at.runs((first, second), 0) == (((0, 0), (N, 2), (1, 1)), ((N, 0), (N + 3, 2), (1, 1)))
    assert at.with_ones((N, 3), (0,)) == (1, 3)
    assert at.index_of((0,), (N,), (2,)) == ((0, N, 2),)
