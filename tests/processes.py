# SPDX-License-Identifier: Apache-2.0
"""Programs in Python processes of their own, and what they print."""

from __future__ import annotations

import os
import subprocess
import sys


def printed(program: str, **environment: str) -> str:
    """What a program prints, which has to end well."""
    command, told = [sys.executable, "-c", program], {**os.environ, **environment}
    done = subprocess.run(command, env=told, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def printed_in_any(program: str, **environment: str) -> str:
    """What a program prints, which has to be the same whatever the hashes of a process are."""
    one, other = (printed(program, PYTHONHASHSEED=seed, **environment) for seed in ("1", "2"))
    assert one == other
    return one


def with_programs(named: str, *words: str) -> str:
    """A program that runs a command which plans programs for GPUs, with few of them: those so named."""
    return f"""
import sys
import ngraph_rewrite.cuda_planning as planning
from ngraph_rewrite.cli import main
planning.PROGRAMS = {{name: build for name, build in planning.PROGRAMS.items() if {named!r} in name}}
sys.exit(main({list(words)!r}))
"""
