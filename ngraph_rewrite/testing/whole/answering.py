# SPDX-License-Identifier: Apache-2.0
"""The other end of a process that is asked what programs are lowered to: a question a line, and an answer a line.

A question is JSON: the file of a program, or the numbers it is drawn by, and the rules; so is the answer.
"""

from __future__ import annotations

import json
import runpy
import sys
from functools import cache
from typing import Any

from ngraph_rewrite.testing.programs.dump import dump
from ngraph_rewrite.testing.programs.program import Program
from ngraph_rewrite.testing.strategies.drafts.growing import numbered_program
from ngraph_rewrite.testing.whole.lowered import LoweredProgram, Setup, setup_of


@cache
def _setup(rules: str | None) -> Setup:
    return setup_of(rules)


def lowered_text(program: Program, setup: Setup) -> str:
    """What a program is, and what it is lowered to, as text; an error as its message."""
    try:
        after = dump(LoweredProgram(program, setup).after)
    except Exception as error:
        after = f"{type(error).__name__}: {error}"
    return f"{dump(program.returns)}\n\n{after}"


def asked_program(question: dict[str, Any]) -> Program:
    """The program that is asked about: drawn, or what its file makes."""
    if "source" not in question:
        return numbered_program(question["seed"], question["number"], question["families"])
    program: Program = runpy.run_path(question["source"])["program"]
    return program


def main() -> None:
    """Answer until there is no question any more."""
    for line in sys.stdin:
        question = json.loads(line)
        print(json.dumps(lowered_text(asked_program(question), _setup(question["rules"]))), flush=True)
