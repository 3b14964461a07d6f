# SPDX-License-Identifier: Apache-2.0
"""Two spellings of an index are one index; lengths that are not known yet can be cut at their ends."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ngraph_rewrite.ops.indexing import canonical_index, canonical_triple, count, numpy_index
from ngraph_rewrite.types.lengths import Length, bind

N = Length.symbol("N")
SHAPE = (4, 1, 0)
whole = st.integers(-6, 6)
slices = st.builds(slice, st.none() | whole, st.none() | whole, st.sampled_from([None, 1, 2, 3, -1, -2]))


@given(index=hnp.basic_indices(SHAPE[:2], allow_newaxis=False))
def test_the_canonical_index_takes_the_same_elements(index: Any) -> None:
    array = np.arange(4).reshape(4, 1)
    np.testing.assert_array_equal(array[numpy_index(canonical_index(index, array.shape))], array[index])


@given(index=st.tuples(slices, slices, slices))
def test_an_index_has_one_spelling(index: tuple[slice, ...]) -> None:
    once = canonical_index(index, SHAPE)
    assert canonical_index(once, SHAPE) == once
    assert hash(once) == hash(canonical_index(once, SHAPE))


@given(left=slices, right=slices)
def test_slices_of_the_same_positions_are_equal(left: slice, right: slice) -> None:
    one, other = (canonical_index((s,), (4,))[0] for s in (left, right))
    assert (one == other) == (list(range(4))[left] == list(range(4))[right])


@given(item=slices, length=st.integers(0, 5))
def test_count_is_the_number_of_elements(item: slice, length: int) -> None:
    (triple,) = canonical_index((item,), (length,))
    assert isinstance(triple, tuple)
    assert count(triple) == len(range(length)[item])


@pytest.mark.parametrize(
    ("item", "left"),
    [
        (slice(None), N),
        (slice(2, None), N - 2),
        (slice(1, -1), N - 2),
        (slice(None, None, -1), N),
        (slice(None, None, 3), (N + 2) // 3),
        (slice(1, -2, 2), (N - 2) // 2),
        (slice(None, None, -2), (N + 1) // 2),
        (slice(-2, 1, -3), (N - 1) // 3),
        (slice(None, 0, -1), N - 1),
    ],
)
def test_an_unknown_length_can_be_cut_at_its_ends(item: slice, left: Length) -> None:
    (triple,) = canonical_index((item,), (N,))
    assert isinstance(triple, tuple) and count(triple) == left
    bound = tuple(bind(n, {"N": 5}) for n in triple)
    assert canonical_triple(bound, 5) == canonical_index((item,), (5,))[0]


ENDS = st.none() | st.integers(-4, 4)


@given(ENDS, ENDS, st.sampled_from([None, 1, 2, 3, -1, -2, -3]), st.integers(0, 12))
def test_a_slice_of_an_unknown_length_takes_what_numpy_takes(start: Any, stop: Any, step: Any, length: int) -> None:
    """Unless more is cut away than is there: then its length is less than 0, and a call is refused."""
    item = slice(start, stop, step)
    (triple,) = canonical_index((item,), (N,))
    assert isinstance(triple, tuple)
    left = bind(count(triple), {"N": length})
    cut = [start or 0, -(stop or 0)] if step is None or step > 0 else [-(start or 0) - 1, (stop or 0) + 1]
    if left < 0:
        assert sum(max(0, one) for one in cut) > length
    else:
        assert left == len(range(*item.indices(length)))
        bound = tuple(bind(n, {"N": length}) for n in triple)
        assert canonical_triple(bound, length) == canonical_index((item,), (length,))[0]


def test_an_integer_index_of_an_unknown_length_counts_from_either_end() -> None:
    assert canonical_index((2,), (N,)) == (2,)
    assert canonical_index((-1,), (N,)) == (N - 1,)


@given(
    item=st.builds(slice, st.none() | whole, st.none() | whole, st.sampled_from([None, 1, 2, 3, -1, -2])),
    length=st.integers(0, 5),
    open_axis=st.booleans(),
)
def test_lengths_as_starts_and_stops_take_what_their_values_take(item: slice, length: int, open_axis: bool) -> None:
    """Where what they mean is inside: nothing is cut off to a length that is not known."""
    values = {"N": length} | {name: abs(v) for name, v in (("A", item.start), ("B", item.stop)) if v is not None}

    def symbol(name: str, value: int | None) -> Any:
        return None if value is None else Length.symbol(name) * (-1 if value < 0 else 1)

    lengths = slice(symbol("A", item.start), symbol("B", item.stop), item.step)
    (triple,) = canonical_index((lengths,), (N if open_axis else length,))
    assert isinstance(triple, tuple)
    first, last, step = (bind(n, values) for n in triple)
    assert isinstance(first, int) and isinstance(last, int) and isinstance(step, int)
    if (item.start is None or -length <= item.start < length) and (item.stop is None or -length <= item.stop <= length):
        taken = list(range(first, last, step))
        assert taken == list(range(length))[item]
        assert not taken or bind(count(triple), values) == len(taken)


def test_integers_beside_lengths_are_cut_off_where_the_axis_is_known() -> None:
    assert canonical_index((slice(-9, N), slice(N, 9)), (4, 4)) == ((0, N, 1), (N, 4, 1))
    assert canonical_index((slice(N, 2, -1), slice(9, N, -1)), (4, 4)) == ((N, 2, -1), (3, N, -1))
    assert canonical_index((slice(2, Length.symbol("M")),), (N,)) == ((2, Length.symbol("M"), 1),)


def test_integers_beside_lengths_are_cut_off_where_it_is_bound() -> None:
    m = Length.symbol("M")
    triples = canonical_index((slice(-3, m), slice(m, 3), slice(3, m, -1)), (N, N, N))
    for n, wanted in (5, ((2, 2, 1), (2, 3, 1), (3, 2, -1))), (2, ((0, 2, 1), (2, 2, 1), (1, 2, -1))):
        assert tuple(tuple(bind(part, {"N": n, "M": 2}) for part in one) for one in triples) == wanted  # type: ignore[union-attr]
