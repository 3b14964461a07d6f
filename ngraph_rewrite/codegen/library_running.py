# SPDX-License-Identifier: Apache-2.0
"""Renders the kernels that run along an axis and keep what they have: recurrences, running sums and extrema."""

from collections.abc import Callable
from functools import cache

from ngraph_rewrite.codegen.library import has_dtype, rendered
from ngraph_rewrite.codegen.scalar import DTYPES, expression
from ngraph_rewrite.codegen.source import Source

NUMBERS = tuple(name for name in DTYPES if name != "bool")
_SEVERAL = 4  # lines that lie along memory and are computed at once
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

    def product(before: str) -> str:
        return expression("multiply", dtype, ["factor", before], {}, [dtype, dtype])

    value = expression("add", dtype, ["product", "addend"], {}, [dtype, dtype])
    steps = f"factor, addend = load_{dtype}(a, {{at}}, 1), load_{dtype}(b, {{at}}, 0)"
    lines = _several(dtype, "b", lambda name: [steps, f"product = {product(name)}", f"{name} = {value}"])
    holes = {"product": product("before"), "value": value, **lines, **direction(reverse)}
    names = ("outer", "n", "inner", "b", "a", "y")
    return rendered("recurrence", names, target, dtype=dtype, **holes)


@cache
def render_running(kind: str, dtype: str, reverse: bool) -> Source:
    """Return the kernel of a cumsum, cumprod, cummax or cummin of x[o, :, i], from the end if ``reverse``.

    >>> render_running("cummax", "float32", True).signature
    ('outer', 'n', 'inner', 'x', 'y')
    """
    has_dtype(dtype, NUMBERS, kind)

    def value(before: str, item: str) -> str:
        return expression(OPERATIONS[kind], dtype, [before, item], {}, [dtype, dtype])

    item = f"item = load_{dtype}(x, {{at}}, 0)"
    lines = _several(dtype, "x", lambda name: [item, f"{name} = {value(name, 'item')}"])
    holes = {"dtype": dtype, "value": value("before", "item"), **lines, **direction(reverse)}
    return rendered("running", ("outer", "n", "inner", "x", "y"), **holes)


def _several(dtype: str, begun: str, steps: Callable[[str], list[str]]) -> dict[str, str]:
    """What is done for several lines at once: with the first items of an operand, and with all that follow.

    Args:
        steps: The lines that give a name its next value, by items at ``{at}``.
    """
    first, following = list[str](), list[str]()
    for line in range(_SEVERAL):
        name, at = f"before{line}", f"at + {line} * n"
        store = f"store_{dtype}(y, {at}, {name}, 2)"
        first += [f"{name} = load_{dtype}({begun}, {at}, 0)", store]
        following += [*(step.format(at=at) for step in steps(name)), store]
    return {"first_items": "\n".join(first), "next_items": "\n".join(following), "several": str(_SEVERAL)}


def direction(reverse: bool) -> dict[str, str]:
    """Where a line begins, and how it goes on."""
    return {"start": "n - 1", "step": "-1"} if reverse else {"start": "0", "step": "1"}
