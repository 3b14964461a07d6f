# SPDX-License-Identifier: Apache-2.0
"""Renders the kernels of many small matrices, each of which has a lane of vectors: factors, solutions for triangles.

In workspace element (i, j) of all of them is side by side, also of what a matrix has beside it: right sides, or which
row each was.
"""

from functools import cache

from ngraph_rewrite.codegen.library import has_dtype, rendered
from ngraph_rewrite.codegen.library_factors import DTYPES
from ngraph_rewrite.codegen.source import Source
from ngraph_rewrite.runtime.panel_sizes import LANE_BYTES
from ngraph_rewrite.types.dtypes import as_dtype

_X = tuple("x x_between x_down x_along".split())
_SIDES = tuple("a a_between a_down a_along b b_between b_down b_along".split())


def lanes_of(dtype: str) -> int:
    """How many matrices are side by side.

    >>> lanes_of("float32"), lanes_of("float64")
    (16, 8)
    """
    return LANE_BYTES // as_dtype(dtype).itemsize


@cache
def render_small_lu(dtype: str) -> Source:
    """Return the kernel of what `lu` gives of ``count`` matrices (n, n) with strides, in elements.

    Each thread has ``room`` bytes of ``space``, for elements of matrices (n, n + 1).

    >>> render_small_lu("float32").signature
    ('count', 'n', 'x', 'x_between', 'x_down', 'x_along', 'y', 'space', 'room')
    """
    lines = _Lines(dtype, "n + 1")
    order = _address("y", "first * (n + 1) * n + n * n", dtype)
    return lines.rendered(
        ("n", *_X),
        lines.read("x", "n"),
        f"lanes_eliminate_{dtype}((z, n))",
        lines.write("(n + 1) * n", "n"),
        f"lanes_write_{dtype}((z + n * {LANE_BYTES}, 0, n + 1, {order}, (n + 1) * n, 1, n, some))",
    )


@cache
def render_small_cholesky(dtype: str) -> Source:
    """Return the kernel of lower factors of ``count`` matrices (n, n) with strides.

    >>> render_small_cholesky("float32").signature[:2]
    ('count', 'n')
    """
    lines = _Lines(dtype, "n")
    found = f"lanes_cholesky_{dtype}((z, n))"
    return lines.rendered(("n", *_X), lines.read("x", "n"), found, lines.write("n * n", "n"))


@cache
def render_small_triangular(dtype: str) -> Source:
    """Return the kernel of solutions (count, n, m) of triangles `a` and right sides `b` with strides.

    Triangles are lower ones, and their diagonals are taken for ones, if ``lower`` and ``unit`` are not 0.

    >>> render_small_triangular("float32").signature[:6]
    ('count', 'n', 'm', 'lower', 'unit', 'a')
    """
    lines = _Lines(dtype, "n + m")
    return lines.rendered(
        ("n", "m", "lower", "unit", *_SIDES),
        lines.read("a", "n"),
        lines.read("b", "m", "n"),
        f"lanes_substitute_{dtype}((z, n, n + m, lower, unit))",
        lines.write("n * m", "m", "n"),
    )


def _address(name: str, at: str, dtype: str) -> str:
    return f"{name} + ({at}) * {as_dtype(dtype).itemsize}"


class _Lines:
    """Lines about matrices that lie side by side, with so many columns."""

    def __init__(self, dtype: str, columns: str) -> None:
        has_dtype(dtype, DTYPES, "small_matrices")
        self.dtype, self._columns = dtype, columns

    def read(self, x: str, columns: str, left: str = "0") -> str:
        """The line that brings so many columns of an argument to a column and those right of it."""
        given = (
            f"{_address(x, f'first * {x}_between', self.dtype)}, {x}_between, {x}_down, {x}_along, n, {columns}, some"
        )
        return f"lanes_read_{self.dtype}((z + ({left}) * {LANE_BYTES}, {self._columns}, {given}))"

    def write(self, between: str, columns: str, left: str = "0") -> str:
        """The line that puts so many columns to where matrices are in y, so far apart."""
        given = f"{_address('y', f'first * {between}', self.dtype)}, {between}, n, {columns}, some"
        return f"lanes_write_{self.dtype}((z + ({left}) * {LANE_BYTES}, {self._columns}, 1, {given}))"

    def rendered(self, sizes: tuple[str, ...], *lines: str) -> Source:
        names = ("count", *sizes, "y", "space", "room")
        lanes = str(lanes_of(self.dtype))
        return rendered("small_matrices", names, dtype=self.dtype, lanes=lanes, lines="\n".join(lines))
