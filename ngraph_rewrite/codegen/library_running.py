# SPDX-License-Identifier: Apache-2.0
"""Renders the kernels that run along an axis and keep what they have: recurrences, running sums and extrema."""

from functools import cache

from ngraph_rewrite.codegen.library import has_dtype, rendered
from ngraph_rewrite.codegen.scalar import DTYPES, expression
from ngraph_rewrite.codegen.source import Source

NUMBERS = tuple(name for name in DTYPES if name != "bool")
# The scalar operation of each running one.
OPERATIONS = {"cumsum": "add", "cumprod": "multiply", "cummax": "maximum", "cummin": "minimum"}


@cache
def render_recurrence(dtype: str, reverse: bool, target: str = "cpu") -> Source:
    """Return the kernel y[o, t, i] = a[o, t, i] y[o, t - 1, i] + b[o, t, i], from the end if ``reverse``.

    All operands are contiguous, of shape (outer, n, inner).

    >>> render_recurrence("float32", False).signature
    ('outer', 'n', 'inner', 'b', 'a', 'y')
    """
    has_dtype(dtype, NUMBERS, "recurrence")
    product = expression("multiply", dtype, ["factor", "before"], {}, [dtype, dtype])
    value = expression("add", dtype, ["product", "addend"], {}, [dtype, dtype])
    names = ("outer", "n", "inner", "b", "a", "y")
    holes = {"product": product, "value": value, **direction(reverse)}
    return rendered("recurrence", names, target, dtype=dtype, **holes)


@cache
def render_running(kind: str, dtype: str, reverse: bool) -> Source:
    """Return the kernel of a cumsum, cumprod, cummax or cummin of x[o, :, i], from the end if ``reverse``.

    >>> render_running("cummax", "float32", True).signature
    ('outer', 'n', 'inner', 'x', 'y')
    """
    has_dtype(dtype, NUMBERS, kind)
    value = expression(OPERATIONS[kind], dtype, ["before", "item"], {}, [dtype, dtype])
    return rendered("running", ("outer", "n", "inner", "x", "y"), dtype=dtype, value=value, **direction(reverse))


def direction(reverse: bool) -> dict[str, str]:
    """Where a line begins, and how it goes on."""
    return {"start": "n - 1", "step": "-1"} if reverse else {"start": "0", "step": "1"}
