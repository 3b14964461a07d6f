# SPDX-License-Identifier: Apache-2.0
"""What a program that is written for the array API standard asks of the namespace and of its arrays."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import ngraph_rewrite as ng
from ngraph_rewrite import errors

xp = ng.numpy
X, J, Z = ng.placeholder((2, 3), name="x"), ng.placeholder((4,), "int64", name="j"), ng.placeholder((), name="z")
INFO = xp.__array_namespace_info__()
NAMES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64".split()


# -- dtypes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*NAMES, "float16", "bfloat16"])
def test_a_dtype_has_a_name_in_the_namespace_and_is_that_of_terms(name: str) -> None:
    dtype = getattr(xp, name)
    assert xp.zeros((2,), dtype=dtype).dtype == dtype == ng.placeholder((2,), name).dtype
    assert xp.isdtype(dtype, dtype)


@pytest.mark.parametrize("kind", ["bool", "signed integer", "unsigned integer", "integral", "real floating", "numeric"])
def test_kinds_of_dtypes_are_those_of_numpy(kind: Any) -> None:
    assert {d for d in NAMES if xp.isdtype(d, kind)} == {d for d in NAMES if np.isdtype(np.dtype(d), kind)}
    assert INFO.dtypes(kind=kind) == {d: np.dtype(d) for d in NAMES if np.isdtype(np.dtype(d), kind)}


def test_no_dtype_is_complex_and_both_halves_are_real() -> None:
    assert INFO.dtypes(kind="complex floating") == {}
    assert xp.isdtype(xp.bfloat16, "real floating") and xp.isdtype(xp.float16, ("bool", "numeric"))


def test_the_namespace_says_what_it_chooses_and_what_it_cannot_do() -> None:
    assert INFO.dtypes() == {name: np.dtype(name) for name in NAMES}
    chosen = {"real floating": xp.asarray(1.0), "integral": xp.asarray(1), "indexing": xp.argmax(X)}
    assert INFO.default_dtypes() == {kind: term.dtype for kind, term in chosen.items()}
    assert INFO.capabilities() == {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 64}
    assert xp.__array_api_version__ == "2024.12"


@pytest.mark.parametrize("version", [None, "2021.12", "2022.12", "2023.12", "2024.12"])
def test_the_namespace_stands_for_earlier_versions(version: str | None) -> None:
    assert X.__array_namespace__(api_version=version) is xp


# -- devices -----------------------------------------------------------------------------------------------------------

MADE: list[Callable[[Any], Any]] = [
    lambda device: xp.arange(3, device=device),
    lambda device: xp.asarray([1, 2], device=device),
    lambda device: xp.empty((2,), device=device),
    lambda device: xp.empty_like(X, device=device),
    lambda device: xp.eye(2, device=device),
    lambda device: xp.full((2,), 1.0, device=device),
    lambda device: xp.full_like(X, 1.0, device=device),
    lambda device: xp.linspace(0, 1, 3, device=device),
    lambda device: xp.ones((2,), device=device),
    lambda device: xp.ones_like(X, device=device),
    lambda device: xp.zeros((2,), device=device),
    lambda device: xp.zeros_like(X, device=device),
    lambda device: xp.astype(X, "int32", device=device),
    lambda device: X.to_device(X.device if device is None else device),
]


@pytest.mark.parametrize("number", range(len(MADE)))
def test_terms_have_one_device_and_what_makes_them_takes_no_other(number: int) -> None:
    for device in (None, X.device, INFO.default_device(), *INFO.devices()):
        assert MADE[number](device).device == X.device
    with pytest.raises(errors.ArgumentError, match="'cuda'(?s:.*)the target of a transformer decides") as caught:
        MADE[number]("cuda")
    assert __file__ in str(caught.value)


# -- what a graph refuses ----------------------------------------------------------------------------------------------

WRONG: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: xp.finfo(J), errors.DTypeError, "(?s)finfo: int64 is no float dtype.*ask iinfo"),
    (lambda: xp.iinfo("float32"), errors.DTypeError, "(?s)iinfo: float32 is no integer dtype.*ask finfo"),
    (lambda: xp.iinfo(xp.bool), errors.DTypeError, "iinfo: bool is no integer dtype"),
    (lambda: xp.isdtype(xp.int8, "whole"), errors.AttributeValueError, "(?s)the kind is 'whole'.*signed integer"),
    (lambda: xp.isdtype(xp.int8, None), errors.AttributeValueError, "the kind is None"),
    (lambda: xp.isdtype(xp.int8, 3), errors.DTypeError, "isdtype: 3 is not a dtype"),
    (lambda: INFO.dtypes(kind="whole"), errors.AttributeValueError, "the kind is 'whole'"),
    (lambda: xp.result_type(), errors.ArgumentError, "result_type: there are no dtypes"),
    (lambda: xp.asarray(np.ones(3), copy=False), errors.AttributeValueError, "is copied, and copy is False"),
    (lambda: xp.asarray(X, dtype="int8", copy=False), errors.AttributeValueError, "x is copied, and copy is False"),
    (lambda: X.__array_namespace__(api_version="2025.12"), errors.AttributeValueError, "ask for 2024.12"),
    (lambda: xp.conj(ng.placeholder((2,), "bool")), errors.DTypeError, "conj: expected numbers"),
    (lambda: xp.cumulative_sum(Z), errors.AttributeValueError, "(?s)there are 0 axes.*give an operand with axes"),
    (lambda: xp.vecdot(Z, X), errors.AttributeValueError, "(?s)axis is -1.*give operands with axes"),
    (lambda: xp.linalg.pinv(X, rtol=X), errors.IncompatibleAxesError, "does not broadcast"),
    (lambda: 1 if xp.any(X > 0) else 2, errors.ArgumentError, "(?s)no truth value.*ng.numpy.where or ng.cond"),
    (lambda: list(X), errors.ArgumentError, "(?s)x cannot be iterated over.*ng.numpy.unstack"),
    # == of terms asks for identity: True and False are no arrays
    (lambda: xp.sum(X == 0), errors.DTypeError, "(?s)the array is False, of Python.*compare terms with equal"),
    (lambda: xp.astype(X != 0, xp.float32), errors.DTypeError, "the array is True, of Python"),
    (lambda: xp.logical_not(X == 0), errors.DTypeError, "the array is False, of Python"),
    (lambda: xp.any(X[0] == X[1]), errors.DTypeError, "the array is False, of Python"),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_what_makes_no_sense_is_refused_where_it_is_written(number: int) -> None:
    call, expected, message = WRONG[number]
    with pytest.raises(expected, match=message) as caught:
        call()
    assert __file__ in str(caught.value)


def test_what_is_a_term_is_not_copied() -> None:
    assert xp.asarray(X, copy=False) is X and xp.asarray(X, dtype=xp.float32, copy=False) is X


def test_true_is_a_value_beside_an_array_of_bools() -> None:
    mask = xp.greater(X, 0)
    assert xp.diff(mask, prepend=True, append=False).type == ng.placeholder((2, 4), "bool").type
    assert xp.insert(mask, 1, True, axis=1).type == xp.append(mask, [[True], [False]], axis=1).type
    assert xp.where(mask, True, False).type == xp.logical_and(mask, True).type == mask.type


def test_a_number_that_is_not_complex_is_its_own_conjugate() -> None:
    assert xp.conj(X) is xp.real(X) is np.real(X) is np.conj(X) is X and xp.conj(J) is J


# -- terms without axes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "n", [ng.placeholder((), "int32"), xp.asarray(6), xp.asarray(ng.placeholder((None,)).shape[0])]
)
def test_an_integer_without_axes_has_bits(n: ng.Op) -> None:
    for term in (n & 3, 3 | n, n ^ n, ~n, n & (n - 1), ~(n + 1)):
        assert term.dtype == n.dtype


def test_bits_of_an_integer_without_axes_are_those_of_python() -> None:
    n = ng.placeholder((), "int32")
    with ng.make_transformer("reference") as transformer:
        found = transformer.computation([n & 3, n | 8, n ^ 5, ~n], n)(np.int32(6))
    assert [int(value) for value in found] == [6 & 3, 6 | 8, 6 ^ 5, ~6]


def test_a_number_is_a_vector_of_one_element_to_its_norm() -> None:
    with ng.make_transformer("reference") as transformer:
        assert float(transformer.computation(xp.linalg.vector_norm(Z), Z)(np.float32(-3))) == 3


def test_a_number_is_no_matrix() -> None:
    with pytest.raises(errors.AxesError, match="det: expected square matrices"):
        xp.linalg.det(Z)


def test_a_number_can_be_set() -> None:
    with ng.make_transformer("reference") as transformer:
        assert float(transformer.computation(xp.at(Z)[()].set(2.0), Z)(np.float32(-3))) == 2
        assert float(transformer.computation(xp.at(Z)[...].add(2.0), Z)(np.float32(-3))) == -1


# -- arguments by place ------------------------------------------------------------------------------------------------


def _by_place(function: Any) -> list[str]:
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [p.name for p in inspect.signature(function).parameters.values() if p.kind in places]


def _also_numpys() -> Iterator[tuple[str, Any, Any]]:
    """Functions of the namespace that NumPy has too, and says what they take."""
    for space, numpys in ((xp, np), (xp.linalg, np.linalg)):
        for name in space.__all__:
            theirs = getattr(numpys, name, None)
            if isinstance(getattr(space, name), FunctionType) and isinstance(theirs, Callable):  # type: ignore[arg-type]
                with suppress(ValueError):
                    yield name, inspect.signature(getattr(space, name)).parameters, _by_place(theirs)


def test_what_numpy_takes_by_place_means_the_same_here() -> None:
    """No argument stands where NumPy has another; where the next of NumPy's is known, it is taken by place, too."""
    count = 0
    for name, own, theirs in _also_numpys():
        places = [p.name for p in own.values() if p.kind < inspect.Parameter.VAR_POSITIONAL]
        for place, argument in enumerate(places):
            assert theirs.index(argument) == place if argument in theirs else True, (name, argument)
        following = theirs[len(places) : len(places) + 1]
        assert not following or following[0] not in own or len(places) == len(own), (name, following)
        count += 1
    assert count > 150


def test_differences_are_taken_as_often_as_the_second_argument_says() -> None:
    assert xp.diff(ng.placeholder((5, 6)), 2).shape == np.diff(np.zeros((5, 6)), 2).shape == (5, 4)
    assert xp.diff(ng.placeholder((5, 6)), 2, 0).shape == (3, 6)
