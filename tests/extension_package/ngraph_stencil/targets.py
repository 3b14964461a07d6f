# SPDX-License-Identifier: Apache-2.0
"""Two targets: `stencil` is the CPU with two ops more and one less, `plain` runs NumPy over a base set of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import ngraph_rewrite as ng

CPU = ng.find_target("cpu")

STENCIL = CPU.extended(
    "stencil", add=["stencil_base.smooth_rows", "stencil_base.multiply_add"], remove=["cpu.gemm"], sample="first"
)


class PlainExecutable:
    """Evaluates a lowered graph op by op."""

    def __init__(self, program: ng.Program) -> None:
        self.program = program
        self.order = ng.topological([*program.results, *program.writes])

    def run(self, inputs: Sequence[Any], results: Sequence[Any], call: int) -> None:
        """Evaluate, then store what is written."""
        program = self.program
        values: dict[ng.Op, Any] = dict(zip(program.inputs, inputs, strict=True))
        for term in self.order:
            if term not in values:
                values[term] = self.value(term, [values[a] for a in term.args])
        for term, array in zip(program.results, results, strict=True):
            np.copyto(array, values[term])
        for write in program.writes:
            np.copyto(program.storage[write.args[0].attribute("uid")], values[write])

    def value(self, term: ng.Op, args: list[Any]) -> Any:
        """The value of one term: a write is what it stores, a read after a write what was written."""
        if term.definition.name == "core.variable":
            return self.program.storage[term.attribute("uid")].copy()
        if term.definition.name in ("core.assign", "core.after"):
            return args[1]
        return term.definition.meaning(term, *args)

    def source(self) -> str:
        """The ops in order."""
        return "\n".join(ng.call_descriptions(self.program.results))

    def stats(self) -> dict[str, Any]:
        """How many ops there are."""
        return {"ops": len(self.order)}

    def where(self, term: ng.Op) -> str | None:
        """Every op is evaluated by its meaning."""
        return "by its meaning" if term in self.order else None


WITHOUT = {"semi.greater", "semi.greater_equal", "cpu.gemm", "semi.uniform", "semi.normal"}
PLAIN = ng.Target("plain", CPU.base - WITHOUT, PlainExecutable)
