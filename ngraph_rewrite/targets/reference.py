# SPDX-License-Identifier: Apache-2.0
"""The reference target: every op by its meaning, nothing lowered. Slow, and right by definition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ngraph_rewrite.targets.evaluation import Draws, evaluate
from ngraph_rewrite.targets.target import Array, Program, Target
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.tracing import listener
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.terms.written import describe


class ReferenceExecutable:
    """Evaluates the graph as it was written."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.order = topological([*program.results, *program.writes])

    def run(self, inputs: Sequence[Array], results: Sequence[Array], call: int) -> None:
        """Evaluate all, then store what was written."""
        program = self.program
        values = dict(zip(program.inputs, inputs, strict=True))
        variables = [t for t in self.order if t.definition.name == "core.variable"]
        values.update((v, program.storage[v.attribute("uid")]) for v in variables)
        draws = Draws(program.seed, program.streams, call)
        roots = [*program.results, *program.writes]
        found = evaluate(roots, values, draws, listener(roots))
        for term, array in zip(program.results, results, strict=True):
            np.copyto(array, found[term])
        last = {w.args[0]: found[w].copy() for w in program.writes}
        for variable, value in last.items():
            np.copyto(program.storage[variable.attribute("uid")], value)

    def source(self) -> str:
        """The terms, in the order in which they are evaluated."""
        return "\n".join(describe(t) for t in self.order if t.args) + "\n"

    def stats(self) -> dict[str, Any]:
        """The number of ops evaluated."""
        none = {"launches": 0, "arena_bytes": 0, "layout_copies": 0, "layout_copy_bytes": 0}
        return {"ops": sum(bool(t.args) for t in self.order), "kernels": [], **none}

    def where(self, term: Op) -> str | None:
        """Every term is evaluated by its meaning."""
        return f"by the meaning of {term.definition}" if term in set(self.order) else None


REFERENCE = Target("reference", None, ReferenceExecutable)
