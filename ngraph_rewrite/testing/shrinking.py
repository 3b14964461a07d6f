# SPDX-License-Identifier: Apache-2.0
"""A counterexample made small: fewer and shorter axes, simpler attributes, then simpler numbers, while it still fails."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from ngraph_rewrite.errors import NGraphRewriteError
from ngraph_rewrite.rewriting.domain import Domain
from ngraph_rewrite.rewriting.instances import Target, TrialBank, first_match
from ngraph_rewrite.rewriting.solving import Solver
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op, topological
from ngraph_rewrite.testing.counterexample import Counterexample
from ngraph_rewrite.testing.evaluate import Array, Undefined, Values
from ngraph_rewrite.testing.strategies import PLAIN, WILD, begin, random_values, valued_leaves
from ngraph_rewrite.types.axes import Axes, Axis
from ngraph_rewrite.types.dtypes import BOOL, FLOAT32
from ngraph_rewrite.types.tuples import TupleType, tensors

# Whether a rule is wrong on a term, for these values and this target, and how.
Trial = Callable[[Op, Values, Target], Counterexample | None]

# How many smaller instances are sought, and how many terms may be made to find each.
ROUNDS, TRIES = 60, 40
_MOST_PLACES = 4
_SIMPLE = (0.0, 1.0, -1.0, 2.0, 0.5, math.nan, math.inf, -math.inf)
_INTEGERS = (0, 1, -1, 2)
_SIMPLE_DTYPES = (FLOAT32, np.dtype("int32"), BOOL)


def shrunk(found: Counterexample, trial: Trial, seconds: float = 1.0) -> Counterexample:
    """A smaller counterexample to the same rule, as small as it gets in this time.

    Args:
        trial: Asked of each smaller instance.
    """
    shrinker = _Shrinker(trial, time.process_time() + seconds)
    for step in (shrinker.instances, shrinker.axes, shrinker.attributes, shrinker.arrays, shrinker.elements):
        found = step(found)
    return found


@dataclass
class _Shrinker:
    trial: Trial
    deadline: float

    @property
    def in_time(self) -> bool:
        return time.process_time() < self.deadline

    def again(self, old: Counterexample, term: Op, values: Values) -> Counterexample | None:
        """The counterexample that this is, if it is one of the same kind as `old`."""
        try:
            found = self.trial(term, values, old.target) if self.in_time else None
        except Undefined:
            return None
        alike = found is not None and (found.right is None) == (old.right is None)
        return found if alike else None

    # -- the term -----------------------------------------------------------------------------------

    def instances(self, best: Counterexample) -> Counterexample:
        """One of the instances of smaller domains."""
        for turn in range(ROUNDS):
            if not self.in_time:
                break
            random, bank = Random(turn), TrialBank()
            term = _small_instance(best, random, bank, turn)
            if term is None or weight(term) >= weight(best.left):
                continue
            for values in _values_like(best, term, random):
                found = self.again(best, term, values)
                if found is not None:
                    best = found
                    break
        return best

    def axes(self, best: Counterexample) -> Counterexample:
        """Each axis in turn left out, one of its places being kept."""
        for leaf in [t for t in topological([best.left]) if t in best.values]:
            for place in reversed(range(leaf.rank)):
                best = self._one_place(best, leaf.axes[place], place)
        return best

    def _one_place(self, best: Counterexample, axis: Axis, place: int) -> Counterexample:
        for index in range(min(int(axis.length), _MOST_PLACES)):  # type: ignore[arg-type]
            smaller = narrowed(best.left, best.values, axis, place, index)
            found = None if smaller is None else self.again(best, *smaller)
            if found is not None:
                return found
        return best

    def attributes(self, best: Counterexample) -> Counterexample:
        """Each attribute in turn made simpler."""
        for place in range(len(topological([best.left]))):
            candidates = list(_simpler_terms(best.left, place))
            for term in candidates:
                found = self.again(best, term, best.values) if weight(term) < weight(best.left) else None
                if found is not None:
                    best = found
                    break
        return best

    # -- the values ---------------------------------------------------------------------------------

    def arrays(self, best: Counterexample) -> Counterexample:
        """Arrays filled with one simple number."""
        for leaf in list(best.values):
            for number in (0, 1):
                full = np.full_like(best.values[leaf], number)
                found = self.again(best, best.left, {**best.values, leaf: full})
                if found is not None:
                    best = found
                    break
        return best

    def elements(self, best: Counterexample) -> Counterexample:
        """Each number in turn made simpler."""
        for leaf in list(best.values):
            for place in range(best.values[leaf].size):
                for number in _simpler_numbers(best.values[leaf].reshape(-1)[place]):
                    array = best.values[leaf].copy()
                    array.reshape(-1)[place] = number
                    found = self.again(best, best.left, {**best.values, leaf: array})
                    if found is not None:
                        best = found
                        break
        return best


def weight(term: Op) -> int:
    """How much there is to see of a term: ops, axes, elements, attributes."""
    order = topological([term])
    types = [t for part in order if not part.args for t in tensors(part.type)]
    sizes = sum(2 * math.prod(map(int, t.shape)) + 2 * t.rank for t in types)  # type: ignore[arg-type]
    odd = sum(t.dtype not in _SIMPLE_DTYPES for t in types)
    return 4 * len(order) + sizes + odd + sum(_heaviness(a) for part in order if part.args for a in part.attrs)


def _heaviness(value: Any) -> int:
    if isinstance(value, tuple | Axes):
        return len(value) + sum(map(_heaviness, value))
    if isinstance(value, Axis):
        return 0 if value.components is None else 1
    if isinstance(value, Literal):
        return 0 if value.scalar in (0, 1) else 1
    if isinstance(value, np.dtype):
        return int(value not in _SIMPLE_DTYPES)
    return min(2 * abs(value) + (value < 0), 20) if isinstance(value, int) else 0


def _small_instance(best: Counterexample, random: Random, bank: TrialBank, turn: int) -> Op | None:
    """An instance of the rule from a domain with lengths of 1 first, then of 2, then of 0 too."""
    choice = (1,) if turn < ROUNDS // 4 else (1, 2) if turn < ROUNDS // 2 else (2, 1, 3, 0)
    own = [t.dtype for part in topological([best.left]) for t in tensors(part.type)]
    kinds = {d.kind for d in own}
    dtypes = tuple(dict.fromkeys([*(d for d in _SIMPLE_DTYPES if d.kind in kinds), *own]))
    first = dtypes[turn // 2 % len(dtypes)]
    sizes = random.choices(choice, k=7)
    axes = tuple(Axis(name, n) for name, n in zip("HWNC", sizes[3:], strict=True))
    domain = Domain((sizes[0], sizes[1], sizes[2]), axes, (first, *(d for d in dtypes if d != first)))
    solver = Solver(best.rule, bank.make, True) if best.rule.guard is not None else None
    try:
        found = first_match(best.rule, domain, begin(random), bank, TRIES, solver)
    except NGraphRewriteError:
        return None
    return None if found is None or found.target != best.target else found.term


def _values_like(best: Counterexample, term: Op, random: Random) -> Iterator[Values]:
    """Values for the leaves of a smaller term: first numbers that fail already, where leaves are called the same."""
    leaves = valued_leaves(term)
    old = {k.name: v.reshape(-1) for k, v in best.values.items() if isinstance(k, Op) and v.size}
    drawn = [random_values(random, leaves, kind) for kind in (PLAIN, WILD, WILD, WILD)]
    for values in drawn:
        own = {k: old.get(t.name) for k, t in leaves.items()}
        with np.errstate(all="ignore"):
            yield {
                k: v if o is None else np.asarray(o[random.choices(range(o.size), k=v.size)].astype(v.dtype)).reshape(v.shape)
                for (k, v), o in zip(values.items(), own.values(), strict=True)
            }  # fmt: skip
    yield from drawn


def narrowed(root: Op, values: Values, axis: Axis, place: int, index: int) -> tuple[Op, Values] | None:
    """The term without an axis of its leaves, which are looked at in one place of it; None if that is not well-typed.

    Args:
        axis: By its name; without one, what stands at `place`.
    """
    bank = TrialBank()
    new: dict[Op, Op | None] = {}
    own = dict(values)
    for t in topological([root]):
        args = [new[a] for a in t.args]
        if None in args:
            return None
        at = None if t.args or isinstance(t.type, TupleType) else _position(t.axes, axis, place)
        if at is None:
            new[t] = bank.attempt(t.definition, tuple(a for a in args if a is not None), t.attrs) if t.args else t
            continue
        if any(isinstance(a, Literal) and a.scalar is None for a in t.attrs):
            return None
        less = Axes(a for i, a in enumerate(t.axes) if i != at)
        made = new[t] = bank.make(t.definition, (), tuple(less if a == t.axes else a for a in t.attrs), t.info)
        for old, now in ((t, made), *((a, a) for a in t.attrs if isinstance(a, Uid))):
            if old in own:
                own[now] = np.asarray(np.take(own.pop(old), index, at))
    return (found, own) if (found := new[root]) is not None else None


def _position(axes: Axes, axis: Axis, place: int) -> int | None:
    if axis.name is not None:
        return next((i for i, a in enumerate(axes) if a.name == axis.name), None)
    return place if place < len(axes) and axes[place].name is None else None


def _simpler_terms(root: Op, place: int) -> Iterator[Op]:
    """The term with one attribute of one op made simpler, where that is well-typed."""
    order = topological([root])
    changed = order[place] if place < len(order) else root
    if not changed.args:
        return
    for i, value in enumerate(changed.attrs):
        for simpler in _simpler_attributes(value):
            term = _rebuilt(order, changed, (*changed.attrs[:i], simpler, *changed.attrs[i + 1 :]))
            if term is not None:
                yield term


def _rebuilt(order: list[Op], changed: Op, attrs: tuple[Any, ...]) -> Op | None:
    bank = TrialBank()
    new: dict[Op, Op] = {}
    for t in order:
        args = tuple(new[a] for a in t.args)
        own = attrs if t is changed else t.attrs
        made = bank.attempt(t.definition, args, own) if args or t.args else t
        if made is None:
            return None
        new[t] = made
    return new[order[-1]]


def _simpler_attributes(value: Any) -> Iterator[Any]:
    if isinstance(value, Uid | str):
        return
    if isinstance(value, bool):
        yield from (False,) if value else ()
    elif isinstance(value, int):
        yield from (n for n in dict.fromkeys((0, 1, 2, value // 2, value - 1)) if 0 <= n < abs(value))
    elif isinstance(value, Literal):
        yield from (Literal(n, value.dtype) for n in (0, 1))
    elif isinstance(value, np.dtype):
        yield from (d for d in _SIMPLE_DTYPES if d != value and value not in _SIMPLE_DTYPES)
    elif type(value) is tuple:
        yield from (tuple(sorted(value)),) if all(type(v) is int for v in value) else ()
        for i, v in enumerate(value):
            yield from ((*value[:i], s, *value[i + 1 :]) for s in _simpler_attributes(v))


def _simpler_numbers(number: Any) -> Iterator[Array]:
    """Simpler numbers of the same dtype, the simplest first."""
    dtype = number.dtype
    if dtype == BOOL:
        yield from (np.array(False),) if number else ()
        return
    wanted = _SIMPLE if dtype.kind == "f" else [n for n in _INTEGERS if n >= 0 or dtype.kind == "i"]
    for simple in (np.array(n, dtype) for n in wanted):
        if simple.tobytes() == number.tobytes():
            return
        yield simple

