# SPDX-License-Identifier: Apache-2.0
"""Runs rendered kernels on NumPy arrays, and says in NumPy what a nest means."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.codegen.loops import Operand, Source, Step
from ngraph_rewrite.ops import functions
from ngraph_rewrite.runtime.compiler import compile_kernel
from ngraph_rewrite.runtime.machine import Launch, LaunchTable
from ngraph_rewrite.types.dtypes import is_float

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
DTYPES = ["bool", *INTEGERS, *FLOATS]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Runner:
    """Compiles a source once and runs it with arguments by name."""

    cache: Cache

    def __call__(self, source: Source, arguments: dict[str, int], chunks: int = 1) -> None:
        kernel = compile_kernel(source.text, source.name, self.cache)
        values = [arguments[name] for name in source.signature]
        LaunchTable([Launch(kernel, values, chunks)]).run()


def address(array: Array) -> int:
    return array.ctypes.data


def operand_arguments(name: str, array: Array) -> dict[str, int]:
    """The address of an array and its strides in elements."""
    strides = {f"{name}_s{dim}": stride // array.itemsize for dim, stride in enumerate(array.strides)}
    return {name: address(array), **strides}


def nest_arguments(lengths: Sequence[int], loads: Sequence[Array], stores: Sequence[Array]) -> dict[str, int]:
    arguments = {f"n{dim}": length for dim, length in enumerate(lengths)}
    for letter, arrays in (("x", loads), ("y", stores)):
        for position, array in enumerate(arrays):
            arguments |= operand_arguments(f"{letter}{position}", array)
    return arguments


def contiguous(dtype: str, rank: int = 1) -> Operand:
    return Operand(dtype, ("s",) * (rank - 1) + ("1",) * (rank > 0))


# -- what a step means -------------------------------------------------------------------------------------------------

_NUMPY = {
    "divide": np.true_divide, "floordivide": np.floor_divide, "mod": np.mod, "round": np.round,
    "sign": functions.sign, "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "erf": np.vectorize(math.erf, otypes=[np.float64]),
}  # fmt: skip


def numpy_op(op: str) -> Any:
    return _NUMPY.get(op) or getattr(np, op)


def evaluate(step: Step, operands: Sequence[Array], lengths: Sequence[int]) -> Array:
    """The value of a step over a whole index space."""
    attributes = dict(step.attributes)
    with np.errstate(all="ignore"):
        if step.op == "constant":
            return np.asarray(attributes["value"]).astype(step.dtype)
        if step.op == "index":
            dim = attributes["dim"]
            shape = [length if axis == dim else 1 for axis, length in enumerate(lengths)]
            return np.arange(lengths[dim]).reshape(shape).astype(step.dtype)
        if step.op == "cast":
            (x,) = operands  # ml_dtypes makes integers of its own of what none is
            return (x.astype(np.float32) if x.dtype.name == "bfloat16" else x).astype(step.dtype)
        if step.op == "select":
            return np.where(*operands).astype(step.dtype)
        return np.asarray(numpy_op(step.op)(*operands)).astype(step.dtype)


def same_bits(ours: Array, theirs: Array) -> bool:
    """Equal bit for bit, any NaN being one NaN."""
    if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
        return False
    if not is_float(ours.dtype):
        return bool(np.array_equal(ours, theirs))
    nan = np.isnan(ours) & np.isnan(theirs)
    bits = f"u{ours.itemsize}"
    return bool(np.all(nan | (np.ascontiguousarray(ours).view(bits) == np.ascontiguousarray(theirs).view(bits))))
