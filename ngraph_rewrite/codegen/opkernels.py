# SPDX-License-Identifier: Apache-2.0
"""Kernels of ops that a third party declared: a kernel file is all there is to it.

The file names the op, and binds the attributes its code depends on; the planner hands over the rest. Operands and
result lie in memory row by row. The code gets, as ``int64`` arguments, for each operand ``x`` and for the result
``self``: the lengths ``x_0``, ``x_1``, ... of its axes; then what ``where`` lines name; then the addresses ``x``, ...,
``self``. As text it gets ``$x_dtype``, ``$x_rank``, and ``$k`` for an attribute bound as ``axis=k``. The parameters of
a body for a GPU are these arguments (``$parameters``); there is a thread for each element of the result.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ngraph_rewrite.codegen.kernel_clauses import clause_value, guard_holds
from ngraph_rewrite.codegen.kernel_code import mistakes
from ngraph_rewrite.codegen.library import common_holes
from ngraph_rewrite.codegen.scalar import literal
from ngraph_rewrite.codegen.source import Source, imports, named
from ngraph_rewrite.codegen.template import KernelTemplate, read_template
from ngraph_rewrite.errors import KernelError, RuleFileError
from ngraph_rewrite.lazy import lazy_module
from ngraph_rewrite.plugins import DataFile, load_plugin_ops, plugin_files, unusable
from ngraph_rewrite.rewriting.attribute_values import value_of
from ngraph_rewrite.rewriting.interpret import Application
from ngraph_rewrite.rewriting.pattern import Var
from ngraph_rewrite.rewriting.rule import Let, Rule, Where
from ngraph_rewrite.terms.catalogue import OpDef, find
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.paths import as_path
from ngraph_rewrite.types.lengths import known

if TYPE_CHECKING:
    from ngraph_rewrite.rewriting import rulefile
else:
    rulefile = lazy_module("ngraph_rewrite.rewriting.rulefile")

_RESERVED = frozenset("name idea arguments parameters signature imports args chunk nchunks thread".split())
_FILLED = frozenset("name idea arguments parameters signature imports".split())
_ADDED: dict[str, OpKernel] = {}


@dataclass(frozen=True)
class OpKernel:
    """A kernel file that names an op: `rule` has the op's pattern on its left, the guard and the ``where`` clauses."""

    template: KernelTemplate
    rule: Rule

    @property
    def definition(self) -> OpDef:
        """The op."""
        return self.rule.left.definition

    @property
    def operands(self) -> tuple[str, ...]:
        """The names of the operands."""
        return tuple(a.name for a in self.rule.left.args if isinstance(a, Var))

    def match(self, term: Op) -> Application | None:
        """What the names of the file stand for in a term of its op; None if the guard does not hold.

        Raises:
            KernelError: if the guard fails.
        """
        bound: dict[str, Any] = dict(zip(self.operands, term.args, strict=True))
        left = self.rule.left
        if any(term.attribute(a) != value_of(e, {}) for a, e in left.compares):
            return None
        bound.update((name, term.attribute(attribute)) for attribute, name in left.binds)
        application = Application(self.rule, term, bound, _no_term)
        return application if guard_holds(self.template, self.rule, application) else None

    def render(self, term: Op, found: Application, target: str = "cpu") -> tuple[Source, list[int]]:
        """The kernel for a term, and its leading arguments: all but the addresses of operands and result."""
        arrays = dict(zip((*self.operands, "self"), (*term.args, term), strict=True))
        sizes = {f"{name}_{i}": known(n) for name, t in arrays.items() for i, n in enumerate(t.shape)}
        for clause in self.rule.clauses:
            assert isinstance(clause, Where), "others are refused when the file is read"
            sizes[clause.name] = self._number(clause.name, clause_value(self.template, clause, found))
        names = (*sizes, *arrays)
        holes = {f"{name}_dtype": t.dtype.name for name, t in arrays.items()}
        holes.update((f"{name}_rank", str(t.rank)) for name, t in arrays.items())
        holes.update((name, self._text(name, found[name])) for _, name in self.rule.left.binds)
        holes |= common_holes(self.template, names)
        holes["imports"] = imports(self.template.fill(target, **holes, imports=""), target)
        source = named(self.template.name, self.template.fill(target, **holes), names)
        return replace(source, origin=self.template.origin(target, **holes)), list(sizes.values())

    def _number(self, name: str, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            what = f"kernel {self.template.name}: `{name}` is {value!r}, and only integers are handed over"
            raise KernelError(what, where=self.template.place, do="bind an attribute, whose text fills a hole")
        return int(value)

    def _text(self, name: str, value: Any) -> str:
        text = _as_text(value)
        if text is None:
            what = f"kernel {self.template.name}: the attribute {name} is {value!r}, which code cannot contain"
            raise KernelError(what, where=self.template.place, do="bind numbers, strings, dtypes and tuples of them")
        return text


def _no_term(*parts: Any) -> NoReturn:
    raise AssertionError("a kernel file builds no term")


def _as_text(value: Any) -> str | None:
    """A value as the text of an expression that has it."""
    if isinstance(value, Literal):
        return None if value.scalar is None else literal(value.scalar, value.dtype.name)
    if isinstance(value, float):
        return literal(value, "float64")
    if value is None or isinstance(value, bool | int | str):
        return repr(value)
    if isinstance(value, np.dtype):
        return value.name
    if isinstance(value, tuple):
        parts = [_as_text(v) for v in value]
        return None if None in parts else "(" + "".join(f"{p}, " for p in parts) + ")"
    return None


# -- files ---------------------------------------------------------------------------------------------


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


def add_kernel(source: str | os.PathLike[str]) -> None:
    """Use a kernel of your own: the text of a kernel file, or its path. One of the same name is replaced.

    Raises:
        KernelError, RuleFileError: if it is not right, with file and line.
        ArgumentError: if it is neither.
    """
    if isinstance(source, str) and "\n" in source:
        kernel = read_kernel(source)
    else:
        kernel = read_kernel(kernel_text(source), os.fspath(source))
    _ADDED[kernel.template.name] = kernel


@cache
def package_kernels() -> Mapping[str, OpKernel]:
    """The kernels of installed packages, by the names of package and kernel.

    Raises:
        ExtensionError: if one cannot be used.
    """
    load_plugin_ops()
    files = plugin_files("kernels", ".kernel")
    kernels = map(_of_package, files)
    return MappingProxyType({f"{f.package}/{k.template.name}": k for f, k in zip(files, kernels, strict=True)})


def _of_package(file: DataFile) -> OpKernel:
    """The kernel in a file of a package."""
    try:
        return read_kernel(kernel_text(file.path), file.shown)
    except (KernelError, RuleFileError) as error:
        raise unusable(file.package, str(error)) from error


def kernels_of(definition: OpDef) -> tuple[OpKernel, ...]:
    """The kernels of an op, those added here first.

    Raises:
        ExtensionError: if a package's kernels cannot be used.
    """
    every = (*_ADDED.values(), *package_kernels().values())
    return tuple(k for k in every if k.definition is definition)


def has_kernel(definition: OpDef) -> bool:
    """Whether a third party gave the op a kernel."""
    if not _ADDED and not package_kernels():
        return False
    return bool(kernels_of(definition))


def _refusal(kernel: OpKernel, target: str) -> str:
    """Why a kernel computes a term on a target not."""
    if target not in kernel.template.bodies:
        return f"{kernel.template.place} has no body for {target}"
    return f"{kernel.template.place} asks if {kernel.rule.guard}"


def rendered(term: Op, target: str = "cpu") -> tuple[Source, list[int]]:
    """The kernel that computes a term on a target, and its leading arguments.

    Raises:
        KernelError: if no kernel of its op takes it.
    """
    kernels = kernels_of(term.definition)
    for kernel in kernels:
        found = kernel.match(term)
        if found is not None and target in kernel.template.bodies:
            return kernel.render(term, found, target)
    types = ", ".join(repr(a.type) for a in term.args)
    tried = "; ".join(_refusal(k, target) for k in kernels) or "it has none"
    raise KernelError(
        f"no kernel computes {term.definition}({types}): {tried}",
        where=term.info.place if term.info.lineno else None,
        do="guard the rule that makes it, or write a kernel for it",
    )
