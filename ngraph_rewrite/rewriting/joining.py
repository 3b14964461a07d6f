# SPDX-License-Identifier: Apache-2.0
"""Whether a critical pair joins: both results are brought to one pattern, in each of the cases there are.

Where steps that hold in general are not enough, cases are told apart: a sequence is empty or begins with an operand,
and a variable in a nest is one operand, none, or several.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, islice

from ngraph_rewrite.rewriting.critical_pairs import CriticalPair
from ngraph_rewrite.rewriting.equation import Asked, Equation
from ngraph_rewrite.rewriting.flattening import identity_of
from ngraph_rewrite.rewriting.nests import is_flat
from ngraph_rewrite.rewriting.pattern import App, Pattern, SeqVar, Var, subpatterns
from ngraph_rewrite.rewriting.schematic import Schematic, Unending, instantiated
from ngraph_rewrite.rewriting.variable_sorts import Sorted
from ngraph_rewrite.terms.catalogue import OpDef, lookup

# How often cases are told apart inside each other.
DEEP = 2
# How many first steps are tried.
TRIED = 20
# What one case is: what a name stands for, and what the new names in that may stand for.
Case = tuple[Mapping[str, Pattern | tuple[Pattern, ...]], Mapping[str, Sorted]]


def joins(pair: CriticalPair, equations: Sequence[Equation], deep: int = DEEP) -> bool:
    """Whether the two results of a pair have a common reduct, whatever its variables stand for.

    False says only that none was found.
    """
    first, second = pair.results
    if first is None or second is None:
        return False
    try:
        system = Schematic(equations, pair.kinds, pair.assumed)
        if system.never() or system.join(first, second):
            return True
        forms = [system.normal(side) for side in (first, second)]
    except Unending:
        return False
    return any(
        all(joins(_in_case(pair, case), equations, deep - 1) for case in cases)
        for cases in (_cases(forms, pair.kinds) if deep else ())
    )


def _in_case(pair: CriticalPair, case: Case) -> CriticalPair:
    bound, kinds = dict(case[0]), {**pair.kinds, **case[1]}
    first, second = (None if side is None else instantiated(side, bound) for side in pair.results)
    assumed = [Asked(instantiated(a.left, bound), instantiated(a.right, bound), a.equal) for a in pair.assumed]
    return replace(pair, results=(first, second), kinds=kinds, assumed=tuple(assumed))


def _cases(forms: Iterable[Pattern], kinds: Mapping[str, Sorted]) -> Iterator[list[Case]]:
    """All cases of a variable that keeps a nest from being rewritten, and those of a sequence."""
    held = [
        (arg, part.definition)
        for form in forms
        for part in subpatterns(form)
        if isinstance(part, App) and is_flat(part.definition)
        for arg in part.args
    ]
    unsure = ((a, of) for a, of in held if isinstance(a, Var) and not kinds[a.name].is_operand(of))
    for variable, of in islice(unsure, 1):
        yield list(_of_variable(variable, of, kinds[variable.name]))
    runs = ((a, of) for a, of in held if isinstance(a, SeqVar))
    for run, of in islice(runs, 1):
        yield list(_of_run(run, of, kinds[run.name]))


def _of_run(run: SeqVar, of: OpDef, kind: Sorted) -> Iterator[Case]:
    one, rest = Var(f"{run.name}'"), SeqVar(f"{run.name}''")
    yield {run.name: ()}, {}
    yield {run.name: (one, rest)}, {one.name: Sorted(kind.sort, frozenset([of])), rest.name: kind}


def _of_variable(var: Var, of: OpDef, kind: Sorted) -> Iterator[Case]:
    profile = of.profile
    assert profile is not None
    if profile.identity is not None and kind.admits(lookup(profile.identity)):
        yield {var.name: identity_of(of)}, {}
    one, rest = Var(f"{var.name}'"), SeqVar(f"{var.name}''")
    if kind.admits(of):
        operand = Sorted(profile.sort_at(0), frozenset([of]))
        yield {var.name: App(of, (one, rest))}, dict.fromkeys([one.name, rest.name], operand)
    else:
        yield {}, {var.name: Sorted(kind.sort, kind.operand_of | {of})}


def in_general(equations: Sequence[Equation]) -> list[Equation]:
    """The equations with variables for any number of operands, where the rules come to the same with each of them.

    ``plus(s(x), y) => s(plus(x, y))`` takes one operand `y`. Where `y` stands for several it takes one after the other,
    and with several at once it comes to the same. So a pair that joins by such steps has one normal form. That they
    come to the same is shown as for a critical pair, with such steps: they start from smaller terms.
    """
    left = [_generalised(equation, equations) for equation in equations]
    while True:
        found = [some[0] for some in left]
        kept = [
            some if not some[0].general or _comes_to_the_same(some[0], equations, found) else some[1:] for some in left
        ]
        if kept == left:
            return found
        left = kept


def _generalised(equation: Equation, equations: Sequence[Equation]) -> list[Equation]:
    """The equation with all, one, or none of the variables that may stand for several operands."""
    if equation.right is None or not equation.plain or (is_flat(equation.left.definition) and not equation.beside):
        return [equation]
    names = {n: next(iter(k.operand_of)) for n, k in equation.kinds.items() if _may_be_several(equation, n, k)}
    several = [list(names), *([name] for name in names)] if len(names) > 1 else [list(names)]
    return [*(_with(equation, some, names, equations) for some in several), equation]


def _with(
    equation: Equation, chosen: Sequence[str], names: Mapping[str, OpDef], equations: Sequence[Equation]
) -> Equation:
    optional = _optional(equation, {name: names[name] for name in chosen}, equations)
    return replace(equation, general=tuple(chosen), optional=optional)


def _may_be_several(equation: Equation, name: str, kind: Sorted) -> bool:
    profile = next(iter(kind.operand_of)).profile if len(kind.operand_of) == 1 else None
    return Var(name) in subpatterns(equation.left) and profile is not None and profile.result.fits(kind.sort)


def _optional(equation: Equation, names: Mapping[str, OpDef], equations: Sequence[Equation]) -> tuple[str, ...]:
    """The variable that may stand for no operand, if there is one: the left side leads to the right one then too."""
    assert equation.right is not None
    system, found = Schematic(equations, equation.kinds), list[str]()
    for name, of in names.items():
        if of is equation.left.definition and of.profile is not None and of.profile.identity is not None:
            none = {name: identity_of(of)}
            if system.reaches(instantiated(equation.left, none), instantiated(equation.right, none)):
                found.append(name)
    return tuple(found) if len(found) == 1 else ()


def _comes_to_the_same(general: Equation, single: Sequence[Equation], several: Sequence[Equation]) -> bool:
    """Whether some step leads from what the left side matches to what the right side leads to."""
    assert general.right is not None
    for count in range(1, len(general.general) + 1):
        for names in combinations(general.general, count):
            values, kinds = _of_several(general, names)
            left, right = (instantiated(side, values) for side in (general.left, general.right))
            steps, joining = Schematic(single, kinds), Schematic(several, kinds)
            if not any(joining.join(after, right) for after in islice(steps.steps(left), TRIED)):
                return False
    return True


def _of_several(general: Equation, names: Iterable[str]) -> tuple[dict[str, Pattern], dict[str, Sorted]]:
    """Two operands or more for each of some variables."""
    values: dict[str, Pattern] = {}
    kinds = dict(general.kinds)
    for name in names:
        parts = Var(f"{name}'"), Var(f"{name}''"), SeqVar(f"{name}'~")
        values[name] = App(next(iter(kinds[name].operand_of)), parts)
        kinds |= {part.name: general.kinds[name] for part in parts}
    return values, kinds
