# SPDX-License-Identifier: Apache-2.0
"""What the body of a kernel file may say: a docstring, imports, and one function that computes with numbers.

Numba takes more of Python than a kernel can have. One that prints, or has a list, would ask for the interpreter's lock
and for memory; what it raises nobody hears. So a body is looked at before it is used, with its holes in it.
"""

from __future__ import annotations

import ast
import builtins
import string
from collections.abc import Iterator
from typing import NamedTuple

from ngraph_rewrite.codegen.source import is_word

_HOLE = "hole_"
_BUILTINS = frozenset("abs bool divmod enumerate float int len max min pow range round sum zip".split())
_OTHERS = frozenset(dir(builtins)) - _BUILTINS
# Functions of NumPy that make arrays.
_ARRAYS = frozenset(
    "append arange array asarray ascontiguousarray atleast_1d broadcast_to concatenate copy diag dot empty empty_like "
    "eye fromiter full full_like hstack identity linspace logspace meshgrid ndarray ones ones_like repeat reshape "
    "stack vstack zeros zeros_like".split()
)
_STATEMENTS = (
    ast.FunctionDef, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.For, ast.While, ast.If, ast.Break,
    ast.Continue, ast.Pass, ast.Return,
)  # fmt: skip
_PARTS = (
    ast.arguments, ast.arg, ast.keyword, ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare,
    ast.IfExp, ast.Call, ast.Subscript, ast.Slice, ast.Tuple, ast.Attribute, ast.NamedExpr,
    ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.expr_context,
)  # fmt: skip
_CALLED = {
    ast.List: "a list", ast.ListComp: "a list", ast.Set: "a set", ast.SetComp: "a set", ast.Dict: "a dict",
    ast.DictComp: "a dict", ast.GeneratorExp: "a generator", ast.Yield: "a generator", ast.JoinedStr: "a string",
    ast.Lambda: "a function in a function", ast.FunctionDef: "a function in a function",
    ast.Raise: "`raise`", ast.Assert: "`assert`", ast.Try: "`try`", ast.With: "`with`",
    ast.Import: "an import in a function", ast.ImportFrom: "an import in a function",
}  # fmt: skip
_NUMBERS = "a kernel has numbers, bool and tuples of them, and allocates nothing"
_NOBODY = "nobody hears what a kernel raises: guard it by `if`, above its code, or store something else"
_CALLS = f"a kernel may call {', '.join(sorted(_BUILTINS))}, its words (docs/kernels.rst), and what it imports"


class Mistake(NamedTuple):
    """What a body may not say, and the number of its line, from 1."""

    line: int
    what: str
    do: str


def mistakes(body: str, holes: frozenset[str], target: str) -> Iterator[Mistake]:
    """What is wrong with the body of a kernel file, if anything.

    Args:
        holes: The names that will be filled in.

    >>> [m.what for m in mistakes("def $name(args, chunk, nchunks):\\n    print(args)", frozenset(["name"]), "cpu")]
    ['calls print']
    """
    unfilled = list(_unfilled(body, holes))
    if unfilled:
        yield from unfilled
        return
    try:
        tree = ast.parse(_with_names(body))
    except SyntaxError as error:
        yield Mistake(error.lineno or 1, f"is not Python: {error.msg}", "mend the line")
        return
    yield from _of_module(tree, target)
    functions = [s for s in tree.body if isinstance(s, ast.FunctionDef)]
    if functions:
        yield from _of_function(functions[0], _imported(tree), target)


def _unfilled(body: str, holes: frozenset[str]) -> Iterator[Mistake]:
    for number, line in enumerate(body.split("\n"), 1):
        for found in string.Template.pattern.finditer(line):
            name = found["named"] or found["braced"]
            if name is not None and name not in holes:
                yield Mistake(number, f"nothing fills the hole ${name}", f"there are {', '.join(sorted(holes))}")
            elif found["invalid"] is not None:
                yield Mistake(number, "has a dollar sign that begins no hole", "write $$ for a dollar")


def _with_names(body: str) -> str:
    """The body with a name in the place of each hole."""
    return string.Template.pattern.sub(lambda found: _HOLE + (found["named"] or found["braced"] or ""), body)


def _of_module(tree: ast.Module, target: str) -> Iterator[Mistake]:
    """What stands beside the function: nothing is executed there but imports."""
    alone = "a body is a docstring, imports and one function: put others in a module, and import them"
    functions = 0
    for statement in tree.body:
        functions += isinstance(statement, ast.FunctionDef)
        if isinstance(statement, ast.FunctionDef):
            if statement.name != f"{_HOLE}name" or functions > 1:
                yield Mistake(statement.lineno, "has a function that is not $name", alone)
            if ast.unparse(statement).splitlines()[0] != _header(statement):
                yield Mistake(statement.lineno, "has a decorator, or arguments that are more than names", alone)
        elif isinstance(statement, ast.ImportFrom) and statement.names[0].name == "*":
            yield Mistake(statement.lineno, "imports *", "name what is imported")
        elif not isinstance(statement, ast.Import | ast.ImportFrom) and not _is_text(statement):
            yield Mistake(statement.lineno, f"executes `{ast.unparse(statement).splitlines()[0]}`", alone)
    if not functions:
        arguments = "$parameters" if target == "cuda" else "args, chunk, nchunks"
        yield Mistake(1, "has no function $name", f"write def $name({arguments}):")


def _header(function: ast.FunctionDef) -> str:
    """What its first line says if there are only names in it: all else would be executed."""
    return f"def {function.name}({', '.join(argument.arg for argument in function.args.args)}):"


def _is_text(statement: ast.stmt) -> bool:
    """Whether it is a docstring, or a hole."""
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Constant) or (isinstance(value, ast.Name) and value.id.startswith(_HOLE))


def _imported(tree: ast.Module) -> set[str]:
    found = {"np"}  # as `imports` writes it
    for statement in tree.body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            found.update((alias.asname or alias.name).partition(".")[0] for alias in statement.names)
    return found


def _of_function(function: ast.FunctionDef, imported: set[str], target: str) -> Iterator[Mistake]:
    nodes = [node for node in ast.walk(function) if node is not function]
    known = imported | {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    for node in nodes:
        line = getattr(node, "lineno", function.lineno)
        if isinstance(node, ast.FunctionDef) or not isinstance(node, _STATEMENTS + _PARTS):
            words = _CALLED.get(type(node), f"`{type(node).__name__.lower()}`")
            yield Mistake(line, f"has {words}", _NOBODY if words in ("`raise`", "`assert`", "`try`") else _NUMBERS)
        elif isinstance(node, ast.Constant) and not isinstance(node.value, bool | int | float | str | None):
            yield Mistake(line, f"has the constant {node.value!r}", _NUMBERS)
        elif isinstance(node, ast.Call):
            yield from _of_call(node.func, imported, known, target)


def _of_call(called: ast.expr, imported: set[str], known: set[str], target: str) -> Iterator[Mistake]:
    words = ast.unparse(called)
    root = words.partition(".")[0]
    if isinstance(called, ast.Name):
        allowed = root in _BUILTINS or root in known - _OTHERS or root in imported
        if not allowed and not (_HOLE in root and not root.startswith(_HOLE)) and not is_word(root, target):
            yield Mistake(called.lineno, f"calls {words.replace(_HOLE, '$')}", _CALLS)
    elif not isinstance(called, ast.Attribute) or root not in imported:
        yield Mistake(called.lineno, f"calls {words.replace(_HOLE, '$')}", _CALLS)
    elif root in ("np", "numpy") and called.attr in _ARRAYS:
        yield Mistake(called.lineno, f"makes an array by {words}", _NUMBERS)
