# SPDX-License-Identifier: Apache-2.0
"""What an order sees of a rule: the ops of both sides and how they are nested, attributes and types left out.

A nest is one op with all its operands, as in Bachmair and Plaisted, *Termination orderings for associative-commutative
rewriting systems* (1985): that rules regroup nests is no step of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator
from functools import lru_cache

from ngraph_rewrite.rewriting.conditional import bound_variables, normalised, sources
from ngraph_rewrite.rewriting.nests import nests
from ngraph_rewrite.rewriting.pattern import (
    App,
    Build,
    Computed,
    Pattern,
    Pick,
    SeqVar,
    Spread,
    Template,
    Var,
    subtemplates,
)
from ngraph_rewrite.rewriting.rule import Let, Rule
from ngraph_rewrite.terms.catalogue import OpDef, lookup


class Node:
    """An op and its arguments.

    Attributes:
        runs: How often each sequence variable stands among the arguments; ``built`` is what is built for one.
    """

    __slots__ = ("args", "definition", "runs")

    def __init__(self, definition: OpDef, args: list[Plain], runs: Iterable[str] = ()) -> None:
        self.definition, self.args, self.runs = definition, args, Counter(runs)

    @property
    def fixed(self) -> int:
        """The number of arguments that stand for one."""
        return len(self.args) - self.runs.total()

    @property
    def unordered(self) -> bool:
        """Whether patterns match the arguments in any order, or in any number."""
        return self.definition.commutative or self.definition.arity is None or self.nest

    @property
    def nest(self) -> bool:
        """Whether it stands for a whole nest: the op in any grouping of its arguments."""
        return nests(self.definition) and (len(self.args) != 2 or bool(self.runs))

    @property
    def count(self) -> int:
        """How many ops it is: of a nest one less than it has operands, a sequence taken for one."""
        return max(len(self.args) - 1, 1) if self.nest else 1

    @property
    def narrowing(self) -> bool:
        """Whether it stands above itself with fewer arguments."""
        return "narrowing" in self.definition.traits


# A variable's name, or an op with its arguments.
Plain = str | Node
REMEMBERED = (
    1 << 12
)  # rules of which it is known what they come to: orders of all are asked for again with each new one


@lru_cache(maxsize=REMEMBERED)
def sides(rule: Rule) -> tuple[Node, Plain] | None:
    """Both sides of a rule with everything that `let` names put in place; None if a function makes the right one.

    What the conditions of a rule bring to normal form has to be below the left side too: it stands beside the right.
    """
    if rule.right[0] is None or isinstance(rule.right[0], Computed):
        return None
    left = _pattern(rule.left)
    assert isinstance(left, Node)
    right = _template(rule.right[0], rule)
    asked = [_template(side, rule) for c in rule.conditions for side in normalised(c)]
    return left, Node(lookup("core.make_tuple"), [right, *asked]) if asked else right


def _pattern(pattern: Pattern) -> Plain:
    if isinstance(pattern, App):
        runs = [a.name for a in pattern.args if isinstance(a, SeqVar)]
        return Node(pattern.definition, [_pattern(a) for a in pattern.args], runs)
    return pattern.name if isinstance(pattern, Var | SeqVar) else Node(lookup("core.constant"), [])


def _template(template: Template, rule: Rule) -> Plain:
    lets = {c.name: c.template for c in rule.clauses if isinstance(c, Let)}
    lets.update(sources(rule))  # what a condition binds is a part of what its term becomes, and so not above that
    named: dict[str, Plain] = {}

    def plain(t: Template) -> Plain:
        if isinstance(t, Build):
            runs = [_run(a, lets) for a in t.args if isinstance(a, Spread)]
            return Node(t.definition, [plain(a) for a in t.args], runs)
        if isinstance(t, Spread):
            return plain(t.template)
        if isinstance(t, Var):
            return name(t.name)
        return name(t.name) if isinstance(t, Pick) else Node(lookup("core.constant"), [])

    def name(n: str) -> Plain:
        if n not in named:  # one object however often it is named: what is shared is compared once
            named[n] = _pattern(rule.left) if n == "self" else plain(lets[n]) if n in lets else n
        return named[n]

    return plain(template)


def _run(spread: Spread, known: Container[str] = ()) -> str:
    """The sequence variable of the left side that it repeats as it is; what it builds of one may be of any number."""
    return spread.template.name if isinstance(spread.template, Var) and spread.template.name not in known else "built"


def nodes(term: Plain) -> Iterator[Node]:
    """Each op of the term once, however often it is shared, in the order it is written."""
    pending, seen = [term], set[int]()
    while pending:
        node = pending.pop()
        if isinstance(node, Node) and id(node) not in seen:
            seen.add(id(node))
            yield node
            pending.extend(node.args[::-1])


def counted(term: Plain) -> Counter[int | str]:
    """How often each op, by its rank, and each variable, by its name, stands in the term."""
    known: dict[int, Counter[int | str]] = {}

    def count(t: Plain) -> Counter[int | str]:
        if isinstance(t, str):
            return Counter([t])
        if id(t) not in known:
            known[id(t)] = sum(map(count, t.args), Counter[int | str]({t.definition.rank: t.count}))
        return known[id(t)]

    return count(term)


def builds_of_sequences(rule: Rule) -> bool:
    """Whether the right side builds an op for each term of a sequence, or of one that a condition binds."""
    templates = [*rule.right, *(c.template for c in rule.clauses if isinstance(c, Let))]
    parts = (part for template in templates if template is not None for part in subtemplates(template))
    found, bound = [part.template for part in parts if isinstance(part, Spread)], bound_variables(rule)
    return any(not isinstance(template, Var) or template.name in bound for template in found)


def same(a: Plain, b: Plain) -> bool:
    """Whether two terms differ at most in the order of arguments that match in any order."""
    if a is b or isinstance(a, str) or isinstance(b, str):
        return a == b
    if a.definition is not b.definition or len(a.args) != len(b.args):
        return False
    return not rest(a.args, b.args) if a.unordered else all(map(same, a.args, b.args))


def rest(left: list[Plain], right: list[Plain]) -> list[Plain]:
    """What is left of `left` when each of `right` has taken away an equal one."""
    left = list(left)
    for b in right:
        at = next((i for i, a in enumerate(left) if same(a, b)), None)
        if at is not None:
            del left[at]
    return left
