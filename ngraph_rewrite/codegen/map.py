# SPDX-License-Identifier: Apache-2.0
"""Renders a map nest: each value is computed in the outermost loop that determines it, results innermost."""

from ngraph_rewrite.codegen.nest import (
    MapNest,
    argument_lines,
    needed,
    signature,
    store_line,
    value_line,
)
from ngraph_rewrite.codegen.source import Source, imports, indented, named
from ngraph_rewrite.codegen.template import kernel_template


def render_map(nest: MapNest) -> Source:
    """Return the kernel of a map nest; chunks split loop 0, and a nest of rank 0 is done by chunk 0.

    >>> from ngraph_rewrite.codegen.loops import MapNest, Operand, Step
    >>> vector = Operand("float32", ("1",))
    >>> add = MapNest(1, (vector, vector), (Step("add", "float32", (0, 1)),), ((2, vector),), (0, 1, 2))
    >>> render_map(add).signature
    ('n0', 'x0', 'x1', 'y0')
    """
    names = signature(nest)
    body = "\n".join([_start(nest), _level(nest, 0)])
    arguments = argument_lines(names, nest.steps)
    template = kernel_template("map")
    text = template.fill(
        "cpu",
        name="$name",
        idea=template.idea,
        arguments=arguments,
        signature=", ".join(names),
        imports=imports(f"wide_vectors() {arguments} {body}"),
        nest=body,
    )
    return named("map", text, names)


def _start(nest: MapNest) -> str:
    """Find this chunk's part of loop 0, and leave if there is nothing to do."""
    if nest.rank == 0:
        return "if chunk > 0:\n    return"
    lines = ["start = chunk_start(n0, chunk, nchunks)", "stop = chunk_start(n0, chunk + 1, nchunks)"]
    empty = ["start >= stop"] + [f"n{dim} <= 0" for dim in range(1, nest.rank)]
    return "\n".join([*lines, f"if {' or '.join(empty)}:", "    return"])


def _level(nest: MapNest, level: int) -> str:
    """The lines inside the first ``level`` loops."""
    values = needed(nest, (value for value, _ in nest.stores))
    lines = [value_line(nest, value) for value in values if max(nest.dims[value], default=-1) + 1 == level]
    if level == nest.rank:
        lines += [store_line(nest, position, nest.dtypes) for position in range(len(nest.stores))]
    else:
        extent = "start, stop" if level == 0 else f"n{level}"
        lines += [f"for i{level} in range({extent}):", indented(_level(nest, level + 1), 4)]
    return "\n".join(lines)
