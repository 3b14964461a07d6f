# SPDX-License-Identifier: Apache-2.0
"""Whether a rule of a signature is well-sorted: each variable has one sort, and the right side that of the left."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ngraph_rewrite.errors import RuleFileError
from ngraph_rewrite.rewriting.conditional import in_order
from ngraph_rewrite.rewriting.expression import Span
from ngraph_rewrite.rewriting.pattern import App, Build, Num, Pattern, Pick, SeqVar, Spread, Template, Var
from ngraph_rewrite.rewriting.rule import Condition, Let, Matching, Rule
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
    sorting.sorts["self"] = _result(rule.left.definition)
    for step in in_order(rule):
        if isinstance(step, Let):
            sorting.sorts[step.name] = sorting.template(step.template, None)
        elif isinstance(step, Condition):
            one, other = sorting.template(step.left, None), sorting.template(step.right, None)
            if not (one.fits(other) or other.fits(one)):
                what = f"a {one} is compared with a {other}: they are never equal"
                raise error(step.right.span, what, "compare terms of one sort")
        elif isinstance(step, Matching):
            sorting.matched(step.pattern, sorting.template(step.term, None))
    right = rule.right[0]
    assert right is not None
    sorting.template(right, _result(rule.left.definition))


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
        if pattern.sort is not None and not wanted.fits(pattern.sort):
            if not pattern.sort.fits(wanted):
                do = f"restrict it to a sort below {wanted}"
                raise self.error(pattern.span, f"`{pattern.name}` is a {wanted} here, and never a {pattern.sort}", do)
            wanted = pattern.sort
        have = self.sorts.get(pattern.name, wanted)
        if not (have.fits(wanted) or wanted.fits(have)):
            raise self.error(pattern.span, f"`{pattern.name}` is a {have} and a {wanted}", "use two names")
        self.sorts[pattern.name] = have if have.fits(wanted) else wanted

    def matched(self, pattern: Pattern, given: SortType) -> None:
        """Note the sorts of the variables of a pattern that a term of a sort has to match: it may be of a lower one."""
        if isinstance(pattern, App) and given.fits(_result(pattern.definition)):
            given = _result(pattern.definition)
        self.pattern(pattern, given)

    def template(self, template: Template, wanted: SortType | None) -> SortType:
        """The sort of a template."""
        found = self._template(template)
        if wanted is not None:
            self.fits(template.span, found, wanted)
        return found

    def _template(self, template: Template) -> SortType:
        if isinstance(template, Var | Pick):
            return self.sorts[template.name]
        if isinstance(template, Spread):
            return self.template(template.template, None)
        if isinstance(template, Build):
            for place, arg in enumerate(template.args):
                self.template(arg, _profiled(template.definition).sort_at(place))
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


def held_names(left: Pattern) -> frozenset[str]:
    """The variables that stand in, or below, arguments that are not normalised before the term."""
    return frozenset(_held(left, False))


def _held(pattern: Pattern, held: bool) -> Iterable[str]:
    if isinstance(pattern, App):
        places = pattern.definition.profile.held if pattern.definition.profile is not None else frozenset()
        for place, arg in enumerate(pattern.args):
            yield from _held(arg, held or place in places)
    elif held and isinstance(pattern, Var | SeqVar):
        yield pattern.name
