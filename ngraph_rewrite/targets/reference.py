# SPDX-License-Identifier: Apache-2.0
"""The reference target: every op by its meaning, nothing lowered. Slow, and right by definition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ngraph_rewrite.targets.evaluation import Draws, evaluate, evaluate_each
from ngraph_rewrite.targets.target import Array, Program, Ran, Target
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
        roots, values, draws = self._begin(inputs, call)
        self._end(evaluate(roots, values, draws, listener(roots)), results)

    def run_rows(self, inputs: Sequence[Array], results: Sequence[Array], call: int) -> Iterator[Ran]:
        """The same term by term: each is evaluated when it is asked for, all is stored when there are no more."""
        roots, values, draws = self._begin(inputs, call)
        found = dict[Op, Any]()
        for term, value in evaluate_each(roots, values, draws):
            found[term] = value
            if term not in values and term.args:
                yield Ran((), ((term, None if isinstance(value, tuple) else partial(np.copy, value)),))
        self._end(found, results)

    def _begin(self, inputs: Sequence[Array], call: int) -> tuple[list[Op], dict[Op, Array], Draws]:
        """What is evaluated, what is known of it, and where random draws come from."""
        program = self.program
        values = dict(zip(program.inputs, inputs, strict=True))
        variables = [t for t in self.order if t.definition.name == "core.variable"]
        values.update((v, program.storage[v.attribute("uid")]) for v in variables)
        return [*program.results, *program.writes], values, Draws(program.seed, program.streams, call)

    def _end(self, found: Mapping[Op, Any], results: Sequence[Array]) -> None:
        """Store results and what was written."""
        program = self.program
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
