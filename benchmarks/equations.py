# SPDX-License-Identifier: Apache-2.0
"""The benchmark's rule files as plain equations, from which the peers' rules are written.

The package reads the files with its own reader. This one is for the others: what they cannot express is
settled here, in their favour. Types are forgotten: a shape that a right side asks for is that of a matrix,
the only one it is asked of. An op keeps one attribute. Operands of commutative ops stand in every order.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.graphs import COMMUTATIVE, MATRIX
from ngraph_rewrite.rewriting.registry import attribute_functions

FOLDER = Path(__file__).parent / "rules"
OPERATORS = {ast.Add: "add", ast.Mult: "multiply", ast.Sub: "subtract", ast.Div: "divide"}
# The attribute that is left to a peer, where an op has two.
KEPT = {"broadcast": "dims", "constant": "value"}
LARGEST = 1000


@dataclass(frozen=True)
class Var:
    """A variable, or the name of a shared term."""

    name: str


@dataclass(frozen=True)
class App:
    """An op with its attribute, a Python expression (on the left a name that it is bound to), and arguments."""

    op: str
    attribute: str | None
    args: tuple[Term, ...]


Term = Var | App


@dataclass(frozen=True)
class Equation:
    """One rule: shared terms and computed attributes are in the order in which they are needed."""

    name: str
    left: App
    right: Term
    lets: tuple[tuple[str, Term], ...]
    wheres: tuple[tuple[str, str], ...]
    guard: str | None


def number(value: int) -> App:
    """A number in a rule: a constant filled with it."""
    return App("constant", repr(value), ())


def read_equations(text: str) -> list[Equation]:
    """The equations of a rule file, one for each alternative and each order of commutative operands."""
    found: list[Equation] = []
    for block in re.split(r"^rule ", text, flags=re.M)[1:]:
        head, _, body = block.partition(":")
        name, _, alternatives = head.split("@")[0].partition(" for f in ")
        for op in alternatives.split() or [None]:
            one = re.sub(r"\bf\(", f"{op}(", body) if op else body
            found += _orders(_equation(f"{name.strip()}.{op}" if op else name.strip(), one))
    return found


def _equation(name: str, body: str) -> Equation:
    lines = [line.split("#")[0].strip() for line in body.splitlines()]
    said: dict[str, list[str]] = {"where": [], "let": [], "if": []}
    sides: list[str] = []
    for line in lines:
        kind, _, rest = line.partition(" ")
        (said[kind] if kind in said else sides).append(rest if kind in said else line)
    left, right = " ".join(sides).split("=>")
    made = _term(_parsed(left))
    assert isinstance(made, App)
    lets = tuple((n, _term(_parsed(t))) for n, t in (c.split(" = ") for c in said["let"]))
    wheres = tuple((n, _attribute(_parsed(t))) for n, t in (c.split(" = ") for c in said["where"]))
    guard = next((_attribute(_parsed(c)) for c in said["if"]), None)
    return Equation(name, made, _term(_parsed(right)), lets, wheres, guard)


def _parsed(text: str) -> ast.expr:
    return ast.parse(text.strip(), mode="eval").body


def _term(node: ast.expr) -> Term:
    if isinstance(node, ast.Name):
        return Var(node.id)
    if isinstance(node, ast.Constant) or (isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant)):
        return number(ast.literal_eval(node))
    if isinstance(node, ast.BinOp):
        return App(OPERATORS[type(node.op)], None, (_term(node.left), _term(node.right)))
    assert isinstance(node, ast.Call), ast.dump(node)
    if isinstance(node.func, ast.Name) and node.func.id == "number":  # a variable of these types
        return _term(node.args[0])
    op = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id  # type: ignore[attr-defined]
    given = {k.arg: k.value for k in node.keywords}
    kept = KEPT.get(op, next(iter(given), None))
    attribute = _attribute(given[kept]) if kept is not None else None
    return App(op, attribute, tuple(map(_term, node.args)))


class _Untyped(ast.NodeTransformer):
    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return ast.parse(repr(MATRIX), mode="eval").body if node.attr == "shape" else node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        return node.args[0] if isinstance(node.func, ast.Name) and node.func.id == "literal" else node


def _attribute(node: ast.expr) -> str:
    return ast.unparse(_Untyped().visit(node))


def _orders(equation: Equation) -> Iterator[Equation]:
    """The equation with its commutative operands in every order that is not the same up to names."""
    seen = set()
    for left in _swapped(equation.left):
        names: dict[str, str] = {}
        key = re.sub(r"'([a-z])'", lambda m, n=names: n.setdefault(m[1], str(len(n))), repr(left))  # type: ignore[misc]
        if key not in seen:
            seen.add(key)
            yield Equation(equation.name, left, equation.right, equation.lets, equation.wheres, equation.guard)


def _swapped(term: Term) -> Iterator[Any]:
    if isinstance(term, Var):
        yield term
        return
    for args in itertools.product(*map(list, map(_swapped, term.args))):
        yield App(term.op, term.attribute, args)
        if term.op in COMMUTATIVE:
            yield App(term.op, term.attribute, args[::-1])


def functions() -> dict[str, Callable[..., Any]]:
    """What the attributes of equations call: the package's functions, and whole numbers as Python has them."""
    return {**attribute_functions(), **WHOLE}


def _small(value: int) -> int | None:
    return value if abs(value) <= LARGEST else None


WHOLE: dict[str, Callable[..., Any]] = {
    "whole_sum": lambda v, w: _small(v + w),
    "whole_product": lambda v, w: _small(v * w),
    "whole_larger": lambda v, w: max(v, w),
    "whole_negative": lambda v: -v,
}
Make = Callable[[str, "str | None", list[str]], str]


def right_source(equation: Equation, make: Make) -> list[str]:
    """Python statements that build the right side, its last one being ``return``.

    Args:
        make: From an op, its attribute and its arguments, all Python expressions, to the expression that builds it.
    """

    def written(term: Term) -> str:
        if isinstance(term, Var):
            return term.name
        return make(term.op, term.attribute, [written(a) for a in term.args])

    lines = [f"{name} = {source}" for name, source in equation.wheres]
    if equation.guard is not None:
        lines += [f"if not ({equation.guard}):", "    return None"]
    lines += [f"{name} = {written(term)}" for name, term in equation.lets]
    return [*lines, f"return {written(equation.right)}"]


@dataclass(frozen=True)
class Reading:
    """How an engine's nodes are read, each a format of a Python expression.

    Attributes:
        has_op: Of `{0}`, a node, and `{1}`, the name of an op.
        argument: Of `{0}`, a node, and `{1}`, a number.
        attribute: Of `{0}`, a node.
        same: Whether `{0}` and `{1}` are the same term.
    """

    has_op: str
    argument: str
    attribute: str
    same: str = "{0} is {1}"


def left_source(equation: Equation, reading: Reading) -> list[str]:
    """Python statements that bind the names of the left side, or return None; the op of ``root`` is known."""
    lines: list[str] = []
    known: set[str] = set()
    fresh = (f"t{i}" for i in itertools.count())

    def unless(test: str) -> None:
        lines.extend([f"if not ({test}):", "    return None"])

    def visit(term: App, at: str) -> None:
        if term.attribute is not None:
            value = reading.attribute.format(at)
            if not term.attribute.isidentifier() or term.attribute in known:
                unless(f"{value} == {term.attribute}")
            else:
                known.add(term.attribute)
                lines.append(f"{term.attribute} = {value}")
        inner = []
        for i, arg in enumerate(term.args):
            place = reading.argument.format(at, i)
            if isinstance(arg, App):
                name = next(fresh)
                lines.append(f"{name} = {place}")
                unless(reading.has_op.format(name, arg.op))
                inner.append((arg, name))
            elif arg.name in known:
                unless(reading.same.format(place, arg.name))
            else:
                known.add(arg.name)
                lines.append(f"{arg.name} = {place}")
        for arg, name in inner:
            visit(arg, name)

    visit(equation.left, "root")
    return lines


def compiled(name: str, parameters: str, lines: Sequence[str], names: dict[str, Any]) -> Callable[..., Any]:
    """The Python function with these statements."""
    space = dict(names)
    body = "".join(f"    {line}\n" for line in lines)
    exec(f"def {name}({parameters}):\n{body}", space)  # noqa: S102  (written here, from the benchmark's own rule files)
    made: Callable[..., Any] = space[name]
    return made
