# SPDX-License-Identifier: Apache-2.0
"""The normal form of terms under rules: what is left when no rule takes any part of it any more."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import overload

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.garbage import no_garbage_collection
from ngraph_rewrite.lowering.counting import counted
from ngraph_rewrite.lowering.disabling import disabled_now
from ngraph_rewrite.lowering.driver import adopt
from ngraph_rewrite.lowering.normalising import evaluate, is_of_signature
from ngraph_rewrite.lowering.strategies import as_count
from ngraph_rewrite.lowering.table import ReplacementTable
from ngraph_rewrite.rewriting.inline import as_rules
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.rule import RuleSet
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.written import describe


@overload
def normal_form(  # type: ignore[overload-overlap]
    terms: Op,
    rules: RuleSet | str | os.PathLike[str],
    *,
    budget: int | None = None,
    table: ReplacementTable | None = None,
) -> Op: ...
@overload
def normal_form(
    terms: Iterable[Op],
    rules: RuleSet | str | os.PathLike[str],
    *,
    budget: int | None = None,
    table: ReplacementTable | None = None,
) -> list[Op]: ...
def normal_form(
    terms: Op | Iterable[Op],
    rules: RuleSet | str | os.PathLike[str],
    *,
    budget: int | None = None,
    table: ReplacementTable | None = None,
) -> Op | list[Op]:
    """The normal form of a term of a signature, or of several; of equal terms it is the same object.

    Args:
        rules: A set, the path of a rule file, or the text of one, as everywhere.
        budget: How many steps may be taken; a million by default.
        table: Every step is written into it, if it is given: `ReplacementTable.history` shows those of a term.

    Raises:
        ArgumentError: for something else than terms of signatures, or a number of steps that is none.
        RuleFileError: for a rule file with a mistake.
        RewriteError: if the steps are used up, the rules run in a cycle, or a rule fails.

    >>> import ngraph_rewrite as ng
    >>> bits = ng.signature("example_bits")
    >>> _ = bits.sort("Bit")
    >>> one, flip = bits.operation("one", (), "Bit"), bits.operation("flip", ("Bit",), "Bit")
    >>> normal_form(flip(flip(one())), bits.rules("rule twice: flip(flip(x)) => x"))
    one()
    """
    most = None if budget is None else as_count(budget, "budget")
    given = [terms] if isinstance(terms, Op) else list(terms)
    for term in given:
        if not isinstance(term, Op):
            raise ArgumentError(f"{term!r} is not a term", where=user_line(), do="give terms to rewrite")
        if not is_of_signature(term):
            do = "rewrite tensors with ng.rewrite(term, ng.strategies.innermost(rules))"
            raise ArgumentError(f"{describe(term, 1)} is a term of no signature", where=user_line(), do=do)
    matcher = counted(matcher_of(as_rules(rules), disabled_now()))
    with no_garbage_collection():
        table, bank = ReplacementTable() if table is None else table, TermBank()
        found = evaluate(adopt(given, table, bank), matcher, table, bank, "normal_form", most)
    return found[0] if isinstance(terms, Op) else found


def matcher_of(rules: RuleSet, off: tuple[str, ...] = ()) -> Matcher:
    """The decision trees of a rule set without those that are off; a set that is used again has them still."""
    return _matcher(_Same(rules.rules), off)


class _Same:
    """Rules compared by identity: hashing what they say would cost more than it saves."""

    def __init__(self, rules: Sequence[object]) -> None:
        self.rules = rules

    def __hash__(self) -> int:
        return hash(tuple(map(id, self.rules)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and list(map(id, self.rules)) == list(map(id, other.rules))


@lru_cache(maxsize=32)
def _matcher(same: _Same, off: tuple[str, ...]) -> Matcher:
    return Matcher(RuleSet(same.rules).without(off), Cache())  # type: ignore[arg-type]
