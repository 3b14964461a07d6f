# SPDX-License-Identifier: Apache-2.0
"""Two different numbers that are equal: a wrong rule, which would make everything equal to everything.

What is computed in floating point may differ by rounding where rules are right over the reals, and a number that is
not finite is what a `refines` rule may get rid of: these are no contradictions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngraph_rewrite.errors import RewriteError
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.saturation.egraph import ENode
from ngraph_rewrite.saturation.nodes import Nodes
from ngraph_rewrite.saturation.proofs import Equation, Proofs
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.types.dtypes import finfo, is_float

# Roundings that numbers of one proof may add up to, in units of the largest of them.
ROUNDINGS = 64


class Consistency:
    """What is known of the constants that rules made equal: each two are judged once."""

    def __init__(self, nodes: Nodes, instances: Sequence[tuple[int, int, Rule]]) -> None:
        self._nodes, self._instances = nodes, instances
        self._judged: set[tuple[int, int]] = set()

    def check(self, constants: Iterable[ENode]) -> None:
        """Whether each class has one constant at most, as far as rounding does not explain others.

        Raises:
            RewriteError: for two in one class: with the rules that make them equal, step by step.
        """
        first, pairs = dict[int, int](), list[tuple[int, int]]()
        for found in sorted(constants):
            pair = first.setdefault(found.own, found.head), found.head
            if pair not in self._judged:
                self._judged.add(pair)
                pairs.append(pair)
        apart = [both for pair in pairs if not _alike(*map(_value, both := self._terms(*pair)))]
        if apart:
            proofs = Proofs(self._nodes, self._instances)
            for both in apart:
                steps = proofs.equations(*both)
                if not _rounded(_value(both[0]), _value(both[1]), steps):
                    raise _contradiction(both, steps)

    def _terms(self, one: int, other: int) -> tuple[Op, Op]:
        return self._nodes.make(one, ()), self._nodes.make(other, ())


def _value(term: Op) -> Literal:
    value = term.attribute("value")
    assert isinstance(value, Literal)
    return value


def _alike(one: Literal, other: Literal) -> bool:
    """Whether two constants of one type are one number each, or not finite, or arrays that differ nowhere."""
    if one == other:
        return True
    x, y = _arrays(one, other)
    if not is_float(one.dtype):
        return bool(np.array_equal(x, y))
    finite = np.isfinite(x) & np.isfinite(y)
    return bool((x == y)[finite].all())


def _arrays(one: Literal, other: Literal) -> tuple[NDArray[Any], NDArray[Any]]:
    shape = max(one.shape, other.shape, key=len)
    return one.array(shape), other.array(shape)


def _rounded(one: Literal, other: Literal, steps: Iterable[Equation]) -> bool:
    """Whether two numbers differ by no more than roundings of the numbers in a proof may have made."""
    if not is_float(one.dtype) or all(isinstance(s.why, str) or s.why.grade == "exact" for s in steps):
        return False
    terms = {t for s in steps for t in topological([s.before, s.after]) if t.definition.name == "core.constant"}
    largest = max(map(_size, terms), default=0.0)
    x, y = _arrays(one, other)
    finite = np.isfinite(x) & np.isfinite(y)
    apart = np.abs(x[finite].astype("float64") - y[finite].astype("float64")).max(initial=0.0)
    return bool(apart <= ROUNDINGS * float(finfo(one.dtype).eps) * largest)


def _size(constant: Op) -> float:
    value = _value(constant).array(_value(constant).shape)
    found = float(np.abs(value.astype("float64")).max(initial=0.0))
    return found if math.isfinite(found) else 0.0


def _contradiction(both: tuple[Op, Op], steps: Iterable[Equation]) -> RewriteError:
    steps = list(steps)
    rules = list(dict.fromkeys(s.why for s in steps if isinstance(s.why, Rule)))
    shown = "".join(f"\n    {line}" for s in steps for line in s.lines())
    what = f"the rules {', '.join(r.name for r in rules)} make {describe(both[0])} and {describe(both[1])} equal"
    return RewriteError(f"{what}:{shown}", where=rules[0].place if rules else None, do="guard or mend one of them")
