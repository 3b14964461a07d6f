# SPDX-License-Identifier: Apache-2.0
"""Wrong calls written by hand, for the groups of ops that have no table of their own: exact class, and what is said."""

from typing import Any, NamedTuple

from ngraph_rewrite import errors
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.types.axes import Axes, Axis
from ngraph_rewrite.types.tensor import TensorType


class Row(NamedTuple):
    """An op, the types of its arguments, its attributes, and the error: its class and a pattern of its message."""

    name: str
    types: tuple[TensorType, ...]
    attributes: dict[str, Any]
    error: type[errors.NGraphRewriteError]
    says: str


def of(*shape: int | None, dtype: str = "float32") -> TensorType:
    """A type without names."""
    return TensorType(dtype, [Axis(None, n) if n is not None else Axis("n", None).renamed(None) for n in shape])


def by(dtype: str = "float32", **lengths: int) -> TensorType:
    """A type with named axes."""
    return TensorType(dtype, lengths)


SCALAR, V3, M23, M34, INTS = of(), of(3), of(2, 3), of(3, 4), of(2, dtype="int64")
HW, H, NAMED_INTS = by(H=2, W=3), by(H=2), by("int64", H=2)
VALUE, DTYPE, RANGE = errors.AttributeValueError, errors.DTypeError, errors.OutOfRangeError
WINDOW: dict[str, Any] = {
    "axes": (1,), "sizes": (2,), "strides": (1,), "before": (0,), "after": (0,), "dilations": (1,), "kind": "max",
    "counted": True,
}  # fmt: skip
SLIDE: dict[str, Any] = {
    "strides": (1,), "before": (0,), "after": (0,), "interior": (0,), "dilations": (1,), "groups": 1
}  # fmt: skip
IMAGES, FILTERS = of(2, 4, 5), of(6, 4, 3)
DRAW: dict[str, Any] = {"shape": (2,), "dtype": "float32", "low": 0, "high": 1, "uid": Uid()}

_TABLE: list[tuple[str, tuple[TensorType, ...], dict[str, Any], type[errors.NGraphRewriteError], str]] = [
    # core: leaves, labels and storage
    ("core.placeholder", (), {"uid": 3, "axes": Axes(), "dtype": "int8"}, VALUE, "uid is 3"),
    ("core.placeholder", (), {"uid": Uid(), "axes": 2, "dtype": "int8"}, errors.AxesError, "cannot make axes of 2"),
    ("core.placeholder", (), {"uid": Uid(), "axes": b"x", "dtype": "int8"}, errors.AxesError, "cannot make axes"),
    ("core.parameter", (), {"uid": None, "axes": Axes(), "dtype": "int8"}, VALUE, "uid is None"),
    ("core.parameter", (), {"uid": Uid(), "axes": Axes(), "dtype": "complex64"}, DTYPE, "complex64 is not supported"),
    ("core.constant", (), {"value": 1.0, "axes": Axes()}, VALUE, "value is 1.0, .*\n.*\n.*give a Literal and Axes"),
    ("core.constant", (), {"value": Literal(1.0), "axes": (2,)}, VALUE, r"axes is \(2,\)"),
    ("core.label", (V3,), {"axes": Axes({"H": 2})}, errors.UnmatchedAxesError, "does not have the lengths"),
    ("core.label", (V3,), {"axes": None}, VALUE, "axes is None"),
    ("core.assign", (V3, of(3, dtype="int8")), {"uid": Uid()}, DTYPE, "the value is int8"),
    ("core.assign", (V3, of(4)), {"uid": Uid()}, errors.UnmatchedAxesError, r"the value is float32\[4\]"),
    ("core.item", (V3,), {"index": 0}, DTYPE, r"float32\[3\]"),
    ("core.call", (V3, V3), {"parameters": None, "function": "f", "single": True}, VALUE, "parameters is None"),
    ("core.call", (V3, V3), {"parameters": (1,), "function": "f", "single": True}, VALUE, "uid is 1"),
    ("core.call", (V3, V3), {"parameters": (Uid(),), "function": 3, "single": True}, VALUE, "function is 3"),
    ("core.call", (V3,), {"parameters": (Uid(),), "function": "f", "single": True}, errors.ArgumentError, "1 terms"),
    # semi: attributes that are no tuples, no integers, no flags
    ("semi.sum", (M23,), {"axes": None}, VALUE, r"semi.sum\(float32\[2, 3\], axes=None\): axes is None"),
    ("semi.sum", (M23,), {"axes": "ab"}, VALUE, "axes is 'ab'"),
    ("semi.transpose", (M23,), {"perm": {0: 1}}, VALUE, "perm is {0: 1}"),
    ("semi.reshape", (M23,), {"shape": (10**30,)}, VALUE, "give an integer of 64 bits"),
    ("semi.reshape", (M23,), {"shape": (2.0, 3)}, VALUE, "a length is 2.0"),
    ("semi.broadcast", (V3,), {"shape": (2, 3), "dims": 1}, VALUE, "dims is 1"),
    ("semi.slice", (V3,), {"starts": ("a",), "stops": (1,), "steps": (1,)}, VALUE, "a start or stop is 'a'"),
    ("semi.slice", (V3,), {"starts": 0, "stops": (1,), "steps": (1,)}, VALUE, "starts is 0"),
    ("semi.update", (V3, of(2)), {"starts": (0,), "stops": (1,), "steps": (1,)}, errors.AxesError, "of the slice"),
    ("semi.update", (V3, of(1)), {"starts": (3,), "stops": (4,), "steps": (1,)}, RANGE, "leaves an axis of length 3"),
    ("semi.pad", (V3,), {"before": 1, "after": (1,), "interior": (0,), "value": 0}, VALUE, "before is 1"),
    ("semi.pad", (V3,), {"before": (1,), "after": (1,), "interior": (0,), "value": None}, VALUE, "got None"),
    ("semi.pad", (V3,), {"before": (1,), "after": (1,), "interior": (0,), "value": (1, 2)}, VALUE, "give one number"),
    ("semi.tensor_slice", (M23,), {"items": ((0, 1),)}, VALUE, r"\(0, 1\) is not an index"),
    ("semi.tensor_slice", (M23,), {"items": ((0, 1, 0),)}, VALUE, "a step is 0"),
    ("semi.tensor_slice", (M23,), {"items": 10**30}, RANGE, "out of range for axis 0 of length 2"),
    ("semi.diagonal", (M23,), {"places": (0, 0)}, errors.AxesError, "the lengths 2 and 3"),
    ("semi.diagonal", (M23,), {"places": 0}, VALUE, "places is 0"),
    ("semi.on_diagonal", (V3,), {"places": (0, 1)}, VALUE, "name each of the 1 axes"),
    ("semi.sort", (M23,), {"axis": 2, "descending": False}, RANGE, "axis 2 is outside of 2 axes"),
    ("semi.sort", (M23,), {"axis": 0, "descending": -1}, VALUE, "descending is -1"),
    ("semi.uniform", (), {**DRAW, "low": "0"}, VALUE, "got '0'"),
    ("semi.uniform", (), {**DRAW, "shape": 2}, VALUE, "shape is 2"),
    # semi: windows
    ("semi.pooling", (M23,), {**WINDOW, "kind": "mean"}, VALUE, "the kind of pooling is 'mean'"),
    ("semi.pooling", (M23,), {**WINDOW, "counted": 2}, VALUE, "counted is 2"),
    ("semi.pooling", (M23,), {**WINDOW, "sizes": (0,)}, VALUE, r"sizes \(0,\)"),
    ("semi.pooling", (M23,), {**WINDOW, "strides": (0,)}, VALUE, "each at least 1"),
    ("semi.pooling", (M23,), {**WINDOW, "before": 0}, VALUE, "before is 0"),
    ("semi.pooling", (M23,), {**WINDOW, "axes": (2,)}, RANGE, "axis 2 is outside of 2 axes"),
    ("semi.convolution", (IMAGES, of(6, 3, 3)), SLIDE, errors.AxesError, "has 4 channels"),
    ("semi.convolution", (IMAGES, of(6, 4)), SLIDE, errors.AxesError, "expected"),
    ("semi.convolution", (IMAGES, FILTERS), {**SLIDE, "strides": (1, 1)}, VALUE, r"strides \(1, 1\)"),
    ("semi.convolution", (IMAGES, FILTERS), {**SLIDE, "groups": 0}, VALUE, "groups is 0"),
    ("semi.convolution", (IMAGES, of(6, 4, 3, dtype="float64")), SLIDE, DTYPE, "expected equal dtypes"),
    ("semi.windows", (M23,), {"axes": 1, "sizes": (2,), "strides": (1,), "dilations": (1,)}, VALUE, "axes is 1"),
    ("semi.fold", (M23,), {"axes": None, "lengths": (4,), "strides": (1,), "dilations": (1,)}, VALUE, "axes is None"),
    # numpy
    ("numpy.transpose", (M23,), {"perm": 3}, VALUE, "perm is 3"),
    ("numpy.sum", (M23,), {"axis": (0,), "keepdims": 2, "dtype": "float32"}, VALUE, "keepdims is 2"),
    ("numpy.sum", (M23,), {"axis": (0,), "keepdims": 1.0, "dtype": "float32"}, VALUE, "keepdims is 1.0"),
    ("numpy.tril", (M23,), {"k": 10**30}, VALUE, "give an integer of 64 bits"),
    ("numpy.tril", (V3,), {"k": 0}, errors.AxesError, "expected matrices"),
    ("numpy.matmul", (M23, M23), {}, errors.AxesError, r"numpy.matmul\(float32\[2, 3\], float32\[2, 3\]\)"),
    ("numpy.matmul", (SCALAR, M23), {}, errors.AxesError, "numpy.matmul"),
    ("numpy.gather", (M23, V3), {"axis": 0}, DTYPE, "expected integers"),
    ("numpy.gather", (M23, INTS), {"axis": 2}, RANGE, "axis 2 is outside"),
    ("numpy.variance", (M23,), {"axis": (0,), "keepdims": False, "correction": None}, VALUE, "got None"),
    # simple
    ("simple.sum", (V3,), {"axes": "N"}, VALUE, "axes is 'N'"),
    ("simple.transpose", (M23,), {"order": 0}, VALUE, "order is 0"),
    ("simple.broadcast", (V3,), {"axes": (2, 3), "new": 0}, VALUE, "new is 0"),
    ("simple.pad", (V3,), {"before": 1, "after": (1,), "value": 0}, VALUE, "before is 1"),
    ("simple.tensordot", (V3, V3), {"left": 0, "right": (0,), "over": ()}, VALUE, "features is 0"),
    ("simple.tensordot", (V3, V3), {"left": (0,), "right": (0,), "over": None}, VALUE, "over is None"),
    ("simple.safelog", (V3,), {"limit": None}, VALUE, "got None"),
    # axes
    ("axes.sum", (HW,), {"axes": None}, VALUE, "axes is None"),
    ("axes.axes_with_order", (HW,), {"axes": 3}, VALUE, "axes is 3"),
    ("axes.map_roles", (HW,), {"names": 3}, VALUE, "names is 3.*\n.*\n.*give pairs"),
    ("axes.pad", (HW,), {"before": None, "after": (0, 0)}, VALUE, "before is None"),
    ("axes.L2_norm", (HW,), {"axes": "H", "eps": (0, 0)}, VALUE, r"got \(0, 0\)"),
    ("axes.safelog", (HW,), {"limit": [1.0]}, VALUE, r"got \[1.0\]"),
    ("axes.cross_entropy_binary", (H, H), {"axes": "H", "usebits": 1.0}, VALUE, "usebits is 1.0"),
    ("axes.one_hot", (NAMED_INTS,), {"axis": 3, "dtype": None}, VALUE, "axis is 3"),
    # cpu
    ("cpu.gemm", (M23, M34), {"ta": "", "tb": False}, VALUE, "ta is ''"),
    ("cpu.gemm", (V3, M34), {"ta": False, "tb": False}, errors.AxesError, "takes two matrices"),
    ("cpu.gemm", (M23, M23), {"ta": False, "tb": False}, errors.AxesError, "cannot contract"),
    ("fused.mixture", (M23, M34), {"scale": 1.0, "fill": 0}, errors.AxesError, "mixture takes shapes"),
    (
        "fused.mixture",
        (of(2, 3, 4, dtype="int8"),) * 2,
        {"scale": 1, "fill": 0},
        DTYPE,
        "mixture takes one of float32, float64",
    ),
    (
        "fused.mixture",
        (of(2, 3, 4), of(2, 4, 5), of(2, 3, 4, dtype="int8")),
        {"scale": 1, "fill": 0},
        DTYPE,
        "a mask of mixture is bool or float32",
    ),
    (
        "fused.attention",
        (of(2, 3, 4), of(2, 4, 5), of(2, 5, 2), of(2, 4, 5, dtype="bool")),
        {"scale": 1, "fill": 0},
        errors.AxesError,
        "attention takes shapes",
    ),
    (
        "fused.attention",
        (of(2, 3, 4), of(2, 4, 5), of(2, 4, 5)),
        {"scale": 1, "fill": 0},
        errors.AxesError,
        "attention takes shapes",
    ),
    ("fused.attention", (M23, M34, M34), {"scale": 1.0, "fill": 0}, errors.AxesError, "attention takes shapes"),
    ("cpu.gemm", (of(2, 3, dtype="int8"), M34), {"ta": False, "tb": False}, DTYPE, "one dtype of 32 or 64 bits"),
]
ROWS = [Row(*row) for row in _TABLE]
