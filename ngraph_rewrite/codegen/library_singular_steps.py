# SPDX-License-Identifier: Apache-2.0
"""Lines of a step of the kernel of singular values, from the greater end of a block to the other one."""

from functools import partial

from ngraph_rewrite.codegen.library_rotations import (
    beside,
    diagonal,
    kept_lines,
    limit_holes,
    number,
    rotation_lines,
    run_lines,
)
from ngraph_rewrite.codegen.source import nested

Lines = list[str]
# Whose rotations are kept, and as what: two of a step without a shift, and two of one with a shift.
_KEPT = [("ours", "c", "s"), ("theirs", "other_c", "other_s"), ("ours", "c", "s"), ("theirs", "c", "s")]


def _shift(dtype: str) -> list[str]:
    """Lines that find the shift of a step: the least singular value of the last two rows, or 0."""
    one, two, zero = (number(dtype, value) for value in (1.0, 2.0, 0.0))
    d, e, unit = partial(diagonal, dtype), partial(beside, dtype), limit_holes(dtype)["unit"]
    return [
        f"size = fabs({d('near')})",
        "least, largest, under = size, size, size",
        "for t in range(length):",
        f"    size, over = fabs({d('near + step * (t + 1)')}), fabs({e('beside + step * t')})",
        "    under = size * (under / (under + over))",
        "    least, largest = minimum(least, under), maximum(largest, maximum(size, over))",
        f"shift = {zero}",
        f"if least > {unit} * largest:",
        f"    f, g = fabs({d('near + step * (length - 1)')}), fabs({e('beside + step * (length - 1)')})",
        f"    size = fabs({d('near + step * length')})",
        "    shift, more = minimum(f, size), maximum(f, size)",
        "    if shift != 0:",
        f"        a, b = {one} + shift / more, (more - shift) / more",
        "        if g < more:",
        "            c = (g / more) * (g / more)",
        f"            shift = shift * ({two} / (sqrt(a * a + c) + sqrt(b * b + c)))",
        "        else:",
        "            c = more / g",
        "            if c == 0:",
        "                shift = shift * more / g",
        "            else:",
        "                a, b = a * c, b * c",
        f"                shift = shift * ({one} / (sqrt({one} + a * a) + sqrt({one} + b * b))) * c * {two}",
        f"    part = shift / {d('near')}",
        f"    if part * part < {unit}:",
        f"        shift = {zero}",
    ]


def singular_step_lines(dtype: str, vectors: bool) -> Lines:
    """Lines of one step, from the greater end of a block to the other one."""
    sides = ["ours, theirs = right, left", "if step < 0:", "    ours, theirs = left, right"] if vectors else []
    begun = ["i, j = near + step * t, beside + step * t"]
    kept = [kept_lines(dtype, side, c, s) if vectors else [] for side, c, s in _KEPT]
    more = ["filled += 1"] if vectors else []
    plain, shifted = _without_shift(dtype, kept[0] + kept[1]), _with_shift(dtype, kept[2], kept[3])
    return [
        *_shift(dtype),
        *sides,
        "if shift == 0:",
        *nested([*plain[0], "for t in range(length):", *nested([*begun, *plain[1], *more]), *plain[2]]),
        "else:",
        *nested([*shifted[0], "for t in range(length):", *nested([*begun, *shifted[1], *more]), *shifted[2]]),
        *(run_lines(forward=True) if vectors else []),
    ]


def _without_shift(dtype: str, kept: Lines) -> tuple[Lines, Lines, Lines]:
    """What comes before, in and after the loop of a step whose shift is 0."""
    one, d, e = number(dtype, 1.0), partial(diagonal, dtype), partial(beside, dtype)
    inside = [
        f"f, g = {d('i')} * c, {e('j')}",
        *rotation_lines(dtype, "c", "s", "f", "g"),
        "if t > 0:",
        f"    store_{dtype}(e, j - step, other_s * r, 8)",
        f"f, g = other_c * r, {d('i + step')} * s",
        *rotation_lines(dtype, "other_c", "other_s", "f", "g"),
        f"store_{dtype}(d, i, r, 5)",
        *kept,
    ]
    after = [
        "i, j = near + step * length, beside + step * (length - 1)",
        f"f = {d('i')} * c",
        f"store_{dtype}(d, i, f * other_c, 5)",
        f"store_{dtype}(e, j, f * other_s, 8)",
    ]
    return [f"c, other_c, other_s = {one}, {one}, {one}"], inside, after


def _with_shift(dtype: str, right: Lines, left: Lines) -> tuple[Lines, Lines, Lines]:
    """The same of another shift."""
    one, d, e = number(dtype, 1.0), partial(diagonal, dtype), partial(beside, dtype)
    before = [
        f"sign = {one}",
        f"if {d('near')} < 0:",
        "    sign = -sign",
        f"f, g = (fabs({d('near')}) - shift) * (sign + shift / {d('near')}), {e('beside')}",
    ]
    inside = [
        *rotation_lines(dtype, "c", "s", "f", "g"),
        "if t > 0:",
        f"    store_{dtype}(e, j - step, r, 8)",
        f"a, b, value = {d('i')}, {e('j')}, {d('i + step')}",
        "f, b = c * a + s * b, c * b - s * a",
        "g, value = s * value, c * value",
        *right,
        *rotation_lines(dtype, "c", "s", "f", "g"),
        f"store_{dtype}(d, i, r, 5)",
        "f, value = c * b + s * value, c * value - s * b",
        f"store_{dtype}(d, i + step, value, 5)",
        "if t < length - 1:",
        f"    value = {e('j + step')}",
        "    g = s * value",
        f"    store_{dtype}(e, j + step, c * value, 8)",
        *left,
    ]
    return before, inside, [f"store_{dtype}(e, beside + step * (length - 1), f, 8)"]
