# SPDX-License-Identifier: Apache-2.0
"""One scalar operation as the text of an expression that a kernel can contain.

The text means what NumPy means on arrays of that dtype. A ``float16`` or ``bfloat16`` value is held as a ``float32``,
so each operation that may leave the numbers of 16 bits is rounded, which gives NumPy's result operation by operation.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ngraph_rewrite.errors import KernelError
from ngraph_rewrite.ops.rejection import DRAWS
from ngraph_rewrite.types.dtypes import promote

DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
          "float16", "bfloat16", "float32", "float64")  # fmt: skip
# Floats of 16 bits: kept so in memory, and computed with in float32.
HALVES = ("float16", "bfloat16")

# Unary functions of a float that exist under their own name; the flag says whether a result of 16 bits needs rounding.
_REAL_UNARY = {
    "sqrt": True, "exp": True, "exp2": True, "expm1": True, "log": True, "log1p": True, "sin": True, "cos": True,
    "tan": True, "tanh": True, "sigmoid": True, "erf": True, "floor": False, "ceil": False, "trunc": False,
    "log2": True, "log10": True, "sinh": True, "cosh": True, "asin": True, "acos": True, "atan": True, "asinh": True,
    "acosh": True, "atanh": True, "erfinv": True, "lgamma": True, "digamma": True, "trigamma": True,
    "cbrt": True,
}  # fmt: skip
# Functions that are computed in float64 whatever the dtype, number by number: attempts until one is accepted.
IN_DOUBLE = DRAWS
_COMPARISON = {
    "equal": "==", "not_equal": "!=", "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=",
}  # fmt: skip
_BITWISE = {"bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^"}
_LOGICAL = {"logical_and": "&", "logical_or": "|", "logical_xor": "^"}


def expression(
    op: str,
    dtype: str,
    operands: Sequence[str],
    attributes: Mapping[str, object],
    operand_dtypes: Sequence[str],
) -> str:
    """Return the text of ``op`` applied to the operand texts, with a result of ``dtype``.

    Operands of another dtype are converted first: to ``dtype`` for arithmetic, to their common dtype for comparisons.
    Raises `KernelError` for an operation that does not exist on that dtype.

    >>> expression("add", "float32", ["v0", "v1"], {}, ["float32", "float32"])
    'v0 + v1'
    >>> expression("add", "int8", ["v0", "v1"], {}, ["int8", "int8"])
    'to_int8(v0 + v1)'
    >>> expression("less", "bool", ["v0", "v1"], {}, ["float32", "float64"])
    'to_float64(v0) < v1'
    """
    if op == "constant":
        return literal(attributes["value"], dtype)
    if op == "number":
        return number(f"c{attributes['at']}", dtype)
    if op == "index":
        return cast(f"i{attributes['dim']}", "int64", dtype)
    if op == "cast":
        return cast(operands[0], operand_dtypes[0], dtype)
    if op == "bitcast":
        return bitcast(operands[0], operand_dtypes[0], dtype)
    if op in _PREDICATES:
        return _PREDICATES[op](list(operands), list(operand_dtypes))
    if op == "select":
        chosen = [cast(x, own, dtype) for x, own in zip(operands[1:], operand_dtypes[1:], strict=True)]
        return f"select({cast(operands[0], operand_dtypes[0], 'bool')}, {', '.join(chosen)})"
    text = _arithmetic(op, dtype, [cast(x, own, dtype) for x, own in zip(operands, operand_dtypes, strict=True)])
    if text is None:
        raise KernelError(f"no scalar operation {op!r} on {dtype}", do="cast its operands to a dtype that has it")
    return text


def cast(text: str, source: str, target: str) -> str:
    """Return the text that converts a value from one dtype to another, as ``ndarray.astype`` does."""
    if source == target or (source in HALVES and target == "float32"):
        return text
    return f"to_{target}({text})"


def bitcast(text: str, source: str, target: str) -> str:
    """Return the text that reads the bits of a value as another dtype of the same width.

    >>> bitcast("v0", "bfloat16", "uint16"), bitcast("v0", "uint32", "float32"), bitcast("v0", "int8", "uint8")
    ('to_uint16(bits_of_bfloat16(v0))', 'bits_as_float32(v0)', 'to_uint8(v0)')
    """
    if source == target:
        return text
    if is_real(source):
        text, source = f"bits_of_{source}({text})", f"int{np.dtype(source).itemsize * 8}"
    return f"bits_as_{target}({text})" if is_real(target) else cast(text, source, target)


def literal(value: object, dtype: str) -> str:
    """Return a number as text of exactly that dtype: NaN, infinities, -0.0 and integer limits included.

    >>> literal(0.1, "float32"), literal(-0.0, "float64"), literal(2**64 - 1, "uint64")
    ('np.float32(0.10000000149011612)', '-0.0', 'np.uint64(18446744073709551615)')
    """
    number = np.asarray(value).astype(dtype).item()
    if dtype == "bool":
        return repr(number)
    if dtype.startswith(("int", "uint")):
        return f"np.{dtype}({number})"
    text = repr(number) if np.isfinite(number) else f"np.{number}".replace("np.-", "-np.")
    return text if dtype == "float64" and np.isfinite(number) else f"np.{held(dtype)}({text})"


def number(argument: str, dtype: str) -> str:
    """Return the text of a number of a dtype that an int64 argument tells: the bits of a float as it is computed with.

    >>> number("c0", "float16"), number("c0", "int8")
    ('bits_as_float32(c0)', 'to_int8(c0)')
    """
    return f"bits_as_{held(dtype)}({argument})" if is_real(dtype) else cast(argument, "int64", dtype)


def held(dtype: str) -> str:
    """Return the dtype in which values of a dtype are computed with.

    >>> held("float16"), held("bfloat16"), held("int8")
    ('float32', 'float32', 'int8')
    """
    return "float32" if dtype in HALVES else dtype


def is_real(dtype: str) -> bool:
    """Return whether it is a floating-point dtype."""
    return "float" in dtype


# -- operations whose result is a bool ---------------------------------------------------------------------------------


def _compared(sign: str) -> Callable[[list[str], list[str]], str]:
    def text(operands: list[str], dtypes: list[str]) -> str:
        common = promote(*map(np.dtype, dtypes)).name
        left, right = (cast(x, own, common) for x, own in zip(operands, dtypes, strict=True))
        return f"{left} {sign} {right}"

    return text


def _logical(sign: str) -> Callable[[list[str], list[str]], str]:
    def text(operands: list[str], dtypes: list[str]) -> str:
        left, right = (cast(x, own, "bool") for x, own in zip(operands, dtypes, strict=True))
        return f"{left} {sign} {right}"

    return text


def _classified(real: str, integer: str) -> Callable[[list[str], list[str]], str]:
    def text(operands: list[str], dtypes: list[str]) -> str:
        return real.format(x=operands[0]) if is_real(dtypes[0]) else integer

    return text


def _negated(operands: list[str], dtypes: list[str]) -> str:
    return f"not {cast(operands[0], dtypes[0], 'bool')}"


_PREDICATES: dict[str, Callable[[list[str], list[str]], str]] = {
    **{op: _compared(sign) for op, sign in _COMPARISON.items()},
    **{op: _logical(sign) for op, sign in _LOGICAL.items()},
    "isnan": _classified("{x} != {x}", "False"),
    "isinf": _classified("fabs({x}) == np.inf", "False"),
    "signbit": _classified("signbit({x})", "False"),
    "isfinite": _classified("fabs({x}) < np.inf", "True"),
    "logical_not": _negated,
}


# -- arithmetic: operands already have the result's dtype --------------------------------------------------------------


def _arithmetic(op: str, dtype: str, operands: list[str]) -> str | None:
    """The text, or None where the operation does not exist on that dtype."""
    if op in ("maximum", "minimum"):
        return f"{op}({', '.join(operands)})"
    if is_real(dtype):
        return _real(op, dtype, operands)
    return _boolean(op, operands) if dtype == "bool" else _integer(op, dtype, operands)


def _real(op: str, dtype: str, operands: list[str]) -> str | None:
    x, y = operands[0], operands[-1]
    exact = {"negative": f"-{x}", "absolute": f"fabs({x})", "sign": f"sign({x})", "round": f"rint({x})"}
    exact |= {"copysign": f"copysign({x}, {y})"}
    exact |= {"nextafter": f"{f'next_{dtype}' if dtype in HALVES else 'nextafter'}({x}, {y})"}
    exact |= {name: f"{name}({x})" for name, rounds in _REAL_UNARY.items() if not rounds}
    if op in exact:
        return exact[op]
    if op in IN_DOUBLE:
        return cast(f"{op}({', '.join(cast(each, dtype, 'float64') for each in operands)})", "float64", dtype)
    rounded = {name: f"{name}({x})" for name, rounds in _REAL_UNARY.items() if rounds}
    rounded |= {
        "add": f"{x} + {y}", "subtract": f"{x} - {y}", "multiply": f"{x} * {y}", "divide": f"{x} / {y}",
        "square": f"{x} * {x}", "reciprocal": f"{literal(1, dtype)} / {x}", "power": f"power({x}, {y})",
        "floordivide": f"floor_divide({x}, {y})", "mod": f"modulo({x}, {y})",
        "atan2": f"atan2({x}, {y})", "hypot": f"hypot({x}, {y})",
    }  # fmt: skip
    text = rounded.get(op)
    return f"to_{dtype}({text})" if text and dtype in HALVES else text


def _integer(op: str, dtype: str, operands: list[str]) -> str | None:
    x, y = operands[0], operands[-1]
    zero, signed = literal(0, dtype), dtype.startswith("int")
    same = {"floor": x, "ceil": x, "round": x, "trunc": x, "sign": f"sign({x})"}
    same |= {"left_shift": f"left_shift({x}, {y})", "right_shift": f"right_shift({x}, {y})"}
    same |= {"floordivide": f"floor_divide({x}, {y})", "mod": f"modulo({x}, {y})"}
    if not signed:
        same["absolute"] = x
    if op in same:
        return same[op]
    a, b, none = x, y, zero
    if dtype == "int64":  # Numba tells LLVM that it does not overflow, and LLVM makes something of that
        a, b, none = f"to_uint64({x})", f"to_uint64({y})", literal(0, "uint64")
    wrapped = {
        "add": f"{a} + {b}", "subtract": f"{a} - {b}", "multiply": f"{a} * {b}", "square": f"{a} * {a}",
        "bitwise_invert": f"~{x}", **{name: f"{x} {sign} {y}" for name, sign in _BITWISE.items()},
        "negative": f"{none} - {a}", "absolute": f"select({x} < {zero}, to_{dtype}({none} - {a}), {x})",
        "reciprocal": f"1.0 / to_float64({x})", "power": f"integer_power(to_int64({x}), to_int64({y}), {signed})",
    }  # fmt: skip
    text = wrapped.get(op)
    return text and f"to_{dtype}({text})"


def _boolean(op: str, operands: list[str]) -> str | None:
    x, y = operands[0], operands[-1]
    return {"add": f"{x} | {y}", "multiply": f"{x} & {y}", "absolute": x, "square": x}.get(op)
