# SPDX-License-Identifier: Apache-2.0
"""What is computed: each family has a module with `tasks(size)`, and writes a task once for each engine."""

from __future__ import annotations

from benchmarks.comparison import Tasks
from benchmarks.workloads import (
    attention,
    convolutions,
    counts,
    depths,  # noqa: F401
    elementwise,
    factors,
    layouts,
    lookups,
    mapped,
    networks,
    pooling,
    products,
    recurrent,
    reductions,
    rows,
    sorting,
    spectra,
    views,
)

FAMILIES = (
    elementwise, layouts, views, rows, reductions, sorting, counts, lookups, products, convolutions, pooling, networks,
    recurrent, mapped, attention, factors, spectra,
)  # fmt: skip


def every_task(size: int | None = None) -> Tasks:
    """All tasks, by name; `size` is what each family says it is."""
    return {name: make for family in FAMILIES for name, make in family.tasks(size).items()}
