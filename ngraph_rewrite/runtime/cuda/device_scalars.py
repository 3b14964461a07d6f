# SPDX-License-Identifier: Apache-2.0
"""The scalar operations of a device: the instructions are those that kernels for the CPU are made of.

Formulas are the same, with ``x * y + z`` rounded once where they say so; what is of the C library there is of NVIDIA's
libdevice here, and so are two functions of float32, which it has an instruction for. Of that a float32 is computed in
float64 where the float32 function may be off by more than 2 ulp.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.typing import signature
from numba.cuda.extending import intrinsic

from ngraph_rewrite.runtime import (
    angle_draws,
    arithmetic,
    casts,
    count_draws,
    cube_roots,
    draws,
    elementary,
    exponentials,
    gamma_draws,
    hyperbolics,
    intrinsics,
    inverse_error,
    log_gamma,
    logarithms,
    polygamma,
    powers,
    scalar_functions,
    trigonometry,
)
from ngraph_rewrite.runtime.cuda.device_extrema import EXTREMA
from ngraph_rewrite.runtime.cuda.generation import AMPERE, is_since
from ngraph_rewrite.runtime.cuda.porting import device_function, named, renamed

_SAME: dict[Any, str] = {
    scalar_functions: "fmod sqrt fabs floor ceil rint select accumulate_max accumulate_min number_max "
    "number_min above below same add_reassociated multiply_reassociated",
    arithmetic: "floor_divide modulo sign",
    elementary: "nextafter trunc copysign signbit left_shift right_shift",
    cube_roots: "cbrt",
    exponentials: "exp exp2 expm1 tanh sigmoid erf",
    hyperbolics: "sinh cosh",
    intrinsics: "chunk_start lesser",
    inverse_error: "erfinv",
    log_gamma: "lgamma",
    logarithms: "log log2 log10 log1p",
    polygamma: "digamma trigamma",
    powers: "power",
    trigonometry: "near_sin near_cos",
    casts: "to_bool to_int8 to_int16 to_int32 to_int64 to_uint8 to_uint16 to_uint32 to_uint64 to_float16 to_bfloat16 "
    "to_float32 to_float64 bits_as_float16 bits_as_bfloat16 bits_as_float32 bits_as_float64 bits_of_float16 "
    "bits_of_bfloat16 bits_of_float32 bits_of_float64",
}
_ROUNDING = ir.FunctionType(ir.IntType(32), [ir.FloatType()])
_PAIR, _WORD = types.UniTuple(types.float64, 2), types.uint64
# Python that calls such instructions, and its signature
_TEXTS: dict[str, tuple[Any, Any]] = {
    "rounding_error": (scalar_functions, lambda x, y, total: x(x, x, x)),
    "compensated": (scalar_functions, lambda total, error: total(total, total)),
    "integer_power": (arithmetic, types.int64(types.int64, types.int64, types.boolean)),
    "next_float16": (elementary, types.float32(types.float32, types.float32)),
    "next_bfloat16": (elementary, types.float32(types.float32, types.float32)),
    "philox_block": (draws, types.UniTuple(_WORD, 4)(*[types.int64] * 4)),
    "unit_single": (draws, types.float64(_WORD)),
    "unit_double": (draws, types.float64(_WORD, _WORD)),
    "box_muller": (draws, _PAIR(types.float64, types.float64)),
    "sequence_unit": (gamma_draws, types.float64(types.float64, types.int64)),
    "gamma_draw": (gamma_draws, types.float64(*[types.float64] * 2)),
    "stirling_series": (count_draws, types.float64(types.float64)),
    "stirling": (count_draws, types.float64(types.float64)),
    "deviance": (count_draws, types.float64(*[types.float64] * 2)),
    "poisson_log": (count_draws, types.float64(*[types.float64] * 2)),
    "searched_poisson": (count_draws, types.float64(*[types.float64] * 2)),
    "poisson_draw": (count_draws, types.float64(*[types.float64] * 2)),
    "binomial_log": (count_draws, types.float64(*[types.float64] * 3)),
    "searched_binomial": (count_draws, types.float64(*[types.float64] * 3)),
    "accepted_binomial": (count_draws, types.float64(*[types.float64] * 3)),
    "binomial_draw": (count_draws, types.float64(*[types.float64] * 3)),
    "vonmises_draw": (angle_draws, types.float64(*[types.float64] * 2)),
    "zipf_draw": (angle_draws, types.float64(*[types.float64] * 2)),
}


# -- of libdevice ------------------------------------------------------------------------------------------------------


def _library(name: str, widened: bool) -> Callable[..., Any]:
    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        if args[0].type == ir.DoubleType() and name == "hypot":
            return _hypotenuse(builder, list(args))
        if not widened or args[0].type == ir.DoubleType():
            return scalar_functions.c_function(builder, name, list(args))
        wide = [builder.fpext(x, ir.DoubleType()) for x in args]
        return builder.fptrunc(scalar_functions.c_function(builder, name, wide), ir.FloatType())

    return generate


def _hypotenuse(builder: Any, args: list[Any]) -> Any:
    """Of float64, as the longer side times a root: libdevice's is infinite before its result is."""
    one, infinite = ir.Constant(ir.DoubleType(), 1.0), ir.Constant(ir.DoubleType(), float("inf"))
    x, y = (scalar_functions.llvm_function(builder, "llvm.fabs", [side]) for side in args)
    above = builder.fcmp_ordered(">", x, y)
    longer, shorter = builder.select(above, x, y), builder.select(above, y, x)
    plain = builder.fcmp_ordered("==", longer, ir.Constant(ir.DoubleType(), 0.0))
    ratio = builder.select(plain, shorter, builder.fdiv(shorter, longer))  # which is zero, or NaN
    root = scalar_functions.llvm_function(builder, "llvm.fma", [ratio, ratio, one])
    found = builder.fmul(longer, scalar_functions.llvm_function(builder, "llvm.sqrt", [root]))
    ends = builder.or_(*[builder.fcmp_ordered("==", side, infinite) for side in (x, y)])
    return builder.select(ends, infinite, found)


def _unary(name: str, widened: bool) -> Any:
    def typing(context: Any, x: Any) -> Any:
        return (signature(x, x), _library(name, widened)) if isinstance(x, types.Float) else None

    return named(name, typing)


def _short(word: Any) -> Any:
    """A function that is a formula on float64, and libdevice's on float32."""
    formula, name = word._defn, word._defn.__name__

    def typing(context: Any, x: Any) -> Any:
        return (signature(x, x), _library(name, widened=False)) if x == types.float32 else formula(context, x)

    return named(name, typing)


def _to_bfloat16(word: Any) -> Any:
    """The conversion of a float32 by one instruction, which rounds two numbers, where the GPU has it."""
    by_steps = word._defn

    def to_bfloat16(context: Any, x: Any) -> Any:
        sig, plain = by_steps(context, x)

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            if x != types.float32 or not is_since(AMPERE):
                return plain(context, builder, sig, args)
            bits = builder.asm(_ROUNDING, "cvt.rn.bf16x2.f32 $0, $1, 0f00000000;", "=r,f", args, False)
            return builder.bitcast(bits, ir.FloatType())

        return sig, generate

    return intrinsic(to_bfloat16)


def _binary(name: str) -> Any:
    def typing(context: Any, x: Any, y: Any) -> Any:
        return (signature(x, x, x), _library(name, widened=True)) if isinstance(x, types.Float) else None

    return named(name, typing)


WORDS: dict[str, Any] = {**EXTREMA}
for _module, _names in _SAME.items():
    WORDS |= {name: intrinsic(vars(_module)[name]._defn) for name in _names.split()}
WORDS["to_bfloat16"] = _to_bfloat16(casts.to_bfloat16)
WORDS |= {name: _short(vars(exponentials)[name]) for name in ("exp", "tanh")}
WORDS |= {name: _unary(name, widened=False) for name in ("sin", "cos", "asin", "acos", "atan")}
WORDS |= {name: _unary(name, widened=True) for name in ("tan", "asinh", "acosh", "atanh")}
WORDS |= {name: _binary(name) for name in ("atan2", "hypot")}
for _name, (_module, _kind) in _TEXTS.items():
    WORDS[_name] = device_function(_kind)(renamed(vars(_module)[_name], WORDS))
globals().update(WORDS)
__all__ = [name for name in WORDS if not name.startswith("near_") and name not in count_draws.PARTS]
