# SPDX-License-Identifier: Apache-2.0
"""A wrong call of the simple family is refused where it is written, by a class and a message that name it."""

from typing import Any

import pytest
from drawn import leaf

import ngraph_rewrite as ng
from ngraph_rewrite import errors
from ngraph_rewrite.ops.simple_marks import N, R, marked
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.op import build
from ngraph_rewrite.types.axes import Axis
from ngraph_rewrite.types.tensor import TensorType


def of(*shape: Any, dtype: str = "float32") -> TensorType:
    return TensorType(dtype, marked(shape))


X, X4, XR, INTS, BOOLS = of(3, N(2)), of(3, N(4)), of(3, R(5)), of(3, N(2), dtype="int64"), of(3, N(2), dtype="bool")
TWICE = TensorType("float32", [Axis(None, 2, "sample"), Axis(None, 3, "sample")])
BOTH = TensorType("float32", [Axis(None, 2, ("sample", "recurrent"))])

CASES: list[tuple[str, tuple[TensorType, ...], dict[str, Any], type[Exception], str]] = [
    ("exp", (TWICE,), {}, errors.AxesError, "mark one axis N and one R"),
    ("exp", (BOTH,), {}, errors.AxesError, "mark one axis N and one R"),
    ("negative", (BOOLS,), {}, errors.DTypeError, "expected numbers"),
    ("add", (X, of(4, N(2))), {}, errors.AxesError, r"expected equal features, got \(3,\) and \(4,\)"),
    ("add", (X, of(1, N(2))), {}, errors.AxesError, "no length stretches"),
    ("add", (X, of(3, 1)), {}, errors.AxesError, "expected equal features"),
    ("add", (X, X4), {}, errors.IncompatibleAxesError, "N has length 2 and 4"),
    ("add", (XR, of(R(6))), {}, errors.IncompatibleAxesError, "R has length 5 and 6"),
    ("subtract", (BOOLS, BOOLS), {}, errors.DTypeError, "expected numbers"),
    ("select", (X, X, X), {}, errors.DTypeError, "expected bool"),
    ("cast", (X,), {"dtype": "complex64"}, errors.DTypeError, "complex64"),
    ("sum", (X,), {"axes": (1,)}, errors.OutOfRangeError, "feature axis 1 is outside of 1 axes"),
    ("sum", (X,), {"axes": (R,)}, errors.UnmatchedAxesError, "has no axis R"),
    ("sum", (X,), {"axes": (0, -1)}, errors.AttributeValueError, "twice"),
    ("sum", (X,), {"axes": ("N",)}, errors.AttributeValueError, "give an integer"),
    ("max", (of(0, N(2)),), {"axes": (0,)}, errors.AxesError, "no elements"),
    ("argmax", (of(3, N(0)),), {"axes": (N,)}, errors.AxesError, "no elements"),
    ("softmax", (X,), {"axes": (R,)}, errors.UnmatchedAxesError, "has no axis R"),
    ("dot", (of(2, 4), X), {}, errors.AxesError, "to be as long as"),
    ("dot", (of(N(2)), X), {}, errors.AxesError, "expected features"),
    ("dot", (BOOLS, BOOLS), {}, errors.DTypeError, "expected numbers"),
    ("dot", (of(2, 3, N(4)), X), {}, errors.IncompatibleAxesError, "N has length 4 and 2"),
    ("tensordot", (X, X), {"left": (0,), "right": (), "over": ()}, errors.AxesError, "to be as long as"),
    ("tensordot", (X, X), {"left": (0,), "right": (0,), "over": (R,)}, errors.UnmatchedAxesError, "has R"),
    ("tensordot", (X, X), {"left": (0,), "right": (0,), "over": ("N",)}, errors.AttributeValueError, "name N, R"),
    ("tensordot", (X, X), {"left": (0, 0), "right": (0, 0), "over": ()}, errors.AttributeValueError, "twice"),
    ("broadcast", (X,), {"axes": (3,), "new": ()}, errors.UnmatchedAxesError, "lacks N"),
    ("broadcast", (X,), {"axes": (4, N(2)), "new": ()}, errors.AxesError, "say which features are new"),
    ("broadcast", (X,), {"axes": (3, N(5)), "new": ()}, errors.IncompatibleAxesError, "N has length"),
    ("broadcast", (X,), {"axes": (3, N(2)), "new": (1,)}, errors.OutOfRangeError, "new feature 1"),
    ("broadcast", (X,), {"axes": (3, N(2), N(2)), "new": ()}, errors.AxesError, "mark one axis N"),
    ("transpose", (X,), {"order": (0,)}, errors.AttributeValueError, "once"),
    ("transpose", (X,), {"order": (0, R)}, errors.UnmatchedAxesError, "has no axis R"),
    ("reshape", (X,), {"shape": (2,)}, errors.AxesError, "cannot reshape the features"),
    ("reshape", (X,), {"shape": (-1,)}, errors.LengthError, "is -1"),
    ("tensor_slice", (X,), {"items": (3,)}, errors.OutOfRangeError, "out of range for axis 0 of length 3"),
    ("tensor_slice", (X,), {"items": (0, 0)}, errors.AttributeValueError, "too many indices"),
    ("slice_axis", (XR,), {"axis": R, "item": 5}, errors.OutOfRangeError, "length 5"),
    ("slice_axis", (XR,), {"axis": N, "item": 0}, errors.UnmatchedAxesError, "has no axis N"),
    ("pad", (X,), {"before": (1, 1), "after": (0, 0), "value": 0}, errors.AttributeValueError, "1 of each"),
    ("pad", (X,), {"before": (-1,), "after": (0,), "value": 0}, errors.LengthError, "is -1"),
    ("concat", (X, XR), {"axis": N}, errors.UnmatchedAxesError, "has no axis N"),
    ("concat", (X, of(3, 3)), {"axis": 0}, errors.AxesError, "expected equal features"),
    ("concat", (), {"axis": 0}, errors.ArgumentError, "at least 1"),
    ("stack", (X, of(4)), {"pos": 0}, errors.AxesError, "expected the features"),
    ("stack", (X,), {"pos": 2}, errors.OutOfRangeError, "pos 2"),
    ("one_hot", (X,), {"length": 3, "dtype": None}, errors.DTypeError, "expected integers"),
    ("one_hot", (INTS,), {"length": -1, "dtype": None}, errors.LengthError, "is -1"),
    ("take", (X, INTS), {}, errors.FamilyError, "a table has neither N nor R"),
    ("take", (of(), INTS), {}, errors.AxesError, "scalar"),
    ("take", (of(4, 3), X), {}, errors.DTypeError, "expected integers"),
    ("cross_entropy_multi", (X, of(4)), {"axes": (0,), "usebits": False}, errors.AxesError, "expected equal features"),
    ("uniform", (), {"axes": (3,), "dtype": None, "low": 0, "high": 1, "uid": 1}, errors.AttributeValueError, "uid"),
    ("exp", (X,), {"axis": 0}, errors.ArgumentError, "has no attribute axis"),
    ("sum", (X,), {}, errors.ArgumentError, "needs the attribute axes"),
]  # fmt: skip


@pytest.mark.parametrize(("short", "types", "attributes", "error", "says"), CASES)
def test_a_mistake_is_named(
    short: str, types: tuple[TensorType, ...], attributes: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says) as caught:
        build(lookup(f"simple.{short}"), tuple(map(leaf, types)), **attributes)
    said = str(caught.value)
    assert f"simple.{short}" in said and "test_simple_errors.py" in said


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: ng.simple.placeholder((3, N, N)), errors.AxesError, "(?s)placeholder: .* mark one axis N"),
        (lambda: ng.simple.placeholder(("3",)), errors.AttributeValueError, "(?s)placeholder: .* give an integer"),
        (lambda: ng.simple.placeholder([Axis("H", 3)]), errors.FamilyError, "placeholder: .*without names"),
        (lambda: ng.simple.variable((3, N)), errors.LengthError, "is not known"),
        (lambda: ng.simple.constant([1.0], (3,)), errors.AxesError, "constant"),
        (lambda: ng.simple.sum(leaf(X), 0, keep=N), errors.AttributeValueError, "both axes and keep"),
        (lambda: ng.simple.arrange(leaf(X), sample="middle"), errors.AttributeValueError, "first or last"),
        (lambda: ng.simple.transpose(leaf(X), (0, 1)), errors.AttributeValueError, "perm is"),
        (lambda: ng.simple.transpose(leaf(X), 0), errors.AttributeValueError, "transpose: perm is 0"),
        (lambda: ng.simple.concat([]), errors.ArgumentError, "there are no tensors"),
        (lambda: ng.simple.stack(leaf(X)), errors.ArgumentError, "expected a list"),
        (lambda: ng.simple.mark(leaf(of(3, 2)), (2, N(3))), errors.UnmatchedAxesError, "lengths"),
        (lambda: ng.make_transformer("cpu", sample="middle"), errors.ArgumentError, "sample is 'middle'"),
    ],
)
def test_a_mistake_in_a_function_is_named(call: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says) as caught:
        call()
    assert "test_simple_errors.py" in str(caught.value)
