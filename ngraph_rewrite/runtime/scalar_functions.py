# SPDX-License-Identifier: Apache-2.0
"""The scalar operations of kernels, each bit for bit what NumPy computes, in a form LLVM can vectorise.

Integers wrap; integer division by zero gives 0; floor division and modulo take Python's sign; a NaN propagates.
``float16`` operands are ``float32`` values; the caller rounds the result. Functions that are not exact are elsewhere:
those of modules named for them, such as `exponentials`, are formulas, those of `elementary` the C library's.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.typing import signature
from numba.extending import intrinsic, register_jitable

# What the compiler for GPUs does not promise to take from LLVM.
_IN_LIBDEVICE = {f"llvm.{name}" for name in "sqrt fabs floor ceil rint trunc copysign fma".split()}


def named(name: str, typing: Callable[..., Any]) -> Any:
    """A function that kernels call by a name, of which Numba is told the types and the instructions."""
    typing.__name__ = typing.__qualname__ = name
    return intrinsic(typing)


# -- the C library and LLVM's own functions ----------------------------------------------------------------------------


def for_gpu(builder: Any) -> bool:
    """Whether the instructions are for a GPU of NVIDIA."""
    return str(builder.module.triple).startswith("nvptx")


def c_function(builder: Any, name: str, args: list[Any]) -> Any:
    """Call a function of the C library, or of libdevice, on float32 (``expf``) or float64 (``exp``) operands.

    LLVM is not told which it is: of ``fmod`` of what is not infinite it takes that the result is no NaN, which it is if
    an operand is one.
    """
    real = args[0].type
    symbol = ("__nv_" if for_gpu(builder) else "") + (name + "f" if real == ir.FloatType() else name)
    kind = ir.FunctionType(real, [real] * len(args))
    function = builder.module.globals.get(symbol) or ir.Function(builder.module, kind, symbol)
    for attribute in ("readnone", "nounwind", *(() if for_gpu(builder) else ("nobuiltin",))):
        function.attributes.add(attribute)
    return builder.call(function, args)


def llvm_function(builder: Any, name: str, args: list[Any]) -> Any:
    """Call a function that LLVM defines on every float type, and on vectors; a GPU has those of C in libdevice."""
    if for_gpu(builder) and name in _IN_LIBDEVICE:
        return c_function(builder, name.removeprefix("llvm."), args)
    real = args[0].type
    kind = ir.FunctionType(real, [real] * len(args))
    if isinstance(real, ir.VectorType):  # llvmlite has no names for these
        full = f"{name}.v{real.count}{real.element.intrinsic_name}"
        return builder.call(builder.module.globals.get(full) or ir.Function(builder.module, kind, full), args)
    return builder.call(builder.module.declare_intrinsic(name, [real], kind), args)


def _fmod(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return c_function(builder, "fmod", args)


def _llvm(name: str, llvm_name: str) -> Any:
    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return llvm_function(builder, llvm_name, args)

    return real_function(name, 1, generate)


def real_function(name: str, arity: int, generate: Callable[..., Any]) -> Any:
    """A function of one float, or of two of one type, of which these are the instructions."""

    def unary(context: Any, x: Any) -> Any:
        return (signature(x, x), generate) if isinstance(x, types.Float) else None

    def binary(context: Any, x: Any, y: Any) -> Any:
        return (signature(x, x, x), generate) if isinstance(x, types.Float) else None

    return named(name, unary if arity == 1 else binary)


fmod = real_function("fmod", 2, _fmod)
sqrt, fabs = _llvm("sqrt", "llvm.sqrt"), _llvm("fabs", "llvm.fabs")
floor, ceil, rint = _llvm("floor", "llvm.floor"), _llvm("ceil", "llvm.ceil"), _llvm("rint", "llvm.rint")


# -- choices -----------------------------------------------------------------------------------------------------------


@intrinsic
def select(context: Any, condition: Any, x: Any, y: Any) -> Any:
    """``x if condition else y`` without a branch; both are evaluated."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.select(*args)

    return signature(x, types.boolean, x, x), generate


def is_signed(kind: Any) -> bool:
    """Whether a Numba type is a signed integer."""
    return isinstance(kind, types.Integer) and bool(vars(kind)["signed"])


def _compare(builder: Any, kind: Any, sign: str, x: Any, y: Any) -> Any:
    if isinstance(kind, types.Float):
        return builder.fcmp_ordered(sign, x, y)
    return (builder.icmp_signed if is_signed(kind) else builder.icmp_unsigned)(sign, x, y)


def _propagating(builder: Any, kind: Any, sign: str, a: Any, b: Any) -> Any:
    chosen = builder.select(_compare(builder, kind, sign, a, b), a, b)
    if isinstance(kind, types.Float):
        chosen = builder.select(builder.fcmp_unordered("uno", a, a), a, chosen)
    return chosen


def _extremum(name: str, sign: str) -> Any:
    """NumPy's: a NaN on either side wins, and at a tie the second operand is taken."""

    def typing(context: Any, x: Any, y: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return _propagating(builder, x, sign, *args)

        return signature(x, x, x), generate

    return named(name, typing)


@intrinsic
def overwritten(context: Any, x: Any) -> Any:
    """What was loaded from where a result will be stored, as a value of its own.

    LLVM makes a masked store of what is either a result or what is there already; some processors do that lane by lane.
    """

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        frozen = ir.Instruction(builder.block, args[0].type, "freeze", [args[0]])
        builder._insert(frozen)
        return frozen

    return signature(x, x), generate


maximum, minimum = _extremum("maximum", ">"), _extremum("minimum", "<")


def _reduced_extremum(name: str, sign: str, llvm_name: str) -> Any:
    """The same for an accumulator, in the form LLVM recognises as a reduction; the sign of a zero is unspecified."""

    def typing(context: Any, x: Any, y: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            if isinstance(x, types.Float) and not for_gpu(builder):
                return llvm_function(builder, llvm_name, args)
            return _propagating(builder, x, sign, *args)

        return signature(x, x, x), generate

    return named(name, typing)


accumulate_max = _reduced_extremum("accumulate_max", ">", "llvm.maximum")
accumulate_min = _reduced_extremum("accumulate_min", "<", "llvm.minimum")


def _number_extremum(name: str, sign: str) -> Any:
    """The same in one instruction, for an accumulator that is not used once a NaN was met; look for NaN beside it."""

    def typing(context: Any, x: Any, y: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            # with a NaN the result is no value at all, until something else is selected
            flags = () if for_gpu(builder) else ("nnan", "nsz")
            return builder.select(builder.fcmp_ordered(sign, *args, flags=flags), *args, flags=flags)

        return (signature(x, x, x), generate) if isinstance(x, types.Float) else None

    return named(name, typing)


number_max, number_min = _number_extremum("number_max", ">"), _number_extremum("number_min", "<")


def _ahead(name: str, sign: str) -> Any:
    """Whether ``x`` replaces ``best`` in an argmax or argmin: strictly better, or the first NaN."""

    def typing(context: Any, x: Any, best: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            better = _compare(builder, x, sign, *args)
            if not isinstance(x, types.Float):
                return better
            nan, number = (
                builder.fcmp_unordered("uno", args[0], args[0]),
                builder.fcmp_ordered("ord", args[1], args[1]),
            )
            return builder.or_(better, builder.and_(nan, number))

        return signature(types.boolean, x, x), generate

    return named(name, typing)


above, below = _ahead("above", ">"), _ahead("below", "<")


def _same_typing(context: Any, x: Any, y: Any) -> Any:
    """Whether ``x`` is the extremum ``y``: equal, or both NaN."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        equal = _compare(builder, x, "==", *args)
        if not isinstance(x, types.Float):
            return equal
        return builder.or_(equal, builder.and_(*(builder.fcmp_unordered("uno", value, value) for value in args)))

    return signature(types.boolean, x, x), generate


same = named("same", _same_typing)


# -- sums whose order is free ------------------------------------------------------------------------------------------


def _reassociated(name: str, instruction: str) -> Any:
    def typing(context: Any, x: Any, y: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return getattr(builder, instruction)(*args, flags=("reassoc",))

        return (signature(x, x, x), generate) if isinstance(x, types.Float) else None

    return named(name, typing)


add_reassociated = _reassociated("add_reassociated", "fadd")
multiply_reassociated = _reassociated("multiply_reassociated", "fmul")


@register_jitable
def rounding_error(x: float, y: float, total: float) -> float:
    """What ``x + y`` lost when it was rounded to ``total`` (Knuth's two-sum); NaN when not finite."""
    back = total - x
    return (x - (total - back)) + (y - back)


@register_jitable
def compensated(total: float, error: float) -> float:
    """``total`` with the errors made along the way put back, unless it is not finite."""
    return total + error if error == error else total
