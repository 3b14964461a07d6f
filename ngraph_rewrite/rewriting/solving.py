# SPDX-License-Identifier: Apache-2.0
"""A guard is solved part by part: each conjunct restricts a search as soon as all that it reads is bound.

A conjunct that is false cuts off whatever would be tried below it. An equation with a name or a property on one side
gives the value outright, though no domain offers it. What reads the matched term itself, or the target, is decided
last, by the whole guard.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ngraph_rewrite.errors import NGraphRewriteError
from ngraph_rewrite.rewriting.attribute_values import value_of
from ngraph_rewrite.rewriting.domain import Domain, Types
from ngraph_rewrite.rewriting.guard_parts import Conjunct, Equation, conjuncts, equations
from ngraph_rewrite.rewriting.interpret import Application, Make
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import Axes, Axis, anonymous
from ngraph_rewrite.types.dtypes import as_dtype
from ngraph_rewrite.types.tensor import TensorType
from ngraph_rewrite.types.tuples import TupleType

Bindings = Mapping[str, Any]
MAX_RANK = 8
# Along axes that a guard wants beyond those of terms that are drawn anyway there are few elements.
_FURTHER = 2, 1, 2, 1
# Of the axes of a shape, so many orders are tried.
ORDERS = 6
# Of so many types, and pools of them, edges are kept.
EDGES = 4096
# Where nothing more is decided, so that no search is needed to see it.
_LATE = frozenset({"self", "target", "d"})


@dataclass
class Solver:
    """What the guard of a rule leaves to be tried.

    Args:
        make: Builds terms, for clauses that do.
        near: Whether variables take the dtype that the guard wants of the matched term, where they can.
    """

    rule: Rule
    make: Make
    near: bool = False

    def __post_init__(self) -> None:
        self.conjuncts = [c for c in conjuncts(self.rule) if not c.needs & _LATE]
        self.equations = equations(self.rule)
        self._of_attributes: dict[str, list[Equation]] = {}
        for equation in self.equations:
            if equation.what == "":
                self._of_attributes.setdefault(equation.name, []).append(equation)
        self._decided: dict[tuple[Any, ...], bool] = {}
        self._wished = self._wished_dtype() if self.near else None
        self._shapes = tuple(dict.fromkeys(s for e in self.equations if not e.needs for s in self._fitting(e)))

    def admits(self, before: Bindings, now: Bindings) -> bool:
        """Whether no conjunct is false that `now` decides and `before` did not."""
        return all(
            self._holds(c, now) for c in self.conjuncts if c.needs <= now.keys() and not c.needs <= before.keys()
        )

    def refused(self, name: str, bound: Bindings) -> Callable[[Op], bool]:
        """Whether a conjunct is false of a leaf that a variable could be, beside what is bound.

        What reads nothing but dtypes is asked once for each.
        """
        decided = [c for c in self.conjuncts if name in c.needs and c.needs - {name} <= bound.keys()]
        by_type, others = [c for c in decided if c.by_dtype], [c for c in decided if not c.by_dtype]
        holds = dict[object, bool]()

        def is_refused(leaf: Op) -> bool:
            if by_type:
                kind = leaf.type if isinstance(leaf.type, TupleType) else leaf.type.dtype
                if kind not in holds:
                    holds[kind] = all(self._holds(c, {**bound, name: leaf}) for c in by_type)
                if not holds[kind]:
                    return True
            return bool(others) and not all(self._holds(c, {**bound, name: leaf}) for c in others)

        return is_refused

    def _holds(self, conjunct: Conjunct, bound: Bindings) -> bool:
        if not conjunct.by_dtype:
            return self._is_true(conjunct, bound)
        asked = (conjunct.expression.text, *(bound[name].type.dtype for name in conjunct.by_dtype))
        if asked not in self._decided:
            self._decided[asked] = self._is_true(conjunct, bound)
        return self._decided[asked]

    def _is_true(self, conjunct: Conjunct, bound: Bindings) -> bool:
        try:
            return bool(value_of(conjunct.expression, self._names(bound)))
        except Exception:  # the guard as a whole may not come to ask this, or will say so
            return True

    def _names(self, bound: Bindings) -> Application:
        return Application(self.rule, None, bound, self.make)  # type: ignore[arg-type]

    def forced(self, names: Mapping[str, str], bound: Bindings) -> dict[str, Any]:
        """The attributes, by what they are called in `names`, for which equations give a value."""
        return {
            attribute: value
            for attribute, name in names.items()
            if name not in bound
            for equation in self._of_attributes.get(name, ())
            for value in self._values(equation, bound)
        }

    def _values(self, equation: Equation, bound: Bindings) -> list[Any]:
        """The value that an equation gives, if it can be worked out."""
        if not equation.needs <= bound.keys():
            return []
        try:
            return [value_of(equation.value, self._names(bound))]
        except Exception:  # as above
            return []

    def types(self, name: str, pool: Types, bound: Bindings, domain: Domain) -> Types:
        """What may be tried for a variable: those of a pool, as equations want them, and those at edges of lengths."""
        if self._wished is not None:
            pool = [t for t in pool if not isinstance(t, TupleType) and t.dtype == self._wished] or pool
        pool = [*self._shaped(pool, domain), *pool]
        if not any(name in c.needs for c in self.conjuncts):
            return pool
        tensors = [t for t in pool if not isinstance(t, TupleType)]
        for equation in self.equations:
            if equation.name == name and equation.what != "":
                for value in self._values(equation, bound):
                    made = (_with(t, equation.what, value, domain) for t in tensors)
                    tensors = list(dict.fromkeys(t for t in made if t is not None)) or tensors
        return [*tensors, *_edges(tuple(tensors))] if tensors else pool

    def _fitting(self, equation: Equation) -> Iterator[tuple[int, ...]]:
        """Shapes of what may become a shape that is written out: that, its axes in another order or some of them."""
        for shape in self._values(equation, {}) if equation.what in ("", "shape") else ():
            if isinstance(shape, tuple) and shape and all(type(n) is int and n >= 0 for n in shape):
                yield from itertools.islice(itertools.permutations(shape), ORDERS)
                yield (math.prod(shape),)
                yield from (shape[i:j] for i in range(len(shape)) for j in range(i + 1, len(shape) + 1))

    def _shaped(self, pool: Types, domain: Domain) -> Types:
        """One of the types of each dtype with each of these shapes."""
        first = {t.dtype: t for t in reversed(pool) if not isinstance(t, TupleType)} if self._shapes else {}
        made = (_with(t, "shape", shape, domain) for shape in self._shapes for t in first.values())
        return [t for t in made if t is not None]

    def _wished_dtype(self) -> Any:
        """The dtype that the guard wants of the matched term, or None."""
        return next(
            (v for e in self.equations if e[:2] == ("self", "dtype") and not e.needs for v in self._values(e, {})), None
        )


def _with(type_: TensorType, what: str | int, value: Any, domain: Domain) -> TensorType | None:
    """The type with another property; None if that cannot be."""
    try:
        if what == "type":
            return value if isinstance(value, TensorType) else None
        if what == "dtype":
            return type_.with_dtype(as_dtype(value))
        if what == "axes":
            return type_.with_axes(value)
        if what == "rank":
            return _of_rank(type_, value, domain)
        if what == "shape":
            grown = _of_rank(type_, len(value), domain)
            axes = [a.with_length(n) for a, n in zip(grown.axes, value, strict=True)] if grown is not None else []
            return None if grown is None else grown.with_axes(axes)
        return _resized(type_, int(what), value)
    except (NGraphRewriteError, TypeError, ValueError):
        return None


def _of_rank(type_: TensorType, rank: int, domain: Domain) -> TensorType | None:
    if not 0 <= rank <= MAX_RANK:
        return None
    axes = list(type_.axes[:rank])
    names = [a for a in domain.axes if type_.axes.find(a.name) is None] if type_.axes.named else []
    names += [Axis(f"X{i}", 2) for i in range(rank)] if type_.axes.named and axes else []
    more = names or list(anonymous([*domain.lengths, *domain.lengths[:2], *_FURTHER]))
    return type_.with_axes(Axes([*axes, *more[: rank - len(axes)]]))


def _resized(type_: TensorType, place: int, length: Any) -> TensorType | None:
    if not -type_.rank <= place < type_.rank:
        return None
    place %= type_.rank
    axes = list(type_.axes)
    return type_.with_axes([*axes[:place], axes[place].with_length(length), *axes[place + 1 :]])


@lru_cache(EDGES)
def _edges(types: tuple[TensorType, ...]) -> Types:
    """The types of the first dtype with one length, or all of them, made 1 or 0."""
    near = [t for t in types if t.dtype == types[0].dtype and t.rank]
    return list(dict.fromkeys(t for one in near for t in _at_edges(one)))


@lru_cache(EDGES)
def _at_edges(type_: TensorType) -> Types:
    made = (_resized(type_, i, n) for i in range(type_.rank) for n in (1, 0))
    return [t for t in made if t is not None]
