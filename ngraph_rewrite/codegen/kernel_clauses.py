# SPDX-License-Identifier: Apache-2.0
"""The guard and the ``where`` lines of a kernel file, worked out for a term; what fails is told with its line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ngraph_rewrite.codegen.template import KernelTemplate
from ngraph_rewrite.errors import KernelError
from ngraph_rewrite.rewriting.attribute_values import value_of
from ngraph_rewrite.rewriting.expression import Expression
from ngraph_rewrite.rewriting.interpret import Application
from ngraph_rewrite.rewriting.rule import Rule, Where
from ngraph_rewrite.terms.declaring import told
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.written import describe


def guard_holds(template: KernelTemplate, rule: Rule, found: Application) -> bool:
    """Whether a kernel takes the term that its names were found in.

    Raises:
        KernelError: if the guard fails, or a ``where`` line that it reads.
    """
    if rule.guard is None:
        return True
    for clause in rule.clauses:
        if isinstance(clause, Where) and clause.name in rule.guard.names:
            clause_value(template, clause, found)
    with _told(template, f"if {rule.guard}", rule.guard, found):
        return bool(value_of(rule.guard, found))


def clause_value(template: KernelTemplate, clause: Where, found: Application) -> Any:
    """What the name of a ``where`` line stands for.

    Raises:
        KernelError: if it cannot be worked out.
    """
    with _told(template, f"where {clause.name} = {clause.expression}", clause.expression, found):
        return found[clause.name]


@contextmanager
def _told(template: KernelTemplate, line: str, expression: Expression, found: Application) -> Iterator[None]:
    try:
        yield
    except KernelError:
        raise
    except Exception as error:
        what = told(error)
        known = [(name, dict.get(found, name)) for name in expression.names if name in found]
        values = ", ".join(f"{name} is {_shown(value)}" for name, value in known)
        what = f"kernel {template.name}: `{line}` fails{f' where {values}' if values else ''}: {what}"
        where = template.at(expression.span.line)
        raise KernelError(what, where=where, do="mend the line, or guard the kernel by `if`") from error


def _shown(value: Any) -> str:
    return f"{describe(value, 1)} : {value.type!r}" if isinstance(value, Op) else repr(value)
