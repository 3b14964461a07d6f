# SPDX-License-Identifier: Apache-2.0
"""The command ``ngraph-rewrite``: a subcommand for each question one asks of a shell. The verdict comes last."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ngraph_rewrite as ng
from ngraph_rewrite.cache import Cache
from ngraph_rewrite.codegen.opkernels import kernel_text, read_kernel
from ngraph_rewrite.data import data_folder
from ngraph_rewrite.errors import NGraphRewriteError
from ngraph_rewrite.lazy import lazy_module
from ngraph_rewrite.lowering.layout import columns
from ngraph_rewrite.plugins import load_plugin_ops
from ngraph_rewrite.rewriting.checks import checked_rules
from ngraph_rewrite.terms.info import user_line

if TYPE_CHECKING:
    from rich import console, table, text

    from ngraph_rewrite import asking, checking, demo, emulating, fuzzing, ptx, warming
    from ngraph_rewrite import catalogue_listing as listing
    from ngraph_rewrite.testing import findings, workers
else:  # what one command needs and others do without
    console, table, text = lazy_module("rich.console"), lazy_module("rich.table"), lazy_module("rich.text")
    listing = lazy_module("ngraph_rewrite.catalogue_listing")
    asking = lazy_module("ngraph_rewrite.asking")
    checking, demo = lazy_module("ngraph_rewrite.checking"), lazy_module("ngraph_rewrite.demo")
    fuzzing, warming = lazy_module("ngraph_rewrite.fuzzing"), lazy_module("ngraph_rewrite.warming")
    ptx, emulating = lazy_module("ngraph_rewrite.ptx"), lazy_module("ngraph_rewrite.emulating")
    findings = lazy_module("ngraph_rewrite.testing.findings")
    workers = lazy_module("ngraph_rewrite.testing.workers")

EPOCHS = 30
# Seconds for reading a file and checking its types; more than a thousand rules take.
PATIENCE = 60.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: The words of the command line; those of the process by default.

    Returns:
        The exit status: 0 if the verdict is good.
    """
    options, unknown = _parser().parse_known_args(arguments)
    if unknown:
        options.parser.error(f"unrecognized arguments: {' '.join(unknown)}")  # with what this command takes
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
    check.add_argument("--rule", metavar="NAME", help="only this rule, or all its alternatives")
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
    explain.add_argument("--why-not", metavar="RULE", help="instead: why this rule does not fire on it")
    explain.add_argument("--stats", action="store_true", help="instead: how often each rule was tried and fired")
    explain.add_argument("--plan", action="store_true", help="instead: what a call does, step by step")
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


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of at least 0")
    return int(text)


def _positive(text: str) -> int:
    if _count(text) == 0:
        raise argparse.ArgumentTypeError("0 is not a number of at least 1")
    return int(text)


# -- the commands -----------------------------------------------------------------------------------


def run_demo(options: argparse.Namespace) -> int:
    """The demonstration; matplotlib and rich are imported for it alone."""
    return int(demo.main(options.epochs, options.output, options.target, options.seed))


def run_rules(options: argparse.Namespace) -> int:
    """One line per rule."""
    chosen = [line for line in repr(ng.rules()).splitlines() if all(word in line for word in options.words)]
    for line in chosen:
        print(line)
    print(f"{len(chosen)} of {len(ng.rules())} rules")
    return 0 if chosen else 1


def run_ops(options: argparse.Namespace) -> int:
    """A line per op; with ``--check`` what each lacks that is needed to execute and to differentiate it."""
    entries = [listing.entry(definition) for definition in listing.chosen(options.names, options.family)]
    lacks = listing.incomplete(entries) if options.check else []
    if not options.check:
        _print_table(listing.HEAD, [entry.cells for entry in entries])
    for line in lacks:
        print(line)
    wrong = len({line.split()[0] for line in lacks})
    print(f"{len(entries) - wrong} of {len(entries)} ops are complete" if options.check else f"{len(entries)} ops")
    return 1 if lacks else 0


def run_fuzz(options: argparse.Namespace) -> int:
    """Programs drawn and checked at length."""
    return int(fuzzing.main(options))


def run_check(options: argparse.Namespace) -> int:
    """All checks of each rule; with ``--static`` what can be said without drawing, a line for each file."""
    if not options.static:
        return int(checking.main(options))
    read = dict(_all_read(options.files or sorted(data_folder("rules").glob("*.rules"))))
    good = (path for path, (_, mistake) in read.items() if mistake is None and path.suffix != ".kernel")
    unknown = checking.unknown_waivers(good) if options.files else {}
    rows, mistakes = [], []
    for path, (count, mistake) in read.items():
        mistake = mistake or unknown.get(path)
        rows.append((str(path), count, "wrong" if mistake else "ok"))
        mistakes += [mistake] if mistake else []
    for mistake in mistakes:
        print(mistake, end="\n\n")
    print(columns(("file", "rules", "verdict"), rows))
    files = "file is" if len(rows) == 1 else "files are"
    print(f"{len(rows) - len(mistakes)} of {len(rows)} {files} right")
    return 1 if mistakes else 0


def _all_read(paths: list[Path]) -> Iterable[tuple[Path, tuple[str, str | None]]]:
    """What each file has, and what is wrong with it, found by a process of its own: reading a file may take long."""
    with workers.Workers(_read, 1, PATIENCE) as reading:
        for path, answer in reading.ask(paths):
            if isinstance(answer, workers.Lost):
                yield path, ("-", f"{path} {answer.why}: its types were not checked")
            else:
                yield path, answer


def _read(path: Path) -> tuple[str, str | None]:
    """How many rules a file has, and what is wrong with it."""
    try:
        load_plugin_ops()
        if path.suffix == ".kernel":
            read_kernel(kernel_text(path), str(path))
            return "a kernel", None
        return str(len(checked_rules(path))), None
    except OSError as error:
        return "-", f"{path} cannot be read: {error.strerror or error}"
    except NGraphRewriteError as error:
        return "-", str(error)


def run_explain(options: argparse.Namespace) -> int:
    """The derivation of one op or term, why a rule is not in it, or the figures of all rules."""
    return int(asking.explain(options))


def run_bisect(options: argparse.Namespace) -> int:
    """The rule whose switching off mends a value; 0 if there is nothing to mend."""
    return int(asking.bisect(options))


def run_ptx(options: argparse.Namespace) -> int:
    """A line for each kernel and architecture, what is wrong, and how many compile."""
    return _print_kernels(ptx.HEAD, *ptx.main(options))


def run_emulate(options: argparse.Namespace) -> int:
    """A line for each kernel, what is wrong, and how many ran."""
    return _print_kernels(emulating.HEAD, *emulating.main(options))


def _print_kernels(head: Sequence[str], rows: Sequence[tuple[str, ...]], wrong: Sequence[str], verdict: str) -> int:
    """A table, what is wrong, and the verdict; the exit status."""
    _print_table(head, rows)
    for line in wrong:
        print(line)
    print(verdict)
    return 1 if wrong else 0


def run_cache(options: argparse.Namespace) -> int:
    """The folder, its entries and bytes. Files that are no entries are left alone."""
    cache, clear = Cache(), options.clear or options.action == "clear"
    if options.action == "warm" and not clear:
        for name, kernels in warming.warm(cache):
            print(f"{name}: {kernels} kernels", flush=True)
    entries = list(cache.entries())
    size = sum(f.stat().st_size for f in entries)
    if clear:
        cache.clear()
    done = "removed" if clear else f"kept, at most {cache.bound / 1e6:.0f} MB"
    print(f"{cache.folder}: {len(entries)} entries, {size / 1e6:.1f} MB {done}")
    return 0


def _print_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """The table: in columns that fold on a terminal, a line for each row elsewhere."""
    if not sys.stdout.isatty():
        print(columns(head, rows))
        return
    shown = table.Table(*head, box=None, pad_edge=False)
    for row in rows:
        shown.add_row(*(text.Text(cell) for cell in row))
    console.Console().print(shown)
