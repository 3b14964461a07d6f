# SPDX-License-Identifier: Apache-2.0
"""Lines of kernels that reflect columns of a matrix.

What a reflection takes from a column is summed row by row, so that rows are read as they lie.
"""

from typing import NamedTuple

from ngraph_rewrite.codegen.source import nested

_TOGETHER = 4  # rows that are added to sums, one after the other, before these are stored


class Matrix(NamedTuple):
    """A matrix of a kernel, as its lines say it: element (i, k) is at ``at + i * down + k * along``.

    Attributes:
        address: Where it is in memory, and which buffer that is.
        rows, columns: How many it has.
    """

    dtype: str
    address: str = "y"
    at: str = "at"
    rows: str = "m"
    columns: str = "n"
    down: str = "n"
    along: str = "1"
    buffer: int = 2

    def place(self, i: str, k: str) -> str:
        """Where an element is."""
        across = k if self.along == "1" else f"{k} * {self.along}"
        return f"{self.at} + {i} * {self.down} + {across}"

    def load(self, i: str, k: str) -> str:
        """An element."""
        return f"load_{self.dtype}({self.address}, {self.place(i, k)}, {self.buffer})"

    def store(self, i: str, k: str, value: str) -> str:
        """The line that stores one."""
        return f"store_{self.dtype}({self.address}, {self.place(i, k)}, {value}, {self.buffer})"


def column_lines(matrix: Matrix, target: str) -> list[str]:
    """Lines that put the reflection of column k into it, which makes it ``beta`` on the diagonal and 0 below that."""
    zero = f"np.{matrix.dtype}(0)"
    found = [
        f"most, below = {zero}, {zero}",
        f"for i in range(k + 1, {matrix.rows}):",
        f"    size = fabs({matrix.load('i', 'k')})",
        "    if size > below:",
        "        below = size",
        f"alpha = {matrix.load('k', 'k')}",
        "most = below",
        "if fabs(alpha) > most:",
        "    most = fabs(alpha)",
        "beta = alpha",
        "if below > 0:",
        f"    total = {zero}",
        f"    for i in range(k, {matrix.rows}):",
        f"        part = {matrix.load('i', 'k')} / most",
        "        total = total + part * part",
        "    beta = most * sqrt(total)",
        "    if alpha >= 0:",
        "        beta = -beta",
        "    if below / (alpha - beta) == 0:",
        "        beta = alpha",
    ]
    divided = f"select(beta == alpha, {zero}, {matrix.load('i', 'k')} / (alpha - beta))"
    divided = matrix.store("i", "k", divided)
    if target == "cpu":
        stored = [f"for i in range(k + 1, {matrix.rows}):", f"    {divided}", matrix.store("k", "k", "beta")]
        return [*found, "if below > 0:", *nested(stored)]
    stored = ["if i == k:", "    " + matrix.store("i", "k", "beta"), "if i > k:", "    " + divided, "i += lanes()"]
    stored = ["i = k + lane()", f"while i < {matrix.rows}:", *nested(stored)]
    return [*found, "barrier()", "if below > 0:", *nested(stored), "barrier()"]


def reach_lines(matrix: Matrix) -> list[str]:
    """Lines that find how far the reflection of column k goes: 0 where all below the diagonal is 0."""
    dtype = matrix.dtype
    return [
        f"twice, squares = np.{dtype}(0), np.{dtype}(0)",
        f"for i in range(k + 1, {matrix.rows}):",
        f"    part = {matrix.load('i', 'k')}",
        "    squares = squares + part * part",
        "    if part != 0:",
        f"        twice = np.{dtype}(2)",
        f"twice = twice / (np.{dtype}(1) + squares)",
    ]


def summed_lines(matrix: Matrix, factor: str) -> list[str]:
    """Lines that add up the rows below row k, times what `factor` says of row i, in the columns from ``left`` on."""
    dtype, rows = matrix.dtype, range(_TOGETHER)
    value, stored = f"value = load_{dtype}(sums, j, 4)", f"store_{dtype}(sums, j, value, 4)"
    added = [value, *[f"value = value + f{r} * {matrix.load(f'(i + {r})', 'j')}" for r in rows], stored]
    several = [f"f{r} = {factor.format(i=f'(i + {r})')}" for r in rows]
    several += [f"for j in range(left, {matrix.columns}):", *nested(added), f"i += {_TOGETHER}"]
    one = [f"f0 = {factor.format(i='i')}", f"for j in range(left, {matrix.columns}):"]
    one += nested([value, f"value = value + f0 * {matrix.load('i', 'j')}", stored])
    return [
        "i = k + 1",
        f"while i + {_TOGETHER} <= {matrix.rows}:",
        *nested(several),
        f"while i < {matrix.rows}:",
        *nested([*one, "i += 1"]),
    ]


def reflect_lines(matrix: Matrix) -> list[str]:
    """Lines for a GPU that reflect the columns right of column k, of which each thread has some."""
    column = matrix.load("i", "k")
    lines = [
        f"value = {matrix.load('k', 'j')}",
        f"for i in range(k + 1, {matrix.rows}):",
        f"    value = value + {column} * {matrix.load('i', 'j')}",
        matrix.store("k", "j", f"{matrix.load('k', 'j')} - twice * value"),
        f"for i in range(k + 1, {matrix.rows}):",
        f"    part = twice * {column} * value",
        "    " + matrix.store("i", "j", f"{matrix.load('i', 'j')} - part"),
        "j += lanes()",
    ]
    return [*reach_lines(matrix), "j = k + 1 + lane()", f"while j < {matrix.columns}:", *nested(lines)]


def multiplied_lines(matrix: Matrix) -> list[str]:
    """Lines for a GPU that put the product of the reflections of all columns in their place."""
    dtype, reflected = matrix.dtype, reflect_lines(matrix)
    zero, on_diagonal = matrix.store("k", "j", f"np.{dtype}(0)"), f"np.{dtype}(1) - twice"
    below = f"-(twice * {matrix.load('i', 'k')})"
    begin = [f"for back in range({matrix.columns}):", f"    k = {matrix.columns} - 1 - back"]
    lines = ["j = k + 1 + lane()", f"while j < {matrix.columns}:", f"    {zero}", "    j += lanes()", "barrier()"]
    lines += [*reflected, "barrier()", "i = k + lane()", f"while i < {matrix.rows}:", f"    value = {on_diagonal}"]
    lines += ["    if i > k:", f"        value = {below}", "    " + matrix.store("i", "k", "value"), "    i += lanes()"]
    return [*begin, *nested([*lines, "barrier()"])]


def block(lines: list[str]) -> str:
    """What goes into a hole that stands alone on its line."""
    return "\n".join(lines)
