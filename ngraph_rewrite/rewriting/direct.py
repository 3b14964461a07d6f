# SPDX-License-Identifier: Apache-2.0
"""A pattern that matches in one way at most is written as Python: what is asked of a term, and what its names are."""

from __future__ import annotations

from collections.abc import Mapping

from ngraph_rewrite.rewriting.expression_source import as_source
from ngraph_rewrite.rewriting.nests import is_searched
from ngraph_rewrite.rewriting.pattern import App, Num, Pattern, SeqVar, Var, subpatterns
from ngraph_rewrite.rewriting.pieces import op_name
from ngraph_rewrite.rewriting.slots import sort_test


def may_be_direct(pattern: Pattern) -> bool:
    """Whether a pattern of a signature matches in one way at most, with everything in it at a fixed place."""
    if is_searched(pattern):
        return False
    parts = list(subpatterns(pattern))
    plain = not any(isinstance(p, SeqVar | Num) for p in parts)
    return plain and not any(isinstance(p, App) and p.definition.commutative for p in parts)


def taken_apart(
    pattern: Pattern, term: str, known: Mapping[str, str], attributes: Mapping[str, str]
) -> tuple[list[str], dict[str, str]]:
    """What is asked of a term, in order, and where the names that are new stand in it.

    Args:
        term: How the term is called.
        known: What the variables are that are bound already.
        attributes: The same of names of attributes.

    >>> from ngraph_rewrite.rewriting.signatures import Signature
    >>> nat = Signature("taken")
    >>> _ = nat.sort("Nat"), nat.operation("pair", ("Nat", "Nat"), "Nat"), nat.operation("f", ("Nat",), "Nat")
    >>> rule, = nat.rules("rule r: f(pair(x, f(y))) => y")
    >>> taken_apart(rule.left.args[0], "t", {"y": "y"}, {})[0]
    ['t.definition is op_taken_pair', 't.args[1].definition is op_taken_f', 't.args[1].args[0] is y']
    """
    tests, found = list[str](), dict[str, str]()
    _take(pattern, term, {**known}, {**attributes}, tests, found)
    return tests, found


def _take(
    pattern: Pattern,
    term: str,
    known: dict[str, str],
    attributes: dict[str, str],
    tests: list[str],
    found: dict[str, str],
) -> None:
    if isinstance(pattern, Var):
        if pattern.sort is not None:
            tests.append(f"({sort_test(term, pattern.sort.name)})")
        if pattern.name in known:
            tests.append(f"{term} is {known[pattern.name]}")
        else:
            known[pattern.name] = found[pattern.name] = term
        return
    assert isinstance(pattern, App)
    index = pattern.definition.attributes.index
    tests.append(f"{term}.definition is {op_name(pattern.definition.name)}")
    tests += [f"{term}.attrs[{index(a)}] == ({as_source(e, {})})" for a, e in pattern.compares]
    for attribute, name in pattern.binds:
        value = f"{term}.attrs[{index(attribute)}]"
        if name in attributes:
            tests.append(f"{value} == {attributes[name]}")
        else:
            attributes[name] = found[name] = value
    for i, arg in enumerate(pattern.args):
        _take(arg, f"{term}.args[{i}]", known, attributes, tests, found)
