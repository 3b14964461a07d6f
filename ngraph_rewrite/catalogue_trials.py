# SPDX-License-Identifier: Apache-2.0
"""Each op put to the test: instances of it are lowered, planned and differentiated, and what is missing is said.

Instances are those from which the properties of rules are tested, so an op that cannot be drawn is untested too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.errors import DerivativeError, KernelError, NGraphRewriteError, UnloweredOpError
from ngraph_rewrite.lowering.deriv import deriv
from ngraph_rewrite.lowering.passes import SAFE_CLASSES, Passes, library, lower, passes_of
from ngraph_rewrite.plan.cpu import CPU
from ngraph_rewrite.plan.cuda.renderer import CUDA
from ngraph_rewrite.plan.launches import kernels
from ngraph_rewrite.plan.plan import make_plan
from ngraph_rewrite.returns import leaves, unboxed
from ngraph_rewrite.rewriting.domain import KNOWN, Domain
from ngraph_rewrite.rewriting.instances import matches
from ngraph_rewrite.rewriting.pattern import App, Pattern, SeqVar, Var
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.rewriting.trial_bank import TrialBank
from ngraph_rewrite.targets.choices import find_target
from ngraph_rewrite.targets.cpu import CpuExecutable
from ngraph_rewrite.targets.target import Target
from ngraph_rewrite.terms.catalogue import STANDARD, OpDef
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.types.dtypes import is_float
from ngraph_rewrite.types.tuples import tensors

# Instances of each op, and how many terms may be tried to find each.
INSTANCES, TRIES = 6, 400


@dataclass(frozen=True)
class Trials:
    """Instances of an op, of different types, and what they show.

    Attributes:
        passes_float: Whether one has a float argument and a float result: then there is something to differentiate.
    """

    definition: OpDef
    instances: tuple[Op, ...]
    passes_float: bool


@cache
def trials(definition: OpDef) -> Trials:
    """Up to `INSTANCES` terms of an op with known lengths, the same ones every time."""
    found = instances_in(definition, KNOWN, INSTANCES)
    return Trials(definition, found, any(_has_float(t) and any(map(_has_float, t.args)) for t in found))


def instances_in(definition: OpDef, domain: Domain, limit: int) -> tuple[Op, ...]:
    """Up to `limit` terms of an op with arguments and attributes of a domain, the same ones every time."""
    rule = Rule("trial", "simplify", _pattern(definition), (Var("self"),), (), None, "exact", "", "", 0)
    return tuple(m.term for m in matches(rule, limit, domain, TrialBank(), TRIES))


def _pattern(definition: OpDef) -> App:
    args: list[Pattern] = [Var(f"x{i}") for i in range(definition.least)]
    if definition.arity is None:
        args.append(SeqVar("x"))
    return App(definition, tuple(args), (), ())


def _has_float(term: Op) -> bool:
    return any(is_float(t.dtype) for t in tensors(term.type))


def kernels_on(definition: OpDef, target: Target) -> str:
    """The kernels that compute it: "view" if none has to, "none" if there is none, empty if nothing can be tried.

    A kernel may be for some dtypes alone; `missing` tells which it lacks.
    """
    if target.prepare is not CpuExecutable:
        return "its own"
    names: dict[str, None] = {}
    tried = trials(definition).instances if definition.family != "core" else ()
    for term in tried:
        try:
            plan = make_plan(list(leaves(unboxed(term))), [])
        except KernelError:
            continue
        own = [w.source.name.rpartition("_")[0] for w in kernels(plan.work)]
        if "view" in definition.traits:
            own = [name for name in own if name != "copy"]  # of what is given back, which is no view of an argument
        names.update(dict.fromkeys(own or ["view"]))
    return " ".join(names) or ("none" if tried else "")


# -- what is missing ---------------------------------------------------------------------------------


def missing(definition: OpDef) -> Iterator[str]:
    """What an op lacks, each in one sentence."""
    if not definition.doc.strip():
        yield "has no docstring"
    if definition.meaning is None and not definition.traits & {"source", "draw", "effect"}:
        yield "has no meaning"
    if definition.family == "core":  # leaves, effects and binders: what has no value alone
        return
    found = trials(definition)
    if not found.instances:
        yield "cannot be drawn: give it a domain"
    yield from dict.fromkeys(text for term in found.instances for text in _fails(term))


_RENDERERS = MappingProxyType({"cuda": CUDA})  # of targets that ship, beside that of the CPU


def _fails(term: Op) -> Iterator[str]:
    """What goes wrong when one instance is executed by ``cpu`` (or its own target), and differentiated."""
    parts = list(leaves(unboxed(term)))
    target = find_target("cpu")
    try:
        if belongs_to_target(term.definition) and term.definition.name not in (target.base or ()):
            make_plan(parts, [], renderer=_RENDERERS.get(term.definition.family, CPU))
        else:
            lowered = lower(parts, target, _passes())
            make_plan(lowered.roots, lowered.writes)
    except UnloweredOpError as error:
        yield f"is not lowered: {error.what}"
    except NGraphRewriteError as error:
        yield f"does not run: {error.what}"
    for part in () if belongs_to_target(term.definition) else parts:
        yield from _not_differentiated(part)


def belongs_to_target(definition: OpDef) -> bool:
    """Whether it is of a family of base ops: only rules that select make it, after derivatives are built."""
    return definition.kin not in ("core", *STANDARD)


def _not_differentiated(part: Op) -> Iterator[str]:
    wanted = [leaf for leaf in topological([part]) if not leaf.args and leaf is not part and _has_float(leaf)]
    try:
        if wanted and is_float(part.dtype):
            deriv(part, wanted, TrialBank().leaf("d", part.type))
    except DerivativeError as error:
        yield f"has no adjoint: {error.what}"


@cache
def _passes() -> Passes:
    return passes_of(library().of_class(SAFE_CLASSES), find_target("cpu"), Cache())
