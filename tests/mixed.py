# SPDX-License-Identifier: Apache-2.0
"""Draws programs that chain ops of every family: each op's arguments are earlier terms, adapted to what it takes.

The catalogue's domains say which types and attributes an op can have. What stands before a step is forgotten,
cut, repeated, cast and labelled to such types, so that any op can follow any other. The numbers are adapted too.
In an exact program every argument is a small integer, whatever its dtype: then each op starts from the same
numbers on each target, and a result is off by no more than one op may be. In a smooth program every argument is
a float64 between 0.1 and 0.9, no two alike, so that gradients exist and stay of moderate size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

import ngraph_rewrite as ng
from ngraph_rewrite.rewriting.domain import Domain
from ngraph_rewrite.rewriting.instances import TrialBank, first_match
from ngraph_rewrite.rewriting.pattern import App, Pattern, SeqVar, Var
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.terms.catalogue import STANDARD, OpDef, definitions
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op, topological
from ngraph_rewrite.testing.strategies import begin
from ngraph_rewrite.types.axes import Axes, Axis, anonymous
from ngraph_rewrite.types.lengths import Length, bind, product
from ngraph_rewrite.types.tensor import TensorType

Array = np.ndarray[Any, Any]
FLOAT64 = np.dtype("float64")
# Programs of these share kernels; some have all dtypes.
FEW = (FLOAT64, np.dtype("int64"), np.dtype(bool))
# Added before an exact argument is rounded down: integers, halves and thirds are then far from the next step.
OFFSET = 0.3141
_NO_STEPS = {"core.placeholder", "core.constant", "core.variable", "core.parameter", "core.present"}


def user_ops() -> list[OpDef]:
    """The ops a program is drawn from: those that have a value of their own."""
    return [d for family in ("core", *STANDARD) for d in definitions(family) if is_drawn(d)]


def is_drawn(definition: OpDef) -> bool:
    """Whether an op is one step; the others are leaves, effects and binders, which the steps of effects make."""
    return not definition.traits & {"effect", "binder", "storage", "parameter"} and definition.name not in _NO_STEPS


def hands(ops: Sequence[OpDef], seed: int, size: int) -> list[list[OpDef]]:
    """The ops shuffled and dealt, so that together the programs reach each of them."""
    deck = list(ops)
    Random(seed).shuffle(deck)
    return [deck[i : i + size] for i in range(0, len(deck), size)]


@dataclass
class Program:
    """Terms built so far, and the placeholders among them with their arguments.

    Attributes:
        dtypes: The dtypes its steps are drawn from.
        unknown: Whether the length of N is unknown in some steps.
        rounded: The terms that exact programs round: where one is next to a step, targets may part.
    """

    random: Random
    smooth: bool
    dtypes: tuple[np.dtype[Any], ...] = FEW
    unknown: bool = True
    terms: list[Op] = field(default_factory=list)
    inputs: list[Op] = field(default_factory=list)
    rounded: list[Op] = field(default_factory=list)
    bank: TrialBank = field(default_factory=TrialBank)

    # -- leaves -----------------------------------------------------------------------------------------

    def leaf(self, type_: TensorType, kind: str = "placeholder") -> Op:
        """A placeholder, variable or constant of small numbers."""
        if kind == "placeholder":
            self.inputs.append(ng.placeholder(type_.axes, type_.dtype, name=f"p{len(self.inputs)}"))
            return self.inputs[-1]
        value = self.numbers(type_.shape).astype(type_.dtype)
        if kind == "constant":
            return ng.constant(value, type_.axes)
        return ng.variable(type_.axes, type_.dtype, initial_value=value)

    def values(self, batch: int) -> list[Array]:
        """Arguments for the placeholders."""
        return [self.numbers([bind(n, {"N": batch}) for n in x.shape]).astype(x.dtype) for x in self.inputs]

    def numbers(self, shape: Sequence[Any]) -> Array:
        count = int(np.prod(shape))
        if self.smooth:
            return np.array([self.random.uniform(0.1, 0.9) for _ in range(count)]).reshape(shape)
        return np.array([self.random.randint(0, 3) for _ in range(count)], "int64").reshape(shape)

    def domain(self) -> Domain:
        """Lengths from 0 to 3, mostly above 1; now and then the length of N is unknown."""
        random = self.random
        n = random.choices((2, 3, 1, 0), (6, 6, 3, 1), k=7)
        unknown = self.unknown and random.random() < 0.3
        axes = Axis("H", n[3]), Axis("W", n[4]), Axis("N", None if unknown else n[5]), Axis("C", n[6])
        first = Length.symbol("N") if unknown and random.random() < 0.5 else n[0]
        return Domain((first, n[1], n[2]), axes, self.dtypes)

    # -- steps ------------------------------------------------------------------------------------------

    def apply(self, definition: OpDef, tries: int = 12) -> Op | None:
        """The op of earlier terms, with drawn types and attributes; None if none was found, or (smooth) no float."""
        for _ in range(tries):
            choices = begin(self.random)
            found = first_match(anything(definition, self.smooth), self.domain(), choices, self.bank, 100)
            if found is None or getattr(found.term.type, "elements", True) == ():  # no parts, so nothing to use
                continue
            if not self.smooth or _passes_floats(found.term):
                return self.of_terms(found.term, {}, True)
        return None

    def of_terms(self, term: Op, adapted: dict[Op, Op], root: bool = False) -> Op:
        """A drawn term with its leaves replaced by earlier terms, adapted."""
        if not root and term.definition.name == "core.placeholder":
            if term not in adapted:
                adapted[term] = self.argument(term.type)
            return adapted[term]
        args = [self.of_terms(a, adapted) for a in term.args]
        if self.smooth and term.definition.short == "acosh":
            args = [ng.make_op(f"{term.definition.family}.reciprocal", args[0])]
        if term.definition.short == "power" and term.dtype.kind in "iu":  # a negative power of an integer is no integer
            args[1] = ng.make_op(f"{term.definition.family}.absolute", args[1]) if term.dtype.kind == "i" else args[1]
        return ng.make_op(term.definition.name, *args, **term.attributes)

    def argument(self, type_: TensorType) -> Op:
        """An earlier term, adapted to a type."""
        alike = [t for t in self.terms if t.type == type_]
        recent = self.terms[-3:] if self.random.random() < 0.5 else self.terms
        term = self.random.choice(alike if alike and self.random.random() < 0.7 else recent)
        if not self.smooth:
            return self.integers(self.shaped(term, type_), type_)
        if type_.dtype != FLOAT64:  # no derivative passes
            known = all(isinstance(n, int) for n in type_.shape)
            return self.leaf(type_) if known else _labels(type_)(_counted(type_.shape, type_.dtype))
        return self.smoothed(self.shaped(term, type_), type_)

    def add(self, term: Op | None) -> None:
        if term is not None:
            self.terms.extend([term[i] for i in range(len(term))] if hasattr(term.type, "elements") else [term])

    def step(self, definition: OpDef) -> None:
        """Add the op of earlier terms, if one can be drawn."""
        self.add(self.apply(definition))

    def pick(self, fits: Callable[[OpDef], bool]) -> OpDef:
        return self.random.choice([d for d in user_ops() if fits(d)])

    def ends(self) -> list[Op]:
        """The terms that no other one is made of, so that all are needed."""
        used = {a for t in topological(self.terms) for a in t.args}
        return [t for t in self.terms if t not in used]

    # -- numbers ----------------------------------------------------------------------------------------

    def integers(self, x: Op, type_: TensorType) -> Op:
        """Small integers, not negative where the dtype has none, NaN and infinities replaced."""
        named = _labels(type_)
        if x.dtype.kind == "f":
            finite = ng.make_op("semi.isfinite", x)
            moved = ng.make_op("semi.add", ng.make_op("semi.select", finite, x, _filled(x, 0)), _filled(x, OFFSET))
            self.rounded.append(moved)
            x = ng.make_op("semi.floor", moved)
        if x.dtype.kind != "b":
            least = 0 if type_.dtype.kind in "ub" or x.dtype.kind == "u" else -2
            x = ng.make_op("semi.maximum", ng.make_op("semi.minimum", x, _filled(x, 3)), _filled(x, least))
        return named(x if x.dtype == type_.dtype else ng.make_op("semi.cast", x, dtype=type_.dtype))

    def smoothed(self, x: Op, type_: TensorType) -> Op:
        """Numbers from 0.1 to 0.9 that depend on x: no two alike, even if those of x are."""
        if x.dtype != FLOAT64:
            x = ng.make_op("semi.cast", x, dtype=FLOAT64)
        known = all(isinstance(n, int) for n in x.shape)
        apart = ng.constant(self.numbers(x.shape)) if known else _counted(x.shape, FLOAT64)
        moved = ng.make_op("semi.add", x, ng.make_op("semi.multiply", apart, _filled(x, 6)))
        bent = ng.make_op("semi.sin", moved)  # not tanh: a chain of those has no slope
        scaled = ng.make_op("semi.multiply", bent, _filled(x, 0.4))
        return _labels(type_)(ng.make_op("semi.add", scaled, _filled(x, 0.5)))

    # -- shapes -----------------------------------------------------------------------------------------

    def shaped(self, x: Op, type_: TensorType) -> Op:
        """A term without names, of the type's shape, whose numbers are those of x."""
        x = ng.make_op("core.strip", x) if x.axes and x.axes != anonymous(x.shape) else x
        if x.shape == type_.shape:
            return x
        x = known_lengths(x)
        if not all(isinstance(n, int) for n in type_.shape):
            spread = ng.make_op("semi.broadcast", _total(x), shape=type_.shape, dims=())
            if spread.dtype.kind == "b":
                return spread
            return ng.make_op("semi.add", spread, _counted(type_.shape, x.dtype))
        have, want = int(x.size), int(np.prod(type_.shape, dtype=int))  # type: ignore[arg-type]
        if have == 0 < want:
            return ng.make_op("semi.broadcast", _total(x), shape=type_.shape, dims=())
        return reshaped(self.cut(reshaped(x, (have,)), have, want), type_.shape)

    def cut(self, x: Op, have: int, want: int) -> Op:
        """A vector of another length: a part, forwards or backwards, or places taken several times."""
        if have == want:
            return x
        if have > want:
            start = self.random.randint(0, have - want)
            if self.random.random() < 0.5:
                return ng.make_op("semi.slice", x, starts=(start,), stops=(start + want,), steps=(1,))
            return ng.make_op("semi.slice", x, starts=(start + want - 1,), stops=(start - 1,), steps=(-1,))
        places = ng.constant(np.array([self.random.randrange(have) for _ in range(want)], "int64"))
        return ng.make_op("semi.gather", x, places, axis=0)


def known_lengths(x: Op) -> Op:
    """Sums over what is of unknown length."""
    axes = tuple(i for i, n in enumerate(x.shape) if not isinstance(n, int))
    return _summed(x, axes) if axes else x


def reshaped(x: Op, shape: Sequence[Any]) -> Op:
    return x if x.shape == tuple(shape) else ng.make_op("semi.reshape", x, shape=tuple(shape))


def anything(definition: OpDef, smooth: bool) -> Rule:
    """A rule that would fire on every application of an op; it is only used to draw them."""
    args: list[Pattern] = [Var(f"x{i}") for i in range(definition.least)]
    if definition.arity is None:
        args.append(SeqVar("rest"))
    kind = "derive" if smooth else "simplify"
    return Rule("any", kind, App(definition, tuple(args), (), ()), (Var("self"),), (), None, "exact", "", "", 0)


def reached(terms: Sequence[Op]) -> set[str]:
    """The names of the ops under some terms."""
    return {t.definition.name for t in topological(terms)}


def _passes_floats(term: Op) -> bool:
    tensors = [a for a in topological([term]) if not hasattr(a.type, "elements")]
    floats = [a for a in term.args if not hasattr(a.type, "elements") and a.dtype.kind == "f"]
    return bool(floats) and all(t.dtype == FLOAT64 or t.dtype.kind != "f" for t in tensors)


def _labels(type_: TensorType) -> Callable[[Op], Op]:
    return lambda x: x if x.axes == type_.axes else ng.make_op("core.label", x, axes=type_.axes)


def _filled(x: Op, number: float) -> Op:
    """A constant like x."""
    return ng.make_op("core.constant", value=Literal(number, x.dtype), axes=Axes(x.axes))


def _total(x: Op) -> Op:
    return _summed(x, tuple(range(x.rank)))


def _summed(x: Op, axes: tuple[int, ...]) -> Op:
    name = "semi.any" if x.dtype.kind == "b" else "semi.sum"
    return ng.make_op(name, x, axes=axes)


def _counted(shape: Sequence[Any], dtype: np.dtype[Any]) -> Op:
    """0, 1, 2, ... in a shape."""
    flat = ng.make_op("semi.iota", shape=(product(shape),), axis=0, dtype=np.dtype("int64"))
    return reshaped(ng.make_op("semi.cast", flat, dtype=dtype), shape)
