# SPDX-License-Identifier: Apache-2.0
"""Sums of Fourier transforms are right on the CPU: of all lengths, in any order, of parts of lines, and some sums."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from programs import drawn as of_kernels

import ngraph_rewrite as ng
from ngraph_rewrite.ops.fourier_lengths import split, steps_of, suits
from ngraph_rewrite.plan import fourier_calls
from ngraph_rewrite.terms.op import Op

fourier = ng.semi.fourier
# Errors of steps, of a product with a matrix, and of a convolution, of which a few are added up: in eps of the root of
# the sum of squares, which is that of a sum of independent errors of all that is summed.
STEPS, PRODUCT, CONVOLUTION = 4, 8, 64
DTYPES = ["float32", "float64"]
# Lines one behind the other, few and many; side by side, few and more than a strip; both.
SHAPES = [(1, 1), (3, 1), (37, 1), (1, 5), (2, 9), (1, 70), (3, 16)]


def drawn(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def run(term: Op, inputs: list[Op], arrays: list[Any]) -> Any:
    with ng.make_transformer("cpu") as transformer:
        return transformer.computation(term, *inputs)(*arrays)


def both(arrays: list[Any], **attributes: Any) -> tuple[Any, Any, Op]:
    """What the CPU computes, what the op means, and the op."""
    inputs = [ng.placeholder(a.shape, str(a.dtype)) for a in arrays]
    term = fourier(*inputs, **attributes)
    meaning = term.definition.meaning
    assert meaning is not None
    return run(term, inputs, arrays), meaning(term, *arrays), term


def bound(n: int) -> int:
    if suits(n):
        return STEPS
    return PRODUCT if n <= 128 or any(n % d == 0 and suits(n // d) for d in range(2, 65)) else CONVOLUTION


def assert_near(found: Any, expected: Any, arrays: list[Any], n: int) -> None:
    size = np.sqrt(sum((a.astype("float64") ** 2).sum(axis=1, keepdims=True) for a in arrays))
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    error = abs(found - expected) / (size * np.finfo(found.dtype).eps * np.log2(2 * n))
    assert error.max(initial=0) <= bound(n), (n, error.max())


@of_kernels(60)
@given(
    st.integers(1, 300),
    st.sampled_from(SHAPES),
    st.sampled_from(DTYPES),
    st.floats(0, 1),
    st.floats(0, 1),
    st.tuples(st.booleans(), st.booleans(), st.booleans()),
)
@example(22, (3, 1), "float32", 1, 1, (False, False, False))  # half of it is one prime
@example(286, (3, 1), "float64", 1, 1, (True, True, True))
@example(16, (3, 1), "float32", 0, 0, (False, True, True))
@example(128, (1, 70), "float32", 0.5, 1, (False, True, True))
def test_sums_are_those_of_numpy(
    n: int, shape: tuple[int, int], dtype: str, there: float, asked: float, flags: tuple[bool, bool, bool]
) -> None:
    """Primes as well, of whole lines or of some of their first elements, all sums or the first ones."""
    is_complex, inverse, real = flags
    own, wanted = 1 + int(there * (n - 1)), 1 + int(asked * (n - 1))
    arrays = [drawn((shape[0], own, shape[1]), dtype, seed) for seed in range(1 + is_complex)]
    found, expected, _ = both(arrays, n=n, sign=1 if inverse else -1, wanted=wanted, real=real)
    assert_near(found, expected, arrays, n)


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1000, 1001, 1009, 1024, 1700, 4099, 16384, 1 << 18, 3 * (1 << 17)])
def test_long_lines(n: int, dtype: str) -> None:
    """Of steps in the caches, of two of them, and of convolutions."""
    arrays = [drawn((2, n, 1), dtype, seed) for seed in (1, 2)]
    found, expected, _ = both(arrays)
    assert_near(found, expected, arrays, n)
    half = [a[:, : n // 2 + 1] for a in arrays]
    found, expected, _ = both([np.ascontiguousarray(a) for a in half], n=n, sign=1, real=True)
    assert_near(found, expected, half, n)
    found, expected, _ = both(arrays[:1], wanted=n // 2 + 1)
    assert_near(found, expected, arrays[:1], n)


@pytest.mark.parametrize("n", [96, 1024, 1000])
def test_lines_are_computed_alike_wherever_they_stand(n: int) -> None:
    """Beside which others, and by which thread: to the bit, and what is not finite stays in its line."""
    line, other = drawn((1, n, 1), "float32"), drawn((100, n, 1), "float32", 1)
    alone, _, _ = both([np.repeat(line, 40, axis=0)])
    other[17], other[3, 5], other[60, 7] = line[0], np.nan, np.inf
    with np.errstate(all="ignore"):
        beside, _, _ = both([other])
    assert np.array_equal(alone[:, 0], beside[:, 17])
    assert np.isfinite(np.delete(beside, [3, 60], axis=1)).all()
    assert not np.isfinite(beside[:, [3, 60]]).all()


@pytest.mark.parametrize("n", [70, 1024])
def test_lines_side_by_side_and_behind_each_other_are_the_same(n: int) -> None:
    x = drawn((5, n, 9), "float64")
    across, _, _ = both([x])
    along, _, _ = both([np.ascontiguousarray(x.transpose(0, 2, 1).reshape(45, n, 1))])
    np.testing.assert_allclose(across, along.reshape(2, 5, 9, n).swapaxes(2, 3), rtol=0, atol=1e-12)


def slopes(make: Callable[..., Op], arrays: list[Any], target: str) -> list[Any]:
    inputs = [ng.placeholder(a.shape, str(a.dtype)) for a in arrays]
    term = make(*inputs)
    weights = ng.constant(drawn(tuple(int(n) for n in term.shape), "float64", 7))  # type: ignore[call-overload]
    product = ng.numpy.sum(term * weights)
    with ng.make_transformer(target) as transformer:
        found = transformer.computation([ng.deriv(product, x) for x in inputs], *inputs)(*arrays)
    return list(found)


@pytest.mark.parametrize("n", [6, 16, 70, 97, 263])
@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize("count", [1, 2])
def test_slopes_are_sums_the_other_way(n: int, real: bool, count: int) -> None:
    """Sums are linear: along any direction they change by the sums of it."""
    arrays = [drawn((2, n - 1, 3), "float64", seed) for seed in range(count)]
    made = slopes(lambda *xs: fourier(*xs, n=n, wanted=n - 1, real=real), arrays, "cpu")
    way = [drawn((2, n - 1, 3), "float64", 3 + seed) for seed in range(count)]
    _, change, _ = both(way, n=n, wanted=n - 1, real=real)
    along = sum((slope * part).sum() for slope, part in zip(made, way, strict=True))
    assert along == pytest.approx((change * drawn(change.shape, "float64", 7)).sum(), rel=1e-9)


def test_lines_may_be_as_many_as_a_call_has() -> None:
    """In either place, and none at all."""
    behind, beside = ng.placeholder((None, 1024)), ng.placeholder((96, None))
    whole = [ng.numpy.fft.rfft(behind).imag, ng.numpy.fft.fft(beside, axis=0).real]
    with ng.make_transformer("cpu") as transformer:
        compute = transformer.computation(whole, behind, beside)
        for a, b in ((3, 40), (50, 1), (0, 0)):
            x, y = drawn((a, 1024), "float32"), drawn((96, b), "float32")
            found = compute(x, y)
            expected = np.fft.rfft(x).imag, np.fft.fft(y, axis=0).real
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_allclose(one, other, rtol=0, atol=1e-4)


def stats(name: str, shape: tuple[int, ...], axis: int = -1) -> Any:
    x = ng.placeholder(shape)
    with ng.make_transformer("cpu") as transformer:
        compute = transformer.computation(getattr(ng.numpy.fft, name)(x, axis=axis).real, x)
        compute(drawn(shape, "float32"))
        return compute.stats()


def kernels(name: str, shape: tuple[int, ...], axis: int = -1) -> set[str]:
    """Which of the kernels of Fourier transforms there are."""
    return {found.rsplit("_", 1)[0] for found in stats(name, shape, axis)["kernels"]} & {"fourier", "fourier_across"}


def test_each_of_many_is_transformed_where_it_stands() -> None:
    """What `ng.numpy.fft` does along each axis is one kernel, and no axis is moved."""
    for axis in 1, 2:
        assert kernels("fft", (4, 96, 128), axis)
        assert stats("fft", (4, 96, 128), axis)["layout_copies"] == 0


@pytest.mark.parametrize(
    ("name", "lines", "n", "expected"),
    [
        ("fft", 4, 16, {"fourier_across"}),
        ("fft", 1, 32, {"fourier"}),
        ("fft", 5, 128, {"fourier"}),
        ("rfft", 9, 512, {"fourier"}),  # half as many are a matrix of whole vectors
        ("rfft", 9, 251, set()),
        ("rfft", 1, 251, {"fourier"}),
        ("rfft", 9, 257, {"fourier"}),
    ],
)
def test_lines_become_what_takes_least_time(name: str, lines: int, n: int, expected: set[str]) -> None:
    """Few short ones lie side by side; primes are a product, if it is short: one line would read a matrix alone."""
    assert kernels(name, (lines, n)) == expected


def test_steps_multiply_to_their_length() -> None:
    for n in filter(suits, range(1 << 12)):
        way = split(n)
        assert way.first * way.second == n
        for length in (n, *way[:2]):
            assert np.prod(steps_of(length), dtype=int) == length
            assert fourier_calls._digits(steps_of(length)) < 1 << 63


def test_a_table_is_made_once() -> None:
    """The roots for a transform and its inverse are the same."""
    x = ng.placeholder((3, 1024))
    with ng.make_transformer("cpu") as transformer:
        fourier_calls._table.cache_clear()
        transformer.computation(ng.numpy.fft.irfft(ng.numpy.fft.rfft(x)), x)(drawn((3, 1024), "float32"))
    assert fourier_calls._table.cache_info()[:2] == (1, 1)


@pytest.mark.parametrize(
    ("shapes", "attributes", "told"),
    [
        ([(2, 3)], {}, "fourier.*: expected a shape .a, m, b. with m from 1 to 3"),
        ([(2, 3, 1)], {"n": 2}, "with m from 1 to 2"),
        ([(2, None, 1)], {"n": 2}, "with m from 1 to 2"),
        ([(2, 3, 1), (2, 3, 2)], {}, "equal shapes"),
        ([(2, 3, 1)], {"sign": 2}, "sign is 2"),
        ([(2, 3, 1)], {"wanted": 4}, "4 of 3 sums are wanted"),
        ([(2, 3, 1)], {"wanted": 0}, "0 of 3 sums are wanted"),
        ([(2, 3, 1)], {"real": 3}, "real is 3"),
    ],
)
def test_what_is_wrong_is_told(shapes: list[Any], attributes: dict[str, Any], told: str) -> None:
    with pytest.raises(ng.errors.NGraphRewriteError, match=f"(?s){told}"):
        fourier(*map(ng.placeholder, shapes), **attributes)
