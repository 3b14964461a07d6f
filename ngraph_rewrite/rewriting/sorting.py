# SPDX-License-Identifier: Apache-2.0
"""Whether a rule of a signature is well-sorted: each variable has one sort, and the right side that of the left."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from ngraph_rewrite.errors import RuleFileError
from ngraph_rewrite.rewriting.expression import Span
from ngraph_rewrite.rewriting.pattern import App, Build, Num, Pattern, Pick, SeqVar, Spread, Template, Var
from ngraph_rewrite.rewriting.rule import Let, Rule
from ngraph_rewrite.terms.catalogue import OpDef, find
from ngraph_rewrite.types.sorts import Profile, SortType

# Makes an error of a place, what is wrong there and what to do.
Error = Callable[[Span, str, str | None], RuleFileError]


def check_sorts(rule: Rule, error: Error) -> None:
    """Whether both sides of a rule, and of its conditions, have sorts that fit.

    Raises:
        RuleFileError: at the part that does not fit.
    """
    sorting = _Sorting(rule.left.definition.family, error)
    sorting.pattern(rule.left, _result(rule.left.definition))
    own = {**sorting.sorts, "self": _result(rule.left.definition)}
    for clause in rule.clauses:
        if isinstance(clause, Let):
            own[clause.name] = sorting.template(clause.template, own, None)
    right = rule.right[0]
    assert right is not None
    sorting.template(right, own, _result(rule.left.definition))
    for condition in rule.conditions:
        one = sorting.template(condition.left, own, None)
        other = sorting.template(condition.right, own, None)
        if not (one.fits(other) or other.fits(one)):
            what = f"a {one} is compared with a {other}: they are never equal"
            raise error(condition.right.span, what, "compare terms of one sort")


@dataclass
class _Sorting:
    family: str
    error: Error
    sorts: dict[str, SortType] = field(default_factory=dict)

    def pattern(self, pattern: Pattern, wanted: SortType) -> None:
        """Note the sorts of the variables of a pattern that stands where a sort is wanted."""
        if isinstance(pattern, Num):
            raise self.error(pattern.span, "a number is no term of a signature", "write an operation that has it")
        if isinstance(pattern, App):
            self.fits(pattern.span, _result(pattern.definition), wanted)
            for place, arg in enumerate(pattern.args):
                self.pattern(arg, _profiled(pattern.definition).sort_at(place))
            return
        if find(f"{self.family}.{pattern.name}") is not None and not isinstance(pattern, SeqVar):
            what = f"`{pattern.name}` is an operation, and would be a variable here"
            raise self.error(pattern.span, what, f"write `{pattern.name}()`, or rename the variable")
        have = self.sorts.get(pattern.name, wanted)
        if not (have.fits(wanted) or wanted.fits(have)):
            raise self.error(pattern.span, f"`{pattern.name}` is a {have} and a {wanted}", "use two names")
        self.sorts[pattern.name] = have if have.fits(wanted) else wanted

    def template(self, template: Template, own: Mapping[str, SortType], wanted: SortType | None) -> SortType:
        """The sort of a template."""
        found = self._template(template, own)
        if wanted is not None:
            self.fits(template.span, found, wanted)
        return found

    def _template(self, template: Template, own: Mapping[str, SortType]) -> SortType:
        if isinstance(template, Var | Pick):
            return own[template.name]
        if isinstance(template, Spread):
            return self.template(template.template, own, None)
        if isinstance(template, Build):
            for place, arg in enumerate(template.args):
                self.template(arg, own, _profiled(template.definition).sort_at(place))
            return _result(template.definition)
        if isinstance(template, Num):
            raise self.error(template.span, "a number is no term of a signature", "write an operation that has it")
        raise self.error(template.span, "a term function makes tensors", "write rules for an operation")

    def fits(self, span: Span, given: SortType, wanted: SortType) -> None:
        if not given.fits(wanted):
            raise self.error(span, f"this is a {given}, and a {wanted} is wanted here", None)


def _profiled(definition: OpDef) -> Profile:
    assert definition.profile is not None
    return definition.profile


def _result(definition: OpDef) -> SortType:
    return _profiled(definition).result


def held_names(left: App) -> frozenset[str]:
    """The variables that stand in, or below, arguments that are not normalised before the term."""
    return frozenset(_held(left, False))


def _held(pattern: Pattern, held: bool) -> Iterable[str]:
    if isinstance(pattern, App):
        places = pattern.definition.profile.held if pattern.definition.profile is not None else frozenset()
        for place, arg in enumerate(pattern.args):
            yield from _held(arg, held or place in places)
    elif held and isinstance(pattern, Var | SeqVar):
        yield pattern.name
