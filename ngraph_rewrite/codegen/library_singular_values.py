# SPDX-License-Identifier: Apache-2.0
"""Renders the kernel of singular values, with their vectors or without."""

from functools import cache

from ngraph_rewrite.codegen.library import has_dtype, rendered
from ngraph_rewrite.codegen.library_factors import DTYPES
from ngraph_rewrite.codegen.library_reflections import (
    Matrix,
    block,
    column_lines,
    multiplied_lines,
    reach_lines,
    reflect_lines,
)
from ngraph_rewrite.codegen.library_rotations import (
    RUNS,
    TURNS,
    WIDTH,
    block_lines,
    kept_lines,
    limit_holes,
    number,
    rotation_lines,
    run_lines,
    scale_lines,
    strip_lines,
    used_lines,
)
from ngraph_rewrite.codegen.library_vectors import (
    ordered_lines,
    ordered_strip_lines,
    sign_lines,
    sign_lines_of_strip,
    turned_lines,
)
from ngraph_rewrite.codegen.source import Source, nested
from ngraph_rewrite.ops.eigenvalues import STEPS
from ngraph_rewrite.ops.singular_values import LANES

_RIGHT = "(m + 1) * n"  # where the right vectors are


def space_of_svd(m: int, n: int, dtype: str, vectors: bool, target: str = "cpu") -> int:
    """How many bytes of workspace the kernel has for a matrix."""
    size = int(dtype[-2:]) // 8
    strip = m + n if target == "cuda" else WIDTH[dtype]
    elements = 5 * n + LANES + (4 * TURNS * n + n * strip if vectors else m * n)
    return -(-elements * size // 8) * 8 + 8 * (RUNS * n + n + 4)


def _memory(dtype: str, vectors: bool) -> list[str]:
    """Lines that say where the parts of the workspace are."""
    size = int(dtype[-2:]) // 8
    lines = ["runs = d", f"told = d + {RUNS} * n * 8", "order = told + 32", "d = order + n * 8"]
    lines += [f"{name} = d + {k} * n * {size}" for k, name in enumerate(["e", "v", "sums", "signs"], 1)]
    lines += [f"lane_sums = d + 5 * n * {size}", f"rest = lane_sums + {LANES * size}"]
    if not vectors:
        return [*lines, "z = rest"]
    sides = ["left = rest", f"right = left + {2 * TURNS} * n * {size}", f"strip = right + {2 * TURNS} * n * {size}"]
    return [*lines, *sides]


# -- a row -------------------------------------------------------------------------------------------------------------


def _projected(dtype: str, target: str) -> list[str]:
    """Lines that find the ``total`` that the reflection of row k takes from row i: of products in lanes."""
    each, zero = f"load_{dtype}(z, row + j + {{t}}, 2) * load_{dtype}(v, j + {{t}}, 9)", number(dtype, 0.0)
    begin = ["row, end = i * n + k + 1, n - k - 1", "j = 0", f"while j + {LANES} <= end:"]
    if target == "cpu":
        loaded = f"load_{dtype}(lane_sums, t, 4)"
        added = f"    store_{dtype}(lane_sums, t, {loaded} + {each.format(t='t')}, 4)"
        return [
            f"for t in range({LANES}):",
            f"    store_{dtype}(lane_sums, t, {zero}, 4)",
            *begin,
            *nested([f"for t in range({LANES}):", added, f"j += {LANES}"]),
            "for t in range(end - j):",
            added,
            f"total = {zero}",
            f"for t in range({LANES}):",
            f"    total = total + {loaded}",
            "total = twice * total",
        ]
    whole = [f"s{t} = s{t} + {each.format(t=t)}" for t in range(LANES)]
    last = [text for t, line in enumerate(whole) for text in (f"if j + {t} < end:", f"    {line}")]
    sums = [f"total = total + s{t}" for t in range(LANES)]
    zeros = [f"s{t} = {zero}" for t in range(LANES)]
    return [
        *zeros,
        *begin,
        *nested([*whole, f"j += {LANES}"]),
        *last,
        f"total = {zero}",
        *sums,
        "total = twice * total",
    ]


def _kept(dtype: str, target: str) -> list[str]:
    """Lines that keep the reflection of row k as a column of the right side."""
    stored = f"store_{dtype}(z, {_RIGHT} + j * n + k + 1, load_{dtype}(z, k * n + j, 2), 2)"
    if target == "cpu":
        return ["for j in range(k + 2, n):", f"    {stored}"]
    return ["j = k + 2 + lane()", "while j < n:", f"    {stored}", "    j += lanes()"]


def _gather(dtype: str, target: str) -> list[str]:
    """Lines that make the products of the reflections of both sides."""
    first = [f"store_{dtype}(z, {_RIGHT} + j, {number(dtype, 0.0)}, 2)"]
    first += [f"store_{dtype}(z, {_RIGHT} + j * n, {number(dtype, 0.0)}, 2)"]
    first += ["if j == 0:", f"    store_{dtype}(z, {_RIGHT}, {number(dtype, 1.0)}, 2)"]
    corner = Matrix(dtype, "z", f"{_RIGHT} + n + 1", "n - 1", "n - 1")
    lines = multiplied_lines(Matrix(dtype, "z", "0"), target)
    if target == "cpu":
        return [*lines, "for j in range(n):", *nested(first), *multiplied_lines(corner, target)]
    lines += ["j = lane()", "while j < n:", *nested([*first, "j += lanes()"]), "barrier()"]
    lines += multiplied_lines(corner, target)
    both = turned_lines(dtype, "0", "m", "(m + n)") + turned_lines(dtype, _RIGHT, "n", "(m + n)", "m + ")
    return [*lines, *both]


# -- a step ------------------------------------------------------------------------------------------------------------


def _shift(dtype: str) -> list[str]:
    """Lines that find the shift of a step: the least singular value of the last two rows, or 0."""
    one, two, zero = (number(dtype, value) for value in (1.0, 2.0, 0.0))
    d, e, unit = _number_of("d", dtype, 5), _number_of("e", dtype, 8), limit_holes(dtype)["unit"]
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


def _number_of(name: str, dtype: str, buffer: int):
    return lambda i: f"load_{dtype}({name}, {i}, {buffer})"


def _step(dtype: str, vectors: bool) -> list[str]:
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


_KEPT = [("ours", "c", "s"), ("theirs", "other_c", "other_s"), ("ours", "c", "s"), ("theirs", "c", "s")]
Lines = list[str]


def _without_shift(dtype: str, kept: Lines) -> tuple[Lines, Lines, Lines]:
    """What comes before, in and after the loop of a step whose shift is 0."""
    one, d, e = number(dtype, 1.0), _number_of("d", dtype, 5), _number_of("e", dtype, 8)
    inside = [
        f"f, g = {d('i')} * c, {e('j')}",
        *rotation_lines(dtype, "c", "s", "r", "f", "g"),
        "if t > 0:",
        f"    store_{dtype}(e, j - step, other_s * r, 8)",
        f"f, g = other_c * r, {d('i + step')} * s",
        *rotation_lines(dtype, "other_c", "other_s", "r", "f", "g"),
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
    one, d, e = number(dtype, 1.0), _number_of("d", dtype, 5), _number_of("e", dtype, 8)
    before = [
        f"sign = {one}",
        f"if {d('near')} < 0:",
        "    sign = -sign",
        f"f, g = (fabs({d('near')}) - shift) * (sign + shift / {d('near')}), {e('beside')}",
    ]
    inside = [
        *rotation_lines(dtype, "c", "s", "r", "f", "g"),
        "if t > 0:",
        f"    store_{dtype}(e, j - step, r, 8)",
        f"a, b, value = {d('i')}, {e('j')}, {d('i + step')}",
        "f, b = c * a + s * b, c * b - s * a",
        "g, value = s * value, c * value",
        *right,
        *rotation_lines(dtype, "c", "s", "r", "f", "g"),
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


# -- the kernel --------------------------------------------------------------------------------------------------------


def _vectors(dtype: str, target: str) -> tuple[Lines, Lines]:
    """Lines that rotate columns, and that put them in order."""
    turned = [f"value = load_{dtype}(sums, j, 4)", f"if load_{dtype}(d, j, 5) < 0:", "    value = -value"]
    turned += [f"store_{dtype}(signs, j, value, 4)"]
    if target == "cpu":
        apply = [*strip_lines(dtype, "left", "0", "m"), *strip_lines(dtype, "right", _RIGHT, "n")]
        finish = [*sign_lines(dtype, "m"), "for j in range(n):", *nested(turned)]
        finish += [*ordered_lines(dtype, "0", "m", "sums"), *ordered_lines(dtype, _RIGHT, "n", "signs")]
        return apply, finish
    used = ["side = left", "if w >= m:", "    side = right", *used_lines(dtype, "side", "(m + n)"), "w += lanes()"]
    finish = [*sign_lines_of_strip(dtype, "m", "(m + n)"), "j = lane()", "while j < n:"]
    finish += [*nested([*turned, "j += lanes()"]), "barrier()"]
    finish += ordered_strip_lines(dtype, "0", "m", "(m + n)", "", "sums")
    finish += ordered_strip_lines(dtype, _RIGHT, "n", "(m + n)", "m + ", "signs")
    return ["w = lane()", "while w < m + n:", *nested(used)], finish


@cache
def render_svd(dtype: str, vectors: bool, target: str = "cpu") -> Source:
    """Return the kernel of singular values of ``count`` matrices with strides, between their vectors or without.

    ``space`` has ``room`` bytes for each thread, or on a GPU for each block.

    >>> render_svd("float32", True).signature
    ('count', 'm', 'n', 'x', 'x_between', 'x_down', 'x_along', 'y', 'space', 'room')
    """
    has_dtype(dtype, DTYPES, "svd")
    size = int(dtype[-2:]) // 8
    column, row = Matrix(dtype, "z", "0"), Matrix(dtype, "z", "1", "n - 1", down="1", along="n")
    place, kept, gather = [f"values = y + matrix * n * {size}"], Lines(), Lines()
    apply, finish = Lines(), Lines()
    if vectors:
        place = [f"z = y + matrix * (m + 1 + n) * n * {size}", f"values = z + m * n * {size}"]
        kept, gather = _kept(dtype, target), _gather(dtype, target)
        apply, finish = _vectors(dtype, target)
    holes = {
        "memory": _memory(dtype, vectors),
        "place": place,
        "scale": scale_lines(dtype),
        "column": column_lines(column, target),
        "reflect": reflect_lines(column, target),
        "row": column_lines(row, target),
        "reach": reach_lines(row),
        "kept": kept,
        "project": _projected(dtype, target),
        "gather": gather,
        "iterate": block_lines(dtype, "low >= high", vectors, _step(dtype, vectors)),
        "apply": apply,
        "finish": finish,
    }
    names = tuple("count m n x x_between x_down x_along y space room".split())
    texts = {name: block(lines) for name, lines in holes.items()}
    return rendered("svd", names, target, dtype=dtype, steps=str(STEPS), **texts)
