# SPDX-License-Identifier: Apache-2.0
"""Well-typed instances of a rule's left side, found by searching the domains of its variables and attributes.

The search goes bottom-up through the pattern: arguments first, then attributes, then the op's type rule
decides. What it tries first is up to `Choices`: turns of a fixed order here, draws of a property test elsewhere.
"""

from __future__ import annotations

import ast
import zlib
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

from ngraph_rewrite.errors import LengthError, NGraphRewriteError, RuleFileError
from ngraph_rewrite.rewriting.domain import KNOWN, SYMBOLIC, Domain
from ngraph_rewrite.rewriting.domains import argument_types
from ngraph_rewrite.rewriting.domains_attributes import attribute_values
from ngraph_rewrite.rewriting.domains_semi import filled
from ngraph_rewrite.rewriting.evaluation import value_of
from ngraph_rewrite.rewriting.interpret import Application
from ngraph_rewrite.rewriting.nests import is_nest, operands
from ngraph_rewrite.rewriting.pattern import App, Num, Pattern, SeqVar, Var
from ngraph_rewrite.rewriting.rule import Rule, Where
from ngraph_rewrite.rewriting.said import long_domains, with_numbers
from ngraph_rewrite.rewriting.solving import Solver
from ngraph_rewrite.rewriting.syntax import walk
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.catalogue import OpDef, lookup
from ngraph_rewrite.terms.info import Info, Uid
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.types.dtypes import BFLOAT16, is_float
from ngraph_rewrite.types.tensor import TensorType
from ngraph_rewrite.types.tuples import TupleType

Item = TypeVar("Item")
Bindings = Mapping[str, Any]
# Where to begin in a list of options: from the place in the pattern and their number.
Choices = Callable[[str, int], int]
# The same options in the order in which they are tried.
Order = Callable[[Sequence[Any]], Sequence[Any]]
TRIES = 400


class Everything:
    """A container of all there is: the base set of a target that executes every op."""

    def __contains__(self, item: object) -> bool:
        return True

    def __repr__(self) -> str:
        return "everything"


class Target(NamedTuple):
    """What guards may ask of a target."""

    name: str = "cpu"
    sample: str = "last"
    recurrent: str = "first"
    base: Container[str] = Everything()


TARGETS = (Target(), Target("cuda", "first", "last"), Target("reference", "any", "any"))


class TrialBank(TermBank):
    """A bank in which a term may fail to build: it remembers which types an op refuses.

    Attributes:
        failed: The instance on which a guard failed: no other is looked for then.
    """

    def __init__(self) -> None:
        super().__init__()
        self.failed: Instance | None = None
        self._refused: set[tuple[OpDef, tuple[TensorType, ...], tuple[Any, ...]]] = set()
        self._leaves: dict[tuple[str, TensorType], Op] = {}

    def attempt(self, definition: OpDef, args: tuple[Op, ...], attrs: tuple[Any, ...]) -> Op | None:
        """The term, or None if it is not well-typed."""
        key = definition, tuple([a.type for a in args]), attrs
        if key in self._refused:
            return None
        try:
            return self.make(definition, args, attrs)
        except NGraphRewriteError:
            self._refused.add(key)
            return None

    def leaf(self, name: str, type_: TensorType) -> Op:
        """A placeholder: the same one for the same name and type; for a tuple the tuple of some."""
        if isinstance(type_, TupleType):
            elements = tuple(self.leaf(f"{name}{i}", t) for i, t in enumerate(type_.elements))
            return self.make(lookup("core.make_tuple"), elements, ())
        found = self._leaves.get((name, type_))
        if found is None:
            attrs = Uid(), type_.axes, type_.dtype
            found = Op(lookup("core.placeholder"), (), attrs, type_, Info(name))
            self._leaves[name, type_] = found
        return found


class Instance(NamedTuple):
    """A term the rule's left side matches, the match, and a target for which the guard holds."""

    term: Op
    bindings: Bindings
    target: Target


def instances(rule: Rule, limit: int = 20, domain: Domain = SYMBOLIC) -> Iterator[Op]:
    """Up to `limit` terms of different types for which the rule fires; always the same ones.

    >>> from ngraph_rewrite.rewriting.rulefile import parse_rules
    >>> import ngraph_rewrite.ops
    >>> rule, = parse_rules("simplify semi\\nrule twice: -(-x) => x", "my.rules", "my")
    >>> next(instances(rule)), next(instances(rule)).type
    (semi.negative(semi.negative(x)), float32[a, b])
    """
    return (found.term for found in matches(rule, limit, domain))


def matches(
    rule: Rule,
    limit: int = 20,
    domain: Domain = SYMBOLIC,
    bank: TrialBank | None = None,
    tries: int = TRIES,
    solver: Solver | None = None,
) -> Iterator[Instance]:
    """As `instances`, with the match and the target; `tries` bounds the terms tried to find each."""
    bank = TrialBank() if bank is None else bank
    if rule.guard is not None and str(BFLOAT16) in rule.guard.text:  # else it is not among those of a domain
        domain = replace(domain, dtypes=tuple(dict.fromkeys((*domain.dtypes, BFLOAT16))))
    seen: set[Op] = set()
    for turn in range(4 * limit):
        found = first_match(rule, domain, _turns(turn), bank, tries, solver)
        if found is not None and found.term not in seen:
            seen.add(found.term)
            yield found
        if len(seen) >= limit or (turn > limit and not seen):
            return


def fitting_matches(rule: Rule, limit: int, bank: TrialBank, tries: int = TRIES) -> Iterator[Instance]:
    """As `matches`, for which the guard happens to hold; if there are none, such as are made to fit it.

    A guard may ask for known lengths, or for long ones: these are tried last.
    """
    ways: list[tuple[Domain, Solver | None]] = [(SYMBOLIC, None)]
    if rule.guard is not None:
        ways += [(domain, Solver(rule, bank.make)) for domain in (SYMBOLIC, KNOWN, *long_domains(rule))]
    for domain, solver in ways:
        found = matches(rule, limit, domain, bank, tries, solver)
        first = next(found, None)
        if first is not None:
            yield first
            yield from found
            return


def _turns(turn: int) -> Choices:
    def offset(site: str, count: int) -> int:
        return zlib.crc32(f"{site} {turn}".encode()) % count if turn else 0

    return offset


def first_match(
    rule: Rule,
    domain: Domain,
    choices: Choices,
    bank: TrialBank,
    tries: int = TRIES,
    solver: Solver | None = None,
    order: Order | None = None,
) -> Instance | None:
    """The first instance whose guard holds, in the order that `choices` sets; None if few tries find none.

    Args:
        solver: Of the rule's guard: what it rules out is not tried. Without it every instance of the left side is.
        order: Puts options in order before `choices` says where to begin.
    """
    return next(every_match(rule, domain, choices, bank, tries, solver, order), None)


def every_match(
    rule: Rule,
    domain: Domain,
    choices: Choices,
    bank: TrialBank,
    tries: int = TRIES,
    solver: Solver | None = None,
    order: Order | None = None,
) -> Iterator[Instance]:
    """As `first_match`, one after the other: each term with the first target for which the guard holds."""
    search = _Search(with_numbers(rule, domain), choices, bank, tries, solver, order)
    for term, bindings in search.terms(rule.left, None, "", {}):
        if rule.kind == "derive" and (isinstance(term.type, TupleType) or not is_float(term.dtype)):
            continue
        for target in targets(rule, choices):
            found = Instance(term, bindings, target)
            if _guard_holds(rule, found, bank):
                yield found
                break


def terms_of(
    pattern: App,
    domain: Domain,
    choices: Choices,
    bank: TrialBank,
    tries: int = TRIES,
    order: Order | None = None,
    wish: TensorType | None = None,
) -> Iterator[Op]:
    """Well-typed terms that a pattern matches, in the order that `choices` sets; nobody asks for a guard.

    Args:
        wish: The type that they have; None for any.
    """
    search = _Search(domain, choices, bank, tries, order=order)
    return (term for term, _ in search.terms(pattern, wish, "", {}) if wish is None or term.type == wish)


def targets(rule: Rule, choices: Choices) -> Iterator[Target]:
    """One of the usual targets; if the rule asks for them, all, those of the names in it, and one without base ops."""
    first = choices("target", len(TARGETS))
    yield TARGETS[first]
    if rule.asks_target:
        yield from TARGETS[first + 1 :] + TARGETS[:first]
        asking = [rule.guard, *(c.expression for c in rule.clauses if isinstance(c, Where))]
        parts = [part for e in asking if e is not None for part in walk(e.tree)]
        yield from (Target(p.value) for p in parts if isinstance(p, ast.Constant) and isinstance(p.value, str))
        yield Target(base=frozenset())


def _guard_holds(rule: Rule, found: Instance, bank: TrialBank) -> bool:
    try:
        return Application(rule, found.term, found.bindings, bank.make, found.target).guard_holds()
    except Exception as error:
        bank.failed = found
        raise failure(rule, found.term, error) from error


def failure(rule: Rule, term: Op, error: Exception) -> RuleFileError:
    """What to say of a rule that cannot be applied to a term its left side matches."""
    what = error.what if isinstance(error, NGraphRewriteError) else f"{type(error).__name__}: {error}"
    do = error.do if isinstance(error, LengthError) else None
    return RuleFileError(
        f"{rule.place}: rule {rule.name} fails on {signature(term)}: {what}\n    {rule.text}",
        do=do or "guard or mend the rule",
    )


def signature(term: Op) -> str:
    """The term, and the types of its leaves."""
    leaves = [t for t in topological([term]) if not t.args]
    types = ", ".join(f"{t!r}: {t.type!r}" for t in leaves)
    return f"{term!r} with {types}" if leaves else repr(term)


@dataclass
class _Search:
    domain: Domain
    choices: Choices
    bank: TrialBank
    tries: int
    solver: Solver | None = None
    order: Order | None = None

    def options(self, site: str, items: Sequence[Item]) -> Iterator[Item]:
        """The items, beginning where the choices say."""
        items = items if self.order is None else self.order(items)
        start = self.choices(site, len(items)) if len(items) > 1 else 0
        for i in range(len(items)):
            if self.tries > 0:
                yield items[(start + i) % len(items)]

    def make(self, definition: OpDef, args: tuple[Op, ...], attrs: tuple[Any, ...]) -> Op | None:
        self.tries -= 1
        return self.bank.attempt(definition, args, attrs)

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
        values = attribute_values(definition, tuple(a.type for a in args), wish, self.domain)
        if len(fixed) == len(definition.attributes):
            values = [tuple(fixed[a] for a in definition.attributes)]
        binds = {n: a for a, n in reversed(pattern.binds)}  # of a name that stands twice, where it stands first
        same = {a: binds[n] for a, n in pattern.binds}
        for attrs in self.options(f"{site}=", values):
            chosen = dict(zip(definition.attributes, attrs, strict=True)) | fixed
            term = self.make(definition, args, tuple([chosen[same.get(a, a)] for a in definition.attributes]))
            if term is None or any(term.attribute(a) != term.attribute(first) for a, first in same.items()):
                continue
            if all(term.attribute(a) == v for a, v in fixed.items()):
                now = {**bound, **{n: term.attribute(a) for n, a in binds.items()}}
                if self.admits(bound, now):
                    yield term, now

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
        if isinstance(arg, App):
            for inner in self.options(site, types if types is not None else [None]):
                for term, now in self.terms(arg, inner, site, bound):
                    yield (term,), now
            return
        pool = types if types is not None else self.domain.pool(pattern.definition.kin)
        if isinstance(arg, SeqVar):
            yield from self.sequence(arg, pool, site, bound)
        if isinstance(arg, Var) and self.solver is not None:
            pool = self.solver.types(arg.name, pool, bound, self.domain)
        for one in self.options(site, pool):
            if isinstance(arg, Var):
                term = self.bank.leaf(arg.name, one)
                now = {**bound, arg.name: term}
                if self.admits(bound, now):
                    yield (term,), now
            elif isinstance(arg, Num):
                yield from ((terms, bound) for terms in self.constant(pattern.definition, arg, one))

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


_LAST: dict[type, int] = {Var: 1, SeqVar: 1, Num: 2}
