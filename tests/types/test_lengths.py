# SPDX-License-Identifier: Apache-2.0
"""A length behaves like the integer it will be, and equal polynomials are equal objects."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ngraph_rewrite.errors import ArgumentError, LengthError, NGraphRewriteError
from ngraph_rewrite.types.lengths import Extent, Length, bind, known, natural, product, solved, symbols

drawn = settings(max_examples=80, deadline=None)
NAMES = ("N", "T", "longer name")
BINDINGS = st.fixed_dictionaries({name: st.integers(0, 12) for name in NAMES})
LEAVES = st.one_of(st.integers(-5, 9), st.sampled_from(NAMES).map(Length.symbol))


def _grown(inner: st.SearchStrategy[Extent]) -> st.SearchStrategy[Extent]:
    pairs = st.tuples(inner, inner)
    return st.one_of(
        pairs.map(lambda p: p[0] + p[1]),
        pairs.map(lambda p: p[0] - p[1]),
        pairs.map(lambda p: p[0] * p[1]),
        inner.map(lambda x: -x),
        st.tuples(inner, st.integers(1, 4)).map(lambda p: p[0] // p[1]),
        inner.map(natural),
    )


EXTENTS = st.recursive(LEAVES, _grown, max_leaves=6)


@drawn
@given(EXTENTS, EXTENTS, BINDINGS)
def test_arithmetic_is_that_of_the_bound_integers(x: Extent, y: Extent, binding: dict[str, int]) -> None:
    a, b = bind(x, binding), bind(y, binding)
    assert isinstance(a, int)
    assert bind(x + y, binding) == a + b
    assert bind(x - y, binding) == a - b
    assert bind(x * y, binding) == a * b
    assert bind(-x, binding) == -a
    assert bind(product([x, y, 2]), binding) == 2 * a * b


@drawn
@given(EXTENTS, st.integers(1, 6), BINDINGS)
def test_quotients_round_down(x: Extent, divisor: int, binding: dict[str, int]) -> None:
    assert bind(x // divisor, binding) == bind(x, binding) // divisor  # type: ignore[operator]


@drawn
@given(EXTENTS, BINDINGS)
def test_a_natural_length_is_none_where_it_would_be_less(x: Extent, binding: dict[str, int]) -> None:
    assert bind(natural(x), binding) == max(bind(x, binding), 0)
    assert natural(natural(x)) == natural(x)


def test_a_length_that_is_natural_by_its_form_stays_as_it_is() -> None:
    n = Length.symbol("N")
    for x in (n, 2 * n + 1, (n + 3) // 2, n * (n // 2), natural(n - 1) + 1):
        assert natural(x) == x
    assert natural(n - 1) != n - 1 and natural((n - 1) // 2) != (n - 1) // 2


@pytest.mark.parametrize("compare", [operator.lt, operator.le, operator.gt, operator.ge])
def test_which_of_two_lengths_is_more_is_not_known_of_unknown_ones(compare: Callable[[Extent, Extent], bool]) -> None:
    n = Length.symbol("N")
    for one, other in ((n, 1), (1, n), (n, n + 1)):
        with pytest.raises(LengthError, match=r"whether the length N.* is not known .*\n  .*`is_known`"):
            compare(one, other)


@drawn
@given(EXTENTS, EXTENTS, EXTENTS)
def test_equal_polynomials_are_equal_objects(x: Extent, y: Extent, z: Extent) -> None:
    pairs = [
        (x + y, y + x),
        (x * y, y * x),
        ((x + y) + z, x + (y + z)),
        ((x * y) * z, x * (y * z)),
        (x * (y + z), x * y + x * z),
        (x - y, -(y - x)),
        (x + y - y, x),
        (x * 1 + 0, x),
    ]
    for left, right in pairs:
        assert left == right
        assert hash(left) == hash(right)
        assert repr(left) == repr(right)


@drawn
@given(EXTENTS, EXTENTS, st.integers(1, 5))
def test_what_a_divisor_divides_leaves_a_quotient(x: Extent, y: Extent, divisor: int) -> None:
    assert (x * divisor + y) // divisor == x + y // divisor


def test_a_quotient_of_two_n_plus_one_is_n() -> None:
    n = Length.symbol("N")
    assert (2 * n + 1) // 2 == n
    assert (2 * n + 3) // 2 == n + 1
    assert (n + 3) // 2 == (n + 1) // 2 + 1


@drawn
@given(EXTENTS)
def test_a_length_without_symbols_is_an_int(x: Extent) -> None:
    assert isinstance(x, int) == (not list(symbols(x)))
    assert x - x == 0
    assert isinstance(x * 0, int)


@drawn
@given(EXTENTS, BINDINGS)
def test_binding_step_by_step_is_binding_at_once(x: Extent, binding: dict[str, int]) -> None:
    part = x
    for name, value in binding.items():
        part = bind(part, {name: value})
    assert part == bind(x, binding)
    assert bind(x, {}) == x


def test_symbols_are_told_in_the_order_they_are_written() -> None:
    n, t = Length.symbol("N"), Length.symbol("T")
    assert list(symbols(n * t + n // 2)) == ["N", "T", "N"]
    assert list(symbols(3)) == []


def test_a_length_reads_as_a_polynomial() -> None:
    n, t = Length.symbol("N"), Length.symbol("T")
    assert repr(2 * n * t - n + 3) == "2*N*T - N + 3"
    assert repr(n // 2 - 1) == "(N // 2) - 1"
    assert repr((n + 1) // 2) == "((N + 1) // 2)"
    assert repr((n // 2 * t + 1) // 2) == "((T*(N // 2) + 1) // 2)"
    assert repr(2 * n // 3) == "(2*N // 3)"


def test_a_quotient_of_a_quotient_is_one() -> None:
    """What halves five times is what divides by 32, however the halves are written."""
    n = Length.symbol("N")
    assert repr(((n + 1) // 2 + 1) // 2) == "((N + 3) // 4)"
    assert (n // 2 + 3) // 2 == 1 + (n // 2 + 1) // 2 == (n + 6) // 4


def test_a_length_that_is_linear_in_one_symbol_says_what_it_is() -> None:
    n, t = Length.symbol("N"), Length.symbol("T")
    assert solved(4 * n + 1, 9) == solved(4 - n, 2) == ("N", 2)
    assert [solved(x, 9) for x in (4 * n, n + 10, n * t, n + t, n // 2, n * n)] == [None] * 6


@drawn
@given(EXTENTS, EXTENTS, BINDINGS)
def test_quotients_by_lengths_are_whole_or_refused(x: Extent, y: Extent, binding: dict[str, int]) -> None:
    product, by = x * y, bind(y, binding)
    if isinstance(y, Length) and by:
        try:
            assert bind(product // y, binding) == bind(x, binding)
        except LengthError as error:
            assert "is not known before they are bound" in str(error)


def test_what_a_length_is_divided_by_may_be_a_length_or_a_number_of_numpy() -> None:
    n, t = Length.symbol("N"), Length.symbol("T")
    assert 6 * n * t // n == 6 * t and 6 * n // (2 * n) == 3 and 0 // n == 0
    assert n // np.int64(2) == n // 2  # type: ignore[operator]
    assert divmod(2 * n + 3, 2) == (n + 1, 1) and bind(n % 4, {"N": 7}) == 3
    with pytest.raises(LengthError, match="whether N can be divided by T is not known"):
        n // t
    with pytest.raises(LengthError, match="whether 6 can be divided by T"):
        6 // t


def test_an_unknown_length_is_not_an_integer() -> None:
    n = Length.symbol("N")
    assert n != 3
    assert known(3) == 3
    with pytest.raises(LengthError, match="rows is 2\\*N, which is not known here"):
        known(2 * n, "rows")
    with pytest.raises(LengthError, match="whether the length N is zero"):
        bool(n)


@pytest.mark.parametrize("divisor", [0, -1, 2.0, True, None])
def test_only_positive_integers_divide(divisor: object) -> None:
    with pytest.raises(LengthError, match="positive integer") as raised:
        Length.symbol("N") // divisor  # type: ignore[operator]
    assert isinstance(raised.value, NGraphRewriteError) and isinstance(raised.value, ValueError)


@pytest.mark.parametrize("other", [None, "N"])
def test_only_integers_and_lengths_take_part(other: object) -> None:
    for operation in ("__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__"):
        assert getattr(Length.symbol("N"), operation)(other) is NotImplemented
    with pytest.raises(TypeError):
        Length.symbol("N") + other  # type: ignore[operator]


@pytest.mark.parametrize(
    "call",
    [
        *(lambda n: n / 2, lambda n: 1 / n, lambda n: n / n, lambda n: n**0.5, float, int, math.sqrt),
        *(lambda n: n * 1.5, lambda n: 0.5 * n, lambda n: n + 0.5, lambda n: 0.5 - n, lambda n: n - 1.5),
        *(lambda n: n * True, lambda n: False + n),
    ],
)
def test_what_is_no_length_is_said_to_need_a_term(call: Any) -> None:
    with pytest.raises(
        ArgumentError, match=r"the length N, which is not known .*\n  .*ng.numpy.asarray\(length, dtype"
    ):
        call(Length.symbol("N"))


def test_numpy_integers_are_integers() -> None:
    n = Length.symbol("N")
    assert n * np.int64(2) == 2 * n == np.int64(2) * n  # type: ignore[operator]
    assert n + np.int8(1) == n + 1  # type: ignore[operator]
