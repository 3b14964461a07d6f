# SPDX-License-Identifier: Apache-2.0
"""The command ``ngraph-rewrite``: a subcommand for each question one asks of a shell, and the words that each takes."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ngraph_rewrite as ng
from ngraph_rewrite.commands import (
    run_bisect,
    run_cache,
    run_check,
    run_demo,
    run_emulate,
    run_explain,
    run_fuzz,
    run_ops,
    run_ptx,
    run_rules,
)
from ngraph_rewrite.errors import NGraphRewriteError
from ngraph_rewrite.lazy import lazy_module
from ngraph_rewrite.terms.info import user_line

if TYPE_CHECKING:
    from ngraph_rewrite import ptx
    from ngraph_rewrite.testing import findings
else:  # what one command needs and others do without
    ptx, findings = lazy_module("ngraph_rewrite.ptx"), lazy_module("ngraph_rewrite.testing.findings")

EPOCHS = 30
INTERRUPTED = 130  # what shells say of a process that Ctrl-C ended


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: The words of the command line; those of the process by default.

    Returns:
        The exit status: 0 if the verdict is good, and 130 after Ctrl-C.
    """
    options, unknown = _parser().parse_known_args(arguments)
    if unknown:
        options.parser.error(f"unrecognized arguments: {' '.join(unknown)}")  # with what this command takes
    _show_every_letter()
    try:
        return int(options.run(options))
    except BrokenPipeError:  # who reads has read enough: nothing more is to be written, at exit either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (NGraphRewriteError, OSError) as error:
        if isinstance(error, NGraphRewriteError) and error.where == user_line():  # the line that calls this command
            error = NGraphRewriteError(error.what, do=error.do)
        print(f"ngraph-rewrite {options.command}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"ngraph-rewrite {options.command}: interrupted", file=sys.stderr)
        return INTERRUPTED


def _show_every_letter() -> None:
    """Letters that the encoding of the terminal or the pipe lacks, of a file's name say, are shown by their numbers."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ngraph-rewrite", description=ng.__doc__)
    parser.add_argument("--version", action="version", version=f"ngraph-rewrite {ng.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    demo = _command(commands, "demo", run_demo, "train a network that reads digits, and show how one expression runs")
    demo.add_argument(
        "--epochs", type=_positive, default=EPOCHS, help="times through the images (default: %(default)s)"
    )
    demo.add_argument("--output", type=Path, default=Path("."), help="folder of the picture (default: here)")
    demo.add_argument("--target", choices=ng.transformer_choices(), default="cpu", help="default: %(default)s")
    demo.add_argument("--seed", type=_count, default=0, help="of all that is random (default: %(default)s)")

    rules = _command(commands, "rules", run_rules, "list the rules of the library, each with its file and line")
    rules.add_argument("words", nargs="*", metavar="WORD", help="only rules whose line contains all of these")

    ops = _command(commands, "ops", run_ops, "list the ops: what they take, what lowers, derives and computes them")
    ops.add_argument("names", nargs="*", metavar="NAME", help="axes.dot, or dot for that of every family")
    ops.add_argument("--family", help="only the ops of this family")
    ops.add_argument("--check", action="store_true", help="try each op, and say what is missing")

    _add_check(commands)
    _add_fuzz(commands)

    _add_explain(commands)
    _add_ptx(commands)
    _add_emulate(commands)

    cache = _command(commands, "cache", run_cache, "tell where compiled kernels are kept, and how much there is")
    what = "show: the folder and its size; clear: remove all, it is made again when needed; warm: compile now the rules"
    what += " and what most programs need (default: show)"
    cache.add_argument("action", nargs="?", choices=("show", "clear", "warm"), default="show", help=what)
    cache.add_argument("--clear", action="store_true", help="the same as clear")
    return parser


def _add_check(commands: Any) -> None:
    check = _command(commands, "check", run_check, "check rules: draw instances, prove them, and show what is wrong")
    check.add_argument("files", nargs="*", type=Path, metavar="FILE", help="(default: the library)")
    says = "only this rule, or all its alternatives; may be given more than once"
    check.add_argument("--rule", action="append", dest="rules", metavar="NAME", help=says)
    says = "only this one, or these"
    check.add_argument("--check", action="append", dest="checks", type=_check, metavar="CHECK", help=says)
    check.add_argument("--quick", action="store_true", help="draw less, and compile nothing")
    check.add_argument("--seconds", type=_positive, help="go on drawing other instances for about so long")
    check.add_argument("--seed", type=_count, default=0, help="of what is drawn (default: %(default)s)")
    check.add_argument("--jobs", type=_positive, help="number of processes (default: one for each core)")
    check.add_argument("--json", type=Path, metavar="FILE", help="write the findings to a file; - for the output")
    check.add_argument("--mutate", action="store_true", help="check the checks: are rules refused that were broken?")
    check.add_argument("--static", action="store_true", help="only read them: names, types, order, duplicates")


def _add_fuzz(commands: Any) -> None:
    fuzz = _command(commands, "fuzz", run_fuzz, "draw whole programs and check them; save what is wrong, made small")
    fuzz.add_argument("--seconds", type=_positive, default=60, help="for about so long (default: %(default)s)")
    fuzz.add_argument("--programs", type=_positive, help="so many programs, however long that takes")
    fuzz.add_argument("--seed", type=_count, default=0, help="of the programs (default: %(default)s)")
    fuzz.add_argument("--output", type=Path, default=Path("."), help="folder for what is wrong (default: here)")
    fuzz.add_argument("--family", action="append", dest="families", help="draw ops of this family, or of these")
    says = "make this check, or these: cpu, cuda and so on (default: all that need no GPU)"
    fuzz.add_argument("--check", action="append", dest="checks", metavar="CHECK", help=says)
    fuzz.add_argument("--rules", type=Path, metavar="FILE", help="let rules of your own fire, before the library's")


def _add_explain(commands: Any) -> None:
    says = "show how an op of a Python file is lowered, or a term of a signature normalised, rule by rule"
    explain = _command(commands, "explain", run_explain, says)
    instead = explain.add_mutually_exclusive_group()
    instead.add_argument("--why-not", metavar="RULE", help="instead: why this rule does not fire on it")
    instead.add_argument("--stats", action="store_true", help="instead: how often each rule was tried and fired")
    instead.add_argument("--plan", action="store_true", help="instead: what a call does, step by step")
    bisect = _command(commands, "bisect", run_bisect, "find the rule that makes the value of an op wrong")
    bisect.add_argument("--expect", type=Path, metavar="FILE.npy", help="what it should be (default: what it means)")
    bisect.add_argument("--inputs", type=Path, metavar="FILE.npz", help="arrays for placeholders, by their names")
    for command in (explain, bisect):
        what = "a file, and an op in it: x, layers[0], or a function that returns one; the file is run"
        command.add_argument("op", metavar="FILE.py:NAME", help=what)
        command.add_argument("--target", choices=ng.transformer_choices(), default="cpu", help="default: %(default)s")
        command.add_argument("--disable", action="append", default=[], metavar="RULE", help="do without this rule")
        says = "with rules of your own, before the library's; of a term of a signature, all its rules"
        command.add_argument("--rules", type=Path, metavar="FILE", help=says)


def _add_ptx(commands: Any) -> None:
    says = "compile every kernel for GPUs, without one, and show what each takes: registers, memory, what is spilled"
    command = _command(commands, "ptx", run_ptx, says)
    command.add_argument("kernels", nargs="*", metavar="KERNEL", help="only these: rows, or rows_ and its hash")
    what = "a GPU's architecture, such as sm_90; may be given more than once (default: sm_80 and sm_90)"
    command.add_argument("--arch", action="append", type=_architecture, help=what)
    says = "number of processes at most (default: one for each core that has nothing to do)"
    command.add_argument("--jobs", type=_positive, help=says)


def _add_emulate(commands: Any) -> None:
    says = "run every kernel for GPUs, without one: races, accesses that a GPU refuses, and what a launch costs"
    command = _command(commands, "emulate", run_emulate, says)
    command.add_argument("kernels", nargs="*", metavar="KERNEL", help="programs with it: rows, or rows_ and its hash")
    what = "run about so many instructions of the warps of a launch, which are some of its blocks (default: 12000000)"
    command.add_argument("--budget", type=_positive, default=12_000_000, metavar="COUNT", help=what)
    command.add_argument("--jobs", type=_positive, help="number of processes (default: one for each core)")


def _check(text: str) -> str:
    if text not in findings.CHECKS:
        raise argparse.ArgumentTypeError(f"no check is called {text!r}: choose among {', '.join(findings.CHECKS)}")
    return text


def _architecture(text: str) -> tuple[int, int]:
    return ptx.architecture(text)


def _command(commands: Any, name: str, run: Callable[[argparse.Namespace], int], says: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=says, description=says)
    parser.set_defaults(run=run, parser=parser)
    return parser


def _count(text: str, least: int = 0) -> int:
    if not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of at least {least}")
    return int(text)


def _positive(text: str) -> int:
    return _count(text, 1)
