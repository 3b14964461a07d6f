# SPDX-License-Identifier: Apache-2.0
"""A wrong call of ng.numpy is refused at the user's line, by the class and the message that say what is wrong."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ngraph_rewrite as ng
from ngraph_rewrite import errors

nx = ng.numpy
X, Y, V = ng.placeholder((2, 3), name="x"), ng.placeholder((4,), name="y"), ng.placeholder((3,), name="v")
J, B, N = ng.placeholder((2, 3), "int32"), ng.placeholder((2, 3), "bool"), ng.placeholder((None, 3), name="n")
M = ng.placeholder([ng.Axis(None, ng.Axis("M").length)], name="m")
Z = ng.placeholder((0, 3), name="z")

RAGGED = [[1], [2, 3]]
WRONG: list[tuple[Callable[[], Any], type[Exception], str]] = [
    # shapes that do not meet
    (lambda: nx.add(X, Y), errors.IncompatibleAxesError, "numpy.add.* axis -1 has the lengths 3 and 4"),
    (lambda: nx.where(B, X, Y), errors.IncompatibleAxesError, "the lengths 3 and 4"),
    (lambda: nx.add(N, ng.placeholder((2, 3))), errors.IncompatibleAxesError, "n0 and 2, which may differ"),
    (lambda: nx.broadcast_arrays(M, V), errors.IncompatibleAxesError, "M and 3, which may differ"),
    (lambda: nx.broadcast_to(X, (3, 3)), errors.IncompatibleAxesError, "the lengths 2 and 3"),
    (lambda: nx.broadcast_to(X, (3,)), errors.IncompatibleAxesError, "does not broadcast"),
    (lambda: nx.logsumexp(X, b=Y), errors.IncompatibleAxesError, "logsumexp: axis -1 has the lengths 3 and 4"),
    # dtypes
    (lambda: nx.negative(B), errors.DTypeError, "numpy.negative.* expected numbers"),
    (lambda: nx.subtract(B, B), errors.DTypeError, "expected numbers"),
    (lambda: nx.sign(B), errors.DTypeError, "expected numbers"),
    (lambda: nx.floor(B), errors.DTypeError, "expected numbers"),
    (lambda: ng.relu(B), errors.DTypeError, "numpy.relu.* expected numbers"),
    (lambda: nx.reciprocal(J), errors.DTypeError, "expected a float dtype"),
    (lambda: nx.bitwise_and(X, J), errors.DTypeError, "expected bool or integers"),
    (lambda: nx.bitwise_invert(X), errors.DTypeError, "expected bool or integers"),
    (lambda: nx.bitwise_left_shift(B, J), errors.DTypeError, "expected integers"),
    (lambda: nx.where(X, X, X), errors.DTypeError, "expected bool"),
    (lambda: nx.add(ng.placeholder((3,), "uint8"), 300), errors.DTypeError, "300 cannot be a constant of uint8"),
    (lambda: nx.astype(X, "complex64"), errors.DTypeError, "complex64 is not supported"),
    (lambda: nx.asarray("text"), errors.DTypeError, "dtype <U4 is not supported"),
    (lambda: nx.sum(X, dtype="bool"), errors.DTypeError, "expected numbers"),
    (lambda: nx.arange(3, dtype="bool"), errors.DTypeError, "expected numbers"),
    # functions
    (lambda: nx.scan(3, 0, X), errors.ArgumentError, "scan: step is 3(?s:.*)give a function"),
    (lambda: nx.vmap(3), errors.ArgumentError, "vmap: function is 3"),
    (lambda: ng.vmap(3, "N"), errors.ArgumentError, "vmap: function is 3"),
    (lambda: ng.scan(3, 0, X), errors.ArgumentError, "scan: step is 3"),
    (lambda: ng.simple.scan(3, 0, X), errors.ArgumentError, "scan: step is 3"),
    (lambda: ng.while_loop(3, lambda s: s, 0), errors.ArgumentError, "while_loop: condition is 3"),
    (lambda: ng.while_loop(lambda s: s < 3, 3, 0), errors.ArgumentError, "while_loop: step is 3"),
    (lambda: ng.cond(nx.all(B), 3, lambda: 4), errors.ArgumentError, "cond: then is 3"),
    (lambda: ng.cond(nx.all(B), lambda: 3, 4), errors.ArgumentError, "cond: otherwise is 4"),
    (lambda: nx.apply_along_axis(3, 0, X), errors.ArgumentError, "apply_along_axis: func1d is 3"),
    (lambda: nx.apply_over_axes(3, X, 0), errors.ArgumentError, "apply_over_axes: func is 3"),
    (lambda: nx.fromfunction(3, (2, 3)), errors.ArgumentError, "fromfunction: function is 3"),
    (lambda: nx.mask_indices(3, 3), errors.ArgumentError, "mask_indices: mask_func is 3"),
    # products of vectors, constants, choices
    (lambda: nx.vecmat(V, X), errors.AxesError, "vecmat: .* have the lengths 3 and 2 where they are summed over"),
    (lambda: nx.matvec(X, Y), errors.AxesError, "matvec: .* have the lengths 3 and 4 where they are summed over"),
    (lambda: nx.vecmat(X, np.ones((4, 3, 5))), errors.IncompatibleAxesError, "vecmat: axis -1 has the lengths 2 and 4"),
    (lambda: nx.polyint(V, 1, np.ones((2, 2))), errors.AxesError, "polyint: the constants are no vector"),
    (lambda: nx.choose(J, 3), errors.ArgumentError, "choose: the choices are a number"),
    # axes
    (lambda: nx.sum(X, axis=2), errors.OutOfRangeError, "axis 2 is outside of 2 axes"),
    (lambda: nx.mean(X, axis=(0, -2)), errors.AttributeValueError, "names one axis twice"),
    (lambda: nx.softmax(X, 2), errors.OutOfRangeError, "softmax: axis 2 is outside of 2 axes"),
    (lambda: nx.log_softmax(X, (0, -2)), errors.AttributeValueError, "log_softmax: axis .* names one axis twice"),
    (lambda: nx.logsumexp(X, keepdims=None), errors.AttributeValueError, "logsumexp: keepdims is None"),
    (lambda: nx.logsumexp(X, return_sign=2), errors.AttributeValueError, "logsumexp: return_sign is 2"),
    (lambda: nx.max(X, axis=0.5), errors.AttributeValueError, "axis is 0.5"),
    (lambda: nx.max(X, axis="H"), errors.AttributeValueError, "give an integer"),
    (lambda: nx.min(Z, axis=0), errors.AxesError, "a maximum or minimum of no elements"),
    (lambda: nx.sum(X, keepdims=3), errors.AttributeValueError, "keepdims is 3"),
    (lambda: nx.squeeze(X, axis=0), errors.AxesError, "axis 0 has the length 2"),
    (lambda: nx.expand_dims(X, axis=4), errors.OutOfRangeError, "axis 4 is outside of 3 axes"),
    (lambda: nx.permute_dims(X, 1), errors.AttributeValueError, "perm is 1"),
    (lambda: nx.permute_dims(X, (0, 0)), errors.AttributeValueError, "name each of the 2 axes once"),
    (lambda: nx.moveaxis(X, (0, 1), 0), errors.AttributeValueError, "give one place for each axis"),
    (lambda: nx.swapaxes(X, 0, 2), errors.OutOfRangeError, "swapaxes: axis 2 is outside"),
    (lambda: nx.roll(X, (1, 2, 3), axis=(0, 1)), errors.AttributeValueError, "give one each"),
    (lambda: nx.roll(X, 0.5, axis=0), errors.AttributeValueError, "the shift is 0.5"),
    (lambda: nx.tril(1.0), errors.AxesError, "expected matrices"),
    (lambda: nx.diff(X, n=-1), errors.AttributeValueError, "n is -1"),
    (lambda: V.T, errors.ArgumentError, "expected two axes"),
    (lambda: V.mT, errors.ArgumentError, "expected at least two axes"),
    # shapes as attributes
    (lambda: nx.reshape(X, (4,)), errors.AxesError, "cannot reshape 6 elements"),
    (lambda: nx.reshape(X, (-1, -1)), errors.AttributeValueError, "leaves 2 lengths open"),
    (lambda: nx.reshape(X, (4, -1)), errors.AxesError, "6 elements cannot be divided"),
    (lambda: nx.reshape(N, (2, -1)), errors.AxesError, "cannot be divided"),
    (lambda: nx.reshape(Z, (0, -1)), errors.AxesError, "cannot be divided"),
    (lambda: nx.reshape(X, (-2, 3)), errors.LengthError, "is -2"),
    (lambda: nx.zeros(-1), errors.LengthError, "zeros: a length is -1"),
    (lambda: nx.ones(2.5), errors.AttributeValueError, "give an integer"),
    (lambda: nx.tile(X, -1), errors.LengthError, "a repetition is -1"),
    (lambda: nx.eye(-1), errors.LengthError, "is -1"),
    (lambda: nx.linspace(0, 1, -3), errors.LengthError, "is -3"),
    (lambda: nx.linspace(X, 1, 3, dtype="int8"), errors.AttributeValueError, "linspace: dtype is int8"),
    (lambda: nx.linspace(0, float("inf"), 1, dtype="int32"), errors.DTypeError, "do not fit int32"),
    (lambda: nx.linspace(0, 128, 3, dtype="int8"), errors.DTypeError, "from 0.0 to 128.0 do not fit int8"),
    (lambda: nx.linspace(-1, 5, 0, dtype="uint8"), errors.DTypeError, "do not fit uint8"),
    (lambda: nx.arange(float("nan")), errors.AttributeValueError, "the stop is nan"),
    (lambda: nx.arange(0, 3, float("-inf")), errors.AttributeValueError, "the step is -inf"),
    (lambda: nx.arange(0, 3, 0), errors.AttributeValueError, "the step is 0"),
    (lambda: nx.arange(0, 3, N.shape[0]), errors.ArgumentError, "the step is n0"),
    (lambda: nx.arange(5, N.shape[0], -1), errors.AttributeValueError, "the step -1 beside an unknown length"),
    (lambda: nx.arange(N.shape[0], 2.5), errors.AttributeValueError, "a number beside an unknown length"),
    (lambda: nx.arange(nx.sum(X)), errors.ArgumentError, "the stop is numpy.sum"),
    (lambda: nx.reshape(X, np.array([2.0, 3.0])), errors.AttributeValueError, "a length is 2.0"),
    (lambda: nx.reshape(X, np.array([[2, 3]])), errors.AttributeValueError, "give an integer"),
    (lambda: X[[[0, 1], [1]]], errors.AttributeValueError, r"the index \[\[0, 1\], \[1\]\] is no array"),
    (lambda: ng.placeholder((-1, 3)), errors.AxesError, "an axis has the negative length -1"),
    (lambda: nx.repeat(X, -1), errors.LengthError, "the number of repeats is -1"),
    (lambda: nx.repeat(V, [1, 2]), errors.AttributeValueError, "for 3 elements"),
    (lambda: nx.repeat(V, [0.5, 1, 2]), errors.DTypeError, "the repeats are float64"),
    (lambda: nx.repeat(V, V), errors.ArgumentError, "how often is a term"),
    (lambda: nx.unstack(N), errors.LengthError, "unknown length n0"),
    # lists of arrays
    (lambda: nx.concat([]), errors.ArgumentError, "concat: there are no arrays"),
    (lambda: nx.concat(X), errors.ArgumentError, "concat: expected a list of arrays"),
    (lambda: nx.concat([X, Y]), errors.AxesError, "expected equal lengths outside of axis 0"),
    (lambda: nx.concat([X, X], axis=2), errors.OutOfRangeError, "axis 2"),
    (lambda: nx.stack([X, V]), errors.AxesError, "expected equal shapes"),
    (lambda: nx.meshgrid(V, indexing="ji"), errors.AttributeValueError, "indexing is 'ji'"),
    (lambda: nx.meshgrid(X), errors.ArgumentError, "give vectors"),
    (lambda: nx.concat(np.array(1.0)), errors.ArgumentError, "concat: expected a list of arrays"),
    (lambda: nx.meshgrid(V, indexing=["ij"]), errors.AttributeValueError, r"(?s)indexing is \['ij'\].*one of xy, ij"),
    (lambda: nx.repeat(X, RAGGED), errors.DTypeError, r"repeat: \[\[1\], \[2, 3\]\] is no array of numbers"),
    (lambda: nx.roll(X, RAGGED), errors.DTypeError, "give lists of equal length"),
    (lambda: nx.linspace(RAGGED, 1, 3), errors.DTypeError, "give lists of equal length"),
    (lambda: nx.full(2, RAGGED), errors.DTypeError, "give lists of equal length"),
    (lambda: nx.at(X)[0].set(RAGGED), errors.DTypeError, "give lists of equal length"),
    (lambda: nx.var(X, correction=RAGGED), errors.AttributeValueError, "expected a number"),
    (lambda: nx.searchsorted(V, X, side=np.ones(2)), errors.AttributeValueError, "searchsorted: side is"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_a_wrong_call_is_refused(number: int) -> None:
    call, expected, message = WRONG[number]
    with pytest.raises(expected, match=message) as caught:
        call()
    assert type(caught.value) is expected
    assert __file__ in str(caught.value)


@pytest.mark.parametrize("name", ["sum", "mean", "reshape", "concat", "roll", "arange", "where", "sin"])
def test_an_unknown_keyword_is_refused(name: str) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        getattr(nx, name)(X, nonsense=1)


@pytest.mark.parametrize(("yes", "no"), [(1, 0), (np.int64(1), np.uint8(0)), (np.True_, np.False_)])
def test_0_and_1_are_truths_as_numpy_has_them(yes: Any, no: Any) -> None:
    assert nx.sum(X, axis=0, keepdims=yes).same_as(nx.sum(X, axis=0, keepdims=True))
    assert nx.sum(X, axis=0, keepdims=no).same_as(nx.sum(X, axis=0))
