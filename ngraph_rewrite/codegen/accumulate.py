# SPDX-License-Identifier: Apache-2.0
"""How each kind of reduction starts, takes in a value, and ends: as lines of text over accumulator names.

An accumulator is one or two variables. Sums and products of floats are kept in float64; a float64 sum also keeps the
rounding errors of its blocks, so that it is as accurate as pairwise summation.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ngraph_rewrite.codegen.scalar import cast, expression, literal

NOWHERE = literal(np.iinfo(np.int64).max, "int64")


@dataclass(frozen=True)
class Accumulator:
    """One reduction: its kind, the dtype of its values, and the name and dtype of each variable it keeps.

    If ``compensated``, blocks are summed apart and the rounding errors of adding them are kept.
    """

    kind: str
    dtype: str
    variables: tuple[tuple[str, str], ...]
    compensated: bool = False

    @property
    def result_dtype(self) -> str:
        """The dtype of its result."""
        return self.variables[-1][1] if self.kind in ("argmax", "argmin", "any", "all") else self.dtype


def accumulator(kind: str, dtype: str, number: int, *, one_sum: bool) -> Accumulator:
    """Return the accumulator of reduction ``number`` over values of a dtype; ``one_sum`` if it is a single variable."""
    name = f"a{number}"
    if kind in ("argmax", "argmin"):
        return Accumulator(kind, dtype, ((name, dtype), (f"{name}_at", "int64")))
    if kind in ("any", "all"):
        return Accumulator(kind, dtype, ((name, "bool"),))
    wide = kind in ("sum", "prod") and dtype.startswith("float")
    compensated = one_sum and kind == "sum" and dtype == "float64"
    return Accumulator(kind, dtype, ((name, "float64" if wide else dtype),), compensated)


def initial(item: Accumulator) -> list[str]:
    """Return the text of each variable before any value is seen: the identity of the reduction."""
    first = _extreme(item.dtype, lowest=item.kind in ("max", "argmax"))
    start = {"sum": 0, "prod": 1, "any": False, "all": True}.get(item.kind, first)
    return [literal(start if i == 0 else 0, dtype) for i, (_, dtype) in enumerate(item.variables)]


def _extreme(dtype: str, *, lowest: bool) -> object:
    if dtype == "bool":
        return not lowest
    if dtype.startswith("float"):
        return -np.inf if lowest else np.inf
    limits = np.iinfo(dtype)
    return limits.min if lowest else limits.max


def combined(item: Accumulator, value: str, *, free_order: bool) -> list[str]:
    """Return the lines that take one value in; ``free_order`` lets LLVM keep partial results in vector lanes.

    For argmax and argmin they find the extremum alone, which vectorises; `located` then finds its place.
    """
    name, held = item.variables[0]
    return [f"{name} = {_COMBINE[item.kind](item, name, cast(value, item.dtype, held), free_order)}"]


def located(item: Accumulator, value: str, position: str) -> list[str]:
    """Return the lines that keep the first position (row-major over the reduced loops) of a known extremum."""
    (name, _), (at, _) = item.variables
    return [f"{at} = accumulate_min({at}, select(same({value}, {name}), {position}, {NOWHERE}))"]


def followed(item: Accumulator, value: str, position: str) -> list[str]:
    """Return the lines that take one value in and keep its position, in one go."""
    (name, _), (at, _) = item.variables
    better = f"{'above' if item.kind == 'argmax' else 'below'}({value}, {name})"
    lines = [f"{name}_better = {better}", f"{name} = select({name}_better, {value}, {name})"]
    return [*lines, f"{at} = select({name}_better, {position}, {at})"]


def _arithmetic(op: str, free: str) -> Callable[[Accumulator, str, str, bool], str]:
    def text(item: Accumulator, name: str, value: str, free_order: bool) -> str:
        held = item.variables[0][1]
        if free_order and held == "float64":
            return f"{free}({name}, {value})"
        return expression(op, held, [name, value], {}, [held, held])

    return text


_COMBINE: dict[str, Callable[[Accumulator, str, str, bool], str]] = {
    "sum": _arithmetic("add", "add_reassociated"),
    "prod": _arithmetic("multiply", "multiply_reassociated"),
    "max": lambda item, name, value, free_order: f"accumulate_max({name}, {value})",
    "min": lambda item, name, value, free_order: f"accumulate_min({name}, {value})",
    "argmax": lambda item, name, value, free_order: f"accumulate_max({name}, {value})",
    "argmin": lambda item, name, value, free_order: f"accumulate_min({name}, {value})",
    "any": lambda item, name, value, free_order: f"{name} | {value}",
    "all": lambda item, name, value, free_order: f"{name} & {value}",
}


def result(item: Accumulator, number: int) -> str:
    """Return the line that gives value ``number`` its result."""
    name, held = item.variables[-1]
    text = f"compensated({name}, {name}_error)" if item.compensated else name
    return f"v{number} = {cast(text, held, item.result_dtype)}"
