# SPDX-License-Identifier: Apache-2.0
"""Lines of the kernels of eigenvalues and singular values that give vectors their order and their signs.

A matrix is at ``z`` (buffer 2), of n columns; on a GPU columns lie side by side, as rows of ``strip`` (3). Of vector j
the place is in ``order`` (11), the largest element in ``v`` (9) and the sign in ``sums`` (4).
"""

from ngraph_rewrite.codegen.library_rotations import number
from ngraph_rewrite.codegen.source import nested
from ngraph_rewrite.ops.rotations import LARGE


def _signed(dtype: str, value: str) -> list[str]:
    """Lines that make a sign of 0 that of a value, if this is large beside the largest one."""
    return [
        f"value = {value}",
        f"if sign == 0 and fabs(value) > {number(dtype, LARGE)} * most:",
        f"    sign = {number(dtype, 1.0)}",
        "    if value < 0:",
        f"        sign = {number(dtype, -1.0)}",
    ]


def sign_lines(dtype: str, rows: str) -> list[str]:
    """Lines that find the signs of the columns of the first matrix, of so many rows."""
    value, zero = f"load_{dtype}(z, i * n + j, 2)", number(dtype, 0.0)
    signs = [f"most, sign = load_{dtype}(v, j, 9), load_{dtype}(sums, j, 4)"]
    signs += [*_signed(dtype, value), f"store_{dtype}(sums, j, sign, 4)"]
    return [
        "for j in range(n):",
        f"    store_{dtype}(v, j, {zero}, 9)",
        f"    store_{dtype}(sums, j, {zero}, 4)",
        f"for i in range({rows}):",
        "    for j in range(n):",
        f"        store_{dtype}(v, j, maximum(load_{dtype}(v, j, 9), fabs({value})), 9)",
        f"for i in range({rows}):",
        "    for j in range(n):",
        *nested(nested(signs)),
    ]


def ordered_lines(dtype: str, at: str, rows: str, sign: str) -> list[str]:
    """Lines that put the columns of a matrix in order, times a sign, in buffer 4; NaN if something was wrong."""
    value = f"load_{dtype}(z, {at} + i * n + j, 2) * load_{dtype}({sign}, j, 4)"
    return [
        f"for i in range({rows}):",
        "    for j in range(n):",
        f"        value = {value}",
        "        if wrong != 0:",
        f"            value = np.{dtype}(np.nan)",
        f"        store_{dtype}(v, load_int64(order, j, 11), value, 9)",
        "    for j in range(n):",
        f"        store_{dtype}(z, {at} + i * n + j, load_{dtype}(v, j, 9), 2)",
    ]


# -- on a GPU ----------------------------------------------------------------------------------------------------------


def turned_lines(dtype: str, at: str, rows: str, width: str, beside: str = "") -> list[str]:
    """Lines that put the columns of a matrix side by side, for threads of which each rotates a row.

    Args:
        width: How far one is from the next.
        beside: Where they begin, if not at the beginning.
    """
    place = f"(number - i * n) * {width} + {beside}i"
    return [
        "number = lane()",
        f"while number < {rows} * n:",
        "    i = quotient(number, n)",
        f"    store_{dtype}(strip, {place}, load_{dtype}(z, {at} + number, 2), 3)",
        "    number += lanes()",
        "barrier()",
    ]


def sign_lines_of_strip(dtype: str, rows: str, width: str) -> list[str]:
    """Lines in which each thread finds the signs of some vectors."""
    value, zero = f"load_{dtype}(strip, j * {width} + i, 3)", number(dtype, 0.0)
    signs = [f"most, sign = {zero}, {zero}", f"for i in range({rows}):", f"    most = maximum(most, fabs({value}))"]
    signs += [f"for i in range({rows}):", *nested(_signed(dtype, value)), f"store_{dtype}(sums, j, sign, 4)"]
    return ["j = lane()", "while j < n:", *nested([*signs, "j += lanes()"]), "barrier()"]


def ordered_strip_lines(dtype: str, at: str, rows: str, width: str, beside: str, sign: str) -> list[str]:
    """Lines that put vectors back in order, as `ordered_lines` does."""
    return [
        "number = lane()",
        f"while number < {rows} * n:",
        "    i = quotient(number, n)",
        "    j = number - i * n",
        f"    value = load_{dtype}(strip, j * {width} + {beside}i, 3) * load_{dtype}({sign}, j, 4)",
        "    if wrong != 0:",
        f"        value = np.{dtype}(np.nan)",
        f"    store_{dtype}(z, {at} + i * n + load_int64(order, j, 11), value, 2)",
        "    number += lanes()",
        "barrier()",
    ]
