# SPDX-License-Identifier: Apache-2.0
"""Fourier transforms give NumPy's sums, for any length, side of the spectrum and norm, and have derivatives."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ngraph_rewrite as ng
from ngraph_rewrite.errors import AttributeValueError, DTypeError, LengthError, OutOfRangeError

nx = ng.numpy
Complex = nx.fft.Complex
OF_COMPLEX = ["fft", "ifft", "irfft", "hfft"]
OF_REAL = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
OF_SEVERAL = ["fftn", "ifftn", "rfftn", "irfftn"]
NORMS = [None, "backward", "ortho", "forward"]
# Products with one matrix, two and three; primes that are one, or a convolution, alone and behind another step.
LENGTHS = [1, 2, 3, 60, 65, 128, 251, 2 * 251, 263, 3 * 263, 64 * 65 * 2]


def run(make: Callable[..., Any], *arrays: Any, target: str = "reference") -> np.ndarray:
    """What is made of terms for arrays, complex ones as pairs of terms."""
    parts = [part for a in arrays for part in ((a.real, a.imag) if np.iscomplexobj(a) else (a,))]
    inputs = [ng.placeholder(part.shape, str(part.dtype)) for part in parts]
    left = iter(inputs)
    terms = [Complex(next(left), next(left)) if np.iscomplexobj(a) else next(left) for a in arrays]
    with ng.make_transformer(target) as transformer:
        return np.asarray(transformer.computation(make(*terms), *inputs)(*parts))


def drawn(shape: tuple[int, ...], is_complex: bool = True, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    return rng.normal(size=shape) + 1j * rng.normal(size=shape) if is_complex else rng.normal(size=shape)


def assert_close(found: np.ndarray, expected: np.ndarray, tolerance: float = 1e-13) -> None:
    """Each sum differs by so much of what is summed at most."""
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    assert abs(found - expected).max() <= tolerance * max(abs(expected).max(), 1)


@pytest.mark.parametrize("n", LENGTHS)
def test_sums_of_every_length_are_those_of_numpy(n: int) -> None:
    z = drawn((2, n))
    assert_close(run(nx.fft.fft, z), np.fft.fft(z))
    assert_close(run(nx.fft.ifft, z), np.fft.ifft(z))
    assert_close(run(nx.fft.rfft, z.real), np.fft.rfft(z.real))
    assert_close(run(lambda z: nx.fft.irfft(z, n), z[:, : n // 2 + 1]), np.fft.irfft(z[:, : n // 2 + 1], n))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.booleans().flatmap(lambda c: st.tuples(st.just(c), st.sampled_from(OF_COMPLEX if c else OF_REAL))),
    st.tuples(*[st.integers(2, 9)] * 3),
    st.integers(-3, 2),
    st.none() | st.integers(1, 150),
    st.sampled_from(NORMS),
)
def test_elements_are_cut_off_or_zeros_added_along_any_axis(
    named: tuple[bool, str], shape: tuple[int, ...], axis: int, n: int | None, norm: str | None
) -> None:
    is_complex, name = named
    a = drawn(shape, is_complex)
    given = (n, axis, norm)
    assert_close(run(lambda a: getattr(nx.fft, name)(a, *given), a), getattr(np.fft, name)(a, *given))


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from(OF_SEVERAL),
    st.lists(st.integers(-3, 2), min_size=1, max_size=3, unique_by=lambda axis: axis % 3),
    st.lists(st.integers(2, 9) | st.just(-1), min_size=3, max_size=3),
    st.booleans(),
    st.sampled_from(NORMS),
)
def test_several_axes_are_transformed_one_after_the_other(
    name: str, axes: list[int], lengths: list[int], sized: bool, norm: str | None
) -> None:
    a = drawn((4, 5, 6), is_complex=name != "rfftn")
    given = (lengths[: len(axes)] if sized else None, axes, norm)
    assert_close(run(lambda a: getattr(nx.fft, name)(a, *given), a), getattr(np.fft, name)(a, *given))


@pytest.mark.parametrize("name", OF_SEVERAL)
@pytest.mark.parametrize("axes", [(0, 0), (1, -1), (0, 1, 0)])
@pytest.mark.parametrize("sized", [False, True])
def test_an_axis_that_is_named_twice_is_transformed_twice(name: str, axes: tuple[int, ...], sized: bool) -> None:
    """Of as many elements as it had at first."""
    a = drawn((4, 5), is_complex=name != "rfftn")
    given = ((3, 6, 2)[: len(axes)] if sized else None, axes)
    assert_close(run(lambda a: getattr(nx.fft, name)(a, *given), a), getattr(np.fft, name)(a, *given))


@pytest.mark.parametrize("name", OF_REAL)
def test_of_no_elements_all_are_zeros_that_are_added(name: str) -> None:
    none = np.zeros((2, 0, 3))
    found = run(lambda x: getattr(nx.fft, name)(x, 5, 1), none)
    assert_close(found, getattr(np.fft, name)(none, 5, 1))


def test_without_an_axis_nothing_is_transformed() -> None:
    """Of an array without any, and where none are named; NumPy gives real numbers as they are."""
    z = drawn((2, 3))
    for name in "fftn", "ifftn":
        for array, axes in ((z, ()), (z[0, 0], None), (z[0, 0].real, ()), (z.real, ())):
            found = run(lambda a, n=name, axes=axes: getattr(nx.fft, n)(a, axes=axes), np.asarray(array))
            assert_close(found, np.asarray(array, complex))


@pytest.mark.parametrize("target", ["cpu", "cuda"])
def test_targets_compute_the_same(target: str) -> None:
    """In float32, with an unknown number of lines."""
    z = drawn((3, 66)).astype("complex64")
    x, y = (ng.placeholder((None, 66)) for _ in "xy")
    with ng.make_transformer(target) as transformer:
        whole = transformer.computation([nx.fft.fft(Complex(x, y)), nx.fft.irfft(nx.fft.rfft(x))], x, y)
        for part in z, z[:2]:
            found, again = whole(part.real, part.imag)
            assert_close(np.asarray(found), np.fft.fft(part), 1e-6)
            assert_close(again, part.real, 1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int8", "bool"])
def test_other_numbers_are_summed_as_floats(dtype: str) -> None:
    found = nx.fft.fft(ng.placeholder((4,), dtype))
    assert (found.real.dtype, found.dtype) == (
        ("float32", "complex64") if "float" in dtype else ("float64", "complex128")
    )


@pytest.mark.parametrize("n", [6, 7, 66, 263])
def test_slopes_are_those_of_sums(n: int) -> None:
    """A transform is linear: its slope is the transform of what the sums are multiplied by, the other way."""
    weights, x = drawn((n,)), drawn((n,))

    def slopes(function: Callable[[Any], Any]) -> Callable[..., Any]:
        def made(x: Any, y: Any, w: Any) -> Any:
            found = function(Complex(x, y))
            product = found.real * w.real + found.imag * w.imag if isinstance(found, Complex) else found * w.real
            return [ng.deriv(nx.sum(product), part) for part in (x, y)]

        return made

    found = run(slopes(nx.fft.fft), x.real, x.imag, weights)
    assert_close(found[0] + 1j * found[1], np.fft.ifft(weights) * n)
    found = run(slopes(lambda z: nx.fft.irfft(z.apply(lambda part: part[: n // 2 + 1]), n)), x.real, x.imag, weights)
    half = np.fft.fft(weights.real)[: n // 2 + 1] / n * np.where(2 * np.arange(n // 2 + 1) % n == 0, 1, 2)
    assert_close((found[0] + 1j * found[1])[: n // 2 + 1], half)


def test_frequencies_and_the_middle_are_those_of_numpy() -> None:
    z = drawn((4, 5))
    for n in 1, 2, 7, 8:
        assert run(lambda n=n: nx.fft.fftfreq(n, 0.5, dtype="float64")).tolist() == np.fft.fftfreq(n, 0.5).tolist()
        assert run(lambda n=n: nx.fft.rfftfreq(n, 0.5, dtype="float64")).tolist() == np.fft.rfftfreq(n, 0.5).tolist()
    for axes in None, 1, (0, 1), (1, 1), (0, -2, 1):
        assert np.array_equal(run(lambda z, a=axes: nx.fft.fftshift(z, a), z), np.fft.fftshift(z, axes))
        assert np.array_equal(run(lambda z, a=axes: nx.fft.ifftshift(z, a), z.real), np.fft.ifftshift(z.real, axes))


@pytest.mark.parametrize(
    "formula",
    [
        lambda z, w, x: z + w - x,
        lambda z, w, x: x - z * w,
        lambda z, w, x: z / w,
        lambda z, w, x: x / z,
        lambda z, w, x: z / x,
        lambda z, w, x: -z * x,
        lambda z, w, x: (1 + 2j) * z - 3j / w + 2.5,
        lambda z, w, x: z @ w,
        lambda z, w, x: x @ z,
        lambda z, w, x: abs(z) * z.conj(),
        lambda z, w, x: np.array([[1j], [2.0]]) * z,
        lambda z, w, x: np.float32(2) - z + np.ones(2) * w,
        lambda z, w, x: z[0] - z[:, 1] * w[..., ::-1][-1],
    ],
)
def test_complex_arrays_compute_as_those_of_numpy(formula: Callable[..., Any]) -> None:
    z, w, x = drawn((2, 2)), drawn((2, 2), seed=1), drawn((2, 2), is_complex=False, seed=2)
    assert_close(run(formula, z, w, x), formula(z, w, x))


def test_numbers_of_numpy_have_a_dtype_and_those_of_python_none() -> None:
    z = Complex(X, X)
    assert [(n * z).dtype for n in (2, 2.0, 2j)] == ["complex64"] * 3
    assert [(n * z).dtype for n in (np.float64(2), np.complex128(2j))] == ["complex128"] * 2


@pytest.mark.parametrize("parts", [(1, 2), (1.5, -2.0), (0, 1)])
@pytest.mark.parametrize(
    "formula",
    [
        lambda c, z: c + z,
        lambda c, z: c - z,
        lambda c, z: c * z / c,
        lambda c, z: z - c,
        lambda c, z: c * z.real,
        lambda c, z: c / z,
        lambda c, z: (-c).conj() * z * abs(c),
    ],
)
def test_parts_may_be_numbers_of_python(formula: Callable[..., Any], parts: tuple[float, float]) -> None:
    """They take the dtype of what they stand beside, as Python's complex numbers do."""
    z, number = drawn((2, 2)), Complex(*parts)
    expected = formula(np.complex128(complex(*parts)), z)
    assert_close(run(lambda z: formula(number, z), z), expected)
    assert (number.shape, number.dtype, np.asarray(number)) == ((), "complex128", complex(*parts))
    assert (number + Z).dtype == (Z * number).dtype == "complex64"


def test_a_fraction_beside_integers_is_not_cut_off() -> None:
    n = np.array([1, 2])
    assert run(lambda n: (Complex(n, n) + 0.5).real, n).tolist() == [1.5, 2.5]


def test_quotients_are_neither_infinite_nor_zero_too_soon() -> None:
    z, w = np.array([1e200 + 1e200j, 1e-200j]), np.array([2e200 - 1e200j, 3e-200])
    assert_close(run(lambda z, w: z / w, z, w), z / w)


def test_parts_sizes_and_angles() -> None:
    z = drawn((3,))
    for name in "real", "imag", "abs", "angle", "conj", "conjugate", "absolute":
        assert_close(run(getattr(nx, name), z), getattr(np, name)(z))
    assert_close(run(lambda z: z.angle(), z), np.angle(z))
    assert nx.iscomplexobj(Complex(0, 1))
    assert not nx.isrealobj(Complex(0, 1))


def test_functions_of_numpy_transform_terms() -> None:
    x = drawn((3, 8), is_complex=False)
    for function in np.fft.fft, np.fft.rfft, np.fft.irfft, np.fft.fftshift, np.fft.rfft2:
        assert_close(run(function, x), function(x))


X = ng.placeholder((3, 4), name="x")
Z = Complex(X, X)


@pytest.mark.parametrize(
    ("wrong", "error", "told"),
    [
        (lambda: nx.fft.fft(X, 0), AttributeValueError, "fft: 0 elements cannot be transformed"),
        (lambda: nx.fft.irfft(X[:, :1]), AttributeValueError, "irfft: 0 elements"),
        (lambda: nx.fft.fft(X, axis=2), OutOfRangeError, "fft: axis 2 is outside of 2 axes"),
        (lambda: nx.fft.fft(X, norm="none"), AttributeValueError, "norm"),
        (lambda: nx.fft.fft(ng.placeholder((None,))), LengthError, "the axis 0 of float32.n0. has an unknown length"),
        (lambda: nx.fft.rfft(Z), DTypeError, "expected real numbers"),
        (lambda: nx.fft.fftn(X, s=(3,), axes=(0, 1)), AttributeValueError, "are not the lengths of the axes"),
        (lambda: nx.fft.rfftn(X, axes=()), AttributeValueError, "one axis at least"),
        (lambda: nx.fft.irfftn(X[0, 0]), AttributeValueError, "one axis at least"),
        (lambda: nx.fft.fft(X[0, 0]), OutOfRangeError, "fft: axis -1 is outside of 0 axes"),
        (lambda: nx.fft.fftn(X, s=5), AttributeValueError, "fftn: s is 5"),
        (lambda: nx.fft.fftfreq(0), AttributeValueError, "fftfreq: 0 elements"),
        (lambda: nx.fft.fftfreq(4, 0), AttributeValueError, "fftfreq: d is 0"),
        (lambda: nx.fft.rfftfreq(4, "a"), AttributeValueError, "rfftfreq: d is 'a'"),
        (lambda: nx.fft.fftfreq(4, dtype="int32"), DTypeError, "fftfreq: frequencies are no int32"),
        (lambda: X * 1j, DTypeError, "1j is complex, and terms are real.*ng.numpy.fft.Complex"),
        (lambda: np.array([1j, 2, 3, 4]) * X, DTypeError, "complex128 is not supported.*ng.numpy.fft.Complex"),
        (lambda: nx.exp(Z), DTypeError, "numpy.exp: a complex array is two terms.*z.apply"),
        (lambda: X + Z.real + (Z,), DTypeError, "cannot be a constant"),
        (lambda: np.asarray(Z), DTypeError, "has no values.*compute it"),
        (lambda: nx.fft.fft(ng.placeholder({"H": 4})), TypeError, "goes by position"),
    ],
)
def test_what_is_wrong_is_told(wrong: Callable[[], Any], error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=f"(?s){told}"):
        wrong()
