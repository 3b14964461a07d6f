# SPDX-License-Identifier: Apache-2.0
"""A rule applied by interpretation: what the generated decision trees do, one rule and one match at a time.

The static checks and the explanations use it; it also says what the generated code must do. Clauses are
worked out when they are first read, so a guard sees only what it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ngraph_rewrite.errors import DTypeError
from ngraph_rewrite.rewriting.attribute_values import value_of
from ngraph_rewrite.rewriting.nests import chain, is_nest, may_be_empty
from ngraph_rewrite.rewriting.pattern import (
    Build,
    Computed,
    Num,
    Number,
    Pick,
    Spread,
    Template,
    Var,
    computed,
    subtemplates,
)
from ngraph_rewrite.rewriting.registry import term_of
from ngraph_rewrite.rewriting.rule import Let, Rule
from ngraph_rewrite.terms.catalogue import OpDef, lookup
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import Axes
from ngraph_rewrite.types.dtypes import DType

# A term, the terms of a sequence, or nothing.
Result = Op | list[Op] | None
Make = Callable[[OpDef, tuple[Op, ...], tuple[Any, ...]], Op]


class Application(dict[str, Any]):
    """One match of a rule: the names it binds, and those of its clauses once they are read.

    Args:
        bindings: The substitution: terms, tuples of terms, and attributes by name.
        make: Builds a term of an op, arguments and attributes.
        target: What the guard may ask.
        adjoint: The incoming adjoint, for a derive rule.
    """

    def __init__(
        self,
        rule: Rule,
        term: Op,
        bindings: Mapping[str, Any],
        make: Make,
        target: Any = None,
        adjoint: Op | None = None,
    ) -> None:
        super().__init__(bindings, self=term, target=target, **({} if adjoint is None else {"d": adjoint}))
        self._rule, self._make = rule, make
        self._clauses, self._sequences = rule.clause_of, rule.sequences

    def __missing__(self, name: str) -> Any:
        clause = self._clauses[name]
        found = self._term(clause.template) if isinstance(clause, Let) else value_of(clause.expression, self)
        self[name] = found
        return found

    def extended(self, names: Mapping[str, Any]) -> Application:
        """The same match with more names bound: what clauses say is worked out anew."""
        found = Application(self._rule, self["self"], {}, self._make, self["target"])
        found.update((name, value) for name, value in self.items() if name not in self._clauses)
        found.update(names)
        return found

    def guard_holds(self) -> bool:
        """Whether the rule has no guard, or it is true here."""
        return self._rule.guard is None or bool(value_of(self._rule.guard, self))

    def right(self) -> list[Result]:
        """The terms of the right side: one, or for a derive rule one per variable.

        There a sequence variable has a list of terms, and None says that nothing passes.

        Raises:
            NGraphRewriteError: if one does not build.
        """
        return [self._result(template) for template in self._rule.right]

    def term(self, template: Template) -> Op:
        """The term of a template: a side of a condition, say."""
        return self._term(template)

    def _result(self, template: Template | None) -> Result:
        if template is None:
            return None
        return self._spread(template) if isinstance(template, Spread) else self._term(template)

    def _term(self, template: Template) -> Op:
        if isinstance(template, Num):
            return _filled(self._make, template.value, self["self"].dtype, self["self"].axes)
        if isinstance(template, Var):
            return self[template.name]  # type: ignore[no-any-return]
        if isinstance(template, Pick):
            return self[template.name][value_of(template.index, self)]  # type: ignore[no-any-return]
        if isinstance(template, Computed):
            args = [t for a in template.args for t in (self._spread(a) if isinstance(a, Spread) else [self._term(a)])]
            return term_of(template.function, self._make, *args)
        assert isinstance(template, Build)
        return self._build(template)

    def _build(self, template: Build, like: tuple[DType, Axes] | None = None) -> Op:
        """Numbers beside a term take its dtype and, where operands must have equal shapes, its axes.

        Args:
            like: The dtype and axes of a nest without operands; by default those of the matched term.
        """
        built: dict[int, list[Op]] = {}
        for i, arg in enumerate(template.args):
            if not isinstance(arg, Num) and not may_be_empty(arg):
                built[i] = self._spread(arg) if isinstance(arg, Spread) else [self._term(arg)]
        single = {i: terms[0] for i, terms in built.items() if not isinstance(template.args[i], Spread)}
        if len(built) < len(template.args):
            shaped = next(iter(single.values()), self["self"])
            typed = [t for i, t in single.items() if i or template.definition.short != "select"]
            beside = (typed[0] if typed else self["self"]).dtype, shaped.axes
            for i, arg in enumerate(template.args):
                if i not in built:
                    built[i] = [self._beside(arg, beside, template.definition.kin == "axes")]
        args = tuple(t for i in range(len(template.args)) for t in built[i])
        if is_nest(template):
            dtype, axes = like or (self["self"].dtype, self["self"].axes)
            return chain(self._make, template.definition, args, _filled, dtype, axes)
        return self._make(template.definition, args, tuple(value_of(e, self) for _, e in template.attributes))

    def _beside(self, template: Template, like: tuple[DType, Axes], by_name: bool) -> Op:
        """A number, or a nest that may have no operands, beside a term of this dtype and these axes."""
        dtype, axes = like[0], Axes() if by_name else like[1]
        if isinstance(template, Num):
            return _filled(self._make, template.value, dtype, axes)
        assert isinstance(template, Build)
        return self._build(template, (dtype, axes))

    def _spread(self, template: Spread) -> list[Op]:
        """The template once per element of the sequences it mentions."""
        names = sorted(_reads(template.template) & self._sequences)
        if not names:
            return [self._term(template.template)]
        each = []
        for values in zip(*(self[n] for n in names), strict=True):
            inner = Application(self._rule, self["self"], {}, self._make)
            inner.update(self)
            inner.update(zip(names, values, strict=True))
            each.append(inner._term(template.template))
        return each


def _reads(template: Template) -> set[str]:
    terms = {part.name for part in subtemplates(template) if isinstance(part, Var)}
    return terms.union(*(expression.names for expression in computed(template)))


def _filled(make: Make, number: Number, dtype: DType, axes: Axes) -> Op:
    value = Literal(number, dtype)
    if dtype.kind in "iub" and not value.is_number(number):
        raise DTypeError(f"the number {number!r} does not fit {dtype}", do="guard the rule by dtype")
    return make(lookup("core.constant"), (), (value, axes))
