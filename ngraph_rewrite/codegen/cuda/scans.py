# SPDX-License-Identifier: Apache-2.0
"""Running sums, products and extrema on a GPU: how two stretches of a line become one, and what a block scans.

Sums and products of floats are float64; such a product has a scale of its own, a power of 2, so that the product of a
part of a line is a number also where it is out of range, and a line that is 0 or infinite before stays so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from ngraph_rewrite.codegen.cuda.lanes import bytes_of_four
from ngraph_rewrite.codegen.library import has_dtype, rendered
from ngraph_rewrite.codegen.library_running import NUMBERS, OPERATIONS, direction
from ngraph_rewrite.codegen.scalar import cast, expression, held, is_real, literal
from ngraph_rewrite.codegen.source import Source, indented
from ngraph_rewrite.types.dtypes import as_dtype

THREADS = 256  # of a block, at most
EACH = 4  # neighbours that a thread has
# A product is kept between 2**-500 and 2**500 as long as it is no zero and finite: that of two is then in range.
_LARGE, _SMALL = repr(2.0**500), repr(2.0**-500)


@dataclass(frozen=True)
class Running:
    """One running operation: the variables in which a stretch is kept, and lines of text over their names."""

    kind: str
    dtype: str

    @cached_property
    def is_scaled(self) -> bool:
        """Whether what is kept has a scale."""
        return self.kind == "cumprod" and is_real(self.dtype)

    @cached_property
    def kept(self) -> str:
        """The dtype in which values are kept."""
        return "float64" if is_real(self.dtype) and self.kind in ("cumsum", "cumprod") else held(self.dtype)

    @cached_property
    def identity(self) -> str:
        """What changes nothing."""
        if is_real(self.dtype):
            start: float = {"cumsum": -0.0, "cumprod": 1.0, "cummax": -np.inf, "cummin": np.inf}[self.kind]
        else:
            limits = np.iinfo(self.dtype)
            start = {"cumsum": 0, "cumprod": 1, "cummax": limits.min, "cummin": limits.max}[self.kind]
        return literal(start, self.kept)

    def names(self, name: str) -> list[str]:
        """The variables of a stretch: what it has, and the exponent of its scale."""
        return [name, f"{name}_scale"] if self.is_scaled else [name]

    def nothing(self, name: str) -> list[str]:
        """The lines that begin a stretch without elements."""
        return [f"{v} = {value}" for v, value in zip(self.names(name), (self.identity, "0.0"), strict=False)]

    def item(self, name: str, value: str) -> list[str]:
        """The lines that make an element a stretch."""
        lines = [f"{name} = {cast(value, self.dtype, self.kept)}"]
        return [*lines, f"{name}_scale = 0.0", *self._scaled(name), *self._scaled(name)] if self.is_scaled else lines

    def joined(self, name: str, left: str, right: str) -> list[str]:
        """The lines that make one stretch of two."""
        lines = [f"{name} = {self.combined(left, right)}"]
        scale = [f"{name}_scale = {left}_scale + {right}_scale", *self._scaled(name)]
        return scale[:1] + lines + scale[1:] if self.is_scaled else lines

    def combined(self, left: str, right: str) -> str:
        """What two values make, without a scale."""
        return str(expression(OPERATIONS[self.kind], self.kept, [left, right], {}, [self.kept, self.kept]))

    def result(self, name: str) -> tuple[list[str], str]:
        """The lines that undo the scale of a stretch, and its value."""
        steps = [
            f"factor = select({name}_scale > 0.0, {_LARGE}, select({name}_scale < 0.0, {_SMALL}, 1.0))",
            f"{name}_scale = {name}_scale - sign({name}_scale)",
            f"{name} = {name} * factor",
        ]
        # after four of them it is 0, infinite or in range
        value = name if self.kept == held(self.dtype) else cast(name, self.kept, self.dtype)
        return steps * 4 if self.is_scaled else [], value

    def _scaled(self, name: str) -> list[str]:
        """The lines that put a product where it is in range."""
        size = f"fabs({name})"
        return [
            f"factor = select(({size} > {_LARGE}) & ({size} < np.inf), {_SMALL}, "
            f"select(({size} < {_SMALL}) & ({size} > 0.0), {_LARGE}, 1.0))",
            f"{name}_scale += select(factor < 1.0, 1.0, select(factor > 1.0, -1.0, 0.0))",
            f"{name} = {name} * factor",
        ]


@cache
def render_lines(kind: str, dtype: str, reverse: bool, form: str) -> Source:
    """Return the kernel of a cumsum, cumprod, cummax or cummin of x[o, :, i] in which threads have lines, or parts.

    Each of ``parts`` is ``stretch`` long. What is kept of a part has no scale: a product has one part.

    Args:
        form: As of `render_scan`; sums of a part lie side by side.

    >>> render_lines("cummax", "float32", True, "whole").signature
    ('outer', 'n', 'inner', 'parts', 'stretch', 'x', 'y')
    """
    has_dtype(dtype, NUMBERS, kind)
    running = Running(kind, dtype)
    sums, ends = [] if form == "whole" else ["sums"], ["y"] if form != "totals" else []
    earlier = [
        "earlier = number - part * inner",
        "while earlier < number:",
        f"    before = {running.combined('before', f'load_{running.kept}(sums, earlier, 1)')}",
        "    earlier += inner",
    ]
    holes = {
        "first": running.identity,
        "carried": earlier if form == "parts" else ["pass"],
        "item": cast(f"load_{dtype}(x, at, 0)", dtype, running.kept),
        "combined": running.combined("before", "item"),
        "stored": f"store_{dtype}(y, at, {running.result('before')[1]}, 2)" if ends else "pass",
        "left": f"store_{running.kept}(sums, number, before, 1)" if form == "totals" else "pass",
        **direction(reverse),
    }
    names = ("outer", "n", "inner", "parts", "stretch", "x", *sums, *ends)
    return rendered("running", names, "cuda", **{name: _text(value) for name, value in holes.items()})


@cache
def render_scan(kind: str, dtype: str, reverse: bool, form: str) -> Source:
    """Return the kernel of a cumsum, cumprod, cummax or cummin of x[o, :, i] in which blocks have parts of lines.

    Args:
        form: ``"whole"`` if there is one part; ``"totals"`` for what leaves the total of each part in ``sums`` (and
            its scale in ``scales``), or ``"parts"`` for what begins with those of the parts before.

    >>> render_scan("cumsum", "float32", False, "totals").signature
    ('outer', 'n', 'inner', 'parts', 'x', 'sums')
    """
    has_dtype(dtype, NUMBERS, kind)
    running = Running(kind, dtype)
    sums = [] if form == "whole" else ["sums", "scales"][: 1 + running.is_scaled]
    names = ("outer", "n", "inner", "parts", "x", *sums, *(["y"] if form != "totals" else []))
    step = direction(reverse)["step"]
    holes = {
        "start": direction(reverse)["start"],
        "shared": [f"{v}_shared = shared_{running.kept}({2 * THREADS})" for v in running.names("total")],
        "carried": [*running.nothing("carry"), *(_carried(running) if form == "parts" else [])],
        "items": _items(running, step),
        "scanned": _scanned(running),
        "stored": _stored(running, step) if form != "totals" else [],
        "advanced": running.joined("carry", "carry", "whole"),
        "left": _left(running) if form == "totals" else [],
    }
    return rendered("scan", names, "cuda", **{name: _text(value) for name, value in holes.items()})


def _text(value: str | Sequence[str]) -> str:
    return value if isinstance(value, str) else "\n".join(value)


def _items(running: Running, step: str) -> list[str]:
    """The neighbours of a thread, each with what precedes it among them, and all together as ``total``."""
    dtype, names = running.dtype, [f"e{number}" for number in range(EACH)]
    alone = [f"if first + {n} < end:\n    {name} = load_{dtype}(x, {_at(n, step)}, 0)" for n, name in enumerate(names)]
    four = f"{', '.join(names[:: int(step)])} = load4_{dtype}(x, {_least(step)})"
    lines = [f"{' = '.join(names)} = {literal(0, held(dtype))}", *_either(_together("x", dtype, step), [four], alone)]
    for number in range(EACH):
        name = f"v{number}"
        taken = running.item(name, f"e{number}")
        lines += [*running.nothing(name), f"if first + {number} < end:", indented("\n".join(taken), 4)]
        lines += running.joined(name, f"v{number - 1}", name) if number else []
    last = zip(running.names("total"), running.names(f"v{EACH - 1}"), strict=True)
    return lines + [f"{a} = {b}" for a, b in last]


def _read(running: Running, name: str, place: str) -> list[str]:
    return [f"{a} = {b}_shared[{place}]" for a, b in zip(running.names(name), running.names("total"), strict=True)]


def _written(running: Running) -> list[str]:
    return [f"{a}_shared[source + lane()] = {a}" for a in running.names("total")]


def _scanned(running: Running) -> list[str]:
    """From the total of each thread to ``whole``, that of all, and ``before``, that of all threads before it."""
    further = [*_read(running, "other", "source + lane() - apart"), *running.joined("total", "other", "total")]
    doubled = [
        "if lane() >= apart:",
        indented("\n".join(further), 4),
        f"source = {THREADS} - source",
        *_written(running),
        "barrier()",
        "apart *= 2",
    ]
    return [
        "source = 0",
        "apart = 1",
        *_written(running),
        "barrier()",
        "while apart < lanes():",
        indented("\n".join(doubled), 4),
        *_read(running, "whole", "source + lanes() - 1"),
        *running.nothing("before"),
        "if lane() > 0:",
        indented("\n".join(_read(running, "before", "source + lane() - 1")), 4),
        "barrier()",
    ]


def _stored(running: Running, step: str) -> list[str]:
    """What is before a thread is joined to each of its neighbours, and that stored."""
    lines, dtype, values = running.joined("before", "carry", "before"), running.dtype, list[str]()
    for number in range(EACH):
        undone, value = running.result(f"v{number}")
        lines += [*running.joined(f"v{number}", "before", f"v{number}"), *undone]
        values.append(value)
    alone = [f"if first + {n} < end:\n    store_{dtype}(y, {_at(n, step)}, {v}, 2)" for n, v in enumerate(values)]
    four = f"store4_{dtype}(y, {_least(step)}, {', '.join(values[:: int(step)])})"
    return [*lines, *_either(_together("y", dtype, step), [four], alone)]


def _at(number: int, step: str) -> str:
    """Where one of the neighbours of a thread lies."""
    return f"row + (first + {number}) * {step} * inner"


def _least(step: str) -> str:
    """Where the first of them in memory lies, if they lie side by side."""
    return "row + first" if step == "1" else f"row - first - {EACH - 1}"


def _together(array: str, dtype: str, step: str) -> str:
    """Whether all of them are there, side by side, where one access moves them."""
    place = f"{array} + ({_least(step)}) * {as_dtype(dtype).itemsize}"
    return f"inner == 1 and first + {EACH} <= end and aligned({place}, {bytes_of_four(dtype)})"


def _either(test: str, lines: Sequence[str], others: Sequence[str]) -> list[str]:
    return [f"if {test}:", indented("\n".join(lines), 4), "else:", indented("\n".join(others), 4)]


def _sums(running: Running) -> list[tuple[str, str, str]]:
    """The variables of a total, where such are left, and as what dtype."""
    places = zip(running.names("total"), ("sums", "scales"), strict=False)
    return [(variable, place, running.kept) for variable, place in places]


def _carried(running: Running) -> list[str]:
    """The totals of the parts before, joined as elements are."""
    loads = [f"{name} = load_{dtype}({place}, line * parts + at + lane(), 1)" for name, place, dtype in _sums(running)]
    body = [
        *running.nothing("total"),
        "if at + lane() < part:",
        indented("\n".join(loads), 4),
        *_scanned(running),
        *running.joined("carry", "carry", "whole"),
        "at += lanes()",
    ]
    return ["at = 0", "while at < part:", indented("\n".join(body), 4)]


def _left(running: Running) -> list[str]:
    names = zip(running.names("carry"), _sums(running), strict=True)
    stores = [f"store_{dtype}({place}, line * parts + part, {name}, 1)" for name, (_, place, dtype) in names]
    return ["if lane() == 0:", indented("\n".join(stores), 4)]
