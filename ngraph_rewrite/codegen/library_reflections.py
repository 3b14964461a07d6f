# SPDX-License-Identifier: Apache-2.0
"""Renders the kernel of orthogonal and triangular factors: reflections of columns, which are summed row by row."""

from functools import cache

from ngraph_rewrite.codegen.library import has_dtype, rendered
from ngraph_rewrite.codegen.library_factors import DTYPES
from ngraph_rewrite.codegen.source import Source, nested

_TOGETHER = 4  # rows that are added to sums, one after the other, before these are stored


def _length(dtype: str) -> list[str]:
    """Lines that find how far the reflection of column k goes: 0 where all below the diagonal is 0."""
    return [
        f"twice, squares = np.{dtype}(0), np.{dtype}(0)",
        "for i in range(k + 1, m):",
        f"    part = load_{dtype}(y, at + i * n + k, 2)",
        "    squares = squares + part * part",
        "if squares != 0:",
        f"    twice = np.{dtype}(2) / (np.{dtype}(1) + squares)",
    ]


def _on_cpu(dtype: str) -> list[str]:
    """Lines that reflect the columns from ``left`` on."""
    rows = range(_TOGETHER)
    added = [f"value = load_{dtype}(sums, j, 4)"]
    added += [f"value = value + f{r} * load_{dtype}(y, at + (i + {r}) * n + j, 2)" for r in rows]
    added += [f"store_{dtype}(sums, j, value, 4)"]
    several = [f"f{r} = load_{dtype}(y, at + (i + {r}) * n + k, 2)" for r in rows]
    several += ["for j in range(left, n):", *nested(added), f"i += {_TOGETHER}"]
    one = [f"f0 = load_{dtype}(y, at + i * n + k, 2)", "for j in range(left, n):"]
    one += nested([added[0], added[1].replace("(i + 0)", "i"), added[-1]])
    taken = [
        f"part = f0 * load_{dtype}(sums, j, 4)",
        f"store_{dtype}(y, row + j, load_{dtype}(y, row + j, 2) - part, 2)",
    ]
    return [
        *_length(dtype),
        "for j in range(left, n):",
        f"    store_{dtype}(sums, j, load_{dtype}(y, at + k * n + j, 2), 4)",
        "i = k + 1",
        f"while i + {_TOGETHER} <= m:",
        *nested(several),
        "while i < m:",
        *nested([*one, "i += 1"]),
        "for i in range(k, m):",
        "    row, f0 = at + i * n, twice",
        "    if i > k:",
        f"        f0 = twice * load_{dtype}(y, row + k, 2)",
        "    for j in range(left, n):",
        *nested(nested(taken)),
    ]


def _on_cuda(dtype: str) -> list[str]:
    """The same lines where each thread has some of the columns right of k."""
    lines = [
        f"value = load_{dtype}(y, at + k * n + j, 2)",
        "for i in range(k + 1, m):",
        f"    value = value + load_{dtype}(y, at + i * n + k, 2) * load_{dtype}(y, at + i * n + j, 2)",
        f"store_{dtype}(y, at + k * n + j, load_{dtype}(y, at + k * n + j, 2) - twice * value, 2)",
        "for i in range(k + 1, m):",
        f"    part = twice * load_{dtype}(y, at + i * n + k, 2) * value",
        f"    store_{dtype}(y, at + i * n + j, load_{dtype}(y, at + i * n + j, 2) - part, 2)",
        "j += lanes()",
    ]
    return [*_length(dtype), "j = k + 1 + lane()", "while j < n:", *nested(lines)]


@cache
def render_qr(dtype: str, target: str = "cpu") -> Source:
    """Return the kernel of factors Q and R, one below the other, of ``count`` matrices (m, n) with strides.

    >>> render_qr("float32", "cuda").signature
    ('count', 'm', 'n', 'x', 'x_between', 'x_down', 'x_along', 'y')
    """
    has_dtype(dtype, DTYPES, "qr")
    names = tuple("count m n x x_between x_down x_along y".split())
    names = (*names, "space", "room") if target == "cpu" else names
    lines = _on_cpu(dtype) if target == "cpu" else _on_cuda(dtype)
    return rendered("qr", names, target, dtype=dtype, reflect="\n".join(lines))
