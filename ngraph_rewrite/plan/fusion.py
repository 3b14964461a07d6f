# SPDX-License-Identifier: Apache-2.0
"""Which terms share a kernel: elementwise trees go into the one kernel that needs them.

A group computes one term, its root, into memory. An elementwise term is drawn into a group if that group is
its only user, sees it in one way, and does not repeat it by broadcasting; a reduction draws in what it
reduces. Everything else is a group of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ngraph_rewrite.codegen.opkernels import has_kernel
from ngraph_rewrite.plan.closing import LOOP
from ngraph_rewrite.plan.views import IDENTITIES, is_view
from ngraph_rewrite.terms.op import Op

# Steps of one kernel: longer ones compile slower than they run faster.
LARGEST_GROUP = 64
_SOURCES = ("semi.iota", "semi.size")
# What adds to its first operand, in the memory of the result.
ADDITIONS = ("semi.scatter_add", "semi.add_along")
# What is computed piece by piece, each argument in a loop nest of its own; and what has several of them.
_SEVERAL = frozenset({"semi.concat", "semi.update", LOOP})
_PIECES = _SEVERAL - {LOOP} | {"semi.pad", "semi.on_diagonal", "semi.copy"}
REDUCTIONS = frozenset(f"semi.{k}" for k in ("sum", "prod", "max", "min", "argmax", "argmin", "any", "all"))


@dataclass(frozen=True)
class Use:
    """Who reads a term: the root of the reading group (None: memory itself), and through which views."""

    group: Op | None
    path: tuple[Op, ...] = ()
    repeats: bool = False


@dataclass
class Effects:
    """What writes mean for reads: which write ends the life of a read, and what each term waits for."""

    ends: dict[Op, int] = field(default_factory=dict)
    waits: dict[Op, int] = field(default_factory=dict)
    reads: dict[Op, int] = field(default_factory=dict)


@dataclass
class Groups:
    """The result of fusion: the group each computed term belongs to, roots of groups in topological order."""

    group_of: dict[Op, Op]
    roots: list[Op]
    effects: Effects


def is_elementwise(term: Op) -> bool:
    """Whether the value at an index needs only its arguments at that index, or nothing, and no kernel of its own."""
    if "elementwise" in term.definition.traits:
        return term.definition.family == "semi" and not has_kernel(term.definition)
    return term.definition.name in _SOURCES or is_scalar_constant(term)


def is_scalar_constant(term: Op) -> bool:
    """Whether it is a constant filled with one number, which kernels contain as such."""
    return term.definition.name == "core.constant" and term.attrs[0].scalar is not None


def is_storage_read(term: Op) -> bool:
    """Whether it is a variable, as it is at some place in the sequence (a write is what it stored)."""
    return term.definition.name in ("core.variable", "core.after", "core.assign")


def variable_of(term: Op) -> Op:
    """The variable that a storage read reads."""
    return term.args[0] if term.args else term


def version_of(term: Op) -> Op:
    """What a storage read sees: the write it follows, or the variable itself for its value at the start."""
    return term.args[1] if term.definition.name == "core.after" else term


def is_leaf(term: Op) -> bool:
    """Whether its value is in memory before anything runs (or after the write it names)."""
    return is_storage_read(term) or term.definition.name in ("core.placeholder", "core.constant")


def study_effects(order: Sequence[Op], writes: Sequence[Op]) -> Effects:
    """Bit sets over `writes` for every term of a graph."""
    effects = Effects()
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
        elif not is_elementwise(term) and not is_view(term):
            reads = 0
        effects.waits[term], effects.reads[term] = waits, reads
    return effects


def fuse(order: Sequence[Op], results: Iterable[Op], writes: Sequence[Op], forced: set[Op]) -> Groups:
    """Draw terms into groups, users first.

    Args:
        forced: Terms that have to be in memory by themselves, whatever they are.
    """
    effects = study_effects(order, writes)
    uses: dict[Op, list[Use]] = {t: [] for t in order}
    for result in results:
        uses[result].append(Use(None))
    group_of: dict[Op, Op] = {}
    sizes: dict[Op, int] = {}
    for term in reversed(order):
        if term.definition.name == "core.assign":
            uses[term.args[1]].append(Use(None))
        elif term.definition.name in ("core.doall", "core.item") or (is_leaf(term) and term not in forced):
            continue
        elif term in forced and (is_view(term) or is_leaf(term)):
            group_of[term] = term  # a copy of what it sees
            if is_view(term):
                _pass_on(term, [Use(term)], uses)
        elif is_view(term):
            _pass_on(term, uses[term], uses)
        elif is_elementwise(term):
            group = _home(term, uses[term], forced, effects, sizes)
            group_of[term] = group
            sizes[group] = sizes.get(group, 0) + 1
            for arg in term.args:
                uses[arg].append(Use(group))
        else:
            group_of[term] = term
            for i, arg in enumerate(term.args):
                inside = i < _fused_operands(term) and term.args.index(arg) == i
                uses[arg].append(Use(term if inside else None))
    roots = [t for t in order if group_of.get(t) is t]
    return Groups(group_of, roots, effects)


def _fused_operands(term: Op) -> int:
    """How many of its operands, from the first, the kernels of a term compute themselves."""
    name = term.definition.name
    if name == LOOP:
        return len(term.attrs[0].states)
    return len(term.args) if name in REDUCTIONS or name in _PIECES else int(name in ADDITIONS)


def _pass_on(term: Op, own: list[Use], uses: dict[Op, list[Use]]) -> None:
    arg = term.args[0]
    plain = term.definition.name in IDENTITIES
    repeats = term.size != arg.size
    for use in own:
        path = use.path if plain else (*use.path, term)
        grows = use.repeats or (repeats and term.definition.name in ("semi.broadcast", "semi.windows"))
        uses[arg].append(Use(use.group, path, grows))


def _home(term: Op, own: list[Use], forced: set[Op], effects: Effects, sizes: dict[Op, int]) -> Op:
    """The group an elementwise term belongs to: that of its users, or its own."""
    groups = {u.group for u in own}
    paths = {u.path for u in own}
    group = own[0].group if own else None
    if term in forced or len(groups) != 1 or group is None or len(paths) != 1:
        return term
    if own[0].repeats and not _is_free(term):
        return term
    if group.definition.name in _SEVERAL and len(own) > 1:
        return term
    if effects.reads[term] & effects.waits[group] or sizes.get(group, 0) >= LARGEST_GROUP:
        return term
    return group


def _is_free(term: Op) -> bool:
    """Whether repeating it costs nothing: no memory is read."""
    return term.definition.name in _SOURCES or is_scalar_constant(term)
