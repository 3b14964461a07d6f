# SPDX-License-Identifier: Apache-2.0
"""Terms that a pattern matches, searched bottom-up: arguments first, then attributes, then the op's type rule decides.

What is tried first is up to `Choices`: turns of a fixed order in one place, draws of a property test in another.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ngraph_rewrite.rewriting.attribute_values import value_of
from ngraph_rewrite.rewriting.domain import Domain, Types
from ngraph_rewrite.rewriting.domains import argument_types
from ngraph_rewrite.rewriting.domains_attributes import attribute_values
from ngraph_rewrite.rewriting.domains_semi import filled
from ngraph_rewrite.rewriting.nests import is_nest, operands
from ngraph_rewrite.rewriting.pattern import App, Num, Pattern, SeqVar, Var
from ngraph_rewrite.rewriting.solving import Solver
from ngraph_rewrite.rewriting.trial_bank import TrialBank
from ngraph_rewrite.terms.catalogue import OpDef, lookup
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.tensor import TensorType

Item = TypeVar("Item")
Bindings = Mapping[str, Any]
# Where to begin in a list of options: from the place in the pattern and their number.
Choices = Callable[[str, int], int]
# The same options in the order in which they are tried.
Order = Callable[[Sequence[Any]], Sequence[Any]]


@dataclass
class PatternSearch:
    """Terms that a pattern matches, of the types and attributes of a domain.

    Attributes:
        choices: Says where to begin in a list of options.
        tries: How many more terms are built.
        solver: Of a guard: what it rules out is not tried.
        order: Puts options in order before `choices` says where to begin.
        made: The terms that were built last of each op, for what they tell of others with the same attributes.
    """

    domain: Domain
    choices: Choices
    bank: TrialBank
    tries: int
    solver: Solver | None = None
    order: Order | None = None
    made: dict[OpDef, deque[Op]] = field(default_factory=lambda: defaultdict(lambda: deque(maxlen=_REMEMBERED)))

    def options(self, site: str, items: Sequence[Item]) -> Iterator[Item]:
        """The items, beginning where the choices say."""
        items = items if self.order is None else self.order(items)
        start = self.choices(site, len(items)) if len(items) > 1 else 0
        for i in range(len(items)):
            if self.tries > 0:
                yield items[(start + i) % len(items)]

    def make(self, definition: OpDef, args: tuple[Op, ...], attrs: tuple[Any, ...]) -> Op | None:
        self.tries -= 1
        try:
            return self.bank.attempt(definition, args, attrs)
        except Exception:
            if self.domain.beyond:
                return None
            raise

    def admits(self, before: Bindings, now: Bindings) -> bool:
        return self.solver is None or self.solver.admits(before, now)

    def terms(self, pattern: App, wish: TensorType | None, site: str, bound: Bindings) -> Iterator[tuple[Op, Bindings]]:
        """Instances of a pattern, with what they bind beside what is bound."""
        if wish is None and not pattern.args:
            for one in self.options(f"{site}:", self.domain.pool(pattern.definition.kin)):
                yield from self.applications(pattern, (), one, site, bound)
            return
        order = sorted(range(len(pattern.args)), key=lambda i: _LAST.get(type(pattern.args[i]), 0))
        for args, inner in self.arguments(pattern, order, wish, site, bound, {}):
            flat = tuple(t for i in range(len(pattern.args)) for t in args[i])
            yield from self.applications(pattern, flat, wish, site, inner)

    def applications(
        self, pattern: App, args: tuple[Op, ...], wish: TensorType | None, site: str, bound: Bindings
    ) -> Iterator[tuple[Op, Bindings]]:
        definition = pattern.definition
        if len(args) < definition.least:
            return
        if is_nest(pattern):
            yield from ((term, bound) for term in self.groupings(definition, args, site))
            return
        fixed = {a: value_of(e, {}) for a, e in pattern.compares}
        fixed.update((a, bound[n]) for a, n in pattern.binds if n in bound)
        if self.solver is not None:
            fixed.update(self.solver.forced(dict(pattern.binds), bound))
        binds = {n: a for a, n in reversed(pattern.binds)}  # of a name that stands twice, where it stands first
        same = {a: binds[n] for a, n in pattern.binds}
        values = self.attributes(definition, args, wish, fixed, bound)
        if self.bank.refuses(definition, args):  # it goes on as if each had been tried
            self.tries -= min(self.tries, sum(1 for _ in self.options(f"{site}=", values)))
            return
        for attrs in self.options(f"{site}=", values):
            chosen = dict(zip(definition.attributes, attrs, strict=True)) | ({} if definition.apart else fixed)
            term = self.make(definition, args, tuple([chosen[same.get(a, a)] for a in definition.attributes]))
            if term is None or any(term.attribute(a) != term.attribute(first) for a, first in same.items()):
                continue
            if all(term.attribute(a) == v for a, v in fixed.items()):
                now = {**{n: term.attribute(a) for n, a in binds.items()}, **bound}
                if self.admits(bound, now):
                    self.made[definition].append(term)
                    yield term, now

    def attributes(
        self, definition: OpDef, args: tuple[Op, ...], wish: TensorType | None, fixed: Bindings, bound: Bindings
    ) -> Sequence[tuple[Any, ...]]:
        """What to try of attributes of which some are fixed."""
        names = definition.attributes
        if len(fixed) == len(names) and not definition.apart:
            return [tuple(fixed[a] for a in names)]
        values = attribute_values(definition, tuple(a.type for a in args), wish, self.domain)
        values = _equal(names, values, fixed) if definition.apart and fixed else values
        free = {name: i for i, name in enumerate(names) if name not in fixed}
        return self.domain.varied(values, free, [v for v in bound.values() if not isinstance(v, Op)])

    def groupings(self, definition: OpDef, args: tuple[Op, ...], site: str) -> Iterator[Op]:
        """Nests of some operands: grouped from the left, from the right and in the middle, and in another order."""
        orders = [args, args[::-1], (*args[1:], args[0])] if definition.commutative else [args]
        for order in self.options(f"{site}<", orders):
            for cut in self.options(f"{site}/", (-1, 1, len(args) // 2)):
                term = self.grouped(definition, order, cut)
                if term is not None and len(operands(term)) == len(args):
                    yield term

    def grouped(self, definition: OpDef, args: Sequence[Op], cut: int) -> Op | None:
        if len(args) == 1:
            return args[0]
        at = cut % len(args) if 0 < cut % len(args) else 1
        sides = self.grouped(definition, args[:at], cut), self.grouped(definition, args[at:], cut)
        return None if sides[0] is None or sides[1] is None else self.make(definition, (sides[0], sides[1]), ())

    def arguments(
        self,
        pattern: App,
        order: list[int],
        wish: TensorType | None,
        site: str,
        bound: Bindings,
        known: dict[int, tuple[Op, ...]],
    ) -> Iterator[tuple[dict[int, tuple[Op, ...]], Bindings]]:
        """Arguments for every position: the most constrained ones first, numbers last."""
        if not order:
            yield known, bound
            return
        position, *rest = order
        types = {i: terms[0].type for i, terms in known.items() if terms}
        for terms, inner in self.argument(pattern, position, types, wish, f"{site}{position}", bound):
            yield from self.arguments(pattern, rest, wish, site, inner, {**known, position: terms})

    def argument(
        self,
        pattern: App,
        position: int,
        known: Mapping[int, TensorType],
        wish: TensorType | None,
        site: str,
        bound: Bindings,
    ) -> Iterator[tuple[tuple[Op, ...], Bindings]]:
        arg: Pattern = pattern.args[position]
        if isinstance(arg, Var | SeqVar) and arg.name in bound:
            yield bound[arg.name] if isinstance(arg, SeqVar) else (bound[arg.name],), bound
            return
        if is_nest(pattern):  # all operands are alike
            position, known = min(len(known), 1), dict(enumerate(list(known.values())[:1]))
        types = argument_types(pattern.definition, position, known, wish, self.domain)
        if types is not None and wish is not None and position not in known:
            types = [*self.as_before(pattern, position, wish, bound), *types]
        if isinstance(arg, App):
            for inner in self.options(site, types if types is not None else [None]):
                for term, now in self.terms(arg, inner, site, bound):
                    yield (term,), now
            return
        pool = types if types is not None else self.domain.pool(pattern.definition.kin)
        if isinstance(arg, SeqVar):
            yield from self.sequence(arg, pool, site, bound)
        elif isinstance(arg, Num):
            for one in self.options(site, pool):
                yield from ((terms, bound) for terms in self.constant(pattern.definition, arg, one))
        else:
            yield from self.leaves(arg.name, pool, site, bound)

    def leaves(self, name: str, pool: Types, site: str, bound: Bindings) -> Iterator[tuple[tuple[Op, ...], Bindings]]:
        """What a variable may be, of the types of a pool and of those that its guard wants."""
        if self.solver is not None:
            pool = self.solver.types(name, pool, bound, self.domain)
        refused = None if self.solver is None else self.solver.refused(name, bound)
        for one in self.options(site, pool):
            term = self.bank.leaf(name, one)
            if refused is None or not refused(term):
                yield (term,), {**bound, name: term}

    def as_before(self, pattern: App, position: int, wish: TensorType, bound: Bindings) -> Iterator[TensorType]:
        """The type that an argument had where the attributes that are bound made the wished shape of it."""
        fixed = {a: bound[n] for a, n in pattern.binds if n in bound}
        for term in self.made[pattern.definition] if fixed else ():
            same = isinstance(term.type, TensorType) and term.axes == wish.axes and position < len(term.args)
            if same and all(term.attribute(a) == v for a, v in fixed.items()):
                yield term.args[position].type

    def sequence(
        self, arg: SeqVar, pool: Sequence[TensorType], site: str, bound: Bindings
    ) -> Iterator[tuple[tuple[Op, ...], Bindings]]:
        for count in self.options(f"{site}#", (2, 1, 3, 0)):
            first = next(iter(self.options(site, pool)), None)
            if first is None:
                return
            near = [t for t in pool if t.dtype == first.dtype and t.rank == first.rank]
            types = [first, *(next(iter(self.options(f"{site}.{i}", near))) for i in range(1, count))][:count]
            for chosen in (types, [first] * count):
                terms = tuple(self.bank.leaf(f"{arg.name}{i}", t) for i, t in enumerate(chosen))
                now = {**bound, arg.name: terms}
                if self.admits(bound, now):
                    yield terms, now

    def constant(self, definition: OpDef, number: Num, like: TensorType) -> Iterator[tuple[Op, ...]]:
        """A constant filled with the number, if it is one of the dtype."""
        axes = like.axes if definition.kin != "axes" else ()
        for value in filled([number.value], like.dtype):
            term = self.make(lookup("core.constant"), (), (value, TensorType(like.dtype, axes).axes))
            if term is not None:
                yield (term,)


def _equal(names: Sequence[str], values: Sequence[tuple[Any, ...]], fixed: Bindings) -> list[tuple[Any, ...]]:
    """Attributes with some that are fixed, and with others that Python calls equal to these: patterns take them too."""
    given = [dict(zip(names, attrs, strict=True)) for attrs in values]
    zeros = {name: -value for name, value in fixed.items() if type(value) is float and value == 0}
    made = [own | dict(fixed) for own in given] if len(fixed) < len(names) else [dict(fixed)]
    made += [own | zeros for own in made if zeros]
    made += [own for own in given if all(own[name] == value for name, value in fixed.items())]
    return [tuple(own[name] for name in names) for own in made]


# Of so many terms of an op it is remembered how they were made.
_REMEMBERED = 4
_LAST: dict[type, int] = {Var: 1, SeqVar: 1, Num: 2}
