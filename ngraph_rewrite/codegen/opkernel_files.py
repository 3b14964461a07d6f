# SPDX-License-Identifier: Apache-2.0
"""Kernel files of third parties are read, as rule files whose one rule has the op and its guard, and checked."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ngraph_rewrite.codegen.kernel_code import mistakes
from ngraph_rewrite.codegen.opkernels import OpKernel
from ngraph_rewrite.codegen.template import KernelTemplate, read_template
from ngraph_rewrite.errors import KernelError, RuleFileError
from ngraph_rewrite.lazy import lazy_module
from ngraph_rewrite.rewriting.pattern import Var
from ngraph_rewrite.rewriting.rule import Let
from ngraph_rewrite.terms.catalogue import find
from ngraph_rewrite.terms.paths import as_path

if TYPE_CHECKING:
    from ngraph_rewrite.rewriting import rulefile
else:
    rulefile = lazy_module("ngraph_rewrite.rewriting.rulefile")

_RESERVED = frozenset("name idea arguments parameters signature imports args chunk nchunks thread".split())
_FILLED = frozenset("name idea arguments parameters signature imports".split())


def read_kernel(text: str, file: str = "<kernel>") -> OpKernel:
    """The kernel that a file's text describes.

    Raises:
        KernelError: for anything out of place, or an op that ships with the library: those have their kernels.
        RuleFileError: for a mistake in the term, a ``where`` line or the guard.
    """
    template = read_template(text, file)
    op = template.term.partition("(")[0].strip()
    if find(op) is None:
        raise KernelError(f"kernel {template.name} computes {op}, and no op is called so", where=template.place,
                          do="write family.op(x, attribute=name), and declare the op before")  # fmt: skip
    content = _as_rule(text, template, op.partition(".")[0])
    try:
        (rule,) = rulefile.parse_rules(content, file, Path(file).stem)
    except RuleFileError as error:
        raise RuleFileError(_at_the_margin(error.what, file, content), do=error.do) from None
    kernel = OpKernel(template, replace(rule, source=None))  # messages show no line of what was made of the file
    _check(kernel)
    return kernel


def _as_rule(text: str, template: KernelTemplate, family: str) -> str:
    """The file as a rule file whose one rule keeps its lines, so that messages show the right ones."""
    frame = _outside_bodies(text.split("\n"))
    at = next(i for i, line in enumerate(frame) if line.startswith("kernel "))
    if at == 0:
        raise KernelError(f"kernel {template.name} does not say what it does", where=template.place,
                          do="begin the file with a comment")  # fmt: skip
    clauses = [i for i, line in enumerate(frame) if line.startswith(("where ", "if "))]
    last = max(i for i, line in enumerate(frame[: min(clauses, default=len(frame))]) if line)
    frame[last] += "  => self"
    for i in clauses:
        frame[i] = f" {frame[i]}"
    frame[0], frame[at] = f"select {family}", f"rule {template.name}:"
    return "\n".join(frame) + "\n"


def _at_the_margin(message: str, file: str, content: str) -> str:
    """A message about a clause, which stands one column further left in a kernel file than in a rule file."""
    place = re.match(rf"{re.escape(file)}:(\d+):(\d+): ", message)
    if place is None or not content.split("\n")[int(place[1]) - 1].startswith((" where", " if")):
        return message
    first, line, caret = message.split("\n")
    first = f"{file}:{place[1]}:{int(place[2]) - 1}: {first[place.end() :]}"
    return "\n".join([first, line.replace(" ", "", 1), caret.replace(" ", "", 1)])


def _outside_bodies(lines: list[str]) -> list[str]:
    """The lines with comments and bodies of code blanked."""
    kept, inside = [], False
    for line in lines:
        if line and not line.startswith((" ", "#")):
            inside = line.startswith("on ")
        kept.append("" if inside or line.startswith("#") else line.rstrip())
    return kept


def _check(kernel: OpKernel) -> None:
    template, rule = kernel.template, kernel.rule
    definition, args = kernel.definition, rule.left.args
    if definition.shipped:
        raise KernelError(f"kernel {template.name}: {definition} has its kernels in the library",
                          where=template.place, do="declare an op of your own, and select it by a rule")  # fmt: skip
    if definition.arity is None or not all(isinstance(a, Var) for a in args) or len({*kernel.operands}) < len(args):
        raise KernelError(f"kernel {template.name}: its term is not an op applied to names",
                          where=template.place, do="name each operand once: family.op(x, y)")  # fmt: skip
    names = [*kernel.operands, *(n for _, n in rule.left.binds), *(c.name for c in rule.clauses)]
    wrong = [n for n in names if n in _RESERVED] + [c.name for c in rule.clauses if isinstance(c, Let) or c.sequence]
    if wrong:
        raise KernelError(f"kernel {template.name}: `{wrong[0]}` cannot be bound here", where=template.place)
    arrays = (*kernel.operands, "self")
    holes = _FILLED | {n for _, n in rule.left.binds} | {f"{n}_{what}" for n in arrays for what in ("dtype", "rank")}
    for target, body in template.bodies.items():
        for wrong_line in mistakes(body, holes, target):
            where = template.at(template.lines[target][wrong_line.line - 1])
            raise KernelError(f"kernel {template.name} {wrong_line.what}", where=where, do=wrong_line.do)


def kernel_text(path: str | os.PathLike[str]) -> str:
    """What is written in a kernel file.

    Raises:
        KernelError: if it cannot be read, or is not text.
    """
    given = as_path(path, "the kernel file")
    try:
        return given.read_text(encoding="utf-8")
    except OSError as error:
        do = "give the path of a kernel file, or the text of one, which has several lines"
        raise KernelError(f"{given} cannot be read: {error.strerror or error}", do=do) from error
    except UnicodeDecodeError as error:
        do = "save it in that encoding"
        raise KernelError(f"{path} is not text in UTF-8: {error}", where=os.fspath(path), do=do) from None
