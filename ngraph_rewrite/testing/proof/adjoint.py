# SPDX-License-Identifier: Apache-2.0
"""Derive rules proved: on small arrays of symbols each adjoint is the derivative that sympy and the chain rule give."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from ngraph_rewrite.errors import NGraphRewriteError
from ngraph_rewrite.lowering.fitting import fitted
from ngraph_rewrite.rewriting.instances import Instance
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.testing.differences import Adjoint, adjoints, is_double
from ngraph_rewrite.testing.findings import NONE, OPEN, PASSED, Context, Finding, finding
from ngraph_rewrite.testing.proof.arrays import Symbols, symbolic
from ngraph_rewrite.testing.proof.derivative import (
    NoDerivative,
    derivatives,
    has_general_power,
    on_positive_bases,
    slope,
    substituted,
)
from ngraph_rewrite.testing.proof.elementary import Undecided
from ngraph_rewrite.testing.proof.exhaustive import PatientBank, Tired, instances, levels
from ngraph_rewrite.testing.proof.meanings import Value, evaluate, leaf_symbols
from ngraph_rewrite.testing.proof.pairs import Prover, TooLarge
from ngraph_rewrite.testing.proof.symbols import Scalar, number, parts
from ngraph_rewrite.types.dtypes import BOOL, FLOAT64, is_float

CHECK = "proof"
# What one second of effort pays for: terms tried, and elements compared. Adjoints treat all ranks alike.
TERMS, ELEMENTS = 3_000, 600
_RANKS, _QUESTION = 2, 0.25
# Instances with more elements are left out, unless there are no others; and so many times the seconds are the end.
_SIZES, _CLOCK = (18, 48), 1.5
# What integers are tried: inside of axes and outside, some twice.
_PLACES, _TURNS = (0, 1, -1, 2, 5, 1, -2), 2


class _Open(Exception):
    """What could not be proved."""


@dataclass
class _Proof:
    """How far the proof of a rule has come.

    Attributes:
        elements: How many more elements may be compared.
        size: How many elements an instance may have.
        limits: What it was proved for only.
    """

    rule: Rule
    context: Context
    elements: int
    until: float
    size: int = _SIZES[0]
    compared: int = 0
    limits: dict[str, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.prover = Prover("real", min(_QUESTION, self.context.effort.seconds))


def prove_adjoint(rule: Rule, context: Context, ranks: int = _RANKS) -> Finding:
    """Whether a derive rule is proved: its adjoints are the derivatives over the reals, for all values.

    Ties share as the library says. Where there is no proof the finding is open, and says which element is why;
    finite differences are another check.

    Args:
        ranks: Up to which rank tensors are tried.

    >>> from ngraph_rewrite.rewriting.rule import RuleSet
    >>> from ngraph_rewrite.rewriting.rulefile import parse_rules
    >>> rule, = parse_rules("derive semi\\nrule tanh: tanh(x) => d * (1 - self * self)", "my.rules", "my")
    >>> prove_adjoint(rule, Context(RuleSet([rule]))).status
    'passed'
    """
    if rule.kind != "derive":
        return finding(rule, CHECK, NONE)
    effort = context.effort
    proof = _Proof(rule, context, round(ELEMENTS * effort.seconds) + 20, time.process_time() + _CLOCK * effort.seconds)
    try:
        for proof.size in _SIZES:
            bound = _all_levels(proof, round(TERMS * effort.seconds) + 200, ranks)
            if proof.compared:
                break
    except (_Open, Undecided, NoDerivative) as reason:
        return finding(rule, CHECK, OPEN, " ".join(str(reason).split()))
    except NGraphRewriteError as error:
        return finding(rule, CHECK, OPEN, f"an instance cannot be made: {error.what}")
    except Exception as error:  # whatever a meaning does with symbols that it is not made for
        return finding(rule, CHECK, OPEN, f"the meaning of an op does not run on symbols: {type(error).__name__}")
    if not proof.compared:
        return finding(rule, CHECK, OPEN, "no instance with an adjoint was found")
    return finding(rule, CHECK, PASSED, ", ".join([_by_what(rule), "over the reals", *proof.limits]) + f": {bound}")


def _by_what(rule: Rule) -> str:
    """The derivative that was sympy's, if the rule is about one."""
    short = rule.left.definition.short
    try:
        return f"sympy: d/da {short} = {slope(short, 0)}"
    except KeyError:
        return "sympy's derivatives and the chain rule"


def _all_levels(proof: _Proof, patience: int, ranks: int) -> str:
    whole = 0
    try:
        for level in levels(proof.rule.left.definition.kin, (FLOAT64, BOOL)):
            if level.rank > ranks:
                break
            for domain in level.domains:
                bank = PatientBank(patience)
                try:
                    for instance in instances(proof.rule, domain, bank):
                        with suppress(TooLarge):
                            _instance(proof, instance, bank)
                            continue
                        proof.limits["larger expressions left out"] = None
                finally:
                    patience = bank.patience
            whole = level.rank
    except Tired:
        pass
    except _Open:
        if not whole or not proof.compared:
            raise
    many = f"{proof.compared:,} instance{'s' if proof.compared != 1 else ''} of lengths 0-3"
    return f"{many}, all of at most {proof.size} elements up to rank {whole}" if whole else many


def _instance(proof: _Proof, instance: Instance, bank: PatientBank) -> None:
    term = instance.term
    leaves = [t for t in topological([term]) if t.definition.meaning is None and not t.args]
    if not is_double(term) or sum(int(t.size) for t in leaves) > proof.size:  # type: ignore[arg-type, misc]
        return
    incoming = bank.leaf("d", term.type)
    found = adjoints(proof.context.matcher(proof.rule), term, bank.make, incoming)
    if found is None:
        return
    indices = any(t.dtype.kind in "iu" for t in leaves)
    if indices:
        proof.limits["for some indices"] = None
    for turn in range(_TURNS if indices else 1):
        values = {_key(t): _leaf_value(i, t, turn) for i, t in enumerate(leaves)}
        elements = [_compare_all(proof, term, one, incoming, values) for one in found]
        proof.compared += any(elements)
        if proof.elements < 0 or time.process_time() > proof.until:
            raise Tired


def _compare_all(proof: _Proof, term: Op, one: Adjoint, incoming: Op, leaves: Mapping[Op | Uid, Value]) -> int:
    """Compare all elements of an adjoint, if its argument can have one; how many there are."""
    argument, adjoint = one
    if argument not in leaves or not is_float(argument.dtype):
        return 0
    outputs, weights = evaluate(term, leaves), leaf_symbols("d", incoming)
    assert isinstance(outputs, Symbols)
    wanted = _derivatives(term, outputs.items(), weights.items(), leaves[argument])
    found = [number(0, FLOAT64)] * len(wanted)
    if adjoint is not None:
        given = evaluate(fitted(adjoint, argument.type), {**leaves, incoming: weights})
        assert isinstance(given, Symbols)
        found = given.items()
    _compare(proof, wanted, found, outputs.items())
    return len(wanted)


def _key(leaf: Op) -> Op | Uid:
    return leaf.attribute("uid") if leaf.definition.traits & {"draw", "parameter"} else leaf


def _leaf_value(place: int, leaf: Op, turn: int) -> Value:
    """Symbols; of integers, which are places in other tensors, some numbers."""
    if leaf.dtype.kind not in "iu":
        return leaf_symbols(leaf.info.name or f"leaf{place}", leaf)
    some = np.abs(_PLACES) if leaf.dtype.kind == "u" else np.array(_PLACES)
    numbers = np.resize(np.roll(some, turn), int(leaf.size)).astype(leaf.dtype)  # type: ignore[arg-type]
    return symbolic(numbers.reshape(leaf.shape))


def _derivatives(term: Op, outputs: list[Scalar], weights: list[Scalar], argument: Value) -> list[Scalar]:
    assert isinstance(argument, Symbols)
    if term.definition.name == "core.stop_gradient":
        return [number(0, argument.dtype)] * argument.size
    return derivatives(outputs, weights, argument.items())


def _compare(proof: _Proof, wanted: list[Scalar], found: list[Scalar], outputs: list[Scalar]) -> None:
    """Compare elements.

    Raises:
        _Open: if one was not proved.
    """
    if has_general_power([*wanted, *found]):
        proof.limits["where bases are positive"] = None
        wanted, found = (list(map(on_positive_bases, side)) for side in (wanted, found))
    for pair in dict.fromkeys(zip(wanted, found, strict=True)):
        answer = proof.prover.equal(*pair)
        if not answer.proved and not _equal_beside(proof, pair, outputs):
            raise _Open(answer.how)
    proof.elements -= len(wanted) + 1


def _equal_beside(proof: _Proof, pair: tuple[Scalar, Scalar], outputs: list[Scalar]) -> bool:
    """Whether two expressions are equal where what is differentiated compares nothing with what is equal to it.

    Elsewhere a choice may be about to change, and there is no derivative.
    """
    inside = set(parts(outputs))
    apart = {t: number(t.op == "not_equal", BOOL) for t in parts(pair) if t in inside and _is_equality(t)}
    if not apart or not proof.prover.equal(*(substituted(side, apart) for side in pair)).proved:
        return False
    proof.limits["except where a choice changes"] = None
    return True


def _is_equality(term: Scalar) -> bool:
    return term.op in ("equal", "not_equal") and is_float(term.args[0].dtype)
