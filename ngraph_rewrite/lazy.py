# SPDX-License-Identifier: Apache-2.0
"""A module that is imported when something of it is first asked for: most processes need few of those there are.

The import still stands at the top of a module, where type checkers and readers look for it::

    if TYPE_CHECKING:
        from llvmlite import binding
    else:
        binding = lazy_module("llvmlite.binding")
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from ngraph_rewrite.undisturbed import undisturbed


class _Later(ModuleType):
    def __getattr__(self, name: str) -> Any:
        return getattr(_imported(self.__name__), name)


def _imported(name: str) -> ModuleType:
    """A module that is there, or is imported to the end now."""
    if name in sys.modules:
        return importlib.import_module(name)
    with undisturbed():
        return importlib.import_module(name)


def lazy_module(name: str) -> Any:
    """What stands for the module called `name` until it is needed.

    Raises:
        ImportError: not here, but where it is first used, if it cannot be imported.

    >>> fractions = lazy_module("fractions")
    >>> fractions.Fraction(2, 4)
    Fraction(1, 2)
    """
    return _Later(name)


def late_name(package: str, places: Mapping[str, str], name: str) -> Any:
    """What a package calls `name` and imports when it is first asked for: the body of its ``__getattr__``.

    Args:
        places: The modules below the package, by the names that are in them; a module of that name is it itself.

    Raises:
        AttributeError: for a name that has no place.
    """
    place = places.get(name)
    if place is None:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    module = _imported(f"{package}.{place}")
    found = module if place == name else getattr(module, name)
    setattr(sys.modules[package], name, found)
    return found
