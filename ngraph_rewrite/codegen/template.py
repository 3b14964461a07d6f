# SPDX-License-Identifier: Apache-2.0
"""Kernel files: a term, a guard, and one body of code for each target, as text with holes.

The format::

    # What the kernel is, in a comment.
    kernel NAME
        the semi-primitive term it computes
    where NAME = a number the code needs         (any number of them; see `ngraph_rewrite.codegen.opkernels`)
    if the guard                                  (optional)

    on cpu:
        code with $holes

A hole that stands alone on its line takes a block, indented to where the hole stands. ``$$`` is a dollar sign.
"""

import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from ngraph_rewrite.codegen.source import indented
from ngraph_rewrite.data import data_folder
from ngraph_rewrite.errors import KernelError

TARGETS = ("cpu", "cuda")
_KERNEL, _GUARD, _BODY = re.compile(r"kernel (\w+)$"), re.compile(r"if (.+)$"), re.compile(r"on (\w+):$")
_WHERE = re.compile(r"where \w+ *=")
_BLOCK_HOLE = re.compile(r"^( *)\$(?:(\w+)|\{(\w+)\})$", re.MULTILINE)


@dataclass(frozen=True)
class KernelTemplate:
    """One kernel file: ``idea`` is its comment, ``bodies`` the code by target, ``place`` its file and line.

    ``lines`` has, by target, the numbers that the lines of a body have in the file.
    """

    name: str
    idea: str
    term: str
    guard: str | None
    bodies: Mapping[str, str]
    place: str
    lines: Mapping[str, Sequence[int]] = field(default_factory=dict, compare=False, repr=False)

    def at(self, line: int) -> str:
        """The place of a line of the file."""
        return f"{self.place.rpartition(':')[0]}:{line}"

    def fill(self, target: str, **holes: str) -> str:
        """Return the body for a target with its holes filled; raises `KernelError` naming a missing body or hole."""
        if target not in self.bodies:
            raise KernelError(f"kernel {self.name} has no body for {target}", where=self.place)
        return self._filled(self.bodies[target], holes)

    def origin(self, target: str, **holes: str) -> tuple[str, ...]:
        """The place in the file of each line of a body with its holes filled."""
        lines = zip(self.lines[target], self.bodies[target].split("\n"), strict=False)
        return tuple(self.at(n) for n, line in lines for _ in self._filled(line, holes).split("\n"))

    def _filled(self, text: str, holes: Mapping[str, str]) -> str:
        def block(found: re.Match[str]) -> str:
            name = found[2] or found[3]
            inside = holes.get(name)
            return found[0] if inside is None else indented(inside.replace("$", "$$"), len(found[1]))

        try:
            return string.Template(_BLOCK_HOLE.sub(block, text)).substitute(holes)
        except KeyError as error:
            what = f"kernel {self.name}: nothing fills the hole ${error.args[0]}"
            raise KernelError(what, where=self.place) from None
        except ValueError as error:
            raise KernelError(f"kernel {self.name}: {error}", where=self.place, do="write $$ for a dollar") from None


@cache
def kernel_template(name: str) -> KernelTemplate:
    """Return the template of the kernel file ``NAME.kernel`` that ships with the library."""
    path = data_folder("kernels") / f"{name}.kernel"
    if not path.is_file():
        raise KernelError(f"there is no kernel file for {name!r}", where=str(path))
    return read_template(path.read_text(encoding="utf-8"), str(path))


def read_template(text: str, file: str = "<kernel>") -> KernelTemplate:
    """Read the text of a kernel file; raises `KernelError` with file and line for anything out of place."""
    lines = text.split("\n")
    comment = [line[1:].strip() for line in lines if line.startswith("#")]
    starts = [number for number, line in enumerate(lines) if line and not line.startswith(("#", " "))]
    kernels = [number for number in starts if _KERNEL.match(lines[number])]
    if len(kernels) != 1:
        raise KernelError("a kernel file has exactly one line 'kernel NAME'", where=f"{file}:{(kernels + [0])[0] + 1}")
    guard: str | None = None
    bodies: dict[str, str] = {}
    numbers_of: dict[str, Sequence[int]] = {}
    for number, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        line, (below, numbers) = lines[number].rstrip(), _block(lines[number + 1 : end], number + 2)
        if found := _BODY.match(line):
            target = _target(found[1], bodies, f"{file}:{number + 1}")
            bodies[target], numbers_of[target] = below, numbers
        elif found := _GUARD.match(line):
            guard = found[1]
        elif _KERNEL.match(line):
            name, term = line.split()[1], below.strip()
        elif not _WHERE.match(line):
            what = f"expected 'kernel NAME', 'where NAME = ...', 'if GUARD' or 'on TARGET:', found {line!r}"
            raise KernelError(what, where=f"{file}:{number + 1}")
    place = f"{file}:{kernels[0] + 1}"
    _check(name, term, bodies, place)
    return KernelTemplate(name, "\n".join(comment), term, guard, bodies, place, numbers_of)


def _target(target: str, bodies: Mapping[str, str], place: str) -> str:
    if target not in TARGETS:
        raise KernelError(f"unknown target {target!r}", where=place, do=f"write one of: {', '.join(TARGETS)}")
    if target in bodies:
        raise KernelError(f"a second body for {target}", where=place, do="keep one of the two")
    return target


def _check(name: str, term: str, bodies: Mapping[str, str], place: str) -> None:
    if not term:
        raise KernelError(f"kernel {name} does not say which term it computes", where=place)
    if not bodies:
        raise KernelError(f"kernel {name} has no body", where=place, do="write 'on cpu:' and the code below it")


def _block(lines: list[str], first: int) -> tuple[str, list[int]]:
    """The lines without comments at the margin, their common indentation removed, and their numbers."""
    kept = [(number, line.rstrip()) for number, line in enumerate(lines, first) if not line.startswith("#")]
    while kept and not kept[0][1]:
        kept.pop(0)
    margin = min((len(line) - len(line.lstrip()) for _, line in kept if line), default=0)
    return "\n".join(line[margin:] for _, line in kept).strip("\n") + "\n", [number for number, _ in kept]
