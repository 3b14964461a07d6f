# SPDX-License-Identifier: Apache-2.0
"""How each kind of reduction starts, takes in a value, and ends: as lines of text over accumulator names.

An accumulator is one or two variables. Sums and products of floats are kept in float64. Sums along memory go by blocks:
of float64, the rounding errors of adding blocks are kept as well; of floats of 16 bits, of products and of what
functions give in float32, blocks are summed in float32, in as many sums as there are lanes in some vectors. So they are
as accurate as pairwise summation. A bfloat16 may be as large as a float32: so a 256th of each is summed, for which none
is too small.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ngraph_rewrite.codegen.scalar import cast, expression, held, is_real, literal

NOWHERE = literal(np.iinfo(np.int64).max, "int64")


@dataclass(frozen=True)
class Accumulator:
    """One reduction: its kind, the dtypes of its values and of its result, and the name and dtype of each variable.

    If ``guarded``, NaN is looked for beside the extremum, which is then one instruction. If ``compensated``, blocks are
    summed apart and the rounding errors of adding them are kept; if ``narrow``, blocks are summed in the dtype of the
    values, and their sums in float64.
    """

    kind: str
    dtype: str
    result_dtype: str
    variables: tuple[tuple[str, str], ...]
    compensated: bool = False
    narrow: bool = False
    guarded: bool = False

    @property
    def in_blocks(self) -> bool:
        """Whether blocks are summed apart."""
        return self.compensated or self.narrow

    @property
    def block_lines(self) -> tuple[list[str], list[str]]:
        """The lines before and after a block."""
        name = self.variables[0][0]
        if self.narrow:
            return [f"{name} = {literal(0, self.variables[0][1])}"], [f"{name}_total += {self.widened}"]
        return [f"{name}_total = {name}", f"{name} = 0.0"], [
            f"{name}_sum = {name}_total + {name}",
            f"{name}_error += rounding_error({name}_total, {name}, {name}_sum)",
            f"{name} = {name}_sum",
        ]

    @property
    def widened(self) -> str:
        """The sum of a block that was summed in float32, in float64."""
        if self.is_short:
            return cast(self.variables[0][0], "int32", self.dtype)
        whole = " * 256.0" if self.dtype == "bfloat16" else ""
        return f"to_float64({self.variables[0][0]}){whole}"

    @property
    def is_short(self) -> bool:
        """Whether its blocks are summed in 32 bits, of integers that have 16 at most."""
        return self.narrow and self.dtype in ("int64", "uint64")


def accumulator(
    kind: str, dtype: str, result: str, number: int, *, in_blocks: bool, narrow: bool = False, short: bool = False
) -> Accumulator:
    """Return the accumulator of reduction ``number`` over values of a dtype, which gives one of a dtype.

    Args:
        in_blocks: Whether it is a single variable, and its sums may go by blocks.
        narrow: Whether blocks are summed in float32 if its values are held so.
        short: Whether its values are integers of 16 bits at most that were widened: their blocks are summed in 32.
    """
    name = f"a{number}"
    kept = "float32" if dtype == "float16" else dtype  # LLVM has no vectors of float16 to choose from
    guarded = in_blocks and is_real(dtype) and kind in ("max", "min", "argmax", "argmin")
    if kind in ("argmax", "argmin"):
        return Accumulator(kind, dtype, result, ((name, kept), (f"{name}_at", "int64")), guarded=guarded)
    if guarded:
        return Accumulator(kind, dtype, result, ((name, kept),), guarded=True)
    if kind in ("any", "all"):
        return Accumulator(kind, dtype, result, ((name, "bool"),))
    wide = kind in ("sum", "prod") and is_real(dtype)
    if narrow and kind == "sum" and held(dtype) == "float32":
        return Accumulator(kind, dtype, result, ((name, dtype),), narrow=True)
    if short and in_blocks and kind == "sum":
        return Accumulator(kind, dtype, result, ((name, "int32"),), narrow=True)
    compensated = in_blocks and kind == "sum" and dtype == "float64"
    return Accumulator(kind, dtype, result, ((name, "float64" if wide else kept),), compensated)


def initial(item: Accumulator) -> list[str]:
    """Return the text of each variable before any value is seen: the identity of the reduction."""
    first = _extreme(item.dtype, lowest=item.kind in ("max", "argmax"))
    start = {"sum": 0, "prod": 1, "any": False, "all": True}.get(item.kind, first)
    return [literal(start if i == 0 else 0, dtype) for i, (_, dtype) in enumerate(item.variables)]


def beginning(item: Accumulator) -> list[str]:
    """Return the lines that set each variable, and what blocks are added to, before any value is seen."""
    lines = [f"{name} = {text}" for (name, _), text in zip(item.variables, initial(item), strict=True)]
    name = item.variables[0][0]
    lines += [f"{name}_error = 0.0"] * item.compensated
    lines += [f"{name}_total = {literal(0, item.dtype) if item.is_short else '0.0'}"] * item.narrow
    return lines + [f"{name}_nan = False"] * item.guarded


def ending(item: Accumulator) -> list[str]:
    """Return the lines that follow when all values were seen."""
    name, dtype = item.variables[0]
    return [f"{name} = select({name}_nan, {literal(np.nan, dtype)}, {name})"] if item.guarded else []


def _extreme(dtype: str, *, lowest: bool) -> object:
    if dtype == "bool":
        return not lowest
    if is_real(dtype):
        return -np.inf if lowest else np.inf
    limits = np.iinfo(dtype)
    return limits.min if lowest else limits.max


def combined(item: Accumulator, value: str, *, free_order: bool) -> list[str]:
    """Return the lines that take one value in; ``free_order`` lets LLVM keep partial results in vector lanes.

    For argmax and argmin they find the extremum alone, which vectorises; `located` then finds its place.
    """
    name, held = item.variables[0]
    if item.guarded:
        lines = [f"{name} = number_{item.kind[-3:]}({name}, {value})"]
        return [*lines, f"{name}_nan = {name}_nan | ({value} != {value})"]
    if item.narrow and item.dtype == "bfloat16":
        value = f"{value} * {literal(1 / 256, 'float32')}"
    return [f"{name} = {_COMBINE[item.kind](item, name, cast(value, item.dtype, held), free_order)}"]


def located(item: Accumulator, value: str, position: str, nowhere: str = NOWHERE) -> list[str]:
    """Return the lines that keep the first position (row-major over the reduced loops) of a known extremum.

    Args:
        nowhere: The position of all else, behind those that are asked about.
    """
    (name, _), (at, _) = item.variables
    return [f"{at} = accumulate_min({at}, select(same({value}, {name}), {position}, {nowhere}))"]


def followed(item: Accumulator, value: str, position: str) -> list[str]:
    """Return the lines that take one value in and keep its position, in one go."""
    (name, _), (at, _) = item.variables
    better = f"{'above' if item.kind == 'argmax' else 'below'}({value}, {name})"
    lines = [f"{name}_better = {better}", f"{name} = select({name}_better, {value}, {name})"]
    return [*lines, f"{at} = select({name}_better, {position}, {at})"]


def _extremum(item: Accumulator, name: str, value: str, free_order: bool) -> str:
    which = item.kind[-3:]
    return f"accumulate_{which}({name}, {value})" if free_order else f"{which}imum({name}, {value})"


def _arithmetic(op: str, free: str) -> Callable[[Accumulator, str, str, bool], str]:
    def text(item: Accumulator, name: str, value: str, free_order: bool) -> str:
        held = item.variables[0][1]
        if free_order and (held == "float64" or (item.narrow and not item.is_short)):
            return f"{free}({name}, {value})"
        return expression(op, held, [name, value], {}, [held, held])

    return text


_COMBINE: dict[str, Callable[[Accumulator, str, str, bool], str]] = {
    "sum": _arithmetic("add", "add_reassociated"),
    "prod": _arithmetic("multiply", "multiply_reassociated"),
    "max": _extremum,
    "min": _extremum,
    "argmax": _extremum,
    "argmin": _extremum,
    "any": lambda item, name, value, free_order: f"{name} | {value}",
    "all": lambda item, name, value, free_order: f"{name} & {value}",
}


def result(item: Accumulator, given: str) -> str:
    """Return the line that gives a name the result."""
    name, held = item.variables[-1]
    if item.narrow:
        total = item.dtype if item.is_short else "float64"
        return f"{given} = {cast(f'{name}_total', total, item.result_dtype)}"
    text = f"compensated({name}, {name}_error)" if item.compensated else name
    return f"{given} = {cast(text, held, item.result_dtype)}"
