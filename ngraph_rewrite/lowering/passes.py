# SPDX-License-Identifier: Apache-2.0
"""The passes: recognize what is worth keeping, lower to the base set, select what the target does best.

A pass is a name and the kinds of rules that take part. All lowering rules and the algebra of `semi` run
together: one order, so there is no phase order to get wrong.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.data import data_folder
from ngraph_rewrite.errors import ArgumentError, ExtensionError, RuleFileError, UnloweredOpError
from ngraph_rewrite.garbage import no_garbage_collection
from ngraph_rewrite.lazy import lazy_module
from ngraph_rewrite.lowering.counting import counted
from ngraph_rewrite.lowering.driver import adopt, normalise
from ngraph_rewrite.lowering.graph_passes import GraphPass
from ngraph_rewrite.lowering.graph_rules import apply_graph_rules
from ngraph_rewrite.lowering.pass_order import in_place
from ngraph_rewrite.lowering.reduction import NOTHING_LEFT, Left
from ngraph_rewrite.lowering.sequencing import Sequenced, sequence
from ngraph_rewrite.lowering.shipped import shipped
from ngraph_rewrite.lowering.stage import SEQUENCED, Forward
from ngraph_rewrite.lowering.table import ReplacementTable
from ngraph_rewrite.plugins import DataFile, load_plugin_ops, plugin_files, unusable
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.pattern import App, Build, subtemplates
from ngraph_rewrite.rewriting.remembered import check_once, chosen
from ngraph_rewrite.rewriting.rule import CLASSES, FAST, Let, Rule, RuleSet
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.catalogue import STANDARD, OpDef
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.types.sorts import SortType

if TYPE_CHECKING:
    from ngraph_rewrite.rewriting import checks, order, rule_errors
else:  # for rules that are new
    checks = lazy_module("ngraph_rewrite.rewriting.checks")
    order = lazy_module("ngraph_rewrite.rewriting.order")
    rule_errors = lazy_module("ngraph_rewrite.rewriting.rule_errors")

PASSES: Mapping[str, tuple[str, ...]] = {
    "recognize": ("recognize",),
    "lower": ("lower", "simplify"),
    "select": ("simplify", "select"),
}
# What a lowering runs, in order: rules, or a pass written in Python.
Passes = Mapping[str, Matcher | GraphPass]
SAFE_CLASSES = tuple(c for c in CLASSES if c != FAST)


@cache
def library() -> RuleSet:
    """Every rule there is, checked: those of installed packages first, then those that ship, file by file.

    Raises:
        ExtensionError: for a package whose rules cannot be used.
    """
    load_plugin_ops()
    own = sorted(data_folder("rules").glob("*.rules"))
    files = list(_rule_files(own))
    joined = sum(map(_of_package, files), RuleSet())
    every = joined + shipped(own)
    try:
        check_together(joined, every)
    except RuleFileError as error:
        package = next((f.package for f in files if f.shown in str(error)), None)
        raise error if package is None else unusable(package, str(error)) from error
    return every


def _of_package(file: DataFile) -> RuleSet:
    """The rules in a file of a package."""
    try:
        return checks.checked_rules(file.path, file.shown)
    except RuleFileError as error:
        raise unusable(file.package, str(error)) from error


def check_together(own: RuleSet, every: RuleSet) -> None:
    """Whether rewriting ends with rules that are no part of the library, and all that run beside them.

    What goes down in the order of declaration, as the library does, goes down with it; for anything else an order
    is searched for in which all do.

    Raises:
        RuleFileError: for a rule for which there is none.
    """
    if any(order.why_not_down(rule) is not None for rule in own):
        for kinds in PASSES.values():
            check_once(every.of_kind(*kinds), checks.check_order, Cache(), "order")


@cache
def _named() -> Mapping[str, Rule]:
    """The rules that ship, by their names."""
    return {rule.name: rule for rule in library() if rule.file.startswith("rules/")}


def check_names(own: RuleSet) -> None:
    """Whether rules have names that other rules have not which ship: rules are asked about, and left out, by name.

    Raises:
        RuleFileError: for the first one that is called as another rule.
    """
    for rule in own:
        other = _named().get(rule.name)
        if other is not None and other is not rule and other.text != rule.text:
            do = "rename the rule, or the file: its name begins those of its rules"
            raise rule_errors.rule_error(rule, f"has the name of another one that ships, at {other.place}", do)


def _rule_files(own: Iterable[Path]) -> Iterator[DataFile]:
    """The rule files of packages; the stem of a file begins the names of its rules, so it has to be a new one."""
    taken = {path.stem: f"rules/{path.name}" for path in own}
    for file in plugin_files("rules", ".rules"):
        if file.path.stem in taken:
            what = f"the package {file.package} cannot be used: {file.path.name} is called as {taken[file.path.stem]}"
            raise ExtensionError(what, where=str(file.path), do="rename the file")
        taken[file.path.stem] = file.shown
        yield file


@dataclass
class Lowering:
    """What lowering made of a graph.

    Attributes:
        roots: The normal forms of the roots asked for, in order.
        writes: The normal forms of all writes, in the order in which they happen.
        order: All terms under `roots` and `writes`, arguments first.
    """

    table: ReplacementTable
    bank: TermBank
    roots: list[Op]
    writes: list[Op]
    sequenced: Sequenced
    order: list[Op]


def matchers_of(rules: RuleSet, cache: Cache) -> dict[str, Matcher]:
    """A matcher for each pass; transformers with the same rules share them."""
    return {name: _matcher(_Same(rules.of_kind(*kinds)), cache.folder) for name, kinds in PASSES.items()}


class _Same:
    """Rules compared by identity: hashing what they say would cost more than it saves."""

    def __init__(self, rules: RuleSet) -> None:
        self.rules, self.key = rules, tuple(map(id, rules.rules))

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.key == other.key


@lru_cache(maxsize=32)
def _matcher(same: _Same, folder: Path) -> Matcher:
    with no_garbage_collection():
        return Matcher(same.rules, Cache(folder))


def standard_passes(target: Any) -> tuple[str, ...]:
    """The names of the passes that run in any case, in order: those of a target say where they stand."""
    return tuple(in_place(tuple(PASSES), getattr(target, "passes", ())))


def passes_of(rules: RuleSet, target: Any, cache: Cache, own: Iterable[GraphPass] = ()) -> Passes:
    """What a transformer runs: the standard passes with the rules a target can use, and passes of one's own.

    A target without a base set executes the graph as it is, after one's own passes.
    """
    mine = tuple(own)
    named = {p.name: p for p in (*getattr(target, "passes", ()), *mine)}
    matchers = {} if target.base is None else matchers_of(usable_once(rules, target.base, cache), cache)
    order = in_place(standard_passes(target), mine)
    return {name: named.get(name) or matchers[name] for name in order if name in named or name in matchers}


def usable_once(rules: RuleSet, base: frozenset[str], cache: Cache) -> RuleSet:
    """As `usable`; the rules of a set are not gone through again for the same base set, in this process or another."""
    return _usable_once(_Same(rules), frozenset(base), cache.folder)


@lru_cache(maxsize=32)
def _usable_once(same: _Same, base: frozenset[str], folder: Path) -> RuleSet:
    return chosen(same.rules, lambda every: usable(every, base), Cache(folder), "usable", sorted(base))


def usable(rules: RuleSet, base: Container[str]) -> RuleSet:
    """The rules that a target with this base set has a use for.

    Left out are those that make an op of another target, what `select` makes of ops that are not executed, and a
    rule without a guard that would lower an op which is.
    """
    return RuleSet(r for r in rules if not _lowers_base(r, base) and not any(_lacks(r, d, base) for d in made_by(r)))


def _lowers_base(rule: Rule, base: Container[str]) -> bool:
    nested = any(isinstance(a, App) for a in rule.left.args)  # it may lower what stands inside
    return rule.kind == "lower" and rule.guard is None and not nested and rule.left.definition.name in base


def _lacks(rule: Rule, made: OpDef, base: Container[str]) -> bool:
    belongs_to_target = made.kin not in ("core", *STANDARD)
    return made.name not in base and (belongs_to_target or (rule.kind == "select" and made.family != "core"))


def made_by(rule: Rule) -> Iterator[OpDef]:
    """The ops that a rule's right side builds."""
    for template in (*rule.right, *(c.template for c in rule.clauses if isinstance(c, Let))):
        if template is not None:
            yield from (part.definition for part in subtemplates(template) if isinstance(part, Build))


def lower(
    roots: Iterable[Op], target: Any, matchers: Passes, complete: bool = True, order: list[Op] | None = None
) -> Lowering:
    """Order the effects under `roots` and rewrite them to the target's base set.

    Args:
        target: What guards may ask (`target.sample`), and `base`, the names of the ops it executes.
        complete: Whether an op outside the base set is an error.
        order: All terms under `roots`, arguments first, for those who have them.

    Raises:
        UnloweredOpError: if an op outside the base set is left.
    """
    with no_garbage_collection():
        found = _lower(sequence(roots, order), target, matchers)
    if complete:
        check_base(found.order, target, matchers)
    return found


def _lower(sequenced: Sequenced, target: Any, matchers: Passes) -> Lowering:
    for root in sequenced.roots:
        if isinstance(root.type, SortType):
            what = f"{describe(root)} is a term of the signature {root.type.family}, and no tensor that has a value"
            raise ArgumentError(what, where=root.info.place, do="rewrite it with ng.normal_form")
    table, bank = ReplacementTable(), TermBank()
    first = table.stage("sequence")
    first.forward.update((h, Forward(t, SEQUENCED)) for h, t in sequenced.terms.items())
    terms = [*sequenced.roots, *sequenced.writes]
    first.left = terms, sequenced.order
    terms = adopt(terms, table, bank)
    before, mark = None, object()
    for name, one in matchers.items():
        if isinstance(one, GraphPass):
            terms = one.applied(terms, table, bank, target)
        else:
            left = NOTHING_LEFT if before is None else Left(mark, _lacked(before, one))
            counting = counted(one)
            terms = normalise(terms, counting, table, bank, target, name, left=left)
            terms = apply_graph_rules(terms, counting, table, bank, target, name) if one.graph_rules else terms
            before, mark = one, terms[0].mark if terms else mark
    count = len(sequenced.roots)
    return Lowering(table, bank, terms[:count], terms[count:], sequenced, table.order(terms))


@lru_cache(maxsize=32)
def _lacked(before: Matcher, one: Matcher) -> frozenset[str]:
    """The ops at which a matcher has rules that the one before it has not."""
    had = set(map(id, before.rules))
    return frozenset([rule.root for rule in one.rules if id(rule) not in had])


def check_base(terms: Iterable[Op], target: Any, matchers: Passes) -> None:
    """Refuse an op the target does not execute (a target without a base set executes all by their meanings).

    Raises:
        UnloweredOpError: naming the op, the line that built it, and the file that would lower it.
    """
    for term in terms if target.base is not None else ():
        name = term.definition.name
        if name not in target.base:
            every = (r for m in matchers.values() if isinstance(m, Matcher) for r in m.rules)
            rules = [r for r in every if r.left.definition is term.definition]
            files = ", ".join(sorted({r.file for r in rules}))
            family = term.definition.family
            lacks = f"write one in a file that begins with `lower {family}`"
            lacks = f"add one to rules/{family}.rules" if term.definition.shipped else lacks
            raise UnloweredOpError(
                f"no rule lowers {name} of type {term.type}, which the target {target.name} does not execute",
                where=term.info.place if term.info.lineno else None,
                do=f"its rules in {files} do not fire here" if files else lacks,
            )
