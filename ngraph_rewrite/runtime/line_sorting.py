# SPDX-License-Identifier: Apache-2.0
"""Short lines sorted side by side: a lane of vectors has a line, and a network of comparisons sorts all at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.typing import signature

from ngraph_rewrite.runtime.line_keys import INFINITY, Keys, Lines
from ngraph_rewrite.runtime.scalar_functions import named
from ngraph_rewrite.runtime.sorting_network import GROUP, merge, sort_groups
from ngraph_rewrite.runtime.vector_code import I64, declared, everywhere, interleaved_halves, loop
from ngraph_rewrite.types.dtypes import DTYPES, as_dtype

# -- into the workspace and back ---------------------------------------------------------------------------------------


def _read_along(lines: Lines, unsorted: Any) -> None:
    """The keys of lines that lie along memory, squares of them at a time; those of the last line stand for more."""
    builder, keys, n = lines.builder, lines.keys, lines.n
    last = builder.sub(lines.some, I64(1))
    steps = [builder.select(builder.icmp_signed("<", last, I64(r)), last, I64(r)) for r in range(keys.lanes)]
    begins = [builder.add(lines.x, builder.mul(builder.mul(r, n), I64(keys.size))) for r in steps]
    numbers = ir.Constant(keys.vector, list(range(keys.lanes)))
    with loop(builder, I64(0), n, keys.lanes) as index:
        there = lines.first(builder.sub(n, index))
        places = builder.or_(_everywhere(lines, index), numbers)
        rows = []
        for begin in begins:
            bits = lines.read(builder.add(begin, builder.mul(index, I64(keys.size))), there)
            _note(lines, unsorted, bits)
            rows.append(builder.select(there, keys.of(builder, bits, places), keys.last))
        for k, column in enumerate(interleaved_halves(builder, rows)):
            lines.keep(builder.add(index, I64(k)), column)
    _fill(lines, builder.and_(builder.add(n, I64(keys.lanes - 1)), I64(-keys.lanes)))


def _read_across(lines: Lines, unsorted: Any) -> None:
    """The keys of lines that lie side by side."""
    builder, keys = lines.builder, lines.keys
    there = lines.first(lines.some)
    with loop(builder, I64(0), lines.n) as index:
        bits = lines.read(builder.add(lines.x, builder.mul(builder.mul(index, lines.inner), I64(keys.size))), there)
        _note(lines, unsorted, bits)
        lines.keep(index, keys.of(builder, bits, _everywhere(lines, index)))
    _fill(lines, lines.n)


def _everywhere(lines: Lines, index: Any) -> Any:
    """A place in all lanes."""
    return everywhere(lines.builder, lines.builder.trunc(index, lines.keys.vector.element), lines.keys.lanes)


def _note(lines: Lines, unsorted: Any, bits: Any) -> None:
    """Note numbers that keys do not tell apart, or tell apart although they are equal."""
    builder, keys = lines.builder, lines.keys
    if keys.dtype in INFINITY and not keys.order:
        found = builder.or_(keys.is_nan(builder, bits), keys.is_negative_zero(builder, bits))
        builder.store(builder.or_(builder.load(unsorted), found), unsorted)


def _fill(lines: Lines, begin: Any) -> None:
    """Whole groups: what comes after all keys."""
    with loop(lines.builder, begin, _length(lines)) as index:
        lines.keep(index, lines.keys.last)


def _length(lines: Lines) -> Any:
    """The length of lines that are whole groups."""
    return lines.builder.and_(lines.builder.add(lines.n, I64(GROUP - 1)), I64(-GROUP))


def _write_along(lines: Lines) -> None:
    builder, keys, n = lines.builder, lines.keys, lines.n
    size = I64(8 if keys.order else keys.size)
    with loop(builder, I64(0), n, keys.lanes) as index:
        there = lines.first(builder.sub(n, index))
        columns = [lines.kept(builder.add(index, I64(k))) for k in range(keys.lanes)]
        for r, row in enumerate(interleaved_halves(builder, columns)):
            with builder.if_then(builder.icmp_signed("<", I64(r), lines.some)):
                at = builder.add(builder.mul(n, I64(r)), index)
                lines.write(keys.result(builder, row), builder.add(lines.y, builder.mul(at, size)), there)


def _write_across(lines: Lines) -> None:
    builder, keys = lines.builder, lines.keys
    there, size = lines.first(lines.some), I64(8 if keys.order else keys.size)
    with loop(builder, I64(0), lines.n) as index:
        at = builder.add(lines.y, builder.mul(builder.mul(index, lines.inner), size))
        lines.write(keys.result(builder, lines.kept(index)), at, there)


# -- words for kernels -------------------------------------------------------------------------------------------------


def _sort(builder: Any, keys: Keys, arguments: Sequence[Any]) -> Any:
    """Sort some lines, and say so: 1; or 0 where there are NaN among numbers, or zeros with a sign."""
    lines = Lines(builder, keys, *arguments)
    flags = ir.VectorType(ir.IntType(1), keys.lanes)
    with builder.goto_entry_block():
        unsorted = builder.alloca(flags)
    builder.store(ir.Constant(flags, None), unsorted)
    along = builder.icmp_signed("==", lines.inner, I64(1))
    with builder.if_else(along) as (then, otherwise):
        with then:
            _read_along(lines, unsorted)
        with otherwise:
            _read_across(lines, unsorted)
    reduce = declared(builder, f"llvm.vector.reduce.or.v{keys.lanes}i1", [flags], ir.IntType(1))
    fine = builder.not_(builder.call(reduce, [builder.load(unsorted)]))
    with builder.if_then(fine):
        length = _length(lines)
        sort_groups(lines, length)
        merge(lines, length)
        with builder.if_else(along) as (then, otherwise):
            with then:
                _write_along(lines)
            with otherwise:
                _write_across(lines)
    return builder.zext(fine, I64)


def _word(name: str, keys: Keys) -> Any:
    """A function of where lines and what they become begin, n, inner, the number of lines, and the workspace."""

    def typing(context: Any, x: Any, y: Any, n: Any, inner: Any, some: Any, space: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
            return _sort(builder, keys, arguments)

        return signature(types.int64, *[types.int64] * 6), generate

    return named(name, typing)


def _lanes(name: str, keys: Keys) -> Any:
    def typing(context: Any) -> Any:
        return signature(types.int64), lambda context, builder, sig, arguments: I64(keys.lanes)

    return named(name, typing)


for _dtype in map(str, DTYPES):
    for _prefix, _descending in (("", False), ("reverse_", True)):
        for _kind, _order in (("sort", False), ("argsort", True)):
            if not _order or as_dtype(_dtype).itemsize < 8:
                _name, _keys = f"{_prefix}{_kind}_lines_{_dtype}", Keys(_dtype, _descending, _order)
                globals()[_name] = _word(_name, _keys)
                globals()[f"{_kind}_lanes_{_dtype}"] = _lanes(f"{_kind}_lanes_{_dtype}", _keys)
