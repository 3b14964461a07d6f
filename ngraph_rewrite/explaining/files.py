# SPDX-License-Identifier: Apache-2.0
"""Ops, rules, arrays and folders that a shell names: ``model.py:loss``, ``model.py:layers[0]``, ``x.npy``."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import os
import sys
import traceback
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tokenize import TokenError
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from ngraph_rewrite.errors import ArgumentError, NGraphRewriteError
from ngraph_rewrite.rewriting.rule import RuleSet
from ngraph_rewrite.terms.op import Op

FORM = "write FILE.py:NAME, FILE.py:NAME[0] or FILE.py:NAME['key']"


class Named(NamedTuple):
    """An op of a file, and all that the file has names for."""

    op: Op
    names: Mapping[str, Any]


def named_in_file(place: str) -> Named:
    """The op that a Python file calls by a name; the file is run.

    Args:
        place: The path, a colon, and a name with any number of ``[0]`` or ``['key']`` behind it. A function without
            arguments is called.

    Raises:
        ArgumentError: for a place of another form, a file that is not there, fails or ends the process, or something
            that is no op.
    """
    file, colon, name = place.rpartition(":")
    steps = _steps(name) if colon else None
    if steps is None:
        raise ArgumentError(f"{place!r} names no op", do=FORM)
    path = Path(file)
    spec = importlib.util.spec_from_file_location(f"asked_{path.stem}", path)  # a name that no other module has
    if spec is None or spec.loader is None or not path.is_file():
        raise ArgumentError(f"{file!r} is no Python file", do=FORM)
    module = importlib.util.module_from_spec(spec)
    try:
        with _beside(path):
            sys.modules[spec.name] = module  # where classes of it look for the names that they mention
            spec.loader.exec_module(module)
            found = _found(vars(module), steps)
    except SystemExit as end:
        what = f"{file} ends the process, with {end.code!r}, before it can be asked for {name}"
        raise ArgumentError(what, do='let it do so below `if __name__ == "__main__":`') from None
    except NGraphRewriteError:
        raise
    except Exception as error:
        raise _failed(path, name, error) from error
    if not isinstance(found, Op):
        called = "; ".join([", ".join(ops(vars(module))) or "none"])
        raise ArgumentError(f"{file} has no op called {name}", do=f"it has {called}")
    return Named(found, vars(module))


@contextmanager
def _beside(path: Path) -> Iterator[None]:
    """Inside, modules that lie beside the file can be imported, as where Python runs it."""
    folder = str(path.parent.absolute())
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        if folder in sys.path:
            sys.path.remove(folder)


def _failed(path: Path, name: str, error: Exception) -> ArgumentError:
    """What is said of a file in which something was raised, with the last line of it that this came through."""
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if Path(f.filename) == path.absolute()]
    where, says = f"{path}:{lines[-1]}" if lines else None, str(error)
    if isinstance(error, SyntaxError):  # it may be that of a module which the file imports
        where, says = f"{error.filename}:{error.lineno}", error.msg
    what = f"{path} fails before it can be asked for {name}: {type(error).__name__}: {says}"
    return ArgumentError(what, where=where, do=f"see that `python {path}` runs")


def rules_of_signature(names: Mapping[str, Any], family: str) -> RuleSet:
    """The rules of a signature among the values of a file, in its order: those of sets that have a name there.

    Raises:
        ArgumentError: if there are none.
    """
    sets = [value for value in names.values() if isinstance(value, RuleSet)]
    rules = [rule for one in sets for rule in one if rule.left.definition.family == family]
    if not rules:
        what = f"the file has no set of rules of the signature {family} with a name of its own"
        raise ArgumentError(what, do="give --rules FILE.rules, or a name to what signature.rules(...) gives")
    return RuleSet({id(rule): rule for rule in rules}.values())


def _steps(name: str) -> list[Any] | None:
    """The name and the keys behind it; None if it is not of that form."""
    try:
        node = ast.parse(name, mode="eval").body
    except SyntaxError:
        return None
    keys: list[Any] = []
    while isinstance(node, ast.Subscript):
        try:
            keys.append(ast.literal_eval(node.slice))
        except ValueError:
            return None
        node = node.value
    return [node.id, *keys[::-1]] if isinstance(node, ast.Name) else None


def _found(names: Mapping[str, Any], steps: list[Any]) -> Any:
    """What the steps lead to; None if they lead nowhere."""
    found = _called(names.get(steps[0]))
    for key in steps[1:]:
        try:
            found = _called(found[key]) if isinstance(found, list | tuple | Mapping) else None
        except (LookupError, TypeError):
            return None
    return found


def _called(value: Any) -> Any:
    """What a function without arguments returns; anything else as it is."""
    return value() if inspect.isfunction(value) and not _wants(value) else value


def _wants(function: Any) -> bool:
    """Whether a function cannot be called without arguments."""
    kinds = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    given = inspect.signature(function).parameters.values()
    return any(p.default is p.empty and p.kind not in kinds for p in given)


def ops(names: Mapping[str, Any]) -> list[str]:
    """How the ops among these values are called, those in lists, tuples and dicts too."""
    found = []
    for name, value in names.items():
        if isinstance(value, Op):
            found.append(name)
        elif isinstance(value, Mapping) and not name.startswith("__"):
            found += [f"{name}[{key!r}]" for key, item in value.items() if isinstance(item, Op)]
        elif isinstance(value, list | tuple):
            found += [f"{name}[{i}]" for i, item in enumerate(value) if isinstance(item, Op)]
    return found


def array(path: Path) -> NDArray[Any]:
    """The array in a ``.npy`` file.

    Raises:
        ArgumentError: if it holds none.
    """
    found = _loaded(path)
    if not isinstance(found, np.ndarray):
        raise ArgumentError(f"{path} holds several arrays", do="save one with numpy.save")
    return found


def inputs(path: Path | None, op: Op) -> dict[Op, NDArray[Any]]:
    """Arrays for the placeholders of an op, from a ``.npz`` file that has them by name.

    Raises:
        ArgumentError: for a placeholder that has no name, or no array.
    """
    given: Any = {} if path is None else _loaded(path)
    if isinstance(given, np.ndarray):
        raise ArgumentError(f"{path} holds one array, without a name", do="save arrays with numpy.savez(path, x=...)")
    found = {}
    for placeholder in op.placeholders():
        name = placeholder.name
        if name is None or name not in given:
            what = f"there is no array for the placeholder {name or 'without a name'}"
            raise ArgumentError(what, where=placeholder.info.place, do="give --inputs FILE.npz with one by its name")
        found[placeholder] = given[name]
    return found


def _loaded(path: Path) -> Any:
    """An array, or arrays by their names: all are read here, as a part of an archive may be no array."""
    try:
        found = np.load(path, allow_pickle=False)
        return found if isinstance(found, np.ndarray) else {name: found[name] for name in found}
    except (ValueError, EOFError, RuntimeError, BadZipFile, TokenError, zlib.error) as error:
        raise ArgumentError(f"{path} cannot be read: {error}", do="save it with numpy.save or numpy.savez") from None


def demand_writable(folder: str | Path) -> None:
    """Refuse a folder that cannot be written, before anything is found that would be; what is not there can be made.

    Raises:
        ArgumentError: if it cannot be written, or is none.
    """
    path = Path(folder).absolute()
    there = next(one for one in (path, *path.parents) if one.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise ArgumentError(f"nothing can be written in {folder}", do="give --output a folder that can be written")
