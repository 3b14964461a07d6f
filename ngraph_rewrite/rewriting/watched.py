# SPDX-License-Identifier: Apache-2.0
"""A compiled rule set whose rules are watched, or switched off, without generating it again.

The step functions of a generated file share one function for each rule. A matcher of its own gets functions of its
own, and each is replaced by what somebody puts around it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.rewriting.waivers import covers_name

Apply = Callable[..., Any]
Around = Callable[[Rule, Apply], Apply]


class Watched(Matcher):
    """The same rules as a matcher, each applied by what `around` makes of its function.

    Args:
        around: Takes a rule and the function that applies it: the term, how to build terms, the target, and what the
            pattern binds, to the number of the rule and the new term, or None if the guard refuses.
    """

    def __init__(self, matcher: Matcher, around: Around) -> None:
        super().__init__(matcher.rules, matcher.cache)
        self.graph_rules = matcher.graph_rules
        self.around: Around = _both(matcher.around, around) if isinstance(matcher, Watched) else around

    def _loaded(self, op: str, what: str) -> Any:
        found = super()._loaded(op, what)
        if what != "step":
            return found
        vars(found).pop("collapse", None)  # a short cut that asks no rule's function
        done: set[int] = set()
        for name, cell in _cells(found):
            if name.startswith("apply_") and id(cell) not in done:
                done.add(id(cell))
                rule = self.rules.rules[int(name.removeprefix("apply_"))]
                cell.cell_contents = self.around(rule, cell.cell_contents)
        return found


def _both(inner: Around, outer: Around) -> Around:
    """What is watched, or off, already stays so."""
    return lambda rule, apply: outer(rule, inner(rule, apply))


def _cells(function: Any) -> Iterator[tuple[str, Any]]:
    """The names that a function finds outside of it, and where; so do those that it has in a list."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield name, cell
        if isinstance(cell.cell_contents, list):
            for one in cell.cell_contents:
                yield from _cells(one)


def without(matcher: Matcher, names: Iterable[str]) -> Matcher:
    """A matcher in which the rules of these names never fire; the others are tried as before.

    A name that is written with ``for`` stands for all its alternatives.
    """
    off = tuple(names)

    def is_off(rule: Rule) -> bool:
        return any(covers_name(name, rule.name) for name in off)

    found = Watched(matcher, lambda rule, apply: _never if is_off(rule) else apply)
    found.graph_rules = tuple(rule for rule in found.graph_rules if not is_off(rule))
    return found


def _never(*_: Any) -> None:
    """What a rule that is off makes of anything."""
