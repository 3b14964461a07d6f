# SPDX-License-Identifier: Apache-2.0
"""The checks of a whole program by their names, and a failure as something that can be asserted."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.rewriting.rule import RuleSet
from ngraph_rewrite.terms.declaring import told
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.testing.programs.program import Program
from ngraph_rewrite.testing.whole.checks import (
    Wrong,
    not_idempotent,
    not_repeatable,
    wrong_type,
    wrong_value,
    wrong_without_rules,
)
from ngraph_rewrite.testing.whole.lowered import Setup, setup_of
from ngraph_rewrite.testing.whole.processes import not_portable
from ngraph_rewrite.testing.whole.running import (
    wrong_handle,
    wrong_on_cpu,
    wrong_on_cuda,
    wrong_on_reference,
    wrong_restored,
)

Check = Callable[[Program, Setup], Wrong | None]

CHECKS: Mapping[str, Check] = {
    "types": wrong_type,
    "idempotent": not_idempotent,
    "repeatable": not_repeatable,
    "values": wrong_value,
    "reference": wrong_on_reference,
    "handles": wrong_handle,
    "restored": wrong_restored,
    "cpu": wrong_on_cpu,
    "cuda": wrong_on_cuda,
    "processes": not_portable,
}
# A check of its own, as it takes the rules to disable.
DISABLED = "disabled"
# What has to be asked for: it needs a GPU, or one that is simulated or emulated.
ASKED = frozenset({"cuda"})


class WrongProgram(AssertionError):
    """A program for which something does not hold that must hold of every program."""


def wrong_in(program: Program, kind: str, setup: Setup, off: Sequence[str] = ()) -> Wrong | None:
    """What one check has to say of a program; an error that is raised is something wrong, too."""
    try:
        if kind == DISABLED:
            return wrong_without_rules(program, setup, off)
        return CHECKS[kind](program, setup)
    except Exception as error:  # whatever it is, drawn programs are right
        says = told(error)
        return Wrong(kind, says.splitlines()[0], says, tuple(off), type(error).__name__)


def assert_right(
    program: Program,
    kind: str,
    *,
    seed: int = 0,
    off: Sequence[str] = (),
    rules: RuleSet | str | os.PathLike[str] | None = None,
) -> None:
    """Fail if a check finds something wrong with a program.

    Args:
        kind: A name in `CHECKS`, or ``"disabled"``.
        seed: Of the program's random draws.
        off: The rules that are disabled, for ``"disabled"``.
        rules: Rules of your own beside the library's: a set, a file or the text of one.

    Raises:
        WrongProgram: with what is wrong.
        ArgumentError: for what is no program, and no check.

    >>> import numpy as np
    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder({"H": 2}, "float64", name="x")
    >>> program = Program((x * 1 - x,), (x,), ((np.array([1.0, 2.0]),),))
    >>> assert_right(program, "values")
    >>> wrong = "simplify semi\\nrule self: x - x => x"
    >>> assert_right(program, "values", rules=wrong)
    Traceback (most recent call last):
        ...
    ngraph_rewrite.testing.whole.suite.WrongProgram: values: axes.subtract(axes.multiply(x, 1.0), x) is not what...
    """
    if not isinstance(program, Program):
        raise ArgumentError(f"{program!r} is no program", where=user_line(), do="draw one, or make it with program_of")
    if kind not in (*CHECKS, DISABLED):
        do = f"choose among {', '.join((*CHECKS, DISABLED))}"
        raise ArgumentError(f"no check is called {kind!r}", where=user_line(), do=do)
    found = wrong_in(program, kind, setup_of(rules, seed), off)
    if found is not None:
        raise WrongProgram(f"{found.kind}: {found.says}\n{found.shown}")
