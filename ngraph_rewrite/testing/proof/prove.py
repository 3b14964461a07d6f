# SPDX-License-Identifier: Apache-2.0
"""Check 3: both sides of a rule are equal for every value of every small instance, shown on arrays of symbols."""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

from ngraph_rewrite.errors import NGraphRewriteError
from ngraph_rewrite.rewriting.instances import Instance
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.op import Op, topological
from ngraph_rewrite.testing.compare import difference
from ngraph_rewrite.testing.counterexample import Counterexample
from ngraph_rewrite.testing.evaluate import Undefined
from ngraph_rewrite.testing.findings import FAILED, OPEN, PASSED, Context, Finding, finding
from ngraph_rewrite.testing.proof.adjoint import prove_adjoint
from ngraph_rewrite.testing.proof.arrays import Symbols, symbolic
from ngraph_rewrite.testing.proof.elementary import Undecided
from ngraph_rewrite.testing.proof.exhaustive import (
    GREATEST,
    PatientBank,
    Tired,
    dtypes_of,
    every_dtype,
    has_sequences,
    instances,
    levels,
    small,
    some_instances,
)
from ngraph_rewrite.testing.proof.meanings import Value, evaluate, leaf_symbols
from ngraph_rewrite.testing.proof.pairs import SAME, Prover, TooLarge
from ngraph_rewrite.testing.proof.symbols import Scalar, parts
from ngraph_rewrite.testing.strategies import random_array
from ngraph_rewrite.types.dtypes import FLOAT32

CHECK = "proof"
# What one second of effort pays for: terms tried, and elements compared.
TERMS, ELEMENTS = 3_000, 2_500
# The indices tried where one must be known: inside, outside, and from the end; and how many combinations of them.
_INDICES = {"b": (False, True), "u": tuple(range(5)), "i": tuple(range(-4, 5))}
MOST_CASES = 100
Leaves = dict["Op | Uid", Value]


@dataclass
class _Proof:
    """What is known so far of one rule.

    Attributes:
        bank: Where the terms are made, which says when there are enough.
        elements: How many more elements may be compared.
        compared: On how many instances both sides are equal.
        left_out: How many were too large.
        how: What showed it.
        seen: The instances that were tried.
        large: Why none was compared.
    """

    rule: Rule
    context: Context
    prover: Prover
    bank: PatientBank
    elements: int
    compared: int = 0
    left_out: int = 0
    how: set[str] = field(default_factory=set)
    seen: set[Op] = field(default_factory=set)
    large: str = "no instance was found"


class _Open(Exception):
    """The proof does not go on, and why."""


class _Wrong(Exception):
    """A counterexample."""

    def __init__(self, found: Counterexample) -> None:
        super().__init__(found.what)
        self.found = found


def check_proof(rule: Rule, context: Context) -> Finding:
    """Whether a rule is proved: PASSED says how and for which instances, OPEN why it is not.

    A counterexample that turns up on the way is confirmed with numbers: FAILED.
    """
    if rule.kind == "derive":
        return prove_adjoint(rule, context)
    effort = context.effort
    proof = _Proof(
        rule,
        context,
        Prover(rule.grade, effort.seconds),
        PatientBank(round(TERMS * effort.seconds)),
        round(ELEMENTS * effort.seconds),
    )
    try:
        bound = _all_levels(proof)
    except _Wrong as wrong:
        return finding(rule, CHECK, FAILED, wrong.found.what, wrong.found.shown)
    except (_Open, Undecided) as reason:
        return finding(rule, CHECK, OPEN, " ".join(str(reason).split()))
    except NGraphRewriteError as error:
        return finding(rule, CHECK, OPEN, f"an instance cannot be made: {error.what}")
    if not proof.compared:
        return finding(rule, CHECK, OPEN, proof.large)
    how = ", ".join(sorted(proof.how - {SAME})) or SAME
    return finding(rule, CHECK, PASSED, f"{how}: {bound}")


def _all_levels(proof: _Proof) -> str:
    """Go through the searches while patience lasts; what has been covered, in words."""
    dtypes = _over_dtypes(proof)
    spare, whole = proof.bank.patience // 4, 0
    proof.bank.patience -= spare
    with suppress(Tired):
        for level in levels(proof.rule.left.definition.kin, dtypes):
            for domain in level.domains:
                _all(_search(proof, instances(proof.rule, domain, proof.bank)))
            if not proof.left_out:
                whole = level.rank
    if whole < GREATEST:
        proof.bank.patience += spare
        with suppress(Tired):
            largest = small((2, 3, 1, 2), dtypes, GREATEST)
            _all(_search(proof, some_instances(proof.rule, largest, proof.bank, 12)))
    return _covered(proof, whole)


def _all(found: Iterator[Instance]) -> None:
    deque(found, maxlen=0)


def _covered(proof: _Proof, whole: int) -> str:
    many = f"{proof.compared:,} instance{'s' if proof.compared != 1 else ''}"
    if has_sequences(proof.rule) or not whole:
        return f"{many} of lengths 0-3"
    return f"{many}, all of lengths 0-3 up to rank {whole}"


def _over_dtypes(proof: _Proof) -> tuple[Any, ...]:
    """Prove instances of all dtypes; the dtypes of the plainest of them."""
    found = []
    spare = proof.bank.patience * 3 // 4
    proof.bank.patience -= spare
    with suppress(Tired):
        for instance in _search(proof, instances(proof.rule, every_dtype(), proof.bank)):
            found.append(dtypes_of(instance.term))
    proof.bank.patience += spare
    plain = [d for d in found if FLOAT32 in d]
    return (plain or found or [(FLOAT32,)])[0]


def _search(proof: _Proof, found: Iterator[Instance]) -> Iterator[Instance]:
    """Prove instances, and give them.

    Raises:
        Tired: if that takes too long.
    """
    for instance in found:
        if instance.term not in proof.seen:
            proof.seen.add(instance.term)
            _instance(proof, instance)
            yield instance


def _instance(proof: _Proof, instance: Instance) -> None:
    step = proof.context.matcher(proof.rule).step(instance.term, proof.bank.make, instance.target)
    if step is None:
        return
    leaves = leaf_values(instance.term)
    try:
        try:
            _compare(proof, instance.term, step[1], leaves)
        except Undecided as reason:
            for case in _cases(proof, leaves, reason):
                _compare(proof, instance.term, step[1], case)
        proof.compared += 1
    except TooLarge as reason:
        proof.left_out += 1
        proof.large = str(reason)
    if proof.elements < 0:
        raise Tired


def _compare(proof: _Proof, left: Op, right: Op, leaves: Leaves) -> None:
    """Prove that both sides have equal elements.

    Raises:
        _Open: if that is not decided.
        _Wrong: if numbers show that they have not.
    """
    values = elements(evaluate(left, leaves)), elements(evaluate(right, leaves))
    if len(values[0]) != len(values[1]):
        raise _Open(f"{left!r} and {right!r} are not of one shape")
    proof.elements -= len(values[0]) + 1
    for pair in dict.fromkeys(zip(*values, strict=True)):
        answer = proof.prover.equal(*pair)
        if not answer.proved:
            _confirm(proof, left, right, leaves, answer.model)
            raise _Open(answer.how)
        proof.how.add(answer.how)


def _cases(proof: _Proof, leaves: Leaves, reason: Undecided) -> Iterator[Leaves]:
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
    random = Random(0)
    some = (tuple(map(random.choice, every)) for _ in range(MOST_CASES))
    proof.how.add("for each index" if whole else "for drawn indices")
    for numbers in itertools.product(*every) if whole else some:
        left = iter(numbers)
        own = {k: np.array(list(itertools.islice(left, v.size)), v.dtype) for k, v in chosen.items()}
        yield {**leaves, **{k: symbolic(a.reshape(chosen[k].shape)) for k, a in own.items()}}


def leaf_values(term: Op) -> Leaves:
    """Symbols for what a term is made of, named as it is printed."""
    leaves: Leaves = {}
    for t in topological([term]):
        if t.definition.meaning is None and not t.args:
            key = t.attribute("uid") if t.definition.traits & {"draw", "parameter"} else t
            leaves[key] = leaf_symbols(t.info.name or f"leaf{len(leaves)}", t)
    return leaves


def elements(value: Value) -> list[Scalar]:
    """All elements of a tensor, or of those of a tuple."""
    return value.items() if isinstance(value, Symbols) else [s for part in value for s in elements(part)]


def _confirm(proof: _Proof, left: Op, right: Op, leaves: Leaves, model: Mapping[str, Any]) -> None:
    """Whether both sides differ for the model, or for some drawn numbers, as the rule's class forbids.

    Raises:
        _Wrong: if they do.
    """
    for values in _choices(proof, leaves, model):
        try:
            found = difference(left, right, values, proof.rule.grade)
        except Undefined:
            continue
        if found is not None:
            what = f"is not @{proof.rule.grade}"
            raise _Wrong(Counterexample(proof.rule, left, right, values, what, found))


def _choices(proof: _Proof, leaves: Leaves, model: Mapping[str, Any]) -> Iterator[dict[Any, Any]]:
    random = Random(proof.context.effort.seed)
    for kind in ("plain", "wild", "plain"):
        values = {}
        for key, value in leaves.items():
            drawn = random_array(random, value.dtype, value.shape, kind).copy()
            for place, s in zip(np.ndindex(*value.shape), value.items(), strict=True):
                if s.name in model:
                    drawn[place] = model[s.name]
            values[key] = drawn
        yield values
