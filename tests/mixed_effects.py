# SPDX-License-Identifier: Apache-2.0
"""The steps of mixed programs that are no single op: stores, sequences, blocks, initial values, functions and scans."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

import numpy as np
from mixed import FEW, FLOAT64, Program

import ngraph_rewrite as ng
from ngraph_rewrite import semi
from ngraph_rewrite.rewriting.domain import COMMON_FIRST
from ngraph_rewrite.terms.catalogue import OpDef
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import Axis
from ngraph_rewrite.types.lengths import Length
from ngraph_rewrite.types.tensor import TensorType

Step = Callable[[Program], Op]
# Of integers they make integers, so that a state stays one without being looked at.
_INTEGRAL = "add subtract multiply maximum minimum negative absolute square".split()


def some_type(p: Program, least: int = 0) -> TensorType:
    """A type of known lengths in any family, of numbers that can be negative."""
    pool = replace(p, unknown=False).domain().pool(p.random.choice(("axes", "simple", "numpy", "semi")))
    type_ = p.random.choice([t for t in pool if t.rank >= least])
    return type_ if type_.dtype.kind in "if" and not p.smooth else type_.with_dtype(FLOAT64)


def storable(p: Program, type_: TensorType) -> Op:
    """What a step stores. A variable is a leaf for derivatives, so in smooth programs it depends on nothing else."""
    return p.leaf(type_, "variable") * 2 if p.smooth else p.argument(type_)


def stored(p: Program) -> Op:
    """What a variable is at several places of a sequence that changes it."""
    type_ = some_type(p)
    v = p.leaf(type_, "variable")
    old = ng.value_of(v)
    steps = [old, ng.assign(v, storable(p, type_)), ng.assign(v, v - old), (v + old) * p.argument(type_)]
    return ng.sequential(steps)


def part_stored(p: Program) -> Op:
    """A variable, after a part of it was replaced."""
    v = p.leaf(some_type(p, 1), "variable")
    items = slice(None, None, -1), slice(1, None), slice(None, None, 2), slice(0, 0), ...
    part = v[p.random.choice(items) if any(not a.roles for a in v.axes) else ...]  # marked axes take no index
    return ng.sequential([ng.assign(part, storable(p, part.type)), v]) * p.argument(v.type)


def exchanged(p: Program) -> Op:
    """Two variables that all at once get each other's values."""
    type_ = some_type(p)
    v, w = p.leaf(type_, "variable"), p.leaf(type_, "variable")
    swap = ng.doall([ng.assign(v, w), ng.assign(w, v + storable(p, type_))])
    return ng.sequential([swap, ng.doall([swap]), (v - w) * p.argument(type_)])


def in_a_block(p: Program) -> Op:
    """Reads that a block puts after the writes built before them."""
    type_ = some_type(p)
    v, x, y = p.leaf(type_, "variable"), p.argument(type_), storable(p, type_)
    with ng.ordered():
        before = v + x
        ng.assign(v, y)
        between = v * 2
        ng.assign(v, between)
        return v - before


def waiting(p: Program) -> Op:
    """A term that waits for a store, and carries a fact."""
    type_ = some_type(p)
    v = p.leaf(type_, "variable")
    x = p.argument(type_)
    return ng.annotated(ng.after(x + v, ng.assign(v, storable(p, type_))), x, schema="drawn")


def initialised(p: Program) -> Op:
    """A variable that begins as what a term is, which is computed of constants and another variable."""
    type_ = some_type(p)
    own = replace(p, terms=[p.leaf(type_, "constant"), p.leaf(type_, "variable")], smooth=False, unknown=False)
    own.step(own.pick(lambda d: not d.traits & {"draw"}))
    value = own.integers(own.shaped(own.terms[-1], type_), type_)
    return ng.variable(type_.axes, type_.dtype, initial_value=value) * 2


def called(p: Program) -> Op:
    """A function of two results, called twice."""
    types = [some_type(p) for _ in range(p.random.randint(1, 2))]
    parameters = [ng.parameter(t.axes, t.dtype) for t in types]
    f = ng.function(parameters, tuple(inside(p, parameters, 2)), name="drawn")
    first = f(*map(p.argument, types))
    second = f(*map(p.argument, types))
    return ng.make_tuple(*first, second[-1])


def scanned(p: Program) -> Op:
    """A scan by name or by position, of drawn length, in either direction, whose step uses a term of outside."""
    state, other = some_type(p), some_type(p)
    unknown = p.unknown and p.random.random() < 0.3
    axis = Axis("REC", Length.symbol("N") if unknown else p.random.choice((2, 3, 1, 0)))
    reverse = p.random.random() < 0.5
    named = p.random.random() < 0.5
    state, other = (_of_family(t, named) for t in (state, other))
    sequence = p.argument(TensorType(other.dtype, [axis, *other.axes] if named else [axis.length, *other.shape]))
    outside = p.argument(state)

    def step(s: Op, x: Op) -> tuple[Op, Op]:
        own = inside(p, [s, x], 1, lambda d: d.short in _INTEGRAL or p.smooth)[0]
        output = inside(p, [s, x], 1)[0]
        return fitted(p, own, outside), relabelled(output, named)

    if named:
        last, outputs = ng.scan(step, p.argument(state), sequence, axis=axis, reverse=reverse)
    else:
        last, outputs = semi.scan(step, p.argument(state), sequence, reverse=reverse)
    return ng.make_tuple(last, outputs)


def fitted(p: Program, x: Op, like: Op) -> Op:
    """A term of the type of another one that depends on both."""
    own = replace(p, rounded=[])
    if p.smooth:
        return own.smoothed(own.shaped(x, like.type), like.type) - like
    return own.integers(own.shaped(x, like.type), like.type) - like


def inside(p: Program, terms: list[Op], count: int, fits: Callable[[OpDef], bool] = lambda d: True) -> list[Op]:
    """Ops of the parameters of a function or scan: one of each result only, as no rounding can be looked at there."""
    found: list[Op] = []
    while len(found) < count:
        own = replace(p, terms=list(terms), rounded=[], unknown=False)
        own.step(own.pick(lambda d: fits(d) and not d.traits & {"draw"}))
        found += own.terms[len(terms) :]
    return found[:count]


def relabelled(x: Op, named: bool) -> Op:
    """The same numbers with names, or without."""
    x = ng.strip(x) if x.rank else x
    return ng.label(x, [Axis(f"S{i}", n) for i, n in enumerate(x.shape)]) if named and x.rank else x


def _of_family(type_: TensorType, named: bool) -> TensorType:
    if not named or type_.axes.named:
        return type_ if named else type_.stripped()
    return type_.with_axes(Axis(f"S{i}", n) for i, n in enumerate(type_.shape))


EFFECTS: list[Step] = [stored, part_stored, exchanged, in_a_block, waiting, initialised, called, scanned]


def grown(hand: Sequence[OpDef], number: int, seed: int, smooth: bool = False) -> Program:
    """A program of the ops of a hand and of two of the other steps, over three leaves, one of unknown length."""
    few = (FLOAT64, np.dtype(bool)) if smooth else FEW
    p = Program(Random(f"{number} {seed}"), smooth, few if smooth or number % 4 else COMMON_FIRST)
    for type_ in (TensorType(FLOAT64, [Axis("N")]), TensorType(FLOAT64, {"H": 2, "W": 3}), TensorType(few[1], (3,))):
        p.terms.append(p.leaf(type_))
    steps: list[OpDef | Step] = list(hand)
    for i in (2 * number, 2 * number + 1):
        steps.insert(p.random.randrange(len(steps) + 1), EFFECTS[i % len(EFFECTS)])
    for step in steps:
        p.add(p.apply(step) if isinstance(step, OpDef) else step(p))
    return p
