# SPDX-License-Identifier: Apache-2.0
"""Both sides of one instance of a rule, evaluated on symbols and compared element by element."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

from ngraph_rewrite.rewriting.instances import Instance, signature
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.testing.compare import difference
from ngraph_rewrite.testing.counterexample import Counterexample
from ngraph_rewrite.testing.draws import other_draw
from ngraph_rewrite.testing.evaluate import Undefined
from ngraph_rewrite.testing.findings import Context
from ngraph_rewrite.testing.proof.arrays import Symbols, symbolic
from ngraph_rewrite.testing.proof.elementary import Undecided
from ngraph_rewrite.testing.proof.exhaustive import PatientBank, Tired
from ngraph_rewrite.testing.proof.meanings import Value, evaluate, leaf_symbols
from ngraph_rewrite.testing.proof.narrow import narrowed
from ngraph_rewrite.testing.proof.pairs import Prover, TooLarge
from ngraph_rewrite.testing.proof.symbols import Scalar, parts
from ngraph_rewrite.testing.strategies import random_array, valued_leaves
from ngraph_rewrite.types.dtypes import DType
from ngraph_rewrite.types.tuples import tensors

# The indices tried where one must be known: inside, outside, and from the end; and how many combinations of them.
_INDICES = {"b": (False, True), "u": tuple(range(5)), "i": tuple(range(-4, 5))}
MOST_CASES = 100
Leaves = dict["Op | Uid", Value]


class NotProved(Exception):
    """Two elements of which it is not known whether they are equal, and why."""


class Refuted(Exception):
    """A counterexample turned up."""

    def __init__(self, found: Counterexample) -> None:
        super().__init__(found.what)
        self.found = found


@dataclass
class Proof:
    """What is known so far of one rule.

    Attributes:
        bank: Where the terms are made, which says when there are enough.
        elements: How many more elements may be compared.
        compared: On how many instances both sides are equal.
        filled: On how many of them there was an element to compare.
        how: What showed it.
        left_out: How many were too large.
        some_dtypes: Whether not all dtypes were tried.
        narrow: A dtype that what was compared may not fit where axes are long.
        large: Why none was compared.
        seen: The instances that were tried.
    """

    rule: Rule
    context: Context
    prover: Prover
    bank: PatientBank
    elements: int
    compared: int = 0
    filled: int = 0
    how: set[str] = field(default_factory=set)
    left_out: int = 0
    some_dtypes: bool = False
    narrow: DType | None = None
    large: str = "no instance was found"
    seen: set[Op] = field(default_factory=set)

    def search(self, found: Iterator[Instance]) -> Iterator[Instance]:
        """Prove instances, and give them.

        Raises:
            Tired: if that takes too long.
            NotProved: for the first that is not.
            Refuted: for the first that is wrong.
        """
        for instance in found:
            if instance.term not in self.seen:
                self.seen.add(instance.term)
                self._instance(instance)
                yield instance

    def _instance(self, instance: Instance) -> None:
        right = self._right(instance)
        if right is None:
            return
        leaves = leaf_values(instance.term)
        try:
            try:
                self._compare(instance, right, leaves)
            except Undecided as reason:
                for case in self._cases(leaves, reason):
                    self._compare(instance, right, case)
            self.compared += 1
            self.narrow = self.narrow or narrowed(instance.term, right)
            self.filled += any(type_.size for type_ in tensors(instance.term.type))
        except TooLarge as reason:
            self.left_out += 1
            self.large = str(reason)
        if self.elements < 0:
            raise Tired

    def _right(self, instance: Instance) -> Op | None:
        """What the rule makes of an instance, by the code that is run in a lowering."""
        matcher = self.context.matcher(self.rule)
        try:
            step = matcher.step(instance.term, self.bank.make, instance.target)
        except Exception as error:  # whatever it is, it is the rule's
            raise NotProved(f"fails on {signature(instance.term)}: {error}") from error
        if step is None:
            return None
        term, right = instance.term, step[1]
        what = f"rewrites {term.type!r} to {right.type!r}: {signature(term)}" if right.type != term.type else None
        what = what or other_draw(term, right)
        if what is not None:
            raise Refuted(Counterexample(self.rule, term, right, {}, what, instance.target))
        return right

    def _compare(self, instance: Instance, right: Op, leaves: Leaves) -> None:
        left = instance.term
        values = elements(evaluate(left, leaves)), elements(evaluate(right, leaves))
        if len(values[0]) != len(values[1]):
            raise NotProved(f"{left!r} and {right!r} are not of one shape")
        before = self.prover.asked
        for pair in dict.fromkeys(zip(*values, strict=True)):
            answer = self.prover.equal(*pair)
            if not answer.proved:
                self._confirm(instance, right, leaves, answer.model)
                raise NotProved(answer.how)
            self.how.add(answer.how)
        self.elements -= len(values[0]) + 1 + self.prover.asked - before

    def _cases(self, leaves: Leaves, reason: Undecided) -> Iterator[Leaves]:
        """The leaves with numbers for the indices and truths that a meaning asks for: all there are, or some.

        Raises:
            Undecided: the reason, if it asks for other numbers.
        """
        asked = set(parts(reason.on))
        chosen = {k: v for k, v in leaves.items() if isinstance(v, Symbols) and not asked.isdisjoint(v.items())}
        if not chosen or any(v.dtype.kind not in "biu" for v in chosen.values()):
            raise reason
        every = [_INDICES[v.dtype.kind] for v in chosen.values() for _ in range(v.size)]
        whole = math.prod(map(len, every)) <= MOST_CASES
        self.how.add("for each index" if whole else "for drawn indices")
        for numbers in itertools.product(*every) if whole else _drawn(every):
            left = iter(numbers)
            own = {k: np.array(list(itertools.islice(left, v.size)), v.dtype) for k, v in chosen.items()}
            yield {**leaves, **{k: symbolic(a.reshape(chosen[k].shape)) for k, a in own.items()}}

    def _confirm(self, instance: Instance, right: Op, leaves: Leaves, model: Mapping[str, Any]) -> None:
        """Look whether both sides differ for the model, or for drawn numbers, as the rule's class forbids."""
        left, _, target = instance
        for values in self._choices(leaves, model):
            try:
                found = difference(left, right, values, self.rule.grade)
            except Undefined:
                continue
            if found is not None:
                what = f"is not @{self.rule.grade}"
                raise Refuted(Counterexample(self.rule, left, right, values, what, difference=found, target=target))

    def _choices(self, leaves: Leaves, model: Mapping[str, Any]) -> Iterator[dict[Any, Any]]:
        random = Random(self.context.effort.seed)
        for kind in ("plain", "wild", "plain"):
            values = {}
            for key, value in leaves.items():
                assert isinstance(value, Symbols)
                drawn = random_array(random, value.dtype, value.shape, kind).copy()
                for place, s in zip(np.ndindex(*value.shape), value.items(), strict=True):
                    known = s.value if s.name is None else model.get(s.name)
                    drawn[place] = drawn[place] if known is None else known
                values[key] = drawn
            yield values


def _drawn(every: list[tuple[int, ...]]) -> Iterator[tuple[int, ...]]:
    random = Random(0)
    return (tuple(map(random.choice, every)) for _ in range(MOST_CASES))


def leaf_values(term: Op) -> Leaves:
    """Symbols for what a term is made of, named as it is printed; no two leaves share a name."""
    leaves = valued_leaves(term)
    names = [t.info.name or f"leaf{i}" for i, t in enumerate(leaves.values())]
    own = [n if names.count(n) == 1 else f"{n}.{i}" for i, n in enumerate(names)]
    return {k: leaf_symbols(n, t) for n, (k, t) in zip(own, leaves.items(), strict=True)}


def elements(value: Value) -> list[Scalar]:
    """All elements of a tensor, or of those of a tuple."""
    return value.items() if isinstance(value, Symbols) else [s for part in value for s in elements(part)]
