# SPDX-License-Identifier: Apache-2.0
"""The form of a group over rows: its terms by number, with their ops and types; groups of one form are one program.

Networks repeat what they compute row by row in each of their layers. What two such groups read are different terms, but
these lie alike in memory, so the program of one is that of the other.
"""

from __future__ import annotations

from typing import NamedTuple

from ngraph_rewrite.plan.fusion import Groups, RowGroup, is_scalar_constant
from ngraph_rewrite.plan.kinds import MAP, VIEW
from ngraph_rewrite.plan.nests import Load
from ngraph_rewrite.plan.rows import RowBody, row_program
from ngraph_rewrite.plan.scalar_programs import RowProgram
from ngraph_rewrite.plan.views import IDENTITIES
from ngraph_rewrite.terms.op import Op


class Form(NamedTuple):
    """A group over rows without its terms, and those that it reads, in an order that groups of one form share."""

    key: tuple[object, ...]
    read: dict[Op, int]


def form_of(rows: RowGroup, groups: Groups, group: Op) -> Form:
    """The form of a group: its terms as they are met from its outputs on, each by its number if it was met before."""
    kinds, group_of, again, stead = groups.kinds, groups.group_of, groups.again, groups.stead
    key: list[object] = [rows.shape, rows.axes, *[term in rows.totals for term in rows.outputs]]
    number: dict[Op, int] = {}
    read: dict[Op, int] = {}
    pending = [*rows.outputs]
    while pending:
        term = pending.pop()
        met = number.get(term)
        if met is not None:
            key.append(met)
            continue
        number[term] = len(number)
        definition, own = term.definition, group_of.get(term)
        key.append(definition)
        key.append(id(term.type))
        kind = kinds[definition]
        if own is group or (kind == VIEW and own is not term) or (kind == MAP and term in again):
            if kind == VIEW and definition.name not in IDENTITIES or not term.args:
                key.append(term.attrs)
            pending += stead.get(term, term).args
        elif is_scalar_constant(term):
            key.append(term.attrs)
        else:
            read[term] = len(read)
            key.append(None)
    return Form(tuple(key), read)


class RowPrograms:
    """The programs of groups over rows, one for each form."""

    def __init__(self, groups: Groups) -> None:
        self.groups = groups
        # By form: the program, and what it loads, by its number in the form and as it lies.
        self._known: dict[tuple[object, ...], tuple[RowProgram, list[tuple[int, Load]]]] = {}

    def program(self, rows: RowGroup, group: Op) -> tuple[RowBody, RowProgram]:
        """The body and the program of a group.

        Raises:
            OutOfStep: if it needs of one row what was found about another.
            CopyFirst: if a view in it needs its argument in memory.
        """
        form, body = form_of(rows, self.groups, group), RowBody(rows, self.groups, group)
        found = self._known.get(form.key)
        if found is None:
            program = row_program(body, rows)
            self._known[form.key] = program, [(form.read[load.base], load) for load in body.loads]
            return body, program
        program, loads = found
        terms = [*form.read]
        body.loads += [Load(terms[number], load.layout) for number, load in loads]
        body.steps += program.steps
        return body, program
