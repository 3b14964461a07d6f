# SPDX-License-Identifier: Apache-2.0
"""A failing program made as small as it gets while it fails in the same way (Zeller and Hildebrandt, *Simplifying and
Isolating Failure-Inducing Input*, 2002)."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from ngraph_rewrite.errors import NGraphRewriteError
from ngraph_rewrite.returns import check_handles
from ngraph_rewrite.testing.fuzz.smaller import smaller
from ngraph_rewrite.testing.programs.program import Program
from ngraph_rewrite.testing.whole.lowered import Setup
from ngraph_rewrite.types.dtypes import is_float


def minimised(program: Program, fails: Callable[[Program], bool], setup: Setup, seconds: float = 30.0) -> Program:
    """The smallest program found that fails; `program` itself if none does.

    Args:
        fails: Whether a program fails, in the way that is meant.
        seconds: About how long to look for it.
    """
    deadline = time.monotonic() + seconds
    found: Program | None = program
    while found is not None and time.monotonic() < deadline:
        program = found
        found = _step(program, fails, setup, deadline)
    return program


def _step(program: Program, fails: Callable[[Program], bool], setup: Setup, deadline: float) -> Program | None:
    """The first of the smaller programs that fails."""
    size = weight(program)
    for candidate in smaller(program, setup):
        if time.monotonic() > deadline:
            return None
        if weight(candidate) < size and is_whole(candidate) and fails(candidate):
            return candidate
    return None


def weight(program: Program) -> tuple[int, ...]:
    """What is made smaller, most important first."""
    arrays = [a for call in program.calls for a in call]
    unlike = sum(int(np.count_nonzero(~np.isin(a, (0, 1)))) for a in arrays)
    nonzero = sum(int(np.count_nonzero(a)) for a in arrays)
    rough = sum(int(np.count_nonzero(np.round(a) != a)) for a in arrays if is_float(a.dtype))
    inner = [t for t in program.handles if t.args]
    elements = sum(int(t.size) for t in program.handles if not t.args and isinstance(t.size, int))
    varied = sum(t.definition.name in ("core.variable", "core.constant") for t in program.handles)
    return (
        len(inner), len(program.handles), varied, len(program.returns), len(program.calls),
        elements, sum(a.size for a in arrays), rough, unlike, nonzero,
    )  # fmt: skip


def is_whole(program: Program) -> bool:
    """Whether a computation could be made of it."""
    try:
        check_handles(program.returns)
    except NGraphRewriteError:
        return False
    return bool(program.calls)
