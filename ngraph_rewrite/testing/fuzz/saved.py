# SPDX-License-Identifier: Apache-2.0
"""A failing program as a file of Python that fails when it is run; what is found again is found under the same name."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from ngraph_rewrite.testing.programs.program import Program
from ngraph_rewrite.testing.whole.checks import Wrong
from ngraph_rewrite.testing.whole.lowered import Setup


def failing_text(program: Program, wrong: Wrong, setup: Setup) -> str:
    """Lines that build a program and assert that nothing is wrong with it."""
    options = _options(setup.seed, wrong.off, setup.own)
    return f'{program.source(["assert_right"])}\nassert_right(program, "{wrong.kind}"{options})\n'


def drawing_text(seed: int, number: int, families: Sequence[str]) -> str:
    """Lines that draw a program again, for one that cannot be drawn."""
    return (
        "from ngraph_rewrite.testing.strategies.drafts.growing import numbered_program\n\n"
        f"numbered_program({seed}, {number}, {tuple(families)!r})\n"
    )


def save(folder: Path, kind: str, text: str, says: str) -> Path:
    """Write a file that is called by the check and by what the program is."""
    path = folder / f"fuzz-{kind}-{hashlib.sha256(text.encode()).hexdigest()[:12]}.py"
    folder.mkdir(parents=True, exist_ok=True)
    comment = "\n".join(f"# {line}".rstrip() for line in says.splitlines())
    path.write_text(f"{comment}\n{text}", encoding="utf-8")
    return path


def _options(seed: int, off: Sequence[str], rules: str | None) -> str:
    found = [f"seed={seed}"] if seed else []
    found += [f"off={list(off)!r}"] if off else []
    found += [f"rules={rules!r}"] if rules is not None else []
    return "".join(f", {option}" for option in found)
