# SPDX-License-Identifier: Apache-2.0
"""Kernels of ops that a third party declared: a kernel file is all there is to it.

The file names the op, and binds the attributes its code depends on; the planner hands over the rest. Operands and
result lie in memory row by row. The code gets, as ``int64`` arguments, for each operand ``x`` and for the result
``self``: the lengths ``x_0``, ``x_1``, ... of its axes; then what ``where`` lines name; then the addresses ``x``, ...,
``self``. As text it gets ``$x_dtype``, ``$x_rank``, and ``$k`` for an attribute bound as ``axis=k``. The parameters of
a body for a GPU are these arguments (``$parameters``); there is a thread for each element of the result.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from ngraph_rewrite.codegen.kernel_clauses import clause_value, guard_holds
from ngraph_rewrite.codegen.library import common_holes
from ngraph_rewrite.codegen.scalar import literal
from ngraph_rewrite.codegen.source import Source, imports, named
from ngraph_rewrite.codegen.template import KernelTemplate
from ngraph_rewrite.errors import KernelError
from ngraph_rewrite.rewriting.attribute_values import value_of
from ngraph_rewrite.rewriting.interpret import Application
from ngraph_rewrite.rewriting.pattern import Var
from ngraph_rewrite.rewriting.rule import Rule, Where
from ngraph_rewrite.terms.catalogue import OpDef
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.lengths import known


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
