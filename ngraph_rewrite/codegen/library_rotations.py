# SPDX-License-Identifier: Apache-2.0
"""Lines of the kernels of eigenvalues and singular values: scales, rotations as they are kept and used, and order.

What a step of an iteration rotates is kept, and used on all columns later: these are read once for many steps. In
memory are the diagonal ``d`` (buffer 5) and what is beside it ``e`` (8), rotations as ``turns`` (6), of steps the row
where they begin, their direction and number as ``runs`` (7). On a CPU a kernel of its own uses them; on a GPU columns
are rows of a ``strip`` (3).
"""

from functools import cache

from ngraph_rewrite.codegen.library import rendered
from ngraph_rewrite.codegen.parting import launch_lines
from ngraph_rewrite.codegen.source import Source, nested
from ngraph_rewrite.ops.rotations import LIMITS
from ngraph_rewrite.runtime.panel_sizes import STRIP

TURNS = 64  # for each row, that are kept before they are used
RUNS = 3  # numbers of a step
PARTS = ("rotate", "strips", "reflect", "tiles", "across")  # what a kernel takes that launches others


def number(dtype: str, value: float) -> str:
    """A literal.

    >>> number("float32", 0.5)
    'np.float32(0.5)'
    """
    return f"np.{dtype}({value!r})"


def diagonal(dtype: str, i: str) -> str:
    """A number of the diagonal."""
    return f"load_{dtype}(d, {i}, 5)"


def beside(dtype: str, i: str) -> str:
    """A number beside the diagonal."""
    return f"load_{dtype}(e, {i}, 8)"


def limit_holes(dtype: str) -> dict[str, str]:
    """The limits of a dtype, by name."""
    return {name: number(dtype, value) for name, value in LIMITS[dtype]._asdict().items()}


def rotation_lines(dtype: str, c: str, s: str, f: str, g: str) -> list[str]:
    """Lines that find c, s and ``r`` for which ``c * f + s * g`` is ``r``, and ``c * g - s * f`` is 0."""
    lim = limit_holes(dtype)
    return [
        f"{c}, {s}, r = {number(dtype, 1.0)}, {number(dtype, 0.0)}, {f}",
        f"if {g} != 0:",
        f"    large, more = fabs({f}), {number(dtype, 1.0)}",
        f"    if fabs({g}) > large:",
        f"        large = fabs({g})",
        f"    if large < {lim['small']}:",
        f"        more = {lim['more']}",
        f"    one_side, other_side = {f} * more, {g} * more",
        "    whole = sqrt(one_side * one_side + other_side * other_side)",
        f"    {c}, {s}, r = one_side / whole, other_side / whole, whole / more",
    ]


def kept_lines(dtype: str, side: str, c: str, s: str) -> list[str]:
    """Lines that keep a rotation of a side; `step` says whether it goes up or down."""
    signed = f"select(step == 1, {s}, -{s})"
    return [
        f"store_{dtype}({side}, 2 * filled, {c}, 6)",
        f"store_{dtype}({side}, 2 * filled + 1, {signed}, 6)",
    ]


def run_lines(forward: bool) -> list[str]:
    """Lines that keep which rows a step of ``length`` rotations is about.

    Args:
        forward: Whether it goes from the near end to the far one.
    """
    begin, direction = ("beside", "step") if forward else ("beside + step * (length - 1)", "-step")
    numbers = [begin, direction, "length"]
    return [f"store_int64(runs, {RUNS} * steps + {k}, {value}, 7)" for k, value in enumerate(numbers)]


def block_lines(dtype: str, greater: str, kept: bool, step: list[str]) -> list[str]:
    """Lines that take steps until nothing is left to do: ``state`` is 0; 1 for want of room, 2 if that comes to no end.

    Args:
        greater: What says of both ends of a block, ``low`` and ``high``, that it converges to the first one.
        kept: Whether rotations are kept.
        step: Lines that take one.
    """
    lim = limit_holes(dtype)
    room = [f"elif filled + last - first > {TURNS} * n or steps == n:", "    state = 1"] if kept else []
    chosen = [
        f"low, high = fabs({diagonal(dtype, 'first')}), fabs({diagonal(dtype, 'last')})",
        "if first >= until:",
        "    step = -1",
        f"    if {greater}:",
        "        step = 1",
        f"slack = select(first == was and last == until, slack + {lim['unit']}, {lim['unit']})",
        "was, until = first, last",
        "tries -= 1",
        "length = last - first",
        "near, beside = first, first",
        "if step < 0:",
        "    near, beside = last, last - 1",
    ]
    return [
        "state, filled, steps = 0, 0, 0",
        *_floor_lines(dtype),
        "while first < n - 1 and state == 0:",
        *nested(_end_lines(dtype)),
        "    if last == first:",
        "        first += 1",
        "    elif tries == 0:",
        "        state = 2",
        *nested(room),
        "    else:",
        *nested(nested([*chosen, *step, "steps += 1"])),
    ]


def _floor_lines(dtype: str) -> list[str]:
    """Lines that find, before the first step, what counts for nothing in the whole matrix."""
    lim = limit_holes(dtype)
    return [
        "if until < 0:",
        "    for i in range(n):",
        f"        floor = maximum(floor, fabs({diagonal(dtype, 'i')}))",
        "    for i in range(n - 1):",
        f"        floor = maximum(floor, fabs({beside(dtype, 'i')}))",
        f"    slack, floor = {lim['unit']}, {lim['least']} * floor",
    ]


def _end_lines(dtype: str) -> list[str]:
    """Lines that find the last row of the block that begins with the first one, and make what is beside it 0."""
    return [
        "last = first",
        "searching = 1",
        "while searching != 0 and last < n - 1:",
        f"    low, high = fabs({diagonal(dtype, 'last')}), fabs({diagonal(dtype, 'last + 1')})",
        f"    value = fabs({beside(dtype, 'last')})",
        "    if value <= slack * (low + high) or value <= floor:",
        f"        store_{dtype}(e, last, {number(dtype, 0.0)}, 8)",
        "        searching = 0",
        "    else:",
        "        last += 1",
    ]


def used_lines(dtype: str, width: str) -> list[str]:
    """Lines that use the rotations in ``turns`` on element w of the rows of a strip, which are ``width`` apart."""
    x, y = f"load_{dtype}(strip, i * {width} + w, 3)", f"load_{dtype}(strip, (i + 1) * {width} + w, 3)"
    rotated = [
        f"c, s = load_{dtype}(turns, 2 * turn, 6), load_{dtype}(turns, 2 * turn + 1, 6)",
        f"one_side, other_side = {x}, {y}",
        f"store_{dtype}(strip, i * {width} + w, c * one_side + s * other_side, 3)",
        f"store_{dtype}(strip, (i + 1) * {width} + w, c * other_side - s * one_side, 3)",
        "i += direction",
        "turn += 1",
    ]
    return [
        "turn = 0",
        "for run in range(steps):",
        f"    i, direction = load_int64(runs, {RUNS} * run, 7), load_int64(runs, {RUNS} * run + 1, 7)",
        f"    for _ in range(load_int64(runs, {RUNS} * run + 2, 7)):",
        *nested(nested(rotated)),
    ]


@cache
def render_rotate(dtype: str) -> Source:
    """Return the kernel that rotates the ``n`` columns of ``rows`` rows, by what was kept of ``steps`` steps.

    ``strips`` has room for those of one strip for each thread.

    >>> render_rotate("float32").signature
    ('z', 'rows', 'n', 'turns', 'runs', 'steps', 'strips')
    """
    names = tuple("z rows n turns runs steps strips".split())
    return rendered("rotate", names, dtype=dtype, width=str(STRIP), size=dtype[-2:] + " // 8", each=str(RUNS))


def rotate_lines(dtype: str, at: str, rows: str) -> list[str]:
    """Lines that launch it with the rotations in ``turns``, for a matrix of so many rows."""
    size = int(dtype[-2:]) // 8
    strips = f"strips + thread * n * {STRIP * size}"
    given = [f"z + ({at}) * {size}", rows, "n", "turns", "runs", "steps", strips]
    launch = launch_lines("rotate", given, f"chunk_start({rows} + {STRIP - 1}, 1, {STRIP})", f"filled * {rows} * 0.1")
    return ["if filled > 0:", *nested(launch)]


def scale_lines(dtype: str) -> list[str]:
    """Lines that find two powers of two by which what is as large as ``most`` comes near one."""
    lim, lines = limit_holes(dtype), list[str]()
    for name in ("scale", "again"):
        lines += [f"{name} = {number(dtype, 1.0)}", f"if most > {lim['high']}:", f"    {name} = {lim['down']}"]
        lines += [f"if most < {lim['low']} and most > 0:", f"    {name} = {lim['up']}", f"most = most * {name}"]
    return lines
