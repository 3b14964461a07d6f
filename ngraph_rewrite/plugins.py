# SPDX-License-Identifier: Apache-2.0
"""Packages of third parties are found by their entry points, each group when it is first needed, once.

==========================  =====================================================================
``ngraph_rewrite.ops``      modules that declare ops, attribute functions and domains when imported
``ngraph_rewrite.rules``    a package, or a path: its ``*.rules`` files
``ngraph_rewrite.kernels``  a package, or a path: its ``*.kernel`` files
``ngraph_rewrite.targets``  a `Target`, under the name that `make_transformer` takes
==========================  =====================================================================

``NGRAPH_REWRITE_WITHOUT`` lists distributions to leave out, separated by commas.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextvars import ContextVar
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from ngraph_rewrite.errors import ExtensionError
from ngraph_rewrite.lazy import lazy_module

if TYPE_CHECKING:
    from importlib import metadata, resources
else:
    metadata, resources = lazy_module("importlib.metadata"), lazy_module("importlib.resources")

_WITHOUT = "NGRAPH_REWRITE_WITHOUT"
# Whether a package is being loaded.
_loading: ContextVar[bool] = ContextVar("loading", default=False)
_GROUPS = "ngraph_rewrite."
_FOLDERS = (".dist-info", ".egg-info")


class Plugin(NamedTuple):
    """One entry point: its name, the distribution it belongs to and what it stands for."""

    name: str
    package: str
    value: Any


class DataFile(NamedTuple):
    """A rule or kernel file of a package: where it is, and the name that messages show for it."""

    path: Path
    shown: str
    package: str


def plugin_names(kind: str) -> tuple[str, ...]:
    """The names of the entry points of a group (``"targets"``); nothing of theirs is imported."""
    return tuple(dict.fromkeys(e.name for e in _entry_points(kind)))


def packages_with(kind: str, name: str) -> tuple[str, ...]:
    """The packages that have an entry point of this name in a group; nothing of theirs is imported."""
    return tuple(_package(e) for e in _entry_points(kind) if e.name == name)


@cache
def plugins(kind: str) -> tuple[Plugin, ...]:
    """The entry points of a group, loaded.

    Raises:
        ExtensionError: if one does not load, naming its distribution and what to do.
    """
    token = _loading.set(True)
    try:
        return tuple(_loaded(e) for e in _entry_points(kind))
    finally:
        _loading.reset(token)


def load_plugin_ops() -> None:
    """Let every package declare its ops, attribute functions and domains.

    Raises:
        ExtensionError: if one does not load.
    """
    plugins("ops")


def found_plugin_ops() -> bool:
    """Whether packages have declared ops and functions now that they had not: what was not there may be among them.

    Raises:
        ExtensionError: if one does not load.
    """
    if _loading.get():  # it is a package that names what there is not
        return False
    before = plugins.cache_info().misses
    return bool(plugins("ops")) and plugins.cache_info().misses > before


@cache
def plugin_files(kind: str, suffix: str) -> tuple[DataFile, ...]:
    """The data files of all packages, in the order of their names.

    Args:
        kind: The group: ``"rules"`` or ``"kernels"``.
        suffix: How the files end: ``".rules"``.

    Raises:
        ExtensionError: if an entry point leads to no such file.
    """
    return tuple(file for plugin in plugins(kind) for file in _files(plugin, kind, suffix))


def broken(plugin: Plugin, kind: str, what: str) -> ExtensionError:
    """The error for an entry point that is not what its group asks for."""
    return unusable(plugin.package, f"its entry point {plugin.name!r} of ngraph_rewrite.{kind} {what}")


def unusable(package: str, what: str) -> ExtensionError:
    """The error for a package of which something is wrong."""
    do = f"mend or uninstall it, or leave it out with {_WITHOUT}={package}"
    return ExtensionError(f"the package {package} cannot be used: {what}", do=do)


def _entry_points(kind: str) -> list[metadata.EntryPoint]:
    left_out = {_normal(name) for name in os.environ.get(_WITHOUT, "").split(",")}
    found = (e for e in _every_entry_point() if e.group == f"{_GROUPS}{kind}" and _normal(_package(e)) not in left_out)
    return sorted(found, key=lambda e: (_package(e), e.name))


@cache
def _every_entry_point() -> tuple[metadata.EntryPoint, ...]:
    """Those of all groups, looked for once; where no file mentions a group, `importlib.metadata` need not be asked."""
    if not _may_have_some():
        return ()
    groups = [g for g in metadata.entry_points().groups if g.startswith(_GROUPS)]
    return tuple(e for g in groups for e in metadata.entry_points(group=g))


def _may_have_some() -> bool:
    """Whether a file of entry points mentions a group, or packages are found in other ways than in folders."""
    if any(hasattr(finder, "find_distributions") and finder is not PathFinder for finder in sys.meta_path):
        return True
    return any(_mentioned_in(Path(folder)) for folder in dict.fromkeys(sys.path))


def _mentioned_in(folder: Path) -> bool:
    try:
        inside = os.listdir(folder)
    except FileNotFoundError:
        return False
    except OSError:  # an archive, say
        return True
    names = [n for n in inside if n.endswith(_FOLDERS) or n == "EGG-INFO"]
    return any(_mentions(os.path.join(folder, name, "entry_points.txt")) for name in names)


def _mentions(file: str) -> bool:
    try:
        with open(file, "rb") as entries:
            return f"[{_GROUPS}".encode() in entries.read()
    except OSError:
        return False


def _package(entry: metadata.EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else entry.value


def _normal(name: str) -> str:
    """A distribution's name as package indexes compare them."""
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def _loaded(entry: metadata.EntryPoint) -> Plugin:
    try:
        return Plugin(entry.name, _package(entry), entry.load())
    except Exception as error:
        what = f"its entry point {entry.name!r} ({entry.value}) of {entry.group} does not load: "
        raise unusable(_package(entry), f"{what}{type(error).__name__}: {error}") from error


def _files(plugin: Plugin, kind: str, suffix: str) -> Iterator[DataFile]:
    where = _path(plugin.value)
    if where is None or not where.exists():
        raise broken(plugin, kind, f"is {plugin.value!r}, which is neither a package nor a path that exists")
    files = [where] if where.is_file() else sorted(where.glob(f"*{suffix}"))
    if not files:
        raise broken(plugin, kind, f"leads to {where}, where no file ends with {suffix}")
    for path in files:
        yield DataFile(path, f"{plugin.package}/{path.name}", plugin.package)


def _path(value: Any) -> Path | None:
    """The folder of a package, or the path that is given."""
    if isinstance(value, ModuleType):
        value = resources.files(value)
    try:
        return Path(os.fspath(value))
    except TypeError:
        return None
