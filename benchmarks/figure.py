# SPDX-License-Identifier: Apache-2.0
"""A picture of what `benchmarks.execution` found: for each workload how long the engines take, relative to ours.

``python -m benchmarks.figure rows.json docs/execution.svg``
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from types import MappingProxyType
from typing import Any

from benchmarks.harness import OURS

# The Okabe-Ito palette, which the colour-blind can tell apart; variants of an engine are hollow.
COLOURS: Mapping[str, str] = MappingProxyType(
    {
        "numpy": "#000000",
        "numexpr": "#999999",
        "jax": "#e69f00",
        "torch": "#d55e00",
        "torch.compile": "#cc79a7",
        "pytensor": "#0072b2",
    }
)
LEFT, WIDTH, LINE, TOP = 150, 560, 15, 62
LOW, HIGH = 0.02, 100.0  # what is beyond stands at the edge


def figure(rows: Sequence[Mapping[str, Any]]) -> str:
    """An SVG with a line for each workload and a mark for each engine: right of 1 it takes longer than ours.

    >>> row = {"workload": "a", "engine": "jax", "ratio": 2.0}
    >>> figure([row]).count("<circle")
    8
    """
    shown = [row for row in rows if row["ratio"] is not None and not row["engine"].startswith(OURS)]
    names = list(dict.fromkeys(row["workload"] for row in shown))
    bottom = TOP + LINE * len(names)
    parts = [*_axes(bottom), *_legend()]
    for place, name in enumerate(names):
        y = TOP + LINE * (place + 0.5)
        parts.append(_text(LEFT - 8, y + 4, name, "end"))
        ratios = [(row["engine"], row["ratio"]) for row in shown if row["workload"] == name]
        parts.extend(_mark(_x(ratio), y, engine, f"{name}, {engine}: {ratio:.2f}") for engine, ratio in ratios)
    style = "text{font:11px sans-serif;fill:#333} line{stroke:#ddd} .one{stroke:#009e73;stroke-width:2}"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 20} {bottom + 12}">'
    background = '<rect width="100%" height="100%" fill="#ffffff"/>'
    return "\n".join([head, f"<style>{style}</style>", background, *parts, "</svg>", ""])


def _axes(bottom: float) -> Iterator[str]:
    """Lines for how many times longer than ours, on a logarithmic scale."""
    for tick in (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100):
        x = _x(tick)
        kind = ' class="one"' if tick == 1 else ""
        yield f'<line{kind} x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{bottom}"/>'
        yield _text(x, TOP - 6, f"{tick:g}", "middle")
    yield _text(
        LEFT, 14, "time of each engine relative to ngraph_rewrite: left of the green line it is faster", "start"
    )


def _legend() -> Iterator[str]:
    places = [*COLOURS, "hollow: another layout or mode"]
    x = 20.0
    for name in places:
        engine = name if name in COLOURS else "jax-nhwc"
        yield _mark(x, 31, engine, name)
        yield _text(x + 8, 35, name, "start")
        x += 26 + 6.2 * len(name)


def _mark(x: float, y: float, engine: str, title: str) -> str:
    base, _, variant = engine.partition("-")
    colour = COLOURS.get(base, "#777777")
    fill = "none" if variant else colour
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{fill}" stroke="{colour}" stroke-width="1.3">'
        f"<title>{escape(title)}</title></circle>"
    )


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def _x(ratio: float) -> float:
    """Where a ratio stands."""
    part = math.log(min(max(ratio, LOW), HIGH) / LOW) / math.log(HIGH / LOW)
    return LEFT + WIDTH * part


def main() -> None:
    """Draw the rows of a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=Path, help="what --json wrote")
    parser.add_argument("picture", type=Path, help="the SVG to write")
    chosen = parser.parse_args()
    chosen.picture.write_text(figure(json.loads(chosen.rows.read_text(encoding="utf-8"))), encoding="utf-8")


if __name__ == "__main__":
    main()
