# SPDX-License-Identifier: Apache-2.0
"""Which rules are tried: the same ones fire however many there are, the others ask for ops that no graph has."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.equations import FOLDER, Equation, read_equations
from benchmarks.family import ABSENT, FAMILY
from ngraph_rewrite.rewriting.rule import RuleSet
from ngraph_rewrite.rewriting.rulefile import load_rules, parse_rules

BINARY = ("add", "multiply", "maximum", "subtract", "divide", "minimum")
UNARY = ("exp", "log", "negative", "reciprocal", "square", "sqrt", "absolute", "tanh", "sigmoid")
# The ten that fire where few rules are wanted.
FEW = (
    "fold_add add_zero add_inverse fold_multiply multiply_one multiply_zero negative_negative log_exp exp_log "
    "transpose_twice"
).split()


@dataclass(frozen=True)
class RuleChoice:
    """So many rules of which `firing`, 10 or all of the files, fire."""

    count: int
    firing: int

    def ours(self) -> RuleSet:
        """As the package reads them."""
        found = RuleSet(r for path in rule_files() for r in load_rules(path, path.name))
        if self.firing == len(FEW):
            found = RuleSet(r for r in found if r.name.split(".")[1] in FEW)
        rest = self.count - len(found)
        return found + parse_rules(idle_rules(rest), "idle.rules", "idle") if rest > 0 else found

    def equations(self) -> list[Equation]:
        """As the peers are given them; orders of commutative operands are not counted."""
        found = [e for path in rule_files() for e in read_equations(path.read_text(encoding="utf-8"))]
        if self.firing == len(FEW):
            found = [e for e in found if e.name in FEW]
        rest = self.count - len({e.name for e in found})
        return found + read_equations(idle_rules(rest)) if rest > 0 else found


def rule_files() -> list[Path]:
    """The benchmark's rule files, in the order in which their rules are tried."""
    return sorted(FOLDER.glob("*.rules"))


def idle_rules(count: int) -> str:
    """A rule file of rules that never fire: every other one begins with an op that graphs have."""
    present, absent = _of_present(), _of_absent()
    lines = [f"rule idle_{i} @real: {next(absent if i % 2 else present)}" for i in range(count)]
    return "\n".join([f"simplify {FAMILY}", "", *lines, ""])


def _of_present() -> Iterator[str]:
    ops = itertools.cycle(ABSENT)
    inner = [*UNARY, *(None for _ in range(3))]
    for root, unary, second in itertools.product(BINARY, inner, BINARY):
        if unary is not None:
            yield f"semi.{root}(semi.{second}({next(ops)}(x), y), semi.{unary}(z))  =>  y"
        yield f"semi.{root}(semi.{second}(y, {next(ops)}(x)), z)  =>  z"


def _of_absent() -> Iterator[str]:
    for root, second, unary in itertools.product(ABSENT, BINARY, UNARY):
        yield f"{root}(semi.{second}(semi.{unary}(x), y))  =>  y"
