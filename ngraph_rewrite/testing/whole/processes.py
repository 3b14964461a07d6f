# SPDX-License-Identifier: Apache-2.0
"""Lowering must give the same in every process, whatever the order in which Python keeps its sets.

Processes with other hash seeds are asked what they make of a program: of its text, or of the numbers it is drawn by.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ngraph_rewrite.testing.programs.program import Program
from ngraph_rewrite.testing.whole.answering import lowered_text
from ngraph_rewrite.testing.whole.checks import Wrong, changed
from ngraph_rewrite.testing.whole.lowered import Setup

HASH_SEEDS = ("0", "1")


class Elsewhere:
    """Processes, one for each hash seed, that are started with the first question."""

    def __init__(self, seeds: Sequence[str] = HASH_SEEDS) -> None:
        self._seeds = seeds
        self._processes: list[subprocess.Popen[str]] = []

    def __enter__(self) -> Elsewhere:
        return self

    def __exit__(self, *error: object) -> None:
        for process in self._processes:
            process.kill()
            process.communicate()

    def ask(self, question: dict[str, Any]) -> list[str]:
        """What each process answers."""
        if not self._processes:
            self._processes = [_started(seed) for seed in self._seeds]
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.write(json.dumps(question) + "\n")
            process.stdin.flush()
        return [json.loads(_line(process)) for process in self._processes]

    def differs(self, program: Program, setup: Setup, drawn: dict[str, Any] | None = None) -> Wrong | None:
        """Whether one of them makes something else of a program than this process.

        Args:
            drawn: The numbers it was drawn by; without them its text is sent.
        """
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "program.py"
            file.write_text(program.source(), encoding="utf-8")
            answers = self.ask({**(drawn or {"source": str(file)}), "rules": setup.own})
        own = lowered_text(program, setup)
        for seed, other in zip(self._seeds, answers, strict=True):
            if own != other:
                says = f"a process with the hash seed {seed} lowers it to something else"
                return Wrong("processes", says, changed(own, other))
        return None


def not_portable(program: Program, setup: Setup) -> Wrong | None:
    """Processes with two other hash seeds lower a program to the same text as this one."""
    with Elsewhere() as others:
        return others.differs(program, setup)


def _started(seed: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", "from ngraph_rewrite.testing.whole.answering import main; main()"]
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    pipe = subprocess.PIPE
    return subprocess.Popen(  # in a session of its own: Ctrl-C is for who asks
        command, stdin=pipe, stdout=pipe, text=True, env=environment, start_new_session=True
    )


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise RuntimeError(f"a process that lowers programs ended with status {process.wait()}")
    return line
