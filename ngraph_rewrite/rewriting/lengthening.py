# SPDX-License-Identifier: Apache-2.0
"""A pattern that matches only a nest has two operands at least: a sequence in it may begin with some of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from ngraph_rewrite.rewriting.nests import is_flat
from ngraph_rewrite.rewriting.pattern import App, Pattern, SeqVar, Var, subpatterns
from ngraph_rewrite.rewriting.unifier import Unifier
from ngraph_rewrite.rewriting.variable_sorts import Sorted


def lengthened(patterns: Sequence[tuple[App, bool]], kinds: Mapping[str, Sorted]) -> Iterator[Unifier]:
    """Beginnings of sequences, such that each nest that has to be one has two operands; one for each choice.

    Args:
        patterns: With each whether it has to be a nest at its root, even where its operation has an identity.
    """
    short = [part for pattern, root in patterns for part in _short(pattern, root)]
    choices = [[c for c in product(*[(0, 1, 2)] * len(_runs(nest))) if sum(c) == _missing(nest)] for nest in short]
    for chosen in product(*choices):
        runs: dict[str, tuple[Pattern, ...]] = {}
        own = dict(kinds)
        for nest, counts in zip(short, chosen, strict=True):
            for run, count in zip(_runs(nest), counts, strict=True):
                names = [f"{run.name}{i + 1}'" for i in range(count)] if run.name not in runs else []
                own |= {n: Sorted(own[run.name].sort, own[run.name].operand_of) for n in names}
                rest = SeqVar(f"{run.name}'")
                own[rest.name] = own[run.name]
                if names:
                    runs[run.name] = (*map(Var, names), rest)
        yield Unifier(runs=runs, kinds=own)


def _short(pattern: App, root: bool) -> Iterator[App]:
    """The nests in a pattern that have to be such, and may have fewer than two operands as they stand."""
    for part in subpatterns(pattern):
        if isinstance(part, App) and is_flat(part.definition) and _missing(part) > 0:
            assert part.definition.profile is not None
            if part.definition.profile.identity is None or (root and part is pattern):
                yield part


def _runs(nest: App) -> list[SeqVar]:
    return [a for a in dict.fromkeys(nest.args) if isinstance(a, SeqVar)]


def _missing(nest: App) -> int:
    return 2 - sum(not isinstance(a, SeqVar) for a in nest.args)
