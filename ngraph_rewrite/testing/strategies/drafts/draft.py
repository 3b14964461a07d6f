# SPDX-License-Identifier: Apache-2.0
"""A program being drawn, step by step: each op's arguments are earlier terms, adapted to what it takes.

The catalogue's domains say which types and attributes an op can have. What stands before a step is forgotten, cut,
repeated, cast and labelled to such types, so that any op can follow any other. The numbers are adapted too, in one
of three ways:

small
    Every argument is a small integer, whatever its dtype: each op starts from the same numbers on each target, and
    a result is off by no more than one op may be.
smooth
    Every argument is a float64 between 0.1 and 0.9, no two alike, so that gradients exist and stay of moderate size.
wild
    Numbers are left as they are, and begin at the edges of their dtypes: NaN, infinities, limits, subnormals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

from ngraph_rewrite.frontend.storage import constant, placeholder, variable
from ngraph_rewrite.rewriting.domain import Domain
from ngraph_rewrite.rewriting.instances import first_match
from ngraph_rewrite.rewriting.pattern import App, Pattern, SeqVar, Var
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.rewriting.trial_bank import TrialBank
from ngraph_rewrite.terms.catalogue import OpDef
from ngraph_rewrite.terms.making import make_op
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.testing.evaluate import Array
from ngraph_rewrite.testing.strategies.drafts.adapting import counted, filled, labels, shaped
from ngraph_rewrite.testing.strategies.drawing import begin
from ngraph_rewrite.testing.strategies.values import PLAIN, WILD, random_array
from ngraph_rewrite.types.axes import Axis
from ngraph_rewrite.types.dtypes import DType, is_float
from ngraph_rewrite.types.lengths import Length, bind
from ngraph_rewrite.types.tensor import TensorType
from ngraph_rewrite.types.tuples import TupleType, tensors

SMALL, SMOOTH, EXTREME = "small", "smooth", "wild"
NUMBERS = (SMALL, SMOOTH, EXTREME)
FLOAT64 = np.dtype("float64")
# Programs of these share kernels; some have all dtypes.
FEW = (FLOAT64, np.dtype("int64"), np.dtype(bool))
# Added before an exact argument is rounded down: integers, halves and thirds are then far from the next step.
OFFSET = 0.3141
# Indices, repetitions and exponents beyond this say nothing new.
LARGEST = 3


@dataclass
class Draft:
    """Terms built so far, and the placeholders among them.

    Attributes:
        numbers: What its numbers are: SMALL, SMOOTH or EXTREME.
        ops: What a step may be that has to be of one op.
        dtypes: The dtypes its steps are drawn from.
        unknown: Whether the length of N is unknown in some steps.
        longest: No length is drawn beyond this.
        rounded: The terms that programs of small numbers round: where one is next to a step, targets may part.
    """

    random: Random
    numbers: str
    ops: Sequence[OpDef]
    dtypes: tuple[DType, ...] = FEW
    unknown: bool = True
    longest: int = 3
    terms: list[Op] = field(default_factory=list)
    inputs: list[Op] = field(default_factory=list)
    rounded: list[Op] = field(default_factory=list)
    bank: TrialBank = field(default_factory=TrialBank)

    @property
    def smooth(self) -> bool:
        """Whether gradients exist."""
        return self.numbers == SMOOTH

    # -- leaves -----------------------------------------------------------------------------------------

    def leaf(self, type_: TensorType, kind: str = "placeholder") -> Op:
        """A placeholder, a variable or a constant."""
        if kind == "placeholder":
            self.inputs.append(placeholder(type_.axes, type_.dtype, name=f"p{len(self.inputs)}"))
            return self.inputs[-1]
        value = self.array(type_.shape, type_.dtype)
        if kind == "constant":
            return constant(value, type_.axes)
        return variable(type_.axes, type_.dtype, initial_value=value)

    def values(self, batch: int) -> list[Array]:
        """Arguments for the placeholders."""
        return [self.array([bind(n, {"N": batch}) for n in x.shape], x.dtype) for x in self.inputs]

    def array(self, shape: Sequence[Any], dtype: DType) -> Array:
        """Numbers as this program has them."""
        count = int(np.prod(shape))
        if self.numbers == EXTREME:
            kind = self.random.choice((PLAIN, WILD, WILD))
            return random_array(self.random, dtype, tuple(int(n) for n in shape), kind)
        if self.smooth:
            return np.array([self.random.uniform(0.1, 0.9) for _ in range(count)]).reshape(shape).astype(dtype)
        return np.array([self.random.randint(0, 3) for _ in range(count)], "int64").reshape(shape).astype(dtype)

    def domain(self) -> Domain:
        """Lengths from 0 to 3, mostly above 1; now and then the length of N is unknown."""
        random = self.random
        n = [min(k, self.longest) for k in random.choices((2, 3, 1, 0), (6, 6, 3, 1), k=7)]
        unknown = self.unknown and random.random() < 0.3
        axes = Axis("H", n[3]), Axis("W", n[4]), Axis("N", None if unknown else n[5]), Axis("C", n[6])
        first = Length.symbol("N") if unknown and random.random() < 0.5 else n[0]
        return Domain((first, n[1], n[2]), axes, self.dtypes)

    # -- steps ------------------------------------------------------------------------------------------

    def step(self, definition: OpDef) -> None:
        """Add the op of earlier terms, if one can be drawn."""
        self.add(self.apply(definition))

    def add(self, term: Op | None) -> None:
        """Add a term, or the parts of a tuple."""
        if term is not None:
            self.terms.extend([term[i] for i in range(len(term))] if isinstance(term.type, TupleType) else [term])

    def apply(self, definition: OpDef, tries: int = 12) -> Op | None:
        """The op of earlier terms, with drawn types and attributes; None if none was found, or (smooth) no float."""
        rule = anything(definition, self.smooth)
        for _ in range(tries):
            found = first_match(rule, self.domain(), begin(self.random), self.bank, 100)
            if found is None or not list(tensors(found.term.type)):  # no parts, so nothing to use
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
            args = [make_op(f"{term.definition.family}.reciprocal", args[0])]
        if term.definition.short == "power" and term.dtype.kind == "i":  # a negative power of an integer is no integer
            args[1] = self.exponent(args[1], term.definition.family)
        return make_op(term.definition.name, *args, **term.attributes)

    def exponent(self, x: Op, family: str) -> Op:
        """An integer of at least 0."""
        if self.numbers == EXTREME:  # the size of the least one is negative
            x = labels(x.type)(clipped(shaped(self.random, x, x.type), 0, LARGEST))
        return x if x.dtype.kind == "b" else make_op(f"{family}.absolute", x)

    def argument(self, type_: TensorType) -> Op:
        """An earlier term, adapted to a type."""
        alike = [t for t in self.terms if t.type == type_]
        recent = self.terms[-3:] if self.random.random() < 0.5 else self.terms
        term = self.random.choice(alike if alike and self.random.random() < 0.7 else recent)
        if self.smooth and type_.dtype != FLOAT64:  # no derivative passes
            known = all(isinstance(n, int) for n in type_.shape)
            return self.leaf(type_) if known else labels(type_)(counted(type_.shape, type_.dtype))
        return self.fitted(term, type_)

    def pick(self, fits: Callable[[OpDef], bool] = lambda d: True) -> OpDef:
        """An op that fits; any op where none does."""
        return self.random.choice([d for d in self.ops if fits(d)] or list(self.ops))

    def ends(self) -> list[Op]:
        """The terms that no other one is made of, so that all are needed."""
        used = {a for t in topological(self.terms) for a in t.args}
        return [t for t in self.terms if t not in used]

    # -- numbers ----------------------------------------------------------------------------------------

    def fitted(self, x: Op, type_: TensorType) -> Op:
        """A term of a type, made of `x`, whose numbers are as this program has them."""
        x = shaped(self.random, x, type_)
        if self.smooth:
            return self.smoothed(x, type_)
        return self.integers(x, type_) if self.numbers == SMALL else self.kept(x, type_)

    def integers(self, x: Op, type_: TensorType) -> Op:
        """Small integers, not negative where the dtype has none, NaN and infinities replaced."""
        if is_float(x.dtype):
            moved = make_op("semi.add", finite(x), filled(x, OFFSET))
            self.rounded.append(moved)
            x = make_op("semi.floor", moved)
        if x.dtype.kind != "b":
            x = clipped(x, 0 if type_.dtype.kind in "ub" or x.dtype.kind == "u" else -2, LARGEST)
        return labels(type_)(x if x.dtype == type_.dtype else make_op("semi.cast", x, dtype=type_.dtype))

    def kept(self, x: Op, type_: TensorType) -> Op:
        """The numbers as they are, except those that an integer does not reach."""
        if is_float(x.dtype) and type_.dtype.kind in "iu":
            x = clipped(finite(x), 0 if type_.dtype.kind == "u" else -2, LARGEST)
        return labels(type_)(x if x.dtype == type_.dtype else make_op("semi.cast", x, dtype=type_.dtype))

    def smoothed(self, x: Op, type_: TensorType) -> Op:
        """Numbers from 0.1 to 0.9 that depend on `x`: no two alike, even if those of `x` are."""
        if x.dtype != FLOAT64:
            x = make_op("semi.cast", x, dtype=FLOAT64)
        known = all(isinstance(n, int) for n in x.shape)
        apart = constant(self.array(x.shape, FLOAT64)) if known else counted(x.shape, FLOAT64)
        moved = make_op("semi.add", x, make_op("semi.multiply", apart, filled(x, 6)))
        bent = make_op("semi.sin", moved)  # not tanh: a chain of those has no slope
        scaled = make_op("semi.multiply", bent, filled(x, 0.4))
        return labels(type_)(make_op("semi.add", scaled, filled(x, 0.5)))


def finite(x: Op) -> Op:
    """A float with zeros for NaN and infinities."""
    return make_op("semi.select", make_op("semi.isfinite", x), x, filled(x, 0))


def clipped(x: Op, least: int, most: int) -> Op:
    """Numbers between two others."""
    return make_op("semi.maximum", make_op("semi.minimum", x, filled(x, most)), filled(x, least))


def anything(definition: OpDef, smooth: bool) -> Rule:
    """A rule that would fire on every application of an op; it is only used to draw them."""
    args: list[Pattern] = [Var(f"x{i}") for i in range(definition.least)]
    if definition.arity is None:
        args.append(SeqVar("rest"))
    kind = "derive" if smooth else "simplify"
    return Rule("any", kind, App(definition, tuple(args), (), ()), (Var("self"),), (), None, "exact", "", "", 0)


def _passes_floats(term: Op) -> bool:
    types = [a.type for a in topological([term]) if not isinstance(a.type, TupleType)]
    floats = [a for a in term.args if not isinstance(a.type, TupleType) and is_float(a.dtype)]
    return bool(floats) and all(t.dtype == FLOAT64 or not is_float(t.dtype) for t in types)
