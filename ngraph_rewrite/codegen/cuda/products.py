# SPDX-License-Identifier: Apache-2.0
"""Renders products of matrices for a GPU, by tiles of any size, with a map over the result while it is in registers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from ngraph_rewrite.codegen.cuda.lanes import FOUR, Lanes, bytes_of_four
from ngraph_rewrite.codegen.cuda.tiles import Side, Tile, threads_placed
from ngraph_rewrite.codegen.library import has_dtype, rendered
from ngraph_rewrite.codegen.nest import MapNest, Operand, needed, numbers, operand_names
from ngraph_rewrite.codegen.scalar import DTYPES, cast, expression, held, is_real, literal
from ngraph_rewrite.codegen.source import Source, nested
from ngraph_rewrite.runtime.cuda.hardware import REGISTER_FILE
from ngraph_rewrite.types.dtypes import as_dtype

# Registers of a thread: with more of them a multiprocessor would have one large tile at a time, not two.
_EACH = 128
_WORD = 4  # bytes of a register
_SEVERAL = 8  # parts that are read at once before they are added
ARGUMENTS = "count m n k a a_sb a_sm a_sk b b_sb b_sk b_sn parts stretch"


@lru_cache(maxsize=1 << 10)
def render_product(
    dtype: str, tile: Tile, along: tuple[bool, bool], nest: MapNest, literals: tuple[object, ...] = ()
) -> Source:
    """Return the kernel of products of matrices of a dtype, and of a map over them.

    The first load of the nest, of rows and columns, is the product. After its own arguments the kernel has, for each
    other load and each store, its address, the stride from matrix to matrix, and strides known only at run time; then
    numbers. ``parts`` parts of k, each ``stretch`` long, are summed apart, and count as matrices for the map. All
    strides are in elements.

    Args:
        along: Whether A, and B, lie in memory along k.
        literals: The constants of the nest bit by bit: in the nest itself 0.0 equals -0.0.
    """
    has_dtype(dtype, DTYPES, "gemm")
    a = Side("a", "m", "top", tile.rows, tile.down, along[0], tile, dtype)
    b = Side("b", "n", "left", tile.columns, tile.across, along[1], tile, dtype)
    return render_sides(a, b, ARGUMENTS.split(), nest)


def render_sides(a: Side, b: Side, arguments: Iterable[str], nest: MapNest) -> Source:
    """Return the kernel that multiplies rows, the first side, with columns, and does a map over the products."""
    tile, own = a.tile, held(a.dtype)
    sums = [f"sum{n}" for n in range(tile.down * tile.across)]
    cells = [(i, j, sums[i * tile.across + j]) for i in range(tile.down) for j in range(tile.across)]
    totals = [f"{total} = {_added(own, total, f'a_{i}', f'b_{j}')}" for i, j, total in cells]
    return rendered(
        "gemm",
        (*arguments, *signature(nest)),
        "cuda",
        held=own,
        bounds=_bounds(tile, own),
        a_room=str(2 * a.half),
        b_room=str(2 * b.half),
        a_half=str(a.half),
        b_half=str(b.half),
        rows=str(tile.rows),
        columns=str(tile.columns),
        deep=str(tile.deep),
        unrolled=str(tile.unrolled),
        places=_block([*threads_placed(tile), *a.placed(), *b.placed(), *width(nest)]),
        begun=_block([*b.begun(), *a.begun(), *(f"{s} = {literal(0, own)}" for s in sums), *moved(nest)]),
        fetched=_block([*a.fetched(), *b.fetched()]),
        multiplied=_block([*a.seen(), *b.seen(), *totals] * tile.unrolled),
        kept=_block([*a.kept(), *b.kept()]),
        ended=_block(_ended(nest, tile, own, sums)),
    )


def _bounds(tile: Tile, own: str) -> str:
    """The line that keeps a thread with many sums from more registers than it may have; others have few anyway."""
    sums = tile.down * tile.across * as_dtype(own).itemsize // _WORD
    blocks = REGISTER_FILE // (_EACH * tile.threads)
    return f"launch_bounds({tile.threads}, {blocks})" if sums >= _EACH // 2 and blocks else "pass"


def _block(lines: Iterable[str]) -> str:
    return "\n".join(lines)


def _added(own: str, total: str, x: str, y: str) -> str:
    if is_real(own):
        return f"fused({x}, {y}, {total})"
    product = expression("multiply", own, [x, y], {}, [own, own])
    return expression("add", own, [total, product], {}, [own, own])


# -- the map over the result -------------------------------------------------------------------------------------------


def signature(nest: MapNest) -> tuple[str, ...]:
    """The arguments that a map over a product has."""
    names: list[str] = []
    for name, operand in _others(nest):
        names += [
            f"{name}_begin",
            f"{name}_batch",
            *(f"{name}_s{dim}" for dim, s in enumerate(operand.strides) if s == "s"),
        ]
    return (*names, *numbers(nest))


def _others(nest: MapNest) -> list[tuple[str, Operand]]:
    """The operands but for the product."""
    return list(zip(operand_names(nest), nest.operands, strict=True))[1:]


def moved(nest: MapNest) -> list[str]:
    """The lines that move operands to the matrix of this group."""
    sizes = [as_dtype(operand.dtype).itemsize for operand in nest.operands[1:]]
    pairs = zip(_others(nest), sizes, strict=True)
    return [f"{name} = {name}_begin + group * {name}_batch * {size}" for (name, _), size in pairs]


def _is_wide(nest: MapNest) -> bool:
    """Whether four neighbours in a row lie side by side wherever they differ."""
    return all(
        x.strides in (("0", "0"), ("1", "0"), ("s", "0"), ("0", "1"), ("s", "1")) for _, x in _others(nest)
    ) and all(y.strides[1] == "1" for _, y in nest.stores)


def width(nest: MapNest) -> list[str]:
    """The line that asks whether four neighbours of each operand are aligned."""
    if not _is_wide(nest):
        return []
    tests = []
    for name, operand in _others(nest):
        if operand.strides[1] == "1":
            tests += [f"aligned({name}_begin, {bytes_of_four(operand.dtype)})"]
            strides = [f"{name}_batch", *([f"{name}_s0"] if operand.strides[0] == "s" else [])]
            tests += [f"({' | '.join(strides)}) & {FOUR - 1} == 0"]
    return [f"wide = {' and '.join(tests)}"]


def _ended(nest: MapNest, tile: Tile, own: str, sums: Sequence[str]) -> list[str]:
    """The lines that work the map out and store: four columns at a time, whose sums then make room for the next."""
    fours, high = tile.across // FOUR, min(tile.down, FOUR)
    lines = [f"turn = quotient(four, {fours})"]
    lines += [f"i0 = top + row + quotient(turn, {high}) * {high * tile.rows // tile.down} + remainder(turn, {high})"]
    lines += [f"i1 = left + column + (four - turn * {fours}) * {FOUR * tile.columns // tile.across}", "if i0 < m:"]
    lines += nested(four_ended(nest, own))
    lines += [f"{x} = {y}" for x, y in zip(sums, sums[FOUR:], strict=False)]
    return ["four = 0", f"while four < {len(sums) // FOUR}:", *nested([*lines, "four += 1"])]


def four_ended(nest: MapNest, own: str) -> list[str]:
    """The lines that do the same of four columns from i1 on, of which ``sum0`` to ``sum3`` are the sums."""
    inside, sums = list[str](), [f"sum{n}" for n in range(FOUR)]
    if _is_wide(nest):
        values = [f"v0_{lane} = {cast(sums[lane], own, nest.dtypes[0])}" for lane in range(FOUR)]
        inside = [f"if wide and i1 + {FOUR} <= n:", *nested([*values, *_mapped(Lanes(nest, FOUR)), f"i1 += {FOUR}"])]
    one = [f"v0 = {cast(sums[0], own, nest.dtypes[0])}", *_mapped(Lanes(nest))]
    one += [f"{x} = {y}" for x, y in zip(sums[:3], sums[1:4], strict=True)]
    return [f"last = min(n, i1 + {FOUR})", *inside, "while i1 < last:", *nested([*one, "i1 += 1"])]


def _mapped(lanes: Lanes) -> list[str]:
    """The lines that compute what is stored from the product, and store it."""
    nest = lanes.nest
    values = [value for value in needed(nest, (value for value, _ in nest.stores)) if value > 0]
    return [*lanes.computed(values), *(line for i in range(len(nest.stores)) for line in lanes.stored(i))]


@lru_cache(maxsize=1 << 10)
def render_sums(dtype: str, nest: MapNest, literals: tuple[object, ...] = (), merged: bool = False) -> Source:
    """Return the kernel that adds up parts of products, and does the map over these; see `render_product`.

    ``sums`` has them, those of each part after each other, as they are computed with.

    Args:
        merged: Whether the columns of all products were those of one matrix.
    """
    place = "(i0 * count + group) * n + i1" if merged else "at"
    own = held(dtype)
    added = expression("add", own, ["sum0", "other"], {}, [own, own])
    others = [f"other{number}" for number in range(_SEVERAL)]
    read = [f"{x} = load_{own}(sums, (part + {i}) * count * m * n + place, 0)" for i, x in enumerate(others)]
    all_added = [f"sum0 = {expression('add', own, ['sum0', x], {}, [own, own])}" for x in others]
    lines = [*moved(nest), f"v0 = {cast('sum0', own, nest.dtypes[0])}", *_mapped(Lanes(nest))]
    names = ("count", "m", "n", "parts", "sums", *signature(nest))
    several = {"several": str(_SEVERAL), "read": _block(read), "added": _block(all_added)}
    ends = {"held": own, "place": place, "zero": literal(0, own), "sum": added, "ended": _block(lines)}
    return rendered("epilogue", names, "cuda", **several, **ends)


def stored(dtype: str) -> MapNest:
    """The map that stores a product as it is, in rows.

    >>> signature(stored("float32"))
    ('y0_begin', 'y0_batch', 'y0_s0')
    """
    rows = Operand(dtype, ("s", "1"))
    return MapNest(2, (rows,), (), ((0, rows),), (0, 1))
