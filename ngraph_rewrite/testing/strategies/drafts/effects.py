# SPDX-License-Identifier: Apache-2.0
"""The steps of a program that are no single op: stores, sequences, blocks, initial values, functions, scans, loops,
branches, derivatives, and operands of several families."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from ngraph_rewrite.errors import DerivativeError, FamilyError
from ngraph_rewrite.frontend.arrangement import strip
from ngraph_rewrite.frontend.binary import minimum
from ngraph_rewrite.frontend.effects import after, assign, doall, sequential, value_of
from ngraph_rewrite.frontend.functions import function, parameter
from ngraph_rewrite.frontend.looping import cond, while_loop
from ngraph_rewrite.frontend.network import uniform
from ngraph_rewrite.frontend.ordering import ordered
from ngraph_rewrite.frontend.scan import positional_scan, scan
from ngraph_rewrite.frontend.schema import annotated
from ngraph_rewrite.frontend.semi import uniform as plain_uniform
from ngraph_rewrite.frontend.storage import variable
from ngraph_rewrite.frontend.tuples import make_tuple
from ngraph_rewrite.lowering.deriv import deriv
from ngraph_rewrite.terms.catalogue import OpDef
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.testing.strategies.drafts.adapting import of_family, relabelled, shaped, total
from ngraph_rewrite.testing.strategies.drafts.draft import FLOAT64, SMALL, Draft
from ngraph_rewrite.types.axes import Axes, Axis
from ngraph_rewrite.types.dtypes import INT64, is_float, kind_of
from ngraph_rewrite.types.lengths import Length
from ngraph_rewrite.types.tensor import TensorType

Step = Callable[[Draft], Op]
# Of integers they make integers, so that a state stays one without being looked at.
_INTEGRAL = "add subtract multiply maximum minimum negative absolute square".split()


def some_type(p: Draft, least: int = 0) -> TensorType:
    """A type of known lengths in any family, of numbers that can be negative."""
    pool = replace(p, unknown=False).domain().pool(p.random.choice(("axes", "simple", "numpy", "semi")))
    type_ = p.random.choice([t for t in pool if t.rank >= least])
    return type_ if kind_of(type_.dtype) in "if" and not p.smooth else type_.with_dtype(FLOAT64)


def storable(p: Draft, type_: TensorType) -> Op:
    """What a step stores. A variable is a leaf for derivatives, so in smooth programs it depends on nothing else."""
    return p.leaf(type_, "variable") * 2 if p.smooth else p.argument(type_)


def stored(p: Draft) -> Op:
    """What a variable is at several places of a sequence that changes it."""
    type_ = some_type(p)
    v = p.leaf(type_, "variable")
    old = value_of(v)
    return sequential([old, assign(v, storable(p, type_)), assign(v, v - old), (v + old) * p.argument(type_)])


def part_stored(p: Draft) -> Op:
    """A variable, after a part of it was replaced."""
    v = p.leaf(some_type(p, 1), "variable")
    items = slice(None, None, -1), slice(1, None), slice(None, None, 2), slice(0, 0), ...
    part = v[p.random.choice(items) if any(not a.roles for a in v.axes) else ...]  # marked axes take no index
    return sequential([assign(part, storable(p, part.type)), v]) * p.argument(v.type)


def exchanged(p: Draft) -> Op:
    """Two variables that all at once get each other's values."""
    type_ = some_type(p)
    v, w = p.leaf(type_, "variable"), p.leaf(type_, "variable")
    swap = doall([assign(v, w), assign(w, v + storable(p, type_))])
    return sequential([swap, doall([swap]), (v - w) * p.argument(type_)])


def in_a_block(p: Draft) -> Op:
    """Reads that a block puts after the writes built before them."""
    type_ = some_type(p)
    v, x, y = p.leaf(type_, "variable"), p.argument(type_), storable(p, type_)
    with ordered():
        before = v + x
        assign(v, y)
        between = v * 2
        assign(v, between)
        return v - before


def waiting(p: Draft) -> Op:
    """A term that waits for a store, and carries a fact."""
    type_ = some_type(p)
    v = p.leaf(type_, "variable")
    x = p.argument(type_)
    return annotated(after(x + v, assign(v, storable(p, type_))), x, schema="drawn")


def initialised(p: Draft) -> Op:
    """A variable that begins as what a term is, which is computed of constants and another variable."""
    type_ = some_type(p)
    terms = [p.leaf(type_, "constant"), p.leaf(type_, "variable")]
    own = replace(p, terms=terms, numbers=SMALL, unknown=False)
    own.step(own.pick(lambda d: not d.traits & {"draw"}))
    value = own.integers(shaped(own.random, own.terms[-1], type_), type_)
    return variable(type_.axes, type_.dtype, initial_value=value) * 2


def called(p: Draft) -> Op:
    """A function of two results, called twice."""
    types = [some_type(p) for _ in range(p.random.randint(1, 2))]
    parameters = [parameter(t.axes, t.dtype) for t in types]
    f = function(parameters, tuple(inside(p, parameters, 2)), name="drawn")
    first = f(*map(p.argument, types))
    second = f(*map(p.argument, types))
    return make_tuple(*first, second[-1])


def scanned(p: Draft) -> Op:
    """A scan by name or by position, of drawn length, in either direction, whose step uses a term of outside."""
    state, other = some_type(p), some_type(p)
    unknown = p.unknown and p.random.random() < 0.3
    axis = Axis("REC", Length.symbol("N") if unknown else min(p.longest, p.random.choice((2, 3, 1, 0))))
    reverse = p.random.random() < 0.5
    named = p.random.random() < 0.5
    state, other = (of_family(t, named) for t in (state, other))
    sequence = p.argument(TensorType(other.dtype, [axis, *other.axes] if named else [axis.length, *other.shape]))
    outside = p.argument(state)

    def step(s: Op, x: Op) -> tuple[Op, Op]:
        following = _following(p, [s, x], outside)
        terms = [s, x, _drawn(other)] if is_float(other.dtype) and p.random.random() < 0.3 else [s, x]
        return following, relabelled(inside(p, terms, 1)[0], named)

    if named:
        last, outputs = scan(step, p.argument(state), sequence, axis=axis, reverse=reverse)
    else:
        last, outputs = positional_scan(step, p.argument(state), sequence, reverse=reverse)
    return make_tuple(last, outputs)


def _drawn(type_: TensorType) -> Op:
    """Numbers that a step draws, from a quarter to a half."""
    if type_.axes.named:
        return uniform(type_.axes, 0.25, 0.5, type_.dtype)
    return plain_uniform(type_.shape, 0.25, 0.5, type_.dtype)


def looped(p: Draft) -> Op:
    """A loop of up to three steps, as many as a number says; derivatives pass through one with a limit."""
    state = of_family(some_type(p), p.random.random() < 0.5)
    number, outside = _number(p), p.argument(state)

    def step(s: tuple[Op, Op]) -> tuple[Op, Op]:
        return s[0] + 1, _following(p, [s[1]], outside)

    limit = 2 if p.smooth or p.random.random() < 0.3 else None
    last: Op = while_loop(lambda s: s[0] < minimum(number, 3), step, (0, p.argument(state)), limit)[1]
    return last


def chosen(p: Draft) -> Op:
    """One of two branches, as a number says."""
    state = of_family(some_type(p), p.random.random() < 0.5)
    number, outside = _number(p), p.argument(state)
    found: Op = cond(
        number < 1, lambda x: _following(p, [x], outside), lambda x: _following(p, [x], outside), p.argument(state)
    )
    return found


def _number(p: Draft) -> Op:
    """What comparisons with integers are not in doubt of."""
    return p.leaf(TensorType(FLOAT64, Axes())) * 2.5 if p.smooth else p.leaf(TensorType(INT64, Axes()))


def _following(p: Draft, terms: list[Op], outside: Op) -> Op:
    """A state after a step, made of terms there."""
    own = inside(p, terms, 1, lambda d: d.short in _INTEGRAL or p.numbers != SMALL)[0]
    return replace(p, rounded=[]).fitted(own, outside.type) - outside


def inside(p: Draft, terms: list[Op], count: int, fits: Callable[[OpDef], bool] = lambda d: True) -> list[Op]:
    """Ops of the parameters of a function or scan: one of each result only, as no rounding can be looked at there."""
    found: list[Op] = []
    for _ in range(20):
        own = replace(p, terms=list(terms), rounded=[], unknown=False)
        own.step(own.pick(lambda d: fits(d) and not d.traits & {"draw"}))
        found += own.terms[len(terms) :]
        if len(found) >= count:
            return found[:count]
    return [*found, *terms, *terms][:count]


def derived(p: Draft) -> Op:
    """How a sum of an earlier term depends on a leaf it is made of."""
    floats = [t for t in p.terms if is_float(t.dtype)]
    x = p.random.choice(floats or [p.leaf(some_type(p).with_dtype(FLOAT64))])
    error = total(strip(x) if x.rank else x)
    leaves = [t for t in topological([x]) if t.definition.name in _LEAVES and is_float(t.dtype)]
    with suppress(DerivativeError):
        return deriv(error, p.random.choice(leaves)) if leaves else error
    return error


_LEAVES = ("core.placeholder", "core.variable")


def mixed(p: Draft) -> Op:
    """Operands of two families in one call: names are put where they are meant, or written where that is open."""
    type_ = some_type(p)
    x, y = p.argument(type_), p.argument(type_)
    x, y = (x, y) if p.random.random() < 0.5 else (y, x)
    with suppress(FamilyError):
        return strip(x) - y
    return x - y


EFFECTS: list[Step] = [
    stored, part_stored, exchanged, in_a_block, waiting, initialised, called, scanned, looped, chosen, derived, mixed
]  # fmt: skip
