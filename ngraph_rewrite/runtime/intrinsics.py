# SPDX-License-Identifier: Apache-2.0
"""What a kernel body says that Python cannot: memory access at raw addresses, as LLVM instructions.

A kernel gets integers only, so memory is an ``int64`` address, an index in elements and the number of a buffer.
Accesses to different buffers are declared not to alias, which is what lets LLVM vectorise a loop; an operand updated in
place is one buffer, named by its load and by its store.

A ``float16`` or ``bfloat16`` value is held as a ``float32`` that it can represent, a ``bool`` as one byte in memory.
A store rounds to the nearest of them, to even where two are.
"""

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.typing import signature
from numba.extending import intrinsic

from ngraph_rewrite.runtime.casts import bfloat16_bits
from ngraph_rewrite.runtime.features import features
from ngraph_rewrite.runtime.scalar_functions import named

__all__ = [
    "argument",
    "call_block",
    "call_words",
    "chunk_start",
    "lesser",
    "line_start",
    "stride",
    "sum_block",
    "wide_vectors",
]

_HALF, _FLOAT, _DOUBLE = ir.HalfType(), ir.FloatType(), ir.DoubleType()
_I8, _I16, _I32, _I64 = (ir.IntType(width) for width in (8, 16, 32, 64))

VALUES = {name: getattr(types, name) for name in "int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()}
VALUES |= dict.fromkeys(("float16", "bfloat16", "float32"), types.float32)
VALUES |= {"bool": types.boolean, "float64": types.float64}
MEMORY = {"bool": _I8, "float16": _HALF, "bfloat16": _I16, "float32": _FLOAT, "float64": _DOUBLE}
MEMORY |= {name: ir.IntType(value.bitwidth) for name, value in VALUES.items() if "int" in name}

_LINE = 64  # bytes that come together
_SCOPES = 32  # buffers past this many share one scope: still correct, since they are not declared distinct


# -- memory ------------------------------------------------------------------------------------------------------------


def stack_array(builder: Any, element: Any, length: int) -> Any:
    """An array on the stack, of a line's alignment, in which anything is: LLVM takes long to fill one with zeros."""
    with builder.goto_entry_block():
        space = builder.alloca(ir.ArrayType(element, length))
    space.align = _LINE
    return space


def mark_buffer(module: Any, instruction: Any, buffer: int) -> None:
    """Declare that a memory access meets no buffer but its own."""
    known = vars(module).setdefault("ngraph_rewrite_buffers", {})  # as long as there is the module, and no longer
    number = min(buffer, _SCOPES - 1)
    if number not in known:
        known[number] = _marks(module, number)
    own, others = known[number]
    instruction.set_metadata("alias.scope", own)
    instruction.set_metadata("noalias", others)


def _marks(module: Any, own: int) -> tuple[Any, Any]:
    domain = module.add_metadata(["ngraph_rewrite buffers"])
    scopes = [module.add_metadata([f"buffer {number}", domain]) for number in range(_SCOPES)]
    others = [scope for number, scope in enumerate(scopes) if number != own]
    return module.add_metadata([scopes[own]]), module.add_metadata(others)


def _element(builder: Any, memory: Any, address: Any, index: Any) -> Any:
    pointer = builder.inttoptr(address, memory.as_pointer())
    parts = [index] if index.type == _I64 else [builder.extract_value(index, i) for i in range(len(index.type))]
    for part in parts:
        pointer = builder.gep(pointer, [part], inbounds=True)
    return pointer


def _index(given: Any) -> Any:
    """The type of an index: an int64, or a tuple of such that are added up, each of which stays inside of a buffer."""
    return types.UniTuple(types.int64, len(given)) if isinstance(given, types.BaseTuple) else types.int64


def from_memory(builder: Any, value: Any, dtype: str) -> Any:
    """An element as it is computed with, from what memory holds."""
    if dtype == "bool":
        return builder.icmp_unsigned("!=", value, ir.Constant(value.type, 0))
    if dtype == "bfloat16":
        return builder.bitcast(builder.shl(builder.zext(value, _I32), ir.Constant(_I32, 16)), _FLOAT)
    return builder.fpext(value, _FLOAT) if dtype == "float16" else value


def to_memory(builder: Any, value: Any, dtype: str) -> Any:
    """What memory holds, from an element as it is computed with."""
    if dtype == "bool":
        return builder.zext(value, MEMORY["bool"])
    if dtype == "bfloat16":
        return builder.trunc(builder.lshr(bfloat16_bits(builder, value), ir.Constant(_I32, 16)), _I16)
    return builder.fptrunc(value, _HALF) if dtype == "float16" else value


def _load(dtype: str) -> Any:
    def typing(context: Any, address: Any, index: Any, buffer: Any) -> Any:
        if not isinstance(buffer, types.IntegerLiteral):
            return None

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            loaded = builder.load(_element(builder, MEMORY[dtype], args[0], args[1]))
            mark_buffer(builder.module, loaded, buffer.literal_value)
            return from_memory(builder, loaded, dtype)

        return signature(VALUES[dtype], types.int64, _index(index), buffer), generate

    return named(f"load_{dtype}", typing)


def _store(dtype: str) -> Any:
    def typing(context: Any, address: Any, index: Any, value: Any, buffer: Any) -> Any:
        if not isinstance(buffer, types.IntegerLiteral):
            return None

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            place = _element(builder, MEMORY[dtype], args[0], args[1])
            stored = builder.store(to_memory(builder, args[2], dtype), place)
            mark_buffer(builder.module, stored, buffer.literal_value)
            return context.get_dummy_value()

        return signature(types.none, types.int64, _index(index), VALUES[dtype], buffer), generate

    return named(f"store_{dtype}", typing)


def _workspace(dtype: str) -> Any:
    """The address of a small array on the stack; the length is a literal."""

    def typing(context: Any, length: Any) -> Any:
        if not isinstance(length, types.IntegerLiteral):
            return None

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return builder.ptrtoint(stack_array(builder, MEMORY[dtype], length.literal_value), _I64)

        return signature(types.int64, length), generate

    return named(f"workspace_{dtype}", typing)


for _dtype in VALUES:
    for _make in (_load, _store, _workspace):
        _intrinsic = _make(_dtype)
        globals()[_intrinsic.__name__] = _intrinsic
        __all__.append(_intrinsic.__name__)


@intrinsic
def argument(context: Any, args: Any, number: Any) -> Any:
    """``args[number]``: one int64 of the argument block."""

    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        return builder.load(_element(builder, _I64, *arguments))

    return signature(types.int64, types.int64, types.int64), generate


@intrinsic
def stride(context: Any, args: Any, number: Any) -> Any:
    """``args[number]`` where that is a stride: LLVM is kept from compiling a loop for a stride of 1 and no other."""

    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        value = builder.load(_element(builder, _I64, *arguments))
        kind = ir.FunctionType(_I64, [_I64, _I64])
        maximum = builder.module.declare_intrinsic("llvm.smax", [_I64], kind)
        return builder.call(maximum, [value, ir.Constant(_I64, -(2**62))])

    return signature(types.int64, types.int64, types.int64), generate


@intrinsic
def chunk_start(context: Any, length: Any, chunk: Any, nchunks: Any) -> Any:
    """``length * chunk // nchunks``: where a chunk begins."""

    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        length, chunk, nchunks = arguments
        return builder.sdiv(builder.mul(length, chunk), nchunks)

    return signature(types.int64, types.int64, types.int64, types.int64), generate


@intrinsic
def line_start(context: Any, address: Any, index: Any, stop: Any, size: Any) -> Any:
    """The first element of a size, from an index on, that begins a line of memory; `stop` if that is not before it."""

    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        address, index, stop, size = arguments
        place = builder.add(address, builder.mul(index, size))
        before = builder.and_(builder.neg(place), _I64(_LINE - 1))
        first = builder.add(index, builder.udiv(before, size))
        return builder.select(builder.icmp_signed("<", first, stop), first, stop)

    return signature(types.int64, *[types.int64] * 4), generate


@intrinsic
def lesser(context: Any, x: Any, y: Any) -> Any:
    """The smaller one of two int64."""

    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        x, y = arguments
        return builder.select(builder.icmp_signed("<", x, y), x, y)

    return signature(types.int64, types.int64, types.int64), generate


@intrinsic
def sum_block(context: Any) -> Any:
    """How many float32 are summed in float32, in as many sums as some vectors have lanes: at most 16 in each."""

    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        return ir.Constant(_I64, 256 if "+avx" in features() else 128)

    return signature(types.int64), generate


@intrinsic
def wide_vectors(context: Any) -> Any:
    """Ask LLVM for 512-bit vectors in this function, where the processor has them."""

    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        set.add(builder.function.attributes, '"prefer-vector-width"="512"')
        return context.get_dummy_value()

    return signature(types.none), generate


@intrinsic
def call_words(context: Any, function: Any, words: Any) -> Any:
    """Call the function at an address with some int64, of which a tuple is made; it returns nothing."""

    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        address, group = arguments
        given = [builder.extract_value(group, i) for i in range(words.count)]
        kind = ir.FunctionType(ir.VoidType(), [_I64] * words.count)
        builder.call(builder.inttoptr(address, kind.as_pointer()), given)
        return context.get_dummy_value()

    if not isinstance(words, types.UniTuple):
        return None
    return signature(types.none, types.int64, types.UniTuple(types.int64, words.count)), generate


@intrinsic
def call_block(context: Any, function: Any, arguments: Any, words: Any) -> Any:
    """Call the map at an address with that of its arguments, and of some int64 that tell of a block of a matrix."""

    def generate(context: Any, builder: Any, sig: Any, given: Any) -> Any:
        address, first, group = given
        told = stack_array(builder, _I64, words.count)
        for i in range(words.count):
            builder.store(builder.extract_value(group, i), builder.gep(told, [_I32(0), _I32(i)]))
        kind = ir.FunctionType(ir.VoidType(), [_I64] * 4)
        call = [first, builder.ptrtoint(told, _I64), _I64(1), _I64(0)]
        builder.call(builder.inttoptr(address, kind.as_pointer()), call)
        return context.get_dummy_value()

    if not isinstance(words, types.UniTuple):
        return None
    return signature(types.none, types.int64, types.int64, types.UniTuple(types.int64, words.count)), generate
