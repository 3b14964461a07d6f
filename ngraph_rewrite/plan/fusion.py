# SPDX-License-Identifier: Apache-2.0
"""Which terms share a kernel: elementwise trees go into the one kernel that needs them.

A group computes one term, its root, into memory. An elementwise term is drawn into a group if that group is
its only user, sees it in one way, and does not repeat it by broadcasting; a reduction draws in what it
reduces. Everything else is a group of its own, and so is what takes long.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, prod
from types import MappingProxyType
from typing import Any, NamedTuple

from ngraph_rewrite.plan.costs import Costs, Use, costs_of, recomputed
from ngraph_rewrite.plan.kinds import LEAF, LEAVES, LONG, MAP, OTHER, SOURCES, STORAGE, VIEW, Kinds
from ngraph_rewrite.plan.loop_body import LOOP
from ngraph_rewrite.plan.renderer import Renderer
from ngraph_rewrite.plan.shapes import known
from ngraph_rewrite.plan.views import IDENTITIES, Load
from ngraph_rewrite.terms.op import Op

# Steps of one kernel: longer ones compile slower than they run faster.
LARGEST_GROUP = 64
# What puts something into its first operand, in the memory of the result.
INSERTIONS = ("semi.scatter_add", "semi.scatter", "semi.add_along", "semi.put_along", "cpu.chosen_places")
# What is computed piece by piece, each argument in a loop nest of its own; and what has several of them.
_SEVERAL = frozenset({"semi.concat", "semi.update", LOOP})
_PIECES = _SEVERAL - {LOOP} | {"semi.pad", "semi.on_diagonal", "semi.copy"}
REDUCTIONS = frozenset(f"semi.{k}" for k in ("sum", "prod", "max", "min", "argmax", "argmin", "any", "all"))
_BROADCAST = "semi.broadcast"
_REPEATING = (_BROADCAST, "semi.windows")


_IN_MEMORY: Use = (None, (), 1)
_NOTHING: Mapping[Op, Op] = MappingProxyType({})


@dataclass
class Effects:
    """What writes mean for reads: which write ends the life of a read, and what each term waits for."""

    ends: dict[Op, int] = field(default_factory=dict)
    waits: dict[Op, int] = field(default_factory=dict)
    reads: dict[Op, int] = field(default_factory=dict)


class RowGroup(NamedTuple):
    """A group over rows: the elements of `shape` at one index of the axes that are not among `axes` are a row.

    Attributes:
        outputs: The terms that it stores.
        totals: Those of them that are sums over all rows, of each place in a row.
    """

    shape: tuple[int, ...]
    axes: tuple[int, ...]
    outputs: tuple[Op, ...]
    totals: tuple[Op, ...] = ()


@dataclass
class Groups:
    """The result of fusion: the group each computed term belongs to, roots of groups in topological order.

    Attributes:
        layouts: Of what is in memory or a view of it, what it lies in and how, as far as anybody asked.
        rows: The groups over rows, by root.
        programs: What was worked out of them already.
        uses: Who reads each term.
        again: Terms that several groups compute, each for itself: the roots of these.
        costs: What decided between that and memory.
        renderer: How the target writes kernels.
        stead: What stands for a reduction that is done in two steps: the same, of what the first one gives.
        number: The place of each term in the graph: arguments come first.
    """

    effects: Effects
    kinds: Kinds
    renderer: Renderer
    group_of: dict[Op, Op] = field(default_factory=dict)
    roots: list[Op] = field(default_factory=list)
    layouts: dict[Op, Load] = field(default_factory=dict)
    rows: dict[Op, RowGroup] = field(default_factory=dict)
    programs: dict[Op, Any] = field(default_factory=dict)
    uses: dict[Op, list[Use]] = field(default_factory=dict)
    again: dict[Op, list[Op]] = field(default_factory=dict)
    costs: dict[Op, Costs] = field(default_factory=dict)
    stead: Mapping[Op, Op] = field(default_factory=dict)
    number: Mapping[Op, int] = field(default_factory=dict)

    def reduced(self, term: Op) -> Op:
        """What a reduction reduces."""
        return self.stead.get(term, term).args[0]

    def axes(self, term: Op) -> tuple[int, ...]:
        """The axes over which it does."""
        found: tuple[int, ...] = self.stead.get(term, term).attribute("axes")
        return found


def is_scalar_constant(term: Op) -> bool:
    """Whether it is a constant filled with one number, which kernels contain as such."""
    return term.definition.name == "core.constant" and term.attrs[0].scalar is not None


def is_storage_read(term: Op) -> bool:
    """Whether it is a variable, as it is at some place in the sequence (a write is what it stored)."""
    return term.definition.name in STORAGE


def variable_of(term: Op) -> Op:
    """The variable that a storage read reads."""
    return term.args[0] if term.args else term


def version_of(term: Op) -> Op:
    """What a storage read sees: the write it follows, or the variable itself for its value at the start."""
    return term.args[1] if term.definition.name == "core.after" else term


def is_leaf(term: Op) -> bool:
    """Whether its value is in memory before anything runs (or after the write it names)."""
    return term.definition.name in LEAVES


def study_effects(order: Sequence[Op], writes: Sequence[Op], kinds: Kinds) -> Effects:
    """Bit sets over `writes` for the terms of a graph; what has none is left out."""
    effects = Effects()
    if not writes:
        return effects
    number = {w: i for i, w in enumerate(writes)}
    following: dict[Op, int] = {}
    last: dict[Op, Op] = {}
    for write in writes:  # the write that ends each version of a variable
        following[last.get(write.args[0], write.args[0])] = number[write]
        last[write.args[0]] = write
    for term in order:
        waits = reads = 0
        for arg in term.args:
            waits |= effects.waits.get(arg, 0)
            reads |= effects.reads.get(arg, 0)
        if term in number:
            waits |= 1 << number[term]
        if is_storage_read(term):
            ended = following.get(version_of(term))
            reads = 0
            if ended is not None:
                effects.ends[term], reads = ended, 1 << ended
        elif reads and kinds[term.definition] in (OTHER, LEAF):
            reads = 0
        if waits:
            effects.waits[term] = waits
        if reads:
            effects.reads[term] = reads
    return effects


def fuse(
    order: Sequence[Op],
    results: Iterable[Op],
    writes: Sequence[Op],
    forced: set[Op],
    renderer: Renderer,
    kinds: Kinds,
    stead: Mapping[Op, Op] = _NOTHING,
) -> Groups:
    """Draw terms into groups, users first.

    Args:
        forced: Terms that have to be in memory by themselves, whatever they are.
        renderer: How the target writes kernels.
        kinds: Those of the ops of the terms.
        stead: What stands for some terms: their operands are others.
    """
    effects = study_effects(order, writes, kinds)
    number = dict(zip(order, range(len(order)), strict=True))
    groups = Groups(effects, kinds, renderer, uses={t: [] for t in order}, stead=stead, number=number)
    uses, group_of, maps = groups.uses, groups.group_of, _Maps(forced, groups)
    sizes = maps.sizes
    for result in results:
        uses[result].append(_IN_MEMORY)
    for term in reversed(order):
        kind = kinds[term.definition]
        if kind == MAP:
            home = maps.home(term)
            if home is not None:
                group_of[term], use = home, (home, (), 1)
                sizes[home] = sizes.get(home, 0) + 1
                for arg in term.args:
                    uses[arg].append(use)
        elif kind == VIEW:
            if term in forced:  # a copy of what it sees
                group_of[term] = term
            _pass_on(term, [(term, (), 1)] if term in forced else uses[term], uses)
        elif kind == OTHER:
            _alone(term, stead.get(term, term).args, group_of, uses)
        elif term.definition.name == "core.assign":
            uses[term.args[1]].append(_IN_MEMORY)
        elif term in forced:
            group_of[term] = term
    groups.roots = [t for t, group in reversed(group_of.items()) if group is t]
    return groups


def _alone(term: Op, args: tuple[Op, ...], group_of: dict[Op, Op], uses: dict[Op, list[Use]]) -> None:
    """A group of its own, which may draw in operands."""
    if term.definition.name in ("core.doall", "core.item"):
        return
    group_of[term] = term
    fused, before = _fused_operands(term), set[Op]()
    for i, arg in enumerate(args):
        uses[arg].append((term, (), 1) if i < fused and arg not in before else _IN_MEMORY)
        before.add(arg)


def _fused_operands(term: Op) -> int:
    """How many of its operands, from the first, the kernels of a term compute themselves."""
    name = term.definition.name
    if name == LOOP:
        return len(term.attrs[0].states)
    return len(term.args) if name in REDUCTIONS or name in _PIECES else int(name in INSERTIONS)


def _pass_on(term: Op, own: list[Use], uses: dict[Op, list[Use]]) -> None:
    """What reads a view reads what it sees, through one view more."""
    arg, name = term.args[0], term.definition.name
    if name in IDENTITIES:
        uses[arg] += own
        return
    repeats = _repeats(prod(known(arg)), prod(known(term)), name) if name in _REPEATING else 1
    seen = uses[arg]
    for group, path, times in own:
        seen.append((group, (*path, term), times * repeats))


def _repeats(size: int, seen: int, view: str) -> float:
    """How often a view shows each of so many elements; windows are never computed again for each that they are in."""
    if size == seen or not size:
        return 1
    return seen / size if view == _BROADCAST else inf


class _Maps:
    """Where elementwise terms are computed: by what reads them, or for themselves."""

    def __init__(self, forced: Collection[Op], groups: Groups) -> None:
        self.forced, self.groups = forced, groups
        self.sizes: dict[Op, int] = {}
        self.settled: dict[Op, list[Op]] = {}  # computed again with what they are needed for, by these groups

    def home(self, term: Op) -> Op | None:
        """The group a term belongs to: that of its users, or its own; None for one that several groups compute."""
        own, effects = self.groups.uses[term], self.groups.effects
        if own and term not in self.forced and term.definition.name not in LONG:
            group, path, times = own[0]
            if (
                group is not None
                and (times == 1 or _is_free(term))
                and (len(own) == 1 or self._is_seen_alike(own, group, path))
                and not (effects.reads and effects.reads.get(term, 0) & effects.waits.get(group, 0))
                and self.sizes.get(group, 0) < LARGEST_GROUP
            ):
                return group
            homes = self._homes(term)
            if len(homes) > 1:
                self._repeat(term, homes)
                return None
            if homes:
                return homes[0]
        return term

    @staticmethod
    def _is_seen_alike(own: Sequence[Use], group: Op, path: tuple[Op, ...]) -> bool:
        """Whether one group reads a term several times, in one way, in one loop nest."""
        for reader, seen, _ in own:
            if reader is not group or seen != path:
                return False
        return group.definition.name not in _SEVERAL

    def _repeat(self, term: Op, homes: list[Op]) -> None:
        """Let several groups compute a term; its operands are read by all of them."""
        self.groups.again[term] = homes
        for group in homes:
            self.sizes[group] = self.sizes.get(group, 0) + 1
        for arg in term.args:
            self.groups.uses[arg] += [(group, (), 1) for group in homes]

    def _homes(self, term: Op) -> list[Op]:
        """The groups that read it, if computing it in each costs less than to keep it; else none."""
        groups, settled = self.groups, self.settled.get(term)
        found = recomputed(term, groups.kinds, self.forced, groups.uses)
        if found is None or term in groups.effects.reads:
            return []
        homes: dict[Op, None] = {}
        for group, _, _ in groups.uses[term]:
            if group is None or group.definition.name in _SEVERAL:
                return []
            homes[group] = None
        if settled is not None and homes.keys() <= set(settled):
            return [*homes]
        costs = groups.costs[term] = costs_of(found, groups.uses[term], groups.renderer.speed)
        most = max([self.sizes.get(group, 0) for group in homes])
        if not costs.is_cheaper_again or most + len(costs.terms) > LARGEST_GROUP:
            return []
        self.settled.update(dict.fromkeys(costs.terms, [*homes]))
        return [*homes]


def _is_free(term: Op) -> bool:
    """Whether repeating it costs nothing: no memory is read."""
    return term.definition.name in SOURCES or is_scalar_constant(term)
