# SPDX-License-Identifier: Apache-2.0
"""Instructions that compute a number of each thread from numbers of the same thread, by NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngraph_rewrite.runtime.ptx.converting import converter
from ngraph_rewrite.runtime.ptx.integers import divided, inserted, leading_zeros, left_over, shifted, upper_half
from ngraph_rewrite.runtime.ptx.rounding import approximated, multiply_add
from ngraph_rewrite.runtime.ptx.values import KINDS, kind_of

Values = NDArray[Any]
Compute = Callable[..., Values]
Kind = np.dtype[Any]
_PRED, _U32 = kind_of("pred"), kind_of("u32")
_PLAIN = frozenset(kind for kind in KINDS if not kind.endswith("x2"))
_ALL_MARKS = frozenset("rn rni rzi rmi rpi sat".split())
_MARKS = MappingProxyType[str, str](
    {
        "mul": "lo hi wide rn rm rp rz",
        "mad": "lo hi wide",
        "fma": "rn rm rp rz",
        **dict.fromkeys(("add", "sub"), "rn rm rp rz"),
        "div": "rn rm rp rz approx",
        **dict.fromkeys(("rcp", "sqrt"), "rn rm rp rz approx ftz"),
        **dict.fromkeys(("rsqrt", "ex2", "lg2", "sin", "cos", "tanh"), "approx ftz"),
    }
)


class Operation(NamedTuple):
    """What an instruction computes: the dtype of its result, those of its operands, and how."""

    result: Kind
    operands: tuple[Kind, ...]
    compute: Compute


def operation(opcode: Sequence[str]) -> Operation | None:
    """What an instruction computes, if it is one of those of this module.

    >>> operation(("add", "s32")).compute(np.int32([1]), np.int32([2]))
    array([3], dtype=int32)
    """
    name, *marks = opcode
    kinds = [KINDS[mark] for mark in marks if mark in KINDS]
    if not kinds or not {*marks} <= _known(name, kinds[0]):
        return None
    for find in (_compared, _of_integers, _of_floats, _of_bits):
        if found := find(name, marks, kinds):
            return found
    return None


def _known(name: str, kind: Kind) -> set[str]:
    """The marks that an instruction may have here, types included; packed halves are converted alone."""
    if name == "cvt":
        return {*_ALL_MARKS, *KINDS}
    if name == "setp":
        return {*_ORDERED, *(f"{test}u" for test in _ORDERED), "ne", "neu", "nan", "num", *_PLAIN}
    return {*_PLAIN, *_MARKS.get(name, "").split(), *(["NaN"] if name in ("min", "max") and kind.kind == "f" else [])}


def _same(kind: Kind, count: int, compute: Compute) -> Operation:
    return Operation(kind, (kind,) * count, compute)


# -- comparisons -------------------------------------------------------------------------------------------------------

_ORDERED: dict[str, Compute] = {
    "eq": np.equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "lo": np.less,
    "ls": np.less_equal,
    "hi": np.greater,
    "hs": np.greater_equal,
}


def _neither(a: Values, b: Values) -> Values:
    return np.isnan(a) | np.isnan(b)


def _comparison(name: str, kind: Kind) -> Compute:
    if name == "ne":
        return np.not_equal if kind.kind in "iub" else lambda a, b: (a != b) & ~_neither(a, b)
    if name == "nan":
        return _neither
    if name == "num":
        return lambda a, b: ~_neither(a, b)
    if name == "neu":
        return np.not_equal
    if name in _ORDERED:
        return _ORDERED[name]
    ordered = _ORDERED[name.removesuffix("u")]
    return lambda a, b: ordered(a, b) | _neither(a, b)


def _selected(a: Values, b: Values, p: Values) -> Values:
    return np.where(p, a, b)


def _compared(name: str, marks: Sequence[str], kinds: Sequence[Kind]) -> Operation | None:
    if name == "setp" and len(marks) == 2:
        return Operation(_PRED, (kinds[0], kinds[0]), _comparison(marks[0], kinds[0]))
    if name == "selp":
        return Operation(kinds[0], (kinds[0], kinds[0], _PRED), _selected)
    return None


# -- integers ----------------------------------------------------------------------------------------------------------


def _of_integers(name: str, marks: Sequence[str], kinds: Sequence[Kind]) -> Operation | None:
    kind = kinds[0]
    if kind.kind not in "iu" or "sat" in marks:
        return None
    if name in ("mul", "mad"):
        return _product(name, marks, kind)
    if name in _INTEGER:
        count, compute = _INTEGER[name]
        return _same(kind, count, compute)
    return None


def _product(name: str, marks: Sequence[str], kind: Kind) -> Operation | None:
    if "wide" in marks:
        wide = np.dtype(f"{kind.kind}{2 * kind.itemsize}")
        multiply: Compute = partial(np.multiply, dtype=wide)
        result = wide
    elif "hi" in marks:
        multiply, result = upper_half, kind
    elif "lo" in marks:
        multiply, result = np.multiply, kind
    else:
        return None
    if name == "mul":
        return Operation(result, (kind, kind), multiply)
    return Operation(result, (kind, kind, result), lambda a, b, c: np.asarray(multiply(a, b) + c))


_INTEGER: dict[str, tuple[int, Compute]] = {
    "add": (2, np.add),
    "sub": (2, np.subtract),
    "div": (2, divided),
    "rem": (2, left_over),
    "min": (2, np.minimum),
    "max": (2, np.maximum),
    "neg": (1, np.negative),
    "abs": (1, np.abs),
}

# -- bits --------------------------------------------------------------------------------------------------------------


def _of_bits(name: str, marks: Sequence[str], kinds: Sequence[Kind]) -> Operation | None:
    kind = kinds[0]
    if name in _LOGICAL:
        return _same(kind, *_LOGICAL[name])
    if name in ("shl", "shr"):
        shift = np.left_shift if name == "shl" else np.right_shift
        return Operation(kind, (kind, _U32), partial(shifted, shift=shift))
    if name == "bfi":
        return Operation(kind, (kind, kind, _U32, _U32), inserted)
    if name == "clz":
        return Operation(_U32, (kind,), leading_zeros)
    if name == "popc":
        return Operation(_U32, (kind,), lambda a: np.bitwise_count(a).astype(np.uint32))
    found = converter(marks) if name == "cvt" else None
    return Operation(*found) if found is not None else None


_LOGICAL: dict[str, tuple[int, Compute]] = {
    "and": (2, np.bitwise_and),
    "or": (2, np.bitwise_or),
    "xor": (2, np.bitwise_xor),
    "not": (1, np.invert),
}

# -- floats ------------------------------------------------------------------------------------------------------------


def _extreme(a: Values, b: Values, least: bool, keeps_nan: bool) -> Values:
    """The lesser or the greater number, -0 before 0; a NaN is passed by, if it is not to be kept."""
    if keeps_nan:
        found = np.minimum(a, b) if least else np.maximum(a, b)
    else:
        found = np.fmin(a, b) if least else np.fmax(a, b)
    zero = np.copysign(0, a) + np.copysign(0, b) if not least else -(np.copysign(0, -a) + np.copysign(0, -b))
    return np.where((a == 0) & (b == 0), zero, found).astype(a.dtype)


_ARITHMETIC: dict[str, tuple[int, Compute]] = {
    "add": (2, np.add),
    "sub": (2, np.subtract),
    "mul": (2, np.multiply),
    "div": (2, np.divide),
    "neg": (1, np.negative),
    "abs": (1, np.abs),
    "copysign": (2, lambda a, b: np.copysign(b, a)),
}
_APPROXIMATED = MappingProxyType[str, Compute](
    {
        "rcp": np.reciprocal,
        "sqrt": np.sqrt,
        "rsqrt": lambda x: 1 / np.sqrt(x),
        "ex2": np.exp2,
        "lg2": np.log2,
        "sin": np.sin,
        "cos": np.cos,
        "tanh": np.tanh,
    }
)


def _of_floats(name: str, marks: Sequence[str], kinds: Sequence[Kind]) -> Operation | None:
    kind = kinds[0]
    rounding = next((mark for mark in marks if mark in ("rn", "rm", "rp", "rz")), "rn")
    if kind.kind != "f" or name == "cvt" or "sat" in marks:
        return None
    if name in _APPROXIMATED and "approx" in marks:
        return _same(kind, 1, partial(approximated, _APPROXIMATED[name], flush="ftz" in marks))
    if "ftz" in marks or (rounding != "rn" and (name != "fma" or kind != np.float32)):
        return None
    if name == "fma":
        return _same(kind, 3, partial(multiply_add, rounding=rounding))
    if name in _ARITHMETIC:
        return _same(kind, *_ARITHMETIC[name])
    if name in ("min", "max"):
        return _same(kind, 2, partial(_extreme, least=name == "min", keeps_nan="NaN" in marks))
    return _same(kind, 1, _APPROXIMATED[name]) if name in ("rcp", "sqrt") else None
