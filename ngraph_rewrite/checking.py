# SPDX-License-Identifier: Apache-2.0
"""The command ``check``: files of rules and kernels proved right or wrong, with a progress bar, and a verdict last."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ngraph_rewrite.codegen.opkernel_files import kernel_text, read_kernel
from ngraph_rewrite.errors import ArgumentError, NGraphRewriteError, RuleFileError
from ngraph_rewrite.lowering.passes import check_names, library
from ngraph_rewrite.plugins import load_plugin_ops
from ngraph_rewrite.rewriting.rule import RuleSet
from ngraph_rewrite.rewriting.rulefile import load_rules
from ngraph_rewrite.testing.findings import CHECKS, FAILED, LISTED, LISTED_IF_QUICK, check_waivers, key, known_checks
from ngraph_rewrite.testing.kernel_findings import Tried, try_kernels
from ngraph_rewrite.testing.kernels import USUAL, Draws
from ngraph_rewrite.testing.mutation.spread import mutation_score
from ngraph_rewrite.testing.report import Report, report_of
from ngraph_rewrite.testing.suite import FULL, QUICK, UNCOMPILED, Subject, findings, is_called
from ngraph_rewrite.testing.termination import print_order

# Seconds for each rule under which drawing is quick.
LITTLE = 0.6
# So many names of a file are listed where it has none like the one that is looked for.
MOST = 20


def main(options: Namespace) -> int:
    """Check files of rules and kernels, or all rules that ship, and say what is wrong with them.

    Args:
        options: `files`, `rules`, `checks`, `quick`, `seconds`, `seed`, `jobs` and `json` of the command line.

    Returns:
        0 if every check of every rule holds, or is waived in the file, and every kernel is right; a proof that was not
        found is listed.

    Raises:
        ArgumentError: for the name of a rule that there is not.
    """
    load_plugin_ops()
    readable, mistakes = _read(options.files)
    out = sys.stderr if options.json == Path("-") else sys.stdout  # the output is for programs then
    for mistake in mistakes:
        print(mistake, end="\n\n", file=out)
    kernels = [path for path in readable if path.suffix == ".kernel"]
    paths = tuple(path for path in readable if path.suffix != ".kernel")
    begun = time.monotonic()
    tried = _tried(options, kernels)
    wrong = tried.wrong()
    print("".join(f"{said}\n\n" for said in (*tried.untried(), *wrong.values())), end="", file=out)
    rules = bool(paths) or not options.files
    if options.mutate and rules:
        return _mutate(options, paths)
    report = _report(options, paths) if rules else report_of((), ())
    spent = time.monotonic() - begun
    report = replace(report, kernels=tuple(tried.findings()), unusable=len(mistakes), seconds=spent)
    if options.json is not None:
        write(report.as_json(), options.json)
    if options.json != Path("-"):
        print(_text(report, options, sum(path not in wrong for path in kernels), mistakes))
    return 0 if report.right else 1


def check_options(options: Namespace) -> None:
    """Refuse what nobody would hear of.

    Raises:
        ArgumentError: if the findings cannot be written where they shall be, for an option that is of rules where
            there are only kernels, and for one that says nothing beside another one.
    """
    if options.json is not None and not options.json.parent.is_dir():
        raise ArgumentError(f"{options.json} cannot be written: there is no such folder", do="make the folder first")
    _check_together(options)
    kernels = [path.suffix == ".kernel" for path in options.files]
    of_rules = {"--rule": options.rules, "--check": options.checks, "--mutate": options.mutate}
    if all(kernels) and kernels:
        given = next((name for name, value in of_rules.items() if value), None)
    else:
        given = "--mutate" if any(kernels) and options.mutate else None
    if given is not None:
        do = "leave it out: kernels take --seed, --seconds, --quick, --jobs and --json"
        raise ArgumentError(f"{given} is for rules, and {options.files[kernels.index(True)]} is a kernel", do=do)


def _check_together(options: Namespace) -> None:
    """Refuse what says how rules are tried where files are only read, and what is of findings where there are none."""
    drawing = {"--check": options.checks, "--seconds": options.seconds}
    if options.static:
        how, why = "--static", "it reads whole files, and tries no rule"
        refused = {"--rule": options.rules, "--mutate": options.mutate, **drawing}
    elif options.mutate:
        how, why = "--mutate", "it makes all checks of broken rules, and counts those that they refuse"
        refused = {**drawing, "--json": options.json}
    else:
        return
    given = next((name for name, value in refused.items() if value not in (None, False)), None)
    if given is not None:
        raise ArgumentError(f"{given} says nothing beside {how}: {why}", do=f"leave out {given} or {how}")


def _read(files: list[Path]) -> tuple[list[Path], list[str]]:
    """The files that can be read, and what is wrong with the others."""
    good, mistakes = [], []
    for path in files:
        try:
            if path.suffix == ".kernel":
                read_kernel(kernel_text(path), str(path))
            else:
                check_names(load_rules(path))
            good.append(path)
        except OSError as error:
            mistakes.append(f"{path} cannot be read: {error.strerror or error}")
        except NGraphRewriteError as error:
            mistakes.append(str(error))
    while unknown := unknown_waivers(path for path in good if path.suffix != ".kernel"):
        good = [path for path in good if path not in unknown]  # others may have named their rules
        mistakes += unknown.values()
    return good, mistakes


def unknown_waivers(files: Iterable[Path]) -> dict[Path, str]:
    """What is wrong with waivers of rule files that can be read: the rules that they name and that there are not.

    They may name rules of the library, and of the other files.
    """
    own = {path: load_rules(path) for path in files}
    if not any(waiver.other for rules in own.values() for rule in rules for waiver in rule.waivers):
        return {}
    every, wrong = sum(own.values(), RuleSet()) + library(), dict[Path, str]()
    for path, rules in own.items():
        try:
            check_waivers(rules, every)
        except RuleFileError as error:
            wrong[path] = str(error)
    return wrong


def _tried(options: Namespace, paths: list[Path]) -> Tried:
    draws = Draws(QUICK.examples if options.quick else USUAL.examples, options.seed)
    with progress("kernels") as advance:
        return try_kernels(paths, draws, options.seconds, options.jobs, advance)


def _report(options: Namespace, paths: tuple[Path, ...]) -> Report:
    checks = known_checks(options.checks or (UNCOMPILED if options.quick else CHECKS))
    subject = Subject(paths, _only(options), checks=checks)
    _check_chosen(subject)
    quick = options.quick or _hurried(options.seconds, len(subject.rules))
    effort, listed = (QUICK, LISTED_IF_QUICK) if quick else (FULL, LISTED)
    subject = replace(subject, effort=replace(effort, seed=options.seed))
    begun = time.monotonic()
    with progress("rules") as advance:
        found = list(findings(subject, options.seconds, options.jobs, advance))
    return report_of(subject.rules, found, _orders(subject), time.monotonic() - begun, listed)


def _only(options: Namespace) -> tuple[str, ...] | None:
    """The names of the rules that are asked for."""
    return tuple(options.rules) if options.rules else None


def _check_chosen(subject: Subject) -> None:
    """Refuse to check nothing: files without rules, or the name of a rule that is not there."""
    there = subject.rules
    every, where = replace(subject, only=None).rules, ", ".join(map(str, subject.paths)) or None
    if not len(every):
        raise ArgumentError("there is no rule to check", where=where, do="write one below the header: `rule NAME: ...`")
    unknown = [name for name in subject.only or () if not any(is_called(rule, name) for rule in there)]
    if not unknown:
        return
    names = [rule.name for rule in every]
    listed = ", ".join(names if len(names) <= MOST else [*names[:MOST], "..."])
    do = f"the rules there: {listed}" if subject.paths else "`ngraph-rewrite rules` lists those that ship"
    raise ArgumentError(f"no rule is called {' or '.join(unknown)}", where=where, do=do)


def _orders(subject: Subject) -> str:
    """The orders in which rules go down: of all ops, or of those in the rules of the files."""
    if "termination" not in subject.checks:
        return ""
    return print_order(subject.context.rules, subject.rules if subject.paths else None)


def _mutate(options: Namespace, paths: tuple[Path, ...]) -> int:
    """Break rules on purpose, and print how many of them the checks refuse."""
    effort = replace(QUICK if options.quick else FULL, seed=options.seed)
    subject = Subject(paths, _only(options), effort)
    _check_chosen(subject)
    _check_right(subject, options.jobs)
    with progress("broken rules") as advance:
        found = mutation_score(subject, options.jobs, advance)
    print(found)
    return 0 if found.score == 1 else 1


def _check_right(subject: Subject, jobs: int | None) -> None:
    """Refuse to break a rule of the given files that is wrong as it stands: its variants would tell nothing."""
    if subject.paths:
        looked = replace(
            subject, effort=replace(QUICK, seed=subject.effort.seed), checks=("types", "values", "adjoint")
        )
        for found in findings(looked, None, jobs):
            if found.status == FAILED:
                what = f"rule {found.rule} is wrong as it stands, by the check {found.check}: {found.says}"
                raise RuleFileError(what, where=found.place, do="mend it first: what is made of it tells nothing")


def _hurried(seconds: float | None, rules: int) -> bool:
    return seconds is not None and seconds < LITTLE * rules


def write(text: str, path: Path) -> None:
    """Write what is for programs to a file, or to the output if its name is ``-``."""
    if path == Path("-"):
        print(text)
    else:
        path.write_text(text + "\n", encoding="utf-8")


def _text(report: Report, options: Namespace, kernels: int, mistakes: list[str]) -> str:
    """The report, with a last line about all files where there are also kernels, or some that cannot be read."""
    if not report.kernels and not mistakes:
        return report.text()
    said = _verdict(report, kernels, len(options.files), len(mistakes))
    return f"{report.text()}\n\n{said}" if report.rules else said


def _verdict(report: Report, kernels: int, files: int, mistakes: int) -> str:
    wrong = report.wrong_rules()
    rules = len({r.file for r in report.rules} - {r.file for r in report.rules if key(r) in wrong})
    said = f"{rules + kernels} of {files} {'file is' if files == 1 else 'files are'} right"
    return said + (f"; {mistakes} cannot be used" if mistakes else "")


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on the terminal, told how much is done of how much; nothing where the errors go elsewhere."""
    columns = TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    quiet = not sys.stderr.isatty()
    with Progress(*columns, console=Console(stderr=True), disable=quiet, transient=True, auto_refresh=False) as bar:
        task = bar.add_task(what)

        def advance(done: int, of: int) -> None:
            bar.update(task, completed=done, total=of, refresh=True)

        yield advance
