# SPDX-License-Identifier: Apache-2.0
"""PTX as data: the functions of a module, their variables and registers, and their instructions in basic blocks.

As NVIDIA's "Parallel Thread Execution ISA" has it, of which this reads what compilers write: a register or variable
of a scope in braces is another than one of the same name around it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import NamedTuple

from ngraph_rewrite.errors import KernelError

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|^\s*\.(?:loc|file)\b[^\n]*", re.DOTALL | re.MULTILINE)
_TOKEN = re.compile(r"\s*(?:(?P<label>[$\w]+):(?!:)|(?P<brace>[{}])|(?P<statement>[^;]*);)")
_HEADER = re.compile(r"\.(?P<kind>entry|func)\b(?P<rest>[^{;]*)(?P<end>[{;])")
_VARIABLE = re.compile(
    r"\.(?P<space>global|const|shared|local|param)\s*(?:\.align\s+(?P<align>\d+)\s*)?\.(?P<kind>[busf]\d+)\s+"
    r"(?P<name>[$%\w]+)(?:\[(?P<count>\d*)\])?(?:\s*=\s*\{?(?P<values>[^};]*)\}?)?"
)
_REGISTER = re.compile(r"\.reg\s+\.(?P<kind>\w+)\s+(?P<names>.*)", re.DOTALL)
_GUARD = r"(?:@(?P<not>!?)(?P<guard>[%\w]+)\s+)?"
_INSTRUCTION = re.compile(_GUARD + r"(?P<opcode>[a-z][\w.:]*)\s*(?P<operands>.*)", re.DOTALL)
_OPERAND = re.compile(r"[^,{\[(]*(?:\{[^}]*\}|\[[^\]]*\]|\([^)]*\))?[^,{\[(]*")
_WORD = re.compile(r"[%$A-Za-z_][\w$.]*")


class Variable(NamedTuple):
    """Memory that has a name.

    Attributes:
        size, align: In bytes.
        values: Of its elements, if it has some from the beginning.
        width: Bytes of an element.
    """

    name: str
    space: str
    size: int
    align: int
    values: tuple[int, ...] = ()
    width: int = 1


class Instruction(NamedTuple):
    """One instruction.

    Attributes:
        opcode: Its parts, such as ``("add", "s64")``.
        operands: As they were written, names of inner scopes replaced by names of the function.
        guard: The register that says which threads do it, and whether that is to be false for it.
        line: Of the text.
    """

    opcode: tuple[str, ...]
    operands: tuple[str, ...]
    guard: tuple[str, bool] | None
    line: int

    def __str__(self) -> str:
        return f"{'.'.join(self.opcode)} {', '.join(self.operands)}".strip()


class Function(NamedTuple):
    """A kernel, or what one calls.

    Attributes:
        parameters, results: In memory of each thread.
        registers: What each may hold: ``pred``, or a type whose width counts.
        variables: Shared by a block, or of each thread.
        blocks: Basic blocks; at the end of one comes the next, if nothing else is said.
        labels: The block that each label is before.
        threads: The most that a block may have, if that is said.
    """

    name: str
    parameters: tuple[Variable, ...]
    results: tuple[Variable, ...]
    registers: Mapping[str, str]
    variables: tuple[Variable, ...]
    blocks: tuple[tuple[Instruction, ...], ...]
    labels: Mapping[str, int]
    threads: int | None = None


class Module(NamedTuple):
    """All of a text: variables of the module, and functions by name, of which one is the kernel."""

    variables: tuple[Variable, ...]
    functions: Mapping[str, Function]
    kernel: str


def read_module(text: str) -> Module:
    """Read PTX.

    Raises:
        KernelError: if it has no kernel, or not just one.
    """
    bare = _COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    functions, entries, outside, end = dict[str, Function](), list[str](), list[str](), 0
    while header := _HEADER.search(bare, end):
        outside.append(bare[end : header.start()])
        end = header.end()
        if header["end"] == "{":
            close = _closing(bare, end)
            function = _function(header["rest"], bare[end:close], bare.count("\n", 0, end) + 1)
            functions[function.name] = function
            entries += [function.name] if header["kind"] == "entry" else []
            end = close + 1
    if len(entries) != 1:
        raise KernelError(f"PTX has {len(entries)} kernels, and one is to be run")
    outside.append(bare[end:])
    return Module(tuple(map(_variable, _VARIABLE.finditer(" ".join(outside)))), functions, entries[0])


def _closing(text: str, begin: int) -> int:
    """The place of the brace that closes the one before a place."""
    depth = 1
    for found in re.compile(r"[{}]").finditer(text, begin):
        depth += 1 if found[0] == "{" else -1
        if not depth:
            return found.start()
    raise KernelError("PTX ends inside a function")


def _variable(found: re.Match[str]) -> Variable:
    width = int(found["kind"][1:]) // 8
    count = int(found["count"] or 0) if found["count"] is not None else 1
    if found["values"] and found["kind"].startswith("f"):
        raise KernelError(f"PTX that was not understood: {found[0][:60]}")
    values = tuple(int(value, 0) for value in (found["values"] or "").split(",") if value.strip())
    return Variable(found["name"], found["space"], count * width, int(found["align"] or width), values, width)


def _function(rest: str, body: str, line: int) -> Function:
    name = re.search(r"([$\w]+)\s*(?:\(|$|\.|\s)", re.sub(r"^\s*\([^)]*\)", "", rest))
    lists = re.findall(r"\(([^)]*)\)", rest)
    given = [tuple(map(_variable, _VARIABLE.finditer(one))) for one in lists]
    most = re.search(r"\.(?:max|req)ntid\s+(\d+(?:\s*,\s*\d+)*)", rest)
    assert name is not None
    returns = given[0] if len(given) > 1 else ()
    reader = _Body(line)
    reader.read(body)
    return Function(
        name[1], given[-1] if given else (), returns, reader.registers, tuple(reader.variables),
        tuple(map(tuple, reader.blocks)), reader.labels, prod(map(int, most[1].split(","))) if most else None,
    )  # fmt: skip


ENDS = frozenset({"bra", "ret", "exit", "bar"})


class _Body:
    """A function being read: its scopes, and what was found so far."""

    def __init__(self, line: int) -> None:
        self._line, self._scopes = line, [dict[str, str]()]
        self.registers, self.variables = dict[str, str](), list[Variable]()
        self.blocks: list[list[Instruction]] = [[]]
        self.labels: dict[str, int] = {}

    def read(self, text: str) -> None:
        end, line, counted = 0, self._line, 0
        while found := _TOKEN.match(text, end):
            end = found.end()
            if found["brace"]:
                self._scopes = [*self._scopes, {}] if found["brace"] == "{" else self._scopes[:-1]
            elif found["label"]:
                self._label(found["label"])
            elif statement := found["statement"].strip():
                begin = found.start("statement")
                line, counted = line + text.count("\n", counted, begin), begin
                self._statement(statement, line)
        if text[end:].strip():
            raise KernelError(f"PTX that was not understood: {text[end:].strip()[:60]}", where=f"line {self._line}")

    def _label(self, name: str) -> None:
        if self.blocks[-1]:
            self.blocks.append([])
        self.labels[name] = len(self.blocks) - 1

    def _statement(self, text: str, line: int) -> None:
        if text.startswith(".reg"):
            self._declare(text)
        elif found := _VARIABLE.match(text):
            variable = _variable(found)
            self.variables.append(variable._replace(name=self._named(variable.name)))
        elif not text.startswith("."):
            self._instruction(text, line)
        elif not text.startswith(".pragma"):  # which says nothing of what is computed
            raise KernelError(f"PTX that was not understood: {text[:60]}", where=f"line {line}")

    def _declare(self, text: str) -> None:
        found = _REGISTER.fullmatch(text)
        assert found is not None
        for name in found["names"].split(","):
            several = re.fullmatch(r"\s*([%\w]+)<(\d+)>\s*", name)
            names = [f"{several[1]}{n}" for n in range(int(several[2]))] if several else [name.strip()]
            self.registers.update((self._named(one), found["kind"]) for one in names)

    def _named(self, name: str) -> str:
        """The name in the function of a name in this scope, which is new."""
        taken = len(self._scopes) > 1
        own = f"{name}.{len(self.registers) + len(self.variables)}" if taken else name
        self._scopes[-1][name] = own
        return own

    def _seen(self, text: str) -> str:
        def replaced(found: re.Match[str]) -> str:
            for scope in reversed(self._scopes[1:]):
                if found[0] in scope:
                    return scope[found[0]]
            return found[0]

        return _WORD.sub(replaced, text) if len(self._scopes) > 1 else text

    def _instruction(self, text: str, line: int) -> None:
        found = _INSTRUCTION.fullmatch(text)
        if found is None:
            raise KernelError(f"PTX that was not understood: {text}", where=f"line {line}")
        guard = (self._seen(found["guard"]), bool(found["not"])) if found["guard"] else None
        operands = tuple(self._seen(one) for one in split_operands(found["operands"]))
        opcode = tuple(found["opcode"].replace("::", "").split("."))
        self.blocks[-1].append(Instruction(opcode, operands, guard, line))
        if opcode[0] in ENDS:
            self.blocks.append([])


def split_operands(text: str) -> Sequence[str]:
    """Operands by the commas between them, which are not those in braces, brackets and parentheses.

    >>> split_operands("{%f1, %f2}, [%rd1+8], -1")
    ['{%f1, %f2}', '[%rd1+8]', '-1']
    """
    return list(_parts(text.strip()))


def _parts(text: str) -> Iterator[str]:
    end = 0
    while end < len(text):
        found = _OPERAND.match(text, end)
        assert found is not None
        yield found[0].strip()
        end = found.end() + 1
