# SPDX-License-Identifier: Apache-2.0
"""A counterexample made small: fewer and shorter axes, simpler attributes and numbers, while it still fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

import numpy as np

from ngraph_rewrite.errors import NGraphRewriteError
from ngraph_rewrite.rewriting.asked_target import Target
from ngraph_rewrite.rewriting.domain import Domain
from ngraph_rewrite.rewriting.instances import first_match
from ngraph_rewrite.rewriting.solving import Solver
from ngraph_rewrite.rewriting.trial_bank import TrialBank
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.testing.counterexample import Counterexample
from ngraph_rewrite.testing.evaluate import Array, Undefined, Unknown, Values
from ngraph_rewrite.testing.simpler import SIMPLE_DTYPES, narrowed, simpler_numbers, simpler_terms, weight
from ngraph_rewrite.testing.strategies import PLAIN, WILD, begin, random_values, valued_leaves
from ngraph_rewrite.types.axes import Axis
from ngraph_rewrite.types.dtypes import kind_of
from ngraph_rewrite.types.tuples import tensors

# Whether a rule is wrong on a term, for these values and this target, and how.
Trial = Callable[[Op, Values, Target], Counterexample | None]

# How many smaller instances are sought, and how many terms may be made to find each.
ROUNDS, TRIES = 60, 40
_MOST_PLACES = 4
# Arrays of more elements are cleared part by part before their elements are looked at one by one.
_LONG = 64


def shrunk(found: Counterexample, trial: Trial, seconds: float = 1.0) -> Counterexample:
    """A smaller counterexample to the same rule, as small as it gets in this time.

    Args:
        trial: Asked of each smaller instance.
    """
    shrinker = _Shrinker(trial, time.process_time() + seconds)
    for step in (
        shrinker.instances,
        shrinker.axes,
        shrinker.attributes,
        shrinker.arrays,
        shrinker.parts,
        shrinker.elements,
    ):
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
        except (Undefined, Unknown):
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
            candidates = list(simpler_terms(best.left, place))
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

    def parts(self, best: Counterexample) -> Counterexample:
        """Parts of long arrays filled with 0: a half first, then less and less."""
        for leaf in [leaf for leaf, value in best.values.items() if value.size > _LONG]:
            size = step = best.values[leaf].size
            while step > 1 and self.in_time:
                step = (step + 1) // 2
                for start in range(0, size, step):
                    array = best.values[leaf].copy()
                    part = array.reshape(-1)[start : start + step]
                    if part.any():
                        part[:] = 0
                        best = self.again(best, best.left, {**best.values, leaf: array}) or best
        return best

    def elements(self, best: Counterexample) -> Counterexample:
        """Each number in turn made simpler."""
        for leaf in list(best.values):
            for place in range(best.values[leaf].size):
                for number in simpler_numbers(best.values[leaf].reshape(-1)[place]):
                    array = best.values[leaf].copy()
                    array.reshape(-1)[place] = number
                    found = self.again(best, best.left, {**best.values, leaf: array})
                    if found is not None:
                        best = found
                        break
        return best


def _small_instance(best: Counterexample, random: Random, bank: TrialBank, turn: int) -> Op | None:
    """An instance of the rule from a domain with lengths of 1 first, then of 2, then of 0 too."""
    choice = (1,) if turn < ROUNDS // 4 else (1, 2) if turn < ROUNDS // 2 else (2, 1, 3, 0)
    own = [t.dtype for part in topological([best.left]) for t in tensors(part.type)]
    kinds = {kind_of(d) for d in own}
    dtypes = tuple(dict.fromkeys([*(d for d in SIMPLE_DTYPES if kind_of(d) in kinds), *own]))
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
        with np.errstate(all="ignore"):
            yield {k: _some_of(old.get(leaves[k].name), v, random) for k, v in values.items()}
    yield from drawn


def _some_of(numbers: Array | None, like: Array, random: Random) -> Array:
    """An array of any of the numbers, with the shape and dtype of another; that one, if there are none."""
    if numbers is None:
        return like
    chosen = numbers[random.choices(range(numbers.size), k=like.size)]
    return np.asarray(chosen.astype(like.dtype)).reshape(like.shape)
