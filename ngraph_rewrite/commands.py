# SPDX-License-Identifier: Apache-2.0
"""What the subcommands of ``ngraph-rewrite`` do: each prints its verdict last, and returns the exit status."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import ngraph_rewrite as ng
from ngraph_rewrite.cache import Cache
from ngraph_rewrite.codegen.opkernel_files import kernel_text, read_kernel
from ngraph_rewrite.data import data_folder
from ngraph_rewrite.errors import ArgumentError, NGraphRewriteError
from ngraph_rewrite.lazy import lazy_module
from ngraph_rewrite.lowering.layout import columns
from ngraph_rewrite.plugins import load_plugin_ops
from ngraph_rewrite.rewriting.checks import checked_rules

if TYPE_CHECKING:
    from rich import console, table, text

    from ngraph_rewrite import asking, checking, demo, emulating, fuzzing, ptx, warming
    from ngraph_rewrite import catalogue_listing as listing
    from ngraph_rewrite.testing import workers
else:  # what one command needs and others do without
    console, table, text = lazy_module("rich.console"), lazy_module("rich.table"), lazy_module("rich.text")
    listing = lazy_module("ngraph_rewrite.catalogue_listing")
    asking = lazy_module("ngraph_rewrite.asking")
    checking, demo = lazy_module("ngraph_rewrite.checking"), lazy_module("ngraph_rewrite.demo")
    fuzzing, warming = lazy_module("ngraph_rewrite.fuzzing"), lazy_module("ngraph_rewrite.warming")
    ptx, emulating = lazy_module("ngraph_rewrite.ptx"), lazy_module("ngraph_rewrite.emulating")
    workers = lazy_module("ngraph_rewrite.testing.workers")

_OTHER = "remove it by hand, or set NGRAPH_REWRITE_CACHE to the folder that was meant"
# Seconds for reading a file and checking its types; more than a thousand rules take.
PATIENCE = 60.0


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
    count = "1 op" if len(entries) == 1 else f"{len(entries)} ops"
    print(f"{len(entries) - wrong} of {len(entries)} ops are complete" if options.check else count)
    return 1 if lacks else 0


def run_fuzz(options: argparse.Namespace) -> int:
    """Programs drawn and checked at length."""
    return int(fuzzing.main(options))


def run_check(options: argparse.Namespace) -> int:
    """All checks of each rule; with ``--static`` what can be said without drawing, a line for each file."""
    checking.check_options(options)
    if not options.static:
        return int(checking.main(options))
    read = dict(_all_read(options.files or sorted(data_folder("rules").glob("*.rules"))))
    good = (path for path, (_, mistake) in read.items() if mistake is None and path.suffix != ".kernel")
    unknown = checking.unknown_waivers(good) if options.files else {}
    found = [(str(path), count, mistake or unknown.get(path)) for path, (count, mistake) in read.items()]
    mistakes = [mistake for _, _, mistake in found if mistake]
    if options.json is not None:
        checking.write(_as_json(found), options.json)
    out = sys.stderr if options.json == Path("-") else sys.stdout  # the output is for programs then
    for mistake in mistakes:
        print(mistake, end="\n\n", file=out)
    if out is sys.stdout:
        rows = [(path, count, "wrong" if mistake else "ok") for path, count, mistake in found]
        print(columns(("file", "rules", "verdict"), rows))
        files = "file is" if len(rows) == 1 else "files are"
        print(f"{len(rows) - len(mistakes)} of {len(rows)} {files} right")
    return 1 if mistakes else 0


def _as_json(found: Sequence[tuple[str, str, str | None]]) -> str:
    """What was read: whether all is right, and of each file how many rules it has and what is wrong with it."""
    files = [{"file": path, "rules": count, "mistake": mistake} for path, count, mistake in found]
    return json.dumps({"right": not any(mistake for _, _, mistake in found), "files": files}, indent=1)


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
    if options.clear and options.action == "warm":
        raise ArgumentError("--clear says nothing beside warm", do="clear first: ngraph-rewrite cache clear")
    cache, clear = Cache(), options.clear or options.action == "clear"
    if clear and cache.folder != cache.chosen:
        raise ArgumentError(f"nothing was cleared: {cache.chosen} is no folder that can be written", do=_OTHER)
    if options.action == "warm":
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
