# SPDX-License-Identifier: Apache-2.0
"""Terms of a family: any op that has a value, applied to arguments that are such terms themselves, up to a depth.

The catalogue's domains propose the types and attributes of an op, its type rule decides, and each argument is then
grown to the type it must have. An op without a proposal is drawn like any other if all its arguments have one type.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import assume
from hypothesis import strategies as st

from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.plugins import load_plugin_ops
from ngraph_rewrite.rewriting.domain import COMMON_FIRST, Domain
from ngraph_rewrite.rewriting.instances import terms_of
from ngraph_rewrite.rewriting.pattern import App, Pattern, SeqVar, Var
from ngraph_rewrite.rewriting.trial_bank import TrialBank
from ngraph_rewrite.terms.catalogue import STANDARD, OpDef, definitions, lookup
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.substitution import substituted
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.testing.strategies.drawing import drawn_choices, drawn_domain, simplest_first
from ngraph_rewrite.types.dtypes import DType
from ngraph_rewrite.types.tensor import TensorType
from ngraph_rewrite.types.tuples import TupleType

# How many ops are tried for a term of one type, and how many terms are made to find an application of each.
OPS, TRIES = 3, 30
_LEAF = "core.placeholder"


def ops_of(family: str) -> list[OpDef]:
    """The ops of a family that terms are drawn from: those whose value depends on nothing but their arguments."""
    load_plugin_ops()
    apart = {"effect", "binder", "storage", "parameter", "draw"}
    return [d for d in definitions(family) if d.meaning is not None and not d.traits & apart]


def any_application(definition: OpDef) -> App:
    """A pattern that matches every application of an op.

    >>> print(any_application(lookup("semi.concat")))
    concat(x0, y...)
    """
    args: list[Pattern] = [Var(f"x{i}") for i in range(definition.least)]
    if definition.arity is None:
        args.append(SeqVar("y"))
    return App(definition, tuple(args))


@st.composite
def terms(
    draw: st.DrawFn,
    family: str = "axes",
    depth: int = 3,
    dtypes: tuple[DType, ...] = COMMON_FIRST,
    ops: Sequence[OpDef | str] | None = None,
) -> Op:
    """Well-typed terms of a family on placeholders of known lengths; they shrink to one op of few small arguments.

    Args:
        depth: How many ops may stand above one another; with 0 it is a placeholder.
        dtypes: Of the placeholders, except where an op demands another one, of indices, say.
        ops: What the terms are made of: by default all ops of the family that have a value of their own.

    Raises:
        ArgumentError: for a family that has none.

    >>> from hypothesis import find, settings
    >>> same = settings(max_examples=100, database=None, derandomize=True)
    >>> ops = ["semi.transpose", "semi.exp"]
    >>> find(terms("semi", 2, ops=ops), lambda t: t.attributes == {"perm": (1, 0)}, settings=same)
    semi.transpose(x0, perm=(1, 0))
    """
    own = ops_of(family) if ops is None else [lookup(d) if isinstance(d, str) else d for d in ops]
    if ops is None and not own:
        do = f"choose among {', '.join(STANDARD)}, or a family of yours"
        raise ArgumentError(f"the family {family!r} has no op to draw", do=do)
    growth = _Growth(draw, drawn_domain(draw, dtypes), own, TrialBank())
    if depth < 1 or not own:
        type_ = draw(st.sampled_from(list(simplest_first(growth.domain.pool(family)))))
        return growth.bank.leaf("x0", type_)
    found = growth.applied(None, depth)
    assume(found is not None)
    assert found is not None
    if not isinstance(found.type, TupleType):
        return found
    assume(len(found.type))
    part = draw(st.integers(0, len(found.type) - 1))
    return growth.bank.make(lookup("core.item"), (found,), (part,))


@dataclass
class _Growth:
    draw: st.DrawFn
    domain: Domain
    ops: list[OpDef]
    bank: TrialBank

    def applied(self, wish: TensorType | None, depth: int) -> Op | None:
        """An application of a drawn op, of the wished type; None if a few ops have none."""
        for _ in range(OPS):
            definition = self.draw(st.sampled_from(self.ops))
            choices = drawn_choices(self.draw)
            pattern = any_application(definition)
            found = next(terms_of(pattern, self.domain, choices, self.bank, TRIES, simplest_first, wish), None)
            if found is not None:
                return self.grown(found, depth - 1)
        return None

    def grown(self, term: Op, depth: int) -> Op:
        """The term with its leaves replaced by drawn terms of the same types."""
        leaves = [t for t in topological([term]) if t.definition.name == _LEAF]
        new = {leaf: self.argument(leaf, depth) for leaf in leaves}
        made = {old: by for old, by in new.items() if old is not by}
        return substituted([term], made, lambda t, args: self.bank.make(t.definition, args, t.attrs))[0]

    def argument(self, leaf: Op, depth: int) -> Op:
        if depth < 1 or not self.draw(st.integers(0, 3)):
            return leaf
        found = self.applied(leaf.type, depth)
        return leaf if found is None else found
