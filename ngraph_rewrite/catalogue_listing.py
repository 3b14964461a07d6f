# SPDX-License-Identifier: Apache-2.0
"""The catalogue as a table: what each op takes, what lowers it, what differentiates it, which kernels compute it."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from ngraph_rewrite.catalogue_trials import belongs_to_target, kernels_on, missing, trials
from ngraph_rewrite.errors import UnknownOpError
from ngraph_rewrite.lowering.adjoints import SPECIALS
from ngraph_rewrite.lowering.passes import library
from ngraph_rewrite.plugins import load_plugin_ops
from ngraph_rewrite.rewriting.pattern import App
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.targets.choices import find_target, transformer_choices
from ngraph_rewrite.targets.target import Target
from ngraph_rewrite.terms.catalogue import OpDef, definitions, lookup

# What the order of effects takes away, before any rule sees it.
_ORDERED = frozenset({"core.sequential", "core.present"})
HEAD = ("op", "signature", "traits", "lowering", "adjoint", "kernels")


@dataclass(frozen=True)
class Entry:
    """What is known about one op, as text."""

    name: str
    signature: str
    traits: str
    lowering: str
    adjoint: str
    kernels: str

    @property
    def cells(self) -> tuple[str, ...]:
        """The columns of `HEAD`."""
        return self.name, self.signature, self.traits, self.lowering, self.adjoint, self.kernels


def chosen(names: Iterable[str] = (), family: str | None = None) -> list[OpDef]:
    """The ops of these names (``"axes.dot"``, or ``"dot"`` in every family), of a family, or all.

    Raises:
        UnknownOpError: for a name no op has, or a family that has no op.

    >>> chosen(["argmax"], "semi"), len(chosen(["tanh"])) > 1
    ([semi.argmax], True)
    """
    load_plugin_ops()
    found = list(definitions(family))
    if not found:
        families = ", ".join(dict.fromkeys(d.family for d in definitions()))
        raise UnknownOpError(f"no family of ops is called {family}", do=f"one of {families}")
    wanted = list(names)
    for name in wanted:
        if not any(name in (d.name, d.short) for d in found):
            lookup(name if "." in name else f"{family or 'axes'}.{name}")
            raise UnknownOpError(f"{name} is no op of the family {family}", do="leave out one of the two")
    return [d for d in found if not wanted or d.name in wanted or d.short in wanted]


def entry(definition: OpDef) -> Entry:
    """The line of one op."""
    return Entry(
        definition.name,
        signature(definition),
        " ".join(sorted(definition.traits)),
        lowering(definition),
        adjoint(definition),
        kernels(definition),
    )


def signature(definition: OpDef) -> str:
    """Its arguments and attributes, as its declaration has them.

    >>> signature(lookup("semi.gather"))
    '(x, indices, *, axis: int)'
    """
    parts, starred = [], False
    for p in inspect.signature(definition.type_rule).parameters.values():
        if p.kind is p.KEYWORD_ONLY:
            parts += [] if starred else ["*"]
            starred = True
            kind = p.annotation if isinstance(p.annotation, str) else getattr(p.annotation, "__name__", "")
            parts.append(f"{p.name}: {kind}" if kind and p.annotation is not p.empty else p.name)
        else:
            starred = starred or p.kind is p.VAR_POSITIONAL
            parts.append(f"*{p.name}" if p.kind is p.VAR_POSITIONAL else p.name)
    return f"({', '.join(parts)})"


def lowering(definition: OpDef) -> str:
    """Where it is lowered, or that ``cpu`` executes it."""
    if definition.name in (find_target("cpu").base or ()):
        return "base"
    if definition.name in _ORDERED:
        return "put in order first"
    rules = [r for r in _rules_of(definition) if r.kind == "lower"]
    rules = rules or [r for r in _rules_of(definition) if r.kind == "simplify" and _is_flat(r)]
    owners = ", ".join(t.name for t in _owners(definition))
    if not owners and definition.shipped and definition.family in transformer_choices():
        owners = f"{definition.family}, where there is a library for it"
    return _places(rules) or (f"base of {owners}" if owners else "none")


def adjoint(definition: OpDef) -> str:
    """What differentiates it: a derive rule, a function, its lowering; or why nothing has to."""
    if definition.arity == 0:
        return "a leaf"
    if definition.name in SPECIALS:
        return f"{SPECIALS[definition.name].__module__.rpartition('.')[2]}.py"
    rules = [r for r in _rules_of(definition) if r.kind == "derive"]
    if rules:
        passes = any(t is not None for r in rules for t in r.right)
        return _places(rules) if passes else f"flat, {_places(rules)}"
    if belongs_to_target(definition):
        return "made after derivatives"
    if not trials(definition).passes_float:
        return "flat" if trials(definition).instances else "none"
    return "through lowering" if any(r.kind == "lower" for r in _rules_of(definition)) else "none"


def kernels(definition: OpDef) -> str:
    """The kernels that compute it, for each target that executes it."""
    found = {t.name: kernels_on(definition, t) for t in _owners(definition)}
    return "; ".join(f"{name}: {text}" for name, text in found.items() if text)


def incomplete(entries: Iterable[Entry]) -> list[str]:
    """A line for each thing an op lacks."""
    lines = []
    for one in entries:
        lacks = list(missing(lookup(one.name)))
        lacks += ["is neither executed nor lowered by a rule"] if one.lowering == "none" else []
        lacks += ["has no adjoint"] if one.adjoint == "none" and not any("adjoint" in text for text in lacks) else []
        lines += [f"{one.name} {text}" for text in lacks]
    return lines


def _owners(definition: OpDef) -> list[Target]:
    """The targets in whose base set it is."""
    return [t for t in _targets() if definition.name in (t.base or ())]


@cache
def _targets() -> tuple[Target, ...]:
    return tuple(find_target(name) for name in transformer_choices())


def _rules_of(definition: OpDef) -> Sequence[Rule]:
    return _rules().get(definition, ())


@cache
def _rules() -> dict[OpDef, list[Rule]]:
    found: dict[OpDef, list[Rule]] = {}
    for rule in library():
        found.setdefault(rule.left.definition, []).append(rule)
        if rule.left.definition.name == "core.item":  # of a tuple that this op gives
            for arg in rule.left.args:
                if isinstance(arg, App):
                    found.setdefault(arg.definition, []).append(rule)
    return found


def _is_flat(rule: Rule) -> bool:
    """Whether it takes every term of its op."""
    return rule.guard is None and not rule.left.compares and not any(isinstance(a, App) for a in rule.left.args)


def _places(rules: Sequence[Rule]) -> str:
    more = f" and {len(rules) - 1} more" if len(rules) > 1 else ""
    return f"{rules[0].place}{more}" if rules else ""
