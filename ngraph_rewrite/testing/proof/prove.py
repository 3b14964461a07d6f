# SPDX-License-Identifier: Apache-2.0
"""Check 3: both sides of a rule are equal for every value of every small instance, shown on arrays of symbols."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from functools import partial

from ngraph_rewrite.errors import NGraphRewriteError
from ngraph_rewrite.rewriting.alternatives import wants_nothing
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.testing.findings import FAILED, OPEN, PASSED, Context, Finding, finding
from ngraph_rewrite.testing.proof.adjoint import prove_adjoint
from ngraph_rewrite.testing.proof.comparing import NotProved, Proof, Refuted
from ngraph_rewrite.testing.proof.elementary import Undecided
from ngraph_rewrite.testing.proof.exhaustive import (
    GREATEST,
    Level,
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
from ngraph_rewrite.testing.proof.pairs import SAME, Prover
from ngraph_rewrite.testing.shrinking import shrunk
from ngraph_rewrite.testing.values import wrong_step
from ngraph_rewrite.types.dtypes import BOOL, FLOAT32, INT64, DType

CHECK = "proof"
# What one second of effort pays for: terms tried, and elements compared. They are counted, not timed, so that the
# same is found on every machine.
TERMS, ELEMENTS = 3_000, 2_500
# Which part of the rest goes to dtypes here and there, where not all of them could be tried.
SPREAD = 4
# The dtypes for a rule that fires on none of the first few shapes.
_USUAL = (FLOAT32, BOOL, INT64)


def check_proof(rule: Rule, context: Context) -> Finding:
    """Whether a rule is proved: PASSED says how and for which instances, OPEN why it is not.

    The meanings of both sides are run on arrays of symbols. What moves elements and looks at none is proved where
    the same symbols stand in the same places, and everything else where each pair of elements is decided, by its
    form or by a prover of scalars. A counterexample that turns up is confirmed with numbers: FAILED.

    >>> from ngraph_rewrite.rewriting.rule import RuleSet
    >>> from ngraph_rewrite.rewriting.rulefile import parse_rules
    >>> text = "simplify semi\\nrule r: transpose(transpose(x, perm=p), perm=q) => transpose(x, perm=compose(p, q))"
    >>> rule, = parse_rules(text, "my.rules", "my")
    >>> found = check_proof(rule, Context(RuleSet([rule])))
    >>> found.status, found.says.partition(": ")[0]
    ('passed', 'element by element')
    """
    if rule.kind == "derive":
        return prove_adjoint(rule, context)
    seconds = context.effort.seconds
    bank = PatientBank(round(TERMS * seconds))
    proof = Proof(rule, context, Prover(rule.grade, seconds), bank, round(ELEMENTS * seconds))
    try:
        covered = _all_levels(proof)
    except Refuted as wrong:
        small = shrunk(wrong.found, partial(wrong_step, rule, context), seconds)
        return finding(rule, CHECK, FAILED, small.what, small.shown)
    except (NotProved, Undecided) as reason:
        return finding(rule, CHECK, OPEN, " ".join(str(reason).split()))
    except NGraphRewriteError as error:
        return finding(rule, CHECK, OPEN, f"an instance cannot be made: {' '.join(error.what.split())}")
    if not proof.compared:
        return finding(rule, CHECK, OPEN, proof.large)
    if not proof.filled and not wants_nothing(rule):
        return finding(rule, CHECK, OPEN, f"only values without elements were compared: {covered}")
    if proof.narrow is not None:
        return finding(rule, CHECK, OPEN, f"shown where axes are short; what is computed may not fit {proof.narrow}")
    return finding(rule, CHECK, PASSED, f"{_how(proof)}: {covered}")


def _how(proof: Proof) -> str:
    """What showed it, each way once, however many cases or values it took."""
    ways = {re.sub(r"(in|for each of) \d+ (case|value)s", r"for each \2", how) for how in proof.how}
    return ", ".join(sorted(ways - {SAME})) or SAME


def _all_levels(proof: Proof) -> str:
    """Go through the searches while patience lasts; what has been covered, in words."""
    dtypes = _over_dtypes(proof)
    spare, whole, told = proof.bank.patience // 4, 0, 0
    proof.bank.patience -= spare
    filled = proof.filled
    for level in levels(proof.rule.left.definition.kin, dtypes):
        if not _level(proof, level):
            break
        whole = level.rank
        told = whole if proof.filled > filled else 0
    if whole < GREATEST:
        proof.bank.patience += spare
        with suppress(Tired):
            largest = small((2, 3, 1, 2), dtypes, GREATEST)
            _all(proof.search(some_instances(proof.rule, largest, proof.bank, 12)))
    return _covered(proof, told)


def _level(proof: Proof, level: Level) -> bool:
    """Go through the searches of a level, each with its share of what patience is left; whether that was enough."""
    before, whole = proof.left_out, True
    for left, domain in zip(range(len(level.domains), 0, -1), level.domains, strict=True):
        kept = proof.bank.patience - proof.bank.patience // left
        proof.bank.patience -= kept
        try:
            _all(proof.search(instances(proof.rule, domain, proof.bank)))
        except Tired:
            whole = False
        proof.bank.patience = max(proof.bank.patience, 0) + kept
        if proof.elements < 0:
            return False
    return whole and proof.left_out == before


def _all(found: Iterable[object]) -> None:
    deque(found, maxlen=0)


def _over_dtypes(proof: Proof) -> tuple[DType, ...]:
    """Prove instances of all dtypes, or of some from all over them; the dtypes of the plainest of them."""
    found = []
    spare = proof.bank.patience * 3 // 4
    proof.bank.patience -= spare
    try:
        for instance in proof.search(instances(proof.rule, every_dtype(), proof.bank)):
            found.append(dtypes_of(instance.term))
    except Tired:
        proof.some_dtypes = True
        proof.bank.patience = spare // SPREAD
        with suppress(Tired):
            _all(proof.search(some_instances(proof.rule, every_dtype(), proof.bank, 24)))
        spare -= spare // SPREAD
    proof.bank.patience = max(proof.bank.patience, 0) + spare
    plain = [d for d in found if FLOAT32 in d]
    return (plain or found or [_USUAL])[0]


def _covered(proof: Proof, whole: int) -> str:
    """How many instances, and up to which rank all, if there were any with elements among them."""
    many = f"{proof.compared:,} instance{'s' if proof.compared != 1 else ''} of lengths 0-3"
    rank = "" if has_sequences(proof.rule) or not whole else f", all up to rank {whole}"
    return f"{many}{rank}{', of some dtypes' if proof.some_dtypes else ''}"
