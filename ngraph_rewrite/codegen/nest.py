# SPDX-License-Identifier: Apache-2.0
"""A loop nest as data: strided operands, scalar steps in single-assignment form, and where results go.

Values are numbered: first one for each load, then one for each step. Nothing here names a variable, so two nests that
differ only in names are equal. The steps of a `RowNest` may be reductions, and later ones use what these found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ngraph_rewrite.codegen.scalar import DTYPES, IN_DOUBLE, expression
from ngraph_rewrite.errors import KernelError

REDUCTIONS = ("sum", "prod", "max", "min", "argmax", "argmin", "any", "all")
FUNCTIONS = frozenset(
    "exp exp2 expm1 tanh sigmoid erf erfinv lgamma digamma trigamma log log2 log10 log1p sin cos tan sinh cosh power "
    "cbrt asin acos atan atan2 asinh acosh atanh".split()
    + [*IN_DOUBLE]
)
_CHOICES = ("maximum", "minimum", "select")  # give one of their operands
_STRIDE = re.compile(r"_s\d+$")
# Strides that are worth being in the text of a kernel: backwards, and every second, third or fourth element.
SHUFFLED = ("-1", "2", "3", "4")


@dataclass(frozen=True)
class Operand:
    """An array seen from a loop nest: for each loop, its stride in elements.

    ``"0"`` means the loop does not move it (broadcast), ``"1"`` unit stride, ``"s"`` a stride given at run time.
    That of the last loop may be one of `SHUFFLED`, which LLVM reads in vectors and shuffles.
    """

    dtype: str
    strides: tuple[str, ...]

    @property
    def dims(self) -> frozenset[int]:
        """The loops that move it."""
        return frozenset(dim for dim, stride in enumerate(self.strides) if stride != "0")


@dataclass(frozen=True)
class Step:
    """One scalar operation on earlier values; see `ngraph_rewrite.codegen.scalar.expression` for the operations."""

    op: str
    dtype: str
    operands: tuple[int, ...] = ()
    attributes: tuple[tuple[str, object], ...] = ()


@dataclass(frozen=True)
class _Nest:
    rank: int
    loads: tuple[Operand, ...]
    steps: tuple[Step, ...]
    stores: tuple[tuple[int, Operand], ...]
    buffer_of: tuple[int, ...]
    streamed: bool = field(default=False, kw_only=True)

    @property
    def operands(self) -> tuple[Operand, ...]:
        """The loads, then the stores: the order of the arguments and of ``buffer_of``."""
        return self.loads + tuple(operand for _, operand in self.stores)

    @cached_property
    def buffers(self) -> tuple[int, ...]:
        """``buffer_of`` numbered by first appearance, so that equal kernels have equal text."""
        number: dict[int, int] = {}
        return tuple(number.setdefault(buffer, len(number)) for buffer in self.buffer_of)

    @cached_property
    def dtypes(self) -> tuple[str, ...]:
        """The dtype of each load and step."""
        return tuple(load.dtype for load in self.loads) + tuple(step.dtype for step in self.steps)

    @cached_property
    def dims(self) -> tuple[frozenset[int], ...]:
        """For each load and step, the loops its value depends on."""
        found = [load.dims for load in self.loads]
        for step in self.steps:
            own = [frozenset([int(str(dict(step.attributes)["dim"]))])] if step.op == "index" else []
            used = frozenset().union(*own, *(found[value] for value in step.operands))
            found.append(used - self.within if step.op in REDUCTIONS else used)
        return tuple(found)

    @property
    def within(self) -> frozenset[int]:
        """The loops over which its reductions reduce."""
        return frozenset()

    def _check(self) -> None:
        if len(self.buffer_of) != len(self.operands):
            raise KernelError(f"{len(self.buffer_of)} buffers for {len(self.operands)} operands")
        for operand in self.operands:
            if len(operand.strides) != self.rank or not {*operand.strides} <= {"0", "1", "s", *SHUFFLED}:
                raise KernelError(f"strides {operand.strides} do not fit a nest of rank {self.rank}")
            if operand.dtype not in DTYPES:
                raise KernelError(f"no kernels for dtype {operand.dtype}")
        for number, step in enumerate(self.steps, len(self.loads)):
            if not all(0 <= value < number for value in step.operands):
                raise KernelError(f"step {number} ({step.op}) uses values {step.operands}, not all of them earlier")


@dataclass(frozen=True)
class MapNest(_Nest):
    """A scalar expression at every index: loads, steps, and the values that are stored.

    ``buffer_of`` gives each load, then each store, the number of its memory. A store with a load's number takes its
    place: at run time their addresses and strides must be equal. Operands with different numbers must not overlap if
    one of them is written. If `streamed`, results go past the caches, as far as they lie side by side; none may then
    take the place of a load.

    Attributes:
        few: The length of the last loop if it is told (`short_loops`): that is short, and every stride given at run
            time along the loop before it is as long; else 0.
        filled: Whether what is left of the last loop behind whole vectors is taken as a part of one.
    """

    few: int = field(default=0, kw_only=True)
    filled: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        self._check()
        for value, _ in self.stores:
            if not 0 <= value < len(self.dtypes):
                raise KernelError(f"store of value {value}, but the nest has {len(self.dtypes)}")


@dataclass(frozen=True)
class RowNest(_Nest):
    """Scalar expressions over rows, reductions of them, and expressions of both, in as many passes as these ask for.

    A row is what the `reduced` loops run over at one index of the others. A step whose `op` is one of `REDUCTIONS`
    reduces its operand over these loops, to a number of the operand's dtype (int64 for argmax and argmin, bool for any
    and all; sums and products of floats may be float64) that is the same all over the row. Stores give a stride for
    every loop: one that no reduced loop moves takes a value once a row, any other at every index. No buffer is shared.

    Attributes:
        reduced: For each loop whether rows run along it.
        streamed: Whether results go past the caches, where they lie side by side.
        totals: Values that are summed over all rows, where rows lie along memory: each chunk adds to a row of its own,
            in float64.
        few: The length of the last loop if it is told, as it is short; else 0. If rows lie along it, every stride given
            at run time along the loop before it is as long.
        filled: Whether what is left of a row behind whole vectors is taken as a part of one.
        long: Whether rows are so long that integers of 16 bits at most are summed in 32, block by block, and truths are
            looked at until they settle the result.
        parts: Whether all rows are parts of one, of which the first may say what all of it gives.
    """

    reduced: tuple[bool, ...] = ()
    totals: tuple[int, ...] = ()
    few: int = field(default=0, kw_only=True)
    filled: bool = field(default=False, kw_only=True)
    long: bool = field(default=False, kw_only=True)
    parts: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        self._check()
        if len(self.reduced) != self.rank:
            raise KernelError(f"reduced has {len(self.reduced)} flags for a nest of rank {self.rank}")
        for value, operand in self.stores:
            if not 0 <= value < len(self.dtypes):
                raise KernelError(f"store of value {value}, but the nest has {len(self.dtypes)}")
            if self.dims[value] & self.within and not operand.dims & self.within:
                raise KernelError(f"value {value} changes along a row, the place where it is stored does not")
        if self.totals and not (
            self.reduced and self.reduced[-1] and all(0 <= v < len(self.dtypes) for v in self.totals)
        ):
            raise KernelError(f"values {self.totals} cannot be summed over rows")

    @cached_property
    def within(self) -> frozenset[int]:
        """The loops that run over a row."""
        return frozenset(dim for dim, flag in enumerate(self.reduced) if flag)

    @cached_property
    def along(self) -> list[int]:
        """The loops that run over a row, outermost first."""
        return sorted(self.within)

    @cached_property
    def kept(self) -> list[int]:
        """The loops that run over rows, outermost first."""
        return [dim for dim, reduced in enumerate(self.reduced) if not reduced]

    @cached_property
    def stages(self) -> tuple[int, ...]:
        """For each load and step, after how many passes over the row it is known."""
        found = [0] * len(self.loads)
        for step in self.steps:
            last = max((found[value] for value in step.operands), default=0)
            found.append(last + (step.op in REDUCTIONS))
        return tuple(found)

    @property
    def is_read_again(self) -> bool:
        """Whether there is more than one pass over a row, or one that stores along it."""
        return max(self.stages, default=0) > 1 or any(at.dims & self.within for _, at in self.stores)

    @property
    def is_whole(self) -> bool:
        """Whether one chunk computes all: there is a single row, or nothing but a few that are a part of a vector."""
        return not self.kept or (self.few > 0 and self.kept == [self.rank - 1])

    @property
    def reductions(self) -> tuple[int, ...]:
        """The values that are reductions."""
        return tuple(n for n, step in enumerate(self.steps, len(self.loads)) if step.op in REDUCTIONS)


# -- text shared by both renderers -------------------------------------------------------------------------------------


def signature(nest: _Nest) -> tuple[str, ...]:
    """The arguments: sizes ``n0..``, then for each operand its address and its run-time strides, then numbers."""
    names = [f"n{dim}" for dim in range(nest.rank)]
    for name, operand in zip(operand_names(nest), nest.operands, strict=True):
        names += [name] + [f"{name}_s{dim}" for dim, stride in enumerate(operand.strides) if stride == "s"]
    return (*names, *numbers(nest))


def numbers(nest: _Nest) -> tuple[str, ...]:
    """``c0 c1 ..`` for the steps that are arguments."""
    return tuple(f"c{dict(step.attributes)['at']}" for step in nest.steps if step.op == "number")


def operand_names(nest: _Nest) -> list[str]:
    """``x0 x1 ..`` for loads and ``y0 y1 ..`` for stores."""
    return [f"x{i}" for i in range(len(nest.loads))] + [f"y{i}" for i in range(len(nest.stores))]


def argument_lines(names: Sequence[str], steps: Iterable[Step] = ()) -> str:
    """The lines that read the argument block.

    For cheap steps LLVM compiles a loop for a stride of 1 and one, an element at a time, for all others. Functions are
    worth collecting the elements for: then the reads of strides keep it from that.
    """
    word = "stride" if any(step.op in FUNCTIONS for step in steps) else "argument"
    reads = (word if _STRIDE.search(name) else "argument" for name in names)
    return "\n".join(f"{name} = {read}(args, {i})" for i, (name, read) in enumerate(zip(names, reads, strict=True)))


def place(name: str, operand: Operand) -> str:
    """The index, in elements, of an operand at the current loop indices."""
    factors = {"1": "i{dim}", "s": "i{dim} * {name}_s{dim}"} | {s: f"i{{dim}} * {s}" for s in SHUFFLED}
    terms = [factors[s].format(dim=d, name=name) for d, s in enumerate(operand.strides) if s != "0"]
    return " + ".join(terms) or "0"


def distance(name: str, operand: Operand, dim: int) -> str:
    """How many elements there are from one index of a loop to the next."""
    stride = operand.strides[dim]
    return f"{name}_s{dim}" if stride == "s" else stride


def value_line(nest: _Nest, number: int) -> str:
    """The assignment of one load or step."""
    if number < len(nest.loads):
        load = nest.loads[number]
        return f"v{number} = load_{load.dtype}(x{number}, {place(f'x{number}', load)}, {nest.buffers[number]})"
    return step_line(number, nest.steps[number - len(nest.loads)], nest.dtypes)


def value_in_place(nest: _Nest, number: int) -> str:
    """The same of a nest whose stores are in place, on a processor: what is stored may be what was there already."""
    line, after = value_line(nest, number), len(nest.loads)
    stored = nest.buffers[after:]
    chosen = any(step.op in _CHOICES and number in step.operands for step in nest.steps)
    if number >= after or not chosen or nest.buffers[number] not in stored:
        return line
    name, _, loaded = line.partition(" = ")
    return f"{name} = overwritten({loaded})"


def step_line(number: int, step: Step, dtypes: Sequence[str]) -> str:
    """The assignment of one step, given the dtypes of the values before it."""
    operands = [f"v{value}" for value in step.operands]
    attributes: Mapping[str, object] = dict(step.attributes)
    return f"v{number} = {expression(step.op, step.dtype, operands, attributes, [dtypes[v] for v in step.operands])}"


def store_line(nest: _Nest, position: int, dtypes: Sequence[str]) -> str:
    """The store of one result; a value of another dtype is converted."""
    value, operand = nest.stores[position]
    text = expression("cast", operand.dtype, [f"v{value}"], {}, [dtypes[value]])
    name, buffer = stored_name(nest, position), nest.buffers[len(nest.loads) + position]
    return f"store_{operand.dtype}({name}, {place(name, operand)}, {text}, {buffer})"


def stored_name(nest: _Nest, position: int) -> str:
    """The name of a store; in place, that of the load, as LLVM would not know two addresses to be one."""
    buffer, operand = nest.buffers[len(nest.loads) + position], nest.stores[position][1]
    for number, load in enumerate(nest.loads):
        if nest.buffers[number] == buffer and load.strides == operand.strides:
            return f"x{number}"
    return f"y{position}"


def needed(nest: _Nest, roots: Iterable[int]) -> list[int]:
    """The loads and steps that some values are computed from, in order."""
    found: set[int] = set()
    pending = [value for value in roots if value < len(nest.dtypes)]
    while pending:
        value = pending.pop()
        if value not in found:
            found.add(value)
            if value >= len(nest.loads):
                pending += nest.steps[value - len(nest.loads)].operands
    return sorted(found)
