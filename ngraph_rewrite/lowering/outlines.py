# SPDX-License-Identifier: Apache-2.0
"""The outline of a pattern: its ops and where they stand, which rules out most terms before anything is matched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ngraph_rewrite.rewriting.nests import has_identity, is_nest
from ngraph_rewrite.rewriting.pattern import App
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.catalogue import OpDef
from ngraph_rewrite.terms.op import Op


class Outline(NamedTuple):
    """What the ops of a pattern say about terms that it may match.

    Attributes:
        operands: How many arguments a term has; None where they stand at no fixed places.
        inner: The outlines of arguments that are ops themselves, with their places.
        either: Whether any term may be what stands for an op, as one operand alone is of an op with an identity.
    """

    definition: OpDef
    operands: int | None
    inner: tuple[tuple[int, Outline], ...]
    either: bool

    def fits(self, term: Op) -> bool:
        """Whether the pattern may match a term, as far as its ops tell."""
        if term.definition is not self.definition:
            return self.either
        args, inner = term.args, self.inner
        if not inner or len(args) != self.operands:
            return True
        for place, outline in inner:
            if not outline.fits(args[place]):
                break
        else:
            return True
        return self.definition.commutative and all(outline.fits(args[~place]) for place, outline in inner)

    def ops(self) -> Iterator[OpDef]:
        """The ops that are in every term that the pattern matches."""
        if not self.either:
            yield self.definition
            for _, outline in self.inner:
                yield from outline.ops()

    def is_in(self, bank: TermBank) -> bool:
        """Whether the pattern may match any term of a bank."""
        tables = bank.tables
        if not all(tables.get(definition) for definition in self.ops()):
            return False
        return any(map(self.fits, tables[self.definition].values()))


def outline(pattern: App) -> Outline:
    """The outline of a pattern.

    >>> from ngraph_rewrite.frontend.axes import exp, tanh, variable
    >>> from ngraph_rewrite.rewriting.rulefile import parse_rules
    >>> rule, = parse_rules("simplify axes\\nrule r: x + exp(y) => x\\n", "r", "r")
    >>> x = variable([], name="x")
    >>> [outline(rule.left).fits(term) for term in (x + exp(x), exp(x) + x, x + tanh(x), exp(x))]
    [True, True, False, False]
    """
    if is_nest(pattern):
        return Outline(pattern.definition, None, (), has_identity(pattern))
    inner = tuple((i, outline(arg)) for i, arg in enumerate(pattern.args) if isinstance(arg, App))
    return Outline(pattern.definition, len(pattern.args), inner, has_identity(pattern))


__all__ = ["Outline", "outline"]
