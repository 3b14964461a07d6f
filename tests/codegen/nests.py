# SPDX-License-Identifier: Apache-2.0
"""Drawn loop nests with arrays to run them on: any layout, broadcasts, updates in place, lengths of zero."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st
from running import Array, evaluate

from ngraph_rewrite.codegen.loops import REDUCTIONS, MapNest, Operand, RowNest, Step
from ngraph_rewrite.types.dtypes import is_float

NEST_DTYPES = ["bool", "int8", "int32", "uint64", "float16", "float32", "float64"]
_REAL_OPS = ["add", "subtract", "multiply", "maximum", "minimum"]


@dataclass
class Case:
    """A nest, its lengths, and arrays shaped like the whole index space (broadcast where the nest broadcasts)."""

    nest: Any
    lengths: tuple[int, ...]
    loads: list[Array]
    stores: list[Array]
    chunks: int


@st.composite
def lengths(draw: st.DrawFn, low: int, high: int) -> tuple[int, ...]:
    rank = draw(st.integers(low, high))
    return tuple(draw(st.lists(st.sampled_from([0, 1, 2, 3, 5]), min_size=rank, max_size=rank)))


@st.composite
def strided(draw: st.DrawFn, shape: tuple[int, ...], dtype: str, fixed: tuple[bool, ...]) -> tuple[Array, Operand]:
    """A view of an array in a drawn memory order, spread or not, that the loops marked fixed do not move."""
    rank = len(shape)
    order = draw(st.permutations(range(rank)))
    step = draw(st.sampled_from([1, 1, 2]))
    own = [1 if fixed[dim] else shape[dim] for dim in order]
    wide = [*own[:-1], own[-1] * step] if own else []
    values = np.random.default_rng(draw(st.integers(0, 99))).integers(0 if dtype[0] == "u" else -2, 3, wide)
    base = values.astype(dtype).reshape(wide)[(..., slice(None, None, step)) if own else ()]
    array = base.transpose(np.argsort(order)) if rank else base
    full = np.lib.stride_tricks.as_strided(
        array, shape, [0 if fixed[dim] else array.strides[dim] for dim in range(rank)], writeable=True
    )
    classes = ["0" if s == 0 else "1" if s == full.itemsize else "s" for s in full.strides]
    return full, Operand(dtype, tuple(classes))


@st.composite
def steps(draw: st.DrawFn, dtype: str, loads: int, rank: int) -> tuple[Step, ...]:
    found: list[Step] = []
    for number in range(loads, loads + draw(st.integers(0, 4))):
        value = st.integers(0, number - 1)
        kind = draw(st.sampled_from(["arithmetic", "arithmetic", "select", "index", "constant"]))
        if kind == "index" and rank:
            found.append(Step("index", dtype, (), (("dim", draw(st.integers(0, rank - 1))),)))
        elif kind == "select":
            found.append(Step("select", dtype, (draw(value), draw(value), draw(value))))
        elif kind == "arithmetic":
            ops = ["add", "multiply", "maximum"] if dtype == "bool" else _REAL_OPS
            found.append(Step(draw(st.sampled_from(ops)), dtype, (draw(value), draw(value))))
        else:
            found.append(Step("constant", dtype, (), (("value", draw(st.integers(0, 2))),)))
    return tuple(found)


@st.composite
def map_cases(draw: st.DrawFn) -> Case:
    size, dtype = draw(lengths(0, 4)), draw(st.sampled_from(NEST_DTYPES))
    rank, count = len(size), draw(st.integers(1, 3))
    flags = st.lists(st.booleans(), min_size=rank, max_size=rank).map(tuple)
    loads = [draw(strided(size, dtype, draw(flags))) for _ in range(count)]
    body = draw(steps(dtype, count, rank))
    targets = draw(st.lists(st.integers(0, count + len(body) - 1), min_size=1, max_size=2))
    outputs = [draw(strided(size, dtype, (False,) * rank)) for _ in targets]
    buffers = list(range(count + len(targets)))
    whole = [i for i, (_, operand) in enumerate(loads) if "0" not in operand.strides]
    if whole and draw(st.booleans()):  # the first result takes the place of an operand
        outputs[0], buffers[count] = loads[whole[0]], buffers[whole[0]]
    stores = tuple((value, operand) for value, (_, operand) in zip(targets, outputs, strict=True))
    nest = MapNest(rank, tuple(operand for _, operand in loads), body, stores, tuple(buffers))
    return Case(nest, size, [x for x, _ in loads], [y for y, _ in outputs], draw(st.integers(1, 4)))


def reducing(reductions: Sequence[tuple[str, int]], dtype: str) -> tuple[Step, ...]:
    """Reductions of values of one dtype as steps."""
    own = {"argmax": "int64", "argmin": "int64", "any": "bool", "all": "bool"}
    return tuple(Step(kind, own.get(kind, dtype), (value,)) for kind, value in reductions)


@st.composite
def reduce_cases(draw: st.DrawFn) -> Case:
    size, dtype = draw(lengths(1, 4)), draw(st.sampled_from(NEST_DTYPES))
    rank, count = len(size), draw(st.integers(1, 2))
    reduced = tuple(draw(st.lists(st.booleans(), min_size=rank, max_size=rank)))
    flags = st.lists(st.booleans(), min_size=rank, max_size=rank).map(tuple)
    loads = [draw(strided(size, dtype, draw(flags))) for _ in range(count)]
    loads.append(draw(strided(size, dtype, reduced)))  # the epilogue may use what no reduced loop moves
    body = draw(steps(dtype, count, rank))
    body = tuple(Step(s.op, s.dtype, tuple(v + (v >= count) for v in s.operands), s.attributes) for s in body)
    values = [v for v in range(count + 1 + len(body)) if v != count]
    kinds = ["sum", "prod", "max", "min", "argmax", "argmin", "any", "all"]
    pairs = st.tuples(st.sampled_from(kinds), st.sampled_from(values))
    reductions = tuple(draw(st.lists(pairs, min_size=1, max_size=2)))
    first = count + 1 + len(body)
    last = first + len(reductions)
    epilogue = (Step("maximum", dtype, (first, count)),) if draw(st.booleans()) else ()
    operands = tuple(operand for _, operand in loads)
    body = (*body, *reducing(reductions, dtype), *epilogue)
    targets = [*range(first, last), *([last] if epilogue else [])]
    dtypes = [body[target - count - 1].dtype for target in targets]
    outputs = [draw(strided(size, own, reduced)) for own in dtypes]
    stores = tuple((value, operand) for value, (_, operand) in zip(targets, outputs, strict=True))
    buffers = tuple(range(count + 1 + len(stores)))
    nest = RowNest(rank, operands, body, stores, buffers, reduced)
    return Case(nest, size, [x for x, _ in loads], [y for y, _ in outputs], draw(st.integers(1, 4)))


# -- what a nest means -------------------------------------------------------------------------------------------------


def values_of(case: Case) -> list[Array]:
    """Every load and step over the whole index space."""
    found = [x.copy() for x in case.loads]
    for step in case.nest.steps:
        value = evaluate(step, [found[number] for number in step.operands], case.lengths)
        found.append(np.broadcast_to(value, case.lengths))
    return found


def reduced_value(kind: str, x: Array, axes: tuple[int, ...]) -> Array:
    """A reduction that keeps its axes with length 1; floats are summed in float64; empty ones give the identity."""
    with np.errstate(all="ignore"):
        if kind in ("argmax", "argmin"):
            kept = [dim for dim in range(x.ndim) if dim not in axes]
            rows = x.transpose(*kept, *axes).reshape([x.shape[dim] for dim in kept] + [-1 if x.size else 0])
            place = getattr(np, kind)(rows, axis=-1) if rows.shape[-1] else np.zeros(rows.shape[:-1], "int64")
            return np.expand_dims(place, axes).astype("int64")
        if kind in ("max", "min"):
            return getattr(np, kind)(x, axis=axes, keepdims=True, initial=extreme(x.dtype, lowest=kind == "max"))
        if kind in ("any", "all"):
            return getattr(np, kind)(x, axis=axes, keepdims=True)
        if x.dtype == bool:
            return getattr(np, "any" if kind == "sum" else "all")(x, axis=axes, keepdims=True)
        wide = "float64" if is_float(x.dtype) else x.dtype
        return getattr(np, kind)(x, axis=axes, keepdims=True, dtype=wide).astype(x.dtype)


def extreme(dtype: Any, *, lowest: bool) -> Any:
    if dtype.kind == "b":
        return not lowest
    if is_float(dtype):
        return -np.inf if lowest else np.inf
    return np.iinfo(dtype).min if lowest else np.iinfo(dtype).max


# -- rows --------------------------------------------------------------------------------------------------------------


@st.composite
def row_steps(draw: st.DrawFn, dtype: str, loads: int, rank: int, functions: bool) -> tuple[Step, ...]:
    """Arithmetic, reductions, and perhaps functions; what a reduction gives of another dtype, no step uses."""
    found: list[Step] = []
    usable = list(range(loads))
    ops = ["add", "multiply", "maximum"] if dtype == "bool" else ["add", "subtract", "maximum", "minimum"]
    for number in range(loads, loads + draw(st.integers(1, 8))):
        kind = draw(st.sampled_from(["arithmetic", "reduction", "index", "function" if functions else "arithmetic"]))
        value = draw(st.sampled_from(usable))
        if kind == "function":
            found.append(Step(draw(st.sampled_from(["tanh", "sigmoid"])), dtype, (value,)))
        elif kind == "reduction":
            kinds = ["sum", "max", "min"] if functions else ["sum", "max", "min", "any", "argmax", "argmin"]
            op = draw(st.sampled_from(kinds))
            own = {"any": "bool", "argmax": "int64", "argmin": "int64"}.get(op, dtype)
            found.append(Step(op, own, (value,)))
        elif kind == "index" and dtype != "bool":
            found.append(Step("index", dtype, (), (("dim", draw(st.integers(0, rank - 1))),)))
        else:
            found.append(Step(draw(st.sampled_from(ops)), dtype, (value, draw(st.sampled_from(usable)))))
        usable += [number] * (found[-1].dtype == dtype)
    return tuple(found)


@st.composite
def row_cases(draw: st.DrawFn, functions: bool = False) -> Case:
    """A nest over rows with up to three results, each of them once a row or at every index."""
    size = draw(lengths(1, 4))
    dtype = "float64" if functions else draw(st.sampled_from(NEST_DTYPES))
    rank, count = len(size), draw(st.integers(1, 3))
    reduced = tuple(draw(st.lists(st.booleans(), min_size=rank, max_size=rank)))
    flags = st.lists(st.booleans(), min_size=rank, max_size=rank).map(tuple)
    loads = [draw(strided(size, dtype, draw(flags))) for _ in range(count)]
    body = draw(row_steps(dtype, count, rank, functions))
    operands = tuple(operand for _, operand in loads)
    bare = RowNest(rank, operands, body, (), tuple(range(count)), reduced)
    targets = draw(st.lists(st.integers(0, count + len(body) - 1), min_size=1, max_size=3, unique=True))
    outputs = []
    for target in targets:
        once = not bare.dims[target] & bare.within and draw(st.booleans())
        outputs.append(draw(strided(size, bare.dtypes[target], reduced if once else (False,) * rank)))
        assume(once or "0" not in outputs[-1][1].strides)  # as an array without elements may have it
    stores = tuple((value, operand) for value, (_, operand) in zip(targets, outputs, strict=True))
    nest = RowNest(rank, operands, body, stores, tuple(range(count + len(stores))), reduced)
    return Case(nest, size, [x for x, _ in loads], [y for y, _ in outputs], draw(st.integers(1, 4)))


def row_values(case: Case) -> list[Array]:
    """Every load and step of a nest over rows, over the whole index space."""
    nest = case.nest
    axes = tuple(dim for dim in range(nest.rank) if nest.reduced[dim])
    found = [x.copy() for x in case.loads]
    for step in nest.steps:
        operands = [found[number] for number in step.operands]
        value = (
            reduced_value(step.op, operands[0], axes)
            if step.op in REDUCTIONS
            else evaluate(step, operands, case.lengths)
        )
        found.append(np.broadcast_to(value, case.lengths))
    return found
