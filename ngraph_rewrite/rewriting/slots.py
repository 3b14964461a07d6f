# SPDX-License-Identifier: Apache-2.0
"""Where things stand in a matched term, and how generated code writes that."""

from __future__ import annotations

import re
from dataclasses import dataclass

# A place in a term: indices of arguments from the root; negative ones count from the end.
Place = tuple[int, ...]
# What ends a line of generated code that asks a part of a rule's guard, and may fail: the number of the rule.
ASKER = re.compile(r"  # rule (\d+)$")
# An argument of the root in generated code, outside its strings.
_ARGUMENT = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\bself\.args\[(\d+)\]""")


@dataclass(frozen=True)
class Slot:
    """Where a variable's value is found: a place, the rest of an argument list, or an attribute."""

    place: Place
    sequence: tuple[int, int] | None = None
    attribute: int | None = None

    @property
    def of_op(self) -> bool:
        """Whether it is read off the op at the place: that has to be the right one."""
        return self.sequence is not None or self.attribute is not None


def term_source(place: Place) -> str:
    """The term at a place.

    >>> term_source((0, -1))
    'self.args[0].args[-1]'
    """
    return "self" + "".join(f".args[{i}]" for i in place)


def sort_source(slot: Slot, sort: str) -> str:
    """Whether what stands in a slot is of a sort: a term, or all of several.

    >>> sort_source(Slot((0,)), "Small")
    "self.args[0].type.name == 'Small' or 'Small' in self.args[0].type.above"
    """
    if slot.sequence is not None:
        return f"all([t.type.name == {sort!r} or {sort!r} in t.type.above for t in {slot_source(slot)}])"
    return sort_test(slot_source(slot), sort)


def sort_test(term: str, sort: str) -> str:
    """Whether a term is of a sort."""
    return f"{term}.type.name == {sort!r} or {sort!r} in {term}.type.above"


def slot_source(slot: Slot) -> str:
    """What stands in a slot.

    >>> slot_source(Slot((0,), sequence=(1, 2))), slot_source(Slot((), attribute=0))
    ('self.args[0].args[1:len(self.args[0].args) - 2]', 'self.attrs[0]')
    """
    term = term_source(slot.place)
    if slot.attribute is not None:
        return f"{term}.attrs[{slot.attribute}]"
    if slot.sequence is not None:
        start, after = slot.sequence
        return f"{term}.args[{start}:len({term}.args) - {after}]" if after else f"{term}.args[{start}:]"
    return term


def with_arguments(arity: int | None, lines: list[str]) -> list[str]:
    """The lines of a function of a term, its arguments taken out once if the lines ask for any more often.

    >>> with_arguments(2, ["if self.args[0] is self.args[1].args[0]:", "    return self.args[1], 'self.args[0]'"])
    ['arg_0, arg_1 = self.args', 'if arg_0 is arg_1.args[0]:', "    return arg_1, 'self.args[0]'"]
    """
    if not arity or sum(any(m[1] for m in _ARGUMENT.finditer(line)) for line in lines) < 2:
        return lines
    taken = f"{', '.join(f'arg_{i}' for i in range(arity))}{',' * (arity == 1)} = self.args"
    return [taken, *(_ARGUMENT.sub(lambda m: f"arg_{m[1]}" if m[1] else m[0], line) for line in lines)]
