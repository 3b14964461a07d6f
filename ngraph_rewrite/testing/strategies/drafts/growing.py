# SPDX-License-Identifier: Apache-2.0
"""Programs grown step by step: ops of a hand dealt from the catalogue, and effects between them."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np

from ngraph_rewrite.plugins import load_plugin_ops
from ngraph_rewrite.rewriting.domain import COMMON_FIRST
from ngraph_rewrite.terms.catalogue import STANDARD, OpDef, definitions
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.testing.programs.program import Program, of_terms
from ngraph_rewrite.testing.strategies.drafts.draft import FEW, FLOAT64, NUMBERS, SMALL, SMOOTH, Draft
from ngraph_rewrite.testing.strategies.drafts.effects import EFFECTS, Step
from ngraph_rewrite.types.axes import Axis
from ngraph_rewrite.types.tensor import TensorType

FAMILIES = ("core", *STANDARD)
# What an unknown length is, in one call and in the next.
BATCHES = (2, 3)
_NO_STEPS = {"core.placeholder", "core.constant", "core.variable", "core.parameter", "core.present"}


def drawn_ops(families: Sequence[str] = FAMILIES) -> list[OpDef]:
    """The ops that are one step of a program, those that have a value of their own, of installed packages too.

    The others are leaves, effects and binders, which the steps of effects make.
    """
    load_plugin_ops()
    return [d for family in families for d in definitions(family) if _is_step(d)]


def _is_step(definition: OpDef) -> bool:
    return not definition.traits & {"effect", "binder", "storage", "parameter"} and definition.name not in _NO_STEPS


def reached(terms: Sequence[Op]) -> set[str]:
    """The names of the ops under some terms."""
    return {t.definition.name for t in topological(terms)}


def begun(random: Random, numbers: str, ops: Sequence[OpDef], every_dtype: bool = False, longest: int = 3) -> Draft:
    """A draft with three leaves, one of unknown length."""
    few = (FLOAT64, np.dtype(bool)) if numbers == SMOOTH else FEW
    p = Draft(random, numbers, ops, COMMON_FIRST if every_dtype and numbers != SMOOTH else few, longest=longest)
    h, w = min(2, longest), min(3, longest)
    for type_ in (TensorType(FLOAT64, [Axis("N")]), TensorType(FLOAT64, {"H": h, "W": w}), TensorType(few[1], (w,))):
        p.terms.append(p.leaf(type_))
    return p


def grown(hand: Sequence[OpDef], number: int, seed: int, numbers: str = SMALL) -> Draft:
    """A draft of the ops of a hand and of two of the other steps."""
    p = begun(Random(f"{number} {seed}"), numbers, drawn_ops(), every_dtype=number % 4 == 0)
    steps: list[OpDef | Step] = list(hand)
    for i in (2 * number, 2 * number + 1):
        steps.insert(p.random.randrange(len(steps) + 1), EFFECTS[i % len(EFFECTS)])
    for step in steps:
        take(p, step)
    return p


def take(p: Draft, step: OpDef | Step) -> None:
    """Add what one step makes of the terms before it."""
    p.add(p.apply(step) if isinstance(step, OpDef) else step(p))


def finished(p: Draft, everything: bool = False) -> Program:
    """The program: the terms that are needed for no other one, or all terms, are asked for, in two calls.

    An unknown length differs from call to call.
    """
    arguments = [p.values(batch) for batch in BATCHES]
    return of_terms(p.terms if everything else p.ends(), dict(zip(p.inputs, zip(*arguments, strict=True), strict=True)))


def numbered_program(seed: int, number: int, families: Sequence[str] = FAMILIES, steps: int = 6) -> Program:
    """A program of up to `steps` steps: for one seed and number always the same one.

    Args:
        families: Where its ops come from; leaves, effects and what adapts arguments are of any.

    >>> import ngraph_rewrite as ng
    >>> numbered_program(0, 1).size == numbered_program(0, 1).size
    True
    """
    random = Random(f"{seed} {number}")
    ops = drawn_ops(families)
    p = begun(random, NUMBERS[number % 3], ops, random.random() < 0.5)
    chosen: list[OpDef | Step] = [random.choice(ops) for _ in range(random.randint(1, steps))]
    for _ in range(random.choice((0, 1, 1, 2))):
        chosen.insert(random.randrange(len(chosen) + 1), random.choice(EFFECTS))
    for step in chosen:
        take(p, step)
    return finished(p, random.random() < 0.3)
