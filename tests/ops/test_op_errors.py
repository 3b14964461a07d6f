# SPDX-License-Identifier: Apache-2.0
"""A mistake in a call is refused where it is written, by a class and a message that name it."""

from typing import Any

import pytest
from drawn import leaf

from ngraph_rewrite import errors
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.op import build
from ngraph_rewrite.types.axes import Axis
from ngraph_rewrite.types.tensor import TensorType

H, W, N, T = Axis("H", 2), Axis("W", 3), Axis("N", None), Axis("T", 2)
HW, WH, X = TensorType("float32", [H, W]), TensorType("float32", [W, H]), TensorType("float32", [Axis("H", 5)])
BOOLS, UNKNOWN = HW.with_dtype("bool"), TensorType("float32", [N, W])
P23, P32, P6 = (TensorType("float32", [Axis(None, n) for n in s]) for s in ((2, 3), (3, 2), (6,)))
P23_64, P23_BOOL, PN3 = P23.with_dtype("float64"), P23.with_dtype("bool"), UNKNOWN.stripped()

CASES: list[tuple[str, tuple[TensorType, ...], dict[str, Any], type[Exception], str]] = [
    # semi: exactly equal, and no names
    ("semi.exp", (HW,), {}, errors.FamilyError, "strip"),
    ("semi.exp", (P23_BOOL,), {}, errors.DTypeError, "expected a float dtype"),
    ("semi.negative", (P23_BOOL,), {}, errors.DTypeError, "expected numbers"),
    ("semi.logical_not", (P23,), {}, errors.DTypeError, "expected bool"),
    ("semi.add", (P23, P32), {}, errors.AxesError, "expected equal shapes"),
    ("semi.add", (P23, P23_64), {}, errors.DTypeError, "expected equal dtypes"),
    ("semi.add", (P23, PN3), {}, errors.AxesError, "expected equal shapes"),
    ("semi.select", (P23, P23, P23), {}, errors.DTypeError, "expected bool"),
    ("semi.select", (P23_BOOL, P32, P32), {}, errors.AxesError, "the condition"),
    ("semi.sum", (P23,), {"axes": (2,)}, errors.OutOfRangeError, "axis 2 is outside of 2 axes"),
    ("semi.sum", (P23,), {"axes": (1, -1)}, errors.AttributeValueError, "twice"),
    ("semi.argmax", (TensorType("float32", [Axis(None, 0)]),), {"axes": (0,)}, errors.AxesError, "no elements"),
    ("semi.dot", (P23, P23), {}, errors.AxesError, "expected shapes"),
    ("semi.reshape", (P23,), {"shape": (4,)}, errors.AxesError, "cannot reshape 6 elements"),
    ("semi.reshape", (PN3,), {"shape": (3,)}, errors.AxesError, "cannot reshape 3"),
    ("semi.reshape", (P23,), {"shape": (-1,)}, errors.LengthError, "is -1"),
    ("semi.reshape", (P23,), {"shape": ("6",)}, errors.AttributeValueError, "give an integer"),
    ("semi.broadcast", (P23,), {"shape": (2, 3), "dims": (1, 0)}, errors.AttributeValueError, "strictly increasing"),
    ("semi.broadcast", (P6,), {"shape": (1, 7), "dims": (1,)}, errors.AxesError, "stretching"),
    ("semi.transpose", (P23,), {"perm": (0, 0)}, errors.AttributeValueError, "once"),
    ("semi.slice", (P6,), {"starts": (0,), "stops": (9,), "steps": (1,)}, errors.OutOfRangeError, "leaves an axis"),
    ("semi.slice", (P6,), {"starts": (0,), "stops": (3,), "steps": (0,)}, errors.AttributeValueError, "step"),
    ("semi.slice", (P6,), {"starts": (), "stops": (3,), "steps": (1,)}, errors.AttributeValueError, "give 1 of each"),
    ("semi.concat", (P23, P32), {"axis": 0}, errors.AxesError, "outside axis 0"),
    ("semi.concat", (), {"axis": 0}, errors.ArgumentError, "at least 1"),
    ("semi.gather", (P23, P6), {"axis": 0}, errors.DTypeError, "expected integers"),
    ("semi.iota", (), {"shape": (3,), "axis": 1, "dtype": "int64"}, errors.OutOfRangeError, "axis 1"),
    # indices
    ("semi.tensor_slice", (P23,), {"items": (2,)}, errors.OutOfRangeError, "out of range for axis 0 of length 2"),
    ("axes.tensor_slice", (HW,), {"items": (0, 0, 0)}, errors.AttributeValueError, "too many indices"),
    ("axes.tensor_slice", (HW,), {"items": (slice(None, None, 0),)}, errors.AttributeValueError, "step 0"),
    ("axes.tensor_slice", (HW,), {"items": (..., ...)}, errors.AttributeValueError, "one ellipsis"),
    ("axes.tensor_slice", (HW,), {"items": (None,)}, errors.AttributeValueError, "integer"),
    ("axes.tensor_slice", (HW,), {"items": (True,)}, errors.AttributeValueError, "integer"),
    # axes: by name
    ("axes.exp", (P23,), {}, errors.FamilyError, "label"),
    ("axes.add", (HW, X), {}, errors.IncompatibleAxesError, "H has length 2 and 5"),
    ("axes.subtract", (BOOLS, BOOLS), {}, errors.DTypeError, "expected numbers"),
    ("axes.select", (HW, HW, HW), {}, errors.DTypeError, "expected bool"),
    ("axes.dot", (HW, X), {}, errors.IncompatibleAxesError, "H has length"),
    ("axes.dot", (BOOLS, BOOLS), {}, errors.DTypeError, "expected numbers"),
    ("axes.sum", (HW,), {"axes": [N]}, errors.UnmatchedAxesError, "has no axis N"),
    ("axes.sum", (HW,), {"axes": "Z"}, errors.UnmatchedAxesError, "use one of H, W"),
    ("axes.sum", (HW,), {"axes": [Axis("H", 5)]}, errors.IncompatibleAxesError, "length"),
    ("axes.max", (TensorType("float32", {"H": 0}),), {"axes": "H"}, errors.AxesError, "no elements"),
    ("axes.broadcast", (HW,), {"axes": [H]}, errors.UnmatchedAxesError, "lacks W"),
    ("axes.axes_with_order", (HW,), {"axes": [H]}, errors.UnmatchedAxesError, "in some order"),
    ("axes.cast_axes", (HW,), {"axes": [W, T]}, errors.AxesError, "cannot cast"),
    ("axes.map_roles", (HW,), {"names": {"Z": "Y"}}, errors.UnmatchedAxesError, "has no axis Z"),
    ("axes.map_roles", (HW,), {"names": {"H": "W"}}, errors.DuplicateAxisNames, "W"),
    ("axes.flatten", (TensorType("float32", [H, T, W]),), {"axes": [H, W]}, errors.AxesError, "side by side"),
    ("axes.unflatten", (HW,), {"axis": H}, errors.AxesError, "not a flattened axis"),
    ("axes.expand_dims", (HW,), {"axis": H, "dim": 0}, errors.DuplicateAxisNames, "H"),
    ("axes.expand_dims", (HW,), {"axis": T, "dim": 4}, errors.OutOfRangeError, "4"),
    ("axes.unslice", (HW,), {"items": (0,), "axes": [H, W]}, errors.AxesError, "not a part"),
    ("axes.pad", (HW,), {"before": (1,), "after": (1,)}, errors.AttributeValueError, "2 of each"),
    ("axes.pad", (HW,), {"before": (1, -1), "after": (1, 0)}, errors.LengthError, "padding is -1"),
    ("axes.concat", (HW, WH, X), {"axis": "H"}, errors.UnmatchedAxesError, "in some order"),
    ("axes.stack", (HW, HW), {"axis": Axis("T", 3), "pos": 0}, errors.AxesError, "give it the length 2"),
    ("axes.stack", (HW, HW), {"axis": H, "pos": 0}, errors.DuplicateAxisNames, "H"),
    ("axes.one_hot", (HW,), {"axis": Axis("C", 3), "dtype": "float32"}, errors.DTypeError, "expected integers"),
    ("axes.relu", (BOOLS,), {}, errors.DTypeError, "expected numbers"),
    ("axes.batch_size", (HW,), {"dtype": "int64"}, errors.UnmatchedAxesError, "no sample axis"),
    (
        "axes.cross_entropy_multi",
        (HW, TensorType("float32", [W, T])),
        {"axes": [W], "usebits": False},
        errors.UnmatchedAxesError,
        "contain one another",
    ),
    (
        "axes.uniform",
        (),
        {"axes": [H], "dtype": "int8", "low": 0, "high": 1, "uid": 3},
        errors.AttributeValueError,
        "uid",
    ),
]


@pytest.mark.parametrize(("name", "types", "attributes", "expected", "message"), CASES)
def test_a_mistake_is_refused(
    name: str, types: tuple[TensorType, ...], attributes: dict[str, Any], expected: type[Exception], message: str
) -> None:
    with pytest.raises(expected, match=message.replace("(", r"\(")) as caught:
        build(lookup(name), tuple(map(leaf, types)), **attributes)
    assert type(caught.value) is expected
    assert __file__ in str(caught.value)
