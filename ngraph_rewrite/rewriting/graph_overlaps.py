# SPDX-License-Identifier: Apache-2.0
"""Overlaps of rules with several left sides: the smallest graphs in which a left side of one meets one of the other.

Such a graph is written as a tuple of its roots: the left sides of the outer rule, and those of the inner one but that
which stands inside. What the others match may be shared as well, so each of them is also laid over each part that it
unifies with. See Ehrig, Ehrig, Prange and Taentzer, *Fundamentals of Algebraic Graph Transformation* (2006), chapter 6:
critical pairs of graph rules are their minimal overlaps, and terms with sharing are graphs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ngraph_rewrite.rewriting.overlaps import Overlap, Position, overlaps, positions, renamed
from ngraph_rewrite.rewriting.pattern import App
from ngraph_rewrite.rewriting.unification import unifiers
from ngraph_rewrite.rewriting.unifier import resolved
from ngraph_rewrite.terms.catalogue import lookup


def of_several(outer: Sequence[App], inner: Sequence[App], own: int, number: int, position: Position) -> list[Overlap]:
    """The smallest graphs that all patterns of `outer` and of `inner` match, and that are one at a position.

    Args:
        own: Which pattern of `outer` has the position.
        number: Which pattern of `inner` matches there.

    Returns:
        Tuples of patterns: those of `outer`, then those of `inner` but that one.

    >>> from ngraph_rewrite.ops import semi
    >>> from ngraph_rewrite.rewriting.rulefile import parse_rules
    >>> text = "simplify semi\\nrule a: sin(x), cos(x) => x, x\\nrule b: sin(x), exp(x) => x, x\\n"
    >>> a, b = parse_rules(text, "r.rules", "r")
    >>> for overlap in of_several(a.left.args, b.left.args, 0, 0, ()):
    ...     print(overlap.pattern, overlap.position)
    make_tuple(sin(x_), cos(x_), exp(x_)) (0,)
    """
    beside = [renamed(pattern) for i, pattern in enumerate(inner) if i != number]
    whole = App(lookup("core.make_tuple"), (*outer, *beside))
    found: dict[str, Overlap] = {}
    for overlap in overlaps(whole, inner[number], (own, *position)):
        for shared in _shared(overlap, len(outer)):
            found.setdefault(f"{shared.pattern} {shared.position}", shared)
    return list(found.values())


def _shared(overlap: Overlap, at: int) -> Iterator[Overlap]:
    """The overlap, and those in which roots from number `at` on are parts of what stands there already."""
    yield overlap
    for place in range(at, len(overlap.pattern.args)):
        root = overlap.pattern.args[place]
        assert isinstance(root, App)
        others = (one for i, one in enumerate(overlap.pattern.args) if i != place and isinstance(one, App))
        for part in (part for one in others for _, part in positions(one) if part.definition is root.definition):
            for unifier in unifiers(part, root):
                whole = resolved(overlap.pattern, unifier)
                assert isinstance(whole, App)
                yield from _shared(Overlap(whole, overlap.position), place + 1)
